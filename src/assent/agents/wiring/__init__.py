"""Connect an agent to Assent and disconnect it: its settings, the hook's files, trust, rules to import."""

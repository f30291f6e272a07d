"""An agent's application and its sessions: calls, questions, events, and who decides."""

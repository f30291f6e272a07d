"""Run a decided call outside the daemon: its line, its seal, and the launcher."""

"""Run a decided call outside the daemon: its command line, the signature of its boundary, and the launcher."""

"""For programs that talk to the daemon."""

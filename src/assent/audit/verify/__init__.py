"""Verify the log: its chain, its seals, segment by segment."""

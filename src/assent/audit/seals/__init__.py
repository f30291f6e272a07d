"""Signatures over the log: made, anchored outside the database, and the keys that make them."""

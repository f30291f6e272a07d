"""The log: append-only, chained by hashes, sealed by signatures."""

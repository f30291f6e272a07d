"""Strategy files: found, parsed, and filled with a run's input."""

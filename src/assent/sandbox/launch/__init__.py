"""Start a command inside its boundary, and watch what it tries."""

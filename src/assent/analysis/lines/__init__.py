"""A whole line of commands to its operations, with what flows between them."""

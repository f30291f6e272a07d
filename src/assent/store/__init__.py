"""Where everything lasting is kept: SQLite in the process, or PostgreSQL for many nodes."""

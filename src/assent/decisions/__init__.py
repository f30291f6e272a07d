"""Where a call is decided, recorded, asked about and released: one `Decisions` for a process, and what it answers."""

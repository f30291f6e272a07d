"""Where a call is decided, recorded, asked about and released."""

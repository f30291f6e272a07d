"""Which environment variables a sandboxed command gets."""

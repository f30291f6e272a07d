"""What a sandboxed command keeps between runs: package caches, and an agent's state."""

"""WebSockets, and who is connected."""

"""WebSockets and event streams."""

"""Clients of the daemon: HTTP, WebSockets, and reports that wait for it."""

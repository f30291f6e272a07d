"""The proxy out of a sandbox, and the hosts that it lets through."""

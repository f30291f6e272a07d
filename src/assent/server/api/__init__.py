"""The daemon's own HTTP API, one module per resource."""

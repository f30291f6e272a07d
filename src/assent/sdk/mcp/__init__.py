"""A guard between an MCP client and an MCP server."""

"""A profile made real on this machine: workspaces, secrets, links, repositories, the user."""

"""Apply a profile to this machine: workspaces, secrets, links, repositories, the user."""

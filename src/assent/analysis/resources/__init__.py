"""What a string names: paths, hosts, URLs, globs, variables of the environment."""

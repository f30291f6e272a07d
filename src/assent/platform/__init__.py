"""Facts about this machine: disk, repository, clock, environment; paths and files."""

"""Which paths are mounted where, and whether the kernel mounted what was planned."""

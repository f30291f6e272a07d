"""Kernel interfaces: seccomp, Landlock, control groups, mount tables."""

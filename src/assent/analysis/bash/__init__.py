"""Bash text to a syntax tree. Knows no program."""

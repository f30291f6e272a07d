"""Bash text to commands and words."""

from assent.shell.script import parse
from assent.shell.tree import Command, Direction, Redirect, Script, Word

__all__ = ["Command", "Direction", "Redirect", "Script", "Word", "parse"]

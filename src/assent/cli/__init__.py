"""The command line: one module per command, loaded when it is called."""

from assent.cli.entry import main

__all__ = ["main"]

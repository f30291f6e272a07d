"""The command line: one module per command, loaded when it is called."""

from assent.cli.startup import load_records

load_records()

from assent.cli.entry_point import main  # noqa: E402 - it needs the records

__all__ = ["main"]

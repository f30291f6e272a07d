"""Errors that keep a command from running in its sandbox. None of them means: run it without one."""

from __future__ import annotations

from assent.model import AssentError


class Unavailable(AssentError):  # noqa: N818 - the word for it on the wire
    """The required boundary cannot be set up here, so nothing ran."""


class PathReplaced(Unavailable):
    """A path was replaced while it was being mounted. Retry."""


class CommandNotStarted(AssentError):  # noqa: N818 - what happened
    """The boundary is in force, but the command was not found or is not a program."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code
        """The exit code of a shell: 127 for not found, 126 for not a program."""

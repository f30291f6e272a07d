"""What keeps a command from running in its sandbox. None of it ever means: then run it without."""

from __future__ import annotations

from assent.model import AssentError


class Unavailable(AssentError):  # noqa: N818 - the word for it on the wire
    """The demanded boundary can not be set up here, and so nothing ran."""


class Moved(Unavailable):
    """Something was replaced while it was being mounted: to be tried again."""


class CommandNotStarted(AssentError):  # noqa: N818 - what happened
    """The boundary is in force, but the command is not there or is no program."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code
        """What a shell would have ended with: 127 not found, 126 not a program."""

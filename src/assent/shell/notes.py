"""What is noted while a line is read."""

from __future__ import annotations

from assent.shell.guard import STEPS


class Notes:
    """What was found wrong, shared by everyone who reads parts of one line. The first fault is kept."""

    __slots__ = ("fault", "retries", "steps")

    def __init__(self) -> None:
        self.fault: str | None = None
        self.retries = 8
        self.steps = STEPS

    def blame(self, reason: str) -> None:
        """Remember that something could not be read."""
        if self.fault is None:
            self.fault = reason

"""The errors a caller can act on. All of them mean: not allowed."""

from __future__ import annotations


class AssentError(Exception):
    """Something went wrong, and so nothing was allowed."""


class RuleError(AssentError):
    """A permission rule cannot be read."""


class ConfigError(AssentError):
    """A configuration file cannot be used."""

    def __init__(self, message: str, *, file: str = "", line: int = 0, suggestion: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.suggestion = suggestion

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return place + self.message + (f" ({self.suggestion})" if self.suggestion else "")


class CallError(AssentError):
    """A tool call cannot be read."""


class StoreError(AssentError):
    """What must last could not be written or read, so nothing was allowed."""


class NotFoundError(AssentError):
    """There is nothing by that id, or nothing that this principal may see."""


class ForbiddenError(AssentError):
    """This principal may not do that."""

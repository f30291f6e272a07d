"""From a tool call to what it would do, without doing it."""

from assent.reading.read import read

__all__ = ["read"]

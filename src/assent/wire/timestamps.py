"""Times in the APIs: whole milliseconds since 1970."""

from __future__ import annotations


def millis(seconds: float) -> int:
    """Turn seconds into milliseconds."""
    return int(seconds * 1000)

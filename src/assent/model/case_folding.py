"""Names as a disk keeps them that tells neither capitals nor ways of writing the same letter apart."""

from __future__ import annotations


def fold(name: str) -> str:
    """Return the same text for names that such a disk takes for one."""
    if name.isascii():
        return name.lower()
    from unicodedata import normalize  # noqa: PLC0415 - few names need it

    return normalize("NFC", normalize("NFD", name).casefold())

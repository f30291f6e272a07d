"""The installed version of Assent."""

from __future__ import annotations


def find_version() -> str:
    """Return the installed version."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, rarely needed

    try:
        return metadata.version("assent")
    except metadata.PackageNotFoundError:
        return "0+unknown"

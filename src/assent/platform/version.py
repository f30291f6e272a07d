"""Which version of Assent this is."""

from __future__ import annotations


def find_version() -> str:
    """Return the version that is installed."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, and rarely asked for

    try:
        return metadata.version("assent")
    except metadata.PackageNotFoundError:
        return "0+unknown"

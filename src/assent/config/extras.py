"""Find the extra of Assent that installs a missing module."""

from __future__ import annotations

import re

from assent.model import AssentError


class MissingExtraError(AssentError, ImportError):
    """A package is missing that an extra of Assent installs."""


def explain_missing(error: ModuleNotFoundError, who: str) -> Exception:
    """Return an error that names the extra, or the same error if no extra helps."""
    extra = find_extra((error.name or "").partition(".")[0])
    if extra is None:
        return error
    return MissingExtraError(f"{who} needs the {extra} extra: pip install 'assent[{extra}]'")


def find_extra(module: str) -> str | None:
    """Return the extra that installs a module, from the metadata of the installed package."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, only needed for a missing module

    try:
        stated = metadata.requires("assent") or []
    except metadata.PackageNotFoundError:
        return None
    named = (re.fullmatch(r"([\w.-]+).*\bextra == ['\"](.+)['\"].*", requirement) for requirement in stated)
    found = [match[2] for match in named if match and match[1].replace("-", "_") == module]
    return min(found, key="all".__eq__, default=None)  # prefer a specific extra to `all`

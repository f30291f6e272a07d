"""Packages that come with an extra of Assent: which extra brings a module that is not installed."""

from __future__ import annotations

import re

from assent.model import AssentError


class MissingExtraError(AssentError, ImportError):
    """Something needs a package that is not installed, and an extra of Assent brings it."""


def explain_missing(error: ModuleNotFoundError, who: str) -> Exception:
    """Return the error to raise instead: one that names the extra, or the same error where no extra helps."""
    extra = find_extra((error.name or "").partition(".")[0])
    if extra is None:
        return error
    return MissingExtraError(f"{who} needs the {extra} extra: pip install 'assent[{extra}]'")


def find_extra(module: str) -> str | None:
    """Return the extra that brings a module, by what the installed package says of itself."""
    from importlib import metadata  # noqa: PLC0415 - slow to load, and needed only when something is missing

    try:
        stated = metadata.requires("assent") or []
    except metadata.PackageNotFoundError:
        return None
    named = (re.fullmatch(r"([\w.-]+).*\bextra == ['\"](.+)['\"].*", requirement) for requirement in stated)
    found = [match[2] for match in named if match and match[1].replace("-", "_") == module]
    return min(found, key="all".__eq__, default=None)  # the extra `all` has what the others have

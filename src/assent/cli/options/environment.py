"""`--env` and `--env-from`: the environment that a checked call is to run in. Without them nothing is assumed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assent.model import AssentError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from assent.model import Environment

_LARGEST = 4 << 20


def add_environment_options(parser: argparse.ArgumentParser) -> None:
    """Add what tells the environment of a call."""
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="decide as if the command started with this variable; a name alone takes your own (may be repeated)",
    )
    parser.add_argument(
        "--env-from",
        metavar="FILE",
        help="… with the variables in this file, as /proc/PID/environ or `env -0` has them",
    )


def read_environment(given: Sequence[str], file: str | None) -> Environment | None:
    """Return the environment that was asked for; None if none was."""
    if not given and file is None:
        return None
    from assent.analysis.resources.environment import select  # noqa: PLC0415 - few calls say so

    variables: dict[str, str | None] = {} if file is None else dict(_read(file))
    return select(variables | dict(_pair(each, os.environ) for each in given))


def _read(file: str) -> list[tuple[str, str]]:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - as files are read without pathlib here
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise AssentError(f"--env-from: `{file}` cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise AssentError(f"--env-from: `{file}` is larger than {_LARGEST >> 20} MiB")
    text = data.decode("utf-8", "replace")
    return [_pair(line, {}) for line in text.split("\0" if "\0" in text else "\n") if line]


def _pair(text: str, known: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and name not in known):
        raise AssentError(f"`{text}` is not NAME=VALUE, nor a variable of your own environment")
    return name, value if equals else known[name]

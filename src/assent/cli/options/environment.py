"""`--env` and `--env-from`: the environment of the call to decide. Without them it is unknown."""

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
    """Add the options that describe the environment of a call."""
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="the command starts with this environment variable; a name alone takes your value (repeatable)",
    )
    parser.add_argument(
        "--env-from",
        metavar="FILE",
        help="the same with all variables of a file, such as /proc/PID/environ or the output of `env -0`",
    )


def read_environment(given: Sequence[str], file: str | None) -> Environment | None:
    """Return the environment given by options; None without them."""
    if not given and file is None:
        return None
    from assent.analysis.resources.environment import select  # noqa: PLC0415 - rarely needed

    variables: dict[str, str | None] = {} if file is None else dict(_read(file))
    return select(variables | dict(_pair(each, os.environ) for each in given))


def _read(file: str) -> list[tuple[str, str]]:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - as files are read without pathlib here
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise AssentError(f"--env-from: cannot read `{file}`: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise AssentError(f"--env-from: `{file}` is larger than {_LARGEST >> 20} MiB")
    text = data.decode("utf-8", "replace")
    return [_pair(line, {}) for line in text.split("\0" if "\0" in text else "\n") if line]


def _pair(text: str, known: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and name not in known):
        raise AssentError(f"`{text}` is neither NAME=VALUE nor a variable of your environment")
    return name, value if equals else known[name]

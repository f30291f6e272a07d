"""What a daemon's own line runs: one decided call, once, inside the boundary that the daemon sealed.

It is started by the file in Assent's home, which has put the environment aside: `given` is what the agent's shell had,
and goes nowhere but into the sandbox. What this process goes by is in that file, and in Assent's home.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from assent.cli import exit_codes
from assent.cli.commands.run import Held, finish, hold
from assent.cli.entry_point import guard
from assent.cli.output.screen import complain
from assent.cli.run_record import DaemonDenyError, Recorder
from assent.model import ConfigError
from assent.platform.files import check_owner
from assent.sandbox.redeem.command_line import CODED, decode_word

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(home: str, key: bytes, given: dict[str, str], argv: Sequence[str]) -> None:
    """Carry a decision out, and end the process with the command's exit code."""
    sys.exit(guard(lambda: _run(home, key, given, list(argv)), once=True, loops=True))


def _run(home: str, key: bytes, given: dict[str, str], argv: list[str]) -> int:
    decision, coded, words = _read(argv)
    if not words:
        complain("this runs decided calls, as the daemon writes them, and nothing else")
        return exit_codes.USAGE
    try:
        _check_home(home)
    except ConfigError as error:
        complain(f"unavailable: {error.file}: {error.message}", error.suggestion)
        return exit_codes.DENY
    return finish(_carry_out(decision, [decode_word(word) for word in words] if coded else words, key, given))


def _read(argv: list[str]) -> tuple[str, bool, list[str]]:
    """Return the decision, whether the words are encoded, and the words; no words where this is no line of ours."""
    decision, *rest = argv or [""]
    coded = rest[:1] == [CODED]
    rest = rest[coded:]
    return decision, coded, rest[1:] if rest[:1] == ["--"] and decision.startswith("dec_") else []


def _check_home(home: str) -> None:
    """Refuse a home that others could put a socket into."""
    try:
        status = os.stat(home)  # noqa: PTH116 - a string here
    except OSError as error:
        raise ConfigError(f"This folder can not be used: {error.strerror}.", file=home) from None
    check_owner(home, status, tuple(dict.fromkeys((os.geteuid(), 0))), suggestion="make its mode 0700")


async def _carry_out(decision: str, words: list[str], key: bytes, given: dict[str, str]) -> int:
    recorder = Recorder(shown=False, decision=decision)
    found = await recorder.redeem(words, key)
    if found.profile.mode == "off":
        raise DaemonDenyError("the decision has no boundary")
    return await hold(Held(found.profile, words, passed=given, asks=found.asks), recorder)

"""Run one decided call, once, inside the sandbox profile that the daemon signed.

The launcher in Assent's home starts this module with a clean environment. `given` is the environment of the agent's
shell; it is only passed into the sandbox.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from assent.cli import exit_codes
from assent.cli.commands.run import SandboxedCommand, finish, run_sandboxed
from assent.cli.entry_point import guard
from assent.cli.output.screen import complain
from assent.cli.run_record import DaemonDenyError, Recorder
from assent.model import ConfigError
from assent.platform.files import check_owner
from assent.sandbox.redeem.command_line import CODED, decode_word

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(home: str, key: bytes, given: dict[str, str], argv: Sequence[str]) -> None:
    """Run the decided call and exit with its exit code."""
    sys.exit(guard(lambda: _run(home, key, given, list(argv)), once=True, loops=True))


def _run(home: str, key: bytes, given: dict[str, str], argv: list[str]) -> int:
    decision, coded, words = _read(argv)
    if not words:
        complain("not a command of the daemon; this program only runs decided calls")
        return exit_codes.USAGE
    try:
        _check_home(home)
    except ConfigError as error:
        complain(f"unavailable: {error.file}: {error.message}", error.suggestion)
        return exit_codes.DENY
    return finish(_redeem(decision, [decode_word(word) for word in words] if coded else words, key, given))


def _read(argv: list[str]) -> tuple[str, bool, list[str]]:
    """Return the decision id, whether the words are encoded, and the words; none if the daemon did not write them."""
    decision, *rest = argv or [""]
    coded = rest[:1] == [CODED]
    rest = rest[coded:]
    return decision, coded, rest[1:] if rest[:1] == ["--"] and decision.startswith("dec_") else []


def _check_home(home: str) -> None:
    """Refuse a home directory that other users can write to."""
    try:
        status = os.stat(home)  # noqa: PTH116 - a string here
    except OSError as error:
        raise ConfigError(f"cannot use this folder: {error.strerror}", file=home) from None
    check_owner(home, status, tuple(dict.fromkeys((os.geteuid(), 0))), suggestion="make its mode 0700")


async def _redeem(decision: str, words: list[str], key: bytes, given: dict[str, str]) -> int:
    recorder = Recorder(shown=False, decision=decision)
    found = await recorder.redeem(words, key)
    if found.profile.mode == "off":
        raise DaemonDenyError("the decision has no sandbox profile")
    return await run_sandboxed(SandboxedCommand(found.profile, words, passed=given, asks=found.asks), recorder)

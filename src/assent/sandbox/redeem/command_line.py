"""Write and recognise the command line that runs a decided call inside its boundary."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from assent.analysis.read import COMMAND_FIELDS
from assent.analysis.tools.input_fields import FOLDER_FIELDS
from assent.model import Ticket, ToolCall, digest

CODED = "--coded"
"""Marks that the following words are percent-encoded."""
_NAMED = re.compile(r"dec_[0-9]+_[0-9a-f]+")
_FIELDS = frozenset(COMMAND_FIELDS)
_ALIKE = frozenset({"bash", "zsh", "sh", "dash", "ksh", "ash", "busybox"})
"""Shells that leave text in single quotes as it is."""
_QUOTES = re.compile("[\u2018-\u201f]")
"""PowerShell takes these for quotes; in Codex the model may choose that shell, and the hook does not know."""
_ODD = re.compile(r"[^ -~]|['\\!]")
"""Characters that some shell changes in single quotes."""
_KEPT = re.compile(rb"[^A-Za-z0-9_.,:=/@+-]")


class CommandLine(msgspec.Struct, frozen=True):
    """The command of a call to a shell tool."""

    field: str
    """The field of the input that holds it."""
    words: tuple[str, ...]
    folder: str
    is_text: bool
    """A shell line, else a list of words."""

    @property
    def digest(self) -> str:
        """Identify the words and their folder."""
        return words_digest(self.words, self.folder)


def words_digest(words: Sequence[str], folder: str) -> str:
    """Identify words and the folder they run in."""
    return digest(["assent.line.v1", list(words), folder])


def find_line(call: ToolCall) -> CommandLine | None:
    """Return the command of a call; None unless it is one line, or one list of words, in an existing folder."""
    fields = [name for name in COMMAND_FIELDS if call.input.get(name) is not None]
    folder = _find_folder(call)
    if len(fields) != 1 or folder is None or call.input.get("args") is not None:
        return None
    given = call.input[fields[0]]
    if isinstance(given, str) and "\0" not in given:
        # Without `--`, bash would take a line that begins with a dash for options.
        return CommandLine(fields[0], ("bash", "-c", "--", given), folder, is_text=True)
    if isinstance(given, list) and given and all(isinstance(w, str) and "\0" not in w for w in given):
        return CommandLine(fields[0], tuple(given), folder, is_text=False)
    return None


def _find_folder(call: ToolCall) -> str | None:
    named = {call.input[f] for f in FOLDER_FIELDS if isinstance(call.input.get(f), str)}
    if call.cwd is None or len(named) > 1:
        return None
    folder = os.path.realpath(os.path.join(call.cwd, *named))
    return folder if os.path.isdir(folder) else None


def write_words(launcher: Sequence[str], ticket_id: str, words: Sequence[str], shell: str = "") -> list[str]:
    """Return the words that run a decided call inside its boundary, once.

    Words that the agent's shell might change are encoded, so that no part of them runs outside.
    """
    if not any(map(_misread_in(shell).search, words)):
        return [*launcher, ticket_id, "--", *words]
    return [*launcher, ticket_id, CODED, "--", *map(_encode, words)]


def _misread_in(shell: str) -> re.Pattern[str]:
    """Return the characters that the shells that may run a line could change in single quotes."""
    return _QUOTES if _ALIKE.issuperset(filter(None, shell.split(","))) else _ODD


def _encode(word: str) -> str:
    return _KEPT.sub(lambda found: b"%%%02X" % found[0][0], word.encode(errors="surrogateescape")).decode("ascii")


def decode_word(word: str) -> str:
    """Decode a percent-encoded word."""
    data = re.sub(rb"%([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), word.encode())
    return data.decode(errors="surrogateescape")


def rewrite(ticket: Ticket, launcher: Sequence[str]) -> dict[str, Any] | None:
    """Return the input that runs a ticket's call inside its boundary; None if the ticket was used."""
    if ticket.call is None or (line := find_line(ticket.call)) is None:
        return None
    words = write_words(launcher, ticket.id, line.words, ticket.session.shell if line.is_text else "")
    return {**ticket.call.input, line.field: shlex.join(words) if line.is_text else words}


def named_ticket(call: ToolCall) -> str | None:
    """Return the id of the ticket that a call names, if any; the caller checks that the ticket fits."""
    for name, given in call.input.items():
        if name not in _FIELDS:
            continue
        if isinstance(given, str) and "dec_" in given and (found := _NAMED.search(given)):
            return found[0]
        if isinstance(given, list):
            return next((w for w in given if isinstance(w, str) and _NAMED.fullmatch(w)), None)
    return None

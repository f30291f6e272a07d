"""The line that runs a decided call inside its boundary: how it is written, and what it is checked against."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assent.config.places import assent_home
from assent.model import AssentError, Ticket, ToolCall, digest
from assent.reading.fields import FOLDER_FIELDS
from assent.reading.read import COMMAND_FIELDS

_NAMED = re.compile(r"dec_[0-9]+_[0-9a-f]+")
_FIELDS = frozenset(COMMAND_FIELDS)


class Line(msgspec.Struct, frozen=True):
    """What a call of a shell tool comes down to."""

    field: str
    """Where in the input it stands."""
    words: tuple[str, ...]
    folder: str
    is_text: bool
    """A line of shell, else a list of words."""

    @property
    def digest(self) -> str:
        """Identify what is run, and where."""
        return words_digest(self.words, self.folder)


def words_digest(words: Sequence[str], folder: str) -> str:
    """Identify words and the folder they run in."""
    return digest(["assent.line.v1", list(words), folder])


def find_line(call: ToolCall) -> Line | None:
    """Return what a call runs; None if that is not one line, or one list of words, in a folder that is there."""
    fields = [name for name in COMMAND_FIELDS if call.input.get(name) is not None]
    folder = _find_folder(call)
    if len(fields) != 1 or folder is None or call.input.get("args") is not None:
        return None
    given = call.input[fields[0]]
    if isinstance(given, str) and "\0" not in given:
        # Without the dashes a line that begins with one would be taken for options.
        return Line(fields[0], ("bash", "-c", "--", given), folder, is_text=True)
    if isinstance(given, list) and given and all(isinstance(w, str) and "\0" not in w for w in given):
        return Line(fields[0], tuple(given), folder, is_text=False)
    return None


def _find_folder(call: ToolCall) -> str | None:
    named = {call.input[f] for f in FOLDER_FIELDS if isinstance(call.input.get(f), str)}
    if call.cwd is None or len(named) > 1:
        return None
    folder = os.path.realpath(os.path.join(call.cwd, *named))
    return folder if os.path.isdir(folder) else None


def write_line(ticket_id: str, words: Sequence[str], home: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """Write the one line of shell that runs decided words inside their boundary, once.

    `home` is the daemon's: it is named where the line would not find it by itself.
    """
    return shlex.join(write_words(ticket_id, words, home, environ))


def write_words(
    ticket_id: str, words: Sequence[str], home: str = "", environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the same as a list of words."""
    place = ["env", f"ASSENT_HOME={home}"] if home and home != _usual_home(environ) else []
    return [*place, find_program(), "run", "--decision", ticket_id, "--", *words]


def _usual_home(environ: Mapping[str, str]) -> str:
    """Return where whoever runs as this user finds Assent's home without being told."""
    try:
        return assent_home({name: value for name, value in environ.items() if name == "HOME"})
    except AssentError:
        return ""


def find_program() -> str:
    """Return how an agent's shell starts Assent: by the full path of the program beside this interpreter."""
    beside = os.path.join(os.path.dirname(sys.executable), "assent")
    return beside if os.access(beside, os.X_OK) else "assent"


def rewrite(ticket: Ticket, home: str = "") -> dict[str, Any] | None:
    """Return the input that runs a ticket's call inside its boundary; None if the ticket was used."""
    if ticket.call is None or (line := find_line(ticket.call)) is None:
        return None
    words = write_words(ticket.id, line.words, home)
    return {**ticket.call.input, line.field: shlex.join(words) if line.is_text else words}


def named_ticket(call: ToolCall) -> str | None:
    """Return the ticket that a call names, if any; whether the call is that ticket's is for the ticket to say."""
    for name, given in call.input.items():
        if name not in _FIELDS:
            continue
        if isinstance(given, str) and "--decision" in given and (found := _NAMED.search(given)):
            return found[0]
        if isinstance(given, list) and "--decision" in given:
            return next((w for w in given if isinstance(w, str) and _NAMED.fullmatch(w)), None)
    return None

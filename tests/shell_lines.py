"""How the tests write down what a line is made of: `¿` is unknown text, `…` a word that may become several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.analysis.evaluate.script import parse
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from assent.analysis.ir import Command, Redirect, Script, Word


def read(line: str, **known) -> Script:
    return parse(line, **{"cwd": "/w", "home": "/home/u", **known})


def show(word: Word) -> str:
    return word.text.replace(UNKNOWN, "¿") + ("…" if word.splits else "")


def show_redirect(redirect: Redirect) -> str:
    return f"{redirect.direction} {show(redirect.target)}"


def argv(command: Command) -> list[str]:
    return [show(word) for word in command.words]


def argvs(line: str, **known) -> list[str]:
    """Every command that has words, as text."""
    return [" ".join(argv(command)) for command in read(line, **known).commands if command.words]


def words(text: str, **known) -> list[str]:
    """What the words behind a command become."""
    script = read(f": {text}", **known)
    assert script.unreadable is None, script.unreadable
    return argv(script.commands[-1])[1:]

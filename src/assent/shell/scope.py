"""What is known while a line runs: its variables, its positional parameters and its folder."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec

import assent.regex as re
from assent.model import UNKNOWN
from assent.patience import step
from assent.shell.hints import MADE, merged, texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assent.shell.tree import Word

_NUMBER = re.compile(rf"[-+]?[0-9{UNKNOWN}]*")
_DYNAMIC = frozenset(
    {
        "_",
        "BASHOPTS",
        "BASHPID",
        "BASH_ARGC",
        "BASH_ARGV",
        "BASH_ARGV0",
        "BASH_COMMAND",
        "BASH_LINENO",
        "BASH_SOURCE",
        "BASH_SUBSHELL",
        "BASH_VERSINFO",
        "COMP_WORDBREAKS",
        "DIRSTACK",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "FUNCNAME",
        "GROUPS",
        "HISTCMD",
        "LINENO",
        "OLDPWD",
        "PIPESTATUS",
        "PPID",
        "PWD",
        "RANDOM",
        "SECONDS",
        "SHELLOPTS",
        "SRANDOM",
        "UID",
    }
)
"""Variables that do not keep what is assigned to them."""
_INTEGERS = frozenset(
    {
        "BASHPID",
        "BASH_SUBSHELL",
        "EPOCHREALTIME",
        "EPOCHSECONDS",
        "EUID",
        "HISTCMD",
        "LINENO",
        "OPTIND",
        "PPID",
        "RANDOM",
        "SECONDS",
        "SRANDOM",
        "UID",
    }
)
"""Variables whose new value bash evaluates as arithmetic, without a declaration."""
_ALTERNATIVES = 16
"""Texts that a variable may hold before it may hold any."""
_STATE = (
    "arguments",
    "cwd",
    "diverted",
    "elsewhere",
    "forgotten",
    "integers",
    "lost",
    "outside",
    "previous",
    "readonly",
    "splitting",
    "stack",
    "values",
)
"""What makes two shells the same."""
_PLACES = 24
"""Folders a shell may be in before nobody can tell any more."""


class Value(msgspec.Struct, frozen=True):
    """What a variable or a part of a word holds."""

    text: str = ""
    variables: tuple[str, ...] = ()
    feeds: tuple[int, ...] = ()
    number: bool = False
    """It is a number, though perhaps not a known one."""
    opaque: bool = False
    """Some of it is unknown and was chosen by the line: output of a command, or input."""
    items: tuple[Value, ...] | None = None
    """The elements, if it is an array whose elements are known."""
    hints: tuple[str, ...] = ()
    """What it may be, where it is no constant."""
    like: str = ""
    """An example of it, where all that is not known of it are numbers and times."""
    named_in: tuple[str, ...] | None = None
    """Folders: it begins like a name in one of them, or with a letter that is no dash. None: nobody knows."""
    stream: bool = False
    """It is the name of a pipe to the commands that feed it."""
    filled: bool = False
    """It is surely not nothing, though it is not known."""

    @property
    def full(self) -> bool:
        """Tell whether it is surely not nothing: where it is not quoted, there would be no word."""
        return self.filled or bool(self.text.strip(UNKNOWN))

    @property
    def example(self) -> str:
        """Give what it says, or an example of it; nothing if there is none."""
        return self.text if UNKNOWN not in self.text else "7" if self.number else self.like

    @property
    def calculable(self) -> bool:
        """Tell whether bash can evaluate it as arithmetic without running anything.

        What comes from outside the line counts as a number: the line did not choose it.
        """
        if self.number:
            return True
        return not self.opaque and _NUMBER.fullmatch(self.text) is not None

    def or_else(self, other: Value) -> Value:
        """Give what is known if it is either this or the other."""
        return Value(
            UNKNOWN,
            tuple(dict.fromkeys((*self.variables, *other.variables))),
            tuple(dict.fromkeys((*self.feeds, *other.feeds))),
            number=self.numeric and other.numeric,
            opaque=not (self.calculable and other.calculable),
            hints=_either(self, other),
            filled=self.full and other.full,
        )

    @property
    def numeric(self) -> bool:
        """Tell whether it is surely a number."""
        return self.number or self.text.isdecimal()


UNKNOWN_VALUE = Value(UNKNOWN, opaque=True)
UNKNOWN_NUMBER = Value(UNKNOWN, number=True, filled=True)
NUMBER_OR_NOTHING = Value(UNKNOWN, number=True)


def value_of(word: Word) -> Value:
    """Take a word as a value; what of it is not surely from outside was chosen by the line."""
    return Value(
        word.text,
        word.variables,
        word.feeds,
        opaque=word.chosen,
        hints=word.hints,
        like=word.like,
        stream=word.stream,
    )


def _either(one: Value, other: Value) -> tuple[str, ...]:
    """Give what one of two values may be; in a loop that puts texts together there would be no end of it."""
    found = merged(texts(one.text, one.hints), texts(other.text, other.hints))
    return found if len(found) <= _ALTERNATIVES else (MADE,)


class Scope:
    """The state of one shell. Forking gives a copy; joining keeps only what both agree on."""

    integers = _INTEGERS
    readonly: frozenset[str] = frozenset()
    arguments: tuple[Value, ...] | None = None
    forgotten = False
    diverted = False
    """Its input may be another than what the line puts before it."""
    splitting = True
    """Words are still split at spaces, tabs and newlines."""
    elsewhere: tuple[str, ...] = ()
    """Where the shell is instead, if a change of folder failed."""
    lost = False
    """There are too many places where it may be."""
    previous: str | None = None
    stack: tuple[str | None, ...] | None = ()

    def __init__(self, cwd: str | None, outside: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.outside = outside
        self.values: dict[str, Value] = {}
        self.assured: tuple[str, ...] | None = None
        """Where it is instead if the last command succeeded; None if that was no change of folder."""

    def fork(self) -> Scope:
        """Give a copy that can change by itself."""
        step()
        copy = Scope(self.cwd, self.outside)
        copy.__dict__.update(self.__dict__)
        copy.values = self.values.copy()
        copy.assured = None
        return copy

    def later(self) -> Scope:
        """Give what is known at any later time: nothing, but that it may also be now.

        What names the home folder and splits words is taken to stay: a line that changes it is never safe.
        """
        copy = Scope(None, self.outside)
        copy.forget()
        copy.values["HOME"] = self.value("HOME")
        copy.splitting = self.splitting
        copy.elsewhere = self.places
        copy.lost = self.lost
        return copy

    @property
    def places(self) -> tuple[str, ...]:
        """Give the folders it may be in, as far as they are known, the likeliest first if there is one."""
        return self.elsewhere if self.cwd is None else (self.cwd, *self.elsewhere)

    def same(self, other: Scope) -> bool:
        """Tell whether nothing differs."""
        return all(getattr(self, name) == getattr(other, name) for name in _STATE)

    def join(self, other: Scope) -> None:
        """Keep what holds here and there; the rest becomes unknown."""
        step()
        if self.__dict__ == other.__dict__:
            return
        if self.values != other.values:
            for name in self.values.keys() | other.values.keys():
                if self.values.get(name) != other.values.get(name):
                    step()
                    self.values[name] = self.value(name).or_else(other.value(name))
        self.arguments = self.arguments if self.arguments == other.arguments else None
        self.meet(other)
        self.previous = self.previous if self.previous == other.previous else None
        self.stack = self.stack if self.stack == other.stack else None
        self.forgotten = self.forgotten or other.forgotten
        self.diverted = self.diverted or other.diverted
        self.splitting = self.splitting and other.splitting
        self.integers |= other.integers
        self.readonly |= other.readonly

    def meet(self, other: Scope) -> None:
        """Be where this one or the other is: if that is not one folder, it is not known, but may be any of them."""
        places = dict.fromkeys((*self.elsewhere, *other.elsewhere))
        if self.cwd != other.cwd:
            places |= dict.fromkeys(each for each in (self.cwd, other.cwd) if each is not None)
            self.cwd = None
        self.elsewhere = tuple(each for each in places if each != self.cwd)
        self.lost = self.lost or other.lost
        self.give_up()

    def give_up(self) -> None:
        """Say so when it may be in too many folders; the nearest are kept, for what is denied there."""
        self.lost = self.lost or len(self.elsewhere) > _PLACES
        if self.lost:
            self.elsewhere = tuple(sorted(self.places, key=_distance)[:_PLACES])
            self.cwd = None

    def forget(self) -> None:
        """Know nothing any more: something ran that can change everything."""
        self.values = {}
        self.forgotten = self.diverted = True
        self.splitting = False
        self.arguments = self.cwd = self.previous = self.stack = None
        self.elsewhere = ()

    def value(self, name: str) -> Value:
        """Look up a variable."""
        known = self.values.get(name)
        if known is not None:
            return known
        if self.forgotten:
            return Value(UNKNOWN, (name,))
        if name in {"PWD", "OLDPWD"}:
            return Value((self.cwd if name == "PWD" else self.previous) or UNKNOWN, (name,))
        return Value(self.outside.get(name, UNKNOWN), (name,))

    def assign(self, name: str, value: Value) -> None:
        """Set a variable, if it keeps what is assigned."""
        if name == "IFS":
            self.splitting = False
        if name in _DYNAMIC or name in self.readonly or name in self.integers:
            value = UNKNOWN_NUMBER if name in self.integers else UNKNOWN_VALUE
        self.values[name] = value

    def enter(self, folder: str | None) -> None:
        """Change the folder; None is one that is not known."""
        if self.lost and (folder is None or not folder.startswith("/")):
            return
        before = () if self.cwd is None else (self.cwd,)
        self.previous = self.cwd
        self.values.pop("PWD", None)
        self.values.pop("OLDPWD", None)
        if folder is None:
            self.cwd, self.elsewhere, self.assured = None, (), ()
            return
        known = self.cwd is not None or folder.startswith("/")
        self.cwd = normalise(posixpath.join(self.cwd or "/", folder)) if known else None
        others = {normalise(posixpath.join(each, folder)): None for each in self.elsewhere}
        failed = dict.fromkeys((*before, *self.elsewhere))
        self.assured = tuple(each for each in others if each != self.cwd)
        self.elsewhere = tuple(each for each in others | failed if each != self.cwd)
        self.give_up()


def _distance(path: str) -> tuple[int, str]:
    return path.count("/"), path


def normalise(path: str) -> str:
    """Take `.`, `..` and double slashes out of an absolute path, as text."""
    return "/" + posixpath.normpath(path).lstrip("/")

"""What is known while a line runs: its variables, its positional parameters and its folder."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import msgspec

import assent.lazy_regex as re
from assent.analysis.bash.charset import is_decimal
from assent.analysis.values.hints import FOREIGN, MADE, merged, texts
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assent.analysis.ir import Word

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
_ECHOED = frozenset(
    {
        "_",
        "BASH_ARGV",
        "BASH_ARGV0",
        "BASH_COMMAND",
        "BASH_EXECUTION_STRING",
        "BASH_REMATCH",
        "COMP_LINE",
        "COMP_WORDS",
        "DIRSTACK",
        "FUNCNAME",
        "MAPFILE",
        "OPTARG",
        "READLINE_LINE",
        "REPLY",
    }
)
"""Variables in which bash keeps what the line says."""
_ALTERNATIVES = 16
"""Texts that a variable may hold before it may hold any."""
_STATE = (
    "arguments",
    "chosen",
    "cwd",
    "diverted",
    "elsewhere",
    "forgotten",
    "given",
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
_KEY = re.compile(r"\[\w+\]=", re.ASCII)
"""How an element of a list that is assigned names its place."""


class Value(msgspec.Struct, frozen=True):
    """What a variable or a part of a word holds."""

    text: str = ""
    variables: tuple[str, ...] = ()
    feeds: tuple[int, ...] = ()
    number: bool = False
    """It is a number, though perhaps not a known one."""
    several: bool = False
    """Where it is not quoted, it may be more words than one, though all of them are numbers."""
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
    mixed: bool = False
    """It may be something else than what its variables hold and its feeds print."""
    cut: bool = False
    """It is a piece of what its feeds print, which was cut at blanks."""

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
            mixed=True,
        )

    @property
    def numeric(self) -> bool:
        """Tell whether it is surely a number."""
        return self.number or is_decimal(self.text)


UNKNOWN_VALUE = Value(UNKNOWN, opaque=True, mixed=True)
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
        mixed=word.mixed,
        cut=word.cut,
    )


def _holds_code(value: Value) -> bool:
    """Tell whether a value may run something where it is evaluated as a number."""
    if value.number:
        return False
    held = value.items or (value,)
    return any(may_run(text) for item in held for text in texts(item.text, item.hints) or (item.text * item.opaque,))


def may_run(text: str) -> bool:
    """Tell whether a text may run something where it is evaluated: it has a subscript, or is only known later."""
    return "[" in _KEY.sub("", text) or any(mark in text for mark in (UNKNOWN, MADE, FOREIGN))


def _either(one: Value, other: Value) -> tuple[str, ...]:
    """Give what one of two values may be; in a loop that puts texts together there would be no end of it."""
    found = merged(texts(one.text, one.hints), texts(other.text, other.hints))
    return found if len(found) <= _ALTERNATIVES else (MADE,)


class ShellScope:
    """The state of one shell. Forking gives a copy; joining keeps only what both agree on."""

    integers = _INTEGERS
    readonly: frozenset[str] = frozenset()
    arguments: tuple[Value, ...] | None = None
    named: Value | None = None
    """What `$0` is, if the line says so."""
    given: tuple[str, ...] = ()
    """What arguments may be of which nobody knows which is which."""
    forgotten = False
    continued = False
    """It has run other lines before."""
    chosen = False
    """A variable that nobody knows may have been set by what ran."""
    diverted = False
    holds_code = False
    """A variable that the line set may run something where it is evaluated as a number."""
    """Its input may be another than what the line puts before it."""
    splitting = True
    """Words are still split at spaces, tabs and newlines."""
    elsewhere: tuple[str, ...] = ()
    """Where the shell is instead, if a change of folder failed."""
    lost = False
    """There are too many places where it may be."""
    previous: tuple[str | None, ...] | None = ()
    """Where it may have been before, the likeliest first, `None` among them for elsewhere; None if nobody knows."""
    stack: tuple[str | None, ...] | None = ()

    def __init__(self, cwd: str | None, outside: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.outside = outside
        self.values: dict[str, Value] = {}
        self.assured: tuple[str, ...] | None = None
        """Where it is instead if the last command succeeded; None if that was no change of folder."""
        self.left: tuple[str | None, ...] = ()
        """Where it was before that."""

    def take(self, arguments: Sequence[Word]) -> None:
        """Be called with these words, the name first; of those that may be several nobody knows which is which."""
        known = not any(word.splits for word in arguments)
        self.arguments = tuple(map(value_of, arguments[1:])) if known else None
        self.named = value_of(arguments[0]) if known and arguments else None
        self.given = merged(*(texts(word.text, word.hints) for word in arguments)) if not known else ()

    def fork(self) -> ShellScope:
        """Give a copy that can change by itself."""
        step()
        copy = ShellScope(self.cwd, self.outside)
        copy.__dict__.update(self.__dict__)
        copy.values = self.values.copy()
        copy.assured = None
        return copy

    def later(self) -> ShellScope:
        """Give what is known at any later time: nothing, but that it may also be now.

        What names the home folder and splits words is taken to stay: a line that changes it is never safe.
        """
        copy = ShellScope(None, self.outside)
        copy.forget()
        copy.chosen, copy.given = False, ()
        copy.values["HOME"] = self.value("HOME")
        copy.splitting = self.splitting
        copy.elsewhere = self.places
        copy.lost = self.lost
        return copy

    @property
    def places(self) -> tuple[str, ...]:
        """Give the folders it may be in, as far as they are known, the likeliest first if there is one."""
        return self.elsewhere if self.cwd is None else (self.cwd, *self.elsewhere)

    def same(self, other: ShellScope) -> bool:
        """Tell whether nothing differs."""
        return all(getattr(self, name) == getattr(other, name) for name in _STATE)

    def join(self, other: ShellScope) -> None:
        """Keep what holds here and there; the rest becomes unknown."""
        step()
        if self.__dict__ == other.__dict__:
            return
        if self.values != other.values:
            for name in self.values.keys() | other.values.keys():
                if self.values.get(name) != other.values.get(name):
                    step()
                    self.values[name] = self.value(name).or_else(other.value(name))
        if self.arguments != other.arguments or self.given != other.given:
            both = (*(self.arguments or ()), *(other.arguments or ()))
            self.given = merged(self.given, other.given, *(texts(each.text, each.hints) for each in both))
            self.arguments = None
        self.meet(other)
        known = self.previous is not None and other.previous is not None
        self.previous = tuple(dict.fromkeys((*(self.previous or ()), *(other.previous or ())))) if known else None
        self.stack = self.stack if self.stack == other.stack else None
        self.forgotten = self.forgotten or other.forgotten
        self.chosen = self.chosen or other.chosen
        self.diverted = self.diverted or other.diverted
        self.holds_code = self.holds_code or other.holds_code
        self.splitting = self.splitting and other.splitting
        self.integers |= other.integers
        self.readonly |= other.readonly

    def meet(self, other: ShellScope) -> None:
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
        """Know nothing any more: something ran that can change everything, or nothing."""
        self.values = {name: _doubted(value) for name, value in self.values.items()}
        self.forgotten = self.diverted = self.chosen = True
        self.given = merged(self.given, *(texts(each.text, each.hints) for each in self.arguments or ()), (MADE,))
        self.splitting = False
        self.arguments = self.cwd = self.previous = self.stack = None
        self.elsewhere = (UNKNOWN,)

    def value(self, name: str) -> Value:
        """Look up a variable."""
        known = self.values.get(name)
        if known is not None:
            return known
        if self.chosen or name in _ECHOED:
            return Value(UNKNOWN, (name,), opaque=True, hints=(MADE,), mixed=True)
        if self.forgotten:
            return Value(UNKNOWN, (name,))
        if name in {"PWD", "OLDPWD"}:
            return self.folder(name)
        return Value(self.outside.get(name, UNKNOWN), (name,))

    def folder(self, name: str) -> Value:
        """Look up the variable that holds the folder, or the one before."""
        before = tuple(each for each in self.previous or () if each is not None)
        places = self.places if name == "PWD" else before or ((MADE,) if self.continued else ())
        if name == "PWD" and self.cwd is not None and not self.elsewhere:
            return Value(self.cwd, (name,))
        return Value(UNKNOWN, (name,), hints=places, mixed=bool(places))

    def assign(self, name: str, value: Value) -> None:
        """Set a variable, if it keeps what is assigned."""
        if name == "IFS":
            self.splitting = False
        if name in self.integers:
            value = UNKNOWN_NUMBER
        elif name in _DYNAMIC or name in self.readonly:
            value = self.value(name).or_else(value)  # it may keep what it holds, or not
        self.holds_code = self.holds_code or _holds_code(value)
        self.values[name] = value

    def succeed(self) -> None:
        """Go on where the last command is known to have succeeded: a change of folder did not fail."""
        if self.assured is not None:
            self.elsewhere, self.previous = self.assured, self.left

    def or_in(self, folders: Iterable[str | None]) -> None:
        """Be in one of these instead, whether or not the last change of folder succeeded."""
        known = [each for each in folders if each is not None]
        self.assured = tuple(each for each in dict.fromkeys((*(self.assured or ()), *known)) if each != self.cwd)
        self.elsewhere = tuple(each for each in dict.fromkeys((*self.elsewhere, *known)) if each != self.cwd)
        self.give_up()

    def go_back(self) -> None:
        """Change to where it was before."""
        before = self.previous or (None,)
        self.enter(None if None in before else before[0])
        self.or_in(before)

    def enter(self, folder: str | None) -> None:
        """Change the folder; None is one that is not known."""
        if self.lost and (folder is None or not folder.startswith("/")):
            return
        before = () if self.cwd is None else (self.cwd,)
        self.left = (self.cwd, *self.elsewhere)
        self.previous = None if self.previous is None else tuple(dict.fromkeys((*self.left, *self.previous)))
        self.values.pop("PWD", None)
        self.values.pop("OLDPWD", None)
        self.holds_code = self.holds_code or "[" in (folder or "")
        if folder is None:
            self.cwd, self.elsewhere, self.assured = None, tuple(dict.fromkeys((*before, *self.elsewhere))), ()
            return
        known = self.cwd is not None or folder.startswith("/")
        self.cwd = normalise(posixpath.join(self.cwd or "/", folder)) if known else None
        others = {normalise(posixpath.join(each, folder)): None for each in self.elsewhere}
        failed = dict.fromkeys((*before, *self.elsewhere))
        self.assured = tuple(each for each in others if each != self.cwd)
        self.elsewhere = tuple(each for each in others | failed if each != self.cwd)
        self.give_up()


def _doubted(value: Value) -> Value:
    """Give a value that may be another by now."""
    hints = merged(texts(value.text, value.hints), (MADE,))
    return Value(UNKNOWN, value.variables, value.feeds, opaque=True, hints=hints, mixed=True)


def _distance(path: str) -> tuple[int, str]:
    return path.count("/"), path


def normalise(path: str) -> str:
    """Take `.`, `..` and double slashes out of an absolute path, as text."""
    return "/" + posixpath.normpath(path).lstrip("/")

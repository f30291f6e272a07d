"""Find expressions: what they read, write, run and delete. What is not understood is a fault."""

from __future__ import annotations

import msgspec

from assent.analysis.ir import Word
from assent.analysis.programs.match import may_be_option
from assent.analysis.values.hints import FITS, MADE, merged
from assent.analysis.values.printed_text import MATCHING, NAMING, NEGATING, SPANNING, spanned
from assent.budget import step
from assent.model import UNKNOWN

_ALONE = frozenset(
    (
        "-print",
        "-print0",
        "-ls",
        "-prune",
        "-quit",
        "-empty",
        "-readable",
        "-writable",
        "-executable",
        "-true",
        "-false",
        "-not",
        "-and",
        "-or",
        "-a",
        "-o",
        "!",
        "(",
        ")",
        ",",
        "-depth",
        "-d",
        "-mount",
        "-xdev",
        "-noleaf",
        "-daystart",
        "-follow",
        "-nouser",
        "-nogroup",
        "-warn",
        "-nowarn",
        "-H",
        "-L",
        "-P",
        "-E",
        "-X",
        "-s",
        "-x",
        "-ignore_readdir_race",
        "-noignore_readdir_race",
        "-help",
        "--help",
        "-version",
        "--version",
    )
)
_WITH_VALUE = frozenset(
    (
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-regextype",
        "-type",
        "-xtype",
        "-size",
        "-mtime",
        "-atime",
        "-ctime",
        "-mmin",
        "-amin",
        "-cmin",
        "-maxdepth",
        "-mindepth",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-perm",
        "-links",
        "-inum",
        "-fstype",
        "-used",
        "-printf",
        "-lname",
        "-ilname",
        "-newermt",
        "-newerat",
        "-newerct",
        "-newerBt",
        "-context",
        "-flags",
    )
)
_FILES = frozenset(
    (
        "-newer",
        "-anewer",
        "-cnewer",
        "-samefile",
        "-newermm",
        "-newerma",
        "-newermc",
        "-neweram",
        "-neweraa",
        "-newerac",
    )
)
_WRITES = {"-fprint": 1, "-fprint0": 1, "-fls": 1, "-fprintf": 2}
_EXEC = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_EXPRESSION = _EXEC | _WRITES.keys() | {"-delete"}
"""What does more than to look: where a word before it comes to nothing, it is no longer a value."""
_ODD = frozenset("-!(),*?[")
_UNSURE = "has an expression that is known only at run time"


class FindExpression(msgspec.Struct, frozen=True):
    """What one run of find touches."""

    roots: tuple[Word, ...] = ()
    files: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    commands: tuple[tuple[Word, ...], ...] = ()
    deletes: bool = False
    tested: bool = False
    """Something narrows down what is found."""
    moves: bool = False
    """A command runs in the folder of what was found, not in the one that find runs in."""
    fault: str | None = None
    names: tuple[str, ...] = ()
    """Patterns of the names that are looked for."""


def read_find(words: tuple[Word, ...]) -> FindExpression:
    """Read the words after the program's name."""
    walk = _Walk(words)
    while walk.at < len(words):
        walk.advance()
    return FindExpression(
        tuple(walk.roots),
        tuple(walk.files),
        tuple(walk.writes),
        tuple(walk.commands),
        walk.deletes,
        walk.tested,
        walk.moves,
        walk.fault,
        tuple(walk.names),
    )


class _Walk:
    def __init__(self, words: tuple[Word, ...]) -> None:
        self.words, self.at = words, 0
        self.roots: list[Word] = []
        self.files: list[Word] = []
        self.writes: list[Word] = []
        self.commands: list[tuple[Word, ...]] = []
        self.names: list[str] = []
        self.fits: list[str] = []
        self.deletes = self.tested = self.started = self.moves = False
        self.fault: str | None = None

    def advance(self) -> None:
        step()
        word = self.words[self.at]
        self.at += 1
        text = word.text
        if (may_be_option(word) and not _is_path(word)) or (UNKNOWN in text and text[0] in "-!(),"):
            self._fail(_UNSURE)
        if text in _ALONE:
            self.started = self.started or text not in ("-H", "-L", "-P", "-E", "-X", "-s", "-x", "-d")
            self.tested = self.tested or text in ("-empty", "-executable", "-nouser", "-nogroup")
        elif text == "-delete":
            self.deletes = True
        elif text in _EXEC:
            self.moves = self.moves or text in ("-execdir", "-okdir")
            self._command()
        elif text in _WITH_VALUE or text in _FILES or text in _WRITES:
            self._valued(text)
        elif text == "-D":
            self.at += 1
        elif text.startswith("-O") and text[2:].isdigit():
            return
        elif text.startswith("-") or self.started:
            self._fail(f"`{text.replace(UNKNOWN, '…')}` is not a known part of a find expression")
        else:
            self.roots.append(word)

    def _valued(self, text: str) -> None:
        self.started = True
        values = self.words[self.at : self.at + _WRITES.get(text, 1)]
        self.at += len(values)
        if any(v.splits and not v.plain and not _is_name(v) for v in values):
            self._fail(_UNSURE)
        if any(v.text in _EXPRESSION for v in values):
            self._fail(f"`{text}` may become part of the find expression at run time")
        if text in _FILES:
            self.files.extend(values)
        elif text in _WRITES:
            self.writes.extend(values[:1])
        elif text == "-inum":
            self.names.append(MADE)
        elif text in NAMING:
            negated = self.at > 2 and self.words[self.at - 3].text in NEGATING
            self.names += [MADE if negated and "[" in v.text else v.text for v in values]
            self.fits += [FITS + spanned(v.text) for v in values if text in SPANNING and not negated]
        elif text in MATCHING:
            self.names += [_as_pattern(v.text) for v in values]
            self.fits += [FITS + v.text for v in values]
        self.tested = self.tested or text not in ("-maxdepth", "-mindepth", "-printf", "-type")

    def _command(self) -> None:
        """Take the words up to `;`, or to `+` after `{}`; the paths they are given are only known at run time."""
        self.started = True
        found: list[Word] = []
        before = ""
        while self.at < len(self.words):
            step()
            word = self.words[self.at]
            self.at += 1
            if word.text == UNKNOWN and word.chosen:
                self._fail(_UNSURE)  # it may be what ends the command
            if word.text == "+" and "{}" in before and before != "{}":
                self._fail("runs a command that versions of find end at different words")
            if word.text == ";" or (word.text == "+" and "{}" in before):
                self.commands.append(tuple(found))
                return
            found.append(self._filled(word))
            before = word.text
        self._fail("runs a command without a closing `;` or `+`")
        self.commands.append(tuple(found))

    def _filled(self, word: Word) -> Word:
        if "{}" not in word.text:
            return word
        # Every path found starts with a root as it was given, so that it is no option.
        starts = [root.text for root in self.roots] or ["."]
        text = word.text.replace("{}", f"{starts[0]}/{UNKNOWN}")
        names = [f"{start}/**/{each}" for start in starts for each in self.names] or [f"{start}/**" for start in starts]
        found = merged((word.text.replace("{}", name) for name in names), self.fits)
        return Word(text, word.variables, word.feeds, hints=found)

    def _fail(self, reason: str) -> None:
        self.fault = self.fault or reason


def _is_path(word: Word) -> bool:
    """Tell whether a word can be no part of an expression, whatever it becomes: there is a slash in it."""
    return "/" in word.text and (not word.splits or UNKNOWN not in word.text)


def _is_name(word: Word) -> bool:
    """Tell whether a pattern that was not quoted can only become names: find takes one, and refuses to take more."""
    return UNKNOWN not in word.text and word.text[:1] not in _ODD


def _as_pattern(expression: str) -> str:
    """Write a regular expression as the pattern of names that it comes nearest to."""
    return expression.replace(".*", "*").replace("\\", "")

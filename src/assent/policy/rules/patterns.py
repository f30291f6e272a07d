"""Patterns over commands, hosts and plain text, answering yes, maybe or no.

Two directions with opposite errors: *strict* matching may prove that an allow covers something, *broad* matching may
find that a deny or ask is meant. What strict matching calls a yes, broad matching calls one too.
"""

from __future__ import annotations

import fnmatch
import functools
from typing import Any

import msgspec

import assent.lazy_regex as re
from assent.analysis.resources.re2 import compile_expression
from assent.model import MAYBE, NO, UNKNOWN, YES, Certainty, RuleError

_GLOB = re.compile(r"[*?\[]")
_LONGEST_GLOB = 512
"""Signs of a pattern that is held against a name."""
_GAP = "\x1f"
_TRAILING = re.compile(r"(?::\*{1,2}|(?<!\s)\s++\*{1,2})$")
_FIRST_COLON = re.compile(
    r"^([A-Za-z0-9_.+@-]{2,}(?=:\s*(?:[^\s/]|/[^/]))|[A-Za-z0-9](?=:\s*[^\s/\\])|[\w.+@~/-]*/[\w.+@-]+(?=:[^\s/]+(?:\s|$))):\s*"
)
"""A program and the colon that may stand for the blank behind it: not the `https://` of an address, nor a drive, nor a
colon within a path."""
_TOKEN = re.compile(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)"|(\*+)|(\s+)|([^\s'"\\*]+|['"\\])""", re.DOTALL)
SYSTEM_FOLDERS = (
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/opt/homebrew/bin/",
)


class CommandPattern(msgspec.Struct, frozen=True):
    """A pattern over the words of one parsed command."""

    words: tuple[str, ...]
    """The leading words that are literal; all of them if there is no `expression`."""
    open_ended: bool
    """More words may follow, also for an allow."""
    expression: str | None = None
    """For a `*` before the end: an expression over the joined words."""
    heads: tuple[str, ...] = ()
    """The words from the first with a `*` in it, each as far as it is literal; a `*` stands for the rest."""

    def spells(self, argv: tuple[str, ...], indexes: tuple[int, ...]) -> bool:
        """Tell whether each of some words of a command that it matches stands in the pattern, as far as its `=`."""
        if not self.words and self.expression is None:
            return True  # it names no program: whatever one runs is covered
        free = list(self.heads)
        for index in indexes:
            if index < len(self.words):
                continue
            head = next((h for h in free if _is_spelled(argv[index], h)), None)
            if head is None:
                return False
            free.remove(head)
        return True

    @property
    def program(self) -> str | None:
        """Return the name of the program it is about, if it names one."""
        return basename(self.words[0]) if self.words else None

    def match(self, argv: tuple[str, ...], *, broad: bool, fold: bool = False) -> Certainty:
        """Compare with a command's words."""
        if self.expression is not None:
            return self._search(argv, self.expression, broad=broad, fold=fold)
        return self._compare(argv, broad=broad, fold=fold)

    def _compare(self, argv: tuple[str, ...], *, broad: bool, fold: bool) -> Certainty:
        for index, word in enumerate(self.words):
            if index >= len(argv):
                return NO
            if UNKNOWN in argv[index]:
                return MAYBE if _could_be(argv[index], word, program=index == 0) else NO
            if broad and _could_expand(argv[index], word, program=index == 0):
                return MAYBE
            same = _same_program(argv[0], word, broad=broad, fold=fold) if index == 0 else argv[index] == word
            if not same:
                return NO
        return YES if broad or self.open_ended or len(argv) == len(self.words) else NO

    def _search(self, argv: tuple[str, ...], expression: str, *, broad: bool, fold: bool) -> Certainty:
        if any(_GAP in word for word in argv):
            return MAYBE
        wanted = ("(?i)" if fold and broad else "") + expression + (f"(?:{_GAP}.*)?" if broad else "")
        lines = [_GAP.join((p, *argv[1:])) for p in dict.fromkeys((argv[0], basename(argv[0]) if broad else argv[0]))]
        if any(compile_expression(wanted).fullmatch(line) for line in lines):
            return YES
        head = _GAP.join(self.words)
        starts = [line.partition(UNKNOWN)[0] for line in lines if UNKNOWN in line]
        return MAYBE if any(s.startswith(head) or head.startswith(s) for s in starts) else NO


@functools.lru_cache(maxsize=65536)
def compile_command(text: str) -> CommandPattern:
    """Read the pattern of a command rule."""
    body = _TRAILING.sub("", text.strip())
    open_ended = body != text.strip()
    body = split_program(body)
    if body in ("", "*", "**"):
        return CommandPattern((), open_ended=True)
    pieces = _tokens(body)
    if all(isinstance(word, str) for word in pieces):
        return CommandPattern(tuple(str(w) for w in pieces), open_ended=open_ended)
    literal = next(i for i, word in enumerate(pieces) if not isinstance(word, str))
    expression = "(?s)" + _GAP.join(re.escape(w) if isinstance(w, str) else w.pattern for w in pieces)
    expression += f"(?:{_GAP}.*)?" if open_ended else ""
    compile_expression(expression)
    heads = tuple(_head(piece) for piece in pieces[literal:])
    return CommandPattern(tuple(str(w) for w in pieces[:literal]), open_ended, expression, heads)


def unquoted(text: str) -> str:
    """Return the pattern of a command rule without what is quoted or escaped in it."""
    return "".join(star + space + plain for *_, star, space, plain in _TOKEN.findall(text))


def _head(piece: str | re.Pattern[str]) -> str:
    """Return a word of a pattern as far as it is literal."""
    if isinstance(piece, str):
        return piece
    return re.sub(r"\\(.)", r"\1", piece.pattern.partition(".*")[0]) + "*"


def _is_spelled(word: str, head: str) -> bool:
    """Tell whether a word of a pattern says which option a word is: all of it, or up to its value."""
    if not head.endswith("*"):
        return word == head
    literal = head[:-1]
    return literal.endswith("=") and word.startswith(literal)


def split_program(pattern: str) -> str:
    """Write the colon behind the first word as the blank that it stands for: `git:push*` is `git push*`."""
    return _FIRST_COLON.sub(r"\1 ", pattern)


def _tokens(body: str) -> list[str | re.Pattern[str]]:
    """Split a pattern into words; a word with a free `*` comes back as an expression."""
    words: list[str | re.Pattern[str]] = []
    literal = expression = ""
    wild = False
    for escaped, single, double, star, space, plain in _TOKEN.findall(body + " "):
        if space:
            words.append(re.compile(expression) if wild else literal)
            literal, expression, wild = "", "", False
            continue
        piece = escaped or single or re.sub(r"\\(.)", r"\1", double) or plain
        literal += piece or star
        expression, wild = expression + (".*" if star else re.escape(piece)), wild or bool(star)
    return words


def _could_be(word: str, wanted: str, *, program: bool) -> bool:
    """Tell whether a word with unknown parts may begin with the wanted one: what is not known may hold spaces."""
    head = word.partition(UNKNOWN)[0]
    return wanted.startswith(head) or (program and basename(wanted).startswith(basename(head)))


def _could_expand(word: str, wanted: str, *, program: bool) -> bool:
    """Tell whether the shell may turn a pattern into the wanted word, if such a file exists; a long one into any."""
    if word == wanted or not _GLOB.search(word):
        return False
    if len(word) > _LONGEST_GLOB:
        return True
    return fnmatch.fnmatchcase(wanted, word) or (program and fnmatch.fnmatchcase(basename(wanted), basename(word)))


def _same_program(named: str, wanted: str, *, broad: bool, fold: bool) -> bool:
    if named == wanted or (fold and broad and named.casefold() == wanted.casefold()):
        return True
    if broad:
        ours, theirs = basename(named), basename(wanted)
        return ours == theirs or (fold and ours.casefold() == theirs.casefold())
    return "/" not in wanted and any(named == folder + wanted for folder in SYSTEM_FOLDERS)


def basename(program: str) -> str:
    """Return a program's name without its folder."""
    return program.rsplit("/", 1)[-1]


class HostPattern(msgspec.Struct, frozen=True):
    """A host: exact, `*.example.com` for anything below, or `*` inside one label."""

    host: str
    below: bool = False
    expression: str | None = None

    def match(self, host: str) -> Certainty:
        """Compare with a host, with or without a port."""
        if UNKNOWN in host:
            return MAYBE
        name = host_name(host)
        if self.expression is not None:
            return YES if compile_expression(self.expression).fullmatch(name) else NO
        if self.below:
            return YES if name.endswith("." + self.host) else NO
        return YES if name == self.host else NO


def compile_host(text: str) -> HostPattern:
    """Read the pattern after `domain:`."""
    host = text.strip().lower().removesuffix(".")
    if text.strip() == "*":
        return HostPattern("", expression="(?s).*")
    below, rest = host.startswith("*."), host.removeprefix("*.")
    # A port, or a letter that no resolver sends, would make a rule that never matches.
    if (
        not rest.strip("*.")
        or not rest.isascii()
        or set(rest) & set("/ @")
        or (":" in rest and not rest.startswith("["))
    ):
        raise RuleError(f'"{text}" is not a domain')
    if "*" not in rest:
        return HostPattern(rest, below)
    labels = re.escape(rest).replace(r"\*", "[^.]*")
    return HostPattern(rest, below, r"(?:[^.]+\.)+" + labels if below else labels)


def host_name(host: str) -> str:
    """Drop the port and the final dot of a host, in lower case."""
    name = host.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0].rstrip(".")


@functools.lru_cache(maxsize=65536)
def compile_text(pattern: str) -> Any:
    """Compile a pattern over plain text, where `*` spans anything."""
    body = _TRAILING.sub("*", pattern)
    return compile_expression("(?s)" + ".*".join(re.escape(part) for part in re.split(r"\*+", body)))

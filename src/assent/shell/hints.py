"""What a word may be that is no constant: texts of the line from which it was chosen, printed or put together.

Nothing is proved by them. They only tell, where a word is known when the line runs, what its author may have meant.
"""

from __future__ import annotations

import itertools
import posixpath
from typing import TYPE_CHECKING

import assent.regex as re
from assent.model import UNKNOWN
from assent.patience import step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assent.shell.tree import Command, Word

MADE = "\ufdd1"
"""Stands in a hint for text that the line itself makes up, by means that are not followed."""
MOST = 64
"""Hints that a word may have; one that may be more is made up."""

_LONGEST = 16
"""Commands of a pipe that are followed."""
_WORDIEST = 256
"""Words of a command that are followed as what it may print."""
_PIECE = re.compile(r"[^\s'\"|&;(){},=]+")
_FIELD = re.compile(r"[^:,;|=]+")
_SEPARATED = re.compile(r"\\(?:0(?![0-7])|[nt])|\s")
_SLOT = re.compile(r"%[-0]?\d*[sd]")
_ITSELF = re.compile(r"\bexpr$|BEGIN|END|^-\w*n|^--null-input")
"""What makes such a command speak without its input, or whatever that is; so does text of its own in quotes."""
_ALL = re.compile(r"-\w*[aA]|--al")
_INVERTING = re.compile(r"-\w*v|--inv")
_HIDDEN = re.compile(r"-\w*[HuI]|--hidden|--unres|--no-ignore")
_OTHERS = re.compile(r"-\w*o|--others")
_IGNORED = re.compile(r"-\w*[iX]|--ignored")
_GIT_LISTS = frozenset({"ls-files", "status", "clean"})
_CUTTING = frozenset("co")
_SEARCHING = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "git"})
_CHOOSING = frozenset({"awk", "gawk", "mawk", "nawk", "sed", *_SEARCHING})
"""Commands that are told in a pattern which lines of their input to print."""
_PASSING = frozenset({"cat", "sort", "uniq", "head", "tail", "tee", "tac", "xargs", *_SEARCHING})
"""Commands that print of their input what they were given, unchanged."""
_SPEAKING = frozenset({"expr", "awk", "gawk", "mawk", "nawk", "jq", "yq", "bc", "dc"})
"""Commands that print what their words say, without a file."""
_FETCHING = frozenset({"curl", "wget"})
"""Commands that print what another machine says, which may be any name."""


def texts(value: str, hints: tuple[str, ...]) -> tuple[str, ...]:
    """Give all that something may be: its hints, or what it says; nothing if that is not known at all."""
    if hints:
        return hints
    return () if value == UNKNOWN else (value,)


def merged(*groups: Iterable[str]) -> tuple[str, ...]:
    """Put hints side by side; too many of them are as good as none."""
    found: dict[str, None] = {}
    for text in itertools.chain(*groups):
        found[text] = None
        if len(found) > MOST:
            return (MADE,)
    return tuple(found)


def combined(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Put hints one behind the other, each with each."""
    found: tuple[str, ...] = ("",)
    for part in parts:
        if len(found) * len(part) > MOST:
            return (MADE,)
        found = tuple(before + after for before in found for after in part)
    return tuple(dict.fromkeys(MADE if MADE in text else text for text in found))


def split(hints: tuple[str, ...]) -> tuple[str, ...]:
    """Give the words that hints become where they are not quoted."""
    return merged(piece for hint in hints for piece in hint.split())


def parted(hints: tuple[str, ...], separators: str) -> tuple[str, ...]:
    """Give hints and what is between these characters in them; of separators that are not known, anything."""
    if UNKNOWN in separators:
        return (MADE,) if hints else ()
    table = str.maketrans(dict.fromkeys(separators, " "))
    return merged(hints, split(tuple(hint.translate(table) for hint in hints)))


def of_word(word: Word) -> tuple[str, ...]:
    """Give all that a word may be."""
    return texts(word.text, word.hints)


def fed(command: Command, commands: Sequence[Command]) -> tuple[str, ...]:
    """Give what a command may read from its standard input, as far as it is text of the line."""
    here = [hint for each in command.redirects if each.direction == "here" for hint in of_word(each.target)]
    given = merged(split(tuple(here)), printed(command.fed_by, commands))
    # The separator may be another one than the blank.
    return merged(given, (field for hint in given for field in _FIELD.findall(hint)))


def printed(feeds: Iterable[int], commands: Sequence[Command]) -> tuple[str, ...]:
    """Give what these commands may print, as far as it is text of the line."""
    step()
    found = _upstream(feeds, commands)
    if not found or len(found) > _LONGEST or any(len(each.words) > _WORDIEST for each in found):
        return (MADE,) if found else ()
    said = [text for each in found for text in _spoken(each) or ()]
    if MADE not in said and all(_spoken(each) is not None or _passes(each) for each in found):
        return merged(*(_SEPARATED.sub(" ", text).split() for text in said), _named(found))
    made = any(text.strip(f" {UNKNOWN}") for text in said) or any(map(_says_itself, found))
    return merged((MADE,) if made else (), _named(found))


def _upstream(feeds: Iterable[int], commands: Sequence[Command]) -> list[Command]:
    todo, seen = list(feeds), dict[int, None]()
    while todo and len(seen) <= _LONGEST:
        index = todo.pop()
        if index not in seen and index < len(commands):
            seen[index] = None
            todo += commands[index].fed_by
    return [commands[index] for index in seen if commands[index].words]


def _name(command: Command) -> str:
    return posixpath.basename(command.words[0].text)


def _passes(command: Command) -> bool:
    """Tell whether a command prints of its input some lines as they are."""
    cuts = any(word.text.startswith("-") and not _CUTTING.isdisjoint(word.text) for word in command.words[1:])
    return _name(command) in _PASSING and not cuts


def _spoken(command: Command) -> tuple[str, ...] | None:
    """Give what `echo` and its like print; None if a command does something else."""
    name, words = _name(command), command.words[1:]
    if name == "echo":
        said = combined([part for word in words for part in ((" ",), of_word(word) or (UNKNOWN,))])
        return (MADE,) if any("\\" in text for text in said) else said
    if name == "printf":
        return formatted(words)
    if name == "basename" and words and all(word.known for word in words):
        suffix = words[1].text if len(words) > 1 else ""
        return (posixpath.basename(words[0].text).removesuffix(suffix),)
    return None


def formatted(words: Sequence[Word]) -> tuple[str, ...]:
    """Give what `printf` prints, if its format only puts words in places."""
    formats = of_word(words[0]) if words else ()
    plain = _SEPARATED.sub(" ", formats[0]) if len(formats) == 1 else "\\"
    if "\\" in plain or "%" in _SLOT.sub("", plain) or any("\\" in word.text for word in words[1:]):
        return (MADE,)
    pieces = _SLOT.split(plain)
    values = [of_word(word) or (UNKNOWN,) for word in words[1:]] or [("",)]
    each = len(pieces) - 1
    values += [("",)] * (-len(values) % each if each else 0)
    rounds = [values[at : at + each] for at in range(0, len(values), each)] if each else [[]]
    parts = [
        part for one in rounds for part in itertools.chain(*zip(((p,) for p in pieces), [*one, ("",)], strict=True))
    ]
    return combined(parts)


def _says_itself(command: Command) -> bool:
    """Tell whether a command prints text of the line in a form of its own."""
    here = any(each.direction == "here" and of_word(each.target) for each in command.redirects)
    alone = not command.fed_by or any('"' in word.text or _ITSELF.search(word.text) for word in command.words)
    return here or _name(command) in _FETCHING or (_name(command) in _SPEAKING and alone)


def _named(commands: Sequence[Command]) -> Iterator[str]:
    """Give every name that stands in the words and the input of commands, but for what is looked for in files."""
    filtered = any(_name(command) in _SEARCHING and not _inverts(command) and _chooses(command) for command in commands)
    for command in commands:
        name, pieces = _name(command), _pieces(command)
        if (name in _CHOOSING and (name != "git" or _searches(command))) or _finds_hidden(command):
            pieces = [piece for piece in pieces if piece.strip("./")]  # dots alone are any letter, or part of a name
            pieces += [f".{piece.strip('/')}" for piece in pieces]
        elif not filtered and _lists_hidden(command):
            pieces.append(".*")
        yield from pieces
        yield from _found_in(command)


def _found_in(command: Command) -> Iterator[str]:
    """Give what `find` is after by its name, in the folder outside that it looks in first."""
    said = [word.text for word in command.words]
    if _name(command) == "find" and len(said) > 1 and said[1].startswith("/"):
        yield from (f"{said[1]}/{name}" for test, name in itertools.pairwise(said) if test in {"-name", "-iname"})


def _pieces(command: Command) -> list[str]:
    """Give the pieces of what a command is told and fed, but for what it looks for in files."""
    words = () if _searches(command) and not command.fed_by else command.words[1:]
    given = (*words, *(each.target for each in command.redirects if each.direction == "here"))
    return [bare for word in given for text in of_word(word) for p in _PIECE.findall(text) for bare in _bare(p)]


def _chooses(command: Command) -> bool:
    """Tell whether a pattern leaves lines out: dots and stars match whatever there is."""
    said = [word.text for word in command.words[1:] if not word.text.startswith("-")]
    return not command.fed_by or any(text.strip(".*^$\\+?") for text in said)


def _searches(command: Command) -> bool:
    """Tell whether a command is told what to look for in files; git is, where it is told so."""
    words = command.words
    return _name(command) in _SEARCHING and (_name(command) != "git" or any(w.text == "grep" for w in words[1:]))


def _inverts(command: Command) -> bool:
    """Tell whether a command prints the lines in which nothing was found."""
    return _name(command) == "git" or any(_INVERTING.match(word.text) for word in command.words[1:])


def _finds_hidden(command: Command) -> bool:
    """Tell whether a command looks for a part of a name, and for hidden files too."""
    return _name(command) in {"fd", "fdfind"} and any(_HIDDEN.match(word.text) for word in command.words[1:])


def _lists_hidden(command: Command) -> bool:
    """Tell whether a command lists hidden files, or just those that a repository is to leave alone."""
    said = [word.text for word in command.words[1:]]
    if _name(command) == "ls":
        return any(map(_ALL.match, said))
    others = "--exclude-standard" not in said and any(map(_OTHERS.match, said))
    return _name(command) == "git" and not _GIT_LISTS.isdisjoint(said) and (others or any(map(_IGNORED.match, said)))


def _bare(piece: str) -> tuple[str, str]:
    """Take what is no part of a name from a piece of a pattern or of a format, which may be an expression."""
    plain = piece.replace("\\", "").lstrip("+^-").rstrip("$")
    return plain, plain.replace(".*", "*")

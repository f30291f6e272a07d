"""Words that the shell matches against file names: what such a pattern may find.

Quotes are gone when a word gets here, so everything is read in the widest way it could be meant: nothing that the
shell may find is missed, and what is found too much only makes a call ask.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import assent.lazy_regex as re
from assent.analysis.bash import braces
from assent.analysis.ir import Word
from assent.budget import loaded, step
from assent.catalog import secret_names, sensitive_paths
from assent.model import UNKNOWN

Tokens: TypeAlias = tuple[str | None, ...]
"""One name: the characters that may stand at each place, in lower case; "" for any, None for any number of them."""

_TOKEN = re.compile(rf"(?s)[*{UNKNOWN}]++|.")
_WILD = re.compile(r"[*?\[]")
_RUN = re.compile(rf"[*?{UNKNOWN}]++")
_QUERY = re.compile(r"[\w:./-]+\?[\w.%-]+=[\w.%&=:+-]*")
_LEFT_OUT = re.compile(r":?[!]|:\^|:\([^)]*\bexclude\b")
_MAGIC = re.compile(r"^(?::\([^)]*\)|:/|[\w-]+:(?:include:)?)")
"""What stands before the pattern itself: `:(glob)` of git, `name:` of a type that is defined."""
_LEADING = re.compile(r"[*?]+(?!\.)|\[\.[^\]]*\]")
_EVERYDAY = re.compile(r"\*+\.")
_SHOWN = tuple(name[1:] for name in secret_names.NOT_SECRET if name.startswith("*"))
_HISTORIES = ("bash", "zsh", "python", "psql", "mysql", "sqlite", "node_repl", "irb", "rediscli")
_LONGEST_NAME, _DEEPEST = 255, 64
_BELOW = 3
"""Folders that `**` is taken for: no secret is known to lie deeper than that below another folder that is named."""


def is_pattern(word: Word) -> bool:
    """Tell whether the shell matches a word against files."""
    return word.splits and _WILD.search(word.text) is not None


def may_be_several(word: Word) -> bool:
    """Tell whether a pattern may become several words; what asks an address for something is none by intent."""
    return is_pattern(word) and _QUERY.fullmatch(word.text) is None


def blur(path: str) -> str:
    """Return a pattern's path with `UNKNOWN` for what is matched."""
    return "/".join([_blur(s) for s in path.split("/")])


def _blur(name: str) -> str:
    before, brackets, after = _apart(name)
    return _RUN.sub(UNKNOWN, before) + (UNKNOWN if brackets else "") + _RUN.sub(UNKNOWN, after)


def _apart(name: str) -> tuple[str, str, str]:
    """Take the brackets out of a name.

    Of those that may stand in one another nobody knows which is closed where: all between them is one place.
    """
    opened, closed = name.find("["), name.rfind("]")
    if not 0 <= opened < closed:
        return name, "", ""
    return name[:opened], name[opened : closed + 1], name[closed + 1 :]


def may_be_secret(path: str) -> bool:
    """Tell whether a pattern is after a secret that it does not spell out."""
    return secret_of(path) is not None


def let_through(text: str) -> tuple[str, ...]:
    """Give the names that a filter of a search may mean; in those a star stands for a leading dot too."""
    return _let_through(text) if len(text) <= _LONGEST_NAME else _find_let_through(text)


def _find_let_through(text: str) -> tuple[str, ...]:
    bare = _MAGIC.sub("", text).replace("\\", "").strip("^$")
    if not bare or _LEFT_OUT.match(text):
        return ()
    names: list[str] = []
    for each in expanded(bare):
        name = each.removeprefix("**/").lstrip("/")
        names.append(name)
        if _LEADING.match(name):
            names.append("." + _LEADING.sub("", name))
    return tuple(names)


_let_through = functools.lru_cache(maxsize=1024)(_find_let_through)


def spelled_out(path: str) -> str:
    """Return the secret that a pattern is after, or the pattern."""
    return (secret_of("/" + path) or path).lstrip("/")


def secret_of(path: str) -> str | None:
    """Return the secret that a pattern is after; None if it is after none."""
    return _secrets().find(path)


def expanded(text: str) -> list[str]:
    """Return the patterns that braces make of a text; itself, if they make too many."""
    try:
        return braces.expand(text)
    except braces.TooManyError:
        return [text]


def may_find(pattern: tuple[str, ...], path: str) -> bool:
    """Tell whether a pattern may find a path, something in it, or a folder that it lies in; a star finds any name."""
    return leads_to(pattern, segments(path), above=True, hidden=True)


def control_plane(path: str) -> str | None:
    """Return a path of the control plane that a pattern may find; None if there is none."""
    return _control().find(path)


@functools.lru_cache(maxsize=1024)
def leads_to(pattern: tuple[str, ...], names: tuple[str, ...], *, above: bool, hidden: bool = False) -> bool:
    """Tell whether a pattern may find a path or something in it; with `above`, also a folder that it lies in.

    `hidden`: a star finds names with a leading dot too, as some shells can be told.
    """
    if not names or len(pattern) > _DEEPEST:
        return True
    if not pattern:
        return above
    if set(pattern[0]) == {"*"} and len(pattern[0]) > 1:
        deeper = (hidden or not names[0].startswith(".")) and leads_to(pattern, names[1:], above=above, hidden=hidden)
        return deeper or leads_to(pattern[1:], names, above=above, hidden=hidden)
    fits = _fits(pattern[0], names[0]) or (hidden and _meet(_tokens(pattern[0]), _tokens(names[0])))
    return fits and leads_to(pattern[1:], names[1:], above=above, hidden=hidden)


def segments(path: str) -> tuple[str, ...]:
    """Return the names in an absolute path."""
    return tuple([s for s in path.split("/") if s])


@functools.lru_cache(maxsize=4096)
def _tokens(name: str) -> Tokens:
    before, brackets, after = _apart(name.lower())
    place = [brackets] if brackets else []
    return tuple(map(_token, [*_TOKEN.findall(before), *place, *_TOKEN.findall(after)]))


def _token(text: str) -> str | None:
    if text[0] in ("*", UNKNOWN):
        return None
    if text == "?":
        return ""
    if len(text) == 1:
        return text
    return _charset(text[1:-1]) if re.fullmatch(r"\[[\w-]+\]", text, re.ASCII) else None


def _charset(body: str) -> str:
    """Spell a set out; a dash may be meant as itself."""
    ranges = re.findall(r"(?=(\w)-(\w))", body)
    return body + "".join(chr(c) for low, high in ranges for c in range(ord(low), ord(high) + 1))


@functools.lru_cache(maxsize=16384)
def _meet(ours: Tokens, theirs: Tokens) -> bool:
    """Tell whether one name fits two patterns."""
    seen: set[tuple[int, int]] = set()
    todo = [(0, 0)]
    while todo:
        here = todo.pop()
        if here == (len(ours), len(theirs)):
            return True
        if here not in seen:
            seen.add(here)
            todo += _steps(ours, theirs, *here)
    return False


def _steps(ours: Tokens, theirs: Tokens, i: int, j: int) -> Iterator[tuple[int, int]]:
    left, right = i < len(ours), j < len(theirs)
    if left and ours[i] is None:
        yield i + 1, j
    if right and theirs[j] is None:
        yield i, j + 1
    if left and right:
        a, b = ours[i], theirs[j]
        if a is None or b is None:
            yield (i, j + 1) if a is None else (i + 1, j)
        elif not a or not b or not set(a).isdisjoint(b):
            yield i + 1, j + 1


def _fits(segment: str, name: str) -> bool:
    """Tell whether a segment may find a name; one with a leading dot only if it has that dot too."""
    if name.startswith(".") and not segment.startswith("."):
        return False
    ours, theirs = _tokens(segment), _tokens(name)
    return _may_meet(ours, theirs) and _meet(ours, theirs)


def _may_meet(ours: Tokens, theirs: Tokens) -> bool:
    """Tell, quickly, whether two patterns begin and end alike; without that no name fits both."""
    if not ours or not theirs:
        return True
    return _share(ours[0], theirs[0]) and _share(ours[-1], theirs[-1])


def _share(a: str | None, b: str | None) -> bool:
    """Tell whether what may stand at a place is the same for two patterns, perhaps."""
    return not a or not b or a == b or (len(a) + len(b) > 2 and not set(a).isdisjoint(b))


def _is_wild(segment: str) -> bool:
    return _WILD.search(segment) is not None


def _says_something(segment: str) -> bool:
    return any(_tokens(segment))


class _Names:
    """Names to be found in patterns: anywhere, several in a row, or from the root."""

    def __init__(self, anywhere: Sequence[str], from_root: Sequence[str]) -> None:
        # A pattern is after an extension, or a name by its start: by a part in its middle it would be after all names.
        single = [n for n in anywhere if "/" not in n and (n.startswith("*.") or not n.startswith("*"))]
        self._single = tuple(_Single(n) for name in single for n in _spelled(name))
        self._rows: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for row in (segments(n) for n in anywhere if "/" in n):
            self._rows[row[0]].append(row)
        self._from_root = tuple(segments(n) for n in from_root)
        self.find = functools.lru_cache(maxsize=4096)(self._find)

    def _find(self, path: str) -> str | None:
        """Return the path with a name in place of a pattern that is after it."""
        parts = segments(path)
        if len(parts) > _DEEPEST or any(len(p) > _LONGEST_NAME for p in parts):
            return path
        if "**" not in parts:
            return self._find_in(parts)
        at = parts.index("**")
        deeper = ((*parts[:at], *("*",) * depth, *parts[at + 1 :]) for depth in range(_BELOW + 1))
        named = at < len(parts) - 1
        return next((found for names in deeper if (found := self._find_in(names, named=named))), None)

    def _find_in(self, parts: tuple[str, ...], *, named: bool = False) -> str | None:
        """Look for a name in the parts of a path; `named`: what they end with is the name of a file, and no folder."""
        wild = [_is_wild(part) for part in parts]
        if True not in wild:
            return None
        for start, part in enumerate(parts):
            step()
            name = self._after(part) if wild[start] else None
            row = (name,) if name else self._row(parts[start:]) if True in wild[start:] else None
            if row:
                return _replaced(parts, start, row)
        roots = (r for r in self._from_root if not named or len(r) >= len(parts))
        found = next((r for r in roots if _is_rooted(parts, r)), None)
        return _replaced(parts, 0, found) if found else None

    def _row(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the names in a row that a pattern begins with, perhaps."""
        firsts = (rows for first, rows in self._rows.items() if _fits(parts[0], first))
        return next((row for rows in firsts for row in rows if _is_row(parts, row)), None)

    def _after(self, part: str) -> str | None:
        """Return the name that a pattern is after: none for one of the kind that is after data, `*` or `*.json`."""
        if not _says_something(part) or part.endswith(_SHOWN):
            return None
        letters = {token for token in _tokens(part) if token is not None and len(token) == 1}
        common = _EVERYDAY.match(part) is not None
        return next((n.name for n in self._single if _is_after(part, letters, n, common=common)), None)


class _Single:
    """One name that patterns may be after, made ready."""

    __slots__ = ("bare", "dotenv", "extension", "letters", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.bare = name.replace("*", "")
        self.letters = frozenset(self.bare.lower())
        self.extension = name.startswith("*.")
        self.dotenv = name.endswith(".env")


def _spelled(name: str) -> tuple[str, ...]:
    """Name the common ones where a name may begin with anything."""
    return tuple(name.replace("*", h) for h in _HISTORIES) if name.startswith(".*") else (name,)


def _replaced(parts: tuple[str, ...], start: int, names: tuple[str, ...]) -> str:
    plain = tuple(n.replace("*", "") for n in names)
    return "/" + "/".join((*parts[:start], *plain, *parts[start + len(names) :]))


def _is_after(part: str, letters: set[str], single: _Single, *, common: bool) -> bool:
    """Tell whether a pattern with these letters may find a name; `common`: one such as `*.x`, of which many are."""
    if single.extension:
        return _ends(_tokens(part), single.name)
    if not part.startswith("*"):
        return _fits(part, single.name)
    return letters <= single.letters and not (common and not single.dotenv) and _fits(part, single.bare)


def _ends(part: Tokens, name: str) -> bool:
    """Tell whether a pattern is after an extension: by how it ends, or by what follows its last dot."""
    if part[-1] is not None:
        theirs = _tokens(name)
        return _may_meet(part, theirs) and _meet(part, theirs)
    dot = max((i for i, t in enumerate(part) if t == "."), default=len(part))
    tail = part[dot + 1 :]
    return any(tail) and _meet(tail, _tokens(name[2:]))


def _is_row(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Tell whether a path goes on with these names, of which a pattern may hide some but not all."""
    row = parts[: len(names)]
    if len(row) < len(names) or not any(map(_is_wild, row)) or not any(map(_says_something, row)):
        return False
    return all(_fits(p, n) for p, n in zip(row, names, strict=True))


def _is_rooted(parts: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Tell whether a path may be one of these; `*` alone is not after any, except of what processes hold."""
    row = parts[: len(names)]
    wild = [p for p in row if _is_wild(p)]
    telling = any(map(_says_something, wild)) or (wild and not _is_wild(row[-1])) or names[:2] == ("proc", "*")
    if len(row) < len(names) or not wild or not telling:
        return False
    return all(_fits(p, n.replace("*", "") if p.startswith("*") else n) for p, n in zip(row, names, strict=True))


@functools.cache
def _secrets() -> _Names:
    loaded()
    return _Names(secret_names.SECRETS, secret_names.SECRET_PATHS)


@functools.cache
def _control() -> _Names:
    loaded()
    return _Names(sensitive_paths.CONTROL_PLANE, sensitive_paths.CONTROL_PATHS)

"""The places and machines that the arguments of a structured tool may name, whatever the tool does with them.

Nobody knows what an unknown tool does with its input, and no list of fields is complete for a known one. So every
string is looked at, at any depth, in JSON inside strings and in keys too: one that as a whole can be a path is that
place, one that can be an address is that machine. Prose and code that mention a path are not that place; but what
mentions Assent's own files may touch them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

import assent.lazy_regex as re
from assent.analysis.resources.assent_files import Own, mentions_own, own_of
from assent.analysis.resources.paths import Located, Place, normal
from assent.analysis.tools import mentioned_hosts
from assent.analysis.tools.input_fields import CONTENT, LONGEST_PATH, MOST_PATHS, names_a_file
from assent.analysis.tools.mentioned_hosts import BLANK
from assent.analysis.tools.nested_json import DEEPEST, may_be_json, read_json
from assent.analysis.tools.path_spellings import spellings, tidy
from assent.budget import step
from assent.model import UNKNOWN, CallError, fold, within

MOST_VALUES = 10_000
"""Strings and numbers of one call that are looked at."""
_TOO_DEEP = f"the input is nested more than {DEEPEST} levels deep"
_NESTED = (dict, list, tuple)
_LONG = 1_024
"""Characters that take as long to look through as any few."""
_MOST_JOINED = 2_048
"""Paths that are put together from a folder elsewhere and a name, each in a field of its own …"""
_MOST_BASES, _MOST_PARTS = 8, 32
"""… and folders at home that names are put below, and such names."""
_WORD = re.compile(r"\w[\w-]{0,250}", re.ASCII)
_ROOTS = ("", "/", "~", "$")
_NAME = re.compile(r"[~$]?[\w.+@-]{0,250}", re.ASCII)
_ANCHORED = re.compile(r"/|~(?:[\w.-]*/|$)|[$%{<][^/\s]{1,40}/|\.\.?(?:/|$)|(?i:file:)|\$\w+$")
_FILE_LIKE = re.compile(r"\.\w\S*|\S+\.[A-Za-z][\w~-]*")
_PIECE = re.compile(r"[=@:('\"`\[{](?=/|~[\w.-]{0,32}/|\$|\.\.?/|(?i:file:))")
_SCHEME = re.compile(r"(?i)file:|[a-z][a-z0-9+.-]*+://")
_LISTED = re.compile(r"[,;|<>&'\"`]")
_LISTS = re.compile(r"(?i)(?:^|_)(?:args|argv|arguments|options|opts|flags)$")
_EDGES = ",;|&'\"`<>()"
_BEHIND = re.compile(r"[?#!@]")
"""What may follow a path: a query, a line, a file inside an archive, a revision."""
_MOST_PIECES, _MOST_WORDS, _MOST_NAMES = 64, 1_000, 32
_WILD = re.compile(r"[*?\[{]")
_EXPRESSION = re.compile(r"\.\*|[\\^$+(|]")
"""What regular expressions have, and patterns of file names have not."""
_CODE = re.compile(r"[\"'`(){}=;<>|&$]")
_CHANGES = re.compile(r"(?i)patch|diff|(?:edit|change)s?$|^(?:input|command)$")
_PATCH = re.compile(
    r"(?m)^[ \t]*(?:\*\*\*[ \t]*(?i:begin patch|(?:add|update|delete) file|move to)|diff --git |\+\+\+ |--- )"
)
_PACKED_TEXT = CONTENT - {"input", "command"}
"""Fields in which JSON is the content of a file, and not what a tool is told."""
_MAY_RUN = re.compile(r"(?i)(?:command|cmd|argv|(?<!de)script|program|exec|code|stdin|keys|^line$|^run$|^args$)")


class Arguments(msgspec.Struct, frozen=True):
    """What an input names."""

    places: tuple[Located, ...] = ()
    hosts: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    """Assent's own files that it may touch: they lie in a folder that is named, or are mentioned in a text."""
    near_hosts: tuple[str, ...] = ()
    """Where Assent listens, as it is mentioned in a text."""


def find_arguments(given: dict[str, Any], place: Place, words: frozenset[str] = frozenset()) -> Arguments:
    """Find what an input names. Strings in fields of `words` are words, whatever stands in them."""
    finder = _Finder(place, words)
    for leaf in leaves(given):
        finder.take(leaf)
    return finder.finish()


class Leaf(msgspec.Struct, frozen=True):
    """A value of an input that has no parts, and the field that it stands in."""

    field: str
    value: Any
    packed: bool = False
    """It is JSON: what is in it comes as leaves of its own."""
    within: str = ""
    """The field with the JSON in which it was found."""
    joined: bool = False
    """It is a list, put together as the names of one path."""


def leaves(value: Any, field: str = "", within: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the leaves of an input, at any depth; keys too, without a field, unless they are plain names."""
    if not isinstance(value, _NESTED):
        yield from _unpack(value, field, within, depth)
        return
    step(1 + len(value))
    if value and depth >= DEEPEST:
        raise CallError(_TOO_DEEP)
    fields = map(str, value) if isinstance(value, dict) else itertools.repeat(field, len(value))
    for name, each in zip(fields, value.values() if isinstance(value, dict) else value, strict=True):
        if isinstance(value, dict) and not name.isidentifier():
            yield from _unpack(name, "", within, depth + 1)
        if isinstance(each, _NESTED):
            yield from leaves(each, name, within, depth + 1)
        elif isinstance(each, str) and may_be_json(each):
            yield from _unpack(each, name, within, depth + 1)
        else:
            yield Leaf(name, each, within=within)
    if not isinstance(value, dict) and 1 < len(value) <= _MOST_NAMES and _are_names(value, field):
        yield Leaf(field, "/".join(value), within=within, joined=True)


def _unpack(value: Any, field: str, within: str, depth: int) -> Iterator[Leaf]:
    """Yield a leaf, and what is in it if it is JSON."""
    if depth > DEEPEST:
        raise CallError(_TOO_DEEP)
    inner = read_json(value) if isinstance(value, str) else None
    yield Leaf(field, value, inner is not None, within)
    if inner is not None:
        inside = within if isinstance(inner, str) else within or field
        yield from leaves(inner, field, inside, depth + 1)


class _Finder:
    """Walks one input."""

    def __init__(self, place: Place, words: frozenset[str]) -> None:
        self._place, self._words = place, words
        self._own = own_of(place.facts)
        self._bases: tuple[str | None, ...] = tuple(
            dict.fromkeys(b for b in (place.cwd, *place.workspace) if b is not None)
        ) or (None,)
        self._far = _outside(self._own, self._bases)
        self._talk = mentioned_hosts.Talk(mentioned_hosts.own_ports(place.facts))
        self._places: dict[Located, None] = {}
        self._near: dict[str, None] = {}
        self._parts: dict[str, None] = {}
        """Relative paths, which may be counted from a folder that the input names elsewhere."""
        self._count = 0

    def take(self, leaf: Leaf) -> None:
        """Look at one leaf of the input."""
        self._count += 1
        if self._count > MOST_VALUES:
            raise CallError(f"the input has more than {MOST_VALUES} values")
        if not isinstance(leaf.value, str):
            self._talk.hear_number(leaf.field, leaf.value)
        elif leaf.joined:
            self._notice(leaf.value)
            self._notice(f"/{leaf.value}")
        elif leaf.value and not leaf.packed and self._words.isdisjoint((leaf.field, leaf.within)):
            self._take(leaf.field, leaf.value, is_text=leaf.within in _PACKED_TEXT)

    def finish(self) -> Arguments:
        """Return what was found."""
        self._join()
        hosts, near_hosts = self._talk.finish()
        return Arguments(tuple(self._places), hosts, tuple(self._near), near_hosts)

    def _take(self, field: str, text: str, *, is_text: bool) -> None:
        """Look at a string; `is_text`: it stands in a file's content, or the like, and may only be Assent's own."""
        step(1 + len(text) // _LONG)
        if _WORD.fullmatch(text):
            self._talk.hear_name(field, text)
            self._try(field, text, only_own=is_text, strong=is_text or names_a_file(field))
            return
        if "/" in text or "\\" in text:
            may_run = _MAY_RUN.search(field) is not None
            self._near.update(dict.fromkeys(mentions_own(text, self._place.facts, files=may_run)))
        if "\0" in text:  # where some programs see the end
            self._take(field, text.partition("\0")[0], is_text=is_text)
        name = tidy(text)
        lines = "\n" in text and "\n" in text.strip()
        is_page = self._talk.hear(field, name, is_text=is_text or lines)
        if not is_page and (not lines or ".." in name or _ANCHORED.match(name)):
            self._look(field, name if len(name) <= LONGEST_PATH else normal(name), only_own=is_text or lines)
        if len(text.split(maxsplit=1)) > 1:
            self._take_apart(field, text, is_text=is_text)

    def _take_apart(self, field: str, text: str, *, is_text: bool) -> None:
        """Look at the files of a patch, and at the words of a field that may hold several."""
        if not is_text and _CHANGES.search(field) and _PATCH.search(text):
            from assent.analysis.languages.patch import read_patch  # noqa: PLC0415 - few texts are patches

            for name in read_patch(text).paths:
                self._look("path", name, only_own=False)
        if not (names_a_file(field) or _LISTS.search(field)):
            return
        words = text.split()
        if len(words) > _MOST_WORDS:
            raise CallError(f"the field `{field}` has more than {_MOST_WORDS} words")
        for number, word in enumerate(words):
            name = word.strip(_EDGES)
            if self._talk.hear("", name, is_text=is_text):
                continue
            if not is_text:
                self._notice(name)
            # In a field for one path a space is part of its name, and the first word only begins it.
            if is_text or (number and field.endswith("s") and _ANCHORED.match(name)):
                self._look("", name, only_own=is_text)

    def _look(self, field: str, name: str, *, only_own: bool) -> None:
        """Look at a string by everything that it may be taken for."""
        if not name or len(name) > LONGEST_PATH:
            return
        token = BLANK.search(name) is None
        for spelled in self._meant(name):
            self._try(field, spelled, only_own=only_own)
            if cut := _cut(spelled):
                self._try(field, cut, only_own=True)
                self._notice("" if only_own else cut)
            for piece in _pieces(spelled) if token else ():
                for each in self._meant(piece):
                    self._try(field, each, only_own=only_own)
                    self._try_pattern("" if only_own else each)
        if token and not only_own and (name[0] in "/~" or not _EXPRESSION.search(name)):
            self._try_pattern(name)

    def _meant(self, name: str) -> Sequence[str]:
        """Return what a string may be taken for; where that is known by one spelling, not the one that is not known."""
        found = spellings(name, self._place.facts)
        return [s for s in found if self._place.locate(s).path != UNKNOWN] or found if len(found) > 1 else found

    def _try(self, field: str, text: str, *, only_own: bool, strong: bool | None = None) -> None:
        """Keep what a string names, from every folder that it may be counted from."""
        step()
        if strong is None:
            strong = only_own or _is_strong(field, text)
        if text[0] in "/~$":
            if strong:
                self._locate(field, text, None, only_own=only_own)
            return
        if not only_own:
            self._parts[text] = None
        for base in self._bases:
            if strong or self._is_there(base, text):
                self._locate(field, text, base, only_own=only_own)
        for base in filter(None, (self._place.facts.home, "/") if strong else ()):
            # A server may have been started there.
            self._keep(field, Located(normal(f"{base}/{text}")), only_own=True)

    def _notice(self, text: str) -> None:
        """Keep what a part of a string names if it is protected; else it is nothing by itself."""
        step()
        spelled = self._meant(text) if 0 < len(text) <= LONGEST_PATH else ()
        pieces = dict.fromkeys(each for name in spelled for piece in _pieces(name) for each in self._meant(piece))
        for name in (*spelled, *pieces):
            for each, base in itertools.product(dict.fromkeys((name, _cut(name) or name)), self._bases):
                for located in filter(self._matters, self._located(each, base)):
                    self._keep("", located, only_own=False)
            self._try_pattern(name)

    def _locate(self, field: str, text: str, base: str | None, *, only_own: bool) -> None:
        for located in self._located(text, base):
            self._keep(field, located, only_own=only_own)

    def _located(self, text: str, base: str | None) -> Iterator[Located]:
        """Yield a place as the disk finds it, and as a tool does that takes `..` away by itself."""
        located = self._place.locate(text, base)
        yield located
        if located.path == UNKNOWN:
            # Wherever it begins, how it ends is known.
            ending = (text.rpartition("..")[2] if ".." in text else text.partition("/")[2]).strip("/")
            self._near.update(dict.fromkeys(self._own.ends(f"{UNKNOWN}/{ending}")))
            yield from filter(self._matters, (Located(f"{UNKNOWN}/{ending}"), self._place.locate(f"/{ending}")))
        elif ".." in text and located.known:
            yield self._place.locate(located.path)

    def _is_there(self, base: str | None, text: str) -> bool:
        """Tell whether words are the name of something there, or begin with that of a folder."""
        return base is not None and self._place.facts.exists(f"{base}/{text.partition('/')[0]}")

    def _keep(self, field: str, located: Located, *, only_own: bool) -> None:
        names = located.names
        own = any(map(self._own.is_at, names))
        if only_own and not own:
            return
        self._places[located] = None
        if len(self._places) > MOST_PATHS:
            raise CallError(f"names more than {MOST_PATHS} files")
        if not located.known:
            self._near.update(dict.fromkeys(self._own.ends(located.path)))
        elif not own and self._far:
            above = [fold(n) for n in names if n != "/" or names_a_file(field)]
            self._near.update(dict.fromkeys(p for p in self._far for n in above if within(p, n)))

    def _try_pattern(self, text: str) -> None:
        """Keep what a pattern of file names may find: secrets, the control plane, and what is Assent's own."""
        if not _WILD.search(text):
            return
        from assent.analysis.resources import wildcards  # noqa: PLC0415 - few strings are patterns

        for each in wildcards.expanded(text):
            for base in self._bases:
                located = self._place.locate(each, base)
                path = located.path
                if self._matters(located):
                    self._keep("", located, only_own=False)
                for found in (wildcards.secret_of(path), wildcards.control_plane(path)):
                    if found is not None:
                        self._places[Located(found)] = None
                pattern = wildcards.segments(fold(path))
                self._near.update(dict.fromkeys(p for p in self._far if wildcards.may_find(pattern, p)))

    def _join(self) -> None:
        """Put relative paths below the folders that are named beside them, and keep what then matters."""
        place = self._place
        bases = [o.path for o in self._places if o.known and not self._matters(o)] if self._parts else []
        homes = {base for base in bases for home in self._bases if home is not None and within(base, home)}
        away = [base for base in bases if base not in homes]
        parts = [part for part in self._parts if _is_strong("", part) or not BLANK.search(part)]
        if len(away) * len(parts) > _MOST_JOINED:
            raise CallError(f"it names more than {_MOST_JOINED} files by their folders and names")
        for base, part in itertools.chain(
            itertools.product(away, parts), itertools.product(sorted(homes)[:_MOST_BASES], parts[:_MOST_PARTS])
        ):
            step()
            located = place.locate(part, base)
            # At home a plain word is mostly a word, also where a secret could have that name.
            plain = base in homes and not _is_strong("", part)
            if place.is_control_plane(located) if plain else self._matters(located):
                self._keep("", located, only_own=False)

    def _matters(self, located: Located) -> bool:
        """Tell whether a path is protected by its name."""
        traits = self._place.traits(located.path, located.target)
        return traits.secret or traits.control_plane or any(map(self._own.is_at, located.names))


@functools.lru_cache(maxsize=64)
def _outside(own: Own, bases: tuple[str | None, ...]) -> tuple[str, ...]:
    """Return Assent's own files outside the folders that a call is at home in."""
    folders = [fold(base) for base in bases if base is not None]
    return tuple(sorted(p for p in (*own.paths, *own.files) if not any(within(p, folder) for folder in folders)))


def _are_names(values: Sequence[Any], field: str) -> bool:
    """Tell whether a list may hold the names that one path consists of, as no list of plain words does."""
    if not all(isinstance(value, str) and (value == "/" or _NAME.fullmatch(value)) for value in values):
        return False
    return values[0][:1] in _ROOTS or names_a_file(field) or any(value[:1] == "." for value in values)


def _cut(text: str) -> str:
    """Return what stands before a query, a line or the like; nothing where there is none."""
    behind = _BEHIND.search(text)
    return text[: behind.start()] if behind else ""


def _pieces(token: str) -> Iterable[str]:
    """Return the paths that may stand in lists and behind signs: `a,/x`, `--file=/x`, `@/x`, `host:/x:ro`."""
    parts = _LISTED.split(token, maxsplit=_MOST_PIECES) if _LISTED.search(token) else ()
    behind = (token[sign.end() :] for sign in itertools.islice(_PIECE.finditer(token), _MOST_PIECES))
    pieces = [*parts, *(each for piece in behind for each in (_LISTED.split(piece, maxsplit=1)[0], piece))]
    before = [piece.partition(":")[0] for piece in (token, *pieces) if ":" in piece and not _SCHEME.match(piece)]
    return dict.fromkeys(filter(None, (*pieces, *before)))


def _is_strong(field: str, text: str) -> bool:
    """Tell whether a string is a path by its own look, or by its field's name; else it is one if such a file exists."""
    if names_a_file(field) or _ANCHORED.match(text):
        return True
    leads_up = "/../" in text or text.endswith("/..")
    if BLANK.search(text):
        return leads_up and not _CODE.search(text)
    return leads_up or _FILE_LIKE.fullmatch(text) is not None or ("/" in text and "." in text)

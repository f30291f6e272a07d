"""Where a command takes its code from: the files it loads, and the options that send it to other code.

Both are told by the catalog (`loads`, `redirects`). Which words redirect is found with one error only: too many. A word
that may be such an option counts as one.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
from collections.abc import Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Command, Word
from assent.analysis.programs.match import Match, may_be_option
from assent.catalog import Entry
from assent.model import UNKNOWN, within

MOST_LOADED = 512
"""Paths that are named for one command; one more stands for all the rest, and is known to nobody."""
_MOST_FOLDERS = 64
_LONGEST = 4096
_ANY_VARIABLE = "*="
_MARKS = ("-", UNKNOWN)
_LEADS = re.compile(
    r"--?(?!no[-_])(?:[a-z]+[-_.])*(?:"
    r"(?:user|global|ts|web)?config(?:[-_]?(?:file|path|dir|env))?|conf|settings?(?:[-_]file)?|preset|rcfile"
    r"|prefix|cwd|cd|chdir|root(?:[-_]?dir)?|dir|directory|folder|workdir|basedir|project|context"
    r"|file|manifest(?:[-_](?:path|file))?|makefile|justfile|taskfile|gemfile|script|template|toolchain|sdk"
    r"|shell|exec|executable|executor|command|cmd|eval|call|program|binary|bin|wrapper|interpreter|python|node|java"
    r"|runner|runtime|prog|environment|env|env[-_]file|plugins?|extensions?|loader|preload|require|import|module|modules|libs?"
    r"|pythonpath|classpath|path|options|define|setup|setup[-_]?files|hooks?|reporters?|formatter|parser|processor"
    r"|resolver|transform|rules?dir|kubeconfig|registry|index[-_]url"
    r"|pager|editor|browser|askpass|ssh|rsh|bind|m?load|addons?|setopt|[a-z]{3,}rc|pre|agent|lesskey(?:[-_][a-z]+)?"
    r"|api(?:[-_](?:url|host|base|server|endpoint))?|endpoint(?:[-_]url)?|base[-_]url|http[-_]addr"
    r")"
)
"""Options that say what runs, by which settings, or where, by how such are called."""


class Redirects(msgspec.Struct, frozen=True, eq=False):
    """The options of one level that redirect it, by how they are spelled. Made once for each spelling."""

    names: frozenset[str] = frozenset()
    """`--prefix`, and `-exec` of a program that writes its options so."""
    letters: frozenset[str] = frozenset()
    """`-C`, with or without a value attached …"""
    clustered: frozenset[str] = frozenset()
    """… and those that may stand among others in one word: `-kC`."""
    beginnings: tuple[str, ...] = ()
    """`SHELL=`; `*=` is any variable."""
    handed_on: bool = False
    """What follows `--` are options of the program that it starts."""
    parents: tuple[str, ...] = ()
    """What begins the names of many: `--config.`."""

    def __bool__(self) -> bool:
        return any((self.names, self.letters, self.clustered, self.beginnings))

    def has(self, word: Word, entry: Entry) -> bool:
        """Tell whether a word is, or may be, one of them."""
        text = word.text
        if may_be_option(word):
            return bool(self)
        if not text.startswith("-"):
            return self._is_begun(text)
        name = text.partition("=")[0]
        return _is_among(self, name, described=name in entry.table)

    def has_name(self, name: str, *, described: bool) -> bool:
        """Tell whether an option is, or may be, one of them; `described`: the command is known to have it."""
        if described:
            return self._is_named(name)
        if _LEADS.fullmatch(name.lower()):
            return True  # an option that nobody has described, and that is called like one that does
        return self._is_named(name) or self._is_short_for(name) or self._has_letter(name)

    def _is_begun(self, text: str) -> bool:
        return text.startswith(self.beginnings) or (_ANY_VARIABLE in self.beginnings and "=" in text)

    def _is_named(self, name: str) -> bool:
        """Tell so of a whole name, with one dash or two."""
        single = "-" + name.lstrip("-")
        if name in self.names or name in self.letters or (len(single) > 2 and single in self.names):
            return True
        return name[1:] in self.clustered or name.startswith(self.parents) or self._is_begun(name)

    def _is_short_for(self, name: str) -> bool:
        begun = name.partition(UNKNOWN)[0]
        return len(name) > 3 and name.startswith("--") and any(known.startswith(begun) for known in self.names)

    def _has_letter(self, name: str) -> bool:
        """Tell so of a letter with a value behind it, or of one among others."""
        if name.startswith("--"):
            return False
        return name[:2] in self.letters or not self.clustered.isdisjoint(name[1:])


@functools.lru_cache(maxsize=4096)
def _is_among(level: Redirects, name: str, *, described: bool) -> bool:
    return level.has_name(name, described=described)


@functools.lru_cache(maxsize=1024)
def read_redirects(spelled: str) -> Redirects:
    """Read how the catalog spells them; `-[abc]` are letters that may stand among others in one word."""
    words = [word for word in spelled.split() if word != "--"]
    groups = [word for word in words if word.startswith("-[")]
    names = frozenset(w for w in words if w.startswith("-") and len(w) > 2 and w not in groups)
    return Redirects(
        names,
        frozenset(w for w in words if w.startswith("-") and len(w) == 2),
        frozenset(letter for group in groups for letter in group[2:-1]),
        tuple(w for w in words if not w.startswith("-")),
        "--" in spelled.split(),
        tuple(sorted(name for name in names if name.endswith("."))),
    )


@functools.lru_cache(maxsize=4096)
def _levels(own: str, parents: tuple[tuple[str, bool], ...]) -> tuple[Redirects, Redirects]:
    """Return what redirects among the words up to the last subcommand, and among those behind it."""
    before = read_redirects(" ".join((own, *(spelled for spelled, _ in parents))))
    return before, read_redirects(" ".join((own, *(spelled for spelled, leading in parents if not leading))))


def find_redirects(match: Match, words: tuple[Word, ...]) -> tuple[int, ...]:
    """Return the indexes of the words that lead a command to another project, program or setting."""
    entry = match.entry
    parents = tuple([(parent.redirecting, parent.leading) for parent, _, _ in match.parents]) if match.parents else ()
    before, behind = _levels(entry.redirecting, parents)
    among: Sequence[int] = range(1, len(words))
    if not before.beginnings and not behind.beginnings:
        # Then it is an option, or something that may become one.
        among = [index for index in among if words[index].text[:1] in _MARKS or words[index].splits]
    if not among:
        return ()
    border, taken = 1 + match.start, {id(word) for _, _, word in match.values} if match.values else ()
    end = len(words) if behind.handed_on else _count_own(match, words)
    found: list[int] = []
    for index in among:
        if index >= end:
            break
        word, level = words[index], before if index < border else behind
        if id(word) in taken or (found and found[-1] == index - 1 and word.text[:1] == UNKNOWN):
            continue  # a value, and no option
        if level.has(word, entry):
            found.append(index)
    return tuple(found)


def _count_own(match: Match, words: tuple[Word, ...]) -> int:
    """Return how many words are the command's own: what it runs has its own options, and so has what follows `--`."""
    entry = match.entry
    further = match.operands[entry.skip if entry.runs else 0 :] if entry.ordered or entry.runs else ()
    first = further[0] if further else None
    for index, word in enumerate(words):
        if word is first or (index and word.text == "--"):
            return index
    return len(words)


def find_loads(match: Match, redirects: tuple[int, ...], command: Command) -> tuple[str, ...]:
    """Return what a command takes code from, in short.

    A folder that it works in (`/code/.`) comes with the names that it looks for there, the files that it is given, and
    the folders or files that it is sent to (`/code/web/`).
    """
    given, names = _read_loads(match.loads)
    folders = [folder for folder in command.folders if folder is not None]
    if not match.loads or not folders:
        return ()
    if "%" in match.loads:
        names = [filled for name in names if (filled := _filled(name, match) if "%" in name else name)]
    arguments = [word.text.partition("::")[0] for word in match.operands] if "@args" in match.loads else []
    files = [word.text for option, _, word in match.values if option in given] if given else []
    files += arguments if "args" in given else []
    sent = [value for index in redirects for value in _values(command.words, index)]
    sent += arguments if "args/" in given else []
    found: list[str] = []
    for folder in folders[:_MOST_FOLDERS]:
        found += [posixpath.join(folder, "."), *names, *(posixpath.join(folder, file) for file in files if _fits(file))]
        found += [posixpath.join(folder, base, "") for base in sent if _fits(base)]
    return tuple(dict.fromkeys(found)) if len(found) <= MOST_LOADED else (*found[:MOST_LOADED], UNKNOWN)


@functools.lru_cache(maxsize=1024)
def _read_loads(spelled: str) -> tuple[frozenset[str], Sequence[str]]:
    """Read how the catalog spells what is loaded: the options and arguments that name it, and the names to look for."""
    words = spelled.split()
    return frozenset(w[1:] for w in words if w[0] == "@"), tuple(w for w in words if w[0] != "@")


def expand_loads(loads: tuple[str, ...], roots: tuple[str, ...]) -> Iterator[str]:
    """Write out what `find_loads` says in short, as paths.

    A `*` in a name stands for any, a `/` at the end for the folder itself. A name with `^` is looked for up to the root
    of the workspace.
    """
    starts = [index for index, load in enumerate(loads) if load.endswith("/.")]
    for start, end in itertools.pairwise((*starts, len(loads))):
        folder, group = loads[start][:-1], loads[start + 1 : end]
        yield folder
        names = [load for load in group if load[0] not in ("/", UNKNOWN)]
        bases = [load for load in group if load.endswith("/")]
        yield from (load.rstrip("/") for load in group if load[0] in ("/", UNKNOWN))
        yield from (base + name.lstrip("^") for base in (folder, *bases) for name in names)
        upward = [name[1:] for name in names if name[0] == "^"]
        yield from (posixpath.join(above, name) for above in _above(folder, roots) for name in upward)


def _filled(name: str, match: Match) -> str:
    """Fill in the module that is named; nothing if none is."""
    module = match.module.text if match.module is not None else ""
    if not _fits(module):
        return ""
    return name.replace("%module", module.replace(".", "/")).replace("%package", module.partition(".")[0])


def _fits(value: str) -> bool:
    return bool(value) and len(value) <= _LONGEST and UNKNOWN not in value and "\0" not in value and value[0] != "-"


def _values(words: tuple[Word, ...], index: int) -> list[str]:
    """Return what may stand behind an option: in the same word, or in the next."""
    text = words[index].text
    _, equals, value = text.partition("=")
    if equals:
        return [value]
    attached = [text[2:]] if len(text) > 2 and text[0] == "-" != text[1] else []
    return attached + [word.text for word in words[index + 1 : index + 2]]


def _above(folder: str, roots: tuple[str, ...]) -> list[str]:
    """Return the folders above one, up to the workspace that it lies in."""
    current, found = folder.rstrip("/") or "/", list[str]()
    top = next((root for root in roots if within(current, root)), "/")
    while current != top and len(found) < _MOST_FOLDERS:
        current = posixpath.dirname(current)
        found.append(current)
    return found

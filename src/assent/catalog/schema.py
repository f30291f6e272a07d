"""How a data file says what a command does: the shape of an entry, checked when it is first looked up."""

from __future__ import annotations

import bisect
import functools
import itertools
import re
from typing import Literal, Protocol, TypeAlias, cast

import msgspec

from assent.budget import loaded
from assent.model import ConfigError, Tier

Role: TypeAlias = Literal[
    "text",  # only looked at by the program
    "number",
    "read",  # a file or folder that is read
    "link",  # what a symbolic link is to lead to: counted from the folder that the link is in
    "look",  # a file or folder of which no more than name, kind and size is shown
    "filter",  # a pattern of names: which files of a tree are read
    "write",  # a file or folder that is created, replaced or removed
    "edit",  # read and written
    "remove",  # a file or folder that goes, with all that is in it
    "prune",  # a folder of which all goes that git does not keep; the repository's own store stays
    "access",  # a file or folder that is reached otherwise from then on: other rights, another owner, a mount
    "move",  # read, and gone from its place with all that is in it
    "database",  # a file that is read, and made where there is none
    "exec",  # a file whose content is run
    "cwd",  # the folder in which the command works
    "host",  # a machine that is contacted
    "save",  # an address that is fetched into a file of the same name
    "url",  # an address that is contacted; a plain path is read
    "from",  # a local file that is read, or host:path
    "to",  # a local file that is written, or a folder that the others come into; or host:path
    "mirror",  # a local folder of which all goes that is not in the others; or host:path
    "dest",  # a file that is written, or a folder that the other arguments come into by their names
    "bind",  # a file or folder that others see by another name: src:dst, or type=bind,src=…,dst=…
    "trees",  # the same, where folders come with all that is in them
    "into",  # a folder that is filled with what no argument names
    "renew",  # a folder in which files that no argument names may change, as a rule its own
    "anywhere",  # says that what is unpacked goes wherever the archive says
    "data",  # what is sent: text, @file, or name=@file
    "line",  # a shell line that is run: part of what this command is for
    "helper",  # a shell line that is run, where the command is not for running others
    "alias",  # name=line: a shell line that the name stands for
    "words",  # a command that is run, as all the words that follow, up to `;`
    "code",  # a program in a language that is not read
    "module",  # a module that is run with the words that follow: a subcommand called `-m name`, if it is known
    "sed",  # a sed script
    "awk",  # an awk program
    "jq",  # a jq or yq program
    "sql",  # SQL statements
    "setting",  # a git setting, key=value
    "revision",  # a git revision, or revision:path
    "variable",  # NAME=value that is put into the environment
    "name",  # the name of a variable whose value is shown
    "forgotten",  # the name of a variable that is unset
]
Style: TypeAlias = Literal["gnu", "shell", "single", "pairs", "bundled", "any"]
Runs: TypeAlias = Literal["", "words", "line", "elsewhere", "remote", "xargs", "parallel", "within"]
Output: TypeAlias = Literal["", "endless", "bounded"]
Reader: TypeAlias = Literal["", "find"]
Kind: TypeAlias = Literal[
    "",
    "ansible",
    "ast-grep",
    "bazel",
    "bun",
    "bundler",
    "cargo",
    "cdk",
    "composer",
    "conan",
    "ctags",
    "dotnet",
    "fixers",
    "git",
    "gradle",
    "hg",
    "jj",
    "jsonlint",
    "lein",
    "luarocks",
    "maven",
    "mise",
    "mlr",
    "node",
    "npm",
    "pip",
    "pnpm",
    "poetry",
    "pulumi",
    "python",
    "python-tools",
    "rebar",
    "sbt",
    "sentry",
    "settings",
    "supervisor",
    "terraform",
    "tflint",
    "uv",
    "vagrant",
    "wrangler",
    "yarn",
]
"""Whose settings in a project can name code: what `Facts.trap` is asked about."""


_SENDING: frozenset[Role] = frozenset(("cwd", "helper", "setting"))
"""Values that say what else runs, by which settings, or where."""

BOUNDED = "\0"
"""Stands before an expression that must not be able to take long."""


class Expression(Protocol):
    """What an expression can be asked."""

    def fullmatch(self, text: str, /) -> object | None:
        """Match a whole text."""


class Option(msgspec.Struct, frozen=True):
    """One option: its name, and what its value is; no role means it takes none."""

    name: str
    role: Role | None = None
    optional: bool = False
    """The value, if any, is attached."""
    count: int = 1
    """How many words it takes; the last one has the role."""
    either: bool = False
    """Some of the entry's programs take no value here: to them the next word is an argument."""


class Clause(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """What else holds when certain options or arguments are there. All conditions given must hold."""

    any: str = ""
    """One of these options is there."""
    all: str = ""
    """All of these are; `-f|--force` is one of two spellings."""
    unless: str = ""
    """None of these options is there."""
    arg: str = ""
    """An argument matches this expression as a whole."""
    first: str = ""
    """The first argument does."""
    second: str = ""
    """The second argument does."""
    left: str = ""
    """What stands before the `=` of an argument does."""
    each: str = ""
    """Every argument does; there may be none."""
    value: dict[str, str] = {}
    """An option's value does."""
    every: dict[str, str] = {}
    """Every value of these options does; they may be absent."""
    least: int = 0
    """There are at least so many arguments."""
    most: int | None = None
    """There are at most so many."""
    broad: bool = False
    """An argument is a root, a home, a whole workspace, or only known at run time."""
    known: bool = False
    """What is not known of a word never makes it hold, though that might be so: only what stands there does."""
    instead: bool = False
    """Its tier takes the place of the entry's own: the safe case of a command that is not. What is not known of a word
    never makes such a clause hold, and whatever else is said of the command counts as ever."""
    tier: Tier = Tier.SAFE
    does: str = ""
    runs: Runs | None = None
    """How the rest is run in this case; empty if it is not."""
    args: str | None = None
    """What the arguments are in this case."""
    roles: dict[str, Role] = {}
    """What the values of these options are in this case."""
    folder: Role | None = None
    """What happens to the folder it works in."""
    sweep: bool = False
    """It walks trees in this case."""
    stdin: Literal["", "shell", "code", "sql", "data"] | None = None
    output: Output | None = None
    impact: str = ""
    rollback: str = ""

    @functools.cached_property
    def groups(self) -> tuple[frozenset[str], ...]:
        """Return options of which, from each group, one must be there."""
        groups = [frozenset(group.split("|")) for group in self.all.split()]
        return (frozenset(self.any.split()), *groups) if self.any else tuple(groups)

    @functools.cached_property
    def barred(self) -> frozenset[str]:
        """Return the options none of which may be there."""
        return frozenset(self.unless.split())


class Examples(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that must be read this way; a test holds every entry to its own."""

    safe: tuple[str, ...] = ()
    not_safe: tuple[str, ...] = ()
    destructive: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """One command, or one subcommand. Whatever it does not mention is not safe."""

    does: str
    """What it does, in words that follow its name: `deletes files`."""
    tier: Tier
    pure: bool = False
    """No option of this program writes, runs or sends anything, whether listed or not."""
    options: Style = "gnu"
    """How options are written.

    `gnu`: -a -bc --long; `shell`: gnu, but the value of a letter is never attached to it; `single`: -long;
    `pairs`: key=value; `bundled`: gnu, and a first word without a dash;
    `any`: no word is an option.
    """
    ordered: bool = False
    """Options end at the first argument."""
    floating: bool | None = None
    """Options count wherever they stand. Where that is not so, those that make it safer count before the first argument
    alone: to many programs, or to their versions elsewhere, what stands behind one is an argument too.

    Not said: what the level above says, and for the command itself that they do not.
    """
    booleans: bool = False
    """An option without a value may be written as `--all=true` or `--all=false`; so may its subcommands'."""
    flags: str = ""
    """Options without a value; `-[abc]` are three, `-NUM` is any number."""
    values: dict[str, Role] = {}
    """Options with a value, several spellings to a key; `--arg/2` takes two words."""
    optional: dict[str, Role] = {}
    args: str = ""
    """What the arguments are: roles, of which one may be repeated (`text read*`, `read* write`)."""
    subcommands: dict[str, Entry] = {}
    """By name; several names to a key, of which some may be spelled as options: `--prefix`."""
    inherit: bool = False
    """Subcommands know the options of this level too."""
    like: str = ""
    """It is read by the entry of this command."""
    when: tuple[Clause, ...] = ()
    runs: Runs = ""
    """The words after `skip` arguments are a command: as words or a line, here, elsewhere, or remote.

    `within`: one begins somewhere among them, wherever the name of a known command stands.
    """
    skip: int = 0
    assignments: bool = False
    """NAME=value arguments may stand before the command it runs."""
    stdin: Literal["", "shell", "code", "sql", "data"] = ""
    """What is read from standard input where no argument says otherwise; `data` is sent to another machine."""
    output: Output = ""
    """Whether what it prints never ends by itself, or ends whatever it is fed."""
    reveals: bool = False
    """What it prints holds secrets among other things: who searches that for one by its name reads it."""
    reader: Reader = ""
    versioned: bool = False
    """Its name may end in a version: `python3.12`."""
    obeys: Kind = ""
    """Whose settings in the project can make it run code, also where it only looks.

    Subcommands obey what the level above does, unless they say otherwise.
    """
    loads: str = ""
    """Files that it takes code from, in the folder that it works in: `Makefile`, `*.mk`, or with `^` before the name in
    the folders above too. `@args` are the files that its arguments name, `@args/` also folders that hold such files,
    `%module` is the module that it is told to run, `%package` the package that that is in.

    Subcommands load what the level above does, unless they say otherwise.
    """
    redirects: str = ""
    """Options that have it run another project, another program or by other settings; an allow must spell them out.

    `-[abc]` may stand among other letters in one word; `NAME=` is a variable as an argument, `*=` any. `--` says that
    what follows such a word are options of the program that it starts, and redirect that. Subcommands
    have those of the level above too, unless that is `leading`.
    """
    leading: bool = False
    """Options of this level stand before the subcommand alone."""
    informs: str | None = None
    """Words that make it print about itself and end, where nothing else stands behind the name or the subcommand.

    Not said: what the level above says, and for the command itself `--help` and `--version`.
    """
    connects: bool = False
    """It uses the network without naming a host."""
    sweep: bool = False
    """It walks trees, from the current folder if no argument names one."""
    lists: bool = False
    """It walks trees for names, sizes and counts, and shows no content."""
    impact: str = ""
    rollback: str = ""
    examples: Examples = Examples()

    @functools.cached_property
    def table(self) -> dict[str, Option]:
        """Return every option it knows, by spelling."""
        return _table(self.flags, tuple(self.values.items()), tuple(self.optional.items()))

    @functools.cached_property
    def redirecting(self) -> str:
        """Return what redirects it: what it says does, options whose value is of that kind, files of more options."""
        kinds = _SENDING if self.redirects or self.loads or self.obeys else _SENDING - {"cwd"}
        found = (names for names, role in (*self.values.items(), *self.optional.items()) if role in kinds)
        by_kind = [name.partition("/")[0] for names in found for name in names.split()]
        listed = ["@"] if any(clause.arg.startswith("@") for clause in self.when) else []
        return " ".join((self.redirects, *by_kind, *listed)).strip()

    @functools.cached_property
    def _spellings(self) -> list[str]:
        return sorted(self.table)

    def near(self, name: str) -> list[Option]:
        """Return the options that a name is short for."""
        begin = bisect.bisect_left(self._spellings, name)
        spelled = itertools.takewhile(lambda s: s.startswith(name), itertools.islice(self._spellings, begin, None))
        return [self.table[spelling] for spelling in spelled]

    @functools.cached_property
    def children(self) -> dict[str, Entry]:
        """Return its subcommands by every name they have."""
        found: dict[str, Entry] = {}
        for names, child in self.subcommands.items():
            known = _inherit(child, self) if self.inherit else child
            found.update((n.strip(), known) for n in names.split(","))
        return found

    @functools.cached_property
    def numeric(self) -> bool:
        """Tell whether `-5` is an option."""
        return "-NUM" in self.table

    @functools.cached_property
    def counting(self) -> bool:
        """Tell whether a dash and a digit may be an option."""
        return self.options != "gnu" or self.numeric or any(name[1:2].isdecimal() for name in self.table)

    @functools.cached_property
    def even(self) -> bool:
        """Tell whether a word more or less, and an option that is taken for a value, makes nothing of it worse."""
        if self.runs or self.subcommands or any(c.instead or c.barred for c in self.when):
            return False
        return len(self.args.split()) == 1 and self.args.endswith("*")

    @functools.cached_property
    def wary(self) -> bool:
        """Tell whether an option makes it safer."""
        return any(clause.barred or (clause.instead and (clause.groups or clause.value)) for clause in self.when)

    @functools.cached_property
    def switches(self) -> dict[str, str]:
        """Return the options without a value whose spelling, as a word of its own, can mean nothing else."""
        if self.options in ("pairs", "any"):
            return {}
        given = self.flags, tuple(self.values.items()), tuple(self.optional.items())
        alone = _switches(*given, self.options == "single")
        taken = alone.keys() & self.children.keys() if self.subcommands else ()
        return {s: name for s, name in alone.items() if s not in taken} if taken else alone

    @functools.cached_property
    def questions(self) -> frozenset[str] | None:
        """Return the words that make it print about itself and end; None where the level above says so."""
        return None if self.informs is None else frozenset(self.informs.split())

    @functools.cached_property
    def prompts(self) -> frozenset[str]:
        """Return the options that some clause waits for."""
        return frozenset(name for clause in self.when for group in clause.groups for name in group)

    @functools.cached_property
    def unprompted(self) -> tuple[Clause, ...]:
        """Return the clauses that can hold without any option."""
        return tuple(clause for clause in self.when if not clause.groups)


# Thousands of subcommands have the same options: each is made once, and so is a table of all that one knows.

Given: TypeAlias = tuple[tuple[str, Role], ...]


@functools.lru_cache(maxsize=16_384)
def _table(flags: str, values: Given, optional: Given) -> dict[str, Option]:
    """Return options by spelling."""
    known = {option.name: option for token in flags.split() for option in _spell(token)}
    alone = set(known)
    for source, attached in ((values, False), (optional, True)):
        for names, role in source:
            known.update((o.name, _either(o) if o.name in alone else o) for o in _options(names, role, attached))
    return known


@functools.lru_cache(maxsize=16_384)
def _switches(flags: str, values: Given, optional: Given, long: bool) -> dict[str, str]:  # noqa: FBT001 - a key
    """Return those without a value whose spelling can be read as nothing else; `long`: words behind one dash too."""
    table = _table(flags, values, optional)
    return {s: o.name for s, o in table.items() if o.role is None and _is_alone(s, "-NUM" in table, long)}


def _is_alone(spelling: str, numeric: bool, long: bool) -> bool:  # noqa: FBT001
    """Tell whether a spelling is read neither as several letters, nor as a number, nor as a name and its value."""
    if spelling[0] != "-" or spelling in ("-", "--") or "=" in spelling:
        return False
    if numeric and spelling[1:].isdigit():
        return False
    return len(spelling) == 2 or spelling[1] == "-" or long


@functools.cache
def _spell(token: str) -> tuple[Option, ...]:
    """Read options without a value; `-[abc]` are `-a`, `-b` and `-c`."""
    if token[1:2] == "[":
        return tuple(Option(token[0] + letter) for letter in token[2:-1])
    return (Option(token),)


@functools.cache
def _options(names: str, role: Role, optional: bool) -> tuple[Option, ...]:  # noqa: FBT001 - a key
    """Read options with a value; `--arg/2` takes two words."""
    parts = [text.partition("/") for text in names.split()]
    return tuple(Option(name, role, optional, int(count or 1)) for name, _, count in parts)


@functools.cache
def _either(option: Option) -> Option:
    """Return an option that stands among those without a value too."""
    return msgspec.structs.replace(option, either=option.role == "text" and not option.optional)


def _inherit(child: Entry, parent: Entry) -> Entry:
    return msgspec.structs.replace(
        child,
        flags=f"{parent.flags} {child.flags}",
        values={**parent.values, **child.values},
        optional={**parent.optional, **child.optional},
    )


@functools.lru_cache(maxsize=65_536)
def expression(text: str) -> Expression:
    """Compile an expression of a clause once; one that is marked as bounded cannot take long, whatever it is."""
    loaded()
    if not text.startswith(BOUNDED):
        return re.compile(text, re.DOTALL)
    import re2  # noqa: PLC0415 - only needed for entries that a policy brings along

    options = re2.Options()
    options.dot_nl, options.log_errors = True, False
    try:
        return cast("Expression", re2.compile(text[len(BOUNDED) :], options))
    except (re2.error, UnicodeError) as error:
        raise ConfigError(f"`{text[len(BOUNDED) :]}` is not an expression that can be used: {error}") from None


_CLASSES = frozenset(r"wdsWDS.\/:@+*?|^$(){}[]-")
"""What stands behind a backslash for one character."""
_MEANING = frozenset("\0(){}|?*+^$]")
"""What makes more of an expression than characters one behind the other."""


@functools.lru_cache(maxsize=4096)
def may_begin(text: str, beginning: str) -> bool:
    """Tell whether a text that begins so may match an expression; where that is not plain to see, it may."""
    items = _items(text)
    if not beginning or items is None:
        return True
    before = ""
    for one, often in items:
        if often and re.fullmatch(f"{before}{one}*", beginning, re.DOTALL):
            return True
        if re.fullmatch(before, beginning, re.DOTALL):
            return True
        before += one + often
    return re.fullmatch(before, beginning, re.DOTALL) is not None


def _items(text: str) -> list[tuple[str, str]] | None:
    """Take a plain expression apart: characters and sets of them, each once or with a `*` or `+`; None if it is not."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        end = text.find("]", at + 2) if text[at] == "[" else at + (text[at] == "\\")
        one = text[at : end + 1]
        if not _is_one(one):
            return None
        often = text[end + 1] if text[end + 1 : end + 2] in ("*", "+") else ""
        found.append((one, often))
        at = end + 1 + len(often)
    return found


def _is_one(item: str) -> bool:
    """Tell whether this is one character of an expression, or a set of them."""
    if item[:1] == "[":
        return len(item) > len("[]") and not item.endswith("\\]")
    return item[1:] in _CLASSES if item[:1] == "\\" else item not in _MEANING and item != ""

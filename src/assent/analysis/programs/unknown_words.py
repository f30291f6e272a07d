"""Words that are only known when a line runs: which of them can surely bring no option."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import msgspec

import assent.lazy_regex as re
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.analysis.ir import Command, Script, Word
    from assent.analysis.resources.paths import Place

_BLANK = "\u00b7"
"""Stands for a blank inside a word."""
_REVISION = r"[\w@][\w./@^~{}:-]*"
_HASH = r"(?:--format|--pretty)=(?:t?format:)?%[hH]"
_CHOICE = (
    r"-\d+|-n ?\d+|--(?:max-count|skip|max-parents|min-parents)=\d+|--(?:no-)?merges|--first-parent|--all|--reverse|-i"
    r"|--(?:grep|author|committer|since|after|until|before)=\S+|--branches|--tags|--remotes|--follow|-[SG]\S+"
)
"""Options that choose commits and print nothing more of them."""
_AMONG_FILES = r"(?: --(?: [\w./][\w./-]*)+)?"
_WHERE = rf"(?: {_REVISION})*{_AMONG_FILES}"
_AMONG = r"(?: -n [\w.-]+| -l [\w=.,/-]+| -A| --all-namespaces)*"
_LISTED = r"(?: (?:-L ?|--limit[ =]|-b |--branch[ =]|-w |--workflow[ =]|-s |--s(?:tate|tatus)[ =])[\w./-]+)*"
_RELEASES = r"(?: -A| -a| --all-namespaces| (?:-n |--namespace[ =])[\w.-]+)*"
_AWS = r"(?: --(?!query)[a-z-]+(?:[ =][\w./:@,][\w./:@,=-]*)?){0,8}"
_FIELDS = r"(?:\w++(?:\[(?:\d*|\*|\?[^][{}\s]*)\])*+\.)*"
"""Names that lead to a field of what a service answers; a text that the query holds itself is none."""
_CODE = "[AaBbCDdFGgHhIjMmNPpRSsTUuVWwYyZz%]"
"""What of the time is printed without a blank."""
_TOKENS = (
    rf"git merge-base(?: --all| --octopus| --fork-point)?(?: {_REVISION})+",
    rf"git rev-parse(?: --short(?:=\d+)?| --verify| -q| --quiet)*(?: {_REVISION})+",
    rf"git(?: --no-pager)? rev-list(?: (?:{_CHOICE}|{_REVISION}))*{_AMONG_FILES}",
    rf"git(?: --no-pager)? log(?: (?:{_CHOICE}))* {_HASH}(?: (?:{_CHOICE}|{_HASH}))*{_WHERE}",
    r"git hash-object [\w./][\w./-]*",
    r"(?:docker|podman) (?:ps|container ls|image ls|images)(?: -a| --all)* (?:-q|-aq|-qa|--quiet)",
    rf"(?:kubectl|oc)(?: -n [\w.-]+)? get [\w,./-]+{_AMONG} (?:-o ?|--output=)name{_AMONG}",
    rf"(?:kubectl|oc)(?: -n [\w.-]+)? get [\w,./-]+{_AMONG} -o[ =]?jsonpath=\{{\.items\[\d+\]\.metadata\.name\}}",
    rf"gh (?:run|pr|issue) list{_LISTED} --json (?:databaseId|number) (?:--jq|-q) \.\[\d*\]\.(?:databaseId|number)",
    r"gh (?:run|pr|issue) view(?: [\w./#][\w./#-]*)? --json (?:databaseId|number) (?:--jq|-q) \.(?:databaseId|number)",
    r"(?:whoami|arch|nproc|id -un|id -u|uname(?: -[smrpi])?|hostname(?: -s)?)",
    rf"date(?: -u)? \+%[YmdHMSFTsjyab](?:%-?{_CODE}|[\w:.-])*",
    rf"(?:pgrep(?: -(?!\w*n\w*o|\w*o\w*n)[fnox]+)?|pidof) [\w./][\w./{_BLANK}-]*",
    r"which \w[\w.+-]*",
    rf"helm (?:list|ls){_RELEASES} (?:-q|--short){_RELEASES}",
)
"""Print words without a space or a pattern in them, none of which starts with a dash: hashes, numbers, names."""
_IDENTIFIERS = re.compile(
    rf"aws [a-z0-9-]+ (?:list|describe)-[a-z-]+{_AWS} --query {_FIELDS}\w*(?:Arn|Id)s?(?:\[\d*\])?{_AWS}"
)
_IDENTIFIER = "id-0"
"""Prints what a cloud numbers its things with; they all look much like this."""
_PATHS = (
    r"(?:command -v|type -P) [\w.+-]+",
    r"(?:readlink -f|realpath) [\w./-]+",
    r"git rev-parse --show-toplevel",
    r"pwd(?: -[LP])?",
    r"(?:terraform|tofu) state list(?: [\w.]+)*",
)
"""Print an absolute path, or a name that begins with a letter; there may be spaces in it."""
_RESOLVED = ("readlink", "-f")
"""Prints absolute paths, whatever it is asked."""
_OBJECTS = re.compile(rf"(?:kubectl|oc)(?: -n [\w.-]+)? get [\w,./-]+{_AMONG} (?:-o ?|--output=)name{_AMONG}")
_OBJECT = re.compile(r"cut -d ?/ -f ?2|awk -F ?/ \{·?print·?\$2·?\}")
"""Gives the name of an object without its kind; none begins with a dash."""
_NAMES = (
    r"git describe(?: --tags| --always| --abbrev=\d+| --long| --all)*(?: [\w@][\w./@^~-]*)?",
    r"git branch --show-current",
    r"git symbolic-ref(?: --short| -q)* HEAD",
    rf"git rev-parse --abbrev-ref(?: --symbolic-full-name)? {_REVISION}",
    r"git tag(?: --sort=[\w:-]+| -l| --list)*",
    r"git for-each-ref(?: --sort=[\w:-]+| --count=\d+)* --format=%\(refname:short\)(?: refs/\w+)*",
    r"git branch(?: -a| -r| --all)* --format=%\(refname:short\)",
)
"""Print names of branches and tags, which start with a dash only where somebody meant harm."""
_WORDS = frozenset({"USER", "LOGNAME", "HOSTNAME", "UID", "EUID", "PPID", "BASHPID", "SHLVL", "LINENO"})
"""Variables that hold one plain word, as long as nobody sets them; setting them is asked about."""
_TIME = re.compile(r"date(?: -u| --utc| -j| -v ?[+-]?\d+[a-zA-Z]| (?:-d ?|--date[= ])[^\s/]+)*(?: \+\S*)?")
_FORGES = frozenset({"gh", "glab"})
_STAND = re.compile(
    r"git branch --show-current|git rev-parse(?: --short| --abbrev-ref)? HEAD"
    r"|git log -1 --format=%[hH]|git merge-base [\w./-]+ HEAD"
)
"""Print the branch or the commit that a repository stands at."""
_SIFTING = (
    r"(?:head|tail)(?: -n ?\+?\d+| -\d+)?",
    r"(?:sort|uniq|tac)(?: -[bcdfghinruV]+| -k\d[\d,.]*)*",
    r"(?:grep|egrep|fgrep)(?: -[EFiovwx]+)* [^\s-]\S*",
    r"cut(?: -d ?\S| -[cf] ?[\d,-]+)+",
    r"tr(?: -[cds]+)? [^\s-]\S*(?: [^\s-]\S*)?",
    r"awk(?: -F ?\S+)? (?!\S*(?:getline|ENVIRON|PROCINFO|system|@))[^\s-]\S*",
    r"jq(?: -[cer]+)* (?!\S*(?:env|ENV|input|import|include))[^\s-]\S*",
    r"sed(?: -[nEr]+)* (?:\d+(?:,\d+)?[pd]|s/[^/\s]*/[^/\s]*/[gp]*)",
    r"read(?: -r)?(?: [A-Za-z_]\w*)+",
)
"""Give on what they are fed, or parts of it, and nothing else that the line does not say."""
_ODD = re.compile(r"[\s*?\[]")
_GLOB = ("*", "?", "[")


_LOOK = rf"{_AMONG}(?: --no-headers| -o ?wide| --show-labels| --sort-by[= ]\S+| --(?:field-)?selector[= ]\S+)*"
_TABLE = (
    rf"(?:kubectl|oc)(?: -n [\w.-]+)? get [\w,./-]+{_LOOK}",
    r"(?:docker|podman)(?: container)? (?:ps|ls)(?: -a| --all| --no-trunc| -f ?\S+| --filter[= ]\S+)*",
    r"(?:docker|podman) (?:images|image ls)(?: -a| --all| --no-trunc)*",
    rf"git(?: --no-pager)? log(?: -n? ?\d+| --all| --no-merges)* --oneline(?: -n? ?\d+| --all| --no-merges)*{_WHERE}",
    r"git(?: --no-pager)? reflog(?: -\d+| -n ?\d+)*",
)
"""Print a table; what each row begins with is a name or a number and no dash, and a blank follows it,"""
_TABBED = (
    r"helm (?:list|ls)(?: -A| -a| --all-namespaces| -n \S+)*",
    rf"gh (?:pr|issue) list{_LISTED}",
)
"""or a tab."""
_ROWS = (
    r"(?:head|tail)(?: -n ?\+?\d+| -\d+)?",
    r"(?:sort|uniq|tac)(?: -[bdfghinruV]+| -k\d[\d,.]*)*",
    r"(?:grep|egrep|fgrep)(?: -[EFivwx]+)* [^\s-]\S*",
    r"sed(?: -n)? \d+(?:,\d+)?[pd]",
)
"""Drop rows of a table, or sort them."""
_TEXT = r"\"[^\"\\\s]*\"|/[^/\\\s]*/"
_TEST = rf"(?:!?/[^/\\\s]*/|NR[<>=]=?\d+|\$\d+{_BLANK}?(?:[!=]=|!?~|[<>]=?){_BLANK}?(?:{_TEXT}|\d+))"
"""A condition of awk that changes nothing."""
_FIRST = re.compile(
    rf"awk (?:{_TEST}(?:{_BLANK}?(?:&&|\|\|){_BLANK}?{_TEST})*{_BLANK}?)?\{{{_BLANK}?print{_BLANK}?\$1"
    rf"(?:;{_BLANK}?(?:exit{_BLANK}?)?;?)?{_BLANK}?\}}"
    rf"|(?P<cut>cut -d{_BLANK} -f ?1)"
)
"""Give what each row begins with."""


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{p})" for p in patterns))


_token, _path, _name = _any(_TOKENS), _any(_PATHS), _any(_NAMES)
_sifter, _row = _any(_SIFTING), _any(_ROWS)
_tables, _tabbed = tuple(map(re.compile, _TABLE)), tuple(map(re.compile, _TABBED))


def settle(command: Command, script: Script, place: Place, functions: frozenset[str]) -> Command:
    """Mark the words that can bring no option: patterns in a folder without such names, and output of some commands."""
    unsure = [
        index for index, w in enumerate(command.words) if w.splits or w.feeds or w.variables or w.named_in is not None
    ]
    if not unsure:
        return command
    has_dashes = functools.partial(place.ask, place.facts.has_dashes)
    words = [*command.words]
    for index in unsure:
        word = words[index]
        if word.text.replace(UNKNOWN, "").startswith("-"):
            continue  # what is not known may be nothing, and then the rest is an option
        if (
            _is_plain_variable(word)
            or _is_pattern_without_options(word, command, has_dashes)
            or _is_name_without_options(word, has_dashes)
            or _is_harmless_output(word, script, place, functions)
        ):
            words[index] = msgspec.structs.replace(word, plain=True)
        elif _is_identifier(word, script.commands, functions):
            words[index] = msgspec.structs.replace(word, plain=True, like=_IDENTIFIER)
    return msgspec.structs.replace(command, words=tuple(words))


def _is_plain_variable(word: Word) -> bool:
    return (
        bool(word.variables)
        and not word.mixed
        and _WORDS.issuperset(word.variables)
        and not word.feeds
        and word.text.count(UNKNOWN) == len(word.variables)
    )


def _is_pattern_without_options(word: Word, command: Command, has_dashes: Callable[[str], bool | None]) -> bool:
    if not word.splits or not word.text.startswith(_GLOB) or UNKNOWN in word.text or command.cwd is None:
        return False
    return all(has_dashes(folder) is False for folder in (command.cwd, *command.elsewhere))


def _is_name_without_options(word: Word, has_dashes: Callable[[str], bool | None]) -> bool:
    if word.named_in is None or word.splits:
        return False
    return all(has_dashes(folder) is False for folder in word.named_in)


def _is_harmless_output(word: Word, script: Script, place: Place, functions: frozenset[str]) -> bool:
    if word.mixed or not word.feeds or word.variables or word.text.count(UNKNOWN) != len(word.feeds):
        return False
    return all(
        _prints_no_option(_source(script.commands, f), word, place, functions)
        or _names_objects(_source(script.commands, f), script.commands)
        or _names_rows(script.commands, f, functions)
        for f in word.feeds
    )


def _is_identifier(word: Word, commands: Sequence[Command], functions: frozenset[str]) -> bool:
    if word.mixed or len(word.feeds) != 1 or word.variables or word.text != UNKNOWN:
        return False
    return "aws" not in functions and _IDENTIFIERS.fullmatch(_text(_source(commands, word.feeds[0]))) is not None


def is_time(word: Word, script: Script) -> bool:
    """Tell whether all that is not known of a word is the time, which every machine knows."""
    if word.mixed or not word.feeds or word.variables or word.text.count(UNKNOWN) != len(word.feeds):
        return False
    return all(_TIME.fullmatch(_text(_source(script.commands, f))) for f in word.feeds)


def is_echo(word: Word, command: Command, script: Script) -> bool:
    """Tell whether all that is not known of a word is the time, or was printed by the same program.

    Its service knows it already. So does a forge know where its repository stands.
    """
    if word.mixed or not word.feeds or word.variables or word.text.count(UNKNOWN) not in (1, len(word.feeds)):
        return False
    if "://" in word.text or any("." in part for part in word.text.split("/")[:-1]):
        return False  # it goes to a machine that the word names, which may be another one
    sources = [_source(script.commands, f, _sifter.fullmatch) for f in word.feeds]
    forge = command.words[0].text in _FORGES
    return all(
        _TIME.fullmatch(_text(s)) or _says(s, command.words[0]) or (forge and _STAND.fullmatch(_text(s)))
        for s in sources
    )


def _says(command: Command, program: Word) -> bool:
    return bool(command.words) and command.words[0] == program and not command.assignments


def prints_tokens(command: Command, commands: Sequence[Command]) -> bool:
    """Tell whether all that a command is fed are words that bring no option, however they are cut or quoted."""
    if len(command.fed_by) != 1 or not command.passes_on:
        return False
    before = command.fed_by[0]
    source = _source(commands, before)
    return (
        _token.fullmatch(_text(source)) is not None or _names_objects(source, commands) or _names_rows(commands, before)
    )


def _names_objects(command: Command, commands: Sequence[Command]) -> bool:
    """Tell whether a command gives the names of objects of which another gives kind and name."""
    if not _OBJECT.fullmatch(_text(command)) or len(command.fed_by) != 1:
        return False
    return _OBJECTS.fullmatch(_text(_source(commands, command.fed_by[0]))) is not None


def _names_rows(commands: Sequence[Command], index: int, functions: frozenset[str] = frozenset()) -> bool:
    """Tell whether a command gives what the rows of a table begin with, of which none is an option."""
    index = _first(commands, index, _row.fullmatch)
    last = commands[index]
    first = _FIRST.fullmatch(_text(last)) if len(last.fed_by) == 1 and last.fed_by[0] < index else None
    if first is None:
        return False
    table = _source(commands, last.fed_by[0], _row.fullmatch)
    text = _text(table)
    tables = _tables if first["cut"] else _tables + _tabbed
    return any(each.fullmatch(text) for each in tables) and functions.isdisjoint(
        (table.words[0].text, last.words[0].text)
    )


def _source(commands: Sequence[Command], index: int, filters: Callable[[str], object] | None = None) -> Command:
    """Return the command that output stems from, through filters: where none are given, those that only drop lines."""
    return commands[_first(commands, index, filters or _row.fullmatch)]


def _first(commands: Sequence[Command], index: int, filters: Callable[[str], object]) -> int:
    """Return where the way of some output through filters begins."""
    while len(fed := commands[index].fed_by) == 1 and fed[0] < index and filters(_text(commands[index])):
        index = fed[0]
    return index


def _text(command: Command) -> str:
    known = all(w.known for w in command.words) and not command.assignments and command.passes_on
    return " ".join(w.text.replace(" ", _BLANK) for w in command.words) if known else ""


def _prints_no_option(command: Command, word: Word, place: Place, functions: frozenset[str]) -> bool:
    text, cwd = _text(command), command.cwd
    if not command.words or command.words[0].text in functions:
        return False
    if tuple(w.text for w in command.words[:-1]) == _RESOLVED and command.passes_on and not command.assignments:
        return not (word.splits or word.cut)
    if not text:
        return False
    if _token.fullmatch(text):
        return True
    if _path.fullmatch(text):
        here = text.startswith(("pwd", "git")) and cwd is not None and not _ODD.search(cwd) and not command.elsewhere
        return here or not (word.splits or word.cut)
    return (
        _name.fullmatch(text) is not None and cwd is not None and place.ask(place.facts.trap, "git-refs", cwd) is None
    )

"""Commands that run other commands: what is inside them, as words or as a line to be parsed in turn."""

from __future__ import annotations

import operator
import shlex
from collections.abc import Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Command, Script, Word
from assent.analysis.languages.shell_dialects import is_plain
from assent.analysis.programs.find_expression import FindExpression
from assent.analysis.programs.match import Match, match_words, part
from assent.analysis.programs.secret_probe import fitting
from assent.analysis.programs.unknown_words import prints_tokens
from assent.analysis.resources.wildcards import may_be_secret
from assent.analysis.values.hints import FOREIGN, MADE, merged
from assent.analysis.values.printed_text import fed, printed
from assent.catalog import Role, is_builtin, lookup, secret_names
from assent.model import UNKNOWN

DEEPEST = 10
"""Layers of commands inside commands that are read; what is deeper is unreadable."""
_COUNTED = ("-n", "-L", "-l", "-J", "--max-args", "--max-lines")
_SOURCES = (":::", "::::", ":::+", "::::+")
FIND = "find -exec"
"""The layer around what find runs."""
_ANYTHING = Word(UNKNOWN, splits=True)
_MOST_WITHIN = 4
"""Words of a command that are tried for one that it runs."""
_EMPTY = Word("")
_WORD = re.compile(rf"[\w./:@%+,={UNKNOWN}-]+")
"""A word that is the same after a shell has read it once more."""
_LINES = frozenset({"%s", "%s\\n"})
"""Formats of printf that print each word on a line of its own, or one alone."""
_MADE = "words of the parallel command are known only at run time"
_LINE_ENDS = frozenset({"\\n", "\n", "\\0"})
"""What xargs is told to cut at where it takes whole lines or names."""
_MARKS = re.compile(r"\{(?:/?/?|/?\.)\}")
_UNSPLIT = re.compile(rf"[\\$#\x00-\x08\x0b-\x1f{UNKNOWN}]")
"""What `env -S` expands, drops or splits at in ways of its own."""
_LONGEST_SPLIT = 4096
"""Characters of such words that are taken apart, sign by sign; what is longer counts as not known."""
_stream = operator.attrgetter("stream")


_NO_SCRIPT = Script()
_USUAL = frozenset({"", "0", "1", "2"})
"""Descriptors that every command has."""


class Inner(msgspec.Struct, frozen=True):
    """One command or line found inside a command."""

    layer: str
    command: Command | None = None
    line: Word = Word("")
    """What is parsed, where there is no command yet."""
    elsewhere: bool = False
    """It runs on another machine or in another root: paths are not ours."""
    moved: bool = False
    """It runs here, or in a folder that is only known at run time."""
    bash: bool | None = False
    """A line is read by bash, or by another shell; None: by the shell that the command stands in."""
    fault: str | None = None
    """Why it may be something else than what is said here."""
    arguments: tuple[Word, ...] | None = None
    """The words behind a line, its name first, where it is a script of its own."""
    later: bool = False
    """It runs when the shell is told to, wherever it is then."""


def openings(
    match: Match, roles: Sequence[tuple[Role, Word]], command: Command, script: Script = _NO_SCRIPT
) -> Iterator[Inner]:
    """Yield everything a command runs, by its entry; the script has those that may feed it."""
    if match.entry.assignments and (string := next((w for r, w in roles if r == "line"), None)):
        yield _split(match, string, command)
        return
    for role, word in roles:
        if role in ("line", "helper"):
            foreign = match.name == "zsh" and not is_plain(word.text)
            fault = "a zsh command with more than plain words" if foreign else None
            behind = match.operands[1:] if match.operands[:1] == (word,) and "-c" in match.present else None
            later = match.name == "trap"
            bash = read_by_bash(match)
            yield Inner(_layer(match), line=word, bash=bash, fault=fault, arguments=behind, later=later)
        elif role == "alias" and "=" in word.text:
            line = part(word, word.text.index("=") + 1)
            yield Inner(match.name, line=msgspec.structs.replace(line, text=f'{line.text} "$@"'), bash=None)
    for words in match.commands:
        if words:
            yield Inner(match.name, command=inner_command(command, _found(words, match)))
    rest = match.operands[match.entry.skip :]
    if match.entry.runs and rest:
        yield from _rest(match, rest, command, script)
    elif behind := words_behind(match):
        yield Inner(match.name, command=inner_command(command, behind))


def words_behind(match: Match) -> tuple[Word, ...]:
    """Return what stands behind `--` of a program whose words are not read, if it begins like a command."""
    if match.entry.options != "any" or match.entry.runs:
        return ()
    texts = [word.text for word in match.operands]
    behind = match.operands[texts.index("--") + 1 :] if "--" in texts else ()
    return behind if behind and lookup(behind[0].text.rpartition("/")[2]) is not None else ()


def _sought(match: Match) -> str:
    """Name what fd is after, where that is a secret; otherwise what it finds is not known."""
    names = [re.sub(r"[\^$\\]", "", w.text) for w in match.operands[:1]]
    # A name that is searched for is found inside others too: of hidden files that is what begins with a dot.
    names += [f"{before}{n}" for n in names if n for before in (".", "id_")]
    if not match.present.isdisjoint(("-H", "-u", "--hidden", "--unrestricted")):
        names += [f"*{n}*" for n in names[:1] if len(n) > 2]
    names += [f"x.{w.text}" for n, _, w in match.values if n in ("-e", "--extension")]
    names += [f"{root.text}/{n}" for root in match.operands[1:] for n in names[:1]]
    names += [name for w in match.operands[:1] for name in fitting(w.text)]
    return next((n for n in names if secret_names.is_secret(n) or may_be_secret(f"/{n}")), UNKNOWN)


def _found(words: tuple[Word, ...], match: Match) -> tuple[Word, ...]:
    """Put what fd finds into the words of its command: in place of its marks, or at the end."""
    name, roots = _sought(match), tuple(root.text for root in match.operands[1:])
    wild = name != UNKNOWN
    marked = tuple(
        msgspec.structs.replace(w, text=_MARKS.sub(lambda _: name, w.text), splits=w.splits or wild, hints=roots)
        if _MARKS.search(w.text)
        else w
        for w in words
    )
    return marked if marked != words else (*words, Word(name, splits=wild, hints=roots))


def read_by_bash(match: Match) -> bool | None:
    """Tell whether a line that a command runs is read by bash; what is built in leaves it to its own shell."""
    return None if is_builtin(match.name) else match.name in ("bash", "rbash")


def _split(match: Match, string: Word, command: Command) -> Inner:
    """Take the words of `env -S` apart, and read them as if they had been written with those that follow."""
    text, fault = string.text, None
    if _UNSPLIT.search(text) or string.splits or len(text) > _LONGEST_SPLIT:
        fault = "words inside a quoted argument are known only at run time"
    try:
        words = shlex.split(text.replace(r"\_", " ")) if len(text) <= _LONGEST_SPLIT else text.split()
    except ValueError:
        words, fault = text.split(), "a quote inside an argument is not closed"
    found = tuple(Word(w, string.variables, string.feeds, UNKNOWN in w) for w in words)
    inner = inner_command(command, (command.words[0], *found, *match.operands))
    return Inner(f"{match.name} -S", command=inner, fault=fault)


def _layer(match: Match) -> str:
    return f"{match.name} -c" if "-c" in match.present else match.name


def _rest(match: Match, rest: tuple[Word, ...], command: Command, script: Script) -> Iterator[Inner]:
    match match.entry.runs:
        case "line" | "remote":
            remote = match.entry.runs == "remote"
            yield Inner(match.name, line=join(rest), elsewhere=remote, bash=read_by_bash(match))
        case "xargs":
            listed = [f for n, _, w in match.values if n in ("-a", "--arg-file") for f in w.feeds]
            commands = script.commands
            hints = merged(fed(command, commands, wrote=script.writes), printed(listed, commands, wrote=script.writes))
            # Words from elsewhere, or that are cut at any letter, may begin with a dash.
            cut = any(n in ("-d", "--delimiter") and w.text not in _LINE_ENDS for n, _, w in match.values)
            odd = cut or not match.present.isdisjoint(("-a", "--arg-file"))
            twice = sum(name in ("-I", "-J", "-i", "--replace") for name, _, _ in match.values) > 1
            if not match.present.isdisjoint(("-a", "--arg-file")) and not listed:
                hints = merged(hints, (FOREIGN,))
            if twice or cut or (odd and script.writes):
                hints = merged(hints, (MADE,))
            if not odd and prints_tokens(command, commands):
                given = Word(UNKNOWN, (), command.fed_by, splits=True, hints=hints)
            else:
                given = Word(UNKNOWN, (), (*_sources(command), *listed), splits=True, hints=hints, mixed=True)
            yield Inner(match.name, command=inner_command(command, _fed(match, rest, given)))
        case "parallel":
            yield _parallel(match, rest, command)
        case "within":
            yield from _within(match, rest, command)
        case _:
            yield from _words(match, rest, command)


def _within(match: Match, rest: tuple[Word, ...], command: Command) -> Iterator[Inner]:
    """Yield what begins like a command among the words of one that runs some: as words, or as a line in a word."""
    begins = [at for at, word in enumerate(rest) if lookup(word.text.lstrip().partition(" ")[0].rpartition("/")[2])]
    for at in begins[:_MOST_WITHIN]:
        if " " in rest[at].text.strip():
            yield Inner(match.name, line=rest[at])
        else:
            yield Inner(match.name, command=inner_command(command, rest[at:]))


def _words(match: Match, rest: tuple[Word, ...], command: Command) -> Iterator[Inner]:
    start = 0
    # Whatever holds a `=` is an assignment here, also with a name that no shell would take.
    while match.entry.assignments and start < len(rest) and "=" in rest[start].text:
        start += 1
    assignments = tuple(assignment_of(w) for w in rest[:start])
    if rest[start:]:
        inner = inner_command(command, rest[start:], assignments)
        yield Inner(match.name, command=inner, elsewhere=match.entry.runs == "elsewhere")


def assignment_of(word: Word) -> tuple[str, Word]:
    """Take `NAME=value` apart."""
    name, _, value = word.text.partition("=")
    return name, Word(value, word.variables, word.feeds, word.splits)


def inner_command(outer: Command, words: tuple[Word, ...], assignments: tuple[tuple[str, Word], ...] = ()) -> Command:
    """Return a command that takes over the outer one's standard input and folder."""
    fed = tuple(r for r in outer.redirects if r.direction in ("here", "read", "both"))
    return Command(words, assignments, fed, outer.cwd, outer.piped_from, outer.fed_by)


def join(words: Sequence[Word]) -> Word:
    """Join words into one line, as `eval` and `ssh` do."""
    return Word(
        " ".join(w.text for w in words),
        tuple(v for w in words for v in w.variables),
        tuple(f for w in words for f in w.feeds),
        splits=any(w.splits and UNKNOWN in w.text for w in words),
    )


def _sources(command: Command) -> Iterator[int]:
    """Give the commands whose output one reads from standard input."""
    yield from command.fed_by
    for redirect in command.redirects:
        if redirect.direction in ("here", "read", "both"):
            yield from redirect.target.feeds


def _fed(match: Match, rest: tuple[Word, ...], given: Word) -> tuple[Word, ...]:
    """Put what xargs is given into the words that it runs: in place of its mark, or at the end."""
    marks = [w.text for n, _, w in match.values if n in ("-I", "-J", "--replace", "-i")]
    if not match.present.isdisjoint(("-i", "--replace")):
        marks.append("{}")
    pattern = "|".join(re.escape(m) for m in marks if m)
    words = tuple(_unknown(pattern, w, given) for w in rest) if pattern else rest
    # Of a mark and a number of words the one given last counts: both are taken to hold.
    return words if pattern and match.present.isdisjoint(_COUNTED) else (*words, given)


def _unknown(pattern: str, word: Word, given: Word) -> Word:
    text = re.sub(pattern, UNKNOWN, word.text)
    if text == word.text:
        return word
    guesses = tuple(text.replace(UNKNOWN, hint) for hint in given.hints)
    # What stands in a text of the line is not the whole of what is run.
    feeds = given.feeds if text == UNKNOWN or not given.mixed else ()
    return Word(text, word.variables, word.feeds + feeds, word.splits, guesses, mixed=given.mixed and bool(feeds))


def _parallel(match: Match, rest: tuple[Word, ...], command: Command) -> Inner:
    """Return what parallel runs: its marks, and its end, are only known at run time."""
    behind = next((at for at, word in enumerate(rest) if word.text in _SOURCES), len(rest))
    given = Word(UNKNOWN, (), tuple(_sources(command)) if behind == len(rest) else (), splits=True, mixed=True)
    words = tuple(_unknown(r"\{[^{}]*\}", word, given) for word in rest[:behind])
    # To one that was found nothing is added in truth; it is taken to be, as what is not known may be nothing.
    if words and all(_WORD.fullmatch(word.text) for word in words):
        return Inner(match.name, command=inner_command(command, (*words, given)), fault=_MADE)
    return Inner(match.name, line=join([*words, _ANYTHING]))


def find_openings(expression: FindExpression, command: Command) -> Iterator[Inner]:
    """Yield what find runs for each file."""
    for words in expression.commands:
        if words:
            yield Inner(FIND, command=inner_command(command, words), moved=expression.moves)


def fed_text(command: Command, script: Script) -> Word | None:
    """Return what a command reads from standard input: a here-document, or the constant output of `echo`."""
    here = [r.target for r in command.redirects if r.direction == "here"]
    read = [r.target for r in command.redirects if r.direction in ("read", "both")]
    other = any(r.direction == "descriptor" and r.target.text.rstrip("-") not in _USUAL for r in command.redirects)
    if other or (here and read) or (not here and not read and len(command.fed_by) > 1):
        return Word(UNKNOWN, splits=True)  # one of several
    if here:
        return here[-1]
    if read:
        return printed_text(read[-1], script)
    if command.piped_from is None or command.piped_from >= len(script.commands):
        return None
    return _constant_output(script.commands[command.piped_from])


def printed_text(word: Word, script: Script) -> Word | None:
    """Return what a file holds that stands for the constant output of one command: `<(echo ls)`."""
    if not word.stream or len(word.feeds) != 1 or word.feeds[0] >= len(script.commands):
        return None
    return _constant_output(script.commands[word.feeds[0]])


def _constant_output(command: Command) -> Word | None:
    first, *words = unwrapped(command.words) or (_EMPTY,)
    name = first.text
    if name == "cat" and not words:
        return fed_text(msgspec.structs.replace(command, piped_from=None), Script())
    if name == "printf" and len(words) > 1 and words[0].text in _LINES:
        return Word("\n".join(w.text for w in words[1:]), feeds=tuple(f for w in words[1:] for f in w.feeds))
    if name not in ("echo", "printf") or any("\\" in w.text or "%" in w.text for w in words):
        return None
    return join([w for w in words if name == "printf" or w.text not in ("-n", "-e", "-E")])


def unwrapped(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Give the words of a command without what runs it as it is: `timeout 5`, `nice`, `env`."""
    for _ in range(DEEPEST):
        entry = lookup(words[0].text) if words and words[0].known else None
        if entry is None or entry.runs != "words":
            break
        match = match_words(words[0].text, entry, words[1:])
        rest = match.operands[entry.skip :]
        if match.fault or not rest or (entry.assignments and "=" in rest[0].text):
            break
        words = rest
    return words


def is_fed(command: Command) -> bool:
    """Tell whether standard input is what another command prints."""
    piped = bool(command.fed_by) or command.piped_from is not None
    return piped or any(r.direction == "read" and r.target.feeds for r in command.redirects)


def is_given_input(command: Command) -> bool:
    """Tell whether standard input is anything but what the call itself has."""
    return is_fed(command) or any(r.direction in ("read", "both", "here") for r in command.redirects)


def is_given_data(command: Command, script: Script) -> bool:
    """Tell whether standard input is more than nothing, and more than the line itself says."""
    if not is_given_input(command):
        return False
    files = [r for r in command.redirects if r.direction in ("read", "both")]
    if files:
        return any(r.target.text != "/dev/null" for r in files)
    text = fed_text(command, script)
    return text is None or UNKNOWN in text.text or bool(text.feeds)


def is_stream(word: Word) -> bool:
    """Tell whether a file's name stands for what another command prints."""
    return bool(word.feeds) or word.text.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/")) or word.text == "-"


def with_descriptors(command: Command) -> Command:
    """Name process substitutions as the shell does: by a path, which can be no option."""
    if not any(map(_stream, command.words)):
        return command
    words = tuple(msgspec.structs.replace(w, text=f"/dev/fd/{UNKNOWN}") if w.stream else w for w in command.words)
    return msgspec.structs.replace(command, words=words)

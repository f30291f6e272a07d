"""What flows between the commands of a script: code that comes from the network, and what never ends."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Container, Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Command, Script, Word
from assent.analysis.lines.findings import Findings
from assent.analysis.operations import secret_read, worse
from assent.analysis.resources.re2 import compile_expression
from assent.catalog.schema import Output
from assent.model import FS_READ, FS_WRITE, UNKNOWN, Operation, RuleError, Tier

_SECRETS = re.compile(r"(?i)key|secret|token|pass(?:w|(?![a-z]))|cred|auth|aws|[.\"]env\b")
_CONNECTION = re.compile("/dev/(?:tcp|udp)/")
_USUAL = frozenset({"0", "1", "2", "-"})
"""Descriptors that every command has, and none."""
_GREPS = frozenset({"grep", "egrep", "fgrep"})
_NAMED = ("_TOKEN=", "_SECRET=", "_KEY=", "_PASSWORD=")
_PLAIN = ("PATH=/usr/bin", "HOME=/home/u", "USER=u", "LANG=C", "PWD=/x", "SHELL=/bin/bash", "NODE_ENV=x")
_MAGIC = re.compile(rf"[\[.*?(\\{UNKNOWN}]")
_LONGEST = 200
_KEYS = re.compile(r"(?:^|[|] ?)keys(?:_unsorted)?\b")
"""What jq calls the names of things."""
_NAMES = re.compile(r"cut -d ?= -f ?1|awk -F ?= \{ ?print \$1 ?\}|sed s/=[.][*]//")
"""Prints of `name=value` the name alone."""
_SEARCHES = _GREPS | {"rg", "ag", "ack", "awk", "gawk", "mawk", "sed", "jq"}
_SIFTING = re.compile(r"\bcase\b|\[\[|\$\{\w++(?:\[[^]$]*+\])?+[#%/]")
"""How a line picks something itself of what a command prints."""
_SECRET_NAME = re.compile(r"(?i)token|secret|passw|credential|_key\b|api_?key")
_INVERTED = re.compile(r"-[EFGPinwx]*v[EFGPinwx]*|--invert-match")

_network, _reveals = operator.attrgetter("network"), operator.attrgetter("reveals")


class FlowTrace(msgspec.Struct):
    """What a command was found to be, for the pipes around it."""

    index: int | None = None
    """Its operation."""
    network: bool = False
    """Its output comes from the network."""
    code: tuple[int, ...] = ()
    """The commands whose output it runs."""
    stdin: bool = False
    """It runs what comes from standard input."""
    output: Output = ""
    """Whether what it prints never ends by itself, or ends whatever it is fed."""
    reveals: bool = False
    """What it prints holds secrets among other things."""
    sent: tuple[str, ...] = ()
    """The secrets that its own words tell it to send."""
    span: tuple[int, int] = (0, 0)
    """The operations that were found in it."""


def mark_flows(script: Script, traces: Sequence[FlowTrace], findings: Findings) -> None:
    """Make every command destructive that runs what another fetches from the network.

    To read a file that it names is dangerous.
    """
    if not any(map(_network, traces)):
        return
    tainted = _tainted(script, traces)
    opened = any(_connects(command) or _opens(command, tainted) for command in script.commands)
    for command, trace in zip(script.commands, traces, strict=True):
        sources = (*trace.code, *(command.fed_by if trace.stdin else ()))
        connected = trace.stdin and _is_connected(command, opened=opened)
        if trace.index is not None and (connected or not tainted.isdisjoint(sources)):
            findings.worsen(
                trace.index,
                Tier.DESTRUCTIVE,
                "runs code downloaded from the network",
                "whatever the remote host sends runs with your permissions, unseen",
                "none; download it to a file, read the file, then run it",
            )
        if not tainted.isdisjoint(_namers(command)):
            for at in range(*trace.span):
                if _is_read_by_unknown_name(findings.operations[at]):
                    told = "reads a file whose name a remote host chooses"
                    findings.operations[at] = worse(findings.operations[at], told)


def _connects(command: Command) -> bool:
    """Tell whether a redirection of a command opens a connection."""
    return any(_CONNECTION.match(each.target.text) for each in command.redirects if each.direction != "here")


def _opens(command: Command, tainted: set[int]) -> bool:
    """Tell whether a command leaves what others print open for the rest of the line."""
    feeds = (feed for each in command.redirects for feed in each.target.feeds)
    return bool(command.words) and command.words[0].text == "exec" and not tainted.isdisjoint(feeds)


def _is_connected(command: Command, *, opened: bool) -> bool:
    """Tell whether a command reads from a connection: its own, or one that was opened before, by its number."""
    return _connects(command) or (
        opened and any(each.direction == "descriptor" and each.target.text not in _USUAL for each in command.redirects)
    )


def _namers(command: Command) -> Iterator[int]:
    """Give the commands whose output may name what a command reads: in its words, or fed to what runs others."""
    for word in command.words:
        if not word.stream:
            yield from word.feeds
    yield from command.fed_by


def _is_read_by_unknown_name(operation: Operation) -> bool:
    # A pattern of the line is none that another machine says.
    return operation.kind is FS_READ and UNKNOWN in operation.resource and not operation.globbed


def mark_endless(script: Script, traces: Sequence[FlowTrace], findings: Findings) -> None:
    """Make every file dangerous that takes what never ends: it would fill the disk."""
    commands = script.commands
    found = {i for i, (c, t) in enumerate(zip(commands, traces, strict=True)) if c.endless or t.output == "endless"}
    if not found:
        return
    # As above: what is written into a compound statement's redirection, or by a function, may stand behind it.
    for _ in range(2):
        functions = {layer for i in found for layer in commands[i].through}
        for index, command in enumerate(commands):
            fed = not found.isdisjoint((*command.fed_by, *command.writers))
            called = command.calls and f"function {command.words[0].text}" in functions
            if (fed or called) and traces[index].output != "bounded":
                found.add(index)
    for index in found:
        traces[index].output = "endless"
        for at in range(*traces[index].span):
            if findings.operations[at].kind is FS_WRITE:
                findings.operations[at] = worse(findings.operations[at], "fills the disk: its input never ends")


def summarize(script: Script, traces: Sequence[FlowTrace]) -> FlowTrace:
    """Tell of a whole script what matters to the pipe it stands in."""
    commands = script.commands
    taken = {feed for command in commands for feed in command.fed_by}
    endless = any(t.output == "endless" and i not in taken for i, t in enumerate(traces))
    stdin = any(t.stdin and not c.fed_by for t, c in zip(traces, commands, strict=True))
    return FlowTrace(stdin=stdin, output="endless" if endless else "", reveals=any(map(_reveals, traces)))


def mark_variables(script: Script, traces: Sequence[FlowTrace], findings: Findings, line: str) -> None:
    """Add the read of secrets wherever what holds them is searched for them by name, be it through other commands."""
    if not any(map(_reveals, traces)):
        return
    names = {i for i, c in enumerate(script.commands) if _NAMES.fullmatch(" ".join(w.text for w in c.words))}
    shown = _downstream({i for i, t in enumerate(traces) if t.reveals}, script, names)
    if script.writes:
        shown.update(range(len(traces)))  # it may stand in a file by now
    for command in script.commands:
        if script.writes or not shown.isdisjoint(find_sources(command)):
            searches = command.words[0].text in _SEARCHES if command.words else False
            found = next(
                (w.text for w in command.words[1:] if _seeks_secret(w.text) or (searches and _is_made(w))), None
            )
            if found is not None and not _leaves_out(command):
                findings.add(_picked(found))

    named = _SECRET_NAME.search(line) if _SIFTING.search(line) else None
    if named is not None:
        findings.add(_picked(named[0]))


def _picked(name: str) -> Operation:
    """Return the read of a secret that is picked by its name out of what a command prints."""
    return secret_read(f"output searched for `{name}`", None, "extracts a secret from command output")


def _is_made(word: Word) -> bool:
    """Tell whether another command prints what is searched for."""
    return bool(word.feeds) and not word.stream and UNKNOWN in word.text


def _seeks_secret(text: str) -> bool:
    """Tell whether a text asks for a variable that holds a secret, by its name or by an expression that fits one."""
    if _SECRETS.search(_KEYS.sub("", text)):
        return True
    if not _MAGIC.search(text) or len(text) > _LONGEST:
        return False
    try:
        finds = compile_expression("(?i)" + text.replace(UNKNOWN, ".*")).search
    except RuleError:
        return False
    return any(map(finds, _NAMED)) and not any(map(finds, _PLAIN))


def _leaves_out(command: Command) -> bool:
    """Tell whether a command shows all but what it names."""
    words = command.words
    return words[0].text in _GREPS and any(
        _INVERTED.fullmatch(word.text) and before.text not in ("-e", "-f", "--regexp", "--file")
        for before, word in itertools.pairwise(words)
    )


def _tainted(script: Script, traces: Sequence[FlowTrace]) -> set[int]:
    """Return the commands whose output comes from the network, directly or through what they are fed."""
    opened = any(map(_connects, script.commands))
    reading = {i for i, c in enumerate(script.commands) if opened and _is_connected(c, opened=True)}
    return _downstream(reading | {i for i, t in enumerate(traces) if t.network}, script)


def _downstream(found: set[int], script: Script, but: Container[int] = ()) -> set[int]:
    """Add to some commands those whose output is made of theirs, `but` for some."""
    # What feeds a command stands before it, but for what is written into `>(…)`: hence the second round.
    for _ in range(2):
        for index, command in enumerate(script.commands):
            if index not in but and not found.isdisjoint(find_sources(command)):
                found.add(index)
    return found


def find_sources(command: Command) -> Iterator[int]:
    """Give the commands whose output a command is fed, or told in its words."""
    yield from command.fed_by
    for word in command.words:
        yield from word.feeds
    for redirect in command.redirects:
        yield from redirect.target.feeds

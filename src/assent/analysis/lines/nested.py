"""What a command runs: its words, its lines and what it is fed, read in turn."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

import assent.lazy_regex as re
from assent.analysis.evaluate.script import parse
from assent.analysis.ir import Around, Command, Script, Word
from assent.analysis.languages.shell_dialects import bash_alone
from assent.analysis.lines.dataflow import FlowTrace, summarize
from assent.analysis.lines.findings import Findings
from assent.analysis.operations import secret_read
from assent.analysis.programs.embedded_code import CODE, CodeJudgement, judge_environment, judge_word
from assent.analysis.programs.match import Match
from assent.analysis.programs.wrappers import (
    DEEPEST,
    Inner,
    assignment_of,
    fed_text,
    is_fed,
    is_given_data,
    is_given_input,
    is_stream,
    openings,
    printed_text,
    read_by_bash,
)
from assent.analysis.resources.paths import Place
from assent.catalog import Clause, Role
from assent.model import DANGEROUS, UNKNOWN, Tier

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_SAME = frozenset({"eval", "trap"})
_MOVING = frozenset({"cd", "pushd", "popd"})
_ASSIGNED = re.compile(r"(?<!\w)([A-Za-z_]\w*+)\+?=", re.ASCII)
_SETTING = re.compile(
    r"\b(?:declare|typeset|local|export|readonly|read|mapfile|readarray|printf|for|select|let|unset|getopts)\b|\(\("
)
"""What sets variables otherwise."""
"""What runs a line in the shell that it stands in: it has that one's arguments, and its last word and folder."""
_READING = re.compile(r"\b(?:read|xargs|mapfile|readarray|parallel)\b|[$<]\(|`")
"""What takes names of files from what it is fed."""
_STANDARD = re.compile(r"-|/dev/stdin|(?:/dev|/proc/(?:self|thread-self|\d+))/fd/0")
"""Names of what a program is fed."""
_EVALUATING = re.compile(r"(?<![.\w$])(?:eval|exec|system|popen|Function|qx)\b|\bos\.system\b|subprocess|child_process")
"""How code says that it runs what it reads, in the languages that are not read."""
_runs_input = operator.attrgetter("runs_input")
_SHAPING = frozenset({"IFS", "HOME", "PWD", "OLDPWD", "CDPATH", "GLOBIGNORE"})
"""Variables that change what a line means without being named in it."""


class Frame(msgspec.Struct, frozen=True):
    """The script a command stands in, and the layers around it."""

    script: Script
    through: tuple[str, ...] = ()
    depth: int = 0
    bash: bool = True
    """Bash reads it; other shells mean something else by some of what bash knows."""
    elsewhere: bool = False
    """It runs on another machine or in another root."""
    around: frozenset[str] = frozenset()
    """Variables that are set around it."""
    line: str = ""
    """What the script was read from."""


class Reader(Protocol):
    """Who reads a call: what it found so far, and how it reads a command or a script that is found inside."""

    place: Place
    findings: Findings
    room: int
    """Characters of lines inside the line that may still be read."""

    def read_command(self, command: Command, frame: Frame) -> FlowTrace:
        """Read one command."""

    def read_script(self, frame: Frame) -> list[FlowTrace]:
        """Read every command of a frame's script."""

    def assign(self, variable: str, value: Word, tier: Tier) -> int | None:
        """Add the setting of a variable."""


class Known(msgspec.Struct, frozen=True):
    """A command of the catalog, as it was understood."""

    match: Match
    clauses: Sequence[Clause]
    roles: Sequence[tuple[Role, Word]]
    judged: Sequence[CodeJudgement]
    """What its own languages say."""


def read_inside(reader: Reader, known: Known, command: Command, frame: Frame, trace: FlowTrace) -> None:
    """Read what a command runs: by its words, or from its standard input."""
    match, roles = known.match, known.roles
    entry = match.entry
    _variables(reader, roles)
    trace.code = tuple(f for r, w in roles if r in CODE for f in w.feeds)
    reads_lines = entry.runs == "parallel" and not match.operands
    named = any(r == "exec" and _STANDARD.fullmatch(w.text) for r, w in roles)
    evaluates = any(r == "code" and _EVALUATING.search(w.text) for r, w in roles)
    trace.stdin = reads_lines or named or evaluates or any(map(_runs_input, known.judged))
    if reads_lines or any(r == "exec" and is_stream(w) for r, w in roles):
        reader.findings.blur("contains a script that Assent does not analyse")
    inners = [*openings(match, roles, command, frame.script)]
    layer = "git alias" if match.name.startswith("git") else match.name
    inners += [Inner(layer, line=j.line) for j in known.judged if j.line]
    inners += _named(match, roles, frame.script)
    stdin = next((c.stdin for c in reversed(known.clauses) if c.stdin is not None), entry.stdin)
    if stdin:
        inners += _fed(reader, stdin, match, command, frame, trace)
    read_inners(reader, inners, command, frame, trace)


def _named(match: Match, roles: Sequence[tuple[Role, Word]], script: Script) -> list[Inner]:
    """Return the lines of a script whose name stands for what another command prints, where a shell runs it."""
    entry = match.entry
    if entry.stdin != "shell" and all(clause.stdin != "shell" for clause in entry.when):
        return []
    texts = [printed_text(word, script) for role, word in roles if role == "exec"]
    return [Inner(match.name, line=text, bash=read_by_bash(match)) for text in texts if text is not None]


def _variables(reader: Reader, roles: Sequence[tuple[Role, Word]]) -> None:
    """Add the variables that arguments set for what the command runs."""
    for name, value in [assignment_of(w) for r, w in roles if r == "variable"]:
        given = value if value.text else Word(UNKNOWN)
        reader.assign(name, given, judge_environment(name, given).tier)


def _fed(reader: Reader, stdin: str, match: Match, command: Command, frame: Frame, trace: FlowTrace) -> list[Inner]:
    """Read what comes from standard input, where the command runs it."""
    text = fed_text(command, frame.script)
    if stdin == "sql" and trace.index is not None:
        trace.stdin = True
        said = judge_word("sql", text or Word(UNKNOWN), match.name)
        reader.findings.worsen(trace.index, said.tier, said.reason, said.impact, said.rollback)
        reader.findings.extend([secret_read(s, trace.index, "reads a secret") for s in said.secrets])
        return []
    if stdin == "data":
        if trace.index is not None and is_given_data(command, frame.script):
            reader.findings.worsen(trace.index, DANGEROUS, f"{match.name} sends its input")
        return []
    trace.stdin = True
    if stdin == "code" and trace.index is not None and is_given_input(command):
        reader.findings.worsen(trace.index, DANGEROUS, f"{match.name} may run its input")
    if stdin == "shell" and text is None and is_fed(command):
        reader.findings.blur("a shell runs the output of another command")
    trace.code += tuple(f for r in command.redirects if r.direction in ("here", "read") for f in r.target.feeds)
    return [Inner(match.name, line=text, bash=read_by_bash(match))] if stdin == "shell" and text is not None else []


def read_inners(reader: Reader, inners: Iterable[Inner], command: Command, frame: Frame, trace: FlowTrace) -> None:
    """Read what a command runs, and let its pipes reach what is inside."""
    for inner in inners:
        if frame.depth >= DEEPEST:
            reader.findings.blur("commands are nested too deeply")
            return
        if inner.fault:
            reader.findings.blur(inner.fault)
        cwd = None if inner.elsewhere or inner.later else command.cwd
        others = () if inner.elsewhere else (*command.elsewhere, UNKNOWN) if inner.moved else command.elsewhere
        if inner.later:
            others = (*dict.fromkeys((*others, *([command.cwd] if command.cwd else []))), UNKNOWN)
        deeper = Frame(
            frame.script,
            (*frame.through, *command.through, inner.layer),
            frame.depth + 1,
            frame.bash if inner.bash is None or inner.command is not None else inner.bash,
            frame.elsewhere or inner.elsewhere,
            frame.around | _set_around(command, frame.script),
        )
        if inner.command is not None:
            found = reader.read_command(msgspec.structs.replace(inner.command, cwd=cwd, elsewhere=others), deeper)
            trace.code += found.code
        else:
            trace.code += inner.line.feeds
            if is_given_input(command) and _READING.search(inner.line.text):
                reader.findings.blur("a nested script reads stdin")
            found = _line(reader, inner, cwd, others, deeper)
        trace.stdin |= found.stdin
        trace.reveals |= found.reveals
        trace.output = trace.output or found.output


def _handed(arguments: tuple[Word, ...] | None) -> tuple[Word, ...] | None:
    """Give arguments as another shell sees them: it knows nothing of the commands that printed them."""
    if arguments is None:
        return None
    return tuple(
        word if word.known else Word(word.text, splits=word.splits, hints=word.hints, mixed=True) for word in arguments
    )


def _set_around(command: Command, script: Script) -> frozenset[str]:
    """Return the variables that are set for a command, or by the line that it stands in."""
    found = {name for name, _ in command.assignments} | {*script.bound}
    for each in script.commands:
        name = each.words[0].text if each.words else ""
        if not name:
            found.update(name for name, _ in each.assignments)
        elif name in _DECLARING:
            found.update(word.text.partition("=")[0].rstrip("+") for word in each.words[1:])
        elif name in _SAME and each.words != command.words:
            found.update(name for word in each.words[1:] for name in _left_behind(word.text))
        elif name in _MOVING:
            found |= {"OLDPWD", "DIRSTACK"}
    return frozenset(found)


def _left_behind(line: str) -> list[str]:
    """Give the variables that a line may set for those that the same shell runs after it."""
    return _IDENTIFIER.findall(line) if _SETTING.search(line) else _ASSIGNED.findall(line)


def _line(reader: Reader, inner: Inner, cwd: str | None, others: tuple[str, ...], frame: Frame) -> FlowTrace:
    """Read a line inside the line, and tell whether a command of it runs what it is fed, or prints without end."""
    text = inner.line.text
    if not frame.around.isdisjoint(_SHAPING) or not frame.around.isdisjoint(_IDENTIFIER.findall(text)):
        reader.findings.blur("a nested script uses variables set outside of it")
    if not frame.bash and (found := bash_alone(text)):
        reader.findings.blur(f"`{found}` means something else in shells other than bash")
    if UNKNOWN in text:
        reader.findings.blur("a nested script is known only at run time")
        # The rest is still read, for the rules that deny; what is not known stays a variable.
        text = text.replace(UNKNOWN, "${_}")
    reader.room -= len(text)
    if reader.room < 0:
        reader.findings.blur("the nested scripts are too long to analyse")
        return FlowTrace()
    around = Around(_handed(inner.arguments), frame.script.writes, inner.layer in _SAME)
    script = parse(text, cwd=cwd, elsewhere=others, home=reader.place.facts.home, around=around)
    traces = reader.read_script(msgspec.structs.replace(frame, script=script, line=text))
    return summarize(script, traces)

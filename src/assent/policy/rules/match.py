"""Whether a rule is about an operation: yes, maybe or no.

An allow rule counts on yes only. A deny denies on yes and asks on maybe. An ask asks on either. `broad` is True for
deny and ask rules, which must find what is meant, and False for allow rules, which must prove that they cover it.
"""

from __future__ import annotations

import fnmatch
from typing import Literal, TypeAlias, assert_never

import msgspec

import assent.lazy_regex as re
from assent.analysis.resources.globs import Glob, compile_glob
from assent.analysis.tools.names import find_tool
from assent.budget import step
from assent.model import (
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    MAYBE,
    NET_CONNECT,
    NO,
    SAFE,
    YES,
    Certainty,
    Operation,
    OperationKind,
    Rule,
    RuleError,
)
from assent.policy.call_view import View
from assent.policy.rules.argument_patterns import ArgumentPattern, compile_argument
from assent.policy.rules.path_patterns import path_match
from assent.policy.rules.patterns import CommandPattern, HostPattern, compile_command, compile_host

_HOME = re.compile(r"(?:(?<=\s)|^)(?:~|\$HOME|\$\{HOME\})(?=/|\s|:?\*|$)")

Family: TypeAlias = Literal["command", "write", "edit", "read", "host", "name"]

_FAMILIES: dict[str, Family] = {
    "Bash": "command",
    "Write": "write",
    "Edit": "edit",
    "Delete": "edit",
    "Read": "read",
}
_LOOKERS = ("Glob", "Grep", "LS")
"""Tools that only look: with a pattern, a rule is about the paths that this very tool reads."""

_LONG = 1_024
"""Characters that take as long to look through as any few."""
_MOST_INNER = 64
_STARTING = re.compile(r"system|exec|eval|[.](?:shell|system)|[\d,$]*e")
"""What starts a command in a language of another program."""
_SEPARATORS = re.compile(r"[;|&(){}=!:'\"`\n]")
"""Words of a command of which nothing is known that are looked at, each as the beginning of another command."""


class Matcher(msgspec.Struct, frozen=True):
    """A rule made ready for matching."""

    rule: Rule
    tool: str
    """The canonical name, or a pattern over names."""
    family: Family
    command: CommandPattern | None = None
    glob: Glob | None = None
    host: HostPattern | None = None
    argument: ArgumentPattern | None = None
    exceptions: tuple[Matcher, ...] = ()

    def match(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        """Answer for one operation. To allow, a rule must spell every option that redirects what runs."""
        step(1 + len(operation.resource) // _LONG)
        answer = self._answer(operation, view, broad=broad)
        if answer is YES and not broad and self.command is not None and _is_redirected(operation):
            answer = YES if self.command.spells(operation.argv, operation.redirects) else NO
        if answer is NO and broad and not self._is_about_a_tool() and view.is_unreadable(operation):
            answer = MAYBE
        if answer is not NO and any(e.match(operation, view, broad=False) is YES for e in self.exceptions):
            return NO
        return answer

    def _answer(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        match self.family:
            case "command":
                return self._command(operation, view, broad=broad)
            case "write" | "edit":
                if self.family == "edit" and not self._is_edit(operation, view, broad=broad):
                    return NO
                return self._path(operation, view, FS_WRITE, broad=broad)
            case "read":
                if self.tool in _LOOKERS and view.reading.tool != self.tool:
                    return NO
                return self._path(operation, view, FS_READ, broad=broad)
            case "host":
                return self._host(operation, view, broad=broad)
            case "name":
                return self._name(operation, view, broad=broad)
            case _:
                assert_never(self.family)

    def _is_about_a_tool(self) -> bool:
        """Tell whether the rule is about tools by their names, and so not about what a line may do."""
        return self.family == "name" or (self.family == "edit" and self.glob is None)

    def _is_edit(self, operation: Operation, view: View, *, broad: bool) -> bool:
        """Tell whether such a rule looks at a write: with a path to deny at any, else at those of its own tool."""
        by_tool = view.reading.tool == self.tool and operation.owner is None
        return by_tool or (broad and self.glob is not None)

    def _command(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        if self.command is None:
            return YES if view.reading.tool == self.tool and self._is_bare(operation, view, broad=broad) else NO
        if not view.is_command(operation) or not operation.argv:
            return NO
        fold, argv = view.facts.case_insensitive, operation.argv
        answer = self.command.match(argv, broad=broad, fold=fold)
        if answer is not YES and self.rule.pattern and _HOME.search(self.rule.pattern):
            home = f"'{view.facts.home or '~'}'"
            at_home = compile_command(_HOME.sub(lambda _: home, self.rule.pattern))
            answer = max(answer, at_home.match(argv, broad=broad, fold=fold))
        if broad and operation.plain:
            answer = max(answer, self.command.match(operation.plain, broad=True, fold=fold))
        if answer is NO and broad and operation.opaque:
            lines = lines_within(argv)
            if len(argv) + len(lines) > _MOST_INNER:
                return MAYBE  # nobody looks for a command behind each of so many words
            step((len(argv) + len(lines)) // 4)
            inner = (*(argv[start:] for start in range(1, len(argv))), *lines)
            return MAYBE if any(self.command.match(words, broad=True, fold=fold) is not NO for words in inner) else NO
        return answer

    def _is_bare(self, operation: Operation, view: View, *, broad: bool) -> bool:
        """Tell whether the tool's bare name speaks for an operation: not, as an allow, for what cannot be read."""
        if broad:
            return operation.owner is None or operation.own_cover
        return view.is_command(operation) and bool(operation.argv or view.reading.unreadable is None)

    def _path(self, operation: Operation, view: View, kind: OperationKind, *, broad: bool) -> Certainty:
        if broad and operation.mentions and self.glob is not None:
            said = (path_match(self.glob, o, view, broad=True) for o in view.mentions(operation, kind))
            return MAYBE if any(answer is not NO for answer in said) else NO
        executes = broad and kind is FS_READ and operation.kind is FS_EXEC
        if operation.kind is not kind and not executes:
            return NO
        if self.glob is None:
            return YES
        if operation.known and not operation.resource.startswith("/"):
            return NO
        return path_match(self.glob, operation, view, broad=broad)

    def names(self, operation: Operation, view: View) -> bool:
        """Tell whether a path that a command mentions, doing with it nobody knows what, is surely one of the rule's."""
        kind = FS_READ if self.family == "read" else FS_WRITE
        glob, mentioned = self.glob, view.mentions(operation, kind)
        return glob is not None and any(path_match(glob, o, view, broad=True) is YES for o in mentioned)

    def _host(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        named = operation.hosts if broad else ()
        if self.host is None or not (named or operation.kind is NET_CONNECT):
            return NO
        if named:
            return MAYBE if any(self.host.match(host) is not NO for host in named) else NO
        if not broad and view.reading.tool != self.tool:
            return NO
        return self.host.match(operation.resource)

    def _name(self, operation: Operation, view: View, *, broad: bool) -> Certainty:
        if not self._is_named(view, broad=broad):
            return NO
        if self.argument is None:
            return YES
        return self.argument.match(operation, view, broad=broad)

    def _is_named(self, view: View, *, broad: bool) -> bool:
        names = (view.reading.tool, *_server_names(view.call.tool, broad=broad))
        if "*" in self.tool:
            return any(fnmatch.fnmatchcase(n, self.tool) for n in names) or (
                broad and any(fnmatch.fnmatchcase(n.lower(), self.tool.lower()) for n in names)
            )
        if broad:
            return any(n.lower() == self.tool.lower() for n in names)
        return self.tool in names


def _is_redirected(operation: Operation) -> bool:
    """Tell whether options lead a command to other code; one that only looks is safe there too."""
    return bool(operation.redirects) and operation.tier is not SAFE


def lines_within(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Give the commands that may stand inside words: what begins a word, or follows what ends a command."""
    pieces = ((word, piece.split()) for word in argv[1:] for piece in _SEPARATORS.split(word))
    lines = [tuple(words) for word, words in pieces if words and words != [word]]
    return lines + [line[1:] for line in lines if len(line) > 1 and _STARTING.fullmatch(line[0])]


def _server_names(tool: str, *, broad: bool) -> tuple[str, ...]:
    """Return what a tool of an MCP server is called: some agents write `mcp_server_tool`.

    Where the server's name ends is then anybody's guess: to allow, only a name that can be read in one way counts.
    """
    if not tool.startswith("mcp_") or tool.startswith("mcp__"):
        return (tool,)
    parts = tool.removeprefix("mcp_").split("_")
    splits = range(1, min(len(parts), 8)) if broad or len(parts) == 2 else ()
    return (tool, *(f"mcp__{'_'.join(parts[:i])}__{'_'.join(parts[i:])}" for i in splits))


def compile_rule(rule: Rule, *, single: bool = False) -> Matcher:
    """Make a rule ready; raises `RuleError` if its pattern can never be one.

    `single`: a path that is spelled out is that one file, where a deny would mean a folder with all that is in it.
    """
    tool = find_tool(rule.tool).name
    family = "read" if tool in _LOOKERS and rule.pattern is not None else _FAMILIES.get(tool, "name")
    command, glob, host, argument = None, None, None, None
    if rule.pattern is not None:
        if not rule.pattern.strip():
            raise RuleError(f'Invalid permission rule "{rule.text}": pattern inside parentheses is empty')
        if family == "command":
            command = compile_command(rule.pattern)
        elif family in ("write", "edit", "read"):
            glob = compile_glob(rule.pattern)
            glob = msgspec.structs.replace(glob, form="single") if single and glob.form == "exact" else glob
        elif rule.pattern.startswith("domain:"):
            family, host = "host", compile_host(rule.pattern.removeprefix("domain:"))
        else:
            argument = compile_argument(rule.pattern)
    exceptions = tuple(compile_rule(Rule(tool=rule.tool, pattern=e)) for e in rule.exceptions)
    return Matcher(rule, tool, family, command, glob, host, argument, exceptions)

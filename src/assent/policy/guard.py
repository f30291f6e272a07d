"""A guard: everything that holds for one tool in one session or run, shown as a chain of named policies.

Guards are values: changing one gives a new one, so that a decision under way sees one state of it.
"""

from __future__ import annotations

import functools
import posixpath
import re
import shlex
from typing import Literal, TypeAlias

import msgspec

from assent.analysis.read import COMMAND_FIELDS
from assent.analysis.resources.globs import escape_glob
from assent.analysis.resources.paths import Place
from assent.analysis.tools.input_fields import FOLDER_FIELDS
from assent.analysis.tools.names import find_tool
from assent.model import (
    ALLOW,
    COMMAND_EXECUTE,
    DENY,
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    NO,
    TOOL_CALL,
    YES,
    Certainty,
    Operation,
    Reading,
    Rule,
    Source,
    ToolCall,
    Verdict,
    within,
)
from assent.model.canonical_json import canonical
from assent.policy.call_view import View
from assent.policy.layers import Merged, NamedPolicy, PathDefault
from assent.policy.rules.index import RuleSet
from assent.policy.rules.match import Matcher, compile_rule

Dimension: TypeAlias = Literal["read", "write", "execute"]

_KINDS: dict[str, Dimension] = {
    FS_READ: "read",
    FS_WRITE: "write",
    FS_EXEC: "execute",
    COMMAND_EXECUTE: "execute",
}
_READ_TOOLS = ("read", "search")
_MOST_PLACES = 64
_LONGEST_NAME = 200
"""How much of a line the name of what was said about it has."""


class SessionDecision(msgspec.Struct, frozen=True):
    """What a person said about one resource for the rest of the session."""

    verdict: Literal["allow", "deny"]
    dimension: Dimension
    resource: str
    target: str | None = None
    """Where the resource led when it was decided about; of a line or a whole call, the folder it was to run in."""
    is_glob: bool = False
    tool: str = ""
    """The tool, if the resource is a whole call of it rather than a line or a file."""
    file: str | None = None
    """What a line runs, if it does nothing else: the decision is about that file, however a line names it."""

    def covers(self, operation: Operation, view: View) -> bool:
        """Tell whether an operation is surely about that resource."""
        if self.dimension == "execute":
            if self._is_file(view):
                return True
            if self.target not in (None, _folder(view.call)) or self._texts(view) != [self.resource]:
                return False
            # What other fields of the call ask for is no part of the line that was decided about.
            return bool(self.tool) or operation.kind is not TOOL_CALL
        if _KINDS.get(operation.kind) != self.dimension:
            return False
        if self.is_glob:
            return self._match(self.resource, operation, view, broad=False) is YES
        return operation.resource == self.resource and operation.target == self.target

    def touches(self, operation: Operation, view: View) -> Certainty:
        """Tell whether an operation is, or may be, about that resource, by any name."""
        if self.dimension == "execute":
            return YES if self._is_file(view) or self.resource in self._texts(view) else NO
        names = [self.resource] if self.is_glob else [escape_glob(n) for n in (self.resource, self.target) if n]
        return max(self._match(n, operation, view, broad=True) for n in names)

    def _is_file(self, view: View) -> bool:
        return self.file is not None and self.file == only_file(view.call, view.reading)

    def _texts(self, view: View) -> list[str]:
        """Return what a call is as one text, if it is of the kind that was decided about."""
        if self.tool:
            return [_whole(view.call)] if view.reading.tool == self.tool else []
        return command_texts(view.call) if view.reading.tool == "Bash" else []

    def _match(self, pattern: str, operation: Operation, view: View, *, broad: bool) -> Certainty:
        tool = "Read" if self.dimension == "read" else "Write"
        return compile_rule(Rule(tool=tool, pattern=pattern), single=True).match(operation, view, broad=broad)

    def name(self, cwd: str | None) -> str:
        """Return the name this decision has in the chain."""
        shown = (f"{self.tool} {self.resource}" if self.tool else self.resource)[:_LONGEST_NAME]
        if cwd and self.dimension != "execute" and within(shown, cwd) and shown != cwd:
            shown = shown[len(cwd.rstrip("/")) + 1 :]
        return f"session-{self.verdict}-{self.dimension}-" + re.sub(r"[^A-Za-z0-9]", "-", shown)


class Patch(msgspec.Struct, frozen=True):
    """What a person added to a path policy while the session runs: one for reads, one for writes."""

    dimension: Literal["read", "write"]
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default: Verdict | None = None

    def plus(self, more: Patch) -> Patch:
        """Add to the lists; the default is replaced if there is another."""
        allow, deny = (tuple(dict.fromkeys(lists)) for lists in ((*self.allow, *more.allow), (*self.deny, *more.deny)))
        return Patch(self.dimension, allow, deny, self.default if more.default is None else more.default)


class Guard(msgspec.Struct, frozen=True, dict=True):
    """The policies of all layers, and what was said since."""

    merged: Merged
    tool: str | None = None
    """The tool it guards; None for all of a session's."""
    cwd: str | None = None
    run: bool = False
    patches: tuple[Patch, ...] = ()
    session: tuple[SessionDecision, ...] = ()
    added: tuple[NamedPolicy, ...] = ()
    """The patches, made ready."""

    def patch(
        self,
        dimension: Literal["read", "write"],
        *,
        allow: tuple[str, ...] = (),
        deny: tuple[str, ...] = (),
        default: Verdict | None = None,
    ) -> Guard:
        """Add globs to a dimension's lists; replace its default if one is given."""
        old = next((p for p in self.patches if p.dimension == dimension), Patch(dimension))
        new = old.plus(Patch(dimension, allow, deny, default))
        patches = (*(p for p in self.patches if p is not old), new)
        return msgspec.structs.replace(self, patches=patches, added=_ready(patches))

    def remember(self, decision: SessionDecision) -> Guard:
        """Keep a session decision; it replaces an earlier one on the same resource."""
        same = (decision.dimension, decision.tool, decision.resource)
        kept = tuple(d for d in self.session if (d.dimension, d.tool, d.resource) != same)
        return msgspec.structs.replace(self, session=(*kept, decision))

    def defaults(self, dimension: Literal["read", "write"]) -> tuple[PathDefault, ...]:
        """Return what holds for a path that no list names. The organisation's default is nobody's to replace."""
        written = self.merged.read_defaults if dimension == "read" else self.merged.write_defaults
        for patch in self.patches:
            if patch.dimension == dimension and patch.default is not None:
                return (PathDefault(patch.default), *(d for d in written if d.firm))
        return written

    @functools.cached_property
    def reads_freely(self) -> bool:
        """Tell whether a path that no list names may be read, wherever it lies, but in a run."""
        return not self.run and all(default.verdict is None for default in self.defaults("read"))

    @functools.cached_property
    def allowed_tools(self) -> frozenset[str]:
        """Return the tools that an allow rule without a pattern names, and that it names for good."""
        rules = [m for link in self.merged.chain if link.verdict is ALLOW for m in link.rules.matchers]
        return frozenset(m.tool for m in rules if m.rule.pattern is None and m.rule.expires is None)

    @functools.cached_property
    def links(self) -> tuple[NamedPolicy, ...]:
        """Return every named policy that holds rules."""
        return self.merged.chain + self.added + (_run_links() if self.run else ())

    def linked(self, place: Place) -> tuple[tuple[Matcher, ...], ...]:
        """Return the rules that a symbolic link is known to lead to: what they match depends on it."""
        known = self._linked_from.get(place)
        if known is None:
            if len(self._linked_from) >= _MOST_PLACES:
                self._linked_from.clear()
            known = tuple([found for link in self.links for found in link.rules.linked(place)])
            self._linked_from[place] = known
        return known

    @functools.cached_property
    def _linked_from(self) -> dict[Place, tuple[tuple[Matcher, ...], ...]]:
        # One look at the world has one place for each folder, and one time at which rules look for links.
        return {}

    @property
    def chain(self) -> tuple[str, ...]:
        """Return the names of the policies that have something to say to this tool, in their fixed order."""
        names = {link.name for link in self.links} | {"self-protection"}
        names |= {f"{d}-path-policy" for d in self._dimensions()}
        names |= {"classifier"} if self.merged.classifier else set()
        shown = [n for n in CHAIN_ORDER if n in names and self._concerns(n)]
        for decision in self.session:
            name, count = decision.name(self.cwd), 2
            while name in shown:
                name, count = f"{decision.name(self.cwd)}-{count}", count + 1
            shown.append(name)
        return tuple(shown)

    def _dimensions(self) -> set[str]:
        listed = {p.dimension for p in self.patches}
        reads = self.run or any(d.verdict is not None for d in self.merged.read_defaults)
        return {"write", *listed} | ({"read"} if reads else set())

    def _concerns(self, name: str) -> bool:
        shape = find_tool(self.tool).shape if self.tool else "command"
        if name.endswith("-commands"):
            return shape == "command"
        if name == "read-path-policy":
            return shape in (*_READ_TOOLS, "command")
        return name != "write-path-policy" or shape not in _READ_TOOLS


RUN_FORBIDDEN = (
    ".git/**",
    "**/.env*",
    "**/*.pem",
    "**/*.key",
    "**/id_rsa*",
    "**/secrets/**",
    "**/.npmrc",
    "**/.yarnrc",
    "**/*.crt",
)
"""What no tool of a run may touch, whatever is decided in it."""


@functools.cache
def _run_links() -> tuple[NamedPolicy, ...]:
    rules = RuleSet(
        Rule(tool=tool, pattern=pattern, reason=f"{glob} is forbidden in a run")
        for glob in RUN_FORBIDDEN
        for pattern in dict.fromkeys(
            (_anywhere(glob), _anywhere(glob.removesuffix("/**")))
        )  # the folder's own names too
        for tool in ("Read", "Write")
    )
    return (NamedPolicy("forbidden-globs", DENY, Source.PATH_POLICY, rules, by_name=True),)


def _anywhere(glob: str) -> str:
    """Return a pattern as one over the whole disk, if it is about a name at any depth."""
    return f"/{glob}" if glob.startswith("**/") else glob


CHAIN_ORDER = (
    "self-protection",
    "forbidden-globs",
    "deny-rules",
    "ask-rules",
    "allow-rules",
    "read-path-policy",
    "write-path-policy",
    "deny-commands",
    "approve-commands",
    "classifier",
)


@functools.lru_cache(maxsize=64)
def _ready(patches: tuple[Patch, ...]) -> tuple[NamedPolicy, ...]:
    """Make patches ready for matching; the guards of a run mostly have the same."""
    links = []
    for dimension, tool in (("read", "Read"), ("write", "Write")):
        for verdict in (DENY, ALLOW):
            globs = [g for p in patches if p.dimension == dimension for g in getattr(p, verdict.value)]
            rules = RuleSet(Rule(tool=tool, pattern=g) for g in dict.fromkeys(globs))
            if len(rules):
                links.append(NamedPolicy(f"{dimension}-path-policy", verdict, Source.SESSION, rules))
    return tuple(links)


def session_decision(call: ToolCall, reading: Reading, verdict: Literal["allow", "deny"]) -> SessionDecision | None:
    """Return what a session's answer to a call is about: its line, its one file, or exactly this call."""
    if reading.tool == "Bash":
        line = command_text(call)
        file = only_file(call, reading)
        return None if line is None else SessionDecision(verdict, "execute", line, _folder(call), file=file)
    only, *more = reading.operations
    if more or only.kind not in (FS_READ, FS_WRITE) or not only.known or not only.resource.startswith("/"):
        return SessionDecision(verdict, "execute", _whole(call), _folder(call), tool=reading.tool)
    return SessionDecision(verdict, _KINDS[only.kind], only.resource, only.target)


def only_file(call: ToolCall, reading: Reading) -> str | None:
    """Return the file that a line runs and does nothing else: no argument, no variable, nothing around it."""
    line, operations = command_text(call), reading.operations
    if reading.tool != "Bash" or len(operations) != 2 or operations[1].kind is not FS_EXEC or line is None:
        return None
    return operations[1].target or operations[1].resource if len(line.split()) == 1 else None


_OTHER_FIELDS = frozenset((*COMMAND_FIELDS, "args")) - {"command"}


def command_text(call: ToolCall) -> str | None:
    """Return the command of a shell call as one text; None if it has none, or several."""
    line = call.input.get("command")
    if isinstance(line, str) and _OTHER_FIELDS.isdisjoint(call.input):
        return line
    texts = command_texts(call)
    return texts[0] if len(texts) == 1 else None


def command_texts(call: ToolCall) -> list[str]:
    """Return every text that a shell call may run, with its arguments."""
    args = call.input.get("args")
    more = [*map(str, args)] if isinstance(args, list) else []
    found = []
    for field in COMMAND_FIELDS:
        value = call.input.get(field)
        if isinstance(value, str):
            found.append(" ".join((value, *map(shlex.quote, more))))
        elif isinstance(value, list):
            found.append(shlex.join(map(str, (*value, *more))))
    return found


def _folder(call: ToolCall) -> str:
    """Return the folder that a line is to run in; what `..` leads to is the disk's to say."""
    folder = posixpath.join(call.cwd or "", *(str(call.input[f]) for f in FOLDER_FIELDS if call.input.get(f)))
    return folder if ".." in folder else posixpath.normpath(folder)


def _whole(call: ToolCall) -> str:
    """Return all that a call gives its tool, as one text."""
    return canonical(call.input).decode()

"""What was written down beforehand: rules, path policies, and the policies that hold them."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from assent.model.canonical_json import digest
from assent.model.enums import Layer, Mode, Verdict
from assent.model.sandbox import ProfileSpec


class Origin(msgspec.Struct, frozen=True):
    """Where a rule was written."""

    layer: Layer = Layer.USER
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.layer} {place}".rstrip()


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`Tool` or `Tool(pattern)`, with what its author said about it."""

    tool: str
    pattern: str | None = None
    reason: str | None = None
    exceptions: tuple[str, ...] = msgspec.field(default=(), name="except")
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()
    destructive: bool = False
    every_time: bool = False
    expires: float | None = None
    origin: Origin = Origin()

    @property
    def text(self) -> str:
        """Return the rule as it is written."""
        return self.tool if self.pattern is None else f"{self.tool}({self.pattern})"

    @property
    def ref(self) -> str:
        """Return how a record names this rule."""
        return f"{self.text} @ {self.origin}"


class PathPolicy(msgspec.Struct, frozen=True):
    """Globs for one dimension, reads or writes: deny, then allow, then the default.

    No default means the built-in one: outside the workspace asks.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default: Verdict | None = None


class CommandEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a policy says about a command, in the words of the catalog."""

    names: tuple[str, ...]
    entry: dict[str, Any]
    """As it is written; the catalog knows what it means."""
    origin: Origin = Origin()


class Policy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One layer's word on what may happen. Layers merge; the strictest wins."""

    mode: Mode | None = None
    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    read: PathPolicy = PathPolicy()
    write: PathPolicy = PathPolicy()
    forbidden: tuple[str, ...] = ()
    deny_commands: tuple[str, ...] = ()
    approve_commands: tuple[str, ...] = ()
    classifier: bool | None = None
    """Whether tiers vote. None: on, but off for an embedded policy."""
    profile: str | None = None
    profiles: tuple[ProfileSpec, ...] = ()
    """Sandbox profiles this layer defines; only the user's and the organisation's count."""
    interactive: bool | None = None
    unknown_repository: Verdict | None = None
    commands: tuple[CommandEntry, ...] = ()
    """Entries beside the catalog's: instead of them from the user, where they are stricter from others."""
    layer: Layer = Layer.USER
    file: str = ""
    trusted: bool = False
    """A project's allow rules count only when its exact content was trusted."""
    embedded: bool = False
    """Handed to the Python package or read from `agentrail.yaml`: keeps the words of that format."""

    @functools.cached_property
    def version(self) -> str:
        """Identify the content."""
        return digest(["assent.policy.v1", self])[:16]

    @property
    def loosens(self) -> bool:
        """Tell whether its allow rules count: the user's and the organisation's do, a project's once trusted."""
        return self.layer >= Layer.USER or (self.layer is Layer.PROJECT and self.trusted)

"""The closed sets of words that every other module speaks. Ordered ones compare by strictness."""

from __future__ import annotations

import enum
from typing import Literal, Self, TypeAlias


class _Ranked(enum.StrEnum):
    """A word that compares by its place in the list, so that "strictest wins" is `max()`."""

    rank: int

    def __new__(cls, value: str) -> Self:
        """Give each word the rank of its position."""
        word = str.__new__(cls, value)
        word._value_ = value
        word.rank = len(cls.__members__)
        return word

    def __lt__(self, other: str) -> bool:
        return isinstance(other, _Ranked) and self.rank < other.rank

    def __gt__(self, other: str) -> bool:
        return isinstance(other, _Ranked) and self.rank > other.rank

    def __le__(self, other: str) -> bool:
        return isinstance(other, _Ranked) and self.rank <= other.rank

    def __ge__(self, other: str) -> bool:
        return isinstance(other, _Ranked) and self.rank >= other.rank


class Verdict(_Ranked):
    """What may happen to a call: `allow < ask < deny`."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Tier(_Ranked):
    """How bad an operation can be, whatever policy says about it."""

    SAFE = "safe"
    DANGEROUS = "dangerous"
    DESTRUCTIVE = "destructive"


class Certainty(_Ranked):
    """How sure a matcher is. An allow counts on yes only; a deny denies on yes and asks on maybe."""

    NO = "no"
    MAYBE = "maybe"
    YES = "yes"


class Layer(_Ranked):
    """Where a policy comes from, the most trusted last."""

    RUN = "run"
    PROJECT = "project"
    USER = "user"
    MANAGED = "managed"


class OperationKind(enum.StrEnum):
    """What an operation does. `tool.call` is a tool whose effects are not known."""

    FS_READ = "fs.read"
    FS_WRITE = "fs.write"
    FS_EXEC = "fs.exec"
    COMMAND_EXECUTE = "command.execute"
    NET_CONNECT = "net.connect"
    TOOL_CALL = "tool.call"


class Mode(enum.StrEnum):
    """What happens to the unmatched, to the allowed, and to open soft asks."""

    DEFAULT = "default"
    UNTRUSTED = "untrusted"
    ACCEPT_EDITS = "acceptEdits"
    AUTO = "auto"
    ON_FAILURE = "on_failure"
    PLAN = "plan"
    STRICT = "strict"
    DONT_ASK = "dontAsk"
    BYPASS = "bypassPermissions"


MODE_ALIASES: dict[str, Mode] = {"on_request": Mode.DEFAULT, "never": Mode.DONT_ASK, "bypass": Mode.BYPASS}


class Source(enum.StrEnum):
    """Who an opinion, and so a decision, comes from."""

    RULE = "rule"
    MODE = "mode"
    CLASSIFIER = "classifier"
    PROTECTION = "protection"
    PATH_POLICY = "path_policy"
    SESSION = "session"
    GRANT = "grant"
    TOOL_CHECK = "tool_check"
    HOOK = "hook"
    HOST_POLICY = "host_policy"
    PERSON = "person"
    EXPIRY = "expiry"
    SANDBOX = "sandbox"
    NOT_INTERACTIVE = "not_interactive"
    ERROR = "error"


class Scope(enum.StrEnum):
    """How far a person's answer reaches."""

    ONCE = "once"
    SESSION = "session"
    ALWAYS = "always"


# The same members as plain names: what decides thousands of calls a second looks them up by these.
ALLOW, ASK, DENY = Verdict
SAFE, DANGEROUS, DESTRUCTIVE = Tier
NO, MAYBE, YES = Certainty
FS_READ, FS_WRITE, FS_EXEC, COMMAND_EXECUTE, NET_CONNECT, TOOL_CALL = OperationKind

Effect: TypeAlias = Literal["allow", "ask", "deny"]
ProfileMode: TypeAlias = Literal["read-only", "workspace-write", "agent", "off"]

UNKNOWN = "\ufdd0"
"""Stands in a word for text that is only known when the command runs; no input may bring its own."""

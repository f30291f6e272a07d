"""The pattern that a wider answer to a call would name: its program and subcommand, its path, its host or its tool."""

from __future__ import annotations

import shlex
from typing import assert_never

import assent.lazy_regex as re
from assent.model import UNKNOWN, Operation, OperationKind, Reading, visible

_PLAIN = re.compile(r"[a-z][a-z0-9-]*")
_DEEPER = frozenset({"run", "compose", "exec", "remote", "stash", "config"})
"""Subcommands that say little without the next word."""
_WILD = re.compile(r"[*?\[\]{}\\]")


def propose(reading: Reading) -> str:
    """Return a rule for calls like this one, by its gravest operation; empty where none can name it.

    Whether the rule covers the call is for whoever proposes it to find out.
    """
    if reading.destructive or reading.unreadable is not None:
        return ""
    gravest = max(reading.operations, key=lambda o: (o.tier.rank, bool(o.argv)))
    rule = _rule_for(gravest, reading.tool)
    return rule if UNKNOWN not in rule and visible(rule) == rule else ""


def _rule_for(operation: Operation, tool: str) -> str:
    match operation.kind:
        case OperationKind.COMMAND_EXECUTE | OperationKind.FS_EXEC:
            return _command(operation.argv)
        case OperationKind.FS_READ:
            return _with("Read", operation.resource)
        case OperationKind.FS_WRITE:
            return _with("Write", operation.resource)
        case OperationKind.NET_CONNECT:
            return _with("WebFetch", f"domain:{operation.resource}")
        case OperationKind.TOOL_CALL:
            return tool
        case _:
            assert_never(operation.kind)


def _with(tool: str, pattern: str) -> str:
    return "" if _WILD.search(pattern) else f"{tool}({pattern})"


def _command(argv: tuple[str, ...]) -> str:
    """Return a rule for a program with its subcommand; where it has none, for exactly these words."""
    if not argv or any(_WILD.search(word) or word.endswith(":") for word in argv):
        return ""
    plain: list[str] = []
    for word in argv[1:]:
        if not _PLAIN.fullmatch(word):
            break
        plain.append(word)
        if word not in _DEEPER:
            break
    return f"Bash({shlex.join((argv[0], *plain))}:*)" if plain else f"Bash({shlex.join(argv)})"

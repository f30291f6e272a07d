"""Which secrets leave the machine: those that a command sends itself, and those that others print or write for it."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence

import msgspec

from assent.analysis.ir import Script
from assent.analysis.lines.dataflow import FlowTrace, find_sources
from assent.analysis.lines.findings import Findings
from assent.model import DANGEROUS, FS_READ, FS_WRITE, NET_CONNECT, SAFE, UNKNOWN, Operation

_ENVIRONMENT = frozenset({"env", "genv", "printenv", "export", "set", "declare", "typeset", "local", "readonly"})
_MOST_NAMED = 2
_NAMING = 3
"""Words that name a command: the program and what it is told to do with what."""
_network = operator.attrgetter("network")


def mark_sent(script: Script, traces: Sequence[FlowTrace], findings: Findings) -> None:
    """Say of every command that sends a secret to another machine what it sends, and where to."""
    if not any(map(_network, traces)):
        return
    edges = _edges(script, traces, findings)
    for at, trace in enumerate(traces):
        senders = list(_senders(trace, findings)) if trace.network else []
        if not senders:
            continue
        what = [*trace.sent, *_given(trace, findings)]
        what += [name for source in _upstream(at, edges) for name in _held(traces[source], findings)]
        for index, host in senders if what else ():
            findings.operations[index] = _send(findings.operations[index], _join(what), host)


def _senders(trace: FlowTrace, findings: Findings) -> Iterator[tuple[int, str]]:
    """Give the commands that send something, and where to; whoever only asks for something sends nothing."""
    for operation in _operations(trace, findings):
        owner = operation.owner
        if operation.kind is NET_CONNECT and owner is not None and findings.operations[owner].tier is not SAFE:
            yield owner, operation.resource if operation.known else "another host"


def _send(sender: Operation, what: str, host: str) -> Operation:
    """Return a command as one that sends a secret; what cannot be undone stays its first reason."""
    if sender.tier is not DANGEROUS or sender.sends:
        return sender if sender.sends else msgspec.structs.replace(sender, sends=what)
    program = sender.argv[0].rpartition("/")[2]
    return msgspec.structs.replace(sender, sends=what, reason=f"{program} sends {what} to {host}")


def _edges(script: Script, traces: Sequence[FlowTrace], findings: Findings) -> list[set[int]]:
    """Give for each command those whose output it is fed or told, or whose files it reads."""
    edges: list[set[int]] = []
    written: dict[str, set[int]] = {}
    for at, (command, trace) in enumerate(zip(script.commands, traces, strict=True)):
        found = set(find_sources(command))
        for operation in _operations(trace, findings):
            if operation.kind is FS_READ:
                found |= written.get(operation.resource, set())
        for operation in _operations(trace, findings):
            if operation.kind is FS_WRITE:
                written.setdefault(operation.resource, set()).add(at)
        edges.append(found)
    return edges


def _upstream(at: int, edges: Sequence[set[int]]) -> list[int]:
    """Return every command whose output or files may reach one."""
    found: set[int] = set()
    left = sorted(edges[at])
    while left:
        source = left.pop()
        if source not in found:
            found.add(source)
            left += edges[source]
    return sorted(found - {at})


def _operations(trace: FlowTrace, findings: Findings) -> Sequence[Operation]:
    return findings.operations[slice(*trace.span)]


def _held(trace: FlowTrace, findings: Findings) -> Iterator[str]:
    """Name the secrets in what a command prints or writes."""
    if trace.reveals and trace.index is not None:
        yield _printed(findings.operations[trace.index])
    for operation in _operations(trace, findings):
        if operation.secret and operation.kind is not FS_WRITE:
            yield operation.resource if operation.kind is FS_READ else _printed(operation)


def _given(trace: FlowTrace, findings: Findings) -> Iterator[str]:
    """Name the secrets that a command itself is given: variables among its words, and files that it is fed."""
    for operation in _operations(trace, findings):
        fed = operation.kind is FS_READ and operation.own_cover
        if operation.secret and (fed or operation.resource.startswith("$")):
            yield operation.resource


def _printed(operation: Operation) -> str:
    if operation.argv[0].rpartition("/")[2] in _ENVIRONMENT:
        return "your environment"
    return f"what `{' '.join(operation.argv[:_NAMING])}` prints"


def _join(names: Sequence[str]) -> str:
    """Name the first few of what is sent."""
    named = list(dict.fromkeys(name.replace(UNKNOWN, "…") for name in names))
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return " and ".join(named[:_MOST_NAMED]) if not more else ", ".join(named[:_MOST_NAMED]) + more

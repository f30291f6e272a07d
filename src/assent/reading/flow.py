"""What flows between the commands of a script: code that comes from the network and is run unseen."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assent.model import Tier
from assent.reading.findings import Findings
from assent.shell.tree import Script


class Trace(msgspec.Struct):
    """What a command was found to be, for the pipes around it."""

    index: int | None = None
    """Its operation."""
    network: bool = False
    """Its output comes from the network."""
    code: tuple[int, ...] = ()
    """The commands whose output it runs."""
    stdin: bool = False
    """It runs what comes from standard input."""


def mark_flows(script: Script, traces: Sequence[Trace], findings: Findings) -> None:
    """Make every command destructive that runs what another fetches from the network."""
    for command, trace in zip(script.commands, traces, strict=True):
        sources = (*trace.code, *(command.fed_by if trace.stdin else ()))
        seen: set[int] = set()
        if trace.index is not None and any(_from_network(s, script, traces, seen) for s in sources):
            findings.worsen(
                trace.index,
                Tier.DESTRUCTIVE,
                "runs code straight from the network",
                "whatever the other machine sends is run with your rights, unseen",
                "none: download it to a file, read it, then run the file",
            )


def _from_network(index: int, script: Script, traces: Sequence[Trace], seen: set[int]) -> bool:
    """Tell whether a command's output comes from the network, directly or through what it is fed."""
    if index in seen:
        return False
    seen.add(index)
    command = script.commands[index]
    words = (*command.words, *(r.target for r in command.redirects))
    sources = (*command.fed_by, *(f for w in words for f in w.feeds))
    return traces[index].network or any(_from_network(s, script, traces, seen) for s in sources)

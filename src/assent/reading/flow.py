"""What flows between the commands of a script: code that comes from the network and is run unseen."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import msgspec

import assent.regex as re
from assent.model import Tier
from assent.reading.findings import Findings
from assent.reading.touching import secret_variable
from assent.shell.tree import Command, Script

_SHOWING = frozenset({"env", "printenv", "set", "export", "declare", "typeset"})
_SECRETS = re.compile(r"(?i)key|secret|token|passw|cred|auth|aws")

_network = operator.attrgetter("network")


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
    if not any(map(_network, traces)):
        return
    tainted = _tainted(script, traces)
    for command, trace in zip(script.commands, traces, strict=True):
        sources = (*trace.code, *(command.fed_by if trace.stdin else ()))
        if trace.index is not None and not tainted.isdisjoint(sources):
            findings.worsen(
                trace.index,
                Tier.DESTRUCTIVE,
                "runs code straight from the network",
                "whatever the other machine sends is run with your rights, unseen",
                "none: download it to a file, read it, then run the file",
            )


def mark_variables(script: Script, findings: Findings) -> None:
    """Add the read of secrets wherever the environment is searched for them by name."""
    for command in script.commands:
        shown = any(_shows_environment(script.commands[feed]) for feed in command.fed_by if feed < len(script.commands))
        found = next((w.text for w in command.words[1:] if _SECRETS.search(w.text)), None) if shown else None
        if found is not None:
            findings.add(secret_variable(found, None))


def _shows_environment(command: Command) -> bool:
    return bool(command.words) and command.words[0].text in _SHOWING


def _tainted(script: Script, traces: Sequence[Trace]) -> set[int]:
    """Return the commands whose output comes from the network, directly or through what they are fed."""
    found = {i for i, t in enumerate(traces) if t.network}
    # What feeds a command stands before it, but for what is written into `>(…)`: hence the second round.
    for _ in range(2):
        for index, command in enumerate(script.commands):
            words = (*command.words, *(r.target for r in command.redirects))
            if not (found.isdisjoint(command.fed_by) and all(found.isdisjoint(w.feeds) for w in words)):
                found.add(index)
    return found

"""Records of `/api/runs`; the messages of the run socket are in `assent.runs.protocol.messages`."""

from __future__ import annotations

import msgspec

from assent.runs.protocol.messages import GuardChain, RunSummary


class Runs(msgspec.Struct, frozen=True):
    """The runs that you may see, the newest first."""

    runs: tuple[RunSummary, ...]


class GuardedRun(msgspec.Struct, frozen=True):
    """A run, and the chain of named policies that guards each of its tools, as it is now."""

    run: RunSummary
    guards: tuple[GuardChain, ...]
    """Empty for a run that has been over for long: guards live in memory, and end with their run."""

"""What all runs of a daemon stand on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

import msgspec

from assent.agents.specs import Pointing
from assent.audit.log import Log
from assent.decisions.service import Decisions
from assent.model import Facts, Workspace
from assent.policy.engine import Engine
from assent.runs.engines import PolicyAdditions
from assent.store.cursor import Cursor
from assent.store.store import Store

if TYPE_CHECKING:
    from assent.runs.run import Run


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the daemon that runs use, and what is done for them outside of here."""

    decisions: Decisions
    store: Store
    log: Log
    engines: Callable[[PolicyAdditions], Engine]
    """Finds the engine for a setting, by the files as they are now; raises `ConfigError` where they cannot be read."""
    facts: Callable[[], Facts]
    """Looks at the world."""
    threads: Executor
    """Where files are read and written."""
    environ: dict[str, str]
    report: Callable[[str, Exception], None]
    """Told of faults of ours."""
    lend_token: Callable[[Run], contextlib.AbstractAsyncContextManager[str]]
    """Lends a process a token that may only ask, for as long as it runs."""
    end_tokens: Callable[[Cursor, str], None]
    """Ends what was lent to a run, in a job of the store."""
    point_hooks: Callable[[str | None], Pointing] = lambda _: Pointing()
    """Makes an agent's settings visible to a process, and says how it is pointed at them; blocks."""
    find_workspace: Callable[[str], Workspace | None] = lambda _: None
    """Finds the workspace that a project or a person makes of a folder; blocks."""
    clock: Callable[[], float] = time.time

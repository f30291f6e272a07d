"""Facts about sandboxes for a decision: whether one can be set up here, and which hosts it would reach."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from assent.model import Facts, Mode, Policy
from assent.platform.paths import user_home
from assent.sandbox import trial_run
from assent.sandbox.linux.mechanisms import find_machine
from assent.sandbox.network.package_indexes import package_hosts, remote_hosts

FRESH = 10.0
"""For how many seconds facts about the machine and the configured hosts are cached."""


class Ability(NamedTuple):
    """Which sandboxes can be set up."""

    any: bool = False
    writing: bool = False
    """Whether one that can write in the workspace can."""


class SandboxCapabilities:
    """Add facts about the sandbox of one workspace, refreshed every few seconds.

    `tried`: set up a real sandbox before reporting that one can be. Only the first caller waits for that.
    """

    def __init__(
        self,
        workspace: Iterable[str],
        environ: Mapping[str, str] = os.environ,
        *,
        tried: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workspace = tuple(workspace)
        self._environ = environ
        self._tried = tried
        self._clock = clock
        self._until = -1.0
        self._can: Ability | None = None
        self._thread: threading.Thread | None = None
        self._shown: tuple[Ability | None, tuple[str, ...]] = (None, ())
        self._last: tuple[Facts, Facts] | None = None

    def __call__(self, facts: Facts) -> Facts:
        """Return the facts with those of the sandbox added; the same record while nothing changes."""
        if self._clock() >= self._until:
            self._look()
        can, hosts = self._shown
        if can is not self._can:  # a trial in the background has ended
            self._show(hosts)
        if self._last is None or self._last[0] is not facts:
            self._last = (facts, self._add(facts))
        return self._last[1]

    def _add(self, facts: Facts) -> Facts:
        can, hosts = self._shown
        can = can or Ability()
        return msgspec.structs.replace(facts, sandbox=can.any, sandbox_writes=can.writing, sandbox_hosts=hosts)

    def _look(self) -> None:
        if not self._tried or self._can is None:
            self._try()
        elif not (self._can.writing and trial_run.is_trusted(self._workspace, self._environ)):
            self._try_aside()
        self._show(find_hosts(self._workspace, self._environ))
        self._until = self._clock() + FRESH

    def _show(self, hosts: tuple[str, ...]) -> None:
        if (self._can, hosts) != self._shown:
            self._last = None
        self._shown = (self._can, hosts)

    def _try(self) -> None:
        can = not find_machine().missing
        self._can = find_ability(self._workspace, self._environ) if can and self._tried else Ability(can, can)

    def _try_aside(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._try, name="assent-trial", daemon=True)
            self._thread.start()


def find_ability(workspace: Iterable[str], environ: Mapping[str, str] = os.environ) -> Ability:
    """Find out which sandboxes can be set up, by setting them up."""
    if trial_run.find_fault(workspace, environ) is None:
        return Ability(any=True, writing=True)
    return Ability(any=trial_run.find_fault((), environ) is None)


def may_contain(policies: Iterable[Policy]) -> bool:
    """Tell whether policies may run a command in a sandbox."""
    return any(p.profile or p.mode in (Mode.AUTO, Mode.ON_FAILURE) for p in policies)


def find_hosts(workspace: Iterable[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the hosts that installing and fetching need: the configured indexes and the repository's remotes."""
    remotes = (host for root in workspace for host in remote_hosts(root))
    return tuple(dict.fromkeys((*package_hosts(environ, user_home(environ)), *remotes)))

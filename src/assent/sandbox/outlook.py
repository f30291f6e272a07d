"""What a decision may know about sandboxes: whether one can be set up here, and what it would reach."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from assent.config.places import user_home
from assent.model import Facts
from assent.sandbox.indexes import package_hosts, remote_hosts
from assent.sandbox.mechanisms import find_machine

FRESH = 10.0
"""For how many seconds the machine and the configured hosts are taken as read."""


class Outlook:
    """Adds to facts what is known of the sandbox in one workspace, looked up now and then."""

    def __init__(
        self,
        workspace: Iterable[str],
        environ: Mapping[str, str] = os.environ,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workspace = tuple(workspace)
        self._environ = environ
        self._clock = clock
        self._until = -1.0
        self._can = False
        self._hosts: tuple[str, ...] = ()
        self._last: tuple[Facts, Facts] | None = None

    def __call__(self, facts: Facts) -> Facts:
        """Return the facts with what the sandbox can do; the same for the same, while nothing changed."""
        if self._clock() >= self._until:
            self._look()
        if self._last is None or self._last[0] is not facts:
            self._last = (facts, msgspec.structs.replace(facts, sandbox=self._can, sandbox_hosts=self._hosts))
        return self._last[1]

    def _look(self) -> None:
        can, hosts = not find_machine().missing, find_hosts(self._workspace, self._environ)
        if (can, hosts) != (self._can, self._hosts):
            self._can, self._hosts, self._last = can, hosts, None
        self._until = self._clock() + FRESH


def find_hosts(workspace: Iterable[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what installing and fetching needs to reach: the configured indexes, the repository's remotes."""
    remotes = (host for root in workspace for host in remote_hosts(root))
    return tuple(dict.fromkeys((*package_hosts(environ, user_home(environ)), *remotes)))

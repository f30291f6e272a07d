"""The engine for a call: built from the policy layers of its project, and rebuilt when a file changes.

For a remote agent, or a call without a working directory, only the user's and the organisation's rules apply, and
the daemon's own disk is not consulted.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

import msgspec

from assent.catalog import load
from assent.config.layers import Layers, LivePolicies
from assent.decisions.engine_cache import MOST_ENGINES, EngineCache
from assent.model import AssentError, ConfigError, Facts, ToolCall, Workspace
from assent.platform.cpu_clock import processor_time
from assent.platform.facts import Observer
from assent.platform.paths import MANAGED_FILE, find_places, real_folder
from assent.policy.engine import Engine
from assent.runs.engines import PolicyAdditions, make_run_engine
from assent.sandbox.capabilities import SandboxCapabilities, may_contain
from assent.sandbox.linux.mechanisms import find_machine
from assent.server.rule_file_cache import RuleFiles

if TYPE_CHECKING:
    from assent.model import Session
    from assent.server.operator_log import Journal

MOST_FOLDERS = 4096
FRESH = 0.5
"""For how many seconds a folder's rules are taken as read."""
_NOWHERE = ""
_FIRST = ("ls -la *.py | head -3", "for x in $(cat a | sort); do rm -r ~/$x/*.txt; done; curl -s https://a.example > b")
"""Lines that nobody asked about, and that have most of what reads lines made ready."""


class ProjectPolicy(msgspec.Struct, frozen=True):
    """The policy layers of a project, and the engines built from them."""

    found: Layers
    engine: Engine
    """With the daemon's disk in view."""
    blind: Engine
    """For calls from a disk that is not the daemon's."""
    fault: str | None = None
    seen: bool = True
    """Whether the folder is there, on the daemon's disk."""
    run_engines: dict[PolicyAdditions, Engine] = msgspec.field(default_factory=dict)
    """Those of runs, which hear the layers of their strategies too."""


class Projects:
    """Finds the policy of a folder, and so the engine for a call."""

    def __init__(
        self,
        journal: Journal,
        *,
        endpoints: tuple[str, ...] = (),
        own_files: tuple[str, ...] = (),
        environ: Mapping[str, str] = os.environ,
        managed_file: str = MANAGED_FILE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal = journal
        self._environ = environ
        self._clock = clock
        self._lock = threading.Lock()
        self._files = RuleFiles()
        self.seen = _Eyes(environ, endpoints, own_files)
        """The world as the daemon sees it."""
        self._blind = _Blindness(endpoints)
        self._engines = EngineCache(
            self._make,
            load=functools.partial(LivePolicies, environ=environ, managed_file=managed_file, parse=self._files.parse),
            locate=functools.partial(find_places, environ=environ, managed_file=managed_file),
            follow=self._tell,
        )
        self._folders: dict[str, tuple[float, ProjectPolicy]] = {}
        find_machine()  # takes a while, once
        load()  # and so does this: nobody is to wait for it
        self.policy_of()  # errors in the files are logged before anything is decided
        for line in _FIRST:
            Engine().decide(ToolCall(tool="Bash", input={"command": line}))

    def __call__(self, call: ToolCall, session: Session) -> Engine:
        """Return the engine for a call; one that denies everything if the call's rules cannot be read."""
        try:
            return self._find(call, session)
        except AssentError as error:
            return _refusing(error)

    def _find(self, call: ToolCall, session: Session) -> Engine:
        if session.remote or call.cwd is None:
            return self.policy_of(_NOWHERE if session.remote or not session.workspace else session.workspace[0]).blind
        # Where the user fixed the workspace, its project's rules hold, wherever in it the agent goes.
        return self.policy_of(session.workspace[0] if session.workspace else call.cwd).engine

    def policy_of(self, folder: str = _NOWHERE, *, at_once: bool = False) -> ProjectPolicy:
        """Return the policy of this folder by its files as they are now; no folder means no project.

        The result may be half a second old; `at_once` checks the files in any case.
        """
        known = self._folders.get(folder)
        now = self._clock()
        if known is not None and known[0] > now and not at_once:
            return known[1]
        project = self._engines.find(folder)
        if real_folder(folder) is None:
            project = msgspec.structs.replace(project, seen=False)
        if len(self._folders) >= MOST_FOLDERS:
            self._folders.clear()
        self._folders[folder] = (now + FRESH, project)
        return project

    def run_engine(self, setting: PolicyAdditions) -> Engine:
        """Return the engine that decides in a run, by the files as they are now, or raise `ConfigError`."""
        project = self.policy_of(setting.cwd)
        with self._lock:
            engine = project.run_engines.pop(setting, None)
            if engine is None:
                engine = make_run_engine(project.found.policies, setting, self.seen, self._environ)
            project.run_engines[setting] = engine
            if len(project.run_engines) > MOST_ENGINES:
                del project.run_engines[next(iter(project.run_engines))]
            return engine

    def _make(self, found: Layers, fault: str | None) -> ProjectPolicy:
        outlook = SandboxCapabilities(found.workspace.roots, self._environ, tried=may_contain(found.policies))
        engine = Engine(found.policies, facts=lambda: outlook(self.seen()))
        return ProjectPolicy(found, engine, Engine(found.policies, facts=self._blind), fault)

    def _tell(self, live: LivePolicies, before: str | None, made: ProjectPolicy | None) -> None:
        if made is None:
            return
        if live.fault is not None and live.fault != before:
            self._journal.note("error", "policy.broken", fault=live.fault, in_force="the rules before the last change")
        elif live.fault is None:
            self._journal.note("info", "policy.loaded", version=made.engine.merged.version)

    def close(self) -> None:
        """Read nothing more."""
        self._files.close()

    def look(self, folder: str) -> Workspace | None:
        """Return the workspace of a folder's project; None if there is no such folder on the daemon's disk.

        Where its rules are broken it has no workspace, and its calls are denied.
        """
        try:
            project = self.policy_of(folder)
        except ConfigError:
            return Workspace()
        return project.found.workspace if project.seen else None


def _refusing(error: AssentError) -> Engine:
    def fail() -> NoReturn:
        raise error

    return Engine(facts=fail)


class _Eyes:
    """The world as the daemon sees it, with the addresses and files of its settings."""

    def __init__(self, environ: Mapping[str, str], endpoints: tuple[str, ...], own_files: tuple[str, ...]) -> None:
        self._observer = Observer(environ)
        self._endpoints = endpoints
        self._own_files = own_files
        self._last: tuple[Facts, Facts] | None = None

    def __call__(self) -> Facts:
        seen = self._observer()
        if self._last is None or self._last[0] is not seen:
            addresses = tuple(dict.fromkeys((*seen.assent_endpoints, *self._endpoints)))
            known = msgspec.structs.replace(
                seen,
                assent_endpoints=addresses,
                assent_files=tuple(dict.fromkeys((*seen.assent_files, *self._own_files))),
            )
            self._last = (seen, known)
        return self._last[1]


class _Blindness:
    """The world of an agent elsewhere: a clock, and nothing else that is known."""

    def __init__(self, endpoints: tuple[str, ...]) -> None:
        self._endpoints = endpoints

    def __call__(self) -> Facts:
        return Facts(now=time.time(), assent_endpoints=self._endpoints, clock=processor_time)

"""`async with Sandbox(profile) as box: process = await box.start(argv)`: run commands inside a boundary."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self, TypeAlias

import msgspec

from assent.model import ConfigError, Mechanism, SandboxProfile, Violation, digest, printable
from assent.platform.files import make_private_folder
from assent.platform.paths import assent_home, user_home
from assent.sandbox import left_programs, trial_run
from assent.sandbox.environment.variables import pass_on, proxy_variables
from assent.sandbox.errors import CommandNotStarted, PathReplaced, Unavailable
from assent.sandbox.launch.start import LaunchOrder, begin, launch, launch_without_namespaces, resolve_environment
from assent.sandbox.launch.supervisor import Supervisor
from assent.sandbox.launch.waiting_sandbox import WaitingSandbox
from assent.sandbox.launch.without_namespaces import BareBoundary, find_outer, lock_alone, lock_inside
from assent.sandbox.left_programs import Before, Programs, find_programs
from assent.sandbox.linux.cgroups import ControlGroup
from assent.sandbox.linux.mechanisms import Machine, find_locks, find_machine
from assent.sandbox.mounts import plan
from assent.sandbox.mounts.check import check_mounts, expect
from assent.sandbox.network.package_indexes import npm_registry, package_hosts, pip_variables
from assent.sandbox.network.proxy import NetworkProxy
from assent.sandbox.persistent import package_caches
from assent.sandbox.persistent.agent_state import AgentState, Binds, show_assent_home
from assent.sandbox.process import Process
from assent.sandbox.profiles.boundary import Boundary, make_boundary
from assent.sandbox.streams import NOTHING, PIPE, CommandStreams, check_given, wait_readable
from assent.sandbox.upkeep.mounts import Upkeep
from assent.sandbox.upkeep.placeholders import Placeholders

PROXY_PORT = 3128
_SETUP_SECONDS = 30
_MOST_VIOLATIONS = 1000
_MOST_TRIES = 5

Applied: TypeAlias = Callable[[SandboxProfile], Awaitable[None] | None]
Ask: TypeAlias = Callable[[Violation], Awaitable[bool]]
Hear: TypeAlias = Callable[[Violation], None]


class _Attempt:
    """One command on its way into the sandbox, and what to undo if it does not start."""

    def __init__(self, boundary: Boundary, machine: Machine, group: ControlGroup, streams: CommandStreams) -> None:
        self.boundary = boundary
        self.machine = machine
        self.group = group
        self.streams = streams
        self.guards = contextlib.ExitStack()
        """What ends with the command."""
        self.started: WaitingSandbox | None = None

    def undo(self) -> None:
        """End and close everything."""
        self.streams.close()
        if self.started is not None:
            self.started.abandon()
        self.guards.close()


class Sandbox:
    """A boundary that is set up for each command started in it.

    `on_applied` gets the boundary in force, before the command's first instruction; if it raises, nothing runs.
    `on_violation` gets every attempt that was stopped. `ask` is called for a file or host outside, if the profile says
    `ask`. Commands end with the process that started them. `state` is the state of a contained agent. `environ` says
    where Assent's home and its user's files are. `passed`, if given, has the variables that a command may get: it may
    come from anybody, and decides nothing else.
    """

    def __init__(  # noqa: PLR0913 - each by its name
        self,
        profile: SandboxProfile,
        *,
        environ: Mapping[str, str] = os.environ,
        passed: Mapping[str, str] | None = None,
        machine: Machine | None = None,
        supervised: bool = True,
        on_applied: Applied | None = None,
        on_violation: Callable[[Violation], None] | None = None,
        ask: Ask | None = None,
        state: AgentState | None = None,
    ) -> None:
        self._requested = profile
        self._environ = dict(environ)
        self._passed = dict(environ if passed is None else passed)
        self._machine = machine
        self._supervised = supervised
        self._on_applied = on_applied
        self._on_violation = on_violation
        self._ask = ask if profile.ask else None
        self._stack = contextlib.AsyncExitStack()
        self._processes: set[Process] = set()
        self._groups: list[ControlGroup] = []
        self._boundary: Boundary | None = None
        self._bare: BareBoundary | None = None
        self._placeholders: Placeholders | None = None
        self._state = state
        self._binds: Binds = ()
        self._shown: Binds = ()
        self._home = ""

    async def __aenter__(self) -> Self:
        if self._requested.mode == "off":
            raise Unavailable("the profile `off` is no boundary")
        outer = find_outer()
        machine = self._machine = self._machine or (find_machine() if outer is None else find_locks())
        try:
            if outer is not None:
                self._bare = lock_inside(self._requested, outer, machine, self._environ)
            elif machine.bubblewrap is None and not self._requested.write_roots:
                self._bare = lock_alone(self._requested, machine, self._environ)
            else:
                machine.demand()
                self._prepare()
        except ConfigError as error:
            self._forget()
            raise Unavailable(str(error)) from None
        except Unavailable:
            self._forget()
            raise
        return self

    def _forget(self) -> None:
        trial_run.forget(self._requested.write_roots, self._environ)

    def _prepare(self) -> None:
        home = assent_home(self._environ)
        make_private_folder(home)
        hidden = tuple(dict.fromkeys((*self._requested.masked, home)))
        boundary = make_boundary(msgspec.structs.replace(self._requested, masked=hidden), self._environ)
        user = boundary.user
        if boundary.profile.mode == "agent" and user.dropped:
            # That user's processes can read the memory of those inside, and so the tokens of this user.
            raise Unavailable("a whole agent cannot run in another user's workspace: let that user start it")
        owner = (user.uid, user.gid) if user.dropped else None
        places = os.path.join(home, "sandbox", "places")
        self._placeholders = Placeholders(places, boundary.profile.protected, owner, boundary.files)
        self._stack.callback(self._placeholders.release)
        if boundary.profile.write_roots:
            self._binds = ((package_caches.open_cache(home, boundary.profile.write_roots, user), plan.CACHE),)
        if boundary.profile.mode == "agent":
            self._home = home
            self._shown = show_assent_home(home)
            if self._state is not None:
                self._binds = (*self._binds, *self._state.written)
                self._shown = (*self._shown, *self._state.shown)
        self._boundary = boundary

    async def __aexit__(self, *_: object) -> None:
        for process in list(self._processes):
            await process.close()
        for group in self._groups:
            await group.removed()
        await self._stack.aclose()

    async def start(
        self,
        argv: Sequence[str],
        *,
        stdin: int = NOTHING,
        stdout: int = PIPE,
        stderr: int = PIPE,
        terminal: int = -1,
        environment: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a command, or raise `Unavailable` or `CommandNotStarted`.

        The streams are descriptors, `PIPE` or `NOTHING`; `terminal` is the index of the stream that is its terminal.
        """
        bare = self._bare
        boundary = self._boundary if bare is None else bare.boundary
        if boundary is None or self._machine is None:
            raise Unavailable("the sandbox is not open")
        if not argv or not argv[0]:
            raise CommandNotStarted("there is no command", code=127)
        check_given({s for s in (stdin, stdout, stderr) if s >= 0}, boundary.held)
        group = ControlGroup(boundary.profile.process_limits)
        self._groups = [*(known for known in self._groups if known.is_there), group]
        attempt = _Attempt(boundary, self._machine, group, CommandStreams(stdin, stdout, stderr))
        attempt.guards.callback(group.remove)
        try:
            return await self._start(attempt, argv, environment or {}, terminal)
        except BaseException as error:
            attempt.undo()
            if isinstance(error, Unavailable):
                self._forget()
            raise

    async def _start(
        self, attempt: _Attempt, argv: Sequence[str], environment: Mapping[str, str], terminal: int
    ) -> Process:
        boundary, machine, group, guards = attempt.boundary, attempt.machine, attempt.group, attempt.guards
        if self._bare is None:  # bubblewrap loads while its mounts are planned
            attempt.started = begin(boundary, argv, machine, attempt.streams.inner, self._kept(group))
        order = self._order(boundary, machine, argv, group, environment, terminal)
        upkeep = Upkeep(order.mounts, [place for _, place in (*order.binds, *order.shown)])
        guards.callback(upkeep.close)
        started = attempt.started = await self._set_up(attempt, order)
        attempt.streams.close_inner()
        started.tie()
        group.shut(entered=started.grouped)
        process = await self._run(attempt, started, order)
        if self._placeholders is not None and "mounts" in started.fds:
            self._start_upkeep(upkeep, started.take("mounts"), self._placeholders, process, guards)
        started.close()
        return process

    async def _set_up(self, attempt: _Attempt, order: LaunchOrder) -> WaitingSandbox:
        """Set up everything but the command; retry if a path that must be hidden disappears or moves meanwhile."""
        boundary, machine, streams = attempt.boundary, attempt.machine, attempt.streams.inner
        begun = attempt.started
        for _ in range(_MOST_TRIES):
            if self._bare is None:
                begun = begun or begin(boundary, order.argv, machine, streams, order.kept)
                started, begun = launch(begun, boundary, order, machine), None
            else:
                started = launch_without_namespaces(self._bare, order, streams)
            try:
                planned = expect(order.mounts, (*order.binds, *order.shown))
                await _wait_for_report(started)
                check_mounts(started.fds["table"], planned)
                await _wait_for_report(started)  # second report: the locks are on
            except PathReplaced:
                started.abandon()
            except BaseException as error:
                started.abandon()
                there = plan.still_there(order.mounts)
                if not isinstance(error, Unavailable) or there == order.mounts:
                    raise
                order = msgspec.structs.replace(order, mounts=there)
            else:
                return started
        raise Unavailable("a hidden or protected path comes and goes too quickly")

    def _order(
        self,
        boundary: Boundary,
        machine: Machine,
        argv: Sequence[str],
        group: ControlGroup,
        environment: Mapping[str, str],
        terminal: int,
    ) -> LaunchOrder:
        reach = boundary.profile.network.mode == "hosts"
        return LaunchOrder(
            argv=tuple(argv),
            environment=self._environment(boundary, environment, reach=reach),
            port=PROXY_PORT if reach else 0,
            supervised=self._supervised and machine.notify and self._bare is None,
            terminal=terminal,
            binds=self._binds,
            shown=self._shown,
            mounts=() if self._placeholders is None else plan.plan_mounts(boundary, self._placeholders.made),
            kept=self._kept(group),
            cgroup_entry=group.entry,
        )

    def _kept(self, group: ControlGroup) -> tuple[int, ...]:
        held = () if self._placeholders is None else (self._placeholders.descriptor,)
        return (*held, *group.entries)

    async def _run(self, attempt: _Attempt, started: WaitingSandbox, order: LaunchOrder) -> Process:
        """Report the boundary, start what serves and watches the command, and let the command begin."""
        boundary, guards = attempt.boundary, attempt.guards
        mechanisms = attempt.machine.mechanisms() if self._bare is None else self._bare.mechanisms(attempt.machine)
        profile = self._in_force(boundary, order, (*mechanisms, attempt.group.mechanism))
        if self._on_applied is not None:
            told = self._on_applied(profile)
            if inspect.isawaitable(told):
                await told
        violations: list[Violation] = []
        hear = self._hear(violations)
        if "proxy" in started.fds:
            await self._serve_proxy(profile, started.take("proxy"), hear, guards)
        began = left_programs.now()
        started.go()
        supervisor = None
        if "supervisor" in started.fds:  # the command does not begin until the supervisor answers
            supervisor = self._supervise(boundary, started.take("supervisor"), hear, guards)
        await wait_readable(started.fds["begin"])
        started.read_begin(order.argv)
        process = Process(
            started.process,
            started.take("pid"),
            started.take("lifeline"),
            profile,
            on_end=guards.close,
            violations=lambda: tuple(violations),
            programs=lambda: _look_for_programs(boundary, supervisor, began),
        )
        limits = boundary.profile.process_limits
        taken = attempt.streams.take(limits.output_bytes, lambda: process.kill("output"))
        process.stdin, process.stdout, process.stderr = taken
        process.end_after(limits.wall_seconds)
        self._processes.add(process)
        return process

    async def _serve_proxy(
        self, profile: SandboxProfile, listener: int, hear: Hear, guards: contextlib.ExitStack
    ) -> None:
        indexes = functools.partial(package_hosts, self._environ, user_home(self._environ))
        proxy = NetworkProxy(profile.network.hosts, hear, self._ask, indexes=indexes)
        guards.callback(proxy.stop)
        await proxy.serve(listener)

    def _supervise(self, boundary: Boundary, listener: int, hear: Hear, guards: contextlib.ExitStack) -> Supervisor:
        placeholders = () if self._placeholders is None else self._placeholders.made
        supervisor = Supervisor(listener, boundary, hear, self._ask, placeholders)
        guards.callback(supervisor.stop)
        supervisor.start()
        return supervisor

    def _start_upkeep(
        self, upkeep: Upkeep, namespace: int, places: Placeholders, process: Process, guards: contextlib.ExitStack
    ) -> None:
        """Keep the boundary in force until the command ends."""
        self._stack.callback(os.close, namespace)  # closed at the end: unmounting everything takes time
        task = asyncio.get_running_loop().create_task(upkeep.watch(namespace, places.add, process.lose))
        guards.callback(task.cancel)

    def _hear(self, violations: list[Violation]) -> Hear:
        seen: set[tuple[str, str]] = set()

        def hear(violation: Violation) -> None:
            key = (violation.operation, violation.resource)
            if key not in seen and len(seen) < _MOST_VIOLATIONS:
                seen.add(key)
                violations.append(violation)
                if self._on_violation is not None:
                    self._on_violation(violation)

        return hear

    def _environment(self, boundary: Boundary, more: Mapping[str, str], *, reach: bool) -> dict[str, str]:
        profile, user = boundary.profile, boundary.user
        found = self._configured(user.home) | pass_on(self._passed, profile.environment)
        found |= package_caches.cache_variables() if self._binds or os.path.isdir(plan.CACHE) else {}
        found |= proxy_variables(PROXY_PORT, profile.network.hosts) if reach else {}
        found |= {"ASSENT_HOME": self._home} if self._home else {}
        found |= dict(self._state.environment) if self._state is not None and self._home else {}
        found |= {"HOME": user.home, "ASSENT_SANDBOX": profile.name}
        if self._bare is None or self._bare.outer is not None:
            found["TMPDIR"] = "/tmp"  # noqa: S108 - private inside
        return resolve_environment(found, more)

    def _configured(self, home: str) -> dict[str, str]:
        """Return the package indexes of the user's settings, which may be hidden inside, unless variables name some."""
        registry = npm_registry(self._environ, home)
        found = pip_variables(self._environ, home) | ({"npm_config_registry": registry} if registry else {})
        given = {name.upper() for name in self._passed}
        return {name: value for name, value in found.items() if name.upper() not in given}

    def _in_force(self, boundary: Boundary, order: LaunchOrder, mechanisms: tuple[Mechanism, ...]) -> SandboxProfile:
        names = sorted(order.environment)
        return msgspec.structs.replace(
            boundary.profile,
            cwd=printable(boundary.profile.cwd or "/"),
            read_roots=tuple(map(printable, boundary.profile.read_roots)),
            masked=tuple(map(printable, boundary.profile.masked)),
            protected=tuple(map(printable, boundary.profile.protected)),
            mechanisms=mechanisms,
            environment=tuple(names),
            environment_ref="environment:" + digest(["assent.environment.v1", names])[:16],
        )


async def _wait_for_report(started: WaitingSandbox) -> None:
    try:
        async with asyncio.timeout(_SETUP_SECONDS):
            if not started.has_report:
                await wait_readable(started.control.fileno())
    except TimeoutError:
        raise Unavailable(f"the sandbox was not set up within {_SETUP_SECONDS} seconds") from None
    started.read_report()


async def _look_for_programs(boundary: Boundary, supervisor: Supervisor | None, began: int) -> Programs:
    """Find files that a command left and that may run later; none if no system call could have changed a file."""
    if supervisor is not None and not supervisor.saw_changes:
        return Programs()
    profile = boundary.profile
    apart = frozenset((*profile.protected, *profile.masked))
    return await find_programs(profile.write_roots, apart, Before(began, boundary.survey))

"""Start bubblewrap and the first program inside, up to the point where the command can begin.

Only these things of the launcher go inside: three streams, the plan, and one socket for reports.
"""

from __future__ import annotations

import contextlib
import fcntl
import marshal
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from assent.model import Limits, encode, printable, within
from assent.sandbox.errors import Unavailable
from assent.sandbox.launch.descriptors import close_all, memory_file
from assent.sandbox.launch.inner_python import INNER_PROGRAM, compile_inner_program, find_interpreter
from assent.sandbox.launch.waiting_sandbox import PendingInput, WaitingSandbox
from assent.sandbox.launch.without_namespaces import BareBoundary
from assent.sandbox.linux import landlock, seccomp_filter
from assent.sandbox.linux.mechanisms import Machine
from assent.sandbox.mounts import plan as mounts
from assent.sandbox.profiles.boundary import Boundary

_KEEPER = '"$0" "$@"; exit $?'
"""The parent of bubblewrap, which dies with its parent: if that happens during set-up, the child that bubblewrap forked
waits for ever. This shell outlives the launcher until `WaitingSandbox.tie` is called."""
_READ_ON = "import marshal,posix,sys; exec(marshal.loads(posix.read(int(sys.argv.pop()), 1 << 24)))"
"""Runs the first program, which comes compiled in a file in memory."""
_MARK = "assent-inside"
_MOST_ARGUMENT_BYTES = 1 << 21
_LIMITS = (
    ("processes", resource.RLIMIT_NPROC),
    ("memory_bytes", resource.RLIMIT_AS),
    ("file_bytes", resource.RLIMIT_FSIZE),
    ("cpu_seconds", resource.RLIMIT_CPU),
)


class LaunchOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to start in a sandbox, and how."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    port: int = 0
    """The port of the proxy inside; 0 is no proxy."""
    supervised: bool = False
    terminal: int = -1
    """The index of the stream that is the terminal; -1 is none."""
    binds: tuple[tuple[str, str], ...] = ()
    """Assent's folders that the command can write: source, and path inside."""
    shown: tuple[tuple[str, str], ...] = ()
    """Assent's folders that the command can read: source, and path inside."""
    mounts: tuple[mounts.Mount, ...] = ()
    """The mounts of the mount namespace, if there is one."""
    kept: tuple[int, ...] = ()
    """More descriptors to inherit: the lock that keeps placeholders in place, and the entry of the control group."""
    cgroup_entry: int = -1
    """The file that the first program writes to join its control group; -1 is none."""


def begin(
    boundary: Boundary, argv: Sequence[str], machine: Machine, streams: tuple[int, int, int], kept: Sequence[int]
) -> WaitingSandbox:
    """Start bubblewrap, which then waits for its arguments from `launch`, or raise `Unavailable`.

    So it loads while the mounts are planned. `kept` are descriptors that are inherited besides the streams.
    """
    if sum(len(os.fsencode(a)) + 1 for a in argv) > _MOST_ARGUMENT_BYTES:
        raise Unavailable("the command line is too long")
    wrap = machine.demand()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        heard, said = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, said)
        lifeline = os.pipe2(os.O_CLOEXEC)
        words, pending = os.pipe2(os.O_CLOEXEC)
        plan, shown = memory_file("plan"), memory_file("profile")
        passed = [theirs.fileno(), lifeline[0], plan, shown, *kept]
        _keep(stack, passed, words)
        code = _keep(stack, passed, memory_file("inner_program", compile_inner_program()))
        stderr = _keep(stack, passed, fcntl.fcntl(streams[2], fcntl.F_DUPFD_CLOEXEC, 10))
        first = [_interpreter(boundary)[0], "-I", "-S", "-c", _READ_ON]
        first += [str(theirs.fileno()), str(plan), str(stderr), _MARK, str(code)]
        try:
            process = _popen(
                ["/bin/sh", "-c", _KEEPER, wrap.path, "--args", str(words), *first], (*streams[:2], said), passed
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            ours.close()
            close_all((heard, *lifeline, pending, plan, shown))
            raise Unavailable(f"bubblewrap cannot be started: {error}") from None
    return WaitingSandbox(process, ours, heard, lifeline, PendingInput(pending, plan, shown))


def launch(started: WaitingSandbox, boundary: Boundary, order: LaunchOrder, machine: Machine) -> WaitingSandbox:
    """Set up everything but the command."""
    wrap = machine.demand()
    open_network = boundary.profile.network.mode == "full"
    words = mounts.namespace_words(wrap, network=open_network, dropped=boundary.user.dropped)
    words += mounts.mount_words(order.mounts, everything="/" in boundary.profile.read_roots)
    words += ["--perms", "0755", "--tmpfs", mounts.INNER]
    words += ["--perms", "0444", "--file", str(started.pending.profile), mounts.PROFILE]
    words += [word for source, place in order.binds for word in ("--bind", source, place)]
    words += [word for source, place in order.shown for word in ("--ro-bind", source, place)]
    words += _interpreter(boundary)[1]
    words += ["--remount-ro", mounts.INNER]  # read-only, so that no process inside can change the profile
    words += ["--chdir", boundary.profile.cwd or "/"]
    started.tell(marshal.dumps(_plan(boundary, order, machine)), encode(boundary.profile), words)
    return started


def _interpreter(boundary: Boundary) -> tuple[str, list[str]]:
    """Return the path of the interpreter inside, and the arguments of bubblewrap for it."""
    folder, program = find_interpreter()
    profile = boundary.profile
    apart = (*profile.masked, *profile.write_roots, *mounts.PRIVATE)
    if (
        "/" in profile.read_roots
        and "LD_LIBRARY_PATH" not in os.environ
        and not any(within(folder, path) or within(path, folder) for path in apart)
    ):
        return f"{folder}/{program}", []
    words = ["--ro-bind", folder, mounts.PYTHON, "--setenv", "LD_LIBRARY_PATH", f"{mounts.PYTHON}/lib"]
    return f"{mounts.PYTHON}/{program}", words


def launch_without_namespaces(bare: BareBoundary, order: LaunchOrder, streams: tuple[int, int, int]) -> WaitingSandbox:
    """Start everything but the command without namespaces, or raise `Unavailable`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        heard, said = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, said)
        lifeline = os.pipe2(os.O_CLOEXEC)
        passed = [theirs.fileno(), lifeline[0], *order.kept]
        plan = _keep(stack, passed, memory_file("plan", marshal.dumps(_bare_plan(bare, order, lifeline[0]))))
        stderr = _keep(stack, passed, fcntl.fcntl(streams[2], fcntl.F_DUPFD_CLOEXEC, 10))
        first = [sys.executable, "-I", "-S", INNER_PROGRAM, str(theirs.fileno()), str(plan), str(stderr)]
        try:
            process = _popen(first, (*streams[:2], said), passed, cwd=bare.boundary.profile.cwd or "/")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            ours.close()
            close_all((heard, *lifeline))
            raise Unavailable(f"the first program cannot be started: {error}") from None
    return WaitingSandbox(process, ours, heard, lifeline)


def _bare_plan(bare: BareBoundary, order: LaunchOrder, lifeline: int) -> dict[str, Any]:
    profile = bare.boundary.profile
    return {
        "lifeline": lifeline,
        "cgroup_entry": order.cgroup_entry,
        "argv": list(order.argv),
        "environment": order.environment,
        "user": None,
        "limits": _limits(profile.process_limits),
        "landlock": bare.locks.plan(),
        "filter": seccomp_filter.build_filter(
            seccomp_filter.machine(),
            unix_sockets=profile.unix_sockets,
            supervised=False,
            offline=bare.offline,
            changes_nothing=bare.changes_nothing,
            alone=bare.outer is None,
        ),
        "supervised": False,
        "port": 0,
        "terminal": order.terminal,
    }


def _popen(
    argv: list[str], streams: tuple[int, int, int], passed: list[int], cwd: str = "/"
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - bubblewrap, by its full path, or ourselves
        argv,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        env={},
        cwd=cwd,
        close_fds=True,
        pass_fds=passed,
        start_new_session=True,  # signals of the terminal to this process group must not end bubblewrap
        restore_signals=True,
    )


def _plan(boundary: Boundary, order: LaunchOrder, machine: Machine) -> dict[str, Any]:
    profile = boundary.profile
    writable = (*mounts.PRIVATE, "/dev", *(place for _, place in order.binds))
    return {
        "lifeline": -1,
        "cgroup_entry": order.cgroup_entry,
        "argv": list(order.argv),
        "environment": order.environment,
        "user": (boundary.user.uid, boundary.user.gid) if boundary.user.dropped else None,
        "limits": _limits(profile.process_limits),
        "landlock": landlock.locks_for(profile, writable, machine.landlock).plan(),
        "filter": seccomp_filter.build_filter(
            seccomp_filter.machine(), unix_sockets=profile.unix_sockets, supervised=order.supervised
        ),
        "supervised": order.supervised,
        "port": order.port,
        "terminal": order.terminal,
    }


def _limits(limits: Limits) -> list[tuple[int, int]]:
    return [(number, limit) for name, number in _LIMITS if (limit := getattr(limits, name)) is not None]


def _keep(stack: contextlib.ExitStack, passed: list[int], descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    passed.append(descriptor)
    return descriptor


def resolve_environment(environ: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Merge variables, without those that no process can have."""
    joined = dict(environ) | dict(more)
    return {n: v for n, v in joined.items() if n and "=" not in n and "\0" not in n + v and printable(n) == n}

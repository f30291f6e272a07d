"""Starting bubblewrap and the first program inside, up to the point where the command could begin.

Nothing of the launcher goes inside but what is named here: three streams, the plan, and one socket to report on.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import marshal
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from assent.model import Limits, encode, printable, within
from assent.sandbox.errors import CommandNotStarted, Unavailable
from assent.sandbox.launch.inner_python import STAGE2, compile_stage2, find_interpreter
from assent.sandbox.launch.without_namespaces import Bare
from assent.sandbox.linux import landlock, seccomp_filter
from assent.sandbox.linux.mechanisms import Machine
from assent.sandbox.mounts import plan as mounts
from assent.sandbox.profiles.boundary import Boundary

_KEEPER = '"$0" "$@"; exit $?'
"""Stands between us and bubblewrap, which dies with its parent: if that happens while it is still setting up, what it
forked waits for it for ever. The keeper does not die with us, until `Started.tie` says so."""
_READ_ON = "import marshal,posix,sys; exec(marshal.loads(posix.read(int(sys.argv.pop()), 1 << 24)))"
"""Becomes the first program, which comes as it is: compiled, in a nameless file."""
_MARK = "assent-inside"
_MOST_FDS = 8
_PIPE = 1 << 16
_LONGEST_REPORT = 1 << 16
_F_SETSIG = 10
_DYING_SECONDS = 10
_MOST_ARGUMENT_BYTES = 1 << 21
_LIMITS = (
    ("processes", resource.RLIMIT_NPROC),
    ("memory_bytes", resource.RLIMIT_AS),
    ("file_bytes", resource.RLIMIT_FSIZE),
    ("cpu_seconds", resource.RLIMIT_CPU),
)


class LaunchOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, and how."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    port: int = 0
    """Where the command finds the proxy; 0 is nowhere."""
    supervised: bool = False
    terminal: int = -1
    """Which of the three streams is its terminal."""
    binds: tuple[tuple[str, str], ...] = ()
    """Folders of ours and where they are written inside."""
    shown: tuple[tuple[str, str], ...] = ()
    """Folders of ours and where they are read inside."""
    mounts: tuple[mounts.Mount, ...] = ()
    """What is mounted in the namespaces, if there are any."""
    kept: tuple[int, ...] = ()
    """What goes inside besides: what keeps stand-ins there until the last of it is gone, and the door."""
    door: int = -1
    """Where the first program enters its control group; -1 is nowhere."""


class Untold(NamedTuple):
    """Where bubblewrap, and the first program, wait for what they are to do."""

    words: int = -1
    """A pipe: bubblewrap does nothing before its end is seen."""
    plan: int = -1
    profile: int = -1


_TOLD = Untold()


class Started:
    """A sandbox that stands, or will, its command not yet begun."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        control: socket.socket,
        complaints: int,
        leash: tuple[int, int],
        untold: Untold = _TOLD,
    ) -> None:
        self.process = process
        self.control = control
        self.complaints = complaints
        """What bubblewrap says, if it fails."""
        self.fds: dict[str, int] = {}
        self.grouped = False
        """Whether it is in its control group."""
        self.untold = untold
        self._leash = leash

    def tell(self, plan: bytes, profile: bytes, words: Sequence[str]) -> None:
        """Let bubblewrap go on. That it is gone already is seen by whoever waits for the report."""
        _fill(self.untold.plan, plan)
        _fill(self.untold.profile, profile)
        said = b"".join(os.fsencode(word) + b"\0" for word in words)
        with contextlib.suppress(PermissionError):  # at once, and so wholly or not at all, however this process ends
            fcntl.fcntl(self.untold.words, fcntl.F_SETPIPE_SZ, max(len(said), _PIPE))
        with contextlib.suppress(BrokenPipeError):
            _write(self.untold.words, said)
        _close(self.untold)
        self.untold = _TOLD

    @property
    def has_report(self) -> bool:
        """Tell whether a report is there already."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        return bool(waiting.poll(0))

    def read_report(self) -> None:
        """Take in what the first program reports, or raise `Unavailable`. Call it when `control` is readable.

        It reports once when the mounts stand, and once more when all locks are on.
        """
        rights = socket.CMSG_SPACE(_MOST_FDS * 4)
        try:
            data, ancillary, flags, _ = self.control.recvmsg(_LONGEST_REPORT, rights, socket.MSG_CMSG_CLOEXEC)
        except OSError:
            data, ancillary, flags = b"", [], 0
        fds = array.array("i")
        for _, _, raw in ancillary:
            fds.frombytes(raw[: len(raw) - len(raw) % fds.itemsize])
        report = _decode(data)
        if report is None or "error" in report or flags & socket.MSG_CTRUNC:
            _close(fds)
            raise Unavailable("the sandbox can not be set up: " + (report or {}).get("error", self._complaint()))
        self.fds |= zip(report["fds"], fds, strict=True)
        self.grouped = self.grouped or report["grouped"]

    def _complaint(self) -> str:
        with contextlib.suppress(OSError):
            os.set_blocking(self.complaints, False)
            said = os.read(self.complaints, 4096).decode(errors="replace").strip()
            return said.splitlines()[-1] if said else "bubblewrap ended without a word"
        return "bubblewrap ended without a word"

    def tie(self) -> None:
        """From now on, have the kernel end everything when this process ends, however that comes about.

        Our end of a pipe closes with us, and that sends the group at its other end a signal. Before now the first
        program inside would have noticed: it asks for the word to go on.
        """
        theirs, ours = self._leash
        fcntl.fcntl(theirs, fcntl.F_SETOWN, -self.process.pid)
        fcntl.fcntl(theirs, _F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_ASYNC)
        os.close(theirs)
        self._leash = (-1, -1)
        self.fds["leash"] = ours

    def go(self) -> None:
        """Let the command begin."""
        self.control.send(b"!")

    def read_begin(self, argv: Sequence[str]) -> None:
        """Find out whether the command began, or raise `CommandNotStarted`. Call it when `begin` is readable."""
        try:
            report = _decode(os.read(self.fds["begin"], _LONGEST_REPORT))
        except OSError:
            report = None
        if report is not None and "error" in report:
            raise CommandNotStarted(f"{argv[0]}: {report['error']}", code=report["code"])

    def abandon(self) -> None:
        """End it before the command begins, and wait until really nothing of it is left.

        What bubblewrap forked may still be mounting, and making the folders to mount on, after bubblewrap itself is
        gone: the other end of the socket closes when the last of them is.
        """
        end_group(self.process)
        self.process.wait()
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)
            self.control.settimeout(_DYING_SECONDS)
            while self.control.recv(_LONGEST_REPORT):
                pass
        self.close()

    def close(self) -> None:
        """Let go of everything but the process."""
        self.control.close()
        _close([self.complaints, *self._leash, *self.fds.values(), *self.untold])
        self.complaints, self.fds, self._leash, self.untold = -1, {}, (-1, -1), _TOLD

    def take(self, name: str) -> int:
        """Hand over a descriptor that came out; the caller closes it."""
        return self.fds.pop(name)


def begin(
    boundary: Boundary, argv: Sequence[str], machine: Machine, streams: tuple[int, int, int], kept: Sequence[int]
) -> Started:
    """Start bubblewrap, which waits for `launch` to say what to make, or raise `Unavailable`.

    So it is loaded while that is found out. `kept` are descriptors that go inside besides the streams.
    """
    if sum(len(os.fsencode(a)) + 1 for a in argv) > _MOST_ARGUMENT_BYTES:
        raise Unavailable("the command is longer than a command can be")
    wrap = machine.demand()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        heard, said = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, said)
        leash = os.pipe2(os.O_CLOEXEC)
        words, untold = os.pipe2(os.O_CLOEXEC)
        plan, shown = _file("plan"), _file("profile")
        passed = [theirs.fileno(), leash[0], plan, shown, *kept]
        _keep(stack, passed, words)
        code = _keep(stack, passed, _file("stage2", compile_stage2()))
        stderr = _keep(stack, passed, fcntl.fcntl(streams[2], fcntl.F_DUPFD_CLOEXEC, 10))
        first = [_interpreter(boundary)[0], "-I", "-S", "-c", _READ_ON]
        first += [str(theirs.fileno()), str(plan), str(stderr), _MARK, str(code)]
        try:
            process = _popen(
                ["/bin/sh", "-c", _KEEPER, wrap.path, "--args", str(words), *first], (*streams[:2], said), passed
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            ours.close()
            _close((heard, *leash, untold, plan, shown))
            raise Unavailable(f"bubblewrap can not be started: {error}") from None
    return Started(process, ours, heard, leash, Untold(untold, plan, shown))


def launch(started: Started, boundary: Boundary, order: LaunchOrder, machine: Machine) -> Started:
    """Have everything made but the command."""
    wrap = machine.demand()
    open_network = boundary.profile.network.mode == "full"
    words = mounts.namespace_words(wrap, network=open_network, dropped=boundary.user.dropped)
    words += mounts.mount_words(order.mounts, everything="/" in boundary.profile.read_roots)
    words += ["--perms", "0755", "--tmpfs", mounts.INNER]
    words += ["--perms", "0444", "--file", str(started.untold.profile), mounts.PROFILE]
    words += [word for source, place in order.binds for word in ("--bind", source, place)]
    words += [word for source, place in order.shown for word in ("--ro-bind", source, place)]
    words += _interpreter(boundary)[1]
    words += ["--remount-ro", mounts.INNER]  # a mount, and read-only: nobody inside says what they are inside of
    words += ["--chdir", boundary.profile.cwd or "/"]
    started.tell(marshal.dumps(_plan(boundary, order, machine)), encode(boundary.profile), words)
    return started


def _interpreter(boundary: Boundary) -> tuple[str, list[str]]:
    """Return the interpreter as it is found inside, and what bubblewrap must be told for that."""
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


def launch_bare(bare: Bare, order: LaunchOrder, streams: tuple[int, int, int]) -> Started:
    """Start everything but the command where there are no namespaces to make, or raise `Unavailable`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with contextlib.ExitStack() as stack:
        stack.callback(theirs.close)
        heard, said = os.pipe2(os.O_CLOEXEC)
        stack.callback(os.close, said)
        leash = os.pipe2(os.O_CLOEXEC)
        passed = [theirs.fileno(), leash[0], *order.kept]
        plan = _keep(stack, passed, _file("plan", marshal.dumps(_bare_plan(bare, order, leash[0]))))
        stderr = _keep(stack, passed, fcntl.fcntl(streams[2], fcntl.F_DUPFD_CLOEXEC, 10))
        first = [sys.executable, "-I", "-S", STAGE2, str(theirs.fileno()), str(plan), str(stderr)]
        try:
            process = _popen(first, (*streams[:2], said), passed, cwd=bare.boundary.profile.cwd or "/")
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            ours.close()
            _close((heard, *leash))
            raise Unavailable(f"the first program can not be started: {error}") from None
    return Started(process, ours, heard, leash)


def _bare_plan(bare: Bare, order: LaunchOrder, leash: int) -> dict[str, Any]:
    profile = bare.boundary.profile
    return {
        "leash": leash,
        "door": order.door,
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


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the keeper, bubblewrap and what it forked: a child that still waits for its parent would wait for ever."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


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
        start_new_session=True,  # what the terminal sends to our group must not end bubblewrap
        restore_signals=True,
    )


def _plan(boundary: Boundary, order: LaunchOrder, machine: Machine) -> dict[str, Any]:
    profile = boundary.profile
    writable = (*mounts.PRIVATE, "/dev", *(place for _, place in order.binds))
    return {
        "leash": -1,
        "door": order.door,
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


def _file(name: str, data: bytes = b"") -> int:
    """Return a nameless file that holds this, to be read from its beginning."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    _fill(descriptor, data)
    return descriptor


def _fill(descriptor: int, data: bytes) -> None:
    _write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _decode(data: bytes) -> dict[str, Any] | None:
    if not data:
        return None
    try:
        found = marshal.loads(data)  # noqa: S302 - sent before anything but our own program ran
    except (EOFError, ValueError, TypeError):
        return None
    return found if isinstance(found, dict) else None


def _close(fds: Sequence[int] | array.array[int]) -> None:
    for descriptor in fds:
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def resolve_environment(environ: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Join variables; those that can not be passed at all are left out."""
    joined = dict(environ) | dict(more)
    return {n: v for n, v in joined.items() if n and "=" not in n and "\0" not in n + v and printable(n) == n}

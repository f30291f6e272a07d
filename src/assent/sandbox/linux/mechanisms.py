"""Find out, by trying, which mechanisms can enforce a boundary on this machine, with their versions."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

from assent.model import ConfigError, Mechanism
from assent.platform.files import find_private, make_private_folder, write_private
from assent.platform.paths import assent_home
from assent.sandbox.errors import Unavailable
from assent.sandbox.linux import landlock, seccomp_filter

T = TypeVar("T")

_LOWEST_BUBBLEWRAP = (0, 5, 0)
_TRUSTED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SECONDS = 10


class Bubblewrap(msgspec.Struct, frozen=True):
    """The installed bubblewrap, and which newer options it has."""

    path: str
    version: str
    disable_userns: bool
    bind_fd: bool


class Machine(msgspec.Struct, frozen=True):
    """The mechanisms of this machine, and the reasons for missing ones."""

    bubblewrap: Bubblewrap | None
    landlock: int
    seccomp: bool
    notify: bool
    """Whether the kernel can notify a supervisor of system calls."""
    missing: tuple[str, ...] = ()
    errata: int = 0
    """The kernel's list of fixed faults of Landlock, as bits."""

    def mechanisms(self) -> tuple[Mechanism, ...]:
        """List all mechanisms, in force or not."""
        wrap = self.bubblewrap
        lock = f"ABI {self.landlock}" + (f", errata {self.errata:#x}" if self.landlock else "")
        return (
            Mechanism("bubblewrap", wrap.version if wrap else "", enforced=wrap is not None),
            Mechanism("landlock", lock if self.landlock else "", enforced=self.landlock >= landlock.LOWEST),
            Mechanism("seccomp", f"linux {os.uname().release}" if self.seccomp else "", enforced=self.seccomp),
        )

    def demand(self) -> Bubblewrap:
        """Return bubblewrap, or raise `Unavailable` with everything that is missing."""
        if self.bubblewrap is None or self.missing:
            raise Unavailable("no sandbox can be set up here: " + "; ".join(self.missing or ("bubblewrap is missing",)))
        return self.bubblewrap


def probe(path: str = _TRUSTED_PATH) -> Machine:
    """Find out what works here. Searches for programs only in system folders."""
    if sys.platform != "linux":
        return Machine(None, 0, seccomp=False, notify=False, missing=(f"{sys.platform} is not supported, Linux is",))
    missing: list[str] = []
    wrap = _try(missing, lambda: _find_bubblewrap(path))
    seccomp = _try(missing, lambda: bool(_seccomp_actions()) or _lack("the kernel has no seccomp filters")) or False
    _try(missing, seccomp_filter.machine)
    if landlock.version() < landlock.LOWEST:
        missing.append(f"the kernel's Landlock is too old: ABI {landlock.version()}, needed {landlock.LOWEST}")
    notify = "user_notif" in _seccomp_actions()
    return Machine(
        wrap, landlock.version(), seccomp=seccomp, notify=notify, missing=tuple(missing), errata=landlock.errata()
    )


def find_machine(path: str = _TRUSTED_PATH, environ: Mapping[str, str] = os.environ) -> Machine:
    """Return what works here, cached since boot; a missing mechanism is searched for again."""
    known = _known.get(path)
    now = time.monotonic()
    if known is None or (known[1].missing and now - known[0] > _AGAIN):
        known = _known[path] = (now, _recall(path, environ))
    return known[1]


def find_locks() -> Machine:
    """Return what works inside another sandbox, where namespaces cannot be made."""
    missing = ("namespaces cannot be made inside a sandbox",)
    return Machine(
        None,
        landlock.version(),
        seccomp=bool(_seccomp_actions()),
        notify=False,
        missing=missing,
        errata=landlock.errata(),
    )


_AGAIN = 60.0
_FORM = "2"
"""The version of the cache's format."""
_known: dict[str, tuple[float, Machine]] = {}


class _Kept(msgspec.Struct, frozen=True):
    stamp: tuple[str, ...]
    machine: Machine


def _recall(path: str, environ: Mapping[str, str]) -> Machine:
    """Return the cached result if kernel, program and user are the same; else try, and cache the result."""
    known = stamp(path)
    try:
        home = assent_home(environ)
        file = os.path.join(home, "sandbox", "machine.json")
        data = find_private(file, suggestion="make its mode 0600") if os.path.isfile(file) else None
        if data is not None and (kept := msgspec.json.decode(data, type=_Kept)).stamp == known:
            return kept.machine
    except (ConfigError, OSError, msgspec.MsgspecError):
        return probe(path)
    machine = probe(path)
    if not machine.missing:
        with contextlib.suppress(ConfigError):
            make_private_folder(os.path.dirname(file))
            write_private(file, msgspec.json.encode(_Kept(known, machine)))
    return machine


def stamp(path: str = _TRUSTED_PATH) -> tuple[str, ...]:
    """Return what the result depends on: boot, kernel, user, program."""
    program = _which(path)
    status = os.stat(program) if program else None
    file = (status.st_ino, status.st_mtime_ns, status.st_size, status.st_mode) if status else ()
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            started = boot.read().strip()
    except OSError:
        started = os.urandom(8).hex()
    return (_FORM, started, os.uname().release, str(os.geteuid()), str(program), *map(str, file))


def _try(missing: list[str], find: Callable[[], T]) -> T | None:
    try:
        return find()
    except Unavailable as error:
        missing.append(str(error))
        return None


def _lack(what: str) -> bool:
    raise Unavailable(what)


def _seccomp_actions() -> tuple[str, ...]:
    try:
        with open("/proc/sys/kernel/seccomp/actions_avail", encoding="ascii") as file:
            return tuple(file.read().split())
    except OSError:
        return ()


def _find_bubblewrap(path: str) -> Bubblewrap:
    found = _which(path)
    if found is None:
        raise Unavailable("bubblewrap (`bwrap`) is not installed")
    if os.stat(found).st_uid != 0 and os.stat(found).st_uid != os.geteuid():
        raise Unavailable(f"{found} belongs to another user")
    version = _ask(found, "--version").removeprefix("bubblewrap").strip()
    if tuple(map(int, re.findall(r"\d+", version)[:3])) < _LOWEST_BUBBLEWRAP:
        raise Unavailable(f"bubblewrap is too old: {version}, needed {'.'.join(map(str, _LOWEST_BUBBLEWRAP))}")
    options = _ask(found, "--help")
    _try_namespaces(found)
    return Bubblewrap(found, version, "--disable-userns" in options, "--ro-bind-fd" in options)


def _which(path: str) -> str | None:
    names = (os.path.join(folder, "bwrap") for folder in path.split(":"))
    return next((os.path.realpath(n) for n in names if os.path.isfile(n) and os.access(n, os.X_OK)), None)


def _ask(program: str, option: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a program of the system
            [program, option], capture_output=True, text=True, timeout=_SECONDS, env={}, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"bubblewrap does not run: {error}") from None
    return done.stdout


def _try_namespaces(program: str) -> None:
    """Make all namespaces once: the kernel, its settings or a container may forbid that."""
    argv = [program, "--unshare-user", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/"]
    argv += ["--dev", "/dev", "--proc", "/proc", "/bin/true"]
    try:
        done = subprocess.run(  # noqa: S603 - as above
            argv, capture_output=True, text=True, timeout=_SECONDS, env={}, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"bubblewrap does not run: {error}") from None
    if done.returncode:
        raise Unavailable(f"namespaces cannot be made: {done.stderr.strip()[:300] or 'bubblewrap failed'}")

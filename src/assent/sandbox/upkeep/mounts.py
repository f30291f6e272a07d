"""Keep paths protected or hidden while a command runs and other programs replace those files outside.

A mount disappears with the file below it, and new mounts outside appear inside. This module checks for both many times
a second, and mounts again. If that fails, it ends the command with the reason.
"""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterable

from assent.model import printable, within
from assent.sandbox.linux.mountinfo import TABLE
from assent.sandbox.mounts.plan import Mount
from assent.sandbox.profiles.workspace_roots import find_mounts
from assent.sandbox.streams import wait_readable

REMOUNT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "remount.py")
"""Run as a script, never imported."""
_KEPT = ("way", "protect", "empty", "mask")
_PAUSE = 0.025
_SECONDS = 10
_LONGEST_COMPLAINT = 4096


class _NotRemountedError(Exception):
    """A mount could not be restored."""


class Upkeep:
    """Watch the mounts of one sandbox. Create it before the mounts."""

    def __init__(self, mounts: Iterable[Mount], over: Iterable[str] = ()) -> None:
        """`over` are paths covered by Assent's own mounts: what is below them stays hidden."""
        mounts, over = tuple(mounts), tuple(over)
        kept = (m for m in mounts if m.kind in _KEPT and not any(within(m.path, place) for place in over))
        self._kinds = {m.path: m.kind for m in kept}
        self._written = tuple(m.path for m in mounts if m.kind == "write")
        # The kernel reports changes from now on; one check finds earlier ones.
        self._is_new = True
        self._table = open(TABLE, "rb")  # noqa: SIM115 - closed below
        self._changes = select.poll()
        self._changes.register(self._table, select.POLLPRI)
        # Kept open, so that their inodes are not reused.
        self._held = {path: _hold(path) for path in self._kinds}

    def close(self) -> None:
        """Close every descriptor."""
        self._table.close()
        for path in self._held:
            self._let_go(path)

    async def watch(self, namespace: int, place: Callable[[str], bool], end: Callable[[str], None]) -> None:
        """Look until cancelled. `place` puts something where a protected name is gone; `end` is told the fault."""
        try:
            while True:
                if words := self._plan(place):
                    await _remount(namespace, words)
                await asyncio.sleep(_PAUSE)
        except Exception as error:  # noqa: BLE001 - any error means that the boundary may be lost
            end(str(error) or type(error).__name__)

    def _plan(self, place: Callable[[str], bool]) -> list[str]:
        """Return the mounts to restore, and keep the current files open."""
        words: list[str] = []
        for path in [path for path, held in self._held.items() if not _is_at(held, path)]:
            kind = self._kinds[path]
            gone = not os.path.lexists(path)
            self._let_go(path)
            if gone and (kind == "mask" or not place(path)):
                continue  # there is no file to hide, or no process can create one there
            self._held[path] = _hold(path)
            words += [_word("protect" if gone else kind, path), path]
        if self._is_new or self._changes.poll(0):
            self._is_new = False
            words += self._find_new()
        return words

    def _find_new(self) -> list[str]:
        """Return new mounts in a write root, and watch them from now on."""
        new = [p for p in find_mounts(self._written) if p not in self._kinds and p not in self._written]
        self._kinds |= dict.fromkeys(new, "protect")
        self._held |= {path: _hold(path) for path in new}
        return [word for path in new for word in ("protect", path)]

    def _let_go(self, path: str) -> None:
        if self._held[path] >= 0:
            os.close(self._held[path])
            self._held[path] = -1


async def _remount(namespace: int, words: list[str]) -> None:
    """Restore mounts, or raise `_NotRemountedError`."""
    heard, said = os.pipe2(os.O_CLOEXEC)
    process = subprocess.Popen(  # noqa: S603, ASYNC220 - ourselves, and it takes no time
        [sys.executable, "-I", "-S", REMOUNT, str(namespace), *words],
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        pass_fds=[namespace],
    )
    os.close(said)
    watch = os.pidfd_open(process.pid)
    try:
        async with asyncio.timeout(_SECONDS):
            await wait_readable(watch)
        if process.wait() != 0:
            raise _NotRemountedError(_last_line(heard) or f"it ended with {process.returncode}")
    except TimeoutError:
        raise _NotRemountedError(f"it took more than {_SECONDS} seconds") from None
    finally:
        os.close(watch)
        os.close(heard)
        process.kill()
        process.wait()


def _last_line(descriptor: int) -> str:
    os.set_blocking(descriptor, False)
    try:
        said = os.read(descriptor, _LONGEST_COMPLAINT).decode(errors="replace").strip()
    except BlockingIOError:
        return ""
    return printable(said.splitlines()[-1]) if said else ""


def _word(kind: str, path: str) -> str:
    if kind == "mask":
        return "hide folder" if os.path.isdir(path) else "hide file"
    return "keep" if kind == "way" else "protect"


def _hold(path: str) -> int:
    try:
        return os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1


def _is_at(held: int, path: str) -> bool:
    """Tell whether a path is still the file that was opened, or still missing."""
    try:
        there = os.lstat(path)
    except OSError:
        return held < 0
    return held >= 0 and os.path.samestat(there, os.fstat(held))

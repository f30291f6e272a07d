"""Keeps what is protected or hidden so, while a command runs and others replace those files outside.

A mount goes with the file it lies on, and what is mounted outside appears inside. Both are found by looking, many times
a second, and covered; if that fails, the command is ended, and why is told.
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

RENEW = os.path.join(os.path.dirname(os.path.abspath(__file__)), "remount.py")
"""Never imported: it does what it does when it is run."""
_KEPT = ("way", "protect", "empty", "mask")
_PAUSE = 0.025
_SECONDS = 10
_LONGEST_COMPLAINT = 4096


class _NotRenewedError(Exception):
    """A mount could not be put back."""


class Upkeep:
    """Looks after the mounts of one sandbox. To be made before they are."""

    def __init__(self, mounts: Iterable[Mount], over: Iterable[str] = ()) -> None:
        """`over` is where something else of ours lies on top: what is below can not be seen, and must not come up."""
        mounts, over = tuple(mounts), tuple(over)
        kept = (m for m in mounts if m.kind in _KEPT and not any(within(m.path, place) for place in over))
        self._kinds = {m.path: m.kind for m in kept}
        self._written = tuple(m.path for m in mounts if m.kind == "write")
        # The kernel says when it changes from now on; what changed before is looked for once.
        self._is_new = True
        self._table = open(TABLE, "rb")  # noqa: SIM115 - closed below
        self._changes = select.poll()
        self._changes.register(self._table, select.POLLPRI)
        # Held open, so that nothing else gets their numbers.
        self._held = {path: _hold(path) for path in self._kinds}

    def close(self) -> None:
        """Let go of everything."""
        self._table.close()
        for path in self._held:
            self._let_go(path)

    async def watch(self, namespace: int, stand_in: Callable[[str], bool], end: Callable[[str], None]) -> None:
        """Look until cancelled. `stand_in` puts something where a protected name is gone; `end` is told the fault."""
        try:
            while True:
                if words := self._plan(stand_in):
                    await _renew(namespace, words)
                await asyncio.sleep(_PAUSE)
        except Exception as error:  # noqa: BLE001 - what can not be looked after is not held, whatever the fault
            end(str(error) or type(error).__name__)

    def _plan(self, stand_in: Callable[[str], bool]) -> list[str]:
        """Say what is to be put back, and hold what is there now."""
        words: list[str] = []
        for path in [path for path, held in self._held.items() if not _is_at(held, path)]:
            kind = self._kinds[path]
            gone = not os.path.lexists(path)
            self._let_go(path)
            if gone and (kind == "mask" or not stand_in(path)):
                continue  # nothing to hide, or nobody can make anything there
            self._held[path] = _hold(path)
            words += [_word("protect" if gone else kind, path), path]
        if self._is_new or self._changes.poll(0):
            self._is_new = False
            words += self._find_new()
        return words

    def _find_new(self) -> list[str]:
        """Say what was mounted in a write root meanwhile, and look after it from now on."""
        new = [p for p in find_mounts(self._written) if p not in self._kinds and p not in self._written]
        self._kinds |= dict.fromkeys(new, "protect")
        self._held |= {path: _hold(path) for path in new}
        return [word for path in new for word in ("protect", path)]

    def _let_go(self, path: str) -> None:
        if self._held[path] >= 0:
            os.close(self._held[path])
            self._held[path] = -1


async def _renew(namespace: int, words: list[str]) -> None:
    """Put mounts back, or raise `_NotRenewedError`."""
    heard, said = os.pipe2(os.O_CLOEXEC)
    process = subprocess.Popen(  # noqa: S603, ASYNC220 - ourselves, and it takes no time
        [sys.executable, "-I", "-S", RENEW, str(namespace), *words],
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
            raise _NotRenewedError(_last_line(heard) or f"it ended with {process.returncode}")
    except TimeoutError:
        raise _NotRenewedError(f"it took more than {_SECONDS} seconds") from None
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
    """Tell whether a path still names what is held; nothing, if that is nothing."""
    try:
        there = os.lstat(path)
    except OSError:
        return held < 0
    return held >= 0 and os.path.samestat(there, os.fstat(held))

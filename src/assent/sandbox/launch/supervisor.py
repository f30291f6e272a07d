"""Observe the system calls of sandboxed processes while they wait.

The supervisor describes violations. Where the profile says `ask`, it holds an open until a person has answered, and
then opens the file itself. It enforces nothing: the kernel does.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import select
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

from assent.model import Violation
from assent.platform.paths import ancestors
from assent.sandbox.linux import seccomp_filter, syscalls
from assent.sandbox.linux.seccomp_notify import Listener, Notification, open_plain
from assent.sandbox.mounts.plan import INNER, PRIVATE
from assent.sandbox.profiles.boundary import Boundary

_OWN = (*PRIVATE, "/dev", "/proc", INNER)
"""Inside, these belong to the sandbox."""
_CREATES = os.O_CREAT
_JOIN_SECONDS = 2
_TELL_SECONDS = 0.2
_MOST_FOLDERS = 4096
_KEPT_FLAGS = os.O_ACCMODE | os.O_CREAT | os.O_EXCL | os.O_TRUNC | os.O_APPEND | os.O_NONBLOCK | os.O_SYNC


class Supervisor:
    """Supervise one sandbox, in a thread."""

    def __init__(
        self,
        descriptor: int,
        boundary: Boundary,
        on_violation: Callable[[Violation], None],
        ask: Callable[[Violation], Awaitable[bool]] | None = None,
        placeholders: Iterable[str] = (),
    ) -> None:
        """`placeholders` are paths that exist only so that they can be protected."""
        self._listener = Listener(descriptor)
        self._boundary = boundary
        self._placeholders = frozenset(placeholders)
        profile = boundary.profile
        self._outside = frozenset((*profile.protected, *profile.masked))
        self._inside = frozenset((*profile.write_roots, *_OWN))
        self._hidden = frozenset(profile.masked)
        self._readable = frozenset(profile.read_roots)
        self._folders: dict[str, bool] = {}
        self._memory = syscalls.ProcessMemory()
        self._on_violation = on_violation
        # Another user would get a file that was opened with the launcher's permissions.
        self._ask = None if boundary.user.dropped else ask
        self._loop = asyncio.get_running_loop()
        self._names = seccomp_filter.names(seccomp_filter.machine())
        self._stop, self._wake = os.pipe2(os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._watch, name="assent-supervisor", daemon=True)
        self.seen: Counter[str] = Counter()
        """The number of each system call."""

    @property
    def saw_changes(self) -> bool:
        """Tell whether any system call could have changed a file."""
        return any(name in syscalls.PATHS or name == "fchmod" for name in self.seen)

    def start(self) -> None:
        """Start supervising."""
        self._thread.start()

    def stop(self) -> None:
        """Stop supervising. A system call that still waits fails."""
        os.write(self._wake, b"!")
        self._thread.join(_JOIN_SECONDS)
        if self._thread.is_alive():
            return  # old kernels do not wake it when the last process ends: the thread ends with ours
        for descriptor in (self._stop, self._wake, self._listener.descriptor):
            os.close(descriptor)
        self._listener.descriptor = -1
        self._memory.close()

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._listener.descriptor, select.POLLIN)
        poll.register(self._stop, select.POLLIN)
        while True:
            for descriptor, event in poll.poll():
                if descriptor == self._stop or not event & select.POLLIN:
                    return
                question = self._listener.receive()
                if question is not None:
                    self._consider(question)

    def _consider(self, question: Notification) -> None:
        name = self._names.get(question.number, "")
        self.seen[name] += 1
        try:
            waits = self._look(name, question)
        except Exception:  # noqa: BLE001 - the kernel decides what cannot be described
            waits = False
        if not waits:
            self._listener.let(question.id)

    def _look(self, name: str, question: Notification) -> bool:
        """Describe one system call; tell whether its answer comes later, from a person."""
        if name == "connect":
            self._look_at_peer(question)
            return False
        if name not in syscalls.PATHS:
            return False
        targets = syscalls.read_targets(name, question, self._memory)
        if targets is None:
            return False
        outside = [path for path in targets if not self._is_inside(path)]
        if name in syscalls.RENAMES and targets[0] in outside and not os.path.lexists(targets[0]):
            return False
        real = [path for path in map(os.path.realpath, outside) if not self._is_inside(path)]
        stopped = [path for path in real if self._would_matter(name, path, question)]
        if not stopped or not self._listener.is_waiting(question.id):
            return False
        violation = syscalls.write_of(stopped[0], question.pid)
        # Ask only if the path that is shown is exactly the path that would be opened.
        is_file = name in syscalls.OPENERS and stopped[0] not in self._placeholders
        may_ask = is_file and self._shows_nothing(stopped[0], _flags(name, question))
        if self._ask is not None and may_ask and violation.resource == stopped[0]:
            asyncio.run_coroutine_threadsafe(self._question(self._ask, violation, name, question), self._loop)
            return True
        self._report(violation)
        return False

    def _shows_nothing(self, path: str, flags: int) -> bool:
        """Tell whether allowing this open gives no access to content that the command must not read.

        A process with a file open for writing can reopen it for reading through its descriptor.
        """
        above = list(ancestors(path))
        if not self._hidden.isdisjoint(above):
            return False
        return flags & os.O_ACCMODE == os.O_WRONLY or not self._readable.isdisjoint(above)

    def _look_at_peer(self, question: Notification) -> None:
        peer = syscalls.read_peer(question, self._memory)
        if peer is None or syscalls.is_loopback(peer) or self._boundary.profile.network.mode == "full":
            return
        if peer.startswith("/") or peer.endswith(":53"):
            return  # the proxy resolves names, so a failed lookup inside is not worth a report
        if self._listener.is_waiting(question.id):
            self._report(syscalls.connect_of(peer, question.pid))

    def _is_inside(self, path: str) -> bool:
        """Tell whether a path may be written, by its name alone; cached by folder, because every call needs it."""
        if path in self._outside:
            return False
        if path in self._inside:
            return True
        folder = path.rpartition("/")[0] or "/"
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            known = self._folders[folder] = self._look_up(folder)
        return known

    def _look_up(self, folder: str) -> bool:
        above = list(ancestors(folder))
        return self._outside.isdisjoint(above) and not self._inside.isdisjoint(above)

    def _would_matter(self, name: str, path: str, question: Notification) -> bool:
        """Tell whether the boundary is what stops a call: without it, this user could have made the change."""
        there = os.path.lexists(path) and path not in self._placeholders
        if name in syscalls.MAKERS:
            return not there and os.access(os.path.dirname(path), os.W_OK)
        if not there:
            creates = name == "creat" or (name in syscalls.OPENERS and bool(_flags(name, question) & _CREATES))
            makes = creates or name in syscalls.RENAMES
            return makes and "/__pycache__/" not in path and os.access(os.path.dirname(path), os.W_OK)
        if os.path.isdir(path) and name in syscalls.OPENERS:
            return False
        return os.access(path if name in syscalls.OPENERS else os.path.dirname(path), os.W_OK)

    async def _question(
        self, ask: Callable[[Violation], Awaitable[bool]], violation: Violation, name: str, question: Notification
    ) -> None:
        """Ask a person about an open, and apply the answer."""
        try:
            allowed = await ask(violation)
        except Exception:  # noqa: BLE001 - an error is not a yes
            allowed = False
        if self._listener.descriptor < 0 or not self._listener.is_waiting(question.id):
            return
        if not allowed:
            self._on_violation(violation)
            self._listener.refuse(question.id, errno.EACCES)
            return
        flags = _flags(name, question)
        place = syscalls.OPENERS[name][1]
        mode = question.arguments[place] & 0o7777 & ~syscalls.umask_of(question.pid)
        try:
            opened = open_plain(violation.resource, flags & _KEPT_FLAGS, mode)
        except OSError as error:
            self._listener.refuse(question.id, error.errno or errno.EACCES)
            return
        self._listener.hand_in(question.id, opened, close_on_exec=bool(flags & os.O_CLOEXEC))
        os.close(opened)

    def _report(self, violation: Violation) -> None:
        """Report a violation, before the command can print its own error."""
        told = threading.Event()

        def tell() -> None:
            self._on_violation(violation)
            told.set()

        with contextlib.suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(tell)
            told.wait(_TELL_SECONDS)


def _flags(name: str, question: Notification) -> int:
    place = syscalls.OPENERS[name][0]
    return os.O_WRONLY | os.O_CREAT | os.O_TRUNC if place is None else question.arguments[place] & 0xFFFFFFFF

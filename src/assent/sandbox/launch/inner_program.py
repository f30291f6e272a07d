"""The first program inside the sandbox: apply the last locks, report, wait for the word, exec the command.

It runs as `python -I -S`, from a copy, with a plan from the launcher. It imports as little as possible, because every
command waits for it: `os` and `ctypes` alone take as long as all of bubblewrap. `posix` and the modules with an
underscore are the layer below them. Even `__future__` would be a file to find and read.
"""

import _ctypes
import _signal
import marshal
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_SECCOMP, _SENDMSG, _SOCKET, _BIND, _LISTEN = {
    "x86_64": (317, 46, 41, 49, 50),
    "aarch64": (277, 211, 198, 200, 201),
}.get(posix.uname().machine, (-1, -1, -1, -1, -1))
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS = 38, 39
_NEW_LISTENER, _WAIT_KILLABLE = 8, 32
_TIOCSCTTY = 0x540E
_AF_INET, _STREAM = 2, 1
_KIND, _FOLDER = 0o170000, 0o040000

_PATH = "/bin:/usr/bin"


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - what `ctypes.c_long` is
    _type_ = "l"


class _Byte(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - what `ctypes.c_char` is
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Long


_exit = posix._exit  # noqa: SLF001 - its name
_libc = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # as `ctypes.CDLL(None)` does
_syscall = _Function(_ctypes.dlsym(_libc, "syscall"))
_prctl = _Function(_ctypes.dlsym(_libc, "prctl"))
_setrlimit = _Function(_ctypes.dlsym(_libc, "setrlimit"))


class _Refused(Exception):  # noqa: N818 - the kernel's answer, not a fault of ours
    """The kernel refused a lock."""


def main() -> None:
    """Do all steps, or exit without running the command."""
    control = int(sys.argv[1])
    plan = marshal.loads(_read_all(int(sys.argv[2])))  # noqa: S302 - written by the launcher, in a sealed file
    posix.dup2(int(sys.argv[3]), 2)
    grouped = _join(plan["cgroup_entry"])
    try:
        _report(control, _stand(plan), grouped=grouped)
        fds = _lock(plan)
    except (_Refused, OSError) as error:
        posix.write(control, _complaint(str(error), 125))
        _exit(125)
    heard, begin = posix.pipe()  # closes on exec; no other process has this end
    _report(control, [*fds, ("begin", heard)], grouped=grouped)
    if posix.read(control, 1) != b"!":
        _exit(125)
    _close_all_but(begin)
    _become(plan, begin)


def _join(cgroup_entry: int) -> bool:
    """Join the control group through its open file; without one, the resource limits still apply."""
    if cgroup_entry < 0:
        return False
    try:
        posix.write(cgroup_entry, b"0")
    except OSError:
        return False
    return True


def _stand(plan: "dict[str, Any]") -> list[tuple[str, int]]:
    """Return descriptors with which the launcher checks the mounts, while the locks are applied."""
    if plan["user"] is not None:
        _become_user(*plan["user"])
    if posix.getsid(0) != posix.getpid():
        posix.setsid()  # a separate session, for a terminal and for signals to the group
    if plan["lifeline"] >= 0:
        _tie(plan["lifeline"])
    mounts = posix.open("/proc/self/ns/mnt", posix.O_RDONLY | posix.O_CLOEXEC)
    table = posix.open("/proc/self/mountinfo", posix.O_RDONLY | posix.O_CLOEXEC)
    return [("pid", posix.pidfd_open(posix.getpid())), ("mounts", mounts), ("table", table)]


def _lock(plan: "dict[str, Any]") -> list[tuple[str, int]]:
    """Apply every lock; return more descriptors for the launcher."""
    fds = []
    if plan["terminal"] >= 0:
        import fcntl  # noqa: PLC0415 - few commands have a terminal

        fcntl.ioctl(plan["terminal"], _TIOCSCTTY, 0)
    if plan["port"]:
        fds.append(("proxy", _listen(plan["port"])))
    if plan["landlock"]:
        _restrict(*plan["landlock"])
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        _fail("no-new-privileges")
    _limit(plan["limits"])
    if plan["filter"]:
        listener = _filter(plan["filter"], supervised=plan["supervised"])
        if plan["supervised"]:
            fds.append(("supervisor", listener))
    return fds


def _tie(lifeline: int) -> None:
    """Fork a process, outside the locks, that kills the group when the launcher ends."""
    if child := posix.fork():
        posix.waitpid(child, 0)
        return
    if posix.fork():
        _exit(0)  # so that the command has no unknown child process
    posix.closerange(0, lifeline)
    posix.closerange(lifeline + 1, posix.sysconf("SC_OPEN_MAX"))
    posix.read(lifeline, 1)  # no process writes: the read returns when the launcher ends
    posix.killpg(posix.getpgrp(), _signal.SIGKILL)


def _limit(limits: list[tuple[int, int]]) -> None:
    for what, limit in limits:
        if _setrlimit(what, _bytes(limit) * 2):
            _fail("resource limits")


def _become_user(uid: int, gid: int) -> None:
    """Give up root's privileges for good."""
    posix.setgroups([gid])
    posix.setresgid(gid, gid, gid)
    posix.setresuid(uid, uid, uid)


def _listen(port: int) -> int:
    """Open the proxy's socket on the sandbox's loopback, without loading `socket`."""
    server = _syscall(_SOCKET, _AF_INET, _STREAM | posix.O_CLOEXEC, 0)
    address = _bytes(_AF_INET, 2) + port.to_bytes(2, "big") + bytes((127, 0, 0, 1)) + bytes(8)
    if server < 0 or _syscall(_BIND, server, address, len(address)) or _syscall(_LISTEN, server, 128):
        _fail("the socket of the proxy")
    found: int = server
    return found


def _restrict(handled: int, scoped: int, file_rights: int, rules: tuple[tuple[str, int], ...]) -> None:
    attributes = b"".join(_bytes(n) for n in ((handled, 0, scoped) if scoped else (handled,)))
    ruleset = _syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    if ruleset < 0:
        _fail("Landlock")
    for path, rights in rules:
        try:
            place = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
        except FileNotFoundError:
            continue  # the path does not exist: no right to grant
        granted = rights if posix.fstat(place).st_mode & _KIND == _FOLDER else rights & file_rights
        rule = _bytes(granted) + _bytes(place, 4)
        if granted and _syscall(_ADD_RULE, ruleset, 1, rule, 0):
            _fail(f"Landlock, {path}")
        posix.close(place)
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _syscall(_RESTRICT_SELF, ruleset, 0):
        _fail("Landlock")
    posix.close(ruleset)


def _report(control: int, fds: list[tuple[str, int]], *, grouped: bool) -> None:
    """Send descriptors with their names over a socket, as `sendmsg` does, or exit."""
    text = marshal.dumps({"fds": [name for name, _ in fds], "grouped": grouped})
    rights = b"".join(_bytes(fd, 4) for _, fd in fds)
    size = 16 + len(rights)
    ancillary = _Memory(_bytes(size) + _bytes(1, 4) + _bytes(1, 4) + rights + bytes(-size % 8))
    said = _Memory(text)
    vector = _Memory(said.address + _bytes(len(text)))
    head = bytes(16) + vector.address + _bytes(1) + ancillary.address + _bytes(ancillary.size) + bytes(8)
    if _syscall(_SENDMSG, control, head, 0) < 0:
        _exit(125)


class _Memory:
    """Bytes at a fixed address, for the kernel to read."""

    def __init__(self, data: bytes) -> None:
        self._kept = (_Byte * len(data)).from_buffer_copy(data)
        self.address = _bytes(_ctypes.addressof(self._kept))
        self.size = len(data)


def _bytes(number: int, size: int = 8) -> bytes:
    return number.to_bytes(size, sys.byteorder)


def _filter(program: bytes, *, supervised: bool) -> int:
    code = _Memory(program)
    described = _bytes(len(program) // 8, 2) + bytes(6) + code.address
    flags = _NEW_LISTENER | _WAIT_KILLABLE if supervised else 0
    found: int = _syscall(_SECCOMP, 1, flags, described)
    if found < 0:
        _fail("seccomp")
    return found


def _become(plan: "dict[str, Any]", begin: int) -> None:
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these, and exec would keep that
        _signal.signal(number, _signal.SIG_DFL)
    argv, environment = plan["argv"], plan["environment"]
    try:
        _execute(argv, environment)
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        posix.write(begin, _complaint(error.strerror or "it cannot be run", code))
    except ValueError as error:
        code = 126
        posix.write(begin, _complaint(str(error), code))
    _exit(code)


def _execute(argv: list[str], environment: dict[str, str]) -> "NoReturn":
    """Exec the program, searched on PATH; raise the first error other than not found, else not found."""
    if "/" in argv[0]:
        posix.execve(argv[0], argv, environment)
    kept: OSError = FileNotFoundError(2, posix.strerror(2))
    for folder in environment.get("PATH", _PATH).split(":"):
        place = f"{folder or '.'}/{argv[0]}"
        try:
            posix.stat(place)  # `stat` is not supervised, `execve` is
            posix.execve(place, argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            kept = error if isinstance(kept, FileNotFoundError) else kept
    raise kept


def _fail(what: str) -> "NoReturn":
    raise _Refused(f"{what}: {posix.strerror(_ctypes.get_errno())}")


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _close_all_but(kept: int) -> None:
    highest = posix.sysconf("SC_OPEN_MAX")
    posix.closerange(3, kept)
    posix.closerange(kept + 1, highest if highest > kept else 1 << 16)
    posix.set_inheritable(kept, False)  # noqa: FBT003 - its one form


def _complaint(message: str, code: int) -> bytes:
    return marshal.dumps({"error": message, "code": code})


if __name__ == "__main__":
    main()

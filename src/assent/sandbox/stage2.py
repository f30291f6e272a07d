"""The first program inside the sandbox: puts on the last locks, reports, waits for the word, becomes the command.

It runs by itself, from a copy, as `python -I -S`, on a plan that the launcher hands in. It imports as little as it
can, for it is on the way of every command; the modules with an underscore are those without their slow wrappers.
"""

from __future__ import annotations

import _signal
import _socket
import ctypes
import fcntl
import marshal
import os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_SECCOMP, _PIDFD_OPEN = {"x86_64": (317, 434), "aarch64": (277, 434)}.get(os.uname().machine, (0, 0))
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS = 38, 39
_NEW_LISTENER, _WAIT_KILLABLE = 8, 32
_TIOCSCTTY = 0x540E

_libc = ctypes.CDLL(None, use_errno=True)


class _Refused(Exception):  # noqa: N818 - it is what the kernel said, not a fault of ours
    """The kernel would not put on a lock."""


def main() -> None:
    """Do all of it, or end without having run anything."""
    control = _socket.socket(fileno=int(sys.argv[1]))
    plan = marshal.loads(_read_all(int(sys.argv[2])))  # noqa: S302 - written by the launcher, in a sealed file
    os.dup2(int(sys.argv[3]), 2)
    try:
        fds = _enter(plan)
    except (_Refused, OSError) as error:
        control.send(_complaint(str(error), 125))
        os._exit(125)
    heard, begin = os.pipe()  # closes when the command begins; nobody else has this end
    fds.append(("begin", heard))
    rights = b"".join(fd.to_bytes(4, sys.byteorder) for _, fd in fds)
    facts = {"fds": [name for name, _ in fds], "landlock": bool(plan["landlock"]), "seccomp": bool(plan["filter"])}
    ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if rights else []
    control.sendmsg([marshal.dumps(facts)], ancillary)
    if control.recv(1) != b"!":
        os._exit(125)
    _close_all_but(begin)
    _become(plan, begin)


def _enter(plan: dict[str, Any]) -> list[tuple[str, int]]:
    """Put on every lock; return what the launcher is to be handed."""
    if plan["user"] is not None:
        _become_user(*plan["user"])
    if os.getsid(0) != os.getpid():
        os.setsid()  # apart from bubblewrap's session: it can have a terminal, and be signalled as a group
    fds = [("pid", os.pidfd_open(os.getpid()))]
    if plan["terminal"] >= 0:
        fcntl.ioctl(plan["terminal"], _TIOCSCTTY, 0)
    if plan["port"]:
        fds.append(("proxy", _listen(plan["port"])))
    if plan["landlock"]:
        _restrict(*plan["landlock"])
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        _fail("no-new-privileges")
    for what, limit in plan["limits"]:
        resource.setrlimit(what, (limit, limit))
    if plan["filter"]:
        listener = _filter(plan["filter"], supervised=plan["supervised"])
        if plan["supervised"]:
            fds.append(("supervisor", listener))
    return fds


def _become_user(uid: int, gid: int) -> None:
    """Give up being root, with all its powers, for good."""
    os.setgroups([gid])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _listen(port: int) -> int:
    server = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    server.bind(("127.0.0.1", port))
    server.listen(128)
    return server.detach()


def _restrict(handled: int, scoped: int, file_rights: int, rules: tuple[tuple[str, int], ...]) -> None:
    attributes = b"".join(n.to_bytes(8, sys.byteorder) for n in ((handled, 0, scoped) if scoped else (handled,)))
    ruleset = _libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        _fail("Landlock")
    for path, rights in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue  # nothing there to give a right to
        granted = rights if os.path.isdir(path) else rights & file_rights
        rule = granted.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        if granted and _libc.syscall(_ADD_RULE, ruleset, 1, rule, 0):
            _fail(f"Landlock, {path}")
        os.close(place)
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or _libc.syscall(_RESTRICT_SELF, ruleset, 0):
        _fail("Landlock")
    os.close(ruleset)


def _filter(program: bytes, *, supervised: bool) -> int:
    code = ctypes.create_string_buffer(program, len(program))
    address = ctypes.addressof(code).to_bytes(8, sys.byteorder)
    described = (len(program) // 8).to_bytes(2, sys.byteorder) + bytes(6) + address
    flags = _NEW_LISTENER | _WAIT_KILLABLE if supervised else 0
    found: int = _libc.syscall(_SECCOMP, 1, flags, described)
    if found < 0:
        _fail("seccomp")
    return found


def _become(plan: dict[str, Any], begin: int) -> None:
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores them, and what is ignored stays so
        _signal.signal(number, _signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(plan["environment"])
    argv = plan["argv"]
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - this is what it is for
    except OSError as error:
        code = 127 if isinstance(error, FileNotFoundError) else 126
        os.write(begin, _complaint(error.strerror or "it can not be run", code))
    except ValueError as error:
        code = 126
        os.write(begin, _complaint(str(error), code))
    os._exit(code)


def _fail(what: str) -> NoReturn:
    raise _Refused(f"{what}: {os.strerror(ctypes.get_errno())}")


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _close_all_but(kept: int) -> None:
    highest = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, kept)
    os.closerange(kept + 1, highest if highest > kept else 1 << 16)
    os.set_inheritable(kept, False)  # noqa: FBT003 - its one form


def _complaint(message: str, code: int) -> bytes:
    return marshal.dumps({"error": message, "code": code})


if __name__ == "__main__":
    main()

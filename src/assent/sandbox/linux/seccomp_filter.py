"""The seccomp filter: which system calls are refused, and which are reported to the supervisor."""

from __future__ import annotations

import errno
import functools
import os

from assent.sandbox.errors import Unavailable
from assent.sandbox.linux import bpf

X86_64 = "x86_64"
AARCH64 = "aarch64"
_ARCHES = {X86_64: 0xC000003E, AARCH64: 0xC00000B7}
_X32 = 0x40000000

# Name → number on x86_64 and on aarch64 (None: it does not exist there).
_NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "open": (2, None),
    "creat": (85, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "truncate": (76, 45),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "connect": (42, 203),
    "execve": (59, 221),
    "execveat": (322, 281),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "clone": (56, 220),
    "clone3": (435, 435),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "fanotify_init": (300, 262),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "seccomp": (317, 277),
    "fchmod": (91, 52),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "file_setattr": (469, 469),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "prlimit64": (302, 261),
}

DANGEROUS = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd"),
    *("add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "open_tree", "move_mount", "fsopen", "fsconfig"),
    *("fsmount", "fspick", "mount_setattr", "open_tree_attr", "open_by_handle_at"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff"),
    *("acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm", "modify_ldt", "uselib", "vhangup"),
    *("sethostname", "setdomainname", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex"),
    *("fanotify_init", "lookup_dcookie"),
)
"""Building, testing and installing need none of these; each has been, or could be, a way out of a sandbox."""

CHANGES = (
    *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "file_setattr"),
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr"),
    *("removexattrat", "utime", "utimes", "futimesat", "utimensat"),
)
"""System calls that change a file without opening it, which Landlock does not check."""
LEAVES = (
    *("setsid", "setpgid", "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl"),
    *("semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink"),
)
"""System calls that reach other processes, or leave the process group, where there are no namespaces."""

WATCHED = (
    *("creat", "truncate", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat"),
    *("link", "linkat", "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmodat", "fchmodat2"),
    *("connect", "execve", "execveat"),
)
"""Reported to the supervisor with any arguments; opens are reported if they are for writing."""

_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_SET_FLAGS, _SET_FLAGS_32, _SET_ATTRIBUTES = 0x40086602, 0x40046602, 0x401C5820
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_SOCKET_FLAGS = (0o4000, 0o2000000, 0o2004000)
_NEW_NAMESPACES = 0x7E020000
_O_WRITE = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000
_O_MAKE = 0o100 | 0o20000000
_SETUID = 0o4000
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""The argument with the mode that a file gets."""
_OPENS = {"open": (1, 2), "openat": (2, 3)}
"""The arguments with flags and mode, for calls that create a file only if the flags say so."""


def machine() -> str:
    """Return the machine's architecture, or raise `Unavailable` if its system call numbers are not known."""
    found = os.uname().machine
    if found not in _ARCHES:
        raise Unavailable(f"the system calls of {found} are not known")
    return found


def numbers(kind: str) -> dict[str, int]:
    """Return the system call numbers of an architecture, by name."""
    column = 0 if kind == X86_64 else 1
    return {name: number for name, row in _NUMBERS.items() if (number := row[column]) is not None}


@functools.cache
def names(kind: str) -> dict[int, str]:
    """Return the system call names of an architecture, by number."""
    return {number: name for name, number in numbers(kind).items()}


@functools.cache
def build_filter(
    kind: str,
    *,
    unix_sockets: bool,
    supervised: bool,
    offline: bool = False,
    changes_nothing: bool = False,
    alone: bool = False,
) -> bytes:
    """Return the filter as a BPF program. A system call through another ABI kills the process.

    `offline` refuses network sockets, `changes_nothing` refuses changes that Landlock does not check; `alone` is for a
    boundary without namespaces.
    """
    number = numbers(kind)
    code = bpf.load_arch() + bpf.unless_equal(_ARCHES[kind], bpf.answer(bpf.KILL)) + bpf.load_number()
    if kind == X86_64:
        code += bpf.when_at_least(_X32, bpf.answer(bpf.KILL))
    for name in (*DANGEROUS, *(CHANGES if changes_nothing else ()), *(LEAVES if alone else ())):
        if name in number:
            code += bpf.when_equal(number[name], bpf.answer(bpf.refuse(errno.EPERM)))
    families = () if alone else _families(unix_sockets=unix_sockets, offline=offline)
    rules = {"ioctl": _ioctl(changes_nothing=changes_nothing), "socket": _socket(families), "clone": _clone()}
    rules["socketpair"] = _socketpair(unix_sockets=unix_sockets)
    if alone:
        rules["prlimit64"] = _own_limits()
    # A filter cannot read arguments in memory. The C library falls back from clone3 to `clone`, and programs from
    # openat2 to openat, whose flags are plain arguments.
    rules |= dict.fromkeys(("clone3", "openat2"), bpf.answer(bpf.refuse(errno.ENOSYS)))
    if supervised:
        rules |= _watch()
    modes = _modes()
    for name in dict.fromkeys((*rules, *modes)):
        if name in number:
            code += bpf.when_equal(number[name], modes.get(name, ()) + rules.get(name, bpf.answer(bpf.ALLOW)))
    return bpf.assemble(code + bpf.answer(bpf.ALLOW))


def _modes() -> dict[str, bpf.Code]:
    """Refuse to make a setuid program, which would have its owner's privileges outside too."""
    refused = bpf.when_any_bit(_SETUID, bpf.answer(bpf.refuse(errno.EPERM)))
    checks = {name: bpf.load_argument(mode) + refused for name, mode in _MODES.items()}
    for name, (flags, mode) in _OPENS.items():
        checks[name] = bpf.load_argument(flags) + bpf.when_any_bit(_O_MAKE, bpf.load_argument(mode) + refused)
    return checks


def _ioctl(*, changes_nothing: bool) -> bpf.Code:
    refused = bpf.answer(bpf.refuse(errno.EPERM))
    marks = (_SET_FLAGS, _SET_FLAGS_32, _SET_ATTRIBUTES) if changes_nothing else ()
    checks = tuple(i for number in (_TIOCSTI, _TIOCLINUX, *marks) for i in bpf.when_equal(number, refused))
    return bpf.load_argument(1) + checks + bpf.answer(bpf.ALLOW)


def _own_limits() -> bpf.Code:
    allowed = bpf.answer(bpf.ALLOW)
    return bpf.load_argument(0) + bpf.when_equal(0, allowed) + bpf.answer(bpf.refuse(errno.EPERM))


def _families(*, unix_sockets: bool, offline: bool) -> tuple[int, ...]:
    far = () if offline else (_AF_INET, _AF_INET6)
    return (*far, _AF_NETLINK, *((_AF_UNIX,) if unix_sockets else ()))


def _socket(families: tuple[int, ...]) -> bpf.Code:
    known = tuple(i for family in families for i in bpf.when_equal(family, bpf.answer(bpf.ALLOW)))
    return bpf.load_argument(0) + known + bpf.answer(bpf.refuse(errno.EACCES))


def _socketpair(*, unix_sockets: bool) -> bpf.Code:
    """Refuse all but Unix sockets; without `unix_sockets` also the kinds that can send to another socket."""
    refused = bpf.answer(bpf.refuse(errno.EACCES))
    kinds = (kind | flags for kind in (_STREAM, _SEQPACKET) for flags in (0, *_SOCKET_FLAGS))
    bound = tuple(i for kind in kinds for i in bpf.when_equal(kind, bpf.answer(bpf.ALLOW)))
    rest = bpf.answer(bpf.ALLOW) if unix_sockets else bpf.load_argument(1) + bound + refused
    return bpf.load_argument(0) + bpf.unless_equal(_AF_UNIX, refused) + rest


def _clone() -> bpf.Code:
    refused = bpf.answer(bpf.refuse(errno.EPERM))
    return bpf.load_argument(0) + bpf.when_any_bit(_NEW_NAMESPACES, refused) + bpf.answer(bpf.ALLOW)


def _watch() -> dict[str, bpf.Code]:
    shown = bpf.answer(bpf.NOTIFY)

    def opening(flags: int) -> bpf.Code:
        return bpf.load_argument(flags) + bpf.when_any_bit(_O_WRITE, shown) + bpf.answer(bpf.ALLOW)

    rules = dict.fromkeys(WATCHED, shown)
    rules |= {name: opening(flags) for name, (flags, _) in _OPENS.items()}
    # This makes a file executable that was opened for reading.
    executable = bpf.load_argument(1) + bpf.when_any_bit(0o111, shown) + bpf.answer(bpf.ALLOW)
    return rules | {"fchmod": executable}

"""Files by the very path that was decided about: opened without following a link, written whole or not at all.

The path given here has every link followed already. If one has come to be on the way since, nothing is opened.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec
import re2

from assent.model import AssentError, within

LARGEST_READ = 128 << 10
LARGEST_SEARCHED = 1 << 20
LARGEST_EDIT = 8 << 20
MOST_NAMES = 2000
MOST_SCANNED = 100_000
"""How many names of one folder are looked at, in no order."""
MOST_LOOKED_AT = 20_000
MOST_MATCHES = 500
LONGEST_LINE = 400
LONGEST_SEARCHED = 8 << 10
OVERLAP = 1 << 10
"""Of a line that is longer than this, pieces are searched: a pattern can take long, and is not ended within one."""
DEEPEST = 64
KERNEL = ("/proc", "/sys", "/dev")
"""What is no file: the daemon's own memory is in there."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WAY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_HANDLE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
Check: TypeAlias = Callable[[], None]
"""Called before anything is changed, and at the last moment before a file is replaced; what it raises ends it there."""
_UNSEARCHED = (".git",)
_ACCESS = "system.posix_acl_access"


class ToolError(AssentError):
    """A tool was let, and could not do it."""


class FileText(msgspec.Struct, frozen=True):
    """What was read, and whether there is more than was taken."""

    text: str
    cut: bool = False


def read_text(path: str, limit: int = LARGEST_READ) -> FileText:
    """Return what a file holds, up to a limit."""
    with _opened(path) as descriptor:
        data = _read_up_to(descriptor, limit + 1)
    return FileText(data[:limit].decode("utf-8", "replace"), cut=len(data) > limit)


def write_text(path: str, content: str, check: Check = lambda: None) -> int:
    """Make a file hold this text: whoever looks sees the old one or the new one. Return its size."""
    data = content.encode("utf-8", "surrogatepass")
    check()
    with _folder_of(path, make=True) as (folder, name):
        _replace(folder, name, data, path, check)
    return len(data)


def edit_text(path: str, old: str, new: str, check: Check = lambda: None) -> int:
    """Replace one piece of a file, which must be in it exactly once, unless the file changes meanwhile."""
    with _folder_of(path) as (folder, name):
        descriptor = _open_file(folder, name, path)
        try:
            seen = _stamp(os.fstat(descriptor))
            data = _read_up_to(descriptor, LARGEST_EDIT + 1)
        finally:
            os.close(descriptor)
        if len(data) > LARGEST_EDIT:
            raise ToolError(f"{path} is larger than {LARGEST_EDIT} bytes")
        found = data.count(old.encode())
        if found != 1:
            raise ToolError(f"the text to replace is in {path} {found} times, and must be there once")
        changed = data.replace(old.encode(), new.encode())

        def recheck() -> None:
            check()
            if _stamp(_look(folder, name, path)) != seen:
                raise ToolError(f"{path} was changed by somebody else meanwhile")

        _replace(folder, name, changed, path, recheck)
    return len(changed)


def list_names(path: str) -> FileText:
    """Return the names in a folder, one a line."""
    with _opened_folder(path) as folder:
        entries = _scan(folder)
    names = [_printable(name) + mark for name, mark in entries[:MOST_NAMES]]
    return FileText("\n".join(names), cut=len(entries) > MOST_NAMES)


def _printable(name: str) -> str:
    """Return a name as one line, whatever is in it."""
    return name if name.isprintable() else ascii(name)


def search_text(path: str, pattern: str, may_read: Callable[[str], bool], check: Check = lambda: None) -> FileText:
    """Return the lines that match, as `path:number: line`; what `may_read` refuses is not even opened.

    `check` is called often, and what it raises ends the search.
    """
    expression = _compile(pattern)
    lines: list[str] = []
    for looked, file in enumerate(_files_below(path), 1):
        check()
        if looked > MOST_LOOKED_AT or len(lines) >= MOST_MATCHES:
            return FileText("\n".join(lines[:MOST_MATCHES]), cut=True)
        if file is not None and may_read(file):
            shown = os.path.relpath(file, path) if file != path else os.path.basename(file)
            lines += _matches(file, _printable(shown), expression, check)
    return FileText("\n".join(lines[:MOST_MATCHES]), cut=len(lines) > MOST_MATCHES)


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else "it is no text"
        raise ToolError(f"the pattern cannot be read: {why}") from None


def refuse_kernel(path: str) -> None:
    """Refuse what is no file but a window into the kernel and into processes, the daemon among them."""
    if any(within(path, root) for root in KERNEL):
        raise ToolError(f"{path} is no file on a disk")


@contextlib.contextmanager
def _folder_of(path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """Lend the folder a file is in, opened name by name without following a link, and the file's name."""
    refuse_kernel(path)
    parts = [part for part in path.split("/") if part]
    if not parts:
        raise ToolError("the root is no file")
    folder = _walk(parts[:-1], path, make=make)
    try:
        yield folder, parts[-1]
    finally:
        os.close(folder)


def _walk(parts: list[str], path: str, *, make: bool) -> int:
    here = os.open("/", _FOLDER)
    for number, part in enumerate(parts):
        flags = _FOLDER if number == len(parts) - 1 else _WAY
        try:
            inner = _enter(here, part, flags, make=make)
        except OSError as error:
            raise _explain(error, path) from None
        finally:
            os.close(here)
        here = inner
    return here


def _enter(here: int, name: str, flags: int, *, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=here)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o777, dir_fd=here)
    return os.open(name, flags, dir_fd=here)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int]:
    with _folder_of(path) as (folder, name):
        descriptor = _open_file(folder, name, path)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_folder(path: str) -> Iterator[int]:
    refuse_kernel(path)
    descriptor = _walk([part for part in path.split("/") if part], path, make=False)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_file(folder: int, name: str, path: str) -> int:
    """Open a plain file. What is none is not even opened: that alone may wake, rewind or change something."""
    try:
        handle = os.open(name, _HANDLE, dir_fd=folder)
        try:
            if stat.S_ISLNK(mode := os.fstat(handle).st_mode):
                raise _moved(path)
            if not stat.S_ISREG(mode):
                raise ToolError(f"{path} is not a plain file")
            return os.open(f"/proc/self/fd/{handle}", _FILE)
        finally:
            os.close(handle)
    except OSError as error:
        raise _explain(error, path) from None


def _read_up_to(descriptor: int, limit: int) -> bytes:
    pieces, left = [], limit
    while left and (piece := os.read(descriptor, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _replace(folder: int, name: str, data: bytes, path: str, check: Check) -> None:
    passing = f".assent-{secrets.token_hex(8)}"
    try:
        before = _look(folder, name, path)
        _write_new(folder, passing, data, before, None if before is None else _access_of(folder, name))
        check()
        os.rename(passing, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
    except OSError as error:
        raise _explain(error, path) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(passing, dir_fd=folder)


def _look(folder: int, name: str, path: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        raise _moved(path)
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{path} is not a plain file")
    return found


def _write_new(folder: int, name: str, data: bytes, like: os.stat_result | None, access: bytes | None) -> None:
    descriptor = os.open(name, _NEW, 0o666 if like is None else 0o600, dir_fd=folder)
    try:
        if like is not None:
            _liken(descriptor, like, access)
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _liken(descriptor: int, like: os.stat_result, access: bytes | None) -> None:
    """Give a new file the owner, the mode and the access list of the one it replaces; never more than those."""
    mode = stat.S_IMODE(like.st_mode) & 0o777  # what it held may have deserved to run as somebody else
    try:
        os.fchown(descriptor, like.st_uid, like.st_gid)
    except PermissionError:
        own = os.fstat(descriptor)
        mode &= 0o777 if own.st_gid == like.st_gid else 0o707
    os.fchmod(descriptor, mode)
    if access is not None:
        os.setxattr(descriptor, _ACCESS, access)


def _access_of(folder: int, name: str) -> bytes | None:
    """Return a file's access list, if it has one; without it, its mode alone would let others in."""
    try:
        return os.getxattr(f"/proc/self/fd/{folder}/{name}", _ACCESS, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP, errno.ENOENT):
            return None
        raise


def _stamp(found: os.stat_result | None) -> tuple[int, ...]:
    if found is None:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _scan(folder: int) -> list[tuple[str, str]]:
    """Return every name in a folder with its mark: a slash for a folder, an at sign for a link."""
    with os.scandir(folder) as entries:
        return sorted((entry.name, _mark(entry)) for entry in itertools.islice(entries, MOST_SCANNED))


def _mark(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "@"
    if entry.is_dir(follow_symlinks=False):
        return "/"
    return "" if entry.is_file(follow_symlinks=False) else "="


def _files_below(path: str) -> Iterator[str | None]:
    """Yield every plain file below a folder, or the file itself, by its path, and nothing for each folder looked into.

    Links lead nowhere here.
    """
    refuse_kernel(path)
    if os.path.isfile(path):  # noqa: PTH113 - as above; what is opened is looked at again
        yield path
        return
    folders = [(path, 0)]
    while folders:
        here, depth = folders.pop()
        yield None
        try:
            with _opened_folder(here) as folder:
                entries = _scan(folder)
        except (AssentError, OSError):
            if depth == 0:
                raise
            continue
        for name, mark in entries:
            inner = os.path.join(here, name)
            if not mark:
                yield inner
            elif mark == "/" and depth < DEEPEST and name not in _UNSEARCHED:
                folders.append((inner, depth + 1))


def _matches(file: str, shown: str, expression: Any, check: Check) -> list[str]:
    try:
        with _opened(file) as descriptor:
            data = _read_up_to(descriptor, LARGEST_SEARCHED)
    except (AssentError, OSError):
        return []
    if b"\0" in data[:4096]:
        return []
    lines = enumerate(data.decode("utf-8", "replace").splitlines(), 1)
    return [f"{shown}:{number}: {line[:LONGEST_LINE]}" for number, line in lines if _is_in(line, expression, check)]


def _is_in(line: str, expression: Any, check: Check) -> bool:
    """Tell whether a line matches, or a piece of it if it is very long."""
    for start in range(0, max(len(line) - OVERLAP, 1), LONGEST_SEARCHED - OVERLAP):
        check()
        if expression.search(line[start : start + LONGEST_SEARCHED]):
            return True
    return False


def _explain(error: OSError, path: str) -> ToolError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return _moved(path)
    return ToolError(f"{path}: {error.strerror}")


def _moved(path: str) -> ToolError:
    return ToolError(f"{path} is not what was decided about: there is a link on the way, or no folder")

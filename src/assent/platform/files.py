"""Read and write configuration files: bounded reads that never block, atomic writes."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH101, PTH103, PTH105, PTH108, PTH114, PTH115, PTH116, PTH118, PTH120, PTH123

from __future__ import annotations

import contextlib
import errno
import os
import stat

import msgspec

from assent.model import ConfigError

LARGEST_FILE = 4 << 20
_LOOK_ONLY = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Content(msgspec.Struct, frozen=True):
    """A file's bytes and the stat data of the same open file."""

    data: bytes
    status: os.stat_result


def find_file(path: str, *, follow: bool = True) -> Content | None:
    """Read a file; None if it does not exist. Anything but a regular file is an error."""
    # O_NONBLOCK: a pipe in place of the file must not block.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            raise ConfigError("dangling symbolic link", file=path) from None
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(_describe(error), file=path) from None
    try:
        return _read(descriptor, path)
    finally:
        os.close(descriptor)


def read_file(path: str, *, follow: bool = True) -> Content:
    """Read a file that must exist."""
    content = find_file(path, follow=follow)
    if content is None:
        raise ConfigError("file not found", file=path)
    return content


def find_inside(folder: str, name: str, *, largest: int) -> Content | None:
    """Read a file from a folder with an untrusted owner; None if it does not exist.

    A link is followed only to what lies in the folder too, and a file that has other names may lie elsewhere: neither
    is read. Nothing but a regular file is opened, since to open a device may do something.
    """
    path = os.path.join(folder, name)
    try:
        found = os.open(path, _LOOK_ONLY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        _check_absent(path, error)
        return None
    try:
        _check_inside(found, folder, path, largest)
        descriptor = os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise ConfigError(_describe(error), file=path) from None
    finally:
        os.close(found)
    try:
        return _read(descriptor, path, largest)
    finally:
        os.close(descriptor)


def _check_absent(path: str, error: OSError | ValueError) -> None:
    if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
        raise ConfigError(_describe(error), file=path) from None
    if os.path.islink(path):
        raise ConfigError("dangling symbolic link", file=path) from None


def _check_inside(found: int, folder: str, path: str, largest: int) -> None:
    status = os.fstat(found)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError("not a regular file", file=path)
    place = os.readlink(f"/proc/self/fd/{found}")
    if not place.startswith(os.path.join(os.path.realpath(folder), "")):
        what = "the file is a link out of the project, so Assent does not read it"
        raise ConfigError(what, file=path, suggestion="put the file itself there")
    if status.st_nlink > 1:
        what = "the file has another hard link, maybe outside the project, so Assent does not read it"
        raise ConfigError(what, file=path, suggestion="copy it instead of linking it")
    if status.st_size > largest:
        raise _too_large(path, largest)


def _read(descriptor: int, path: str, largest: int = LARGEST_FILE) -> Content:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError("not a regular file", file=path)
    pieces, size = [], 0
    try:
        while size <= largest and (piece := os.read(descriptor, 1 << 20)):
            pieces.append(piece)
            size += len(piece)
    except OSError as error:
        raise ConfigError(_describe(error), file=path) from None
    if size > largest:
        raise _too_large(path, largest)
    return Content(b"".join(pieces), status)


def _too_large(path: str, largest: int) -> ConfigError:
    shown = f"{largest >> 20} MiB" if largest >= 1 << 20 else f"{largest >> 10} KiB"
    return ConfigError(f"the file is larger than {shown}", file=path)


def _describe(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "the file is a symbolic link, which Assent does not follow here"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot read the file: {reason}"


def check_owner(path: str, status: os.stat_result, owners: tuple[int, ...], *, suggestion: str) -> None:
    """Raise if a file or folder could have been changed by anyone but these owners."""
    if status.st_uid not in owners:
        wanted = " or ".join("root" if owner == 0 else f"user {owner}" for owner in owners)
        raise ConfigError(f"must be owned by {wanted}", file=path, suggestion=suggestion)
    if status.st_mode & _OTHERS_WRITE:
        raise ConfigError("writable by other users", file=path, suggestion=suggestion)


def make_private_folder(path: str) -> None:
    """Create a folder if needed, and make sure that only this user can access it.

    One that others could put something into is refused, unless it is empty.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.stat(path)
        if status.st_uid != os.geteuid():
            raise ConfigError("the folder belongs to another user", file=path)
        if status.st_mode & _OTHERS_WRITE and not _is_empty(path):
            suggestion = "check its content, then make its mode 0700"
            raise ConfigError("writable by other users", file=path, suggestion=suggestion)
        if status.st_mode & 0o077:
            os.chmod(path, 0o700)
    except OSError as error:
        raise ConfigError(f"cannot use this folder: {error.strerror}", file=path) from None


def _is_empty(path: str) -> bool:
    with os.scandir(path) as found:
        return next(found, None) is None


def write_private(path: str, data: bytes) -> None:
    """Replace a file atomically, readable only by its owner."""
    write_file(path, data, mode=0o600)


def write_file(path: str, data: bytes, *, mode: int) -> None:
    """Replace a file atomically; after a crash it has the old or the new content."""
    folder, name = os.path.split(path)
    passing = os.path.join(folder, f".{name}.{os.urandom(8).hex()}")
    try:
        _write_through(passing, data, mode)
        os.replace(passing, path)
        _sync_folder(folder)
    except OSError as error:
        raise ConfigError(f"cannot write the file: {error.strerror}", file=path) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(passing)


def _write_through(path: str, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def find_private(path: str, *, suggestion: str) -> bytes | None:
    """Read one of Assent's own files: not a link, writable only by its owner; None if it does not exist."""
    content = find_file(path, follow=False)
    if content is None:
        return None
    owners = tuple(dict.fromkeys((os.geteuid(), 0)))
    check_owner(os.path.dirname(path), os.stat(os.path.dirname(path)), owners, suggestion="make its mode 0700")
    check_owner(path, content.status, owners, suggestion=suggestion)
    return content.data


def find_secret(path: str) -> bytes | None:
    """Read one of Assent's own files that only its owner can read; None if it does not exist."""
    suggestion = "make its mode 0600"
    data = find_private(path, suggestion=suggestion)
    if data is not None and os.stat(path, follow_symlinks=False).st_mode & 0o077:
        raise ConfigError("readable by other users", file=path, suggestion=suggestion)
    return data

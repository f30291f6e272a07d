"""The project files that the user trusts, by path and exact content."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH100, PTH118

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from assent.model import ConfigError, Layer
from assent.platform.files import find_private, make_private_folder, write_private
from assent.platform.paths import find_project_file

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE_NAME = "trust.json"
_MEND = "delete it, then run `assent trust` in each project again"

Sha256 = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class TrustedFile(msgspec.Struct, frozen=True):
    """A trusted project file with the hash of its content."""

    path: str
    sha256: str


class _Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    files: dict[str, Sha256] = {}


def trust_file(home: str) -> str:
    """Return the path of the trust file."""
    return os.path.join(home, FILE_NAME)


def is_trusted(path: str, content: bytes, *, home: str) -> bool:
    """Return whether exactly this content is trusted at this path."""
    known = _load(home).files.get(_name_of(path))
    return known is not None and hmac.compare_digest(known, hashlib.sha256(content).hexdigest())


def trust(path: str, content: bytes | None = None, *, home: str) -> TrustedFile:
    """Trust a project's file, with its current content or the given one; raise if it is invalid."""
    from assent.config.assent_yaml import parse_assentfile  # noqa: PLC0415 - only needed to trust a file

    data = _read(path) if content is None else content
    parse_assentfile(data, path, layer=Layer.PROJECT)
    entry = TrustedFile(_name_of(path), hashlib.sha256(data).hexdigest())
    with _locked(home):
        _store(home, {**_load(home).files, entry.path: entry.sha256})
    return entry


def _read(path: str) -> bytes:
    content = find_project_file(path)
    if content is None:
        raise ConfigError("file not found", file=path)
    return content.data


def forget(path: str, *, home: str) -> bool:
    """Stop trusting a file; return whether it was trusted."""
    name = _name_of(path)
    with _locked(home):
        files = _load(home).files
        if name not in files:
            return False
        _store(home, {other: sha256 for other, sha256 in files.items() if other != name})
    return True


def listing(*, home: str) -> tuple[TrustedFile, ...]:
    """Return the trusted files by path."""
    return tuple(TrustedFile(path, sha256) for path, sha256 in sorted(_load(home).files.items()))


def _name_of(path: str) -> str:
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


def _load(home: str) -> _Book:
    path = trust_file(home)
    data = find_private(path, suggestion="make its mode 0600")
    if data is None:
        return _Book()
    try:
        return msgspec.json.decode(data, type=_Book)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ConfigError("the file is damaged, so no project is trusted", file=path, suggestion=_MEND) from None


def _store(home: str, files: dict[str, str]) -> None:
    write_private(trust_file(home), msgspec.json.format(msgspec.json.encode(_Book(files=files))) + b"\n")


@contextlib.contextmanager
def _locked(home: str) -> Iterator[None]:
    """Lock the trust file while it is changed."""
    make_private_folder(home)
    path = os.path.join(home, FILE_NAME + ".lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"cannot use this file: {error.strerror}", file=path) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)

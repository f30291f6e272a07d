"""The user that a command runs as: never with root's privileges."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping

import msgspec

from assent.platform.paths import user_home


class User(msgspec.Struct, frozen=True):
    """Who a command runs as."""

    uid: int
    gid: int
    home: str
    homes: tuple[str, ...]
    """Every home of the user, by the environment and by the user database."""
    dropped: bool
    """Whether it is another user than the launcher's."""


def find_user(roots: tuple[str, ...], environ: Mapping[str, str]) -> User:
    """Return the launcher's user; for root, the owner of the workspace, if that is an ordinary user."""
    uid = os.geteuid()
    owner = os.stat(roots[0]) if roots and uid == 0 else None
    if owner is not None and owner.st_uid != 0:
        home = _home_of(owner.st_uid)
        return User(owner.st_uid, owner.st_gid, home or "/tmp", _known(home), dropped=True)  # noqa: S108 - private inside
    home = user_home(environ)
    return User(uid, os.getegid(), home or "/tmp", _known(home, _home_of(uid)), dropped=False)  # noqa: S108 - as above


def _home_of(uid: int) -> str | None:
    try:
        home = pwd.getpwuid(uid).pw_dir
    except KeyError:
        return None
    return home if os.path.isabs(home) and home != "/" and os.path.isdir(home) else None


def _known(*homes: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(os.path.realpath(h) for h in homes if h is not None and os.path.isdir(h) and h != "/"))

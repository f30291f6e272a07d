"""Which paths whoever is inside gets to by the modes of the folders above: what they cannot reach needs no cover."""

from __future__ import annotations

import os
import stat

from assent.platform.paths import ancestors
from assent.sandbox.profiles.user import User

_ACCESS_LIST = "system.posix_acl_access"


class Reach:
    """Tells for paths whether a user gets to them, each folder looked at once."""

    def __init__(self, user: User) -> None:
        self._uid = user.uid
        self._groups = {user.gid} if user.dropped else {user.gid, *os.getgroups()}
        self._known: dict[str, bool] = {}

    def __call__(self, path: str) -> bool:
        """Tell whether every folder above a path can be entered, or could be opened by this user, its owner."""
        return all(map(self._enters, list(ancestors(path))[1:]))

    def _enters(self, folder: str) -> bool:
        if folder not in self._known:
            self._known[folder] = self._look(folder)
        return self._known[folder]

    def _look(self, folder: str) -> bool:
        try:
            found = os.stat(folder)
        except OSError:
            return True  # what cannot be looked at is not known to be closed
        if found.st_uid == self._uid or found.st_mode & stat.S_IXOTH:
            return True
        # Where the group may not enter, nobody on a list of others may either: its mode is the most they have.
        return bool(found.st_mode & stat.S_IXGRP) and (found.st_gid in self._groups or _lists_others(folder))


def _lists_others(folder: str) -> bool:
    try:
        os.getxattr(folder, _ACCESS_LIST)
    except OSError:
        return False
    return True

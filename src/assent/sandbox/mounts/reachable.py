"""Tell which paths a user can reach, by the modes of the folders above. Other paths need no mount."""

from __future__ import annotations

import os
import stat

from assent.platform.paths import ancestors
from assent.sandbox.profiles.user import User

_ACCESS_LIST = "system.posix_acl_access"


class Reach:
    """Tell whether a user can reach a path; each folder is checked once."""

    def __init__(self, user: User) -> None:
        self._uid = user.uid
        self._groups = {user.gid} if user.dropped else {user.gid, *os.getgroups()}
        self._known: dict[str, bool] = {}

    def __call__(self, path: str) -> bool:
        """Tell whether the user can enter every folder above a path, or owns it and could change its mode."""
        return all(map(self._enters, list(ancestors(path))[1:]))

    def _enters(self, folder: str) -> bool:
        if folder not in self._known:
            self._known[folder] = self._look(folder)
        return self._known[folder]

    def _look(self, folder: str) -> bool:
        try:
            found = os.stat(folder)
        except OSError:
            return True  # unknown counts as reachable
        if found.st_uid == self._uid or found.st_mode & stat.S_IXOTH:
            return True
        # The mode of the group is also the most that an access control list grants.
        return bool(found.st_mode & stat.S_IXGRP) and (found.st_gid in self._groups or _lists_others(folder))


def _lists_others(folder: str) -> bool:
    try:
        os.getxattr(folder, _ACCESS_LIST)
    except OSError:
        return False
    return True

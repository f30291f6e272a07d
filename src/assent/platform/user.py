"""The user that this process runs as."""

from __future__ import annotations

import os
import pwd


def user_name() -> str:
    """Return the name of the user, or `uid-N` where the system has no name for it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid-{os.geteuid()}"

"""Install the hook client in Assent's home, with a short start script.

Python compiles a script anew at each start but caches imported modules, so the script only imports the client.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import contextlib
import os

from assent.agents.specs import DONE
from assent.model import ConfigError
from assent.platform.files import find_private, make_private_folder, write_private

HOOK_SCRIPT = "hook.py"
_CLIENT = "hook_client"
_START = f'''"""Becomes the client of Assent's hooks, which lies beside it."""
import posix, sys
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
import {_CLIENT}
del sys.path[0]
posix._exit({_CLIENT}.main(sys.argv) or {DONE})
'''


def place_hook(folder: str) -> None:
    """Write the hook files into a private folder, unless they are already there."""
    import py_compile  # noqa: PLC0415 - rarely needed

    make_private_folder(os.path.join(folder, "__pycache__"))  # Python would make it readable to others
    with contextlib.suppress(ConfigError):  # files with wrong permissions are written again
        if is_placed(folder):
            return
    for name, content in _files().items():
        write_private(os.path.join(folder, name), content)
    with contextlib.suppress(OSError, py_compile.PyCompileError):  # Python compiles it later
        py_compile.compile(os.path.join(folder, f"{_CLIENT}.py"), doraise=True)


def is_placed(folder: str) -> bool:
    """Return whether the hook files are those of this version."""
    return all(
        find_private(os.path.join(folder, name), suggestion="make its mode 0600") == content
        for name, content in _files().items()
    )


def _files() -> dict[str, bytes]:
    from importlib import resources  # noqa: PLC0415 - slow to load, rarely needed

    client = (resources.files("assent") / "cli" / f"{_CLIENT}.py").read_bytes()
    return {f"{_CLIENT}.py": client, HOOK_SCRIPT: _START.encode()}

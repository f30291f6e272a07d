"""What agents' hooks run, as it lies in Assent's home: the client, and a start so short that reading it costs nothing.

Python reads a program it is given anew each time, and keeps in compiled form only what that program imports.
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
    """Put the files of a hook into a private folder, unless they are there. A reader of the folder can call it too."""
    import py_compile  # noqa: PLC0415 - seldom needed

    make_private_folder(os.path.join(folder, "__pycache__"))  # Python would let others look into it
    with contextlib.suppress(ConfigError):  # what others could read, or write, is not as it should be
        if is_placed(folder):
            return
    for name, content in _files().items():
        write_private(os.path.join(folder, name), content)
    with contextlib.suppress(OSError, py_compile.PyCompileError):  # Python will do it, or do without
        py_compile.compile(os.path.join(folder, f"{_CLIENT}.py"), doraise=True)


def is_placed(folder: str) -> bool:
    """Tell whether the files of a hook are there, and those of this version."""
    return all(
        find_private(os.path.join(folder, name), suggestion="make its mode 0600") == content
        for name, content in _files().items()
    )


def _files() -> dict[str, bytes]:
    from importlib import resources  # noqa: PLC0415 - slow to load, and seldom needed

    client = (resources.files("assent") / "cli" / f"{_CLIENT}.py").read_bytes()
    return {f"{_CLIENT}.py": client, HOOK_SCRIPT: _START.encode()}

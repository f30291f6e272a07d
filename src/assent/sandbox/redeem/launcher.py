"""The program that carries decided calls out: the words that start it, and the file it starts from.

It goes by nothing that an agent or a project can say. The words name Assent's home and a fixed interpreter by absolute
paths; the interpreter heeds no variable and loads nothing from the working directory; the file puts the environment
aside before it loads anything, and names the folders to load from, the key that boundaries are sealed with, and the
variables by which the daemon itself finds its places.
"""

# Paths are strings here, as in the vocabulary.

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from assent.model import ConfigError
from assent.platform.files import find_private, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping

LAUNCHER = "run.py"
_ENV = "/usr/bin/env"
_DROPPED = ("GCONV_PATH", "LOCPATH", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__")
"""By these the C library, and even an isolated Python, load code before the first line of a program. What the dynamic
linker heeds (`LD_*`) acts on `env` itself, so that nothing in a line can help: whoever decides must look at it.
"""
_LOADED = ("assent", "msgspec", "cryptography", "cffi", "yaml", "re2")
_TEXT = '''"""Carries a decided call out inside its boundary. Written by `assent serve`, and good for no other home."""
import os, sys
given = dict(os.environ)
os.environ.clear()
os.environ.update({environ!r})
sys.path += {folders!r}
from assent.cli.redeem import main
main({home!r}, bytes.fromhex({key!r}), given, sys.argv[1:])
'''


def launcher_words(home: str) -> tuple[str, ...]:
    """Return the words that start the launcher of a home, whoever says them, and wherever."""
    scrub = (_ENV, *(word for name in _DROPPED for word in ("-u", name))) if os.path.exists(_ENV) else ()
    return (*scrub, _interpreter(), "-I", "-S", os.path.join(os.path.realpath(home), LAUNCHER))


def place_launcher(folder: str, home: str, key: bytes, environ: Mapping[str, str]) -> None:
    """Write the launcher of a home into a private folder, unless it is there; `key` checks what the daemon seals."""
    text = _TEXT.format(
        environ=dict(environ), folders=loaded_folders(), home=os.path.realpath(home), key=key.hex()
    ).encode()
    path = os.path.join(folder, LAUNCHER)
    try:
        held = find_private(path, suggestion="make its mode 0600")
    except ConfigError:  # what others could write is written anew
        held = None
    if held != text:
        write_private(path, text)


def _interpreter() -> str:
    """Return the Python itself, not the name that an environment, which may lie in a project, has for it."""
    return os.path.realpath(sys.executable)


def loaded_folders() -> list[str]:
    """Name the folders that hold what the launcher loads, and no others that this process may look into."""
    return list(dict.fromkeys(os.path.dirname(package) for package in loaded_packages()))


def loaded_packages() -> list[str]:
    """Name what the launcher loads besides Python's own: folders of packages, or files."""
    from importlib.util import find_spec  # noqa: PLC0415 - once for each start

    found = (find_spec(name) for name in _LOADED)
    origins = (spec.origin for spec in found if spec is not None and spec.origin is not None)
    packages = (os.path.dirname(o) if os.path.basename(o) == "__init__.py" else o for o in origins)
    return [os.path.abspath(package) for package in packages]

"""The launcher of decided calls: the words that start it, and its script.

It depends on nothing that an agent or a project controls. The words name Assent's home and a fixed interpreter by
absolute paths. The interpreter reads no variable and loads nothing from the working directory. The script sets the
environment aside before it imports anything, and contains the folders to import from, the key that verifies boundaries,
and the variables that the daemon uses to find its folders.
"""

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
"""With these the C library, and even an isolated Python, load code before the first line of a program. The variables of
the dynamic linker (`LD_*`) act on `env` itself, so no command line can remove them: the decision must check them.
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
    """Return the words that start the launcher of a home, from any process and folder."""
    scrub = (_ENV, *(word for name in _DROPPED for word in ("-u", name))) if os.path.exists(_ENV) else ()
    return (*scrub, _interpreter(), "-I", "-S", os.path.join(os.path.realpath(home), LAUNCHER))


def place_launcher(folder: str, home: str, key: bytes, environ: Mapping[str, str]) -> None:
    """Write the launcher script of a home, unless it is current; `key` verifies the daemon's signatures."""
    text = _TEXT.format(
        environ=dict(environ), folders=loaded_folders(), home=os.path.realpath(home), key=key.hex()
    ).encode()
    path = os.path.join(folder, LAUNCHER)
    try:
        held = find_private(path, suggestion="make its mode 0600")
    except ConfigError:  # others could write the file: replace it
        held = None
    if held != text:
        write_private(path, text)


def _interpreter() -> str:
    """Return the real Python, not a link to it in a virtual environment, which may lie in a project."""
    return os.path.realpath(sys.executable)


def loaded_folders() -> list[str]:
    """Return the folders with the packages that the launcher loads, and no others of this process."""
    return list(dict.fromkeys(os.path.dirname(package) for package in loaded_packages()))


def loaded_packages() -> list[str]:
    """Return the packages that the launcher loads besides the standard library: folders or files."""
    from importlib.util import find_spec  # noqa: PLC0415 - once for each start

    found = (find_spec(name) for name in _LOADED)
    origins = (spec.origin for spec in found if spec is not None and spec.origin is not None)
    packages = (os.path.dirname(o) if os.path.basename(o) == "__init__.py" else o for o in origins)
    return [os.path.abspath(package) for package in packages]

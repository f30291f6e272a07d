"""Find a working Python interpreter for the hook, outside of every project."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH113, PTH117, PTH118, PTH120

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from assent.model import ConfigError
from assent.platform.paths import ancestors, project_root, user_home

_USUAL = ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3")
_TRY = "import sys, _signal, _socket, posix; sys.exit(sys.version_info < (3, 8))"
_SECONDS = 20


def find_python(chosen: str | None = None) -> str:
    """Return an interpreter for the hook, or raise `ConfigError` with what is wrong with each candidate."""
    base = getattr(sys, "_base_executable", "") or sys.executable
    candidates = [chosen] if chosen else [os.path.realpath(base), *_USUAL, shutil.which("python3") or ""]
    found = [(path, why_not(path)) for path in dict.fromkeys(filter(None, candidates))]
    good = next((path for path, why in found if why is None), None)
    if good is None:
        said = "; ".join(f"{path} {why}" for path, why in found)
        raise ConfigError(f"no Python interpreter can run the hook: {said}", suggestion="name one with --python")
    return good


def why_not(path: str) -> str | None:
    """Return why an interpreter cannot run the hook; None if it can."""
    if not os.path.isabs(path):
        return "is not an absolute path"
    real = os.path.realpath(path)
    if not os.path.isfile(real):
        return "does not exist"
    root = project_of(os.path.dirname(path)) or project_of(os.path.dirname(real))
    if root is not None:
        return f"is in the project {root}"
    try:
        done = subprocess.run([path, "-I", "-S", "-c", _TRY], capture_output=True, check=False, timeout=_SECONDS)  # noqa: S603 - it is being tried
    except (OSError, subprocess.SubprocessError) as error:
        return f"does not run ({type(error).__name__})"
    return None if done.returncode == 0 else "is too old, or broken"


def project_of(folder: str) -> str | None:
    """Return the project of a folder; a home directory under version control is not one."""
    home = os.path.realpath(user_home() or "/")
    for each in ancestors(os.path.realpath(folder)):
        if each in ("/", home):
            return None
        if project_root(each) == each and os.path.lexists(os.path.join(each, ".git")):
            return each
        if os.path.isfile(os.path.join(each, "pyvenv.cfg")):
            return each
    return None

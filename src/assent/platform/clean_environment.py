"""Remove environment variables that a project may have set: those that hijack programs or point into the project."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH117

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from assent.catalog.environment_variables import turns_programs
from assent.model import within

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_OWN = frozenset(
    (
        *("PATH", "HOME", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "BROWSER", "SSH_ASKPASS", "SUDO_ASKPASS"),
        *("CARGO_HOME", "GEM_HOME", "GEM_PATH", "KUBECONFIG", "DOCKER_CONFIG", "DOCKER_HOST", "GOENV", "CURL_HOME"),
        *("CLAUDE_CONFIG_DIR", "CODEX_HOME", "INPUTRC", "PYTHONUSERBASE", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL"),
        *("GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    )
)
"""Variables that name the user's own folders: kept, unless they point into the project."""
_FAMILIES = ("XDG_", "npm_config_", "NPM_CONFIG_")


def scrub(environ: Mapping[str, str], root: str, keep: Collection[str] = ()) -> dict[str, str]:
    """Return the environment for an agent in this project; `keep` names variables to keep anyway."""
    found = {}
    for name, value in environ.items():
        if name not in keep and name == "PATH":
            found[name] = _outside(value, root)
        elif name in keep or _is_fine(name, value, root):
            found[name] = value
    return found


def _is_fine(name: str, value: str, root: str) -> bool:
    if not turns_programs(name, value):
        return True
    return (name in _OWN or name.startswith(_FAMILIES)) and not _leads_into(value, root)


def _leads_into(value: str, root: str) -> bool:
    """Return whether a value names a path in the project or a relative one."""
    words = (value, *value.replace(":", " ").replace("=", " ").split())
    if any(word.startswith((".", "~/..")) or "$" in word for word in words):
        return True
    return any(os.path.isabs(word) and within(os.path.realpath(word), root) for word in words)


def _outside(path: str, root: str) -> str:
    """Return a search path without folders of the project and relative ones."""
    parts = [part for part in path.split(os.pathsep) if os.path.isabs(part)]
    return os.pathsep.join(part for part in parts if not within(os.path.realpath(part), root))

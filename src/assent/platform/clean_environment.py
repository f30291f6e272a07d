"""An environment that no project had a hand in: without what turns programs, and without what leads into a project."""

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
"""Where a user has their own things: it stays, unless it leads into the project."""
_FAMILIES = ("XDG_", "npm_config_", "NPM_CONFIG_")


def scrub(environ: Mapping[str, str], root: str, keep: Collection[str] = ()) -> dict[str, str]:
    """Return what an agent that works in this project may be started with; `keep` names what stays all the same."""
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
    """Tell whether a value names something in the project, or something that depends on where one stands."""
    words = (value, *value.replace(":", " ").replace("=", " ").split())
    if any(word.startswith((".", "~/..")) or "$" in word for word in words):
        return True
    return any(os.path.isabs(word) and within(os.path.realpath(word), root) for word in words)


def _outside(path: str, root: str) -> str:
    """Return a search path without the project, and without folders that depend on where one stands."""
    parts = [part for part in path.split(os.pathsep) if os.path.isabs(part)]
    return os.pathsep.join(part for part in parts if not within(os.path.realpath(part), root))

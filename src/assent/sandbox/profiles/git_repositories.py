"""Find files that make git run code: hooks and settings, also of submodules and other worktrees."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from assent.model import ConfigError
from assent.platform.files import find_file
from assent.sandbox.errors import Unavailable

SETTINGS = ("config", "config.worktree", "commondir", "info/attributes")
"""The files of a store that git obeys, besides the folder of hooks."""
UNFINISHED = ("rebase-merge", "rebase-apply", "sequencer")
"""Folders of a store with the steps of an interrupted rebase: git runs the commands in them."""
HOOKS = frozenset(
    [
        *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "commit-msg"),
        *("prepare-commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive"),
        *("update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout"),
        *("pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
        *("p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit"),
    ]
)
"""The names of programs that git runs."""
_USERS = (".gitconfig", ".config/git/config")
_SET = re.compile(r"(?im)^[ \t]*(?:\[[^\n]*?\][ \t]*)?(hookspath|templatedir|path)[ \t]*=[ \t]*(.*)$")
_COMMENT = re.compile(r"[ \t]+[#;].*$")
_DEEPEST = 10
_MOST_STORES = 64


Kind: TypeAlias = Literal["file", "folder"]


def find_obeyed(root: str, homes: tuple[str, ...]) -> Iterator[tuple[str, Kind]]:
    """Yield folders of hooks and files of settings that git's settings name, existing or not."""
    users = [os.path.join(home, name) for home in homes for name in _USERS]
    files = [(file, 0) for file in (os.path.join(root, ".git", "config"), *users, "/etc/gitconfig")]
    for file, depth in files:
        for name, value in _SET.findall(_read(file)):
            path = _COMMENT.sub("", value).strip().strip('"')
            path = os.path.join(*homes[:1], path[2:]) if path.startswith("~/") else path
            if name.lower() != "path":
                found = os.path.normpath(os.path.join(root, path))
                # The workspace itself cannot be protected, so each hook is.
                names = [os.path.join(root, hook) for hook in sorted(HOOKS)] if found == root else [found]
                yield from ((each, "folder") for each in names)
                continue
            found = os.path.normpath(os.path.join(os.path.dirname(file), path))
            yield found, "file"
            if depth < _DEEPEST and (found, depth + 1) not in files:
                files.append((found, depth + 1))


def is_settings_file(path: str) -> bool:
    """Tell whether git reads this path of a store as a file, where a folder would be an error."""
    return "/.git/" in path and path.endswith(tuple(f"/{name}" for name in SETTINGS))


def find_stores(git: str) -> Iterator[str]:
    """Yield settings and hooks in the stores of submodules, nested ones too, and of other worktrees."""
    yield from _settings_of(os.path.join(git, "modules"), hooks=True)
    worktrees = os.path.join(git, "worktrees")
    try:
        yield from list(_settings_of(worktrees, hooks=False))
    except Unavailable:
        yield worktrees  # as a whole: no worktree can be added or removed then


def _settings_of(folder: str, *, hooks: bool) -> Iterator[str]:
    names = (*SETTINGS, "hooks") if hooks else ("config.worktree", "commondir")
    folders = [folder]
    for place in folders:
        for path in _folders_in(place):
            if is_store(path):
                yield from (os.path.join(path, name) for name in names)
                folders.append(os.path.join(path, "modules"))
            else:
                folders.append(path)
        if len(folders) > _MOST_STORES:
            raise Unavailable(f"{folder} has too many stores to protect")


def is_store(folder: str) -> bool:
    """Tell whether git takes a folder for the store of a repository or of a worktree."""
    there = {name for name in ("HEAD", "objects", "commondir") if os.path.lexists(os.path.join(folder, name))}
    return "HEAD" in there and len(there) > 1


def store_part(path: str) -> str | None:
    """Return the part of a store that git obeys and a file belongs to: the file, or a folder of `UNFINISHED`."""
    folder, name = os.path.split(path)
    above, part = os.path.split(folder)
    if part in UNFINISHED and is_store(above):
        return folder
    store, said = (above, f"{part}/{name}") if part in ("info", "hooks") else (folder, name)
    return path if (said in SETTINGS or part == "hooks") and is_store(store) else None


def _folders_in(place: str) -> list[str]:
    try:
        return sorted(e.path for e in os.scandir(place) if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _read(file: str) -> str:
    if not os.path.isfile(file):
        return ""
    try:
        found = find_file(file)
    except ConfigError:
        return ""
    return "" if found is None else found.data.decode("utf-8", "surrogateescape")

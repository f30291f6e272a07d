"""Find repository settings that make read-only git commands run code.

Looked up in the files themselves, never by starting the tool that would obey them; kept until a file changes.
"""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH118, PTH120

from __future__ import annotations

import functools
import os
import stat
from typing import TYPE_CHECKING, TypeAlias

import assent.lazy_regex as re
from assent.catalog import lookup
from assent.model import UNKNOWN, AssentError
from assent.platform.files import find_file
from assent.platform.paths import user_home
from assent.platform.project_code import find_project_code, find_shadow

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FOLDERS = 64
MOST_MODULES = 64
MOST_PLACES = 256
MOST_REFS = 20_000
LARGEST_INDEX = 64 * 1024 * 1024
_LINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in an index."""
_PACKED = b"\x00\x00\x00\x04"
"""The index version with compressed names."""
_SHARED = b"link"
"""The extension that names a shared index."""

_Stamp: TypeAlias = tuple[int, int, int, int]

_HEADER = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"([A-Za-z][\w-]*)\s*(?:=\s*(.*))?$")
_RUNS = re.compile(
    r"core\.(?:hookspath|pager|editor|sshcommand|askpass|gitproxy|alternaterefscommand)|diff\.external"
    r"|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver|.*tool\..+\.cmd"
    r"|gpg\.(?:.+\.)?program|credential\.(?:.+\.)?helper|include\.path|includeif\..+\.path"
    r"|remote\..+\.(?:uploadpack|receivepack|vcs)|protocol\.(?:ext\.)?allow|tar\..+\.command|uploadpack\.packobjectshook"
    r"|hook\..+\.command|sequence\.editor|interactive\.difffilter|trailer\..+\.(?:command|cmd)|pager\..+|core\.attributesfile"
    r"|(?:browser|man)\..+\.(?:cmd|path)|lfs\..+\.(?:clean|smudge|path)|delta\.(?:.+\.)?pager"
    r"|core\.worktree|extensions\.partialclone"
)
_HEAD = re.compile("ref:[ \t]*refs/[!-~]|[0-9a-f]{40}")
_MARKS = re.compile(r'\\.?|["#;]')
_COMMENTS = ("#", ";")
_HARMLESS = re.compile(r"|true|false|yes|no|on|off|0|1|cat|git-lfs (?:clean|smudge|filter-process)[-\w% ]*")
_BANG = re.compile(r"alias\..+|submodule\..+\.update")


def find_trap(tool: str, folder: str) -> str | None:
    """Return what in a folder's repository makes a read-only command of this tool run code; None if nothing does."""
    if UNKNOWN in folder:
        return _among(tool, folder)
    try:
        match tool:
            case "git":
                return _git(folder)
            case "git-refs":
                return _refs(folder)
            case "python" | "pip":
                return find_shadow(folder)
            case _:
                return find_project_code(tool, folder, user_home())
    except (OSError, ValueError, AssentError) as error:
        return f"the repository's settings cannot be read: {error}"


def _among(tool: str, folder: str) -> str | None:
    """Check every folder that a path with one unknown name may mean."""
    begin, _, end = folder.partition(UNKNOWN)
    parent, rest = begin.rpartition("/")[0], end.partition("/")[2]
    if not parent or UNKNOWN in rest:
        return "its folder is only known when it runs, and may hold settings that run code"
    try:
        with os.scandir(parent) as names:
            places = [os.path.join(entry.path, rest) for entry in names if entry.is_dir() and entry.name != ".git"]
    except (OSError, ValueError) as error:
        return f"its folder cannot be read: {error}"
    if len(places) > MOST_PLACES:
        return "it may run in more folders than are looked at"
    return next((trap for place in places if (trap := find_trap(tool, place)) is not None), None)


def _git(folder: str) -> str | None:
    for top, store in _git_folders(folder):
        trap = "this folder is itself a repository's store" if store == folder else _stores(store, top)
        if trap is not None:
            return trap
    return None


def _stores(found: str, top: str) -> str | None:
    """Check a git directory, the one it shares with other worktrees, and those of submodules."""
    for store in dict.fromkeys((found, _common(found))):
        inner = _modules(os.path.join(store, "modules"))
        if len(inner) > MOST_MODULES:
            return "the repository has more submodules than are looked at"
        for place in (store, *inner):
            trap = _store(place)
            if trap is not None:
                return trap
    return _embedded(found, top)


def _common(store: str) -> str:
    return os.path.normpath(os.path.join(store, _read(os.path.join(store, "commondir")).strip()))


def _embedded(store: str, top: str) -> str | None:
    """Check submodules with a git directory of their own, which git reads too."""
    links = _all_links(store)
    if links is None or len(links) > MOST_MODULES:
        return "the repository's submodules cannot be read"
    for link in links:
        place = os.path.join(top, link)
        trap = _git(place) if os.path.lexists(os.path.join(place, ".git")) else None
        if trap is not None:
            return trap
    return None


def _all_links(store: str) -> tuple[str, ...] | None:
    """Find the submodules in an index and its shared indexes."""
    index = os.path.join(store, "index")
    found: list[str] = []
    for path in (index, *(os.path.join(store, name) for name in _shared(index, _stamp(index)))):
        links = _links(path, _stamp(path))
        if links is None:
            return None
        found += links
    return tuple(found)


@functools.lru_cache(maxsize=256)
def _shared(path: str, stamp: _Stamp | None) -> tuple[str, ...]:
    """Return the possible shared indexes, by hash; most do not exist."""
    data = b"" if stamp is None else _index(path)
    hashes = [data[at + 8 : at + 8 + size] for at in _places(data, _SHARED) for size in (20, 32)]
    return tuple(f"sharedindex.{digest.hex()}" for digest in hashes)


def _places(data: bytes, what: bytes) -> Iterator[int]:
    at = data.find(what)
    while at >= 0:
        yield at
        at = data.find(what, at + 1)


def _index(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - a path is a string here
        return file.read(LARGEST_INDEX + 1)


@functools.lru_cache(maxsize=256)
def _links(path: str, stamp: _Stamp | None) -> tuple[str, ...] | None:
    """Find the submodules in an index by their mode; None for an unsupported format."""
    data = b"" if stamp is None else _index(path)
    if len(data) > LARGEST_INDEX:
        return None
    found: list[str] = []
    for at in _places(data, _LINK):
        if data[4:8] == _PACKED:
            return None
        found += _names(data, at)
    return tuple(dict.fromkeys(found))


def _names(data: bytes, at: int) -> list[str]:
    """Parse the name after a mode, for both hash lengths; a false match has no valid name."""
    names = []
    for digest in (20, 32):
        begin = at + 16 + digest + 2
        flags = int.from_bytes(data[begin - 2 : begin], "big")
        name = data[begin + (2 if flags & 0x4000 else 0) :][:4096].partition(b"\0")[0]
        if name and min(len(name), 0xFFF) == flags & 0xFFF:
            names.append(os.fsdecode(name))
    return names


def _modules(folder: str) -> list[str]:
    """Find the git directories of submodules, nested ones included; a name may contain slashes."""
    found: list[str] = []
    for seen, (path, folders, files) in enumerate(os.walk(folder, onerror=_raise) if os.path.isdir(folder) else ()):
        if "config" in files or seen > MOST_MODULES:
            found.append(path)
            folders[:] = [name for name in folders if name == "modules"]
        if len(found) > MOST_MODULES:
            break
    return found


def _raise(error: OSError) -> None:
    raise error


def _refs(folder: str) -> str | None:
    """Find a branch or tag whose name looks like an option."""
    found = [store for _, store in _git_folders(folder)]
    for store in dict.fromkeys((*found, *map(_common, found))):
        packed = os.path.join(store, "packed-refs")
        if _has_dashed_refs(packed, _stamp(packed)) or _has_dashed_files(os.path.join(store, "refs")):
            return "a branch or a tag has a name that starts with a dash"
        head = _read(os.path.join(store, "HEAD"))
        if "/-" in head:
            return "the current branch has a name that starts with a dash"
        if os.path.isdir(os.path.join(store, "reftable")):
            return "the names of branches and tags cannot be read"
    return None


@functools.lru_cache(maxsize=256)
def _has_dashed_refs(path: str, stamp: _Stamp | None) -> bool:
    return stamp is not None and re.search(r"^\S+ refs/\w+/(?:[^/\n]+/)?-", _read(path), re.MULTILINE) is not None


def _has_dashed_files(folder: str) -> bool:
    """Search loose refs; too many count as found."""
    seen = 0
    for _, folders, files in os.walk(folder):
        seen += len(files) + len(folders)
        if seen > MOST_REFS or any(name.startswith("-") for name in (*files, *folders)):
            return True
    return False


def _git_folders(folder: str) -> list[tuple[str, str]]:
    """Find the git directory of a folder's repository and its top folder.

    What only looks like a store git passes over; so it comes first here, and the real one after it.
    """
    found: list[tuple[str, str]] = []
    current = folder
    for _ in range(MOST_FOLDERS):
        store = f"{current.rstrip('/')}/.git"
        kind = _kind(store)
        if stat.S_ISREG(kind):
            return [*found, (current, os.path.normpath(os.path.join(current, _read(store).partition(":")[2].strip())))]
        stores = [(current, store)] if stat.S_ISDIR(kind) else []
        stores += [(current, current)] if _has_head(current) else []
        found += stores
        if any(_is_store(each) for _, each in stores):
            return found
        parent = os.path.dirname(current)
        if parent == current:
            break
        current = parent
    return found


def _kind(path: str) -> int:
    """Return the file type of a path; 0 if it is missing or not accessible."""
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        return 0


def _has_head(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "HEAD")) and any(
        os.path.lexists(os.path.join(folder, name)) for name in ("objects", "commondir")
    )


def _is_store(folder: str) -> bool:
    """Return whether git accepts a folder as git directory; if in doubt no, so that the search goes on upward."""
    head, common = os.path.join(folder, "HEAD"), _common(folder)
    return (
        not os.path.islink(head)
        and _HEAD.match(_read(head)) is not None
        and all(os.path.isdir(os.path.join(common, name)) for name in ("objects", "refs"))
    )


def _store(store: str) -> str | None:
    """Check one git directory: its config, and the hook that read-only commands can start."""
    for name in ("config", "config.worktree"):
        path = os.path.join(store, name)
        trap = _settings(path, _stamp(path))
        if trap is not None:
            return trap
    if os.access(os.path.join(store, "hooks", "post-index-change"), os.X_OK):
        return "the repository's hook post-index-change runs code"
    return None


@functools.lru_cache(maxsize=1024)
def _settings(path: str, stamp: _Stamp | None) -> str | None:
    """Find the first setting of a git config that runs a program."""
    section = ""
    for line in _logical_lines(_read(path)) if stamp is not None else ():
        header = _HEADER.match(line)
        if header is not None:
            section = ".".join(p for p in header.groups() if p is not None).lower()
            line = line[header.end() :].strip()  # noqa: PLW2901 - a setting may follow its header
        entry = _ENTRY.match(line)
        if not line or line[0] in "#;":
            continue
        if entry is None:
            return "the repository's git config cannot be read"
        name, value = f"{section}.{entry[1].lower()}", (entry[2] or "").strip().strip('"')
        if name == "core.worktree" and _is_own_tree(os.path.dirname(path), value):
            continue
        if _runs_code(name, value):
            return f"the repository's setting {name} runs code"
    return None


def _is_own_tree(store: str, tree: str) -> bool:
    """Return whether a submodule's git directory points to a folder of its repository, as git sets it up."""
    top, inside, _ = store.partition("/.git/modules/")
    folder = os.path.realpath(os.path.join(store, tree))
    return bool(inside) and folder.startswith(os.path.realpath(top) + "/") and "/.git/" not in f"{folder}/"


def _logical_lines(text: str) -> list[str]:
    """Join lines that end with an unescaped backslash outside of a comment."""
    lines: list[str] = []
    parts: list[str] = []
    quoted = False
    # Only these end a line: other separators would start a section that git does not see.
    for line in text.replace("\r\n", "\n").split("\n"):
        continues = False
        for mark in _MARKS.findall(line):
            quoted = quoted != (mark == '"')
            continues = mark == "\\"
            if mark in _COMMENTS and not quoted:
                break
        parts.append(line[:-1] if continues else line)
        if not continues:
            lines.append(" ".join(parts).strip())
            parts, quoted = [], False
    return [*lines, " ".join(parts).strip()]


def _replaces(name: str) -> bool:
    """Return whether an alias has the name of a subcommand, which an older git without it would run."""
    git = lookup("git")
    return name.startswith("alias.") and git is not None and name.split(".")[1] in git.children


def _runs_code(name: str, value: str) -> bool:
    if _BANG.fullmatch(name):
        return value.lstrip('"').startswith("!") or _replaces(name)
    if name.startswith("url.ext::"):
        return True
    if name == "core.fsmonitor":
        return _HARMLESS.fullmatch(value.lower()) is None
    return _RUNS.fullmatch(name) is not None and (name == "core.hookspath" or _HARMLESS.fullmatch(value) is None)


def _stamp(path: str) -> _Stamp | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _read(path: str) -> str:
    """Return a text file; empty if it does not exist."""
    content = find_file(path)
    return "" if content is None else content.data.decode("utf-8", errors="surrogateescape")

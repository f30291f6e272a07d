"""Find the secrets of this machine that are hidden from a sandboxed command, as real paths."""

from __future__ import annotations

import functools
import glob
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from assent.catalog.secret_names import NOT_SECRET, SECRET_FOLDERS, SECRET_PATHS, SECRETS, is_secret
from assent.model import ConfigError, within
from assent.platform.files import find_file
from assent.platform.paths import user_home
from assent.sandbox.environment.variables import FILE_VARIABLES, SOCKET_VARIABLES

_ELSEWHERE = ("/proc/", "/dev/", "/run/", "/var/run/")
"""Inside, these are new and empty."""
_SYSTEM = tuple(pattern[1:] for pattern in SECRET_PATHS if not pattern.startswith(_ELSEWHERE))
_ASSENT = ".local/share/assent"
"""Assent's default home: the user of a command may have another one than its launcher."""
_SETTINGS = frozenset({".npmrc", ".yarnrc", ".yarnrc.yml", ".envrc"})
"""Settings in a project: hidden only if they hold a credential."""
_KEY_FILES = (".pem", ".key", ".asc")
_HOLDS_SECRET = re.compile(rb"(?i)PRIVATE KEY|_auth|token|passw|secret|api_?key")
_AT_HOME = (
    *(".composer/auth.json", ".config/composer/auth.json", ".config/containers/auth.json", ".bundle/config"),
    _ASSENT,
)
"""Secrets by their path in a home; the same names in a project are settings."""
_SETTINGS_AT_HOME = (".cargo/config.toml", ".cargo/config", ".config/uv/uv.toml", ".condarc")
"""Tools inside read these, so they are hidden only if they hold a credential."""
_HOLDS_CREDENTIAL = re.compile(
    rb"""(?i)://[^\s/"'@]+@|(?:^|[{,\s])["']?[\w.-]*(?:token|passw(?:or)?d|secret-key)["']?\s*[=:]\s*["'{\[\w]"""
)
_CROWDS = frozenset(
    {".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", "site-packages", ".hypothesis"}
    | {".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
)
"""Large folders of code by others: only their direct entries are checked."""
_DEEPEST = 6
_MOST_ENTRIES = 100_000
"""How many entries are checked below the root. All entries of the root are checked."""

_PUBLIC = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix")
"""Folders that every command needs: no link into them leads to a secret."""


class Survey(NamedTuple):
    """The folders of workspaces at one time."""

    numbers: dict[str, int]
    """The inode of each folder."""
    listed: set[str]
    """Folders whose sub-folders are all known."""


EMPTY_SURVEY = Survey({}, set())


def find_secrets(
    homes: tuple[str, ...], roots: Iterable[str], environ: Mapping[str, str], survey: Survey | None = None
) -> Iterator[str]:
    """Yield the real path of every existing secret; `survey` collects the folders seen on the way."""
    roots, survey = tuple(roots), survey or Survey({}, set())
    names = Listings()
    launcher = os.path.realpath(user_home(environ) or "/")  # the command may run as another user
    known = homes if launcher in ("/", *homes) else (*homes, launcher)
    found = [*_system(names), *_of_homes(known, names), *_others(homes), *_sockets(environ), *_named(environ, names)]
    for root in roots:
        found += _in_workspace(root, survey)
    real_folder = functools.cache(os.path.realpath)
    linked: dict[int, int] = {}
    for path in dict.fromkeys(found):
        folder, name = os.path.split(path)
        real = os.path.realpath(path) if os.path.islink(path) else os.path.join(real_folder(folder), name)
        try:
            status = os.stat(real)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            linked[status.st_ino] = status.st_dev
        yield real
    for root in roots if linked else ():
        yield from _by_other_names(root, linked, found)


class Listings:
    """List each folder once: there are hundreds of patterns of secrets in a few folders.

    Names match in any case.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[tuple[str, str]] | None] = {}

    def find(self, folder: str, tree: _Tree) -> Iterator[str]:
        """Yield every path below a folder that matches the tree, hidden names included."""
        if folder not in self._known:
            self._known[folder] = _list(folder)
        names = self._known[folder]
        if names is None:  # not readable, but a known name can be tested
            names = [(part.lower(), part) for part in tree.written if os.path.lexists(f"{folder}/{part}")]
        plain, heads, tails = tree.plain, tree.heads, tree.tails
        known = [n for n in names if n[0] in plain or n[0].startswith(heads) or n[0].endswith(tails)]
        for low, name in known:  # few match
            for branch in tree.take(low):
                path = f"{folder.rstrip('/')}/{name}"
                if branch.is_place:
                    yield path
                if branch.plain or branch.starred:
                    yield from self.find(path, branch)


class _Tree:
    """Patterns of paths as a tree of parts, so that one lookup finds all patterns for a name."""

    def __init__(self) -> None:
        self.is_place = False
        """Whether a pattern ends here."""
        self.plain: dict[str, _Tree] = {}
        self.starred: dict[str, _Tree] = {}
        self.written: list[str] = []
        """The plain names in their own case."""
        self.heads: tuple[str, ...] = ()
        """Prefixes of names that a pattern with a star may match."""
        self.tails: tuple[str, ...] = ()
        """Suffixes of such names."""

    def take(self, low: str) -> list[_Tree]:
        """Return the branches for a name in lower case."""
        found = [self.plain[low]] if low in self.plain else []
        if low.startswith(self.heads) or low.endswith(self.tails):
            found += [tree for pattern, tree in self.starred.items() if _fits(low, pattern)]
        return found

    def add(self, parts: list[str]) -> None:
        """Add a pattern."""
        if not parts:
            self.is_place = True
            return
        part, low = parts[0], parts[0].lower()
        if "*" not in part:
            self.written.append(part)
            self.plain.setdefault(low, _Tree()).add(parts[1:])
            return
        head, tail = low.partition("*")[0], low.rpartition("*")[2]
        if len(head) >= len(tail):
            self.heads += (head,)
        else:
            self.tails += (tail,)
        self.starred.setdefault(low, _Tree()).add(parts[1:])


@functools.cache
def _grow(*patterns: str) -> _Tree:
    tree = _Tree()
    for pattern in patterns:
        tree.add(pattern.split("/"))
    return tree


def _fits(name: str, pattern: str) -> bool:
    """Match a name against a pattern with stars; quicker than compiling hundreds of regular expressions."""
    head, *middle, tail = pattern.split("*")
    if len(name) < len(head) + len(tail) or not (name.startswith(head) and name.endswith(tail)):
        return False
    at, end = len(head), len(name) - len(tail)
    for piece in middle:
        found = name.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _list(folder: str) -> list[tuple[str, str]] | None:
    """Return the names in a folder, each in lower case and as it is; None if the folder cannot be listed."""
    try:
        return [(name.lower(), name) for name in os.listdir(folder)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        return None


def _system(names: Listings) -> list[str]:
    return list(names.find("/", _grow(*_SYSTEM)))


def _of_homes(homes: tuple[str, ...], names: Listings) -> list[str]:
    found = [path for home in homes for path in names.find(home, _grow(*SECRETS, *_AT_HOME))]
    settings = [path for home in homes for path in names.find(home, _grow(*_SETTINGS_AT_HOME))]
    found += [path for path in settings if _holds(path, _HOLDS_CREDENTIAL)]
    shown = {path for home in homes for path in names.find(home, _grow(*NOT_SECRET))}
    return [path for path in found if path not in shown]


def _others(homes: tuple[str, ...]) -> list[str]:
    """Return the homes of other users."""
    own = {os.path.realpath(home) for home in homes}
    return [home for home in (*glob.glob("/home/*"), "/root") if os.path.realpath(home) not in own]


def _named(environ: Mapping[str, str], names: Listings) -> list[str]:
    """Return the secrets that variables name, anywhere on the disk."""
    files = [path for name in FILE_VARIABLES for path in environ.get(name, "").split(":")]
    found = [path for path in files if os.path.isfile(path) and not covers(_PUBLIC, path)]
    for name, default in SECRET_FOLDERS.items():
        folder, inside = environ.get(name, ""), default[2:]
        if not os.path.isabs(folder) or os.path.realpath(folder) in ("/", os.path.realpath(os.path.expanduser("~"))):
            continue
        found += [folder] if inside in SECRETS else []
        below = [pattern[len(inside) + 1 :] for pattern in SECRETS if pattern.startswith(f"{inside}/")]
        found += names.find(folder, _grow(*below)) if below else []
    return [path for path in found if os.path.isabs(path)]


def _sockets(environ: Mapping[str, str]) -> list[str]:
    """Return Unix sockets that a process listens on, and those that variables of the user's session name."""
    said = (environ.get(name, "") for name in SOCKET_VARIABLES)
    named = [p for text in said for p in re.findall(r"(?:^|=|unix://)(/[^,;:]+)", text)]
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()[1:]
    except OSError:
        lines = []
    # Column 8 is the path, column 4 the flag for listening, column 5 the type: datagram sockets need not listen.
    table = (row for line in lines if len(row := line.split(None, 7)) == 8 and row[7].startswith("/"))
    heard = [row[7] for row in table if (row[3] == "00010000" or row[4] == "0002") and _is_socket(row[7])]
    return [path for path in (*named, *heard) if not path.startswith((*_ELSEWHERE, "/tmp/", "/run"))]  # noqa: S108 - as above


def _is_socket(path: str) -> bool:
    """Tell whether a path is still a socket: its owner may have put a link in its place."""
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _in_workspace(root: str, survey: Survey) -> list[str]:
    found: list[str] = []
    tree = _grow(*SECRETS)
    plain, heads, tails = tree.plain, tree.heads, tree.tails
    for entry in _walk(root, survey, found):
        low = entry.name.lower()
        may_be = low in plain or low.startswith(heads) or low.endswith(tails) or not low.isascii()
        if may_be and is_secret("/" + entry.name) and (secret := _find_secret(entry, root)) is not None:
            found.append(secret)
        elif entry.is_dir(follow_symlinks=False):
            survey.numbers[entry.path] = entry.inode()
    return found


def _by_other_names(root: str, linked: Mapping[int, int], hidden: Collection[str]) -> Iterator[str]:
    """Yield hard links in a workspace to hidden files, which are given by inode and device."""
    for entry in _walk(root, Survey({}, set()), hidden):
        if entry.inode() in linked and entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            if linked.get(status.st_ino) == status.st_dev:
                yield os.path.join(os.path.realpath(os.path.dirname(entry.path)), entry.name)


def _walk(root: str, survey: Survey, hidden: Collection[str]) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a workspace, within the limits of depth and number; skip hidden folders."""
    folders, left = [(root, 0)], _MOST_ENTRIES
    for folder, depth in folders:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        left -= len(entries)
        if left < 0 and depth:
            break
        survey.listed.add(folder)
        yield from entries
        if depth + 1 < _DEEPEST and (depth == 0 or os.path.basename(folder) not in _CROWDS):
            inner = (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
            folders += [(path, depth + 1) for path in inner if path not in hidden]


def _find_secret(entry: os.DirEntry[str], root: str) -> str | None:
    """Return the path to hide for an entry with the name of a secret: itself, or the target of the link."""
    path = entry.path
    if entry.is_symlink():
        path = os.path.realpath(path)
        if within(root, path) or covers(_PUBLIC, path) or path.startswith(_ELSEWHERE):
            return None
    if os.path.isdir(path):
        return path if entry.name.startswith(".") else None
    if entry.name in _SETTINGS or entry.name.endswith(_KEY_FILES):
        return path if _holds(path, _HOLDS_SECRET) else None
    return path


def _holds(path: str, sign: re.Pattern[bytes]) -> bool:
    """Tell whether the content of a file matches the signs of a secret."""
    try:
        content = find_file(path)
    except ConfigError:
        return True  # too large, not a plain file, or not readable: not a settings file
    return content is not None and sign.search(content.data) is not None


def covers(paths: Iterable[str], path: str) -> bool:
    """Tell whether a path is one of these or lies below one."""
    return any(within(path, above) for above in paths)

"""Change the settings of agents: keep other entries, make backups, and register what was changed."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH112, PTH117, PTH118, PTH119, PTH120

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.specs import WIRINGS, HookClient, Scope, Wiring, is_ours
from assent.model import ConfigError, within
from assent.platform import jsonc
from assent.platform.facts import HOOKS_FILE
from assent.platform.files import find_file, find_private, make_private_folder, write_file, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

AGENTS_FOLDER = "agents"
BACKUPS_FOLDER = "backups"
_BOOK, _LOCK = "wirings.json", "wirings.lock"


class SettingsChange(msgspec.Struct, frozen=True):
    """The content of a file before and after; None for no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600
    """Permissions of a new file."""


class WrittenSettings(msgspec.Struct, frozen=True):
    """A file that Assent wrote, and how to restore it."""

    path: str
    sha256: str
    """The hash of the written content."""
    backup: str | None = None
    """The backup of the previous content; None if there was no file."""
    copy: str | None = None
    """A copy of the written content, to detect later changes."""
    folders: tuple[str, ...] = ()
    """Folders that were created for the file, innermost first."""

    def is_now(self, data: bytes) -> bool:
        """Return whether the content is still what Assent wrote."""
        return hashlib.sha256(data).hexdigest() == self.sha256


class Wired(msgspec.Struct, frozen=True, kw_only=True):
    """One connected agent."""

    agent: str
    scope: Scope
    root: str | None
    """The project; None for all projects."""
    key: str
    """The name of the token file."""
    token: str
    observe: bool = False
    lines: tuple[str, ...] = ()
    """The hook command lines, to decide and to report. Similar lines of others are not Assent's."""
    files: tuple[WrittenSettings, ...] = ()

    def moved_to(self, root: str) -> Wired:
        """Return the entry with its project at another path."""

        def there(path: str) -> str:
            old = self.root or root
            return root + path[len(old) :] if within(path, old) else path

        files = tuple(
            msgspec.structs.replace(each, path=there(each.path), folders=tuple(map(there, each.folders)))
            for each in self.files
        )
        return msgspec.structs.replace(self, root=root, files=files)


def settings_file(wiring: Wiring, scope: Scope, root: str | None, *, home: str, environ: Mapping[str, str]) -> str:
    """Return the settings file to change."""
    if scope == "project" and root is not None:
        return os.path.join(root, wiring.folder, wiring.project_file)
    chosen = environ.get(wiring.variable, "") if wiring.variable else ""
    folder = chosen if os.path.isabs(chosen) else os.path.join(home, wiring.folder)
    return os.path.join(folder, wiring.user_file)


def read_text(path: str) -> str | None:
    """Read a settings file; None if it does not exist. Raise if it cannot be changed safely."""
    content = find_file(path)
    if content is None:
        return None
    hint = "edit it yourself; --dry-run shows the change"
    if not content.status.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise ConfigError("the file is read-only", file=path, suggestion=f"make it writable, or {hint}")
    if content.status.st_uid != os.geteuid():
        raise ConfigError("the file belongs to another user", file=path, suggestion=hint)
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8 text", file=path, suggestion=hint) from None


def plan_wiring(wiring: Wiring, path: str, client: HookClient, status: str) -> SettingsChange:
    """Plan an agent's settings with the hook added; entries of older versions are replaced."""
    before = read_text(path)
    text = unwire(before or "", path)
    check_plain(wiring, before or "", path)
    check_entries(wiring, jsonc.parse(before or "", file=path).value, path)
    entries = wiring.entries(client, status)
    for place, entry in entries:
        text = jsonc.append(text, place, entry, file=path)
    for place, value in wiring.switches:
        held = look(jsonc.parse(text, file=path).value, place)
        wanted = add_to(held, value)
        if held != wanted:
            text = jsonc.assign(text, place, wanted, file=path)
    _check(text, path, entries, before or "", wiring.switches)
    return SettingsChange(path, None if before is None else before.encode(), text.encode())


def add_to(held: Any, value: Any) -> Any:
    """Return the new value of a setting: the value, or the list with the missing items added."""
    if not isinstance(value, tuple):
        return value
    known = held if isinstance(held, list) else []
    return [*known, *(each for each in value if each not in known)]


def check_plain(wiring: Wiring, text: str, path: str) -> None:
    """Refuse settings that the agent cannot parse: it would run without a hook."""
    if not wiring.plain or not text.strip():
        return
    try:
        json.loads(text)
    except ValueError as error:
        odd = "the byte order mark" if text.startswith("\ufeff") else "comments and trailing commas"
        hint = f"remove {odd}: {wiring.agent} reads only plain JSON and would run without a hook"
        raise ConfigError(f"{wiring.agent} cannot parse this file: {error}", file=path, suggestion=hint) from None


def check_entries(wiring: Wiring, settings: Any, path: str) -> None:
    """Refuse a hooks file with other entries: the agent would ignore the file and run without a hook."""
    given = settings if wiring.hooks_alone and isinstance(settings, dict) else {}
    odd = [name for name in given if name not in ("description", "hooks")]
    odd += ["description"] if not isinstance(given.get("description", ""), str) else []
    odd += [f"hooks.{event}" for event, entries in _hooks(given).items() if not all(map(_is_entry, entries))]
    if odd:
        hint = f"remove {', '.join(odd)}: {wiring.agent} would ignore the whole file and run without a hook"
        raise ConfigError(f"{wiring.agent} rejects this file", file=path, suggestion=hint)


def _is_entry(entry: Any) -> bool:
    handlers = entry.get("hooks", []) if isinstance(entry, dict) else None
    if not isinstance(handlers, list) or not isinstance(entry.get("matcher", ""), str | None):
        return False
    return all(
        isinstance(each, dict) and each.get("type") in ("command", "mcp_tool", "prompt", "agent") for each in handlers
    )


def our_entries(path: str, text: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return entries that look like Assent's, by event; `text` replaces the file's content."""
    if text is None:
        content = find_file(path)
        text = "" if content is None else content.data.decode("utf-8", "replace")
    hooks = _hooks(jsonc.parse(text, file=path).value)
    found = {event: [entry for entry in entries if is_ours(entry)] for event, entries in hooks.items()}
    return {event: entries for event, entries in found.items() if entries}


def unwire(text: str, path: str) -> str:
    """Return settings without entries that look like Assent's."""
    hooks = _hooks(jsonc.parse(text, file=path).value)
    for event, entries in hooks.items():
        ours = [index for index, entry in enumerate(entries) if is_ours(entry)]
        for index in reversed(ours):
            text = jsonc.remove(text, ("hooks", event), index, file=path)
        if ours and len(ours) == len(entries):
            text = jsonc.drop(text, ("hooks", event), file=path)
    if hooks and look(jsonc.parse(text, file=path).value, ("hooks",)) == {}:
        text = jsonc.drop(text, ("hooks",), file=path)
    return text


def _hooks(settings: Any) -> dict[str, list[Any]]:
    found = settings.get("hooks") if isinstance(settings, dict) else None
    return {event: entries for event, entries in (found or {}).items() if isinstance(entries, list)} if found else {}


def look(value: Any, place: tuple[str, ...]) -> Any:
    """Return the value at a path in settings; None if there is none."""
    for key in place:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _check(
    text: str,
    path: str,
    entries: Sequence[tuple[tuple[str, ...], dict[str, Any]]],
    before: str,
    switches: Sequence[tuple[tuple[str, ...], Any]],
) -> None:
    """Make sure that the text has the entries and keeps everything that is not Assent's."""
    now, then = jsonc.parse(text, file=path).value, jsonc.parse(before, file=path).value or {}
    whole = all(entry in (look(now, place) or []) for place, entry in entries)
    apart = [("hooks",), *(place for place, _ in switches)]
    kept = _has(_without(now, apart), _without(then, apart))
    others = all(
        [e for e in _hooks(now).get(event, []) if not is_ours(e)] == [e for e in found if not is_ours(e)]
        for event, found in _hooks(then).items()
    )
    if not (whole and kept and others):
        raise ConfigError("the structure of this file cannot be changed safely", file=path)


def _without(value: Any, places: Sequence[tuple[str, ...]]) -> Any:
    """Return settings without the values at these paths."""
    if not isinstance(value, dict):
        return value
    inner = {key: [place[1:] for place in places if place[:1] == (key,) and len(place) > 1] for key in value}
    return {key: _without(each, inner[key]) for key, each in value.items() if (key,) not in places}


def _has(now: Any, then: Any) -> bool:
    """Return whether `now` has everything of `then`; additional objects are fine."""
    if isinstance(now, dict) and isinstance(then, dict):
        return all(key in now and _has(now[key], value) for key, value in then.items())
    return bool(now == then)


def prepare(change: SettingsChange, home: str, before: bytes | None) -> WrittenSettings:
    """Back up a file's old and new content in Assent's home, and return how to restore it."""
    after = change.after or b""
    backup = None if before is None else back_up(change.path, before, home)
    copy = back_up(change.path, after, home)
    folders = _missing_folders(os.path.dirname(os.path.realpath(change.path)))
    return WrittenSettings(change.path, hashlib.sha256(after).hexdigest(), backup, copy, folders)


def apply_change(change: SettingsChange) -> None:
    """Write a file atomically, following links; raise if it changed since the plan."""
    content = find_file(change.path)
    if (None if content is None else content.data) != change.before:
        raise ConfigError("the file was changed meanwhile", file=change.path, suggestion="run the command again")
    path = os.path.realpath(change.path)
    for folder in reversed(_missing_folders(os.path.dirname(path))):
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102 - paths are strings here
        except OSError as error:
            raise ConfigError(f"cannot create this folder: {error.strerror}", file=folder) from None
    write_file(path, change.after or b"", mode=file_mode(path, change.mode))


def back_up(path: str, data: bytes, home: str) -> str:
    """Copy a file's content to Assent's home, and return the path."""
    folder = os.path.join(home, BACKUPS_FOLDER)
    make_private_folder(folder)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    # Includes the content: two changes within a second must not share a backup.
    unique = hashlib.sha256(path.encode() + b"\0" + data).hexdigest()[:16]
    backup = os.path.join(folder, f"{stamp}-{unique}-{os.path.basename(path)}")
    write_private(backup, data)
    return backup


def _missing_folders(folder: str) -> tuple[str, ...]:
    """Return the missing folders, innermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(missing)


def file_mode(path: str, otherwise: int) -> int:
    """Return the permissions of a file; `otherwise` if it does not exist."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - paths are strings here
    except OSError:
        return otherwise


@contextlib.contextmanager
def hold_book(home: str) -> Iterator[None]:
    """Lock the registry of connected agents while settings change."""
    folder = os.path.join(home, AGENTS_FOLDER)
    make_private_folder(home)
    make_private_folder(folder)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    lock = os.open(os.path.join(folder, _LOCK), flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def read_book(home: str) -> tuple[Wired, ...]:
    """Return all connected agents of this home."""
    folder = os.path.join(home, AGENTS_FOLDER)
    if not os.path.isdir(folder):
        return ()
    path = os.path.join(folder, _BOOK)
    data = find_private(path, suggestion="make its mode 0600")
    if data is None:
        return ()
    try:
        return msgspec.json.decode(data, type=tuple[Wired, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ConfigError("the file is damaged", file=path, suggestion="move it away and run `assent init`") from None


def write_book(home: str, wired: Sequence[Wired]) -> None:
    """Write the registry of connected agents, and protect their settings files."""
    folder = os.path.join(home, AGENTS_FOLDER)
    make_private_folder(home)
    make_private_folder(folder)
    write_private(os.path.join(folder, _BOOK), msgspec.json.format(msgspec.json.encode(list(wired))))
    files = sorted({written.path for each in wired for written in each.files})
    write_private(os.path.join(home, HOOKS_FILE), msgspec.json.encode(files))


def find_wired(book: Sequence[Wired], agent: str, scope: Scope, root: str | None) -> Wired | None:
    """Return an agent's entry in the registry."""
    wanted = root if scope == "project" else None
    return next((w for w in book if (w.agent, w.scope, w.root) == (agent, scope, wanted)), None)


def known_agents() -> tuple[str, ...]:
    """Return the agents that can be connected."""
    return tuple(WIRINGS)

"""The settings of agents, changed and changed back: what is not Assent's stays, and a backup is kept of what was."""

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
    """A file as it is and as it is to be; None is no file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int = 0o600
    """What a new file may be read by."""


class WrittenSettings(msgspec.Struct, frozen=True):
    """A file that was written, and the way back."""

    path: str
    sha256: str
    """Of what was written."""
    backup: str | None = None
    """Where its content of before is; None if there was no file."""
    copy: str | None = None
    """Where a copy of what was written is, to tell it from what others change later."""
    folders: tuple[str, ...] = ()
    """Folders that were made for it, innermost first."""

    def is_now(self, data: bytes) -> bool:
        """Tell whether this is what was written, and nobody changed it."""
        return hashlib.sha256(data).hexdigest() == self.sha256


class Wired(msgspec.Struct, frozen=True, kw_only=True):
    """One agent that is wired up."""

    agent: str
    scope: Scope
    root: str | None
    """The project, unless it is for all of them."""
    key: str
    """Names its token."""
    token: str
    observe: bool = False
    lines: tuple[str, ...] = ()
    """What it runs: to decide, and to report. What else looks like it is not Assent's, whatever it says."""
    files: tuple[WrittenSettings, ...] = ()

    def moved_to(self, root: str) -> Wired:
        """Return it as it is once its project lies elsewhere."""

        def there(path: str) -> str:
            old = self.root or root
            return root + path[len(old) :] if within(path, old) else path

        files = tuple(
            msgspec.structs.replace(each, path=there(each.path), folders=tuple(map(there, each.folders)))
            for each in self.files
        )
        return msgspec.structs.replace(self, root=root, files=files)


def settings_file(wiring: Wiring, scope: Scope, root: str | None, *, home: str, environ: Mapping[str, str]) -> str:
    """Name the settings to change."""
    if scope == "project" and root is not None:
        return os.path.join(root, wiring.folder, wiring.project_file)
    chosen = environ.get(wiring.variable, "") if wiring.variable else ""
    folder = chosen if os.path.isabs(chosen) else os.path.join(home, wiring.folder)
    return os.path.join(folder, wiring.user_file)


def read_text(path: str) -> str | None:
    """Read somebody's settings; None if there are none. What can not be changed safely is refused here."""
    content = find_file(path)
    if content is None:
        return None
    hint = "change it by hand: with --dry-run you see what is missing"
    if not content.status.st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise ConfigError("This file is read-only.", file=path, suggestion=f"make it writable, or {hint}")
    if content.status.st_uid != os.geteuid():
        raise ConfigError("This file belongs to someone else.", file=path, suggestion=hint)
    try:
        return content.data.decode()
    except UnicodeDecodeError:
        raise ConfigError("This file is not UTF-8 text.", file=path, suggestion=hint) from None


def plan_wiring(wiring: Wiring, path: str, client: HookClient, status: str) -> SettingsChange:
    """Work out an agent's settings with the hook in them; entries of an older Assent give way."""
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
    """Return what a switch is set to: its value, or what a list has, and what of the value it lacks."""
    if not isinstance(value, tuple):
        return value
    known = held if isinstance(held, list) else []
    return [*known, *(each for each in value if each not in known)]


def check_plain(wiring: Wiring, text: str, path: str) -> None:
    """Refuse settings that the agent itself could not read: it would go on without any hook."""
    if not wiring.plain or not text.strip():
        return
    try:
        json.loads(text)
    except ValueError as error:
        odd = "the byte order mark at its start" if text.startswith("\ufeff") else "comments and trailing commas"
        hint = f"it may go on without a hook: take out {odd}, it reads plain JSON alone"
        raise ConfigError(f"{wiring.agent} can not read this file: {error}.", file=path, suggestion=hint) from None


def check_entries(wiring: Wiring, settings: Any, path: str) -> None:
    """Refuse a file of hooks alone that holds what is none: the agent leaves out all of it, and goes on."""
    given = settings if wiring.hooks_alone and isinstance(settings, dict) else {}
    odd = [name for name in given if name not in ("description", "hooks")]
    odd += ["description"] if not isinstance(given.get("description", ""), str) else []
    odd += [f"hooks.{event}" for event, entries in _hooks(given).items() if not all(map(_is_entry, entries))]
    if odd:
        hint = f"it leaves the whole file out for that, and goes on without a hook: take out {', '.join(odd)}"
        raise ConfigError(f"{wiring.agent} can not read this file.", file=path, suggestion=hint)


def _is_entry(entry: Any) -> bool:
    handlers = entry.get("hooks", []) if isinstance(entry, dict) else None
    if not isinstance(handlers, list) or not isinstance(entry.get("matcher", ""), str | None):
        return False
    return all(
        isinstance(each, dict) and each.get("type") in ("command", "mcp_tool", "prompt", "agent") for each in handlers
    )


def our_entries(path: str, text: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return what looks like Assent's entries in a file, by event; `text` stands in for what is in it."""
    if text is None:
        content = find_file(path)
        text = "" if content is None else content.data.decode("utf-8", "replace")
    hooks = _hooks(jsonc.parse(text, file=path).value)
    found = {event: [entry for entry in entries if is_ours(entry)] for event, entries in hooks.items()}
    return {event: entries for event, entries in found.items() if entries}


def unwire(text: str, path: str) -> str:
    """Return settings without what looks like Assent's entries."""
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
    """Return what stands at a place in settings; None if nothing does."""
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
    """Make sure that the text holds the entries, and of what was there everything that is not Assent's."""
    now, then = jsonc.parse(text, file=path).value, jsonc.parse(before, file=path).value or {}
    whole = all(entry in (look(now, place) or []) for place, entry in entries)
    apart = [("hooks",), *(place for place, _ in switches)]
    kept = _has(_without(now, apart), _without(then, apart))
    others = all(
        [e for e in _hooks(now).get(event, []) if not is_ours(e)] == [e for e in found if not is_ours(e)]
        for event, found in _hooks(then).items()
    )
    if not (whole and kept and others):
        raise ConfigError("This file has a shape that can not be changed safely.", file=path)


def _without(value: Any, places: Sequence[tuple[str, ...]]) -> Any:
    """Return settings without what stands at these places."""
    if not isinstance(value, dict):
        return value
    inner = {key: [place[1:] for place in places if place[:1] == (key,) and len(place) > 1] for key in value}
    return {key: _without(each, inner[key]) for key, each in value.items() if (key,) not in places}


def _has(now: Any, then: Any) -> bool:
    """Tell whether everything that was in settings is there; objects may be there besides."""
    if isinstance(now, dict) and isinstance(then, dict):
        return all(key in now and _has(now[key], value) for key, value in then.items())
    return bool(now == then)


def prepare(change: SettingsChange, home: str, before: bytes | None) -> WrittenSettings:
    """Put copies of a file as it was and as it will be into Assent's home, and return the way back."""
    after = change.after or b""
    backup = None if before is None else back_up(change.path, before, home)
    copy = back_up(change.path, after, home)
    folders = _missing_folders(os.path.dirname(os.path.realpath(change.path)))
    return WrittenSettings(change.path, hashlib.sha256(after).hexdigest(), backup, copy, folders)


def apply_change(change: SettingsChange) -> None:
    """Write a file at once, where its links lead, unless it is no longer what the change was worked out from."""
    content = find_file(change.path)
    if (None if content is None else content.data) != change.before:
        raise ConfigError("This file was changed meanwhile.", file=change.path, suggestion="run it again")
    path = os.path.realpath(change.path)
    for folder in reversed(_missing_folders(os.path.dirname(path))):
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102 - paths are strings here
        except OSError as error:
            raise ConfigError(f"This folder can not be made: {error.strerror}.", file=folder) from None
    write_file(path, change.after or b"", mode=file_mode(path, change.mode))


def back_up(path: str, data: bytes, home: str) -> str:
    """Keep a copy of a file's content in Assent's home, and return where."""
    folder = os.path.join(home, BACKUPS_FOLDER)
    make_private_folder(folder)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    # By its content too: two changes within a second must not share a copy.
    unique = hashlib.sha256(path.encode() + b"\0" + data).hexdigest()[:16]
    backup = os.path.join(folder, f"{stamp}-{unique}-{os.path.basename(path)}")
    write_private(backup, data)
    return backup


def _missing_folders(folder: str) -> tuple[str, ...]:
    """Return the folders that are not there, innermost first."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(missing)


def file_mode(path: str, otherwise: int) -> int:
    """Return who may do what with a file."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116 - paths are strings here
    except OSError:
        return otherwise


@contextlib.contextmanager
def hold_book(home: str) -> Iterator[None]:
    """Keep everybody else who would change the book, and the settings in it, waiting."""
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
    """Return every agent that is wired up from this home."""
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
        raise ConfigError(
            "This file is damaged.", file=path, suggestion="move it away, and run `assent init`"
        ) from None


def write_book(home: str, wired: Sequence[Wired]) -> None:
    """Write down every agent that is wired up, and have its settings protected."""
    folder = os.path.join(home, AGENTS_FOLDER)
    make_private_folder(home)
    make_private_folder(folder)
    write_private(os.path.join(folder, _BOOK), msgspec.json.format(msgspec.json.encode(list(wired))))
    files = sorted({written.path for each in wired for written in each.files})
    write_private(os.path.join(home, HOOKS_FILE), msgspec.json.encode(files))


def find_wired(book: Sequence[Wired], agent: str, scope: Scope, root: str | None) -> Wired | None:
    """Return one agent's entry in the book."""
    wanted = root if scope == "project" else None
    return next((w for w in book if (w.agent, w.scope, w.root) == (agent, scope, wanted)), None)


def known_agents() -> tuple[str, ...]:
    """Name the agents that can be wired up."""
    return tuple(WIRINGS)

"""Restore settings: the previous content, or, if the file was changed since, without what Assent added."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH106, PTH108, PTH122

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import tomllib
from typing import TYPE_CHECKING, Any

import yaml

from assent.agents.hooks.opencode import is_our_plugin
from assent.agents.wiring.settings_changes import WrittenSettings, back_up, file_mode, look, our_entries, unwire
from assent.model import ConfigError
from assent.platform import jsonc
from assent.platform.files import find_file, find_private, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

Switches = tuple[tuple[tuple[str, ...], Any], ...]


def restore(written: WrittenSettings, home: str, switches: Switches = ()) -> str:
    """Restore one file, and return what was done."""
    content = find_file(written.path)
    if content is None:
        return f"{written.path} no longer exists"
    if written.is_now(content.data) and (done := _put_back(written)):
        return done
    now = content.data.decode("utf-8", "replace")
    if is_our_plugin(now):
        # The plugin would keep asking with a revoked token and so deny every call.
        kept = back_up(written.path, content.data, home)
        return f"{_put_back(written) or _remove(written)}; it had been changed, backup: {kept}"
    return _restore_changed(written, now, switches)


def _put_back(written: WrittenSettings) -> str | None:
    """Restore the previous content of a file; None if its backup is gone."""
    if written.backup is None:
        return _remove(written)
    before = _read(written.backup)
    if before is None:
        return None
    _write(written.path, before)
    return f"restored {written.path}"


def _remove(written: WrittenSettings) -> str:
    os.unlink(os.path.realpath(written.path))
    for folder in written.folders:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return f"removed {written.path}"


def _restore_changed(written: WrittenSettings, now: str, switches: Switches) -> str:
    if now == _text(written.backup):
        return f"unchanged {written.path}"
    text = take_out(written, now, switches)
    if text is None:
        return f"left {written.path} as it is: it was changed in the same place; remove Assent's entries yourself"
    _write(written.path, text.encode())
    return f"removed Assent's entries from {written.path}; later changes stay"


def take_out(written: WrittenSettings, now: str, switches: Switches) -> str | None:
    """Return the current text without what Assent added; None if that cannot be told apart."""
    before, after = _text(written.backup), _text(written.copy)
    merged = None if before is None or after is None else merge(after, before, now)
    if merged is not None and _is_sound(written.path, merged):
        return merged
    if not written.path.endswith(".json"):
        return None
    return _switch_back(unwire(now, written.path), before or "", switches, written.path)


def merge(base: str, mine: str, theirs: str) -> str | None:
    """Return a text with both changes applied; None if they overlap or touch."""
    lines = base.splitlines(keepends=True)
    hunks = sorted(_hunks(lines, mine) + _hunks(lines, theirs))
    if any(after[0] <= first[1] for first, after in itertools.pairwise(hunks)):
        return None
    for start, end, instead in reversed(hunks):
        lines[start:end] = instead
    return "".join(lines)


def _hunks(lines: Sequence[str], changed: str) -> list[tuple[int, int, list[str]]]:
    other = changed.splitlines(keepends=True)
    codes = difflib.SequenceMatcher(None, lines, other, autojunk=False).get_opcodes()
    return [(i1, i2, other[j1:j2]) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _is_sound(path: str, text: str) -> bool:
    """Return whether a text still parses."""
    try:
        match os.path.splitext(path)[1]:
            case ".json":
                return not our_entries(path, text)
            case ".toml":
                return isinstance(tomllib.loads(text), dict)
            case ".yaml":
                return isinstance(yaml.safe_load(text), dict | None)
            case _:
                return False
    except (ConfigError, tomllib.TOMLDecodeError, yaml.YAMLError):
        return False


def _switch_back(text: str, before: str, switches: Switches, path: str) -> str:
    """Restore each setting that still has the value that Assent set."""
    then = jsonc.parse(before, file=path).value
    for place, value in switches:
        old, held = look(then, place), look(jsonc.parse(text, file=path).value, place)
        left = _left_of(held, old, value)
        if left == held:
            continue
        if left is not None:
            text = jsonc.assign(text, place, left, file=path)
            continue
        text = jsonc.drop(text, place, file=path)
        for depth in range(len(place) - 1, 0, -1):
            above = place[:depth]
            if look(then, above) is None and look(jsonc.parse(text, file=path).value, above) == {}:
                text = jsonc.drop(text, above, file=path)
    return text


def _left_of(held: Any, old: Any, value: Any) -> Any:
    """Return a setting without Assent's change; None to remove it."""
    if not isinstance(value, tuple):
        return old if held == value else held
    if not isinstance(held, list):
        return held
    known = old if isinstance(old, list) else []
    left = [each for each in held if each in known or each not in value]
    return left if left or old is not None else None


def _read(path: str) -> bytes | None:
    return find_private(path, suggestion="make its mode 0600")


def _text(path: str | None) -> str | None:
    data = None if path is None else _read(path)
    return None if data is None else data.decode("utf-8", "replace")


def _write(path: str, data: bytes) -> None:
    real = os.path.realpath(path)
    write_file(real, data, mode=file_mode(real, 0o600))

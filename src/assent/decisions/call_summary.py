"""Summarise a call: as one line for people, and its input in short for the log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from assent.audit.masking import cut
from assent.model import Reading, ToolCall
from assent.policy.guard import command_text

LONGEST = 2000
LONGEST_VALUE = 400
LARGEST_OUTLINE = 4000
MASKED = "[masked:secret]"
_MOST_ITEMS = 50
_DEEPEST = 6
_SHORT = 80
_SCALARS = (int, float, type(None))


def summarise(call: ToolCall, reading: Reading) -> str:
    """Return the command of a shell call; for another tool its name and main resource."""
    text = command_text(call) if reading.tool == "Bash" else None
    if text is None:
        main = reading.operations[0].resource if reading.operations else ""
        text = reading.tool if main in ("", reading.tool) else f"{reading.tool} {main}"
    return text if len(text) <= LONGEST else cut(text, LONGEST) + "…"


def secrets_of(call: ToolCall) -> Any:
    """Return where to look for the secrets of a call: in its input, and in the fields that its host calls secret."""
    if not call.secrets:
        # The words of a shell command are in its log entry.
        return None if call.input.keys() <= {"command", "description"} else call.input
    return [call.input, [{"secret": each} for each in _under(call.input, call.secrets)]]


def _under(value: Any, names: Collection[str]) -> Iterator[Any]:
    for name, each in value.items() if isinstance(value, dict) else ():
        yield from (each,) if name in names else _under(each, names)
    for each in value if isinstance(value, list) else ():
        yield from _under(each, names)


def outline(given: dict[str, Any], secrets: Collection[str] = ()) -> dict[str, Any]:
    """Return a call's input in short: long texts and lists are cut with a note, and secret fields are masked."""
    given = mask(given, secrets) if secrets else given
    if len(given) <= _MOST_ITEMS and all(_is_short(value) for value in given.values()):
        return given
    outlined: dict[str, Any] = _Outline().of(given, _DEEPEST)
    return outlined


def mask(value: Any, names: Collection[str]) -> Any:
    """Return a value with every field of these names masked."""
    if isinstance(value, dict):
        return {name: MASKED if name in names else mask(each, names) for name, each in value.items()}
    return [mask(each, names) for each in value] if isinstance(value, list) else value


def _is_short(value: Any) -> bool:
    return len(value) <= _SHORT if isinstance(value, str) else isinstance(value, _SCALARS)


class _Outline:
    """Cuts one value to the size that is left."""

    def __init__(self) -> None:
        self._left = LARGEST_OUTLINE

    def of(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict | list) and depth == 0:
            return "…"
        if isinstance(value, dict):
            kept = dict(self._items((str(k), v) for k, v in value.items()))
            shown = {self._text(name): self.of(each, depth - 1) for name, each in kept.items()}
            return shown | ({"…": f"{len(value) - len(kept)} more"} if len(kept) < len(value) else {})
        if isinstance(value, list | tuple):
            listed = [self.of(each, depth - 1) for each in self._items(value)]
            return listed + ([f"… {len(value) - len(listed)} more"] if len(listed) < len(value) else [])
        return value

    def _items(self, items: Any) -> Any:
        for count, item in enumerate(items):
            if count >= _MOST_ITEMS or self._left <= 0:
                return
            self._left -= 8
            yield item

    def _text(self, text: str) -> str:
        kept = cut(text, min(LONGEST_VALUE, max(self._left, 0)))
        self._left -= len(kept)
        return kept if kept == text else f"{kept}… {len(text) - len(kept)} more characters"

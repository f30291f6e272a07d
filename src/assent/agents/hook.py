"""What a hook is asked and what it answers, in our words."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import CallError, Mode, Tier

ALLOWED, REFUSED = 0, 2
"""How a hook's process ends: nothing but an allow ends with 0."""


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as an agent's hook describes it."""

    tool: str
    input: dict[str, Any]
    cwd: str | None = None
    session: str | None = None
    call_id: str | None = None
    agent: str | None = None
    user: str | None = None
    modes: tuple[Mode, ...] = ()
    """A mode the agent reports may only tighten."""


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the call may run, and what to tell the model."""

    allow: bool
    reason: str
    tier: Tier | None = None
    request_id: str | None = None
    updated_input: dict[str, Any] | None = None


class Rendered(msgspec.Struct, frozen=True):
    """An answer as the agent reads it: text for its stdout, and the code to end with."""

    body: bytes
    exit: int


def decode_object(data: bytes) -> dict[str, Any]:
    """Read one JSON object, or raise `CallError`."""
    try:
        return _OBJECT.decode(data)
    except msgspec.ValidationError:
        raise CallError("Expected a JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CallError("Invalid JSON body") from None


_OBJECT = msgspec.json.Decoder(dict[str, Any])


def take_text(given: dict[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is there; it must be a string that says something, or null."""
    for name in names:
        value = given.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            raise CallError(f"Expected {name} to be a string")
        return value
    return None


def take_input(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the tool's input, an object; none at all is an empty one."""
    value = next((given[name] for name in names if given.get(name) is not None), {})
    if not isinstance(value, dict):
        raise CallError("Expected the tool's input to be an object")
    return value

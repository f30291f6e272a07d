"""What a hook is asked and what it answers, in our words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from assent.model import MODE_ALIASES, CallError, Mode, Tier

ALLOWED, REFUSED = 0, 2
"""How a hook's process ends: a no ends with 2, where the agent heeds that."""


Moment: TypeAlias = Literal["start", "before", "permission", "after"]
"""When a hook speaks: when a session begins, before a call, when the agent itself would ask, or after the call."""

_TIGHTENING = frozenset({Mode.PLAN, Mode.STRICT, Mode.DONT_ASK, Mode.UNTRUSTED})
_TRAILER = re.compile(r"\nExit Code: ([1-9][0-9]*)(?:\n[A-Z][A-Za-z ]*: [^\n]*)*(?:\n</untrusted_context>)?\s*$")
_LONGEST_TRAILER = 2000
LONGEST_REASON = 4000
"""Agents cut longer texts, each at its own length."""


class OutcomeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call, as the agent tells it."""

    failed: bool
    error: str | None = None
    duration_ms: int | None = None


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as an agent's hook describes it."""

    tool: str
    input: dict[str, Any]
    event: str = ""
    """The agent's own name for the moment."""
    moment: Moment = "before"
    report: OutcomeReport | None = None
    cwd: str | None = None
    session: str | None = None
    call_id: str | None = None
    agent: str | None = None
    user: str | None = None
    modes: tuple[Mode, ...] = ()
    """A mode the agent reports, where it tightens: what it would ask less about is none of its business here."""
    reported: Mode | None = None
    """The mode the agent reports, whatever it is."""
    rewritable: bool = False
    """Whoever asks runs `updatedInput` where the answer has one."""
    shell: str = ""
    """What runs its lines, if its hook told."""


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the call may run, and what to tell the model."""

    allow: bool
    abstain: bool = False
    """Say nothing, so that the agent does what it would do without a hook."""
    ask: bool = False
    """Have the agent ask its own user; for agents that are known to honour it."""
    person: bool = False
    """A person said yes to this very call."""
    reason: str
    tier: Tier | None = None
    request_id: str | None = None
    updated_input: dict[str, Any] | None = None
    instead: dict[str, Any] | None = None
    """Not this, but the same call inside its sandbox may run: the input that does so, once."""
    feedback: str | None = None
    """What the person who answered wants the agent to know."""

    @property
    def message(self) -> str:
        """Return the reason, and with it what a person said, where the agent has one text only."""
        said = self.feedback if self.feedback and self.feedback not in self.reason else None
        return f"{self.reason} ({said})" if said else self.reason


class Rendered(msgspec.Struct, frozen=True):
    """An answer as the agent reads it: text for its stdout, and the code to end with."""

    body: bytes
    exit: int
    reason: str = ""
    """Why not, where that is not what the answer says."""


SILENCE = Rendered(b"", ALLOWED)
REFUSAL = Rendered(b"", REFUSED)
"""A no to what could not even be read: by the code alone, with the reason on stderr."""


def code_for(answer: HookAnswer) -> int:
    """Return the code of an answer. A no has it besides its words: a user's shell may print before them, unasked."""
    return ALLOWED if answer.allow or answer.ask else REFUSED


def reason_for_model(answer: HookAnswer) -> str:
    """Return a reason that no agent refuses: never empty, never too long."""
    reason = answer.message.strip() or ("allowed" if answer.allow else "not allowed")
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def stop_session(answer: HookAnswer) -> Rendered:
    """Tell an agent of Claude Code's shape that its session may not begin; nothing, if it may."""
    if answer.allow or answer.abstain:
        return SILENCE
    reason = reason_for_model(answer)
    return Rendered(msgspec.json.encode({"continue": False, "stopReason": reason, "systemMessage": reason}), ALLOWED)


def parse_claude_shape(data: bytes, moments: Mapping[str, Moment]) -> HookCall:
    """Read the shape that Claude Code began and others took over, or raise `CallError`."""
    given = decode_object(data)
    event = take_text(given, "hook_event_name") or ""
    if event not in moments:
        raise CallError(f"Expected hook_event_name to be one of: {', '.join(moments)}")
    tool = "" if moments[event] == "start" else take_text(given, "tool_name")
    if tool is None:
        raise CallError("Missing tool_name")
    mode = _mode(take_text(given, "permission_mode"))
    return HookCall(
        tool=tool,
        input=take_input(given, "tool_input"),
        event=event,
        moment=moments[event],
        cwd=take_text(given, "cwd"),
        session=take_text(given, "session_id"),
        call_id=take_text(given, "tool_use_id"),
        modes=(mode,) if mode in _TIGHTENING else (),
        reported=mode,
        report=_report(given) if moments[event] == "after" else None,
    )


def _mode(word: str | None) -> Mode | None:
    """Read a reported mode. One that is not known might be a careful one, so a careful one of ours stands in."""
    if word is None:
        return None
    if word in MODE_ALIASES:
        return MODE_ALIASES[word]
    return Mode(word) if word in list(Mode) else Mode.UNTRUSTED


def _report(given: dict[str, Any]) -> OutcomeReport:
    error = given.get("error") or _shown_failure(given.get("tool_response")) or _told_failure(given.get("exit_code"))
    duration = given.get("duration_ms")
    return OutcomeReport(
        failed=error is not None or given.get("hook_event_name") == "PostToolUseFailure",
        error=str(error)[:LONGEST_REASON] if error is not None else None,
        duration_ms=duration if isinstance(duration, int) else None,
    )


def _shown_failure(response: Any) -> str | None:
    """Find a failure in what the agent tells its model: an error, or the exit code below a command's output."""
    if not isinstance(response, dict):
        return None
    error, said = response.get("error"), response.get("llmContent")
    if isinstance(error, dict):
        return str(error.get("message") or "an error")
    found = _TRAILER.search(said[-_LONGEST_TRAILER:]) if isinstance(said, str) else None
    return f"exit code {found[1]}" if found else None


def _told_failure(code: Any) -> str | None:
    """Find a failure in an exit code that the hook's client found out."""
    return f"exit code {code}" if isinstance(code, int) and code != 0 else None


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
    value: Any = next((given[name] for name in names if given.get(name) is not None), {})
    if not isinstance(value, dict):
        raise CallError("Expected the tool's input to be an object")
    return value

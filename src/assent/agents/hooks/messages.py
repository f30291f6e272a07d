"""The common records of all hooks: the call, the answer and its rendered form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from assent.model import MODE_ALIASES, CallError, Mode, Tier

ALLOWED, REFUSED = 0, 2
"""Exit codes of a hook: agents take 2 for a denial."""


Moment: TypeAlias = Literal["start", "before", "permission", "after"]
"""When a hook is called: at session start, before a call, when the agent itself would ask, or after a call."""

_TIGHTENING = frozenset({Mode.PLAN, Mode.STRICT, Mode.DONT_ASK, Mode.UNTRUSTED})
_TRAILER = re.compile(r"\nExit Code: ([1-9][0-9]*)(?:\n[A-Z][A-Za-z ]*: [^\n]*)*(?:\n</untrusted_context>)?\s*$")
_LONGEST_TRAILER = 2000
LONGEST_REASON = 4000
"""Agents cut longer texts, each at a different length."""


class OutcomeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a call as the agent reports it."""

    failed: bool
    error: str | None = None
    duration_ms: int | None = None


class HookCall(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call as an agent's hook describes it."""

    tool: str
    input: dict[str, Any]
    event: str = ""
    """The agent's name for the event."""
    moment: Moment = "before"
    report: OutcomeReport | None = None
    cwd: str | None = None
    session: str | None = None
    call_id: str | None = None
    agent: str | None = None
    user: str | None = None
    modes: tuple[Mode, ...] = ()
    """The mode that the agent reports, if it tightens; a looser mode is ignored."""
    reported: Mode | None = None
    """The mode that the agent reports, also a looser one."""
    rewritable: bool = False
    """Whether the caller runs the `updatedInput` of the answer."""
    shell: str = ""
    """The shell that runs the agent's commands, if the hook sent it."""


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the call may run, and what to tell the model."""

    allow: bool
    abstain: bool = False
    """Return no answer, so that the agent behaves as without a hook."""
    ask: bool = False
    """Let the agent ask its own user; only for agents known to support it."""
    person: bool = False
    """Whether a person approved exactly this call."""
    reason: str
    tier: Tier | None = None
    request_id: str | None = None
    updated_input: dict[str, Any] | None = None
    instead: dict[str, Any] | None = None
    """Input that runs the same call once inside its sandbox, where the call itself may not run."""
    feedback: str | None = None
    """Feedback for the agent from the person who answered."""

    @property
    def message(self) -> str:
        """The reason with the person's feedback, for agents that take one text."""
        said = self.feedback if self.feedback and self.feedback not in self.reason else None
        return f"{self.reason} ({said})" if said else self.reason


class Rendered(msgspec.Struct, frozen=True):
    """An answer in the agent's format: stdout and exit code."""

    body: bytes
    exit: int
    reason: str = ""
    """The reason for stderr, if it differs from the answer's."""


SILENCE = Rendered(b"", ALLOWED)
REFUSAL = Rendered(b"", REFUSED)
"""The denial of invalid input: exit code only, with the reason on stderr."""


def code_for(answer: HookAnswer) -> int:
    """Return the exit code of an answer. A denial needs it: agents ignore stdout if a shell printed something first."""
    return ALLOWED if answer.allow or answer.ask else REFUSED


def reason_for_model(answer: HookAnswer) -> str:
    """Return a reason that every agent accepts: not empty, not too long."""
    reason = answer.message.strip() or ("allowed" if answer.allow else "not allowed")
    return reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"


def stop_session(answer: HookAnswer) -> Rendered:
    """Return the answer that stops a session, in Claude Code's format; silence if it may start."""
    if answer.allow or answer.abstain:
        return SILENCE
    reason = reason_for_model(answer)
    return Rendered(msgspec.json.encode({"continue": False, "stopReason": reason, "systemMessage": reason}), ALLOWED)


def parse_claude_shape(data: bytes, moments: Mapping[str, Moment]) -> HookCall:
    """Parse the input format of Claude Code, which other agents share, or raise `CallError`."""
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
    """Return a reported mode. An unknown one may be strict, so it counts as `untrusted`."""
    if word is None:
        return None
    if word in MODE_ALIASES:
        return MODE_ALIASES[word]
    return Mode(word) if word in list(Mode) else Mode.UNTRUSTED


def _report(given: dict[str, Any]) -> OutcomeReport:
    error = given.get("error") or _response_failure(given.get("tool_response")) or _exit_failure(given.get("exit_code"))
    duration = given.get("duration_ms")
    return OutcomeReport(
        failed=error is not None or given.get("hook_event_name") == "PostToolUseFailure",
        error=str(error)[:LONGEST_REASON] if error is not None else None,
        duration_ms=duration if isinstance(duration, int) else None,
    )


def _response_failure(response: Any) -> str | None:
    """Find a failure in the tool response: an error, or the exit code below a command's output."""
    if not isinstance(response, dict):
        return None
    error, said = response.get("error"), response.get("llmContent")
    if isinstance(error, dict):
        return str(error.get("message") or "an error")
    found = _TRAILER.search(said[-_LONGEST_TRAILER:]) if isinstance(said, str) else None
    return f"exit code {found[1]}" if found else None


def _exit_failure(code: Any) -> str | None:
    """Find a failure in the exit code that the hook client added."""
    return f"exit code {code}" if isinstance(code, int) and code != 0 else None


def decode_object(data: bytes) -> dict[str, Any]:
    """Decode one JSON object, or raise `CallError`."""
    try:
        return _OBJECT.decode(data)
    except msgspec.ValidationError:
        raise CallError("Expected a JSON object") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CallError("Invalid JSON body") from None


_OBJECT = msgspec.json.Decoder(dict[str, Any])


def take_text(given: dict[str, Any], *names: str) -> str | None:
    """Return the first of these fields that is not empty; it must be a string."""
    for name in names:
        value = given.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            raise CallError(f"Expected {name} to be a string")
        return value
    return None


def take_input(given: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return the tool's input object; empty if it is missing."""
    value: Any = next((given[name] for name in names if given.get(name) is not None), {})
    if not isinstance(value, dict):
        raise CallError("Expected the tool's input to be an object")
    return value

"""An event, made ready for the log: masked, bounded, nothing hidden in it, its columns drawn out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

from assent.audit.masking import Mask, Veil, cut, may_hold_secrets
from assent.model import UNKNOWN, Decision, Event, Operation, Reading, is_hidden, visible

LARGEST_BODY = 256 * 1024
LONGEST_TEXT = 4000
_SEARCHED = ("user", "agent", "tool", "summary", "digest")
_KEPT = 100
"""How many operations and opinions are kept of a call that has far too many."""

_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Event)
_UNKNOWN, _ELLIPSIS = UNKNOWN.encode(), "…".encode()
"""How text that is only known at run time is marked in memory, and in the log."""
_BEYOND_ASCII = re.compile("[^\x00-\x7e]")


class LogEntry(msgspec.Struct, gc=False):
    """An event's row. Where it stands in the log is known once it is written."""

    columns: tuple[Any, ...]
    """From `type` to `body`, as the chain has them."""
    position: int = 0
    seq: int = 0


def make_entry(event: Event, mask: Mask, about: Any = None) -> LogEntry:
    """Make an event ready. Whatever is in it, this gives a record; secrets in what it is about are masked in it too."""
    event, body = _encode(event)
    given = _encode_input(about)
    return _entry(event, body, mask if may_hold_secrets(body + b"\n" + given) else None, given)


def _encode_input(given: Any) -> bytes:
    """Write down what an event is about, to be looked through and thrown away."""
    try:
        return b"" if given is None else _encoder.encode(given)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return b""


def _encode(event: Event) -> tuple[Event, bytes]:
    """Write an event down, or what can be written of it; and of what is far too long, the beginning."""
    try:
        body = _encoder.encode(event)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError) as error:
        event = _without_content(event, error)
        body = _encoder.encode(event)
    if len(body) > LARGEST_BODY:
        event = _shorten(event)
        body = _encoder.encode(event)
    return event, body


def _entry(event: Event, body: bytes, mask: Mask | None, given: bytes = b"") -> LogEntry:
    veil = None
    if mask is not None:
        whole = msgspec.json.decode(body)
        veil = mask.veil(whole, msgspec.json.decode(given) if given else None, names=_names(event))
        body = _encoder.encode(veil.value(whole))
    columns = _columns(event, veil)
    if _UNKNOWN in body:
        body = body.replace(_UNKNOWN, _ELLIPSIS)
    if not body.isascii() or b"\x7f" in body:
        body = _BEYOND_ASCII.sub(_escape, body.decode()).encode()
    return LogEntry((*columns, body))


def restore_reading(reading: Reading) -> Reading:
    """Return a recorded reading as it was decided by: an ellipsis in its names is text that was not known."""
    return msgspec.structs.replace(reading, operations=tuple(map(_restore, reading.operations)))


def _restore(operation: Operation) -> Operation:
    lists = {name: tuple(map(_unknown, getattr(operation, name))) for name in ("argv", "plain", "mentions", "hosts")}
    target = None if operation.target is None else _unknown(operation.target)
    return msgspec.structs.replace(operation, resource=_unknown(operation.resource), target=target, **lists)


def _unknown(name: str) -> str:
    return name.replace("…", UNKNOWN)


def read_event(position: int, writer: str, seq: int, at: float, body: bytes) -> Event:
    """Return an event as it was recorded, with its place in the log as its sequence."""
    event = _decoder.decode(body)
    return msgspec.structs.replace(
        event,
        event_id=event.event_id or f"evt_{writer}_{seq}",
        timestamp=event.timestamp or format_time(at),
        sequence=position,
    )


def format_time(at: float) -> str:
    """Write a time as the log shows it: UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _names(event: Event) -> tuple[str, ...]:
    """Return what an event is found by, which no secret of the same spelling hides."""
    said = (event.payload.get(name) for name in ("user", "agent", "tool", "digest"))
    return (event.session_id, event.type, *(text for text in said if isinstance(text, str)))


def _columns(event: Event, mask: Veil | None) -> tuple[str | None, ...]:
    """Draw out what the log is searched by. Payloads name user, agent, tool and summary by these words."""
    said = [value if isinstance(value, str) else "" for value in map(event.payload.get, _SEARCHED)]
    decision = event.permission_decision
    said += [event.session_id, _boundary(event), "" if decision is None else decision.decision_reason]
    approval = event.action_id
    if mask is not None:
        # Before what is hidden is written out: a secret at the beginning of a line would stand behind an `n`.
        said, approval = [mask.text(text) for text in said], approval and mask.text(approval)
    together = "".join(said)
    if not (together.isascii() and together.isprintable()):
        said = [visible(text) for text in said]
    user, agent, tool, text, digest, session, boundary, reason = said
    if boundary:
        text = f"{text} · {boundary}" if text else boundary
    tier = verdict = source = ""
    if decision is not None:
        text = f"{text} · {reason}"
        tier, verdict = decision.reading.tier._value_, decision.verdict._value_
        source, digest = decision.decision_source._value_, decision.digest
    found = (tier, verdict, source, digest, approval, cut(text, LONGEST_TEXT))
    return (event.type, session, user, agent, tool, *found)


def _boundary(event: Event) -> str:
    """Say which boundary was set up, or what was stopped at it."""
    if event.violation is not None:
        return event.violation.words
    return "" if event.sandbox_profile is None else event.sandbox_profile.name


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char != "\x7f" and not is_hidden(char):
        return char
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _shorten(event: Event) -> Event:
    """Keep the beginning of what is far too long, and say so."""
    payload = {k: cut(v, LONGEST_TEXT) if isinstance(v, str) else v for k, v in event.payload.items()}
    payload = payload if len(_encoder.encode(payload)) < LARGEST_BODY // 2 else {}
    decision = event.permission_decision
    if decision is not None:
        decision = _shorten_decision(decision)
    return msgspec.structs.replace(event, payload={**payload, "shortened": True}, permission_decision=decision)


def _shorten_decision(decision: Decision) -> Decision:
    reading = decision.reading
    operations = tuple(
        msgspec.structs.replace(
            o, resource=cut(o.resource, 200), reason=cut(o.reason, 200), argv=(), plain=(), through=()
        )
        for o in reading.operations[:_KEPT]
    )
    opinions = tuple(msgspec.structs.replace(o, reason=cut(o.reason, 200)) for o in decision.opinions[:_KEPT])
    reading = msgspec.structs.replace(reading, operations=operations, reason=cut(reading.reason, LONGEST_TEXT))
    reason = cut(decision.decision_reason, LONGEST_TEXT)
    return msgspec.structs.replace(decision, reading=reading, opinions=opinions, decision_reason=reason)


def _without_content(event: Event, error: Exception) -> Event:
    """Keep what can surely be written of an event that has no encoding."""
    decision = event.permission_decision
    if decision is not None:
        tool = visible(decision.reading.tool)
        reading = Reading(tool=tool, operations=(), tier=decision.reading.tier, reason="")
        reason = visible(decision.decision_reason)
        decision = msgspec.structs.replace(
            decision, reading=reading, opinions=(), rule_refs=(), decision_reason=reason, boundary=None
        )
    payload = {k: visible(v) for k, v in event.payload.items() if isinstance(v, str)}
    return Event(
        type=event.type,
        event_id=visible(event.event_id),
        timestamp=visible(event.timestamp),
        session_id=visible(event.session_id),
        sequence=0,
        action_id=event.action_id,
        tool_call_id=None if event.tool_call_id is None else visible(event.tool_call_id),
        payload={**payload, "unreadable": type(error).__name__},
        permission_decision=decision,
    )

"""Encode a decision as one flat JSON object for other programs."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import UNKNOWN, Decision, Mode, Operation, OperationKind, Outcome, SandboxProfile, Source, Stake, Tier

_UNKNOWN, _SHOWN = UNKNOWN.encode(), "…".encode()
_BREAKS = {mark.encode(): rf"\u{ord(mark):04x}".encode() for mark in "\x85\u2028\u2029"}
"""Characters that some programs take for a line break, with their JSON escapes."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One operation of the call. In what is not `known`, `…` stands for text only known at run time."""

    kind: OperationKind
    resource: str
    tier: Tier
    reason: str
    known: bool = True
    target: str | None = None
    argv: tuple[str, ...] = ()
    owner: int | None = None
    through: tuple[str, ...] = ()
    sweep: bool = False
    secret: bool = False
    impact: str | None = None
    rollback: str | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What `assent check --json` prints, and each line of a batch."""

    decision: Outcome
    tier: Tier
    reason: str
    decision_source: Source
    rule_refs: tuple[str, ...]
    operations: tuple[Step, ...]
    destructive: bool
    stakes: tuple[Stake, ...]
    impact_scope: str | None
    rollback_advice: str | None
    unreadable: str | None
    tool: str
    mode: Mode
    boundary: SandboxProfile | None
    policy_version: str
    policy_sources: tuple[str, ...]
    digest: str


class Fault(msgspec.Struct, frozen=True):
    """The answer to a line of a batch that is not a call."""

    error: str


def answer_of(decision: Decision) -> Answer:
    """Flatten a decision."""
    reading = decision.reading
    return Answer(
        decision=decision.decision,
        tier=reading.tier,
        reason=decision.decision_reason,
        decision_source=decision.decision_source,
        rule_refs=decision.rule_refs,
        operations=tuple(map(_step, reading.operations)),
        destructive=reading.destructive,
        stakes=decision.stakes,
        impact_scope=reading.impact_scope,
        rollback_advice=reading.rollback_advice,
        unreadable=reading.unreadable,
        tool=reading.tool,
        mode=decision.mode,
        boundary=decision.boundary,
        policy_version=decision.policy_version,
        policy_sources=decision.policy_sources,
        digest=decision.digest,
    )


def _step(operation: Operation) -> Step:
    return Step(
        kind=operation.kind,
        resource=operation.resource,
        tier=operation.tier,
        reason=operation.reason,
        known=operation.known,
        target=None if operation.target == operation.resource else operation.target,
        argv=operation.argv,
        owner=operation.owner,
        through=operation.through,
        sweep=operation.sweep,
        secret=operation.secret,
        impact=operation.impact,
        rollback=operation.rollback,
    )


def encode(record: Answer | Fault | Decision) -> bytes:
    """Encode a record as one line of JSON, with `…` for unknown text."""
    return encode_record(record).replace(_UNKNOWN, _SHOWN)


def encode_record(record: Any) -> bytes:
    """Encode any record as one line of JSON. File names that are not valid text are escaped."""
    try:
        written = msgspec.json.encode(record)
    except UnicodeEncodeError:
        written = msgspec.json.encode(_scrub(msgspec.to_builtins(record)))
    for mark, escaped in _BREAKS.items():
        written = written.replace(mark, escaped)
    return written


def _scrub(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case dict():
            return {_scrub(k): _scrub(v) for k, v in value.items()}
        case list() | tuple():
            return [_scrub(v) for v in value]
        case _:
            return value

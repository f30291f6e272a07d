"""Convert questions, grants and enablements to rows, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from assent.model import Answer, Approval, Decision, Enablement, Grant, Session, State, Tier, ToolCall

APPROVAL_COLUMNS = (
    "id, state, kind, user_id, agent_id, session, call, call_id, tool, digest, tier, reason, summary, decision, "
    "created_at, expires_at, resolved_at, resolved_by, answer, used_at, caller_gone"
)
ENABLEMENT_COLUMNS = "id, user_id, agent_id, session_id, digest, until, created_at, created_by, used_at, revoked_at"

_session = msgspec.json.Decoder(Session)
_call = msgspec.json.Decoder(ToolCall)
_decision = msgspec.json.Decoder(Decision)
_answer = msgspec.json.Decoder(Answer)
_grant = msgspec.json.Decoder(Grant)
encode = msgspec.json.Encoder().encode


def approval_row(approval: Approval) -> tuple[Any, ...]:
    """Return a question's row, in the order of its columns."""
    return (
        approval.id,
        approval.state.value,
        approval.kind,
        approval.user,
        approval.agent,
        encode(approval.session),
        None if approval.call is None else encode(approval.call),
        approval.call_id,
        approval.tool,
        approval.digest,
        approval.tier.value,
        approval.reason,
        approval.summary,
        None if approval.decision is None else encode(approval.decision),
        approval.created_at,
        approval.expires_at,
        approval.resolved_at,
        approval.by,
        None if approval.answer is None else encode(approval.answer),
        approval.used_at,
        approval.caller_gone,
    )


def read_approval(row: Sequence[Any]) -> Approval:
    """Return the question in a row."""
    return Approval(
        id=row[0],
        state=State(row[1]),
        kind=row[2],
        user=row[3],
        agent=row[4],
        session=_session.decode(row[5]),
        call=None if row[6] is None else _call.decode(row[6]),
        call_id=row[7],
        tool=row[8],
        digest=row[9],
        tier=Tier(row[10]),
        reason=row[11],
        summary=row[12],
        decision=None if row[13] is None else _decision.decode(row[13]),
        created_at=row[14],
        expires_at=row[15],
        resolved_at=row[16],
        by=row[17],
        answer=None if row[18] is None else _answer.decode(row[18]),
        used_at=row[19],
        caller_gone=bool(row[20]),
    )


def read_grant(body: bytes, revoked_at: float | None) -> Grant:
    """Return the grant in a row."""
    grant = _grant.decode(body)
    return grant if revoked_at is None else msgspec.structs.replace(grant, revoked_at=revoked_at)


def read_enablement(row: Sequence[Any]) -> Enablement:
    """Return the enablement in a row."""
    return Enablement(**dict(zip(Enablement.__struct_fields__, row, strict=True)))

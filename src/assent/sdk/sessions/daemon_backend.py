"""The daemon as the backend: its queue and its log are shared by every agent."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from assent.audit.entry import format_time
from assent.model import (
    ASK,
    DENY,
    Answer,
    ConfigError,
    EventType,
    ForbiddenError,
    Opinion,
    Policy,
    Session,
    Source,
    State,
    ToolCall,
    Verdict,
    Violation,
)
from assent.platform.facts import Observer
from assent.policy.engine import Engine
from assent.sdk.client.clients import AsyncClient, Client
from assent.sdk.client.outbox import SEND_SECONDS, Outbox
from assent.sdk.client.unsent_reports import Backlog
from assent.sdk.sessions.backends import OFF, BackendDecision, Birthplace, PendingQuestion, ran, refuse

if TYPE_CHECKING:
    from assent.wire.permissions import Permission
    from assent.wire.runtime import Evaluated

WAIT = 300.0
"""How many seconds one request waits for a person; then it is made again."""
_SLACK = 30.0

_HOST = Source.HOST_POLICY.value


def _source_of(opinion: Opinion) -> str:
    """Say who said it, in the two words that the daemon takes from a host."""
    return opinion.source.value if opinion.source is Source.TOOL_CHECK else _HOST


class Remote:
    """Asks the daemon with an agent's token. The program's own policy counts as the host's: it can only tighten."""

    shared = True

    def __init__(self, *, url: str, token: str, answer_token: str = "", policy: Policy | None = None) -> None:
        if not token:
            raise ConfigError("url=… needs token=…: an agent's token of that daemon")
        self._birthplace = Birthplace()
        self._client = AsyncClient(url=url, token=token, timeout=WAIT + _SLACK)
        self._person = AsyncClient(url=url, token=answer_token) if answer_token else None
        self._outbox = Outbox(Client(url=url, token=token, timeout=SEND_SECONDS), Backlog(url, token))
        self.may_answer = self._person is not None
        self.profile = OFF
        self._engine = None if policy is None else Engine([policy], facts=Observer())

    async def judge(
        self, call: ToolCall, session: Session, heard: Sequence[Opinion], asked: Callable[[PendingQuestion], None]
    ) -> BackendDecision:
        """Ask the daemon until it says yes or no; a question is waited for as long as it is open."""
        self._birthplace.check()
        opinion = self._strictest(call, session, heard)
        wait = 0.0
        while True:
            found = await self._client.evaluate_permission(
                call.tool,
                call.input,
                cwd=call.cwd,
                session=session.id,
                call_id=call.call_id,
                opinion=opinion,
                interactive=session.interactive,
                runs_in=self.profile,
                secrets=call.secrets or None,
                honours_updated_input=True,
                traceparent=_traceparent(call),
                wait=wait,
            )
            if found.permission_decision.decision != "ask" or found.action_id is None:
                return self._object(_judgement(found), call, session)
            asked(_question(found, call, session))
            wait = WAIT

    def _object(self, judgement: BackendDecision, call: ToolCall, session: Session) -> BackendDecision:
        """Hold what a person changed against the program's own policy, of which the daemon knows nothing."""
        if not judgement.allowed or judgement.input is None:
            return judgement
        said = self._strictest(msgspec.structs.replace(call, input=judgement.input), session, ())
        if said is None or said["decision"] != DENY.value:
            return judgement
        refusal = refuse(said["reason"], Source.HOST_POLICY)
        self.note("tool.failed", call, session, {"status": "denied", "error": refusal.reason[:1000]})
        return refusal

    def _strictest(self, call: ToolCall, session: Session, heard: Sequence[Opinion]) -> dict[str, str] | None:
        """Return the strictest thing that is said here about a call."""
        said = [(o.verdict, o.reason, _source_of(o)) for o in heard if o.verdict in (ASK, DENY)]
        if self._engine is not None:
            own = self._engine.decide(call, msgspec.structs.replace(session, interactive=True))
            verdict = own.verdict if own.available else DENY
            said += [(verdict, own.decision_reason, _HOST)] if verdict in (ASK, DENY) else []
        if not said:
            return None
        verdict, reason, source = max(said, key=lambda each: each[0].rank)
        return {"decision": verdict.value, "reason": reason, "source": source}

    async def pending(self, session: Session) -> tuple[PendingQuestion, ...]:
        """Return the questions of a session, the oldest first."""
        found: list[Permission] = []
        cursor: str | None = None
        while True:
            page = await self._client.permissions(cursor=cursor)
            found += page.pending
            cursor = page.cursor
            if cursor is None:
                break
        return tuple(_described(item) for item in found if item.session_id == session.id)

    async def answer(self, question: PendingQuestion, answer: Answer, by: str) -> None:  # noqa: ARG002 - the token says who
        """Answer a question, with the token of somebody who may."""
        if self._person is None:
            raise ForbiddenError("this application has no answer_token: answer in the shared queue")
        word: Literal["approve", "reject"] = "approve" if answer.verdict is Verdict.ALLOW else "reject"
        await self._person.answer(question.id, word, feedback=answer.feedback)

    async def cancel(self, question: PendingQuestion, why: str) -> None:
        """Withdraw a question: only who may answer can."""
        await self.answer(question, Answer(verdict=DENY, feedback=why), "")

    def note(
        self,
        kind: EventType,
        call: ToolCall,
        session: Session,
        payload: dict[str, Any],
        violation: Violation | None = None,
    ) -> None:
        """Tell the daemon what became of a call, soon and in its turn: nobody waits for it."""
        if not self._birthplace.is_here:
            return
        told = {"type": kind, "toolName": call.tool, "toolCallId": call.call_id, **payload}
        told |= {"sandboxProfile": self.profile} if kind == "sandbox.applied" else {}
        told |= {"violation": violation, "traceparent": _traceparent(call), "happenedAt": format_time(time.time())}
        self._outbox.put(session.id, call.cwd, {name: value for name, value in told.items() if value is not None})

    def note_ran(self, call: ToolCall, session: Session, milliseconds: float) -> None:
        """Tell the daemon that a call ended well, and how long it took."""
        self.note("tool.result", call, session, ran(milliseconds))

    def close(self) -> None:
        """Tell what is still to be told."""
        if not self._birthplace.is_here:
            return
        self._outbox.close()


def _traceparent(call: ToolCall) -> str | None:
    return None if call.trace is None else f"00-{call.trace.trace_id}-{call.trace.span_id}-01"


def _judgement(found: Evaluated) -> BackendDecision:
    facts = found.permission_decision
    outcome, reason = facts.decision, facts.decision_reason
    if outcome in ("sandboxed", "unavailable"):
        name = found.sandbox_profile.name
        reason = f"it may only run inside the sandbox profile {name}, and a Python function cannot: {reason}"
        outcome = "unavailable"
    return BackendDecision(
        allowed=outcome == "allow",
        decision=outcome,
        reason=reason,
        source=facts.decision_source,
        tier=facts.tier,
        rule_refs=facts.rule_refs,
        approval_id=found.action_id if found.action_status is not State.PENDING else None,
        input=found.updated_input if outcome == "allow" else None,
        feedback=found.feedback,
        position=found.position,
    )


def _question(found: Evaluated, call: ToolCall, session: Session) -> PendingQuestion:
    return PendingQuestion(
        id=found.action_id or "",
        session_id=session.id,
        tool_call_id=call.call_id or found.action_id or "",
        tool_name=call.tool,
        reason=found.permission_decision.decision_reason,
        input=call.input,
        tier=found.permission_decision.tier,
        expires_at=found.expires_at or 0.0,
    )


def _described(item: Permission) -> PendingQuestion:
    return PendingQuestion(
        id=item.id,
        session_id=item.session_id,
        tool_call_id=item.tool_call_id or item.id,
        tool_name=item.tool_name,
        reason=item.plain_reason,
        input=item.tool_input,
        tier=item.tier,
        expires_at=item.expires_at / 1000,
    )

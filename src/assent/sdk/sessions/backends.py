"""Decision backends of a Python agent: an engine in this process with its own store, or the daemon."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

from assent.audit.entry import LogEntry
from assent.audit.log import Log
from assent.audit.stencil import HOLE, TIME, VALUE, Stencil, encode_plain, fits
from assent.decisions.approvals.repository import Approvals
from assent.decisions.audit_events import begun, happened
from assent.decisions.call_summary import outline
from assent.decisions.request import HostContext
from assent.decisions.ruling import Ruling
from assent.decisions.service import EXPIRY, Decisions
from assent.model import (
    ASK,
    Answer,
    Approval,
    AssentError,
    Event,
    EventType,
    NotFoundError,
    Opinion,
    Outcome,
    Policy,
    Principal,
    Role,
    SandboxProfile,
    Session,
    Source,
    State,
    Tier,
    ToolCall,
    Verdict,
    Violation,
)
from assent.platform.facts import Observer
from assent.platform.paths import assent_home
from assent.policy.engine import Engine
from assent.store.memory import MemoryStore
from assent.store.store import Store, open_store

OFF = SandboxProfile(name="off", mode="off")
"""A function of this process runs without a boundary of its own, and the log says so."""
Policies: TypeAlias = Callable[[], Sequence[Policy]]
"""The policies as they are now."""
MOST_STENCILS = 1000
_SLACK = 30.0


class PendingQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits for a person."""

    id: str
    session_id: str
    tool_call_id: str
    tool_name: str
    reason: str
    input: dict[str, Any]
    tier: Tier
    expires_at: float


class BackendDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a call may run now, and why."""

    allowed: bool
    decision: Outcome
    reason: str
    source: Source
    tier: Tier
    rule_refs: tuple[str, ...] = ()
    approval_id: str | None = None
    """The question that a person was asked."""
    input: dict[str, Any] | None = None
    """What a person wants to run instead."""
    feedback: str | None = None
    position: int = 0
    """Where in the log it is; 0 if it is in another's."""


class Judge(Protocol):
    """Decides calls, and keeps the questions of sessions."""

    shared: bool
    """Whether others answer its questions too, without being told to."""
    may_answer: bool
    """Whether an answer that is given here counts."""
    profile: SandboxProfile
    """The boundary in which calls run."""

    async def judge(
        self, call: ToolCall, session: Session, heard: Sequence[Opinion], asked: Callable[[PendingQuestion], None]
    ) -> BackendDecision:
        """Decide a call, waiting for a person where one must say; `asked` hears of the question first."""

    async def pending(self, session: Session) -> tuple[PendingQuestion, ...]:
        """Return the questions of a session, the oldest first."""

    async def answer(self, question: PendingQuestion, answer: Answer, by: str) -> None:
        """Answer a question for good, or raise an `AssentError`."""

    async def cancel(self, question: PendingQuestion, why: str) -> None:
        """Withdraw a question, or raise an `AssentError`."""

    def note(
        self,
        kind: EventType,
        call: ToolCall,
        session: Session,
        payload: dict[str, Any],
        violation: Violation | None = None,
    ) -> None:
        """Write down what became of a call, soon: its `status`, `error`, `summary` and `durationMs`."""

    def note_ran(self, call: ToolCall, session: Session, milliseconds: float) -> None:
        """Write down, soon, that a call ended well, and how long it took."""

    def close(self) -> None:
        """Close the backend."""


class Birthplace:
    """The process that created a backend. A fork has no writer thread, and would hold every answer twice."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Tell whether this is that process."""
        return os.getpid() == self._pid

    def check(self) -> None:
        """Refuse to go on in a fork."""
        if not self.is_here:
            raise AssentError("this application was made before the process forked: make it in the new process")


class _Stencils(msgspec.Struct, frozen=True):
    """What is said of every call of one tool in one session: its boundary, that it runs, and that it ran."""

    applied: Stencil
    started: Stencil
    ended: Stencil


class Embedded:
    """An engine, a log and a queue of questions in this process."""

    shared = False
    may_answer = True

    def __init__(self, policies: Policies, *, store: str = "memory", expiry: float = EXPIRY) -> None:
        self._birthplace = Birthplace()
        self._store, home = _open(store)
        self._stencils: dict[tuple[str, ...], _Stencils] = {}
        self._profile = OFF
        self._log = Log(self._store, home)
        self._approvals = Approvals(self._store, self._log)
        self._policies = policies
        self._in_force = policies()
        self._engine = Engine(self._in_force, facts=Observer())
        self._expiry = expiry
        self.decisions = Decisions(self._find_engine, self._store, self._log, self._approvals, expiry=expiry)

    @property
    def store(self) -> Store:
        """Return where everything is kept."""
        return self._store

    def _find_engine(self, _call: ToolCall, _session: Session) -> Engine:
        """Return what decides by the policies as they are now."""
        policies = self._policies()
        if policies is not self._in_force:
            self._engine, self._in_force = Engine(policies, facts=Observer()), policies
        return self._engine

    async def judge(
        self, call: ToolCall, session: Session, heard: Sequence[Opinion], asked: Callable[[PendingQuestion], None]
    ) -> BackendDecision:
        """Decide a call; an allow, its boundary and that it runs are on record before this returns."""
        self._birthplace.check()

        async def tell(approval: Approval) -> None:
            asked(question_of(approval))

        host = HostContext(tuple(heard), lambda run: self._begin(run, session), no_sandbox=True)
        call = msgspec.structs.replace(call, rewritable=True)
        ruling = await self.decisions.decide(call, session, wait=self._expiry + _SLACK, host=host, on_ask=tell)
        return judgement_of(ruling)

    @property
    def profile(self) -> SandboxProfile:
        """Return the boundary in which calls run."""
        return self._profile

    @profile.setter
    def profile(self, profile: SandboxProfile) -> None:
        self._profile = profile
        self._stencils.clear()

    def _begin(self, call: ToolCall, session: Session) -> tuple[Event | LogEntry, ...]:
        """Say that a call runs, inside which boundary, and with what."""
        args = encode_plain(outline(call.input, call.secrets))
        if args is None or call.call_id is None or call.trace is not None or not fits(call.call_id):
            return begun(call, session, self._profile)
        drawn = self._draw(call.tool, session)
        return drawn.applied.fill(call.call_id), drawn.started.fill(call.call_id, value=args)

    def _draw(self, tool: str, session: Session) -> _Stencils:
        """Return what is said of every call of one tool in one session."""
        key = (session.id, session.user, session.agent, tool)
        found = self._stencils.get(key)
        if found is None:
            if len(self._stencils) >= MOST_STENCILS:
                self._stencils.clear()
            call, mask = ToolCall(tool=tool, call_id=HOLE), self._log.mask
            applied, started = begun(call, session, self._profile)
            started = msgspec.structs.replace(started, payload=started.payload | {"args": VALUE})
            ended = happened("tool.result", call, session, ran(TIME))
            found = self._stencils[key] = _Stencils(
                Stencil(applied, mask), Stencil(started, mask), Stencil(ended, mask)
            )
        return found

    def note_ran(self, call: ToolCall, session: Session, milliseconds: float) -> None:
        """Write down that a call ended well, and how long it took."""
        if call.call_id is None or call.trace is not None or not fits(call.call_id):
            self.note("tool.result", call, session, ran(milliseconds))
        else:
            self._log.note(self._draw(call.tool, session).ended.fill(call.call_id, milliseconds))

    async def pending(self, session: Session) -> tuple[PendingQuestion, ...]:
        """Return the questions of a session, the oldest first."""
        self._birthplace.check()
        found, cursor = await self._approvals.list(user=session.user, limit=1000)
        while cursor is not None:
            more, cursor = await self._approvals.list(user=session.user, limit=1000, cursor=cursor)
            found += more
        return tuple(question_of(a) for a in found if a.session.id == session.id and a.call is not None)

    async def answer(self, question: PendingQuestion, answer: Answer, by: str) -> None:
        """Answer a question for good."""
        self._birthplace.check()
        await self.decisions.answer(question.id, answer, Principal(role=Role.USER, user=by))

    async def cancel(self, question: PendingQuestion, why: str) -> None:
        """Withdraw a question."""
        self._birthplace.check()
        await self.decisions.cancel(question.id, why)

    def note(
        self,
        kind: EventType,
        call: ToolCall,
        session: Session,
        payload: dict[str, Any],
        violation: Violation | None = None,
    ) -> None:
        """Write down what became of a call, with the next commit: nobody waits for it."""
        if not self._birthplace.is_here:
            return
        profile = self.profile if kind == "sandbox.applied" else None
        self._log.note(happened(kind, call, session, payload, profile=profile, violation=violation))

    def close(self) -> None:
        """Seal the log and close the store; in a fork they are its parent's."""
        if not self._birthplace.is_here:
            return
        self._approvals.close()
        self._log.close()
        self._store.close()


def _open(store: str) -> tuple[Store, str | None]:
    if store == "memory":
        return MemoryStore(), None
    home = assent_home(os.environ)
    return open_store(None if store == "sqlite" else store, home=home), home


def ran(milliseconds: float) -> dict[str, Any]:
    """Say of a call that it ended well."""
    return {"status": "completed", "durationMs": milliseconds}


def question_of(approval: Approval) -> PendingQuestion:
    """Return a pending question as sessions show it."""
    call = approval.call
    if call is None:
        raise NotFoundError("it is answered already")
    return PendingQuestion(
        id=approval.id,
        session_id=approval.session.id,
        tool_call_id=approval.call_id or approval.id,
        tool_name=call.tool,
        reason=approval.reason,
        input=call.input,
        tier=approval.tier,
        expires_at=approval.expires_at,
    )


def judgement_of(ruling: Ruling) -> BackendDecision:
    """Say what a ruling means for a function of this process, which no boundary can hold."""
    decision, approval = ruling.decision, ruling.approval
    outcome = decision.decision
    reason = decision.decision_reason
    if outcome in ("sandboxed", "unavailable"):
        name = "" if decision.boundary is None else decision.boundary.name
        reason = f"it may only run inside the sandbox profile {name}, and a Python function cannot: {reason}"
        outcome = "unavailable"
    elif decision.verdict is ASK:
        reason, outcome = f"nobody answered in time: {reason}", "deny"
    answer = None if approval is None else approval.answer
    return BackendDecision(
        allowed=outcome == "allow",
        decision=outcome,
        reason=reason,
        source=decision.decision_source,
        tier=decision.reading.tier,
        rule_refs=decision.rule_refs,
        approval_id=None if approval is None or approval.state is State.PENDING else approval.id,
        input=ruling.updated_input if outcome == "allow" else None,
        feedback=None if answer is None else answer.feedback,
        position=ruling.position,
    )


def refuse(reason: str, source: Source = Source.ERROR) -> BackendDecision:
    """Deny a call that does not get as far as a decision."""
    return BackendDecision(allowed=False, decision="deny", reason=reason, source=source, tier=Tier.DANGEROUS)


YES = Answer(verdict=Verdict.ALLOW)
NO = Answer(verdict=Verdict.DENY)

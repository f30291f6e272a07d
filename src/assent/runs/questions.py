"""The questions of a run: what a client is shown of one, what its answer means, and what the run remembers of it."""

from __future__ import annotations

import threading
from typing import Any

import msgspec

from assent.model import (
    ASK,
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    Answer,
    Approval,
    Decision,
    Scope,
    State,
    ToolCall,
    Verdict,
)
from assent.model.canonical_json import canonical
from assent.policy.guard import SessionDecision, command_text, only_file, session_decision
from assent.runs.protocol.client_messages import Decision as Word
from assent.runs.protocol.messages import Outcome, RequestPermission, SubjectKind, stamp
from assent.runs.tool_guards import Guards, ToolGuard
from assent.runs.tools.inputs import TOOLS, guarded_name

SHOWN_CONTENT = 4000
"""How many characters of what is about to be written a question shows."""
_SHOWN_OPERATIONS = 20
_CONTENTS = ("content", "old", "new", "command")
_KINDS: dict[str, SubjectKind] = {FS_READ: "fs.read", FS_WRITE: "fs.write", FS_EXEC: "fs.exec"}
"""What else a program may ask about, such as a web page, is a command as far as the protocol knows."""
_ANSWERS: dict[Word, tuple[Verdict, Scope]] = {
    "allow": (Verdict.ALLOW, Scope.ONCE),
    "deny": (Verdict.DENY, Scope.ONCE),
    "allow-session": (Verdict.ALLOW, Scope.SESSION),
    "deny-session": (Verdict.DENY, Scope.SESSION),
}


class RunQuestion(msgspec.Struct, frozen=True):
    """A question that is open in a run."""

    guard: ToolGuard
    subject: SessionDecision | None
    """What an answer for the session is about."""


class Questions:
    """The open questions of one run. What changes comes from the store's thread, before anybody hears of it."""

    def __init__(self, guards: Guards) -> None:
        self._guards = guards
        self._lock = threading.Lock()
        self._open: dict[str, RunQuestion] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Name every question that is open."""
        with self._lock:
            return tuple(self._open)

    def note(self, approval: Approval) -> None:
        """Take in a question that was opened or has ended; what was said for the session holds from here on."""
        if approval.state is State.PENDING:
            self._add(approval)
            return
        with self._lock:
            question = self._open.pop(approval.id, None)
        answer = approval.answer
        if question is None or question.subject is None or answer is None or answer.scope is not Scope.SESSION:
            return
        verdict = "allow" if approval.state is State.APPROVED else "deny"
        question.guard.remember(msgspec.structs.replace(question.subject, verdict=verdict))

    def _add(self, approval: Approval) -> None:
        if approval.call is None or approval.decision is None:
            return
        guard = self._guards.find(approval.call.tool)
        subject = session_decision(approval.call, approval.decision.reading, "allow")
        with self._lock:
            self._open.setdefault(approval.id, RunQuestion(guard, subject))


def answer_of(word: Word) -> Answer:
    """Say what a word of the protocol means as an answer."""
    verdict, scope = _ANSWERS[word]
    return Answer(verdict=verdict, scope=scope)


def request_message(run_id: str, approval: Approval, call: ToolCall, decision: Decision) -> RequestPermission:
    """Show a question to the clients of a run."""
    shown = _subject(call, decision)
    return RequestPermission(
        ts=stamp(approval.created_at),
        request_id=approval.id,
        run_id=run_id,
        agent_name=approval.agent,
        tool_name=guarded_name(call.tool),
        tool_call_id=approval.call_id,
        operation=shown[0],
        resource=shown[1],
        reason="policy-deny-override" if approval.kind == "policy-deny-override" else "policy-ask",
        details=_details(call, approval, decision),
        expires_at=stamp(approval.expires_at),
    )


def outcome_of(approval: Approval) -> Outcome:
    """Say in the protocol's words how a question ended."""
    lasts = approval.answer is not None and approval.answer.scope is not Scope.ONCE
    return outcome_word(approval.state.value, lasts=lasts)


def outcome_word(state: str, *, lasts: bool) -> Outcome:
    """Say so of a state, and of whether the answer was for more than once."""
    match state:
        case State.APPROVED.value:
            return "allow-session" if lasts else "allow"
        case State.REJECTED.value:
            return "deny-session" if lasts else "deny"
        case State.EXPIRED.value:
            return "expired"
        case _:
            return "cancelled"


def _subject(call: ToolCall, decision: Decision) -> tuple[SubjectKind, str]:
    """Return what is asked about: a line as a whole, or the file if it only runs one; else the path, or the tool."""
    operations = decision.reading.operations
    if decision.reading.tool == "Bash":
        file = only_file(call, decision.reading)
        return ("fs.exec", file) if file else ("command.execute", command_text(call) or "")
    asked = {opinion.operation for opinion in decision.opinions if opinion.verdict is ASK and not opinion.overruled}
    first = next((o for i, o in enumerate(operations) if i in asked), operations[0])
    what = first.target or first.resource
    return (_KINDS[first.kind], what) if first.kind in _KINDS else ("command.execute", f"{call.tool} {what}")


def _details(call: ToolCall, approval: Approval, decision: Decision) -> dict[str, Any]:
    reading = decision.reading
    found: dict[str, Any] = {
        "tier": reading.tier.value,
        "why": approval.reason,
        "cwd": call.cwd,
        "reading": [
            {"operation": o.kind.value, "resource": o.target or o.resource, "tier": o.tier.value, "reason": o.reason}
            for o in reading.operations[:_SHOWN_OPERATIONS]
        ],
    }
    contents = {name: call.input[name] for name in _CONTENTS if isinstance(call.input.get(name), str)}
    if call.tool not in TOOLS:
        contents["input"] = canonical(call.input).decode()
    found |= {name: text[:SHOWN_CONTENT] for name, text in contents.items()}
    cut = [name for name, text in contents.items() if len(text) > SHOWN_CONTENT]
    return found | ({"cut": cut} if cut else {})

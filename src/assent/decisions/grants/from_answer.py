"""From an answer to what it leaves behind: which grant, covering what, for whom."""

from __future__ import annotations

import secrets

from assent.decisions.errors import ContradictionError
from assent.decisions.grants.file_binding import ABSENT, UNSEEN, look_at
from assent.decisions.grants.reliance import places_of
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    FS_EXEC,
    Answer,
    Approval,
    AssentError,
    Decision,
    Grant,
    Operation,
    Origin,
    Policy,
    Rule,
    Scope,
    Session,
    ToolCall,
    within,
)
from assent.policy.coverage import exact_digest
from assent.policy.guard import session_decision
from assent.policy.lint import lint
from assent.policy.remembered_refusals import refused_thing
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_pattern


def check_answer(answer: Answer, now: float) -> None:
    """Raise `ContradictionError` if the parts of an answer do not fit together."""
    if answer.verdict is ASK:
        raise ContradictionError("an answer is allow or deny")
    if answer.scope is Scope.ONCE and (answer.pattern or answer.destructive):
        raise ContradictionError("a pattern needs the scope session or always")
    if answer.until is not None and answer.until <= now:
        raise ContradictionError("the answer would end before it begins")
    if answer.verdict is DENY and (answer.modified_input is not None or answer.destructive):
        raise ContradictionError("a denial changes no input")
    if answer.scope is not Scope.ONCE and answer.modified_input is not None and answer.pattern is None:
        raise ContradictionError("a changed call is allowed once; say a pattern to allow more")


def make_grant(approval: Approval, answer: Answer, by: str, *, outside: bool = False) -> Grant | None:
    """Return what an answer leaves behind for later calls; nothing, if it is for once.

    Raises `ContradictionError` where it could never hold.
    """
    call, decision = approval.call, approval.decision
    if answer.scope is Scope.ONCE or call is None or decision is None or _is_kept_by_run(approval, answer):
        return None
    session = approval.session
    rule, digest = _subject(answer, call, decision)
    allows = answer.verdict is ALLOW
    return Grant(
        id=f"grant_{secrets.token_hex(8)}",
        verdict=answer.verdict,
        rule=rule,
        digest=digest,
        places=places_of(decision) if allows and digest is not None else "",
        files=_bound_files(decision, session, answer) if allows else (),
        scope=answer.scope,
        user=session.user,
        agent=session.agent,
        session=session.id if answer.scope is Scope.SESSION else None,
        run=session.run if allows else None,
        workspace=session.workspace,
        outside=outside and allows,
        boundary=decision.boundary if allows else None,
        destructive=answer.destructive,
        expires_at=answer.until,
        by=by,
        feedback=answer.feedback,
        approval=approval.id,
    )


def _is_kept_by_run(approval: Approval, answer: Answer) -> bool:
    """Tell whether a run remembers an answer in its guards: what is said for a run ends with it."""
    call, decision = approval.call, approval.decision
    if not approval.session.run or answer.scope is not Scope.SESSION or answer.pattern is not None:
        return False
    return call is not None and decision is not None and session_decision(call, decision.reading, "allow") is not None


def own_programs(decision: Decision, session: Session) -> tuple[str, ...]:
    """Return the workspace's own files that a call runs outside a sandbox, as far as the reading names them."""
    if session.remote or decision.boundary is not None:
        return ()
    found = {o.target or o.resource for o in decision.reading.operations if _runs_own(o, session)}
    return tuple(sorted(found))


def binds(grant: Grant, decision: Decision, session: Session) -> bool:
    """Tell whether a grant was given for exactly these files and places, and each file is what it was then."""
    if grant.digest is not None and grant.places != places_of(decision):
        return False
    bound, wanted = dict(grant.files), own_programs(decision, session)
    return all(bound.get(path) not in (None, UNSEEN) for path in wanted) and all(
        bound[path] == state for path, state in look_at(wanted)
    )


def _bound_files(decision: Decision, session: Session, answer: Answer) -> tuple[tuple[str, str], ...]:
    """Return the files that a standing yes is for, as they were when the question was put.

    For a time, a yes may be for a file that is not there: it ends when there is one.
    """
    seen = dict(decision.reading.bound)
    found = tuple((path, seen.get(path, UNSEEN)) for path in own_programs(decision, session))
    for path, state in found:
        if state == ABSENT and (answer.pattern or (answer.scope is Scope.ALWAYS and answer.until is None)):
            raise ContradictionError(
                f"`{path}` did not exist when this was asked, and a standing approval holds for a file as it is; "
                "approve this call once, or wait until the agent asks again"
            )
        if state == UNSEEN:
            raise ContradictionError(f"`{path}` can't be read, so no standing approval can hold for it; approve once")
    return found


def _subject(answer: Answer, call: ToolCall, decision: Decision) -> tuple[Rule | None, str | None]:
    tool = decision.reading.tool
    if answer.pattern is not None:
        return read_pattern(answer.pattern, tool, allows=answer.verdict is ALLOW), None
    if answer.verdict is ALLOW:
        return None, exact_digest(call, decision.reading)
    thing = refused_thing(call, decision.reading)
    return (thing, None) if isinstance(thing, Rule) else (None, thing)


def read_pattern(pattern: str, tool: str, *, allows: bool = True) -> Rule:
    """Read a pattern: a whole rule, or what stands in the parentheses of one for the tool that was asked about.

    Raises `ContradictionError` for what is no rule, and for an allow that can never match or is not what it looks like.
    """
    try:
        rule = parse_pattern(pattern, tool, Origin(file="an answer"))
        compile_rule(rule)
    except AssentError as error:
        raise ContradictionError(str(error)) from None
    wrong = (f for f in lint((Policy(allow=(rule,)),)) if f.severity == "error") if allows else ()
    for finding in wrong:
        raise ContradictionError(f'Invalid pattern "{rule.text}": {finding.message}; {finding.suggestion}')
    return rule


def _runs_own(operation: Operation, session: Session) -> bool:
    path = operation.target or operation.resource
    return operation.kind is FS_EXEC and operation.known and any(within(path, root) for root in session.workspace)

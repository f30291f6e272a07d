"""Make the grant that an answer leaves for later calls: what it covers, for whom, and until when."""

from __future__ import annotations

import secrets

from assent.decisions.errors import ContradictionError
from assent.decisions.grants.file_binding import ABSENT, UNREADABLE, fingerprint_programs
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
        raise ContradictionError(f"an answer is allow or deny, not `{answer.verdict}`")
    if answer.scope is Scope.ONCE and (answer.pattern or answer.destructive):
        raise ContradictionError("a pattern needs the scope `session` or `always`")
    if answer.until is not None and answer.until <= now:
        raise ContradictionError("the expiry is in the past")
    if answer.verdict is DENY and (answer.modified_input is not None or answer.destructive):
        raise ContradictionError("a denial cannot change the input")
    if answer.scope is not Scope.ONCE and answer.modified_input is not None and answer.pattern is None:
        raise ContradictionError("a changed call is allowed once; give a pattern to allow more")


def make_grant(approval: Approval, answer: Answer, by: str, *, outside: bool = False) -> Grant | None:
    """Return the grant that an answer leaves for later calls; None if the answer is for one call.

    Raises `ContradictionError` if the grant could never apply.
    """
    call, decision = approval.call, approval.decision
    if answer.scope is Scope.ONCE or call is None or decision is None or _is_stored_by_run(approval, answer):
        return None
    session = approval.session
    rule, digest = _rule_or_digest(answer, call, decision)
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


def _is_stored_by_run(approval: Approval, answer: Answer) -> bool:
    """Tell whether a run stores an answer in its guards, so that it ends with the run."""
    call, decision = approval.call, approval.decision
    if not approval.session.run or answer.scope is not Scope.SESSION or answer.pattern is not None:
        return False
    return call is not None and decision is not None and session_decision(call, decision.reading, "allow") is not None


def own_programs(decision: Decision, session: Session) -> tuple[str, ...]:
    """Return the files of the workspace that a call runs outside a sandbox, if the reading names them."""
    if session.remote or decision.boundary is not None:
        return ()
    found = {o.target or o.resource for o in decision.reading.operations if _runs_workspace_file(o, session)}
    return tuple(sorted(found))


def matches_files(grant: Grant, decision: Decision, session: Session) -> bool:
    """Tell whether a grant was given for exactly these files and paths, and no file changed since."""
    if grant.digest is not None and grant.places != places_of(decision):
        return False
    bound, wanted = dict(grant.files), own_programs(decision, session)
    return all(bound.get(path) not in (None, UNREADABLE) for path in wanted) and all(
        bound[path] == state for path, state in fingerprint_programs(wanted)
    )


def _bound_files(decision: Decision, session: Session, answer: Answer) -> tuple[tuple[str, str], ...]:
    """Return the files that a grant is bound to, as they were when the person was asked.

    A temporary grant may be for a missing file: it ends when the file appears.
    """
    seen = dict(decision.reading.bound)
    found = tuple((path, seen.get(path, UNREADABLE)) for path in own_programs(decision, session))
    for path, state in found:
        if state == ABSENT and (answer.pattern or (answer.scope is Scope.ALWAYS and answer.until is None)):
            raise ContradictionError(
                f"`{path}` did not exist when this was asked, and a standing approval holds for a file as it is; "
                "approve this call once, or wait until the agent asks again"
            )
        if state == UNREADABLE:
            raise ContradictionError(f"`{path}` can't be read, so no standing approval can hold for it; approve once")
    return found


def _rule_or_digest(answer: Answer, call: ToolCall, decision: Decision) -> tuple[Rule | None, str | None]:
    tool = decision.reading.tool
    if answer.pattern is not None:
        return read_pattern(answer.pattern, tool, allows=answer.verdict is ALLOW), None
    if answer.verdict is ALLOW:
        return None, exact_digest(call, decision.reading)
    thing = refused_thing(call, decision.reading)
    return (thing, None) if isinstance(thing, Rule) else (None, thing)


def read_pattern(pattern: str, tool: str, *, allows: bool = True) -> Rule:
    """Parse a pattern: a whole rule, or the part in the parentheses of one for the tool that was asked about.

    Raises `ContradictionError` if it is not a rule, or is an allow that never matches or misleads.
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


def _runs_workspace_file(operation: Operation, session: Session) -> bool:
    path = operation.target or operation.resource
    return operation.kind is FS_EXEC and operation.known and any(within(path, root) for root in session.workspace)

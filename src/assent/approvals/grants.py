"""From an answer to what it leaves behind: which grant, covering what, for whom."""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import stat

from assent.approvals.errors import ContradictionError
from assent.approvals.outcome import places_of
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
    Rule,
    Scope,
    Session,
    ToolCall,
    within,
)
from assent.policy.coverage import exact_digest
from assent.policy.guard import session_decision
from assent.policy.matching import compile_rule
from assent.policy.refusals import refused_thing
from assent.policy.rules import parse_rule

LARGEST_PROGRAM = 8 << 20


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


def make_grant(approval: Approval, answer: Answer, by: str) -> Grant | None:
    """Return what an answer leaves behind for later calls; nothing, if it is for once. Reads the files it binds."""
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
        files=tuple((path, hash_file(path)) for path in own_programs(decision, session)) if allows else (),
        scope=answer.scope,
        user=session.user,
        agent=session.agent,
        session=session.id if answer.scope is Scope.SESSION else None,
        run=session.run if allows else None,
        workspace=session.workspace,
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
    bound = dict(grant.files)
    return all(bound.get(path) and bound[path] == hash_file(path) for path in own_programs(decision, session))


def hash_file(path: str) -> str:
    """Return the SHA-256 of a file; empty if it can not be read whole."""
    try:
        status = os.stat(path)  # noqa: PTH116 - paths are strings here
    except (OSError, ValueError):
        return ""
    # The time of the last change of status, unlike that of the content, can not be set back.
    return _hash(path, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


@functools.lru_cache(maxsize=1024)
def _hash(path: str, _stamp: tuple[int, ...]) -> str:
    try:
        # O_NONBLOCK: a pipe put in the file's place must not make anyone wait.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - as above
            whole = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(LARGEST_PROGRAM + 1) if whole else b""
    except (OSError, ValueError):
        return ""
    return hashlib.sha256(data).hexdigest() if whole and len(data) <= LARGEST_PROGRAM else ""


def _subject(answer: Answer, call: ToolCall, decision: Decision) -> tuple[Rule | None, str | None]:
    tool = decision.reading.tool
    if answer.pattern is not None:
        return read_pattern(answer.pattern, tool), None
    if answer.verdict is ALLOW:
        return None, exact_digest(call, decision.reading)
    thing = refused_thing(call, decision.reading)
    return (thing, None) if isinstance(thing, Rule) else (None, thing)


def read_pattern(pattern: str, tool: str) -> Rule:
    """Read a pattern: a whole rule, or what stands in the parentheses of one for the tool that was asked about.

    Raises `ContradictionError` for what is no rule.
    """
    text = pattern.strip()
    head, opening, _ = text.partition("(")
    whole = opening and text.endswith(")") and head.replace("_", "").replace("-", "").isalnum()
    try:
        rule = parse_rule(text if whole or text == tool else f"{tool}({text})", Origin(file="an answer"))
        compile_rule(rule)
    except AssentError as error:
        raise ContradictionError(str(error)) from None
    return rule


def _runs_own(operation: Operation, session: Session) -> bool:
    path = operation.target or operation.resource
    return operation.kind is FS_EXEC and operation.known and any(within(path, root) for root in session.workspace)

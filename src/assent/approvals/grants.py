"""From an answer to what it leaves behind: which grant, covering what, for whom."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat

from assent.approvals.errors import ContradictionError
from assent.config.files import LARGEST_FILE
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
from assent.policy.matching import compile_rule
from assent.policy.refusals import refused_thing
from assent.policy.rules import parse_rule

_PIECE = 1 << 20
LARGEST_PROGRAM = 64 * LARGEST_FILE


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
    if answer.scope is Scope.ONCE or call is None or decision is None:
        return None
    session = approval.session
    rule, digest = _subject(answer, call, decision)
    allows = answer.verdict is ALLOW
    return Grant(
        id=f"grant_{secrets.token_hex(8)}",
        verdict=answer.verdict,
        rule=rule,
        digest=digest,
        files=_bind_files(decision, session) if allows and decision.boundary is None else (),
        scope=answer.scope,
        user=session.user,
        agent=session.agent,
        session=session.id if answer.scope is Scope.SESSION else None,
        workspace=session.workspace,
        boundary=decision.boundary if allows else None,
        destructive=answer.destructive,
        expires_at=answer.until,
        by=by,
        feedback=answer.feedback,
        approval=approval.id,
    )


def holds_files(grant: Grant) -> bool:
    """Tell whether the files that a grant binds are as they were."""
    return all(sha256 and sha256 == hash_file(path) for path, sha256 in grant.files)


def hash_file(path: str) -> str:
    """Return the SHA-256 of a file; empty if it can not be read whole."""
    seal = hashlib.sha256()
    size = 0
    try:
        # O_NONBLOCK: a pipe put in the file's place must not make anyone wait.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123 - as above
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            while piece := file.read(_PIECE):
                seal.update(piece)
                size += len(piece)
                if size > LARGEST_PROGRAM:
                    return ""
    except (OSError, ValueError):
        return ""
    return seal.hexdigest()


def _subject(answer: Answer, call: ToolCall, decision: Decision) -> tuple[Rule | None, str | None]:
    tool = decision.reading.tool
    if answer.pattern is not None:
        return _read_pattern(answer, tool), None
    if answer.verdict is ALLOW:
        return None, exact_digest(call, tool)
    thing = refused_thing(call, decision.reading)
    return (thing, None) if isinstance(thing, Rule) else (None, thing)


def _read_pattern(answer: Answer, tool: str) -> Rule:
    """Read a pattern: a whole rule, or what stands in the parentheses of one for the tool that was asked about."""
    text = (answer.pattern or "").strip()
    head, opening, _ = text.partition("(")
    whole = opening and text.endswith(")") and head.replace("_", "").replace("-", "").isalnum()
    try:
        rule = parse_rule(text if whole or text == tool else f"{tool}({text})", Origin(file="an answer"))
        compile_rule(rule)
    except AssentError as error:
        raise ContradictionError(str(error)) from None
    return rule


def _bind_files(decision: Decision, session: Session) -> tuple[tuple[str, str], ...]:
    """Bind the workspace's own programs that a call runs: what they become later was not approved."""
    if session.remote:
        return ()
    found = {o.target or o.resource for o in decision.reading.operations if _runs_own(o, session)}
    return tuple((path, hash_file(path)) for path in sorted(found))


def _runs_own(operation: Operation, session: Session) -> bool:
    path = operation.target or operation.resource
    return operation.kind is FS_EXEC and operation.known and any(within(path, root) for root in session.workspace)

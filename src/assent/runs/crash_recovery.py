"""What a daemon left behind that ended too soon: its runs are over, and what they asked is withdrawn."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from assent.decisions.approvals import transitions
from assent.decisions.rows import APPROVAL_COLUMNS, read_approval
from assent.model import State
from assent.runs.context import RunContext
from assent.runs.records import SELECT_RUNS, RunRecord, Status, read_run, status_event, update_run
from assent.store.cursor import Cursor

RESTARTED = "the daemon was restarted while it ran"
SILENT = "the daemon that ran it died or hangs: nothing was heard of it for too long"
MOST_AT_ONCE = 20
"""How many runs are closed in one transaction: each may have asked much, and meanwhile nobody else writes."""
_ACTIVE_AT = SELECT_RUNS + " WHERE node = ? AND status IN ('pending', 'running')"
_PENDING = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE state = 'pending'"  # noqa: S608 - constants


def find_active(cursor: Cursor, node: str) -> dict[str, RunRecord]:
    """Return the runs of a node that are not over."""
    return {record.id: record for record in map(read_run, cursor.fetch(_ACTIVE_AT, node))}


def close_abandoned(cursor: Cursor, context: RunContext, node: str, reason: str) -> bool:
    """Report runs of a node that were active when it ended as failed, on record; tell whether more are left."""
    left = list(find_active(cursor, node).values())
    ended = {"status": Status.ERROR, "ended_at": cursor.now, "reason": reason}
    closed = {record.id: msgspec.structs.replace(record, **ended) for record in left[:MOST_AT_ONCE]}
    end_runs(cursor, context, closed)
    return len(left) > MOST_AT_ONCE


def end_runs(cursor: Cursor, context: RunContext, ended: Mapping[str, RunRecord]) -> None:
    """Write down how runs ended, unless that is on record already, with all that ends with them."""
    if not ended:
        return
    for approval in map(read_approval, cursor.fetch(_PENDING)):
        if approval.session.run and approval.session.id in ended:
            reason = ended[approval.session.id].reason or "the run is over"
            transitions.end_question(cursor, context.log, approval.id, State.CANCELLED, reason)
    for record in ended.values():
        if update_run(cursor, record):
            context.log.append(cursor, (context.log.prepare(status_event(record)),))
        context.end_tokens(cursor, record.id)

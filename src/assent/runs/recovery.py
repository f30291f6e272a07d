"""What a process left behind that ended too soon: its runs are over, and what they asked is withdrawn."""

from __future__ import annotations

import msgspec

from assent.approvals import questions
from assent.approvals.rows import APPROVAL_COLUMNS, read_approval
from assent.audit.log import Log
from assent.model import State
from assent.runs.records import SELECT_RUNS, Status, read_run, status_event, update_run
from assent.store.cursor import Cursor

RESTARTED = "the daemon was restarted while it ran"
_PENDING = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE state = 'pending'"  # noqa: S608 - constants


def close_left(cursor: Cursor, log: Log, node: str) -> tuple[str, ...]:
    """Report the runs of a node that were active when it ended as failed, on record; return which they were."""
    sql = SELECT_RUNS + " WHERE node = ? AND status IN ('pending', 'running')"
    left = {record.id: record for record in map(read_run, cursor.fetch(sql, node))}
    if not left:
        return ()
    for approval in map(read_approval, cursor.fetch(_PENDING)):
        if approval.session.run and approval.session.id in left:
            questions.end_question(cursor, log, approval.id, State.CANCELLED, RESTARTED)
    for record in left.values():
        ended = msgspec.structs.replace(record, status=Status.ERROR, ended_at=cursor.now, reason=RESTARTED)
        update_run(cursor, ended)
        log.append(cursor, (log.prepare(status_event(ended)),))
    return tuple(left)

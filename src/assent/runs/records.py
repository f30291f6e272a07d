"""What lasts of a run: its row, and the events that tell what happened in it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assent.model import Event, EventType, SandboxProfile, Violation
from assent.runs.protocol.messages import (
    DaemonMessage,
    RunBrief,
    RunError,
    RunSummary,
    StrategyCompleted,
    StrategyError,
    Usage,
    stamp,
)

if TYPE_CHECKING:
    from assent.store.cursor import Cursor
    from assent.store.store import Store

COLUMNS = "id, user_id, node, status, strategy, path, cwd, created_at, started_at, ended_at, reason"
SELECT_RUNS = f"SELECT {COLUMNS} FROM runs"  # noqa: S608 - constants
_INSERT = f"INSERT INTO runs ({COLUMNS}) VALUES ({', '.join('?' * 11)}) ON CONFLICT DO NOTHING"  # noqa: S608 - constants
_UPDATE = (
    "UPDATE runs SET status = ?, started_at = ?, ended_at = ?, reason = ? "
    "WHERE id = ? AND status IN ('pending', 'running')"
)


LONGEST_SUMMARY = 200
_SAID = ("error", "output", "text")
PROCESS = "process"
"""What stands for a tool where a run is one program."""


class Status(enum.StrEnum):
    """Where a run is. The last three are for good."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    ERROR = "error"
    CANCELLED = "cancelled"


ACTIVE = (Status.PENDING, Status.RUNNING)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is kept."""

    id: str
    user: str
    node: str
    """Whose daemon runs it."""
    status: Status = Status.PENDING
    strategy: str
    path: str
    cwd: str
    created_at: float
    started_at: float | None = None
    ended_at: float | None = None
    reason: str | None = None
    """Why it failed, or who ended it."""

    @property
    def is_active(self) -> bool:
        """Tell whether it may still do something."""
        return self.status in ACTIVE


def insert_run(cursor: Cursor, record: RunRecord) -> bool:
    """Write a new run; false if there is one of this id."""
    put = cursor.execute(
        _INSERT,
        *(record.id, record.user, record.node, record.status.value, record.strategy, record.path, record.cwd),
        *(record.created_at, record.started_at, record.ended_at, record.reason),
    )
    return put == 1


def update_run(cursor: Cursor, record: RunRecord) -> bool:
    """Write what became of a run; false if it had ended before, which is for good."""
    changed = (record.status.value, record.started_at, record.ended_at, record.reason)
    return cursor.execute(_UPDATE, *changed, record.id) == 1


def read_run(row: Sequence[Any]) -> RunRecord:
    """Return the run in a row."""
    found = dict(zip(RunRecord.__struct_fields__, row, strict=True))
    return RunRecord(**found | {"status": Status(found["status"])})


async def find_record(store: Store, run_id: str) -> RunRecord | None:
    """Return what is kept of a run, wherever it is done."""
    rows = await store.query(SELECT_RUNS + " WHERE id = :id", {"id": run_id})
    return read_run(rows[0]) if rows else None


def status_event(record: RunRecord, *, agent: str = "", **more: Any) -> Event:
    """Say where a run is."""
    payload: dict[str, Any] = {
        "status": record.status.value,
        "strategy": record.strategy,
        "path": record.path,
        "cwd": record.cwd,
    }
    payload |= {"summary": f"{record.strategy}: {record.status}", "reason": record.reason, **more}
    return _event("run.status", record, agent, payload)


class RunPlace(msgspec.Struct, frozen=True):
    """Where in a run something happens."""

    agent: str
    step: str
    call: str


def tool_event(kind: EventType, record: RunRecord, place: RunPlace, tool: str, **more: Any) -> Event:
    """Say what a tool of a run does, or how it fared, which a list of records shows in one line."""
    summary = _outcome(more)
    return _event_at(kind, record, place, {"tool": tool, **({"summary": summary} if summary else {}), **more})


def _outcome(told: dict[str, Any]) -> str:
    """Sum up an end: its code, who stopped it, and the first line of what it said.

    A line is whole: what looks for secrets would not know the half of one.
    """
    code, said = told.get("code"), next((told[name] for name in _SAID if isinstance(told.get(name), str)), "")
    line = said.strip().partition("\n")[0]
    words = (f"exit {code}" if code else "", told.get("stopped"), line if len(line) <= LONGEST_SUMMARY else "")
    return " · ".join(word for word in words if word)


def applied_event(record: RunRecord, place: RunPlace, profile: SandboxProfile) -> Event:
    """Say which boundary is in force."""
    event = _event_at("sandbox.applied", record, place, {})
    return msgspec.structs.replace(event, sandbox_profile=profile)


def violation_event(record: RunRecord, place: RunPlace, violation: Violation) -> Event:
    """Say what was stopped at a boundary."""
    event = _event_at("sandbox.violation", record, place, {})
    return msgspec.structs.replace(event, violation=violation)


def _event_at(kind: EventType, record: RunRecord, place: RunPlace, payload: dict[str, Any]) -> Event:
    event = _event(kind, record, place.agent, payload)
    return msgspec.structs.replace(event, step_id=place.step, tool_call_id=place.call, turn_id=place.call)


def _event(kind: EventType, record: RunRecord, agent: str, payload: dict[str, Any]) -> Event:
    about = {"user": record.user, "agent": agent, **payload}
    return Event(
        type=kind,
        event_id="",
        timestamp="",
        session_id=record.id,
        sequence=0,
        thread_id=record.id,
        turn_id=record.id,
        run_id=record.id,
        payload={key: value for key, value in about.items() if value is not None},
    )


def end_message(record: RunRecord, result: str = "") -> DaemonMessage:
    """Say how a run ended."""
    ts = stamp(record.ended_at or record.created_at)
    if record.status is Status.COMPLETED:
        return StrategyCompleted(ts=ts, run_id=record.id, result=result, usage=Usage())
    code: Any = "CANCELLED" if record.status is Status.CANCELLED else "EXECUTION_ERROR"
    return StrategyError(ts=ts, run_id=record.id, error=RunError(code, record.reason or ""))


def summarise(record: RunRecord) -> RunSummary:
    """Return a run as a list shows it."""
    ended_at = None if record.ended_at is None else stamp(record.ended_at)
    return RunSummary(
        run_id=record.id,
        status=record.status.value,
        strategy_name=record.strategy,
        strategy_path=record.path,
        cwd=record.cwd,
        created_at=stamp(record.created_at),
        started_at=stamp(record.started_at or record.created_at),
        completed_at=ended_at,
        ended_at=ended_at,
        error=record.reason,
    )


def brief(run: RunSummary) -> RunBrief:
    """Return a run as it stands beside the strategies."""
    return RunBrief(
        run_id=run.run_id,
        status=run.status,
        strategy_name=run.strategy_name,
        started_at=run.started_at,
        completed_at=run.completed_at,
    )

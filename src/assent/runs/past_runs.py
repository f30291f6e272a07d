"""A run that is over, read back from the log: whoever asks, and however often the daemon restarted since."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec

from assent.audit.search import MOST_ROWS, Query, search
from assent.model import Event, encode
from assent.runs.conversation import MOST_RECORDS, Transcript
from assent.runs.protocol.messages import (
    AgentStreaming,
    Conversation,
    DaemonMessage,
    FlowNode,
    PermissionResolved,
    RunPrepared,
    StepStarted,
    ToolCalled,
    ToolReturned,
    stamp,
)
from assent.runs.questions import outcome_word
from assent.runs.records import PROCESS, RunRecord, end_message
from assent.runs.subscribers import Subscriber
from assent.store.store import Store

_CALLS = ("tool.result", "tool.failed", "process.completed", "process.failed", "process.terminated")


class PastRun(msgspec.Struct, frozen=True):
    """What is on record of a run: who did what in it, what was answered, and how it ended."""

    record: RunRecord
    events: tuple[Event, ...]
    position: int = 0
    """Where in the log the last of them is."""

    def introduce(self, request_id: str | None) -> RunPrepared:
        """Describe it to whoever attaches to it, its story included."""
        steps = tuple(dict.fromkeys(str(e.payload["step"]) for e in self.events if _begins(e)))
        agents = tuple(dict.fromkeys(str(e.payload["agent"]) for e in self.events if _begins(e)))
        tree = FlowNode(self.record.strategy, "sequence", tuple(FlowNode(step, "step") for step in steps))
        return RunPrepared(
            ts=stamp(self.record.ended_at or self.record.created_at),
            request_id=request_id,
            run_id=self.record.id,
            strategy_name=self.record.strategy,
            agents=agents,
            flow_tree=tree,
            conversation=self._converse(),
            mcp_servers=[],
        )

    async def subscribe(self, subscriber: Subscriber) -> None:
        """Tell a newcomer how it ended: nothing else will come of it."""
        if not self.record.is_active:
            subscriber.push(encode(self.end()).decode())

    def _converse(self) -> Conversation:
        transcript = Transcript()
        for event in self.events:
            if (given := _given(event)) is not None:
                transcript.note_input(*given, event.timestamp)
            message = _called(event, self.record.id) or retell(event, self.record.id)
            if message is not None:
                transcript.hear(message)
        told = tuple(msgspec.Raw(encode(message)) for message in self._tell())
        return transcript.tell(told[-MOST_RECORDS:])

    def _tell(self) -> Iterator[DaemonMessage]:
        for event in self.events:
            message = retell(event, self.record.id)
            if message is not None:
                yield message
        if not self.record.is_active:
            yield self.end()

    def end(self) -> DaemonMessage:
        """Say how it ended."""
        return end_message(self.record, str(self.events[-1].payload.get("result", "")) if self.events else "")


async def read_back(store: Store, record: RunRecord) -> PastRun:
    """Read a run back; of a very long one the end."""
    page = await search(store, Query(session=record.id), limit=MOST_ROWS)
    # Beside the loop: others must not wait for a long story.
    events = await asyncio.to_thread(lambda: tuple(found.event for found in reversed(page.records)))
    return PastRun(record, events, page.records[0].position if page.records else 0)


def _begins(event: Event) -> bool:
    return event.type == "run.status" and "step" in event.payload


def _given(event: Event) -> tuple[str, str] | None:
    """Return who was given what when the run was started, from the record of its start."""
    said = event.payload
    if event.type != "run.status" or "input" not in said:
        return None
    return str(said.get("agent", "")), str(said["input"])


def _called(event: Event, run_id: str) -> AgentStreaming | None:
    """Return with what a call began, as far as it is on record."""
    if event.type != "tool.started" or event.tool_call_id is None:
        return None
    said = event.payload
    called = ToolCalled(event.tool_call_id, str(said.get("tool", "")), encode(said.get("args", {})).decode())
    return AgentStreaming(ts=event.timestamp, run_id=run_id, agent_name=str(said.get("agent", "")), event=called)


def _is_call(event: Event) -> bool:
    """Tell a call, or the program of a whole run, from a process that a call started: the call has its own result."""
    return event.type.startswith("tool.") or event.payload.get("tool") == PROCESS


def retell(event: Event, run_id: str) -> DaemonMessage | None:
    """Return what clients were told when this happened; None for what they were not, or what is of no use now."""
    said, ts = event.payload, event.timestamp
    if _begins(event):
        message = f"{said['agent']}: {said.get('tool', said['step'])}"
        return StepStarted(ts=ts, run_id=run_id, step_name=said["step"], message=message)
    if event.type in _CALLS and _is_call(event):
        failed = not event.type.endswith(("result", "completed"))
        error = str(said.get("error", said.get("output", ""))) if failed else None
        output = "" if failed else str(said.get("output", ""))
        call, tool = event.tool_call_id or "", str(said.get("tool", ""))
        returned = ToolReturned(call, tool, output, "error" if failed else "completed", error)
        return AgentStreaming(ts=ts, run_id=run_id, agent_name=str(said.get("agent", "")), event=returned)
    if event.type == "permission.resolved" and event.action_id is not None:
        outcome = outcome_word(str(said.get("state", "")), lasts=said.get("scope", "once") != "once")
        by = str(said.get("by", ""))
        return PermissionResolved(ts=ts, request_id=event.action_id, run_id=run_id, decision=outcome, by=by)
    return None

"""What was said in a run so far, for whoever comes later: each call as one record, and what people gave it."""

from __future__ import annotations

import msgspec

from assent.runs.protocol.messages import (
    AgentStreaming,
    CallRecord,
    Conversation,
    DaemonMessage,
    Done,
    GivenInput,
    ModelMessage,
    StepStarted,
    ToolCalled,
    ToolReturned,
)
from assent.runs.records import PROCESS

MOST_RECORDS = 200
LARGEST_RECORD = 4 << 10
"""Messages larger than this are not kept for those who come later; texts, inputs and results are cut."""


class Transcript:
    """Puts records together from what clients are told, in its order; the oldest are dropped first."""

    def __init__(self) -> None:
        self._entries: list[CallRecord | GivenInput] = []
        self._called: dict[str, ToolCalled] = {}
        self._returned: dict[str, int] = {}
        self._message = ""
        self._made = 0

    def hear(self, message: DaemonMessage) -> None:
        """Take in what is told."""
        if isinstance(message, StepStarted):
            self._message = message.message
        if not isinstance(message, AgentStreaming):
            return
        agent, event = message.agent_name, message.event
        if isinstance(event, ToolCalled):
            self._called[event.tool_call_id] = event
        elif isinstance(event, ToolReturned):
            self._returned[agent] = self._returned.get(agent, 0) + 1
            self._add_call(message, event)
        elif isinstance(event, Done):
            if self._returned.get(agent):
                self._returned[agent] -= 1
            else:  # no call of a tool is behind it: it is a program
                self._add_text(message, event.result.text, failed=event.result.finish_reason == "error")

    def note_input(self, agent: str, text: str, at: str) -> None:
        """Take in what a person gave to an agent."""
        self._add(GivenInput(agent, text[:LARGEST_RECORD], at))

    def tell(self, messages: tuple[msgspec.Raw, ...]) -> Conversation:
        """Return it all, beside the messages themselves; each input says which record it came before."""
        records: list[CallRecord] = []
        inputs: list[GivenInput] = []
        before: str | None = None
        for entry in reversed(self._entries):
            if isinstance(entry, CallRecord):
                records.append(entry)
                before = entry.id
            else:
                inputs.append(msgspec.structs.replace(entry, before_record_id=before))
        return Conversation(tuple(reversed(records)), (), tuple(reversed(inputs)), messages)

    def clear(self) -> None:
        """Forget what was said."""
        self._entries.clear()

    def _add_text(self, message: AgentStreaming, text: str, *, failed: bool) -> None:
        kept = text[:LARGEST_RECORD]
        self._add(self._record(message, kept, (ModelMessage("assistant", kept),), failed=failed))

    def _add_call(self, message: AgentStreaming, event: ToolReturned) -> None:
        failed, result = event.status == "error", event.output or event.error or ""
        if event.tool_name == PROCESS:
            self._add_text(message, result, failed=failed)
            return
        about = {"toolCallId": event.tool_call_id, "toolName": event.tool_name}
        called = self._called.pop(event.tool_call_id, None)
        args = called.args if called is not None and len(called.args) <= LARGEST_RECORD else "{}"
        text = result[:LARGEST_RECORD]
        said = (
            ModelMessage("assistant", [{"type": "tool-call", **about, "input": msgspec.json.decode(args)}]),
            ModelMessage("tool", [{"type": "tool-result", **about, "output": text}]),
        )
        self._add(self._record(message, text, said, failed=failed, name=event.tool_call_id))

    def _record(
        self, message: AgentStreaming, text: str, said: tuple[ModelMessage, ...], *, failed: bool, name: str = ""
    ) -> CallRecord:
        self._made += 1
        return CallRecord(
            id=name or f"{message.run_id}.{self._made}",
            agent_name=message.agent_name,
            created_at=message.ts,
            user_message=ModelMessage("user", self._message),
            response_messages=said,
            text=text,
            finish_reason="error" if failed else "stop",
        )

    def _add(self, entry: CallRecord | GivenInput) -> None:
        self._entries.append(entry)
        del self._entries[:-MOST_RECORDS]

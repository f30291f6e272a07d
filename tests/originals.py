"""Clients as the published designs describe them, written from those texts alone: they know nothing of Assent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def read_session_stream(pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Read a session's stream as the browser of that design does: split at blank lines, keep what begins with data."""
    buffer = ""
    for piece in pieces:
        buffer += piece
        *parts, buffer = buffer.split("\n\n")
        for part in parts:
            line = part.strip()
            if line.startswith("data: "):
                yield json.loads(line[6:])


def may_run(answer: dict[str, Any]) -> bool:
    """Read an answer of the classify hook as its own callers do: four fields, and nothing else."""
    known = {name: answer[name] for name in ("allow", "tier", "reason", "requestId") if name in answer}
    assert isinstance(known["allow"], bool)
    assert known["tier"] in ("safe", "dangerous", "destructive")
    assert isinstance(known["reason"], str)
    return known["allow"]


def print_run(messages: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Print a run as the example clients of that protocol do, field by field."""
    for msg in messages:
        match msg["type"]:
            case "agent_streaming" if msg["event"]["type"] == "text":
                yield msg["event"]["text"]
            case "agent_streaming" if msg["event"]["type"] == "done":
                result = msg["event"]["result"]
                yield f"done {result['text']} {result['finishReason']} {result['usage']['promptTokens'] + 0}"
            case "step_completed":
                yield f"step {msg['stepName']} {msg['result']['text']} {msg['result']['usage']['completionTokens'] + 0}"
            case "agent_output":
                yield f"{msg['agentName']}: {msg['text']} {msg['usage']['promptTokens'] + 0}"
            case "strategy_completed":
                yield f"completed {msg['result']} {msg['usage']['promptTokens'] + msg['usage']['completionTokens']}"
            case "strategy_error":
                yield f"failed {msg['error']['code']} {msg['error']['message']}"


def show_conversation(conversation: dict[str, Any]) -> Iterator[str]:
    """Show a run that is opened again as the terminal interface of that protocol does: every field must be there."""
    assert conversation["retentionEvents"] == []
    before: dict[str | None, list[str]] = {}
    for given in conversation["inputs"]:
        before.setdefault(given.get("beforeRecordId"), []).append(f"you: {given['text']}")
    for record in conversation["records"]:
        assert record["userMessage"]["role"] == "user"
        assert isinstance(record["createdAt"], str)
        yield from before.get(record["id"], ())
        yield f"{record['agentName']}: {record['text']} {record['finishReason']} {record['usage']['promptTokens'] + 0}"
        yield from _parts(record["responseMessages"])
    yield from before.get(None, ())


def _parts(messages: list[dict[str, Any]]) -> Iterator[str]:
    for message in messages:
        assert message["role"] in ("assistant", "tool")
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "tool-call":
                yield f"called {part['toolName']} {json.dumps(part['input'])}"
            elif part["type"] == "tool-result":
                yield f"returned {part['toolName']} {part['output']}"

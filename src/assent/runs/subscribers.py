"""Who hears of a run, and what those who come later are told of what was said before. Nobody is ever waited for."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import msgspec

from assent.model import encode
from assent.runs.conversation import LARGEST_RECORD, MOST_RECORDS, Transcript
from assent.runs.protocol.messages import AgentStreaming, Conversation, DaemonMessage, TextPiece


class Subscriber(Protocol):
    """Someone who hears of a run. It is never waited for."""

    def push(self, message: str) -> bool:
        """Queue a message; false if it reads no more."""

    async def room(self) -> None:
        """Wait until it has read most of what is queued: for whoever tells it alone of very much."""


class Subscribers:
    """Everyone who listens to one run."""

    def __init__(self) -> None:
        self._subscribers: dict[Subscriber, None] = {}
        self._messages: deque[msgspec.Raw] = deque(maxlen=MOST_RECORDS)
        self._transcript = Transcript()

    def __contains__(self, subscriber: Subscriber) -> bool:
        return subscriber in self._subscribers

    @property
    def conversation(self) -> Conversation:
        """Return what was said so far."""
        return self._transcript.tell(tuple(self._messages))

    def add(self, subscriber: Subscriber) -> None:
        """Have someone hear what is said from now on."""
        self._subscribers[subscriber] = None

    def remove(self, subscriber: Subscriber) -> None:
        """Let someone hear no more."""
        self._subscribers.pop(subscriber, None)

    def broadcast(self, message: DaemonMessage, *, but: Subscriber | None = None) -> None:
        """Tell everyone, except one if need be."""
        data = encode(message)
        is_piece = isinstance(message, AgentStreaming) and isinstance(message.event, TextPiece)
        if not is_piece and len(data) <= LARGEST_RECORD:
            self._messages.append(msgspec.Raw(data))
        self._transcript.hear(message)
        text = data.decode()
        for subscriber in tuple(self._subscribers):
            if subscriber is not but:
                self.tell(subscriber, text)

    def tell(self, subscriber: Subscriber, text: str) -> None:
        """Tell one who listens something that is written down already."""
        if not subscriber.push(text):
            self.remove(subscriber)

    def note_input(self, agent: str, text: str, at: str) -> None:
        """Keep what a person gave to an agent, for those who come later."""
        self._transcript.note_input(agent, text, at)

    def close(self) -> None:
        """Forget what was said: it is in the log."""
        self._messages.clear()
        self._transcript.clear()

"""What an agent asks its user besides permission: a question in words, answered once, in the order they were asked."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any

from assent.model import encode
from assent.sdk.sessions.events import Feed

LONGEST_RESULT = 65_536
"""Characters of a tool's result that a stream shows."""


class UserQuestions:
    """The open questions of one session. They live with the process that asks; an answer permits nothing."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._open: dict[str, concurrent.futures.Future[str]] = {}
        self._lock = threading.Lock()

    async def ask(self, call_id: str, question: str, *, hint: str | None, options: tuple[str, ...]) -> str:
        """Put a question to whoever follows the session, and wait for the answer."""
        future: concurrent.futures.Future[str] = concurrent.futures.Future()
        with self._lock:
            self._open[call_id] = future
        shown = list(options) or None
        self._feed.put("waiting_for_user_input", toolCallId=call_id, question=question, hint=hint, options=shown)
        try:
            return await asyncio.wrap_future(future)
        finally:
            with self._lock:
                self._open.pop(call_id, None)

    def answer(self, text: str, call_id: str | None) -> bool:
        """Answer the question of a call, or the oldest; tell whether there was one."""
        with self._lock:
            found = call_id if call_id is not None else next(iter(self._open), None)
            future = self._open.pop(found, None) if found is not None else None
        if future is None or not future.set_running_or_notify_cancel():
            return False
        future.set_result(text)
        return True


def show_result(content: Any) -> Any:
    """Return a tool's result as a stream shows it: what is too long is cut, what is no JSON is shown as text."""
    if isinstance(content, str):
        return content if len(content) <= LONGEST_RESULT else content[:LONGEST_RESULT] + "…"
    try:
        size = len(encode(content))
    except (TypeError, ValueError, RecursionError):
        return str(type(content).__name__)
    return content if size <= LONGEST_RESULT else f"{size} bytes"

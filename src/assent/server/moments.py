"""The disk at one moment: what is decided in one turn of the loop asks it each thing once.

All of a turn's calls came in before the first of them was decided. So whatever was changed on the disk before one of
them was made, by whomever, is seen by it. (Nothing changes an agent's files in the loop's own thread.)
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Moment:
    """Remembers answers until the turn of the loop is over; in any other thread it remembers nothing."""

    def __init__(self) -> None:
        self._answers: list[dict[tuple[Any, ...], Any]] = []
        self._thread: int | None = None
        """Where the loop runs, while a turn is under way."""

    def once(self, ask: Callable[..., T]) -> Callable[..., T]:
        """Return the same question, asked once in a turn."""
        known: dict[tuple[Any, ...], T] = {}
        self._answers.append(known)

        def answer(*question: Any) -> T:
            if self._thread != threading.get_ident() and not self._begin():
                return ask(*question)
            if question not in known:
                known[question] = ask(*question)
            return known[question]

        return answer

    def _begin(self) -> bool:
        """Begin a turn, if this is a loop's thread and none is under way in another's."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if self._thread is not None:
            return False
        self._thread = threading.get_ident()
        loop.call_soon(self._end)
        return True

    def _end(self) -> None:
        for known in self._answers:
            known.clear()
        self._thread = None

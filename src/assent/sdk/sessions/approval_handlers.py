"""Approval handlers: who is asked, and which answer is accepted, while a question is pending."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec

from assent.model import DENY, Answer, ForbiddenError, Source, ToolCall
from assent.sdk.sessions.backends import NO, YES, BackendDecision, PendingQuestion, refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from assent.sdk.sessions.session import AgentSession

Said: TypeAlias = Literal["approved", "rejected"]


class ApprovalHandler(Protocol):
    """Asks somebody about one call."""

    def request_approval(
        self, *, tool_call_id: str, tool_name: str, reason: str, signal: asyncio.Event
    ) -> Awaitable[Said]:
        """Return "approved" or "rejected"; `signal` is set when the question has ended without you."""


def queue_approvals(_session_id: str) -> None:
    """Let questions wait for `respond`, or whoever else answers: what to give where a handler, or its maker, goes."""


class Asking:
    """A pending question with its approval handler."""

    def __init__(self, session: AgentSession, call: ToolCall) -> None:
        self._session = session
        self._call = call
        self._signal: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None
        self._alone: asyncio.Future[BackendDecision] | None = None
        self.question: PendingQuestion | None = None

    async def race(self, judging: Coroutine[Any, Any, BackendDecision]) -> BackendDecision:
        """Wait for the backend, or for the handler's refusal: its approval alone does not count there."""
        self._alone = asyncio.get_running_loop().create_future()
        task = asyncio.ensure_future(judging)
        try:
            await asyncio.wait((task, self._alone), return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else self._alone.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def begin(self, question: PendingQuestion) -> None:
        """Announce the question, once, and have the handler see to it."""
        if self.question is not None and self.question.id == question.id:
            return
        self.question = question
        self._session.waiting.add(question.id)
        self._session.announce(question)
        if self._session.handler is not None:
            self._signal = asyncio.Event()
            handling = self._handle(self._session.handler, question, self._signal)
            self._task = asyncio.get_running_loop().create_task(handling)

    async def _handle(self, handler: ApprovalHandler, question: PendingQuestion, signal: asyncio.Event) -> None:
        answer = NO
        try:
            said = handler.request_approval(
                tool_call_id=question.tool_call_id,
                tool_name=question.tool_name,
                reason=question.reason,
                signal=signal,
            )
            word: Any = await said
            # Nothing but this very word is a yes.
            answer = YES if word == "approved" else msgspec.structs.replace(NO, feedback=_refusal(word))
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a handler that fails has not approved
            answer = msgspec.structs.replace(NO, feedback=f"the approval handler failed: {type(error).__name__}")
        try:
            await self._session.answer(question, answer)
        except ForbiddenError as error:
            self._end_alone(answer, error)

    def _end_alone(self, answer: Answer, error: ForbiddenError) -> None:
        """End the wait without the backend: a program that may not approve a call may still refuse to run it."""
        said = f"approved here, which does not count: {error}" if answer.verdict is not DENY else "rejected here"
        if self._alone is not None and not self._alone.done():
            judgement = refuse(answer.feedback or said, Source.HOST_POLICY)
            self._session.note_refusal(self._call, judgement)
            self._alone.set_result(judgement)

    async def withdraw(self) -> None:
        """Withdraw the question."""
        if self.question is not None:
            await self._session.withdraw(self.question)
            self._session.resolve(self.question, "rejected", reason="the call was aborted")

    def end(self) -> None:
        """Signal the handler that the question has ended."""
        if self.question is not None:
            self._session.waiting.discard(self.question.id)
        if self._signal is not None:
            self._signal.set()
        if self._task is not None and not self._task.done():
            self._task.cancel()


def _refusal(word: Any) -> str | None:
    return None if word == "rejected" else f"the approval handler said {str(word)[:80]!r}"

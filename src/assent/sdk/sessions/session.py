"""A session of an agent: every call is validated, decided, asked about if necessary, and only then run."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from assent.decisions.call_summary import mask
from assent.decisions.errors import AmbiguousError
from assent.model import (
    DENY,
    Answer,
    AssentError,
    EventType,
    ForbiddenError,
    NotFoundError,
    Opinion,
    Session,
    Source,
    ToolCall,
    read_trace,
)
from assent.sdk.sessions.approval_handlers import ApprovalHandler, Asking, Said
from assent.sdk.sessions.backends import NO, YES, BackendDecision, Judge, PendingQuestion, refuse
from assent.sdk.sessions.events import Feed
from assent.sdk.sessions.results import ToolFailedError, ToolResult, denial_text
from assent.sdk.sessions.user_questions import UserQuestions, show_result
from assent.sdk.tools.callbacks import Heard, call_callback, describe, hear_check, hear_hook
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.tool import Tool, ToolInput, read_object

Hook: TypeAlias = Callable[[str, dict[str, Any]], Any]
"""Hears a tool's name and input before it is decided; see `hear_hook` for what it may say."""


MOST_REMEMBERED = 10_000


class AgentSession:
    """One conversation with an agent. Made by `AgentApp.session`."""

    def __init__(
        self,
        who: Session,
        judge: Judge,
        *,
        tools: dict[str, Tool],
        hooks: Sequence[Hook] = (),
        handler: ApprovalHandler | None = None,
        queue: bool = False,
        cwd: str | None = None,
    ) -> None:
        self._who = who
        self._unheard = msgspec.structs.replace(who, interactive=False)
        self._judge = judge
        self._tools = tools
        self._hooks = hooks
        self.handler = handler
        """Who is asked; None means that only the queue of questions is there, if `queue` says so."""
        self.queue = queue
        self._open = False
        self._cwd = cwd
        self.waiting: set[str] = set()
        """The questions that a call of this process waits for."""
        self._announced: OrderedDict[str, None] = OrderedDict()
        self.feed = Feed()
        self._questions = UserQuestions(self.feed)
        self.feed.put("session.start", sessionId=who.id)

    @property
    def id(self) -> str:
        """Return the session's id."""
        return self._who.id

    @property
    def user(self) -> str:
        """Return whose session it is."""
        return self._who.user

    @property
    def is_busy(self) -> bool:
        """Tell whether somebody follows it, or waits for an answer in it."""
        return bool(self.waiting) or self.feed.is_followed

    @property
    def who(self) -> Session:
        """Return the session as decisions know it: without anyone to ask, it is not interactive."""
        return self._who if self.queue or self.handler is not None else self._unheard

    def open_to(self, make_handler: Callable[[str], ApprovalHandler | None]) -> None:
        """Let questions be asked here, by the handler that is made for this session, once; without one they wait."""
        if not self._open:
            self.handler = make_handler(self.id) or self.handler
            self.queue = self._open = True

    async def call_tool(
        self, name: str, given: Any = None, *, tool_call_id: str | None = None, traceparent: str | None = None
    ) -> ToolResult:
        """Make one call, guarded. Whatever goes wrong is an error result for the model, and no execution.

        `traceparent` (W3C) has it written down where in the host's own trace the call belongs.
        """
        call = ToolCall(tool=name, call_id=tool_call_id or new_call_id(), trace=read_trace(traceparent))
        tool = self._tools.get(name)
        if tool is None:
            return self._reject(call, f'There is no tool "{name}"')
        try:
            taken = tool.read({} if given is None else given)
            judgement, taken = await self._decide(call, taken, tool.read, tool.check_permissions)
        except InputError as error:
            return self._reject(call, _unfit(name, error))
        if not judgement.allowed:
            return self._fail(call, denial_text(name, judgement), judgement)
        return await self._execute(tool, taken, call, judgement)

    async def decide(
        self,
        name: str,
        given: dict[str, Any],
        *,
        tool_call_id: str | None = None,
        check: Callable[[Any], Any] | None = None,
        heard: Sequence[Opinion] = (),
        secret: tuple[str, ...] = (),
        traceparent: str | None = None,
    ) -> tuple[BackendDecision, dict[str, Any]]:
        """Decide a call that somebody else will run, and return the input to run it with.

        `heard` is what the host has to say about it already; none of it can loosen. `secret` names fields to be masked
        in the log.
        """
        call = ToolCall(tool=name, call_id=tool_call_id or new_call_id(), trace=read_trace(traceparent))
        try:
            read = functools.partial(read_object, secrets=secret)
            judgement, taken = await self._decide(call, read(given), read, check, heard)
        except InputError as error:
            return self.refuse_input(name, tool_call_id, error), given
        return judgement, taken.params

    def refuse_input(self, name: str, call_id: str | None, error: InputError) -> BackendDecision:
        """Refuse a call whose input cannot be decided about, on record."""
        return refuse(self._reject(ToolCall(tool=name, call_id=call_id), _unfit(name, error)).content)

    def note_result(self, name: str, call_id: str, *, error: Exception | None = None) -> None:
        """Write down what became of a call that somebody else ran."""
        call = ToolCall(tool=name, cwd=self._cwd, call_id=call_id or None)
        failed = {} if error is None else {"error": describe(error)[:1000]}
        payload = {"status": "completed" if error is None else "error", **failed}
        self._judge.note("tool.result" if error is None else "tool.failed", call, self._who, payload)
        self.feed.put("tool.after", toolCallId=call_id, toolName=name, isError=error is not None)

    def note_progress(
        self, name: str, call_id: str, progress: float, *, total: float | None = None, message: str | None = None
    ) -> None:
        """Write down how far a call is that somebody else runs; the caller sees to it that this is not too often."""
        call = ToolCall(tool=name, cwd=self._cwd, call_id=call_id or None)
        payload = {"progress": progress, "total": total, "message": None if message is None else message[:1000]}
        self._judge.note("tool.progress", call, self._who, {k: v for k, v in payload.items() if v is not None})

    def warn(self, text: str) -> None:
        """Write down that something is not as it should be."""
        self._judge.note("runtime.warning", ToolCall(tool="", cwd=self._cwd), self._who, {"summary": text[:1000]})

    async def _decide(
        self,
        call: ToolCall,
        taken: ToolInput,
        read: Callable[[Any], ToolInput],
        check: Callable[[Any], Any] | None,
        said: Sequence[Opinion] = (),
    ) -> tuple[BackendDecision, ToolInput]:
        heard = list(said)
        for hook in self._hooks:
            told = await self._hear(hook, call, taken.plain)
            heard += [told.opinion] if told.opinion is not None else []
            taken = read(told.changed) if told.changed is not None else taken
        if check is not None:
            heard.append(await hear_check(check, taken.params))
        call = msgspec.structs.replace(call, input=taken.plain, cwd=self._cwd, secrets=taken.secrets)
        shown = mask(call.input, call.secrets) if call.secrets else call.input
        self.feed.put("tool.before", toolCallId=call.call_id, toolName=call.tool, args=shown, input=shown)
        judgement = await self._ask(call, heard)
        if judgement.allowed and judgement.input is not None:
            return await self._reconsider(judgement, read, check, call)
        return judgement, taken

    async def _hear(self, hook: Hook, call: ToolCall, given: dict[str, Any]) -> Heard:
        """Ask a hook, on record."""
        self._judge.note("hook.started", call, self._who, {"summary": _name_of(hook)})
        told = await hear_hook(hook, call.tool, given)
        self._note_hook(call, hook, told)
        return told

    def _note_hook(self, call: ToolCall, hook: Hook, heard: Heard) -> None:
        """Write down what a hook said."""
        opinion = heard.opinion
        said = "nothing" if opinion is None else f"{opinion.verdict}: {opinion.reason}"
        text = f"{_name_of(hook)} said {said}{'' if heard.changed is None else ', and changed the input'}"
        kind: EventType = "hook.failed" if heard.failed else "hook.completed"
        self._judge.note(kind, call, self._who, {"summary": text[:1000]})

    async def _reconsider(
        self,
        judgement: BackendDecision,
        read: Callable[[Any], ToolInput],
        check: Callable[[Any], Any] | None,
        call: ToolCall,
    ) -> tuple[BackendDecision, ToolInput]:
        """Hold what a person changed against the schema, the hooks and the tool's own check, as if it were new."""
        taken = read(judgement.input)
        opinions = [await self._object(hook, call, taken.plain) for hook in self._hooks]
        opinions += [await hear_check(check, taken.params)] if check is not None else []
        for opinion in opinions:
            if opinion is not None and opinion.verdict is DENY:
                refusal = refuse(opinion.reason, opinion.source)
                self.note_refusal(call, refusal)
                return refusal, taken
        return judgement, taken

    async def _object(self, hook: Hook, call: ToolCall, given: dict[str, Any]) -> Opinion | None:
        """Hear a hook about what a person approved: nobody may change that any more."""
        told = await self._hear(hook, call, given)
        if told.changed is None or told.changed == given:
            return told.opinion
        reason = "a hook wants another input than the one that a person approved"
        return Opinion(verdict=DENY, source=Source.HOOK, policy="hooks", reason=reason)

    async def _ask(self, call: ToolCall, heard: Sequence[Opinion]) -> BackendDecision:
        """Have a call decided; while a person is asked, everyone who follows the session knows."""
        asking = Asking(self, call)
        try:
            judging = self._judge.judge(call, self.who, heard, asking.begin)
            alone = self.handler is not None and not self._judge.may_answer
            judgement = await asking.race(judging) if alone else await judging
        except Exception as error:  # noqa: BLE001 - whatever it is, an undecided call is denied
            judgement = refuse(f"it cannot be decided: {str(error) or type(error).__name__}")
            # Whoever decides may have said yes, and that it runs is on record then.
            self.note_refusal(call, judgement)
        except asyncio.CancelledError:
            self.note_refusal(call, refuse("the call was aborted"))
            await asyncio.shield(asking.withdraw())
            raise
        finally:
            asking.end()
        if asking.question is not None:
            said: Said = "approved" if judgement.allowed else "rejected"
            reason = None if judgement.allowed else judgement.reason
            self.resolve(asking.question, said, reason=reason, feedback=judgement.feedback)
        return judgement

    def resolve(
        self, question: PendingQuestion, decision: Said, *, reason: str | None = None, feedback: str | None = None
    ) -> None:
        """Tell how a question ended."""
        self.feed.put(
            "permission_resolved",
            toolCallId=question.tool_call_id,
            toolName=question.tool_name,
            decision=decision,
            reason=reason,
            feedback=feedback,
            requestId=question.id,
        )

    def announce(self, question: PendingQuestion) -> None:
        """Tell, once, that somebody is asked."""
        if question.id in self._announced:
            return
        self._announced[question.id] = None
        if len(self._announced) > MOST_REMEMBERED:
            self._announced.popitem(last=False)
        self.feed.put(
            "permission_request",
            toolCallId=question.tool_call_id,
            toolName=question.tool_name,
            reason=question.reason,
            input=question.input,
            tier=question.tier.value,
            expiresAt=int(question.expires_at * 1000),
            requestId=question.id,
        )

    async def respond(self, decision: Said, *, tool_call_id: str | None = None, feedback: str | None = None) -> None:
        """Answer a question of this session: that of a call (by its id, or the question's own), or the oldest.

        Raises `NotFoundError` if there is none, and `AmbiguousError` if there are several by that id.
        """
        pending = await self._judge.pending(self._who)
        found = [q for q in pending if tool_call_id in (None, q.tool_call_id, q.id)]
        if not found:
            raise NotFoundError(f"No pending permission request for session '{self.id}'")
        if tool_call_id is not None and len(found) > 1:
            raise AmbiguousError
        answer = msgspec.structs.replace(YES if decision == "approved" else NO, feedback=feedback)
        await self._judge.answer(found[0], answer, self.user)
        if found[0].id not in self.waiting:
            # Whoever asked is gone, perhaps with the process before this one: nobody else will tell.
            self.resolve(found[0], decision, feedback=feedback)

    async def ask_user(
        self, question: str, *, hint: str | None = None, options: Sequence[str] = (), tool_call_id: str | None = None
    ) -> str:
        """Ask the user something in words, and wait for the answer. It is no permission: no decision comes of it."""
        asked = self._questions.ask(tool_call_id or new_call_id(), question, hint=hint, options=tuple(options))
        return await asked

    def answer_question(self, text: str, *, tool_call_id: str | None = None) -> bool:
        """Answer a question of the agent: that of a call, or the oldest. Tell whether there was one."""
        return self._questions.answer(text, tool_call_id)

    async def answer(self, question: PendingQuestion, answer: Answer) -> None:
        """Answer one question; that somebody else was first is no error here, that one may not answer is."""
        try:
            await self._judge.answer(question, answer, self.user)
        except ForbiddenError:
            raise
        except AssentError:
            return

    def note_refusal(self, call: ToolCall, judgement: BackendDecision) -> None:
        """Write down that a call does not run though nobody who decides said so."""
        self._judge.note("tool.failed", call, self._who, {"status": "denied", "error": judgement.reason[:1000]})

    async def withdraw(self, question: PendingQuestion) -> None:
        """Withdraw one question, if it is still there."""
        with contextlib.suppress(AssentError):
            await self._judge.cancel(question, "the call was aborted")

    async def pending(self) -> tuple[PendingQuestion, ...]:
        """Return what waits for an answer, the oldest first."""
        return await self._judge.pending(self._who)

    async def _execute(self, tool: Tool, taken: ToolInput, call: ToolCall, judgement: BackendDecision) -> ToolResult:
        started = time.perf_counter()
        try:
            content = await call_callback(tool.execute, taken.params, seconds=tool.timeout, blocking=tool.blocking)
            _refuse_pieces(content)
        except BaseException as error:
            aborted = not isinstance(error, Exception)
            what = "the call was aborted" if aborted else describe(error)
            self._judge.note("tool.failed", call, self._who, {"status": "error", "error": what[:1000]})
            failed = self._fail(call, what, judgement)
            if aborted:
                raise
            return failed  # a tool's fault is a result for the model
        took = round((time.perf_counter() - started) * 1000, 3)
        self._judge.note_ran(call, self._who, took)
        result = show_result(content)
        self.feed.put("tool.after", toolCallId=call.call_id, toolName=tool.name, result=result, isError=False)
        return ToolResult(tool_call_id=call.call_id or "", content=content, judgement=judgement)

    def _reject(self, call: ToolCall, text: str) -> ToolResult:
        """Refuse what nobody needs to decide about, on record: it is no call of any tool."""
        self._judge.note("tool.failed", call, self._who, {"status": "invalid", "error": text[:1000]})
        return self._fail(call, text, None)

    def _fail(self, call: ToolCall, text: str, judgement: BackendDecision | None) -> ToolResult:
        self.feed.put("tool.after", toolCallId=call.call_id, toolName=call.tool, result=text, isError=True, error=text)
        return ToolResult(tool_call_id=call.call_id or "", content=text, is_error=True, judgement=judgement)


def _refuse_pieces(content: Any) -> None:
    """Refuse what has not run yet though the call is over: whoever takes the pieces would run it, after the record."""
    if inspect.isgenerator(content) or inspect.isasyncgen(content):
        raise ToolFailedError("the tool gives its result in pieces; a tool returns it whole")


def _unfit(name: str, error: InputError) -> str:
    return f'Invalid input for tool "{name}": {error}'


def _name_of(hook: Hook) -> str:
    return str(getattr(hook, "__qualname__", type(hook).__name__))[:1000]


def new_call_id() -> str:
    """Make an id for a call that has none."""
    return f"call_{os.urandom(8).hex()}"

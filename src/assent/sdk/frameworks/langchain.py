"""LangChain and LangGraph: a middleware that has every tool call of an agent decided before it runs.

A tool's schema may make something else of what the model sent. So a call is decided where the framework has checked its
input and would run it, and the tool gets those very values: nothing is read a second time.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic_core import to_jsonable_python

from assent.sdk.sessions.app import DEFAULT_SESSION, AgentApp
from assent.sdk.sessions.backends import BackendDecision, refuse
from assent.sdk.sessions.results import ToolFailedError, denial_text
from assent.sdk.sessions.session import AgentSession
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.json_values import EncodedValue, write_out
from assent.sdk.tools.tool import complain

Parts: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""What a tool is called with, by place and by name."""
_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


class AssentMiddleware(AgentMiddleware[Any, Any, Any]):
    """Put it last in `create_agent(middleware=[…])`, so that nothing changes a call after it was decided.

    For a `ToolNode`, pass its two methods. A thread of the graph is a session; a call that may not run is an error
    message for the model.
    """

    def __init__(self, app: AgentApp, *, session_id: str = DEFAULT_SESSION) -> None:
        super().__init__()
        self._app = app
        self._session_id = session_id

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Decide one call, then run it or not."""
        call = self._begin(request)
        if call.view is None:
            self._app.wait_for(call.decide_unread())
        if call.refusal is not None:
            return call.refusal
        with call.under_way():
            return call.end(handler(call.request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Decide one call, then run it or not."""
        call = self._begin(request)
        if call.view is None:
            await call.decide_unread()
        if call.refusal is not None:
            return call.refusal
        with call.under_way():
            return call.end(await handler(call.request))

    def _begin(self, request: ToolCallRequest) -> _Call:
        config: Any = getattr(request.runtime, "config", None) or {}
        thread = config.get("configurable", {}).get("thread_id")
        return _Call(self._app, self._app.session(str(thread) if thread else self._session_id), request)


class _Call:
    """One call on its way through the framework."""

    def __init__(self, app: AgentApp, session: AgentSession, request: ToolCallRequest) -> None:
        self._app = app
        self._session = session
        self._name = request.tool_call["name"]
        self._id = request.tool_call["id"] or ""
        self._asked = request.tool_call["args"]
        self.parts: Parts | None = None
        """What the tool is called with next, once that may be."""
        self._unfit: Exception | None = None
        self._runs = self._came = False
        self._left_out: dict[str, Any] = {}
        """What the tool's function itself takes for a parameter that no schema fills in."""
        self.refusal: ToolMessage | None = None
        self.view = self._see(request.tool)
        self.request = request if self.view is None else request.override(tool=self.view)

    def _see(self, tool: Any) -> BaseTool | None:
        """Return a view of a tool that decides its calls; None for what no node would run."""
        if not isinstance(tool, BaseTool):
            return None
        try:
            return _view(tool)
        except Exception as error:  # noqa: BLE001 - what cannot be guarded does not run
            self._refuse(refuse(f"this tool cannot be guarded: {type(error).__name__}: {error}"))
            return tool

    def invoke(self, kind: type[BaseTool], tool: BaseTool, given: Any, more: Any) -> Any:
        """Decide, then run, from code that is not async."""
        if self.parts is None and self._read(kind, tool, given):
            self._left_out = _defaults(getattr(tool, "func", None) or tool._run)  # noqa: SLF001 - what the framework calls
            self._app.wait_for(self._decide(kind, tool, given))
        return self.refusal or kind.invoke(tool, given, *more[0], **more[1])

    async def ainvoke(self, kind: type[BaseTool], tool: BaseTool, given: Any, more: Any) -> Any:
        """Decide, then run."""
        if self.parts is None and self._read(kind, tool, given):
            own = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
            self._left_out = _defaults(own or tool._arun, tool._run)  # noqa: SLF001 - as above
            await self._decide(kind, tool, given)
        return self.refusal or await kind.ainvoke(tool, given, *more[0], **more[1])

    def take(self) -> Parts:
        """Hand out, once, what was decided about; raises what the schema said of an input that it does not take."""
        parts, self.parts = self.parts, None
        if parts is None:
            raise self._unfit or ToolFailedError("it was not decided about")
        self._runs = True
        return parts[0], dict(parts[1])

    def _read(self, kind: type[BaseTool], tool: BaseTool, given: Any) -> bool:
        """Have the tool's schema read the input; what it says of one that it does not take is told by the framework."""
        self._came = True
        self._unfit = self.refusal = None
        try:
            self.parts = kind._to_args_and_kwargs(tool, dict(given["args"]), given["id"])  # noqa: SLF001 - as the framework does
        except Exception as error:  # noqa: BLE001 - a validator may raise what it likes
            self._unfit = error
        return self._unfit is None

    async def _decide(self, kind: type[BaseTool], tool: BaseTool, given: Any) -> None:
        """Decide what was read; an input that somebody changed is read, and decided, once more."""
        injected = {name: value for name, value in given["args"].items() if name not in self._asked}
        for _ in range(2):
            judgement, written, taken = await self._judge(frozenset(injected))
            if not judgement.allowed:
                self._refuse(judgement)
            if not judgement.allowed or taken == written.plain:
                return
            if not self._read(kind, tool, {**given, "args": {**injected, **taken}}):
                return
            if self._write(frozenset(injected)).plain == taken:
                return
        self._refuse(refuse("what the tool makes of the changed input is not what was approved"))

    async def _judge(self, injected: frozenset[str]) -> tuple[BackendDecision, EncodedValue, dict[str, Any]]:
        try:
            written = self._write(injected)
        except InputError as error:
            return self._session.refuse_input(self._name, self._id, error), EncodedValue({}), {}
        judgement, taken = await self._session.decide(
            self._name, written.plain, tool_call_id=self._id, secret=written.secrets
        )
        return judgement, written, taken

    def _write(self, injected: frozenset[str]) -> EncodedValue:
        """Write out what the tool gets of the model; what the framework gives it besides is nobody's to decide."""
        placed, named = self.parts or ((), {})
        names = [name for name in self._asked if name not in named] or ["input"]
        shown = {} if placed else {k: v for k, v in self._left_out.items() if k not in named}
        shown |= dict(zip(names, placed, strict=False)) if len(placed) <= len(names) else {"input": placed}
        for name, value in named.items():
            if name not in injected and not (name not in self._asked and value == self._id):
                shown[name] = value
        return write_out(shown, to_jsonable_python)

    async def decide_unread(self) -> None:
        """Decide a call of no tool that is known, as the model sent it."""
        judgement, taken = await self._session.decide(self._name, self._asked, tool_call_id=self._id)
        if not judgement.allowed:
            self._refuse(judgement)
            return
        self._runs = True
        self.request = self.request.override(tool_call={**self.request.tool_call, "args": taken})

    def _refuse(self, judgement: BackendDecision) -> None:
        self.parts = None
        text = denial_text(self._name, judgement)
        self.refusal = ToolMessage(content=text, tool_call_id=self._id, name=self._name, status="error")

    @contextlib.contextmanager
    def under_way(self) -> Iterator[None]:
        """Have the view find this call; what a tool raises is on record."""
        token = _CALL.set(self)
        try:
            yield
        except BaseException as error:  # a call that is aborted has ended too
            self._note(error if isinstance(error, Exception) else ToolFailedError("the call was aborted"))
            raise
        finally:
            _CALL.reset(token)

    def end(self, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        """Write down what became of it."""
        if self.view is not None and not self._came:
            self._session.warn(f"a call of {self._name} was answered by what stands behind the guard, undecided")
        elif self.refusal is None:
            failed = isinstance(result, ToolMessage) and result.status == "error"
            self._note(ToolFailedError(str(result.content)) if failed else None)  # type: ignore[union-attr]
        return self.refusal or result

    def _note(self, error: Exception | None) -> None:
        if self._unfit is not None:
            said = complain(self._unfit) if isinstance(self._unfit, ValueError) else str(self._unfit)
            self._session.refuse_input(self._name, self._id, InputError(said))
        elif self._runs:
            self._session.note_result(self._name, self._id, error=error)


def _defaults(*functions: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function takes for what it is not given, as far as that could be said of a call."""
    found: dict[str, Any] = {}
    for function in functions:
        with contextlib.suppress(ValueError, TypeError):  # what says nothing of itself
            for name, parameter in inspect.signature(function).parameters.items():
                if isinstance(parameter.default, str | int | float | list | dict):
                    found.setdefault(name, parameter.default)
    return found


_CALL: ContextVar[_Call | None] = ContextVar("assent-langchain-call", default=None)


def _view(tool: BaseTool) -> BaseTool:
    """Return a second face of a tool: its state is the tool's own, and its calls are decided."""
    seen: BaseTool = object.__new__(_guarded(type(tool)))
    for name in _STATE:
        object.__setattr__(seen, name, getattr(tool, name))
    return seen


@functools.lru_cache(maxsize=1000)
def _guarded(kind: type[BaseTool]) -> type[BaseTool]:
    """Make a kind of tool whose calls are decided; where none is under way, nothing runs."""

    def found() -> _Call:
        call = _CALL.get()
        if call is None:
            raise ToolFailedError("nobody decides this call")
        return call

    def invoke(self: BaseTool, given: Any, *args: Any, **more: Any) -> Any:
        return found().invoke(kind, self, given, (args, more))

    async def ainvoke(self: BaseTool, given: Any, *args: Any, **more: Any) -> Any:
        return await found().ainvoke(kind, self, given, (args, more))

    def read(self: BaseTool, *_args: Any, **_more: Any) -> Parts:  # noqa: ARG001 - read already
        return found().take()

    body = {"invoke": invoke, "ainvoke": ainvoke, "_to_args_and_kwargs": read, "__module__": kind.__module__}
    return types.new_class(kind.__name__, (kind,), exec_body=lambda space: space.update(body))

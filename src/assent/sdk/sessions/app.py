"""An agent application: its tools, its policy, its sessions, and the backend that decides."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Self, TypeAlias, TypeVar

from assent.decisions.service import EXPIRY
from assent.model import AssentError, ConfigError, ForbiddenError, Mode, Policy, Rule, Session, Workspace
from assent.platform.paths import refuse_folder, workspace_of
from assent.platform.user import user_name
from assent.policy.rules.parse import parse_rule
from assent.sdk.sessions.approval_handlers import ApprovalHandler, queue_approvals
from assent.sdk.sessions.backends import Birthplace, Embedded, Judge
from assent.sdk.sessions.results import PermissionDeniedError, ToolFailedError, ToolResult
from assent.sdk.sessions.session import AgentSession, Hook
from assent.sdk.tools.tool import Tool, tool

T = TypeVar("T")
Turn: TypeAlias = Callable[[AgentSession, str], Awaitable[Any]]
"""Answers one message in a session, calling tools by `session.call_tool`; what it returns is the turn's text."""

MOST_SESSIONS = 10_000
DEFAULT_SESSION = "default"
_FIELDS = ("mode", "allow", "ask", "deny")


class AgentApp:
    """Made by `create_agent_app`."""

    def __init__(  # noqa: PLR0913 - one parameter for each part
        self,
        judge: Judge,
        *,
        tools: Iterable[Tool],
        hooks: Sequence[Hook] = (),
        turn: Turn | None = None,
        approval_handler: ApprovalHandler | Callable[[str], None] | None = None,
        agent: str = "python",
        workspace: Workspace = Workspace(),  # noqa: B008 - it is frozen
        cwd: str | None = None,
        interactive: bool = True,
    ) -> None:
        self.judge = judge
        self.tools = _by_name(tools)
        self.turn = turn
        self._hooks = tuple(hooks)
        self._queue = judge.shared or approval_handler is queue_approvals
        self._handler = None if callable(approval_handler) else approval_handler
        self._agent = agent
        self._workspace = workspace
        self._cwd = cwd
        self._interactive = interactive
        self._user = user_name()
        self._sessions: OrderedDict[str, AgentSession] = OrderedDict()
        self._lock = threading.Lock()
        self._loop = _Loop()

    def session(self, session_id: str = DEFAULT_SESSION, *, user: str | None = None) -> AgentSession:
        """Return a session, created at first use. It belongs to its first user: another gets `ForbiddenError`."""
        with self._lock:
            found = self._sessions.get(session_id)
            if found is None:
                found = self._sessions[session_id] = self._make(session_id, user or self._user)
            self._sessions.move_to_end(session_id)
            if len(self._sessions) > MOST_SESSIONS:
                self._forget_one()
        if user is not None and found.user != user:
            raise ForbiddenError("this session is somebody else's")
        return found

    def _forget_one(self) -> None:
        """Forget the least recently used session that nobody follows or waits in."""
        old = next((name for name, session in self._sessions.items() if not session.is_busy), None)
        if old is not None:
            del self._sessions[old]

    async def call_tool(
        self,
        name: str,
        given: Any = None,
        *,
        session_id: str = DEFAULT_SESSION,
        tool_call_id: str | None = None,
        traceparent: str | None = None,
    ) -> ToolResult:
        """Make one guarded call."""
        session = self.session(session_id)
        return await session.call_tool(name, given, tool_call_id=tool_call_id, traceparent=traceparent)

    def run_tool(self, name: str, given: Any = None, *, session_id: str = DEFAULT_SESSION) -> ToolResult:
        """Make one guarded call from code that is not async."""
        return self.wait_for(self.session(session_id).call_tool(name, given))

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something async from code that is not, whatever loop that code may be called from."""
        return self._loop.wait_for(work)

    def guard(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that each call is decided first; one that may not run raises `PermissionDeniedError`."""
        made = function if isinstance(function, Tool) else tool(function)
        inner = made.plain
        signature = inspect.signature(inner)
        if self.tools.setdefault(made.name, made).plain is not inner:
            raise ConfigError(f"there are two tools by the name `{made.name}`")

        def bind(args: Any, kwargs: Any) -> dict[str, Any]:
            return dict(signature.bind(*args, **kwargs).arguments)

        async def call(given: dict[str, Any]) -> Any:
            result = await self.session().call_tool(made.name, given)
            return _content_or_raise(result)

        if inspect.iscoroutinefunction(inner):

            @functools.wraps(inner)
            async def guarded(*args: Any, **kwargs: Any) -> Any:
                return await call(bind(args, kwargs))

            return guarded

        @functools.wraps(inner)
        def guarded_here(*args: Any, **kwargs: Any) -> Any:
            return self.wait_for(call(bind(args, kwargs)))

        return guarded_here

    def close(self) -> None:
        """Close the store, or the connection to the daemon."""
        self._loop.close()
        self.judge.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self, session_id: str, user: str) -> AgentSession:
        who = Session(
            id=session_id,
            user=user,
            agent=self._agent,
            workspace=self._workspace.roots,
            guessed=self._workspace.guessed,
            interactive=self._interactive,
        )
        cwd = self._cwd
        return AgentSession(
            who,
            self.judge,
            tools=self.tools,
            hooks=self._hooks,
            handler=self._handler,
            queue=self._queue,
            cwd=cwd,
        )


def create_agent_app(  # noqa: PLR0913 - each is a choice of its own, and all have a default
    *,
    permission_policy: Policy | Mapping[str, Any] | None = None,
    tools: Iterable[Tool] = (),
    hooks: Sequence[Hook] = (),
    turn: Turn | None = None,
    approval_handler: ApprovalHandler | Callable[[str], None] | None = None,
    store: str = "memory",
    url: str = "",
    token: str = "",
    answer_token: str = "",
    agent: str = "python",
    workspace: str | os.PathLike[str] | None = None,
    interactive: bool = True,
    expiry: float = EXPIRY,
) -> AgentApp:
    """Put an agent's tools under a policy.

    Without a policy Assent's own default holds. Without an `approval_handler` an ask is a deny; `queue_approvals` in
    its place lets questions wait for whoever answers them. `store` is `memory`, `sqlite` (in Assent's home) or a URL.
    With `url` and an agent's `token` the daemon decides, and its queue is shared: a policy given here can then only
    tighten, and answers given here need an `answer_token` of somebody who may.
    """
    policy = read_policy(permission_policy)
    judge: Judge
    if url:
        from assent.sdk.sessions.daemon_backend import Remote  # noqa: PLC0415 - only a shared queue needs it

        judge = Remote(url=url, token=token, answer_token=answer_token, policy=policy)
    else:
        policies = (policy,) if policy is not None else ()
        judge = Embedded(lambda: policies, store=store, expiry=expiry)
    folder = os.path.realpath(workspace if workspace is not None else os.curdir)
    return AgentApp(
        judge,
        tools=tools,
        hooks=hooks,
        turn=turn,
        approval_handler=approval_handler,
        agent=agent,
        workspace=_find_workspace(folder, chosen=workspace is not None),
        cwd=folder,
        interactive=interactive,
    )


def _find_workspace(folder: str, *, chosen: bool) -> Workspace:
    """Return a folder as the workspace: one that was chosen must be fit for it, another may be a guess."""
    reason = refuse_folder(folder)
    if reason is None:
        return Workspace((folder,), guessed=not chosen and workspace_of(folder).guessed)
    if chosen:
        raise ConfigError(f"`{folder}` cannot be a workspace: {reason}")
    return Workspace()


def read_policy(given: Policy | Mapping[str, Any] | None) -> Policy | None:
    """Take a policy, or its `mode`, `allow`, `ask` and `deny` as a mapping; what is not understood is an error."""
    if given is None or isinstance(given, Policy):
        return given
    for name in given:
        if name not in _FIELDS:
            raise ConfigError(f"Unknown configuration field 'permissions.{name}'.")
    word = given.get("mode", "default")
    if word not in list(Mode):
        raise ConfigError(f'Invalid permissions.mode "{word}". Must be one of: {", ".join(Mode)}.')
    allow, ask, deny = (_read_rules(name, given.get(name, ())) for name in _FIELDS[1:])
    return Policy(mode=Mode(word), allow=allow, ask=ask, deny=deny, embedded=True)


def _read_rules(name: str, given: Any) -> tuple[Rule, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ConfigError(f"Expected permissions.{name} to be an array.")
    return tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in given)


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for each in tools:
        if not isinstance(each, Tool):
            raise ConfigError(f"{each!r} is no tool; make one with @tool or define_tool")
        if each.name in found:
            raise ConfigError(f"there are two tools by the name `{each.name}`")
        found[each.name] = each
    return found


def _content_or_raise(result: ToolResult) -> Any:
    judgement = result.judgement
    if judgement is not None and not judgement.allowed:
        raise PermissionDeniedError(judgement)
    if result.is_error:
        raise ToolFailedError(str(result.content))
    return result.content


class _Loop:
    """A loop in a thread of its own, started when first needed, for callers that have none, or may not block theirs."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._birthplace = Birthplace()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something there and wait for it here; who is there already would wait for ever."""
        if threading.current_thread() is self._thread:
            work.close()
            raise AssentError("an async tool must await what it calls: `await session.call_tool(…)`")
        if not self._birthplace.is_here:
            self.__init__()  # type: ignore[misc] # a fork has no thread but its first
        return asyncio.run_coroutine_threadsafe(work, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(loop,), name="assent-app", daemon=True)
                self._thread.start()
            return self._loop

    def close(self) -> None:
        """End it; in a fork its thread is not there."""
        if self._birthplace.is_here and self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run a loop until it is stopped: a task that would end the program ends itself, and its caller hears of it."""
    while True:
        try:
            loop.run_forever()
        except BaseException:  # noqa: BLE001, S112 - whoever waits for that task has it
            continue
        return

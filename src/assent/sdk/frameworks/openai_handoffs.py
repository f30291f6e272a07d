"""Handoffs of the OpenAI Agents SDK: each is a call by the name of its tool, decided before its own code runs."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from agents.handoffs import HandoffInputData

from agents import Agent, Handoff, RunContextWrapper, handoff
from assent.model import ConfigError
from assent.sdk.sessions.app import AgentApp
from assent.sdk.sessions.results import ToolFailedError

Check: TypeAlias = Callable[[str, str], Awaitable[str | None]]
"""Says why a handoff may not take place, by its tool's name and arguments; None if it may."""
_REFUSED: ContextVar[tuple[int, str] | None] = ContextVar("assent-openai-handoff", default=None)
"""The handoff that was refused last in this task, and why."""


@dataclasses.dataclass
class GuardedHandoff(Handoff[Any, Any]):
    """A handoff that is decided. One that is refused leads back to the agent that wished it, which hears why."""

    plain: Handoff[Any, Any] | None = None
    """As whoever made the agent wrote it."""
    guard: tuple[AgentApp, str] | None = None
    """The application, and the session of it, that decides."""

    def get_transfer_message(self, agent: Any) -> str:
        """Return what the model hears of it."""
        refused = _REFUSED.get()
        return refused[1] if refused is not None and refused[0] == id(self) else super().get_transfer_message(agent)


class Handoffs:
    """Copies an agent, and every agent that it may hand over to, with each handoff decided."""

    def __init__(self, app: AgentApp, session_id: str, check: Check) -> None:
        self._app = app
        self._session_id = session_id
        self._check = check
        self._copies: dict[int, tuple[Agent[Any], Agent[Any]]] = {}
        """Each agent with its copy, by the agent's identity."""

    def guard(self, agent: Agent[Any]) -> Agent[Any]:
        """Return the agent's copy; the agent itself where no handoff is left to guard."""
        if id(agent) in self._copies:
            return self._copies[id(agent)][1]
        if all(self._is_guarded(each) for each in agent.handoffs):
            return agent
        made = copy.copy(agent)
        self._copies[id(agent)] = (agent, made)  # before the others: one of them may hand back to it
        made.handoffs = [each if self._is_guarded(each) else self._wrap(made, each) for each in agent.handoffs]
        return made

    def _is_guarded(self, each: Any) -> bool:
        return isinstance(each, GuardedHandoff) and each.guard == (self._app, self._session_id)

    def _wrap(self, source: Agent[Any], each: Any) -> GuardedHandoff:
        given: Handoff[Any, Any] = each if isinstance(each, Handoff) else handoff(each)
        plain = given.plain if isinstance(given, GuardedHandoff) and given.plain is not None else given
        target = None if plain._agent_ref is None else plain._agent_ref()  # noqa: SLF001 - it is said nowhere else
        shown = {f.name: getattr(plain, f.name) for f in dataclasses.fields(Handoff) if f.init}
        made = GuardedHandoff(**shown, plain=plain, guard=(self._app, self._session_id))
        made._agent_ref = plain._agent_ref  # noqa: SLF001 - as above
        aim = (target, self.guard(target)) if isinstance(target, Agent) else None

        async def invoke(context: RunContextWrapper[Any], arguments: str) -> Any:
            refused = await self._check(plain.tool_name, arguments)
            _REFUSED.set(None if refused is None else (id(made), refused))
            if refused is not None:
                return source
            reached = await self._run(plain, context, arguments)
            if aim is None or reached is not aim[0]:
                raise ConfigError(f"`{plain.tool_name}` hands over to `{reached.name}`, which it did not name before")
            return aim[1]

        made.on_invoke_handoff = invoke
        made.input_filter = None if plain.input_filter is None else _filter(made, plain.input_filter)
        return made

    async def _run(self, plain: Handoff[Any, Any], context: RunContextWrapper[Any], arguments: str) -> Any:
        """Have the handoff's own code run, and write down what became of it."""
        session, error = self._app.session(self._session_id), None
        try:
            return await plain.on_invoke_handoff(context, arguments)
        except BaseException as raised:  # one that is aborted has ended too
            error = raised if isinstance(raised, Exception) else ToolFailedError("the handoff was aborted")
            raise
        finally:
            session.note_result(plain.tool_name, "", error=error)


def _filter(made: GuardedHandoff, plain: Callable[..., Any]) -> Callable[[HandoffInputData], Any]:
    """Return what passes on to the next agent: all of it where that is the same one still, which is to hear why."""

    def choose(data: HandoffInputData) -> Any:
        refused = _REFUSED.get()
        return data if refused is not None and refused[0] == id(made) else plain(data)

    return choose

"""A run as it goes on, shown in a terminal; what it asks is answered there, or by what was said beforehand."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from assent.cli import exits
from assent.cli.screen import STYLE_OF, complain, has_colour, paint, say, visible
from assent.model import AssentError, encode
from assent.reading.globs import compile_glob, escape_glob
from assent.runs.messages import (
    AgentStreaming,
    DaemonMessage,
    Decision,
    PermissionResolved,
    PolicyUpdated,
    RequestPermission,
    StepStarted,
    StrategyCompleted,
    StrategyError,
    TextPiece,
    ToolReturned,
)
from assent.runs.tools import TOOLS, guarded_name
from assent.sdk.runs import RunProtocolError

if TYPE_CHECKING:
    from assent.sdk.runs import RunClient

_ANSWERS: dict[str, Decision] = {"y": "allow", "n": "deny", "s": "allow-session", "d": "deny-session"}
_PROMPT = "  [y] yes, once  [s] yes, for this run  [n] no  [d] no, for this run: "
_SHOWN_LINES = 12


class YesTo(msgspec.Struct, frozen=True):
    """What a person said yes to beforehand: a tool, perhaps only about some paths or commands."""

    tool: str
    pattern: str | None = None
    cwd: str = "/"

    @classmethod
    def read(cls, text: str, cwd: str) -> YesTo:
        """Read `TOOL` or `TOOL:GLOB`, or raise `AssentError`."""
        tool, _, pattern = text.partition(":")
        name = guarded_name(tool)
        if name not in TOOLS:
            raise AssentError(f"no tool is called `{tool}`; there are {', '.join(TOOLS)}")
        if pattern:
            compile_glob(pattern)
        return cls(name, pattern or None, cwd)

    def covers(self, question: RequestPermission) -> bool:
        """Tell whether a question is about that. An earlier refusal is never overridden by it."""
        if self.tool != guarded_name(question.tool_name) or question.reason != "policy-ask":
            return False
        if self.pattern is None:
            return True
        if question.operation == "command.execute":
            return _fits(self.pattern, question.resource)
        pattern = self.pattern if self.pattern.startswith("/") else f"{escape_glob(self.cwd)}/{self.pattern}"
        return compile_glob(pattern).matches(question.resource)


def _fits(pattern: str, line: str) -> bool:
    """Compare a line with a pattern whose only special character is a star at its end."""
    return line.startswith(pattern[:-1]) if pattern.endswith("*") else line == pattern


class LiveRun:
    """One run in one terminal."""

    def __init__(self, client: RunClient, run_id: str, answers: tuple[YesTo, ...], *, as_json: bool) -> None:
        self._client = client
        self._run_id = run_id
        self._answers = answers
        self._as_json = as_json
        self._colour = has_colour(sys.stdout)
        self._questions: deque[RequestPermission] = deque()
        self._asks = sys.stdin.isatty() and not as_json
        self._chores: set[asyncio.Task[None]] = set()

    async def follow(self, text: str | None) -> int:
        """Start it, show it to its end, and return the code to end with."""
        with self._keyboard():
            await self._client.start(self._run_id, text)
            try:
                async for message in self._client:
                    if (code := self._show(message)) is not None:
                        return code
            except asyncio.CancelledError:
                with contextlib.suppress(AssentError):
                    await self._client.stop(self._run_id)
                raise
        complain("the daemon has gone; the run is reported as failed when it is back")
        return exits.FOUND

    def _show(self, message: DaemonMessage) -> int | None:  # noqa: C901 - one case for each message
        if self._as_json:
            say(encode(message).decode())
        match message:
            case StepStarted():
                self._line("▶", f"{message.step_name}  {message.message}", "bold")
            case AgentStreaming(event=TextPiece(text=text)) if not self._as_json:
                sys.stdout.write("".join(f"  {visible(line)}\n" for line in text.splitlines()))
            case AgentStreaming(event=ToolReturned(status="completed", output=output)):
                self._line("✓", "\n    ".join(output.splitlines()[:_SHOWN_LINES]) or "done", "green")
            case AgentStreaming(event=ToolReturned(error=error)):
                self._line("✗", error or "failed", "red")
            case RequestPermission():
                self._ask(message)
            case PermissionResolved():
                self._withdraw(message)
            case PolicyUpdated():
                self._line("·", f"{message.tool}: {', '.join(p.name for p in message.policies)}", "dim")
            case StrategyCompleted():
                return exits.OK
            case StrategyError(error=error):
                complain(error.message)
                return exits.FOUND if error.code == "EXECUTION_ERROR" else exits.INTERRUPTED
            case _:
                pass
        sys.stdout.flush()
        return None

    def _line(self, mark: str, text: str, style: str) -> None:
        if not self._as_json:
            lines = [visible(line) for line in text.split("\n")]
            say(paint(f"{mark} ", style, colour=self._colour) + "\n".join(lines))

    def _ask(self, question: RequestPermission) -> None:
        if any(answer.covers(question) for answer in self._answers):
            self._later(self._answer(question, "allow"))
            return
        self._questions.append(question)
        if len(self._questions) == 1:
            self._put_question()

    def _put_question(self) -> None:
        if self._as_json or not self._questions:
            return
        question = self._questions[0]
        tier = str(question.details.get("tier", ""))
        self._line("?", f"{question.agent_name} wants {question.operation} {question.resource}", "bold yellow")
        say(
            f"  {paint(tier, STYLE_OF.get(tier, ''), colour=self._colour)}: {visible(str(question.details.get('why')))}"
        )
        content = question.details.get("content")
        if isinstance(content, str):
            say("".join(f"  | {visible(line)}\n" for line in content.splitlines()[:_SHOWN_LINES]).rstrip("\n"))
        if self._asks:
            sys.stdout.write(_PROMPT)
        else:
            say(f"  answer it with `assent approve {question.request_id}`, or `assent deny`")

    def _withdraw(self, told: PermissionResolved) -> None:
        was_shown = bool(self._questions) and self._questions[0].request_id == told.request_id
        self._questions = deque(q for q in self._questions if q.request_id != told.request_id)
        if was_shown:
            self._line("·", f"{told.decision} by {told.by}", "dim")
            self._put_question()

    @contextlib.contextmanager
    def _keyboard(self) -> Iterator[None]:
        """Hear what is typed while the run goes on."""
        loop = asyncio.get_running_loop()
        if self._asks:
            loop.add_reader(sys.stdin.fileno(), self._hear_typed)
        try:
            yield
        finally:
            if self._asks:
                loop.remove_reader(sys.stdin.fileno())

    def _hear_typed(self) -> None:
        typed = os.read(sys.stdin.fileno(), 4096).decode("utf-8", "replace")
        for line in typed.splitlines():
            decision = _ANSWERS.get(line.strip()[:1].lower())
            if not self._questions:
                return
            if decision is None:
                sys.stdout.write(_PROMPT)
                sys.stdout.flush()
                continue
            self._later(self._answer(self._questions.popleft(), decision))
            self._put_question()

    async def _answer(self, question: RequestPermission, decision: Decision) -> None:
        try:
            await self._client.decide(question, decision)
            self._line("·", f"{decision}: {question.resource}", "dim")
        except RunProtocolError as error:
            complain(error.message)

    def _later(self, chore: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(chore)
        self._chores.add(task)
        task.add_done_callback(self._chores.discard)

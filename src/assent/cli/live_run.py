"""Show a run live in the terminal and answer its questions there or by `--yes-to`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import shutil
import sys
import termios
from collections import deque
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from assent.cli import exit_codes
from assent.cli.options.yes_to import YesTo
from assent.cli.output.screen import STYLE_OF, complain, has_colour, paint, say, visible
from assent.model import AssentError, encode
from assent.runs.protocol.client_messages import Decision
from assent.runs.protocol.messages import (
    AgentStreaming,
    DaemonMessage,
    PermissionResolved,
    PolicyUpdated,
    RequestPermission,
    RunPrepared,
    StepStarted,
    StrategyCompleted,
    StrategyError,
    TextPiece,
    ToolReturned,
)

if TYPE_CHECKING:
    from assent.sdk.client.runs import RunClient

_ANSWERS: dict[str, Decision] = {
    **dict.fromkeys(("y", "yes"), "allow"),
    **dict.fromkeys(("n", "no"), "deny"),
    "s": "allow-session",
    "d": "deny-session",
}
"""Only these are answers: a word that begins like one may mean the opposite."""
_PROMPT = "  [y] yes, once  [s] yes, for this run  [n] no  [d] no, for this run: "
_SHORT_PROMPT = "  y n, or s d for this run: "
_SHOWN_LINES = 12
_SHOWN = ("content", "old", "new", "input")
"""The details that a question shows besides its resource."""
_CLEAR = "\r\x1b[K"


class LiveRun:
    """Follows one run in the terminal."""

    def __init__(self, client: RunClient, run: RunPrepared, answers: tuple[YesTo, ...], *, as_json: bool) -> None:
        self._client = client
        self._run_id = run.run_id
        self._reader = run.agents[0] if run.flow_tree.kind == "process" else None
        """The agent whose program reads the terminal's input."""
        self._names_agents = len(run.agents) > 1
        self._answers = answers
        self._as_json = as_json
        self._colour = has_colour(sys.stdout)
        self._questions: deque[RequestPermission] = deque()
        self._asks = sys.stdin.isatty() and not as_json
        self._tasks: set[asyncio.Task[None]] = set()
        self._unfinished: dict[str, str] = {}
        """The unfinished last line of each agent."""
        self._streamed = False

    async def follow(self, text: str | None) -> int:
        """Start the run, show it until it ends, and return the exit code."""
        with self._keyboard():
            await self._client.start(self._run_id, text)
            try:
                async for message in self._client:
                    if (code := self._show(message)) is not None:
                        return code
            except asyncio.CancelledError:
                with contextlib.suppress(AssentError):
                    await self._client.stop(self._run_id)
                self._questions.clear()  # no answer is needed any more
                self._line("·", f"stopped: {self._run_id}", "dim")
                raise
        complain("lost the connection to the daemon; it marks the run as failed when it restarts")
        return exit_codes.FOUND

    def _show(self, message: DaemonMessage) -> int | None:
        if self._as_json:
            say(encode(message).decode())
        match message:
            case StepStarted():
                self._streamed = False
                self._line("▶", f"{message.step_name}  {message.message}", "bold")
            case AgentStreaming(agent_name=agent, event=TextPiece(text=text)):
                self._write_output(agent, text)
            case AgentStreaming(agent_name=agent, event=ToolReturned(status="completed", output=output)):
                self._finish(agent)
                self._line("✓", self._of(agent, "done" if self._streamed else _cut(output) or "done"), "green")
            case AgentStreaming(agent_name=agent, event=ToolReturned(error=error)):
                self._finish(agent)
                self._line("✗", self._of(agent, _cut(error or "failed")), "red")
            case RequestPermission():
                self._ask(message)
            case PermissionResolved():
                self._withdraw(message)
            case PolicyUpdated():
                self._line("·", f"{message.tool}: {', '.join(p.name for p in message.policies)}", "dim")
            case StrategyCompleted() | StrategyError():
                return self._end(message)
            case _:
                pass
        sys.stdout.flush()
        return None

    def _end(self, message: StrategyCompleted | StrategyError) -> int:
        for agent in tuple(self._unfinished):
            self._finish(agent)
        self._questions.clear()
        sys.stdout.flush()
        if isinstance(message, StrategyCompleted):
            return exit_codes.OK
        complain(_cut(message.error.message))
        return exit_codes.FOUND if message.error.code == "EXECUTION_ERROR" else exit_codes.INTERRUPTED

    # Writing

    def _line(self, mark: str, text: str, style: str) -> None:
        """Write a mark and a text; further lines are indented."""
        first, *more = [visible(line) for line in text.split("\n")]
        self._write([paint(f"{mark} ", style, colour=self._colour) + first, *(f"  {line}" for line in more)])

    def _write(self, lines: list[str]) -> None:
        """Write lines, above the prompt of an open question."""
        if self._as_json:
            return
        open_ = self._asks and bool(self._questions)
        sys.stdout.write((_CLEAR if open_ and self._colour else "\n" if open_ else "") + "\n".join(lines) + "\n")
        if open_:
            sys.stdout.write(_prompt())

    def _write_output(self, agent: str, text: str) -> None:
        """Write a command's output one line at a time."""
        self._streamed = True
        *lines, rest = (self._unfinished.pop(agent, "") + text).split("\n")
        if lines:
            self._write([f"  {visible(self._of(agent, line.rstrip(chr(13))))}" for line in lines])
        if rest:
            self._unfinished[agent] = rest

    def _finish(self, agent: str) -> None:
        if rest := self._unfinished.pop(agent, ""):
            self._write([f"  {visible(self._of(agent, rest))}"])

    def _of(self, agent: str, text: str) -> str:
        """Add the agent's name if there are several agents."""
        return f"{agent}: {text}" if self._names_agents else text

    # Asking

    def _ask(self, question: RequestPermission) -> None:
        if any(answer.covers(question) for answer in self._answers):
            self._later(self._answer(question, "allow"))
            return
        self._questions.append(question)
        if len(self._questions) == 1:
            self._put_question()

    def _put_question(self) -> None:
        """Show the next question. Input typed before it appeared is discarded."""
        if self._as_json or not self._questions:
            return
        if self._asks:
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        question = self._questions[0]
        tier, why = (str(question.details.get(name, "")) for name in ("tier", "why"))
        mark = paint("? ", "bold yellow", colour=self._colour)
        lines = [
            f"{mark}{visible(f'{question.agent_name} wants {question.operation} {question.resource}')}",
            f"  {paint('asked' if tier == 'safe' else tier, _style_of(tier), colour=self._colour)}: {visible(why)}",
        ]
        for name in _SHOWN:
            if isinstance(text := question.details.get(name), str):
                is_cut = name in question.details.get("cut", ())
                lines += [f"  {name} | {visible(line)}" for line in text.rstrip("\n").split("\n")]
                lines += [f"  {name} | … shortened here"] if is_cut else []
        sys.stdout.write("\n".join(lines) + "\n")
        if self._asks:
            sys.stdout.write(_prompt())
        else:
            say(f"  answer with `assent approve {question.request_id}` or `assent deny`")
        sys.stdout.flush()

    def _withdraw(self, resolved: PermissionResolved) -> None:
        was_shown = bool(self._questions) and self._questions[0].request_id == resolved.request_id
        self._questions = deque(q for q in self._questions if q.request_id != resolved.request_id)
        if was_shown and not self._as_json:
            say()
            sys.stdout.write(
                f"{paint('· ', 'dim', colour=self._colour)}{resolved.decision} by {visible(resolved.by)}\n"
            )
            self._put_question()

    @contextlib.contextmanager
    def _keyboard(self) -> Iterator[None]:
        """Read the terminal while the run goes on."""
        if self._asks:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read_typed)
        try:
            yield
        finally:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._asks:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())

    def _read_typed(self) -> None:
        """Take a line as answer to the question shown; without one, pass it to the run's program."""
        if not select.select([sys.stdin], [], [], 0)[0]:  # discarded: typed before the question appeared
            return
        try:
            typed = os.read(sys.stdin.fileno(), 4096).decode("utf-8", "replace")
        except OSError:  # the terminal is closed
            self._stop_reading()
            return
        if not self._questions:
            if self._reader is not None and typed:
                self._later(self._give(self._reader, typed))
            return
        decision = _ANSWERS.get(typed.split("\n")[0].strip().lower())
        if decision is None:
            sys.stdout.write("\n" if not typed.endswith("\n") else "")
            self._put_question()
            return
        question = self._questions[0]
        if decision.startswith("allow") and question.details.get("cut"):
            say(f"  too long to approve from here; `assent approve {question.request_id}` shows all of it")
            self._put_question()
            return
        self._questions.popleft()
        self._later(self._answer(question, decision))
        self._put_question()

    async def _answer(self, question: RequestPermission, decision: Decision) -> None:
        try:
            await self._client.decide(question, decision)
            self._line("·", f"{decision}: {question.resource}", "dim")
        except AssentError as error:
            self._line("·", str(error), "dim")
        sys.stdout.flush()

    async def _give(self, agent: str, text: str) -> None:
        try:
            await self._client.give_input(self._run_id, agent, text)
        except AssentError as error:
            complain(str(error))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _style_of(tier: str) -> str:
    """Return the colour of a tier; a pending question never looks safe."""
    return "yellow" if tier == "safe" else STYLE_OF.get(tier, "")


def _prompt() -> str:
    return _PROMPT if shutil.get_terminal_size().columns > len(_PROMPT) + 2 else _SHORT_PROMPT


def _cut(text: str) -> str:
    """Return the first lines of a text and how many more there are."""
    lines = text.rstrip("\n").split("\n")
    left = len(lines) - _SHOWN_LINES
    more = [f"… and {left} more line{'s' if left > 1 else ''}"] if left > 0 else []
    return "\n".join((*lines[:_SHOWN_LINES], *more))

"""Calls a tool's own check, or a hook: it has a timeout, and an error is a deny.

The callback gets a copy of the input: changes to it do not affect what runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from assent.model import ALLOW, ASK, DENY, Opinion, Source, Verdict
from assent.model.json_encoding import printable

PATIENCE = 5.0
"""How many seconds a check or a hook has."""
_WORDS = {verdict.value: verdict for verdict in (ALLOW, ASK, DENY)}


def describe(error: BaseException) -> str:
    """Say what went wrong; an error may fail at that too, or say what cannot be written."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - then its name is all there is
        said = ""
    return printable(f"{type(error).__name__}: {said}".removesuffix(": "))


class NonsenseError(Exception):
    """A callback returned no valid verdict."""


async def call_callback(
    callback: Callable[..., Any], *given: Any, seconds: float | None = PATIENCE, blocking: bool | None = None
) -> Any:
    """Call a function, sync or async, and return what it says; raises what it raises, and `TimeoutError`.

    What may block runs in a thread: what is not async, unless `blocking` says otherwise.
    """
    blocks = not inspect.iscoroutinefunction(callback) if blocking is None else blocking
    try:
        async with asyncio.timeout(seconds):
            said = await call_in_thread(callback, *given) if blocks else callback(*given)
            return await said if inspect.isawaitable(said) else said
    except SystemExit:
        raise RuntimeError("it raised SystemExit") from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("it was cancelled by itself") from None


async def call_in_thread(function: Callable[..., Any], *given: Any) -> Any:
    """Run something that may block in a thread of its own, which nobody waits for when the time is up.

    It sees the context variables of whoever calls it.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            # A future cannot carry the one, and the others would end the loop, or look like our own end.
            fatal = isinstance(error, StopIteration) or not isinstance(error, Exception)
            future.set_exception(RuntimeError(f"it raised {type(error).__name__}") if fatal else error)
        else:
            future.set_result(result)

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(function, *given)
        except BaseException as error:  # noqa: BLE001 - it goes to whoever waits
            failure = error
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:  # the loop has closed: nobody waits any more
            return

    threading.Thread(target=work, name="assent-call", daemon=True).start()
    return await future


async def hear_check(check: Callable[[Any], Any], params: Any, *, seconds: float = PATIENCE) -> Opinion:
    """Ask a tool's own check."""
    try:
        verdict, reason = read_verdict(await call_callback(check, copy.deepcopy(params), seconds=seconds))
    except Exception as error:  # noqa: BLE001 - a check that fails is heard as its strictest
        return _fault(Source.TOOL_CHECK, "tool-check", "the tool's own check", error, seconds)
    return _opinion(Source.TOOL_CHECK, "tool-check", verdict, reason or "said by the tool's own check")


class Heard(msgspec.Struct, frozen=True):
    """What a hook said."""

    opinion: Opinion | None = None
    changed: dict[str, Any] | None = None
    """Another input, instead of the one it heard."""
    failed: bool = False


async def hear_hook(hook: Callable[..., Any], name: str, given: dict[str, Any], *, seconds: float = PATIENCE) -> Heard:
    """Ask a hook: it says a verdict, or `{"input": …}` to have another input, or both, or nothing."""
    try:
        said = await call_callback(hook, name, copy.deepcopy(given), seconds=seconds)
        changed = _changed(said)
        if said is None or (changed is not None and "decision" not in said):
            return Heard(changed=changed)
        verdict, reason = read_verdict(said)
    except Exception as error:  # noqa: BLE001 - as above
        return Heard(_fault(Source.HOOK, "hooks", "a hook", error, seconds), failed=True)
    return Heard(_opinion(Source.HOOK, "hooks", verdict, reason or "said by a hook"), changed)


def _changed(said: Any) -> dict[str, Any] | None:
    changed = said.get("input") if isinstance(said, dict) else None
    if changed is not None and not isinstance(changed, dict):
        raise NonsenseError("its input is no object")
    return changed


def read_verdict(said: Any) -> tuple[Verdict, str]:
    """Read a verdict, alone or with its reason, or raise `NonsenseError`."""
    word, reason = said, ""
    if isinstance(said, dict):
        word, reason = said.get("decision"), said.get("reason") or ""
    elif isinstance(said, tuple) and len(said) == 2:
        word, reason = said
    verdict = _WORDS.get(word) if isinstance(word, str) else None
    if verdict is None or not isinstance(reason, str):
        raise NonsenseError(f"it said {str(said)[:80]!r}, which is not allow, ask or deny")
    return verdict, reason


def _opinion(source: Source, policy: str, verdict: Verdict, reason: str) -> Opinion:
    return Opinion(verdict=verdict, source=source, policy=policy, reason=reason, opens=verdict is ASK)


def _fault(source: Source, policy: str, who: str, error: Exception, seconds: float) -> Opinion:
    match error:
        case TimeoutError():
            why = f"{who} did not answer within {seconds:g} s"
        case NonsenseError():
            why = f"{who} failed: {error}"
        case _:
            why = f"{who} failed: {describe(error)}"
    return Opinion(verdict=DENY, source=source, policy=policy, reason=why)

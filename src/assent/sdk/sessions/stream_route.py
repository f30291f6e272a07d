"""Sessions over HTTP, to be mounted into any ASGI application: a stream of events, and the answers to its questions."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, Router

from assent.model import AssentError, ConfigError, ForbiddenError, NotFoundError
from assent.sdk.sessions.app import AgentApp
from assent.sdk.sessions.approval_handlers import ApprovalHandler
from assent.sdk.sessions.results import ToolResult
from assent.sdk.sessions.session import AgentSession
from assent.sdk.tools.callbacks import describe
from assent.wire.refusal import Refusal
from assent.wire.server_sent_events import BEAT_SECONDS, KEEP_ALIVE, KIND, frame_then_id
from assent.wire.sessions import NO_PENDING, NO_QUESTION, RespondBody, session_header

Authorize: TypeAlias = Callable[[Request, str], Any]
"""Takes a request and a session's id, and returns the user's name, or None for nobody; sync or async."""

LARGEST_BODY = 1 << 20
LONGEST_ID = 200


class TurnBody(msgspec.Struct, frozen=True):
    """A message to the agent."""

    message: str
    session_id: str | None = msgspec.field(name="sessionId", default=None)
    """Where no address says which session it is: without one, a new one."""


def create_stream_route(
    app: AgentApp,
    *,
    authorize: Authorize,
    create_permission_approval_handler: Callable[[str], ApprovalHandler | None] | None = None,
    origins: Iterable[str] = (),
    path: str = "/api/sessions",
    chat_path: str = "/api/stream",
) -> Router:
    """Return the routes of an application's sessions: `{path}/{id}/stream` and `{path}/{id}/respond`.

    A message to `chat_path` names its session in the body, or begins a new one; `X-Session-Id` says which.

    `authorize` says whose request it is; without a user nothing is shown and nothing answered. Pages of other origins
    than the application's own, and `origins`, are refused. Without a maker of handlers an ask is a deny.
    """
    if not callable(authorize):
        raise ConfigError("create_stream_route needs authorize=…: who may see a session, and answer for it")
    routes = _Routes(app, authorize, create_permission_approval_handler, frozenset(origins))
    return Router(
        [
            Route(f"{path}/{{session_id}}/stream", routes.stream, methods=["GET"]),
            Route(f"{path}/{{session_id}}/stream", routes.turn, methods=["POST"]),
            Route(f"{path}/{{session_id}}/respond", routes.respond, methods=["POST"]),
            Route(chat_path, routes.chat, methods=["POST"]),
        ]
    )


def _answered(handler: Callable[[Any, Request], Any]) -> Callable[[Any, Request], Any]:
    """Turn what is refused into an answer."""

    async def answer(routes: Any, request: Request) -> Response:
        try:
            response: Response = await handler(routes, request)
        except Refusal as error:
            return JSONResponse({"error": error.message}, error.status)
        except ForbiddenError as error:
            return JSONResponse({"error": str(error)}, 403)
        except AssentError as error:
            return JSONResponse({"error": str(error)}, 409)
        return response

    return answer


class _Routes:
    def __init__(
        self,
        app: AgentApp,
        authorize: Authorize,
        make_handler: Callable[[str], ApprovalHandler | None] | None,
        origins: frozenset[str],
    ) -> None:
        self._app = app
        self._authorize = authorize
        self._make_handler = make_handler
        self._origins = origins
        self._turns: set[asyncio.Task[None]] = set()

    @_answered
    async def stream(self, request: Request) -> Response:
        """Stream a session from the place where the reader stopped."""
        session = await self._find(request, request.path_params["session_id"])
        return _stream(session.id, _follow(session, request.headers.get("last-event-id")))

    @_answered
    async def turn(self, request: Request) -> Response:
        """Have the agent answer a message, and stream that turn; who hangs up does not end it."""
        session = await self._find(request, request.path_params["session_id"])
        return self._begin(session, await _read(request, TurnBody))

    @_answered
    async def chat(self, request: Request) -> Response:
        """Do the same in the session that the message names, or in a new one."""
        body = await _read(request, TurnBody)
        return self._begin(await self._find(request, body.session_id or f"session_{secrets.token_hex(16)}"), body)

    def _begin(self, session: AgentSession, body: TurnBody) -> Response:
        if self._app.turn is None:
            raise Refusal(404, "This application takes no messages")
        after, turn_id = session.feed.last, f"turn_{secrets.token_hex(8)}"
        task = asyncio.create_task(_take_turn(self._app, session, body.message, turn_id))
        self._turns.add(task)
        task.add_done_callback(self._turns.discard)
        return _stream(session.id, _until_done(session, after, turn_id))

    @_answered
    async def respond(self, request: Request) -> Response:
        """Answer a question."""
        session = await self._find(request, request.path_params["session_id"])
        body = await _read(request, RespondBody)
        if body.is_about_question:
            if not session.answer_question(body.text, tool_call_id=body.tool_call_id):
                raise Refusal(404, NO_QUESTION.format(session.id))
            return JSONResponse({"ok": True})
        try:
            await session.respond(body.said, tool_call_id=body.tool_call_id, feedback=body.feedback)
        except NotFoundError:
            raise Refusal(404, NO_PENDING.format(session.id)) from None
        return JSONResponse({"ok": True})

    async def _find(self, request: Request, session_id: str) -> AgentSession:
        self._check_origin(request)
        if len(session_id) > LONGEST_ID:
            raise Refusal(400, "The session's id is too long")
        user = await self._who(request, session_id)
        session = self._app.session(session_id, user=user)
        if self._make_handler is not None:
            session.open_to(self._make_handler)
        return session

    async def _who(self, request: Request, session_id: str) -> str:
        try:
            said = self._authorize(request, session_id)
            user = await said if inspect.isawaitable(said) else said
        except Exception:  # noqa: BLE001 - a caller that cannot be identified is refused
            raise Refusal(403, "Forbidden") from None
        if not isinstance(user, str) or not user:
            raise Refusal(401, "Unauthorized")
        return user

    def _check_origin(self, request: Request) -> None:
        origin = request.headers.get("origin")
        if origin is not None and origin not in self._origins:
            scheme, _, host = origin.partition("://")
            if host != request.headers.get("host") or scheme not in ("http", "https"):
                raise Refusal(403, "Forbidden: requests from that origin are not accepted")
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and origin not in self._origins:
            raise Refusal(403, "Forbidden: requests from other sites are not accepted")


async def _read(request: Request, kind: type[Any]) -> Any:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise Refusal(415, "The content type must be application/json")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            raise Refusal(413, f"The body is larger than {LARGEST_BODY} bytes")
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        raise Refusal(400, f"Invalid body: {error}") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Refusal(400, "Invalid JSON body") from None


def _stream(session_id: str, frames: AsyncIterator[bytes]) -> Response:
    name, value = session_header(session_id)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no", name.decode(): value.decode()}
    return StreamingResponse(frames, media_type=KIND.decode(), headers=headers)


async def _follow(session: AgentSession, after: str | None) -> AsyncIterator[bytes]:
    """Give the events of a session, and first what is pending though this process never asked it."""
    for question in await session.pending():
        session.announce(question)
    async for piece in with_beats(session.feed.follow(after)):
        yield piece


async def _until_done(session: AgentSession, after: str, turn_id: str) -> AsyncIterator[bytes]:
    """Give the events of a session up to the end of one turn: others may be under way beside it."""
    async for piece in with_beats(session.feed.follow(after), end=("turn.complete", turn_id)):
        yield piece


async def with_beats(
    events: AsyncIterator[tuple[str, dict[str, Any]]], *, end: tuple[str, str] | None = None
) -> AsyncIterator[bytes]:
    """Write events as they come, and a sign of life where none does."""
    waiting: asyncio.Future[tuple[str, dict[str, Any]]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((waiting,), timeout=BEAT_SECONDS)
            if not done:
                yield KEEP_ALIVE
                continue
            event_id, event = waiting.result()
            waiting = None
            yield frame_then_id(event_id, event)
            if (event["type"], event.get("turnId")) == end:
                return
    finally:
        if waiting is not None:
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting


async def _take_turn(app: AgentApp, session: AgentSession, message: str, turn_id: str) -> None:
    turn = app.turn
    session.feed.put("turn.start", turnId=turn_id, message=message)
    text: Any = None
    try:
        text = await turn(session, message) if turn is not None else None
    except Exception as error:  # noqa: BLE001 - the agent's fault ends its turn, and is told
        session.feed.put("error", turnId=turn_id, message=describe(error)[:1000])
    finally:
        said = text.content if isinstance(text, ToolResult) else text
        session.feed.put("turn.complete", turnId=turn_id, text=None if said is None else str(said))

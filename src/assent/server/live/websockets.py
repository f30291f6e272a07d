"""Admission of WebSockets, and `WS /ws/permissions`: questions as they are asked, and their answers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import msgspec
from starlette.websockets import WebSocketDisconnect

from assent.model import Answer, AssentError, NotFoundError, Verdict
from assent.model.principal import Role
from assent.server.auth.principals import SUBPROTOCOL
from assent.server.auth.tokens import use_ticket
from assent.server.http.errors import refusal_of
from assent.server.http.messages import reply
from assent.server.http.origin import gather_headers, is_local, peer_of
from assent.server.live import run_socket
from assent.server.state.listeners import ALL_USERS, now, request_message, write_message
from assent.wire.permissions import InboxMessage
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.types import Message, Receive, Scope, Send
    from starlette.websockets import WebSocket

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon
    from assent.server.state.listeners import Member

PATH = "/ws/permissions"
PATHS = (PATH, run_socket.PATH)
"""Every socket that there is."""
GREETING_SECONDS = 30.0
_VERDICTS = {"approve": Verdict.ALLOW, "reject": Verdict.DENY}


_MESSAGE = msgspec.json.Decoder(InboxMessage)


class CloseError(AssentError):
    """The socket is closed, with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class Guarded:
    """A socket that is closed when its token is revoked or expires: nothing more is sent or handled."""

    def __init__(self, daemon: Daemon, principal: Principal, websocket: WebSocket) -> None:
        self._daemon = daemon
        self._principal = principal
        self._websocket = websocket
        self._refused = False

    async def host(self, talk: Coroutine[Any, Any, None]) -> None:
        """Run the conversation while the token is valid."""
        talking = asyncio.ensure_future(talk)
        try:
            with self._daemon.connections.stay(self._principal) as ended:
                await asyncio.wait((talking, ended), return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    await self._refuse()
        finally:
            talking.cancel()
            # Errors of a closed or vanished peer are not logged.
            with contextlib.suppress(WebSocketDisconnect, asyncio.CancelledError):
                await talking

    async def hear(self) -> Message:
        """Receive the next message."""
        event = await self._websocket.receive()
        if event["type"] == "websocket.receive" and not self._is_welcome():
            await self._refuse()
            return {"type": "websocket.disconnect"}
        return event

    async def say(self, message: Message) -> None:
        """Send a message."""
        if message["type"] == "websocket.send" and not self._is_welcome():
            await self._refuse()
            raise CloseError(4401, "Unauthorized")
        await self._websocket.send(message)

    def _is_welcome(self) -> bool:
        return not self._refused and self._daemon.keys.is_good(self._principal)

    async def _refuse(self) -> None:
        if not self._refused:
            self._refused = True
            await self._websocket.close(4401, "Unauthorized")


class Sockets:
    """Serves every WebSocket of the daemon."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one socket from its handshake to its end."""
        scope = websocket.scope
        try:
            principal = await self._admit(scope)
        except Refusal as refusal:
            self._daemon.metrics.count_refusal(refusal.status)
            await websocket.receive()  # the request to connect
            await websocket.send_denial_response(reply({"error": refusal.message}, refusal.status))
            return
        await websocket.accept(_choose_protocol(scope["subprotocols"]))
        if principal is not None and scope["path"] == run_socket.PATH:
            guarded = Guarded(self._daemon, principal, websocket)
            await guarded.host(run_socket.RunSocket(self._daemon, principal, scope).talk(guarded.hear, guarded.say))
            return
        try:
            who, user = _check(scope, principal)
        except CloseError as closing:
            await websocket.close(closing.code, closing.reason)
            return
        guarded = Guarded(self._daemon, who, websocket)
        await guarded.host(self._talk(who, user, scope, guarded.hear, guarded.say))

    async def _admit(self, scope: Scope) -> Principal | None:
        headers = gather_headers(scope["headers"])
        self._daemon.origins.check(headers, local=is_local(scope), page=False)
        if scope["path"] not in PATHS:
            raise Refusal(404, "Not found")
        principal, cookie = await self._identify(scope, headers)
        if cookie and b"origin" not in headers:
            raise Refusal(403, "Forbidden: a request with a cookie must say its origin")
        return run_socket.admit(principal) if scope["path"] == run_socket.PATH else principal

    async def _identify(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[Principal | None, bool]:
        """Return the principal, and whether a cookie identified it. A token precedes a ticket, a ticket a cookie."""
        keys, peer = self._daemon.keys, peer_of(scope)
        ticket = _read_query(scope).get("ticket", [""])[0]
        if not ticket or peer is not None or keys.bears_secret(headers):
            await keys.meet(headers)
            return keys.identify(headers, peer=peer)
        self._daemon.rates.take("ticket")
        try:
            used = await self._daemon.store.commit(use_ticket(ticket))
        except Refusal:
            return None, False
        return keys.holder(used), False

    async def _talk(self, principal: Principal, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        abort = scope["state"]["abort"]
        member = self._daemon.hub.join(user, abort)
        closing = self._daemon.closing
        work = [
            asyncio.create_task(self._send(member, principal.user, abort, send)),
            asyncio.create_task(self._listen(principal, member, receive)),
        ]
        try:
            await asyncio.wait((*work, closing), return_when=asyncio.FIRST_COMPLETED)
            if closing.done():
                await send({"type": "websocket.close", "code": 1001, "reason": "Server shutting down"})
        finally:
            self._daemon.hub.leave(member)
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _send(self, member: Member, user: str, abort: Callable[[], None], send: Send) -> None:
        try:
            async with asyncio.timeout(GREETING_SECONDS):
                await send(_text(write_message("connected", userId=user, timestamp=now())))
                await self._send_pending(member, send)
        except TimeoutError:
            abort()
            return
        while True:
            await send(_text(await member.next()))

    async def _send_pending(self, member: Member, send: Send) -> None:
        wanted = None if member.user == ALL_USERS else member.user
        cursor: str | None = None
        while True:
            found, cursor = await self._daemon.approvals.list(user=wanted, limit=200, cursor=cursor)
            for approval in found:
                member.known.add(approval.id)
                self._daemon.hub.open.setdefault(approval.id, approval.user)
                await send(_text(request_message(approval)))
            if cursor is None:
                return

    async def _listen(self, principal: Principal, member: Member, receive: Receive) -> None:
        while (event := await receive())["type"] == "websocket.receive":
            try:
                self._daemon.rates.take(principal.token)
                answer = await self._hear(principal, event)
            except AssentError as error:
                refusal = error if isinstance(error, Refusal) else refusal_of(error)
                answer = write_message("error", message=_complaint(refusal))
            except Exception as error:  # noqa: BLE001 - the last resort: the socket stays, and nothing was applied
                self._daemon.journal.fault("socket.failed", error)
                answer = write_message("error", message="Internal error")
            if answer is not None and not member.push(answer):
                return

    async def _hear(self, principal: Principal, event: Message) -> str | None:
        message = _decode(event)
        match message.type:
            case "ping":
                return write_message("pong", timestamp=now())
            case "decision":
                await self._decide(principal, message.data)
                return None  # the acknowledgement goes to every session, this one among them
            case _:
                raise Refusal(400, "Unknown message type")

    async def _decide(self, principal: Principal, data: dict[str, Any]) -> None:
        wanted, decision = data.get("requestId"), data.get("decision")
        if not isinstance(wanted, str) or not isinstance(decision, str) or not wanted:
            raise Refusal(400, "Missing requestId or decision")
        if decision not in _VERDICTS:
            raise Refusal(400, f"Invalid decision value. Must be one of: {', '.join(_VERDICTS)}.")
        feedback = data.get("feedback")
        if feedback is not None and not isinstance(feedback, str):
            raise Refusal(400, "Invalid feedback: expected a string")
        answer = Answer(verdict=_VERDICTS[decision], feedback=feedback)
        try:
            approval = await self._daemon.decisions.answer(wanted, answer, principal)
        except NotFoundError:
            raise Refusal(404, "Request not found") from None
        self._daemon.note_answer(approval, principal)


def _check(scope: Scope, principal: Principal | None) -> tuple[Principal, str]:
    """Refuse a connection without a user, then without a token, then with a wrong one."""
    given = _read_query(scope)
    user = given.get("userId", [""])[0]
    if not user:
        raise CloseError(4001, "Missing userId")
    if principal is None:
        raise CloseError(4401, "Unauthorized")
    everyone = given.get("everyone", [""])[0] == "true"
    if principal.role is Role.AGENT or principal.user != user or (everyone and principal.role is not Role.ADMIN):
        raise CloseError(4403, "Forbidden")
    return principal, ALL_USERS if everyone else user


def _read_query(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=32)
    except ValueError:  # far too many
        return {}


def _decode(event: Message) -> InboxMessage:
    text = event.get("text")
    data = text.encode() if text is not None else event.get("bytes") or b""
    try:
        return _MESSAGE.decode(data)
    except msgspec.ValidationError:
        # The decoder stops at the first thing that does not fit: what follows it may not even be JSON.
        raise Refusal(400, "Invalid message" if _is_json(data) else "Invalid JSON") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Refusal(400, "Invalid JSON") from None


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return True


def _complaint(refusal: Refusal | None) -> str:
    if refusal is None:
        return "Internal error"
    detail = refusal.more.get("detail")
    return f"{refusal.message}: {detail}" if detail else refusal.message


def _choose_protocol(offered: list[str]) -> str | None:
    """Choose the subprotocol beside the token: browsers require that one of their offers is accepted."""
    plain = [name for name in offered if not name.startswith(SUBPROTOCOL)]
    return "assent" if "assent" in plain else next(iter(offered), None)


def _text(message: str) -> Message:
    return {"type": "websocket.send", "text": message}

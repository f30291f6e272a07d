"""Tokens: created, stored as hashes, revoked. A secret is shown once, to its holder."""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.log import Log
from assent.model import AssentError, Event, EventType, NotFoundError
from assent.model.principal import Role, Token, TokenKind
from assent.platform.paths import refuse_folder
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.model.principal import Principal
    from assent.store.cursor import Cursor
    from assent.store.store import Store

TOPIC = "tokens"
LONGEST_NAME = 128
LINK_SECONDS = 15 * 60.0
COOKIE_SECONDS = 14 * 86400.0
TICKET_SECONDS = 30.0
COLUMNS = (
    "id, kind, role, user_id, agent_id, label, remote, interactive, workspace, created_at, expires_at, revoked_at, "
    "used_at, run, hash"
)
SELECT_TOKENS = f"SELECT {COLUMNS} FROM tokens"  # noqa: S608 - constants
_INSERT = (
    "INSERT INTO tokens (id, hash, kind, role, user_id, agent_id, label, remote, interactive, workspace, created_at, "
    "expires_at, run) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_USE_UP = "UPDATE tokens SET used_at = ?, revoked_at = ? WHERE id = ? AND used_at IS NULL AND revoked_at IS NULL"
_ROOTS = msgspec.json.Decoder(tuple[str, ...])


class TokenRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a new token."""

    role: Role
    user: str
    agent: str | None = None
    label: str = ""
    remote: bool = False
    interactive: bool | None = None
    workspace: tuple[str, ...] = ()
    seconds: float | None = None
    """How long it lives; None is until it is revoked."""
    kind: TokenKind = "bearer"
    run: str | None = None
    """The run whose program it is for."""


class Issued(msgspec.Struct, frozen=True):
    """A new token with its secret."""

    token: Token
    secret: str


def check_token_request(  # noqa: PLR0913 - a token says this much
    role: Role,
    *,
    user: str,
    agent: str = "",
    label: str = "",
    remote: bool = False,
    interactive: bool | None = None,
    workspace: tuple[str, ...] = (),
    seconds: float | None = None,
) -> TokenRequest:
    """Check the fields of a new token, or raise `AssentError`."""
    for name in (user, agent, label):
        if len(name) > LONGEST_NAME or any(not c.isprintable() for c in name):
            raise AssentError(f"a name has at most {LONGEST_NAME} characters, all of them visible")
    if not user:
        raise AssentError("a token needs a user")
    if role is not Role.AGENT and (agent or remote or workspace or interactive is not None):
        raise AssentError("only an agent's token says an agent, a workspace, or where it runs")
    if seconds is not None and not 1 <= seconds <= 10 * 366 * 86400:
        raise AssentError("a token lives for at least a second and at most ten years")
    return TokenRequest(
        role=role,
        user=user,
        agent=(agent or "agent") if role is Role.AGENT else None,
        label=label,
        remote=remote,
        interactive=interactive,
        workspace=tuple(dict.fromkeys(_check_root(root) for root in workspace)),
        seconds=seconds,
    )


def _check_root(root: str) -> str:
    if not os.path.isabs(root):  # noqa: PTH117 - paths are strings here
        raise AssentError(f"a workspace is an absolute path, not `{root}`")
    path = "/" + os.path.normpath(root).lstrip("/")
    reason = refuse_folder(path)
    if reason is not None:
        raise AssentError(f"`{path}` cannot be a workspace: {reason}")
    return path


def hash_secret(secret: str) -> bytes:
    """Return the stored hash of a secret; a secret has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(b"assent.token.v1\0" + secret.encode()).digest()


def issue(request: TokenRequest, by: str, log: Log) -> Callable[[Cursor], Issued]:
    """Return the store job that creates a token."""
    secret = f"assent_{request.kind if request.kind != 'bearer' else request.role}_{secrets.token_urlsafe(32)}"
    token_id = f"tok_{secrets.token_hex(6)}"

    def work(cursor: Cursor) -> Issued:
        token = Token(
            id=token_id,
            role=request.role,
            user=request.user,
            agent=request.agent,
            label=request.label,
            remote=request.remote,
            interactive=request.interactive,
            workspace=request.workspace,
            created_at=cursor.now,
            expires_at=None if request.seconds is None else cursor.now + request.seconds,
            kind=request.kind,
            run=request.run,
        )
        cursor.execute(_INSERT, *_row(token, hash_secret(secret)))
        _tell(cursor, log, "token.created", token, by)
        return Issued(token, secret)

    return work


def make_link(store: Store, log: Log, user: str, role: Role) -> str:
    """Create a one-time link and return its code."""
    request = TokenRequest(role=role, user=user, label="one-time link", seconds=LINK_SECONDS, kind="link")
    return store.write(issue(request, "command line", log)).result().secret


def redeem(code: str, log: Log, *, seconds: float = COOKIE_SECONDS) -> Callable[[Cursor], Issued]:
    """Return the store job that exchanges a one-time link for a browser session, once."""

    def work(cursor: Cursor) -> Issued:
        rows = cursor.fetch(SELECT_TOKENS + " WHERE hash = ? AND kind = 'link'", hash_secret(code))
        link = token_of(rows[0]) if rows else None
        if link is None or not is_valid(link, cursor.now):
            raise Refusal(401, "This link was used before, or is too old; ask for another: assent token link")
        if cursor.execute(_USE_UP, cursor.now, cursor.now, link.id) != 1:
            raise Refusal(401, "This link was used before; ask for another: assent token link")
        cursor.announce(TOPIC, link.id)
        request = TokenRequest(role=link.role, user=link.user, label="browser", seconds=seconds, kind="cookie")
        return issue(request, link.user, log)(cursor)

    return work


def open_session(secret: str, log: Log, *, seconds: float = COOKIE_SECONDS) -> Callable[[Cursor], Issued]:
    """Return the store job that opens a browser session by a person's token, and that ends with the token."""

    def work(cursor: Cursor) -> Issued:
        rows = cursor.fetch(SELECT_TOKENS + " WHERE hash = ? AND kind = 'bearer'", hash_secret(secret))
        token = token_of(rows[0]) if rows else None
        if token is None or token.role is Role.AGENT or not is_valid(token, cursor.now):
            raise Refusal(401, "This is not the token of a person, or it is no longer good")
        left = seconds if token.expires_at is None else min(seconds, token.expires_at - cursor.now)
        request = TokenRequest(
            role=token.role, user=token.user, label=_session_of(token.id), seconds=left, kind="cookie"
        )
        return issue(request, token.user, log)(cursor)

    return work


def issue_ticket(who: Principal, log: Log, *, seconds: float = TICKET_SECONDS) -> Callable[[Cursor], Issued]:
    """Return the store job that creates a ticket, which opens one WebSocket, once and soon."""
    request = TokenRequest(role=who.role, user=who.user, label=_ticket_of(who.token), seconds=seconds, kind="ticket")
    return issue(request, who.user, log)


def use_ticket(secret: str) -> Callable[[Cursor], str]:
    """Return the store job that uses a ticket up and returns the id of its token, or raises `Refusal`."""

    def work(cursor: Cursor) -> str:
        rows = cursor.fetch(SELECT_TOKENS + " WHERE hash = ? AND kind = 'ticket'", hash_secret(secret))
        ticket = token_of(rows[0]) if rows else None
        now = cursor.now
        if ticket is None or not is_valid(ticket, now) or cursor.execute(_USE_UP, now, now, ticket.id) != 1:
            raise Refusal(401, "Unauthorized: this ticket was used before, or is too old")
        return ticket.label.removeprefix(_ticket_of(""))

    return work


def _ticket_of(token_id: str) -> str:
    """Return the label of a ticket: it names the token that requested it."""
    return f"socket, by {token_id}"


def _session_of(token_id: str) -> str:
    """Return the label of a browser session: it names the token that opened it."""
    return f"browser, by {token_id}"


def revoke(token_id: str, by: str, log: Log) -> Callable[[Cursor], Token]:
    """Return the store job that revokes a token and every session opened with it, or raises `NotFoundError`."""

    def work(cursor: Cursor) -> Token:
        rows = cursor.fetch(SELECT_TOKENS + " WHERE id = ? AND revoked_at IS NULL", token_id)
        if not rows:
            raise NotFoundError(f"there is no token {token_id} in force")
        cursor.execute("UPDATE tokens SET revoked_at = ? WHERE id = ?", cursor.now, token_id)
        token = msgspec.structs.replace(token_of(rows[0]), revoked_at=cursor.now)
        _tell(cursor, log, "token.revoked", token, by)
        opened = "SELECT id FROM tokens WHERE kind = 'cookie' AND label = ? AND revoked_at IS NULL"
        for (session_id,) in cursor.fetch(opened, _session_of(token_id)):
            revoke(session_id, by, log)(cursor)
        return token

    return work


def revoke_of_run(cursor: Cursor, run: str, log: Log) -> None:
    """Revoke every token of a run, inside a store job."""
    for row in cursor.fetch(SELECT_TOKENS + " WHERE run = ? AND revoked_at IS NULL", run):
        revoke(row[0], "the run is over", log)(cursor)


def revoke_sessions(user: str, by: str, log: Log) -> Callable[[Cursor], int]:
    """Return the store job that revokes every browser session and unused link of a user."""

    def work(cursor: Cursor) -> int:
        found = cursor.fetch(
            SELECT_TOKENS + " WHERE user_id = ? AND kind IN ('cookie', 'link') AND revoked_at IS NULL",
            user,
        )
        for row in found:
            revoke(row[0], by, log)(cursor)
        return len(found)

    return work


def token_of(row: Sequence[Any]) -> Token:
    """Convert a row of the table to a token."""
    return Token(
        id=row[0],
        kind=row[1],
        role=Role(row[2]),
        user=row[3],
        agent=row[4],
        label=row[5],
        remote=bool(row[6]),
        interactive=None if row[7] is None else bool(row[7]),
        workspace=_ROOTS.decode(row[8]),
        created_at=row[9],
        expires_at=row[10],
        revoked_at=row[11],
        run=row[13],
    )


def is_valid(token: Token, now: float) -> bool:
    """Tell whether a token is in force."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)


def _row(token: Token, hashed: bytes) -> tuple[Any, ...]:
    return (
        token.id,
        hashed,
        token.kind,
        token.role.value,
        token.user,
        token.agent,
        token.label,
        token.remote,
        token.interactive,
        msgspec.json.encode(token.workspace).decode(),
        token.created_at,
        token.expires_at,
        token.run,
    )


def _tell(cursor: Cursor, log: Log, event: EventType, token: Token, by: str) -> None:
    payload = {
        "id": token.id,
        "kind": token.kind,
        "role": token.role,
        "user": token.user,
        "agent": token.agent,
        "summary": " · ".join(filter(None, (f"{token.kind} for {token.user}, {token.role}", token.label))),
        "by": by,
    }
    record = Event(type=event, event_id="", timestamp="", session_id="", sequence=0, payload=payload)
    log.append(cursor, [log.prepare(record)])
    cursor.announce(TOPIC, token.id)

"""Find the principal of a request: by bearer token, by cookie, or by the peer of the Unix socket."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import os
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec

from assent.model.principal import PEER, Principal, Role, Token, TokenKind
from assent.platform.user import user_name
from assent.server.auth.rate_limits import Rates
from assent.server.auth.tokens import SELECT_TOKENS, TOPIC, hash_secret, is_valid, token_of
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.server.http.origin import Peer
    from assent.store.cursor import Row
    from assent.store.store import Store

SUBPROTOCOL = "assent.bearer."
_LONGEST_SECRET = 256
_QUERY = SELECT_TOKENS + " WHERE revoked_at IS NULL AND kind NOT IN ('link', 'ticket')"
_ONE = "SELECT 1 FROM tokens WHERE hash = :hash AND revoked_at IS NULL AND kind NOT IN ('link', 'ticket')"
LOOKS_A_SECOND = 20
"""How many unknown secrets a second are looked up in the store; twice as many may come at once …"""
MOST_STRANGERS = 4096
"""… and how many are remembered as nobody's …"""
STRANGE_SECONDS = 10.0
"""… for how long."""


class _Holder(msgspec.Struct, frozen=True):
    hash: bytes
    token: Token
    principal: Principal


class Identities:
    """The tokens in force, in memory; notifications of the store keep them up to date."""

    def __init__(self, store: Store, *, cookie: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self.cookie = cookie
        """The name of the cookie: another port is another daemon."""
        self._clock = clock
        self._holders: dict[bytes, _Holder] = {}
        self._tokens: dict[str, Token] = {}
        self._here = Principal(token=PEER, role=Role.AGENT, user=user_name(), agent="local")
        self._looks = itertools.count(1)
        self._last = 0
        self._lock = threading.Lock()
        self._strangers: dict[bytes, float] = {}
        """Secrets that were looked up and are nobody's, by their hashes, and until when that is believed."""
        self._rate = Rates(LOOKS_A_SECOND)

    def look(self) -> Future[None]:
        """Read every token in force; the future completes once they are in memory."""
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # a caller that stops waiting does not cancel the read
        look = next(self._looks)

        def take(read: Future[list[Row]]) -> None:
            try:
                self._take(look, read.result())
                done.set_result(None)
            except Exception as error:  # noqa: BLE001 - the error goes to the waiting caller, and the next read tries again
                done.set_exception(error)

        self._store.read(_QUERY).add_done_callback(take)
        return done

    def hear(self, topic: str, _ref: str, _value: object) -> None:
        """Read the tokens again when they changed; the store calls this from its own thread."""
        if topic in (TOPIC, "*"):
            self.look()

    async def meet(self, headers: dict[bytes, bytes]) -> None:
        """Look up an unknown secret: another process may have created it just now.

        Only tokens that `look` finds are accepted, so that no revoked one comes back. Look-ups per second are limited;
        a secret that is skipped is accepted once the store's notification has arrived.
        """
        new = self._new(headers)
        if new is None:
            return
        try:
            self._rate.take("unknown")
        except Refusal:
            return
        if await self._store.query(_ONE, {"hash": new}):
            await asyncio.wrap_future(self.look())
            return
        if len(self._strangers) >= MOST_STRANGERS:
            self._strangers = {}
        self._strangers[new] = time.monotonic() + STRANGE_SECONDS

    def _new(self, headers: dict[bytes, bytes]) -> bytes | None:
        secret = self._secret(headers)[0]
        if secret is None or len(secret) > _LONGEST_SECRET:
            return None
        hashed = hash_secret(secret.decode("latin-1"))
        known = hashed in self._holders or self._strangers.get(hashed, 0.0) > time.monotonic()
        return None if known else hashed

    def _take(self, look: int, rows: list[Row]) -> None:
        holders = [_Holder(bytes(row[-1]), token := token_of(row), principal_of(token)) for row in rows]
        with self._lock:
            # An earlier read that finishes late must not bring back tokens revoked since.
            if look > self._last:
                self._tokens = {holder.token.id: holder.token for holder in holders}
                self._holders, self._last = {holder.hash: holder for holder in holders}, look

    def identify(self, headers: dict[bytes, bytes], *, peer: Peer | None = None) -> tuple[Principal | None, bool]:
        """Return the principal, or None, and whether a cookie identified it.

        An invalid bearer token identifies nobody, whatever else is sent. The owner's user id on the Unix socket is an
        agent at most; on the ask-only socket everybody is, whatever their token.
        """
        who, cookie = self._identify(headers, peer)
        if who is not None and peer is not None and peer.ask_only and who.role is not Role.AGENT:
            return None, cookie
        return who, cookie

    def _identify(self, headers: dict[bytes, bytes], peer: Peer | None) -> tuple[Principal | None, bool]:
        secret, kind = self._secret(headers)
        if kind is not None:
            return (None if secret is None else self.find(secret, kind=kind)), kind == "cookie"
        return (self._here if peer is not None and peer.uid == os.geteuid() else None), False

    def _secret(self, headers: dict[bytes, bytes]) -> tuple[bytes | None, TokenKind | None]:
        """Return the secret in the headers and its kind; the kind is None if there is no secret."""
        given = headers.get(b"authorization")
        if given is not None:
            scheme, _, secret = given.partition(b" ")
            return (secret.strip() if scheme.lower() == b"bearer" else None), "bearer"
        offered = _offered_secret(headers.get(b"sec-websocket-protocol", b""))
        if offered is not None:
            return offered, "bearer"
        baked = _cookie_secret(headers.get(b"cookie", b""), self.cookie.encode())
        return baked, None if baked is None else "cookie"

    def bears_secret(self, headers: dict[bytes, bytes]) -> bool:
        """Tell whether the headers have a token; a cookie, which browsers send by themselves, is none."""
        return self._secret(headers)[1] == "bearer"

    def is_good(self, principal: Principal) -> bool:
        """Tell whether the token of a principal is still in force."""
        if principal.is_peer:
            return True
        token = self._tokens.get(principal.token)
        return token is not None and is_valid(token, self._clock())

    def holder(self, token_id: str) -> Principal | None:
        """Return the holder of a token in force, by its id."""
        token = self._tokens.get(token_id)
        return principal_of(token) if token is not None and is_valid(token, self._clock()) else None

    def find(self, secret: bytes, *, kind: str = "bearer") -> Principal | None:
        """Return the principal of a secret; None if it is invalid or of another kind."""
        return None if len(secret) > _LONGEST_SECRET else self._holder(hash_secret(secret.decode("latin-1")), kind)

    def _holder(self, hashed: bytes, kind: str) -> Principal | None:
        # The look-up is by hash, which reveals nothing about the secret; the hashes are compared in constant time.
        holder = self._holders.get(hashed)
        if holder is None or not hmac.compare_digest(holder.hash, hashed) or holder.token.kind != kind:
            return None
        return holder.principal if is_valid(holder.token, self._clock()) else None


def principal_of(token: Token) -> Principal:
    """Return the principal of a token."""
    return Principal(
        token=token.id,
        role=token.role,
        user=token.user,
        agent=token.agent,
        remote=token.remote,
        interactive=token.interactive,
        workspace=token.workspace,
        run=token.run,
    )


def _offered_secret(offered: bytes) -> bytes | None:
    prefix = SUBPROTOCOL.encode()
    names = [name.strip() for name in offered.split(b",")]
    return next((name[len(prefix) :] for name in names if name.startswith(prefix)), None)


def _cookie_secret(header: bytes, wanted: bytes) -> bytes | None:
    found = [v.strip() for n, _, v in (part.partition(b"=") for part in header.split(b";")) if n.strip() == wanted]
    return found[0] if len(found) == 1 else None

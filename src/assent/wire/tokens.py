"""Records of `/api/tokens` and `/api/login`."""

from __future__ import annotations

import msgspec

from assent.model.principal import Role, Token


class TokenBody(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a new token."""

    role: Role
    user: str = ""
    agent: str = ""
    label: str = ""
    remote: bool = False
    interactive: bool | None = None
    workspace: tuple[str, ...] = ()
    expires_in: float | None = None


class NewToken(msgspec.Struct, frozen=True):
    """A new token, and the only time its secret is shown."""

    secret: str
    token: Token


class TokenList(msgspec.Struct, frozen=True):
    """Every token that was not revoked."""

    tokens: tuple[Token, ...]


class LoginBody(msgspec.Struct, frozen=True):
    """One of the two."""

    code: str = ""
    """The code of a one-time link: what stands behind its `#`."""
    token: str = ""
    """A person's token; an agent's is none."""


class Who(msgspec.Struct, frozen=True, rename="camel"):
    """Who is logged in."""

    user_id: str
    role: Role


class LoggedOut(msgspec.Struct, frozen=True):
    """How many sessions were ended."""

    success: bool
    sessions: int


class SocketTicket(msgspec.Struct, frozen=True, rename="camel"):
    """What opens one WebSocket, once: `?ticket=…` in its address."""

    ticket: str
    expires_in: float
    """For how many seconds it is good."""

"""Who speaks to the daemon: roles, what a token says of its holder, and the token without its secret."""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

import msgspec

TokenKind: TypeAlias = Literal["bearer", "cookie", "link", "ticket"]


class Role(enum.StrEnum):
    """What a principal may do: an agent asks and waits, a user answers for their own agents, an admin does the rest."""

    AGENT = "agent"
    USER = "user"
    ADMIN = "admin"


PEER = "peer"
"""Stands for a token where the other end of the Unix socket is all that is known."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who is behind a request, as its token says."""

    token: str = ""
    """The id of the token; empty for a person at the machine itself."""
    role: Role
    user: str
    agent: str | None = None
    remote: bool = False
    """Its disk is not the daemon's."""
    interactive: bool | None = None
    """Whether somebody can be asked; None says nothing about it."""
    workspace: tuple[str, ...] = ()
    run: str | None = None
    """The run whose program it is, and whose questions are all that it sees."""

    @property
    def is_peer(self) -> bool:
        """Tell whether the other end of the Unix socket is all that is known: any process of the machine's user."""
        return self.token == PEER

    def may_answer(self, user: str) -> bool:
        """Tell whether this principal may answer, or see, what the agents of a user ask."""
        return self.role is Role.ADMIN or (self.role is Role.USER and self.user == user)


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A token as it is kept and shown: everything but its secret."""

    id: str
    role: Role
    user: str
    agent: str | None = None
    label: str = ""
    remote: bool = False
    interactive: bool | None = None
    workspace: tuple[str, ...] = ()
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    kind: TokenKind = "bearer"
    run: str | None = None
    """The run whose program it was made for."""

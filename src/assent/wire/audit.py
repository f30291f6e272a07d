"""Records of `/api/audit` and `/api/audit/verify`."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assent.audit.search import Record
from assent.audit.verify.log import VerifyReport


class EventPage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records, the newest first, each with its place in the chain."""

    events: tuple[Record, ...]
    cursor: str | None = None
    """Where the next page begins, if there is one."""


class Link(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """How a record hangs on the one before it."""

    previous: str
    """The hash of the writer's record before it."""
    holds: bool
    """Whether its own hash, worked out anew, is what was written."""
    sealed_at: int | None = None
    """When it was sealed; not yet, if nothing is said."""
    sealed_by: int | None = None
    """The number of the writer's record that the seal was put on."""


class Place(msgspec.Struct, frozen=True):
    """A record and its place in the chain."""

    event: Record
    chain: Link


_State: TypeAlias = Literal["idle", "running", "done", "failed"]


class Progress(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """How far the verification is, and what it found."""

    state: _State
    done: int = 0
    total: int = 0
    started_at: int | None = None
    finished_at: int | None = None
    report: VerifyReport | None = None
    error: str | None = None

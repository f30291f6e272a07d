"""Records of `/api/sandbox/…`: what `assent run` sends and receives."""

from __future__ import annotations

from typing import Annotated

import msgspec

from assent.model import SandboxProfile, Violation
from assent.sandbox.reports import SandboxReport

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]


class RedeemBody(msgspec.Struct, frozen=True, rename="camel"):
    """A decision that is to be run now: its id, the exact words, and the folder they run in."""

    decision_id: _Name
    argv: tuple[str, ...]
    cwd: str
    nonce: Annotated[str, msgspec.Meta(max_length=128)] = ""
    """What the seal answers: nobody can show the seal of an answer to another request."""


class Redeemed(msgspec.Struct, frozen=True, rename="camel"):
    """The boundary that was decided."""

    profile: SandboxProfile
    asks: bool
    """What is stopped is asked about when the same call is made again."""
    seal: str = ""
    """The installation's signature, in hexadecimal, over the decision, the nonce, the words, the folder and this."""


class ReportBody(msgspec.Struct, frozen=True, rename="camel"):
    """What happened in a sandbox, in order."""

    run_id: _Name
    events: Annotated[tuple[SandboxReport, ...], msgspec.Meta(min_length=1, max_length=200)]
    decision_id: _Name | None = None


class Recorded(msgspec.Struct, frozen=True):
    """How many events are in the log now."""

    recorded: int


class AskBody(msgspec.Struct, frozen=True, rename="camel"):
    """Something that lies outside the boundary of a decision that is being run, and that the command waits for."""

    decision_id: _Name
    violation: Violation


class Answered(msgspec.Struct, frozen=True):
    """Whether it may be done."""

    allow: bool
    reason: str

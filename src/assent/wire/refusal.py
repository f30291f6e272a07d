"""A request that is refused, and the body that says so."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import AssentError


class ErrorBody(msgspec.Struct, frozen=True):
    """Why a request was not done."""

    error: str


class Refusal(AssentError):  # noqa: N818 - an answer of its own, not a fault
    """A request is not done, for a reason its sender can act on."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.more = more

"""Results of calls: what the model or the caller gets of a call that ran, failed or was denied."""

from __future__ import annotations

from typing import Any

import msgspec

from assent.model import AssentError
from assent.sdk.sessions.backends import BackendDecision


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a call, for the model."""

    tool_call_id: str
    content: Any
    is_error: bool = False
    judgement: BackendDecision | None = None
    """How it was decided; None if it never came to that."""


class PermissionDeniedError(AssentError):
    """The call may not run."""

    def __init__(self, judgement: BackendDecision) -> None:
        super().__init__(judgement.reason)
        self.judgement = judgement


class ToolFailedError(AssentError):
    """The call was allowed, and failed, or its input does not fit."""


def denial_text(name: str, judgement: BackendDecision) -> str:
    """Tell the model that a call may not run, and why."""
    text = judgement.reason or f'Permission denied for tool "{name}"'
    return f"{text} ({judgement.feedback})" if judgement.feedback and judgement.feedback not in text else text

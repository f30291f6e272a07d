"""Records of `/api/sessions/{id}/…`: answers to the questions of a session, and the errors of that dialect."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import msgspec

from assent.wire.refusal import Refusal

Said: TypeAlias = Literal["approved", "rejected"]


NO_PENDING = "No pending permission request for session '{}'"


BAD_DECISION = 'Field \'decision\' must be "approved" or "rejected" for permission responses'


BAD_KIND = 'Field \'kind\' must be "permission" or "question"'


NO_QUESTION = "No pending question for session '{}'"


NO_ANSWER = "Field 'answer' is required and must be a non-empty string"


SESSION_HEADER = "x-session-id"
"""Says which session a stream is about."""


class RespondBody(msgspec.Struct, frozen=True, rename="camel"):
    """An answer to a request for permission (that of a call, or the oldest), or to a question of the agent."""

    kind: str | None = None
    decision: Any = None
    answer: Any = None
    tool_call_id: str | None = None
    feedback: str | None = None

    @property
    def is_about_question(self) -> bool:
        """Tell whether it answers a question of the agent; without a kind, what it carries tells."""
        if self.kind not in (None, "permission", "question"):
            raise Refusal(400, BAD_KIND)
        return self.kind == "question" or (self.kind is None and self.decision is None and self.answer is not None)

    @property
    def text(self) -> str:
        """Return the answer to a question of the agent, or refuse it."""
        if not isinstance(self.answer, str) or not self.answer.strip():
            raise Refusal(400, NO_ANSWER)
        return self.answer.strip()

    @property
    def said(self) -> Said:
        """Return the answer to a request for permission, or refuse it: nothing but the two words is one."""
        if self.decision == "approved":
            return "approved"
        if self.decision == "rejected":
            return "rejected"
        raise Refusal(400, BAD_DECISION)


class Responded(msgspec.Struct, frozen=True):
    """That it was done."""

    ok: bool


def session_header(session: str) -> tuple[bytes, bytes]:
    """Name the session of a stream in a header; what no header can hold is escaped as in an address."""
    return SESSION_HEADER.encode(), quote(session, safe="!#$&'()*+,/:;=?@[] ").encode()

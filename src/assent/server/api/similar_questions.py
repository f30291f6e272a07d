"""`/api/permissions/{id}/similar`: how earlier questions of the same kind were answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.decisions.rows import APPROVAL_COLUMNS, read_approval
from assent.server.api.permissions import may_see
from assent.server.http.messages import Request, reply
from assent.wire.permissions import Earlier, EarlierAnswers
from assent.wire.refusal import Refusal
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.model import Approval
    from assent.server.daemon import Daemon

MOST = 8
_WINDOW = 5000
"""How many of the latest questions are looked through."""
_SIMILAR = f"""
SELECT * FROM (
    SELECT {APPROVAL_COLUMNS} FROM approvals WHERE user_id = :user ORDER BY created_at DESC, id DESC LIMIT {_WINDOW}
) AS latest
WHERE state IN ('approved', 'rejected') AND tool = :tool AND id <> :id
    AND (digest = :digest OR summary = :begins OR substr(summary, 1, :length) = :prefix)
ORDER BY created_at DESC, id DESC LIMIT {MOST}
"""  # noqa: S608 - constants


async def list_similar(daemon: Daemon, request: Request) -> Response:
    """List what was answered to similar calls of the same user."""
    approval = await daemon.approvals.get(request.path_params["id"])
    if approval is None or not may_see(request.who, approval):
        raise Refusal(404, "Request not found")
    begins = beginning(approval.summary)
    parameters = {
        "user": approval.user,
        "tool": approval.tool,
        "id": approval.id,
        "digest": approval.digest,
        "begins": begins,
        "prefix": f"{begins} ",
        "length": len(begins) + 1,
    }
    rows = await daemon.store.query(_SIMILAR, parameters)
    return reply(EarlierAnswers(tuple(_describe(read_approval(row), approval) for row in rows)))


def beginning(summary: str) -> str:
    """Return the program and, if it is a plain word, its subcommand: calls that share them are similar."""
    words = summary.split(maxsplit=2)
    plain = len(words) > 1 and words[1].replace("-", "").isalnum() and not words[1].startswith("-")
    return " ".join(words[: 2 if plain else 1])


def _describe(earlier: Approval, asked: Approval) -> Earlier:
    answer = earlier.answer
    return Earlier(
        id=earlier.id,
        command=earlier.summary,
        same=earlier.digest == asked.digest,
        status=earlier.state,
        scope=answer.scope if answer is not None else None,
        by=earlier.by,
        feedback=answer.feedback if answer is not None else None,
        resolved_at=None if earlier.resolved_at is None else millis(earlier.resolved_at),
    )

"""Turn errors of decisions and answers into refusals."""

from __future__ import annotations

from assent.decisions.errors import (
    AdminNeededError,
    AlreadyAnsweredError,
    AmbiguousError,
    ContradictionError,
    RefusedError,
)
from assent.model import AssentError, ForbiddenError, NotFoundError, StoreError
from assent.server.http.messages import StoppingError
from assent.wire.refusal import Refusal


def refusal_of(error: Exception) -> Refusal | None:
    """Return the refusal for an error; None for an internal error."""
    match error:
        case AlreadyAnsweredError(approval=approval):
            detail = f"already {approval.state} by {approval.by}"
            return Refusal(404, "Request not found", detail=detail, state=approval.state, by=approval.by)
        case RefusedError():
            return Refusal(400, f"The modified input is not allowed: {error}")
        case ContradictionError():
            return Refusal(400, str(error))
        case AmbiguousError():
            return Refusal(409, str(error))
        case NotFoundError():
            return Refusal(404, "Not found")
        case ForbiddenError():
            return Refusal(403, str(error) if isinstance(error, AdminNeededError) else "Forbidden")
        case StoppingError():
            return Refusal(503, "The daemon is stopping")
        case StoreError():
            return Refusal(503, "The store cannot be used; nothing was done")
        case AssentError():
            return Refusal(400, str(error))
        case _:
            return None

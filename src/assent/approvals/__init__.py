"""Pending questions, their answers, and what answers leave behind: grants and enablements."""

from assent.approvals.book import Approvals
from assent.approvals.errors import AlreadyAnsweredError, ContradictionError, RefusedError

__all__ = ["AlreadyAnsweredError", "Approvals", "ContradictionError", "RefusedError"]

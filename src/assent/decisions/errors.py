"""Errors of an answer to a question."""

from __future__ import annotations

from assent.model import Approval, AssentError, Decision, ForbiddenError


class AlreadyAnsweredError(AssentError):
    """The question was already answered; the first answer counts."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(f"already {approval.state} by {approval.by}")
        self.approval = approval


class RefusedError(AssentError):
    """Policy denies the input that a person changed; the question stays pending."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.decision_reason)
        self.decision = decision


class AdminNeededError(ForbiddenError):
    """Only an admin may allow a run to leave its workspace, whoever started the run."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(
            f"only an admin may allow `{approval.id}`, such as the owner of the daemon's machine (`assent approve`):"
            f" it leaves the workspace of run `{approval.session.id}`, or changes what runs later"
        )


class ContradictionError(AssentError):
    """The parts of an answer do not fit together."""


class AmbiguousError(AssentError):
    """Several pending questions have the same call id, which the agent chose; the answer must name one question."""

    def __init__(self) -> None:
        super().__init__("Several questions are pending by that toolCallId: give the requestId of one instead")

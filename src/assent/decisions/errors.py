"""What can be wrong with an answer."""

from __future__ import annotations

from assent.model import Approval, AssentError, Decision, ForbiddenError


class AlreadyAnsweredError(AssentError):
    """The question was answered before; the first answer counts."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(f"already {approval.state} by {approval.by}")
        self.approval = approval


class RefusedError(AssentError):
    """The policy denies what would run instead; the question stays pending."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(decision.decision_reason)
        self.decision = decision


class AdminNeededError(ForbiddenError):
    """What a run does outside its workspace is an admin's to allow, and nobody's who started it."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(
            f"only an admin may allow `{approval.id}`, such as the owner of the daemon's machine (`assent approve`):"
            f" it leaves the workspace of run `{approval.session.id}`, or changes what runs later"
        )


class ContradictionError(AssentError):
    """The parts of an answer do not fit together."""


class AmbiguousError(AssentError):
    """Several questions go by one call's id: an agent names its calls as it likes, a person means the one they saw."""

    def __init__(self) -> None:
        super().__init__("Several questions are pending by that toolCallId: give the requestId of one instead")

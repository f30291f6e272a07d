"""The tier in front of a reason: `Dangerous command: node runs code`, as the permissions API words it.

Every other dialect shows the plain reason.
"""

from __future__ import annotations

from assent.analysis.tools.names import find_tool
from assent.model import Approval, Decision, Source, Tier


def with_tier(reason: str, decision: Decision) -> str:
    """Put the tier in front of a reason that the classifier gave; the reasons of rules and people stay as they are."""
    if decision.decision_source is not Source.CLASSIFIER:
        return reason
    return f"{_prefix(decision.reading.tier, decision.reading.tool)}{reason}"


def tiered_reason(approval: Approval) -> str:
    """Return a question's reason with its tier in front; once it is answered, the plain reason is left."""
    return approval.reason if approval.decision is None else with_tier(approval.reason, approval.decision)


def without_tier(reason: str, tier: Tier, tool: str) -> str:
    """Return the plain reason."""
    return reason.removeprefix(_prefix(tier, tool))


def _prefix(tier: Tier, tool: str) -> str:
    noun = "command" if find_tool(tool).shape == "command" else "tool"
    return f"{tier.capitalize()} {noun}: "

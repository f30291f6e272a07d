"""What is asked about or denied never looks safe, and says what is at stake: over every line of the corpora."""

from __future__ import annotations

import pytest

from assent.cli.output.question import stakes_of
from assent.model import State, Tier, Verdict
from assent.wire.permissions import Permission
from corpus import decide, files, load


def question(decision) -> Permission:
    return Permission(
        id="q",
        agent_id="a",
        user_id="u",
        tool_name="Bash",
        tool_input={},
        tier=decision.reading.tier,
        reason="",
        timestamp=0,
        status=State.PENDING,
        command="",
        session_id="s",
        kind="ask",
        digest="",
        expires_at=0,
        stakes=decision.stakes,
    )


@pytest.mark.parametrize("file", files(), ids=lambda path: path.name)
def test_what_is_not_allowed_never_looks_safe(file):
    wrong = []
    for row in load(file):
        decision = decide(row.line, row.rules)
        shown = stakes_of(question(decision), colour=True)
        if decision.verdict is Verdict.ALLOW:
            assert decision.stakes == ()
        elif "safe" in shown or "\x1b[32m" in shown:
            wrong.append(f"{row}: {shown!r}")
        elif any(o.secret for o in decision.reading.operations) and "secrets" not in decision.stakes:
            wrong.append(f"{row}: secrets are not named")
        elif decision.reading.tier is Tier.DESTRUCTIVE and "cannot be undone" not in decision.stakes:
            wrong.append(f"{row}: that it cannot be undone is not named")
    assert not wrong, "\n".join(wrong)

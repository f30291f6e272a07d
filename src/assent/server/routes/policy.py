"""Routes of the policy."""

from __future__ import annotations

from assent.server.api import policy, policy_backtest
from assent.server.http.route import PEOPLE, QueryParameter, Route
from assent.wire.policy import DecideBody, PolicyView, Preview, Trial, TryBody

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/policy",
        roles=PEOPLE,
        handler=policy.show_policy,
        summary="The policy in force, and what is wrong with its files.",
        gives=PolicyView,
        query=(QueryParameter("cwd", "the folder whose project counts"),),
    ),
    Route(
        method="POST",
        path="/api/policy/try",
        roles=PEOPLE,
        handler=policy_backtest.try_rule,
        summary="What a rule, or a standing answer, would have changed in the calls of the last days.",
        takes=TryBody,
        gives=Trial,
    ),
    Route(
        method="POST",
        path="/api/decide",
        roles=PEOPLE,
        handler=policy.preview,
        summary="What would be decided about a call, and why; nothing is recorded or asked.",
        takes=DecideBody,
        gives=Preview,
    ),
)

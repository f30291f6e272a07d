"""`/health`, `/metrics`, `/api/stats`: health and counters of the daemon."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assent.model.principal import Role
from assent.server.http.messages import Request, reply, respond
from assent.wire.statistics import Health, Stats

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


async def health(daemon: Daemon, _request: Request) -> Response:
    """Report that the daemon is running."""
    return reply(Health("ok", daemon.uptime, daemon.runs.active, daemon.listeners))


async def metrics(daemon: Daemon, _request: Request) -> Response:
    """Return every counter in the format of Prometheus."""
    text = daemon.metrics.render(await daemon.gauges())
    return respond(text.encode(), "text/plain; version=0.0.4; charset=utf-8")


async def stats(daemon: Daemon, request: Request) -> Response:
    """Sum up what happened: to everybody for an admin, to others what is theirs."""
    counts, user = daemon.metrics, None if request.who.role is Role.ADMIN else request.who.user
    decisions: dict[str, int] = {}
    tiers: dict[str, int] = {}
    of_whom = counts.decisions if user is None else counts.decisions_of.get(user, Counter())
    for (outcome, tier), count in of_whom.items():
        decisions[outcome] = decisions.get(outcome, 0) + count
        tiers[tier] = tiers.get(tier, 0) + count
    summary = Stats(
        daemon.version,
        daemon.uptime,
        await daemon.count_pending(user),
        decisions,
        tiers,
        dict(counts.answers if user is None else counts.answers_of.get(user, Counter())),
        daemon.listeners,
        daemon.store.address.shown if user is None else daemon.store.address.engine,
        await daemon.audit_position(),
        daemon.projects.policy_of().fault,
    )
    return reply(summary)

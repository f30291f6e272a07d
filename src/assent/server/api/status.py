"""`/health`, `/metrics`, `/api/stats`: health and counters of the daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


async def stats(daemon: Daemon, _request: Request) -> Response:
    """Return the counters since the start."""
    counts = daemon.metrics
    decisions: dict[str, int] = {}
    tiers: dict[str, int] = {}
    for (outcome, tier), count in counts.decisions.items():
        decisions[outcome] = decisions.get(outcome, 0) + count
        tiers[tier] = tiers.get(tier, 0) + count
    summary = Stats(
        daemon.version,
        daemon.uptime,
        await daemon.count_pending(),
        decisions,
        tiers,
        dict(counts.answers),
        daemon.listeners,
        daemon.store.address.shown,
        await daemon.audit_position(),
        daemon.projects.policy_of().fault,
    )
    return reply(summary)

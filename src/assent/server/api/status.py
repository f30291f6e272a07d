"""`/health`, `/metrics`, `/api/stats`: how the daemon is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from assent.server.http.messages import Request, reply, respond

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


class Health(msgspec.Struct, frozen=True, rename="camel"):
    """That the daemon is there."""

    status: str
    uptime: int
    """Milliseconds since the start."""
    active_runs: int
    connected_clients: int


class Stats(msgspec.Struct, frozen=True, rename="camel"):
    """What happened since the start."""

    version: str
    uptime: int
    pending: int
    decisions: dict[str, int]
    """How many decisions said what."""
    tiers: dict[str, int]
    questions: dict[str, int]
    """How many questions ended how."""
    connected_clients: int
    store: str
    audit_position: int
    policy_fault: str | None = None


async def health(daemon: Daemon, _request: Request) -> Response:
    """Say that the daemon is there."""
    return reply(Health("ok", daemon.uptime, daemon.runs.active, daemon.listeners))


async def metrics(daemon: Daemon, _request: Request) -> Response:
    """Give every count to Prometheus."""
    text = daemon.metrics.render(await daemon.gauges())
    return respond(text.encode(), "text/plain; version=0.0.4; charset=utf-8")


async def stats(daemon: Daemon, _request: Request) -> Response:
    """Sum up what happened."""
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
        daemon.projects.bench().fault,
    )
    return reply(summary)

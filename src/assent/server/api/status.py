"""`/health`, `/metrics`, `/api/stats`: how the daemon is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from assent.model.principal import Role
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
    """What happened since the start: for an admin everybody's figures, for others their own."""

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
    """Where it is, for an admin; which kind it is, for others."""
    audit_position: int
    policy_fault: str | None = None


async def health(daemon: Daemon, _request: Request) -> Response:
    """Say that the daemon is there."""
    return reply(Health("ok", daemon.uptime, daemon.runs.active, daemon.listeners))


async def metrics(daemon: Daemon, _request: Request) -> Response:
    """Give every count to Prometheus."""
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
        daemon.projects.bench().fault,
    )
    return reply(summary)

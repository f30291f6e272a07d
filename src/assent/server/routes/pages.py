"""Routes of health, metrics, the OpenAPI document and the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.dashboard import PAGES
from assent.server.api import pages, status
from assent.server.http.messages import Request, reply
from assent.server.http.openapi import make_document
from assent.server.http.route import ADMINS, EVERYONE, Route
from assent.wire.statistics import Health

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


async def _show_openapi(daemon: Daemon, _request: Request) -> Response:
    return reply(make_document(daemon.routes, daemon.version))


ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/health",
        roles=EVERYONE,
        handler=status.health,
        summary="That the daemon is there.",
        gives=Health,
    ),
    Route(
        method="GET",
        path="/metrics",
        roles=ADMINS,
        handler=status.metrics,
        summary="Everybody's counts, for Prometheus.",
    ),
    Route(
        method="GET",
        path="/openapi.json",
        roles=EVERYONE,
        handler=_show_openapi,
        summary="This description.",
    ),
    *(
        Route(method="GET", path=path, roles=EVERYONE, handler=pages.shell, summary="The dashboard.", page=True)
        for path in PAGES
    ),
    Route(method="GET", path="/docs", roles=EVERYONE, handler=pages.documentation, summary="The API.", page=True),
    Route(method="GET", path="/assets/{name}", roles=EVERYONE, handler=pages.asset, summary="Our files.", page=True),
)

"""Every route of the daemon, by dialect. The first that matches a path is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.server.routes import audit, hooks, pages, permissions, policy, runtime, sessions, tokens

if TYPE_CHECKING:
    from assent.server.http.route import Route

ROUTES: tuple[Route, ...] = (
    *hooks.ROUTES,
    *permissions.ROUTES,
    *audit.ROUTES,
    *policy.ROUTES,
    *runtime.ROUTES,
    *sessions.ROUTES,
    *tokens.ROUTES,
    *pages.ROUTES,
)

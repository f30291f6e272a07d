"""Routes of the audit log."""

from __future__ import annotations

from assent.server.api import audit, audit_verify
from assent.server.http.route import ADMINS, PEOPLE, QueryParameter, Route
from assent.server.routes.parameters import CURSOR, LIMIT
from assent.wire.audit import EventPage, Place, Progress

_FILTERS = (
    QueryParameter("type", "of this type"),
    QueryParameter("session", "of this session"),
    QueryParameter("user", "this user's; for an admin"),
    QueryParameter("agent", "this agent's"),
    QueryParameter("tool", "of this tool"),
    QueryParameter("tier", "safe, dangerous or destructive"),
    QueryParameter("verdict", "allow, ask or deny"),
    QueryParameter("source", "who decided"),
    QueryParameter("digest", "about this very call"),
    QueryParameter("approval", "about this question"),
    QueryParameter("since", "not before this time, in seconds since 1970", "number"),
    QueryParameter("until", "before this time", "number"),
    QueryParameter("text", "with this text in it"),
)

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/audit",
        roles=PEOPLE,
        handler=audit.search,
        summary="Search the log, the newest first.",
        gives=EventPage,
        query=(*_FILTERS, QueryParameter("brief", "true leaves the bodies out", "boolean"), LIMIT, CURSOR),
    ),
    Route(
        method="GET",
        path="/api/audit/export",
        roles=PEOPLE,
        handler=audit.export,
        summary="Everything that is found, in the order it was written, one JSON object a line.",
        query=_FILTERS,
    ),
    Route(
        method="GET",
        path="/api/audit/verify",
        roles=PEOPLE,
        handler=audit_verify.show_verification,
        summary="How far the verification of the log is, and what it found.",
        gives=Progress,
    ),
    Route(
        method="POST",
        path="/api/audit/verify",
        roles=ADMINS,
        handler=audit_verify.start_verification,
        summary="Verify the whole log: every hash, seal and anchor.",
        gives=Progress,
    ),
    Route(
        method="GET",
        path="/api/audit/{position}",
        roles=PEOPLE,
        handler=audit.show_record,
        summary="One record of the log, with its place in the chain.",
        gives=Place,
    ),
)

"""Query parameters that several routes take."""

from __future__ import annotations

from assent.server.http.route import QueryParameter

WAIT = QueryParameter("wait", "how many seconds to wait for a person", "number")
LIMIT = QueryParameter("limit", "how many at most", "integer")
CURSOR = QueryParameter("cursor", "where to go on, as the last page said")
DAYS = QueryParameter("days", "how many days back, 7 if nothing is said", "integer")

"""`/api/audit/verify`: start the verification of the whole log, and show its progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.server.http.messages import Request, reply

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


async def start_verification(daemon: Daemon, request: Request) -> Response:
    """Start to verify the log."""
    daemon.verification.start(daemon.store.address)
    daemon.journal.note("info", "audit.verify", by=request.who.user)
    return reply(daemon.verification.progress)


async def show_verification(daemon: Daemon, _request: Request) -> Response:
    """Show the progress of the verification."""
    return reply(daemon.verification.progress)

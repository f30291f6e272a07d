"""`/api/runs`: list runs, show one with the guards of its tools, and stop one.

The run protocol (`WS /ws`) offers all of this and more; these routes are for occasional requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.runs.protocol.parse import ProtocolError
from assent.server.http.messages import Request, reply
from assent.wire.grants import Ended
from assent.wire.refusal import Refusal
from assent.wire.runs import GuardedRun, Runs

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon


async def list_runs(daemon: Daemon, request: Request) -> Response:
    """List runs."""
    return reply(Runs(await daemon.runs.list(request.who)))


async def show_run(daemon: Daemon, request: Request) -> Response:
    """Show one run with its guards."""
    try:
        return reply(GuardedRun(*await daemon.runs.describe(request.path_params["id"], request.who)))
    except ProtocolError:
        raise Refusal(404, "Run not found") from None


async def stop_run(daemon: Daemon, request: Request) -> Response:
    """Stop a run."""
    try:
        await daemon.runs.stop(request.path_params["id"], request.who)
    except ProtocolError:
        raise Refusal(404, "Run not found, or it is over") from None
    return reply(Ended(success=True, id=request.path_params["id"]))

"""Event streams: they end when the daemon stops or the reader's token becomes invalid."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from assent.wire.server_sent_events import BEAT_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from assent.model.principal import Principal
    from assent.server.daemon import Daemon


async def guard(
    daemon: Daemon, reader: Principal | None, pieces: AsyncGenerator[bytes], alive: bytes
) -> AsyncGenerator[bytes]:
    """Yield the pieces of a stream while the reader's token is valid, and keep-alives while there are none."""
    waiting: asyncio.Future[bytes] = asyncio.ensure_future(anext(pieces))
    try:
        with daemon.connections.stay(reader) as ended:
            while True:
                events: tuple[asyncio.Future[Any], ...] = (waiting, daemon.closing, ended)
                await asyncio.wait(events, timeout=BEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                is_welcome = reader is None or daemon.keys.is_good(reader)
                if daemon.closing.done() or ended.done() or not is_welcome:
                    return
                if not waiting.done():
                    yield alive
                    continue
                piece = waiting.result()
                waiting = asyncio.ensure_future(anext(pieces))
                yield piece
    except StopAsyncIteration:
        return
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await pieces.aclose()

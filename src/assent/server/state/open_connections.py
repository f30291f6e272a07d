"""Who keeps a connection open: each is told at once when the token it came with is no longer good."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.model.principal import Principal
    from assent.server.auth.principals import Identities


class OpenConnections:
    """The sockets and streams that are open, with whose they are."""

    def __init__(self, keys: Identities) -> None:
        self._keys = keys
        self._open: dict[asyncio.Future[None], Principal] = {}

    @contextlib.contextmanager
    def stay(self, principal: Principal | None) -> Iterator[asyncio.Future[None]]:
        """Give a future that completes when the principal is no longer welcome; nobody in particular always is."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if principal is not None:
            self._open[ended] = principal
        try:
            yield ended
        finally:
            self._open.pop(ended, None)
            ended.cancel()

    def check(self) -> None:
        """Tell everyone whose token was revoked or has run out."""
        for ended, principal in self._open.items():
            if not ended.done() and not self._keys.is_good(principal):
                ended.set_result(None)

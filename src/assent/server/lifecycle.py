"""Starting and stopping the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import os
import resource
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import uvicorn

from assent.config.settings import ServerSettings
from assent.platform.daemon_address import ASK_FOLDER
from assent.platform.files import make_private_folder
from assent.server.app import make_app
from assent.server.bootstrap import assemble, greet, take_leave
from assent.server.http.connections import AskConnection, HttpConnection, SocketConnection
from assent.server.http.listen import BACKLOG, listen_tcp, open_unix
from assent.server.operator_log import Journal
from assent.server.routes import ROUTES

if TYPE_CHECKING:
    from types import FrameType

    from assent.server.daemon import Daemon

LARGEST_MESSAGE = 64 * 1024
KEEP_ALIVE = 75
PING_EVERY = 20.0
_LISTENERS_LEAVE = 2.0
_COLLECTING = (20_000, 20, 20)
"""When garbage is looked for: nearly all that a turn of the loop makes is gone by its end, without anybody looking."""


def serve(
    settings: ServerSettings,
    home: str,
    *,
    link: bool,
    announce: Callable[[str], None],
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Run the daemon until it is told to stop. `announce` is given what the person who starts it should read."""
    _raise_limits()
    journal = Journal(settings.log_format, settings.log_level)
    _route_logs(journal)
    with listen_tcp(settings) as listener:
        port = listener.getsockname()[1]
        with (
            assemble(settings, home, port=port, journal=journal, routes=ROUTES, environ=environ) as daemon,
            contextlib.ExitStack() as stack,
        ):
            unix_sockets = [stack.enter_context(open_unix(folder)) for folder in _folders(settings, home)]
            text = greet(daemon, home, port, link=link)
            server = DaemonServer(daemon, unix_sockets, lambda: announce(text))
            server.run(sockets=[listener])
            take_leave(daemon)
    journal.note("info", "daemon.stopped")


def _folders(settings: ServerSettings, home: str) -> tuple[str, ...]:
    """Return where there are sockets: in Assent's home, and for asking alone in a folder that sandboxes see."""
    if not settings.socket:
        return ()
    asking = os.path.join(home, ASK_FOLDER)  # noqa: PTH118 - a string here
    make_private_folder(asking)
    return (home, asking)


class DaemonServer(uvicorn.Server):
    """uvicorn, with a Unix socket beside its address, and a stop that leaves nobody waiting."""

    def __init__(self, daemon: Daemon, unix_sockets: list[socket.socket], ready: Callable[[], None]) -> None:
        super().__init__(_configure(daemon))
        self._daemon = daemon
        self._unix_sockets = unix_sockets
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the background tasks, then listen."""
        await self._daemon.start()
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        for unix_socket, kind in zip(self._unix_sockets, (HttpConnection, AskConnection), strict=False):
            connect = functools.partial(kind, self.config, self.server_state, {})
            self.servers.append(await loop.create_unix_server(connect, sock=unix_socket, backlog=BACKLOG))
        address = sockets[0].getsockname() if sockets else ()
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking through it again and again would make everyone wait
        gc.set_threshold(*_COLLECTING)
        self._daemon.journal.note("info", "daemon.started", pid=os.getpid(), address=list(address[:2]))
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell everyone who waits, then stop as uvicorn does."""
        self._daemon.journal.note("info", "daemon.stopping")
        self._daemon.let_go()
        loop = asyncio.get_running_loop()
        end = loop.time() + _LISTENERS_LEAVE
        while self._daemon.listeners and loop.time() < end:  # noqa: ASYNC110 - nobody counts them but here
            await asyncio.sleep(0.02)
        await super().shutdown(sockets)
        await self._daemon.stop()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as it is called
        """Stop at the first signal, at once at the second; either way the process ends by itself."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _configure(daemon: Daemon) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(daemon),
        loop="uvloop",
        http=HttpConnection,
        ws=SocketConnection,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(daemon.settings.grace)),
        ws_max_size=LARGEST_MESSAGE,
        ws_ping_interval=PING_EVERY,
        ws_ping_timeout=PING_EVERY,
        ws_per_message_deflate=False,
    )


class _Handler(logging.Handler):
    """Takes what libraries log into the journal, without what it was about."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        level: Any = "error" if record.levelno >= logging.ERROR else "warning"
        facts = {"fault": record.exc_info[0].__name__} if record.exc_info and record.exc_info[0] else {}
        self._journal.note(level, "log", source=record.name, message=record.getMessage()[:500], **facts)


def _route_logs(journal: Journal) -> None:
    root = logging.getLogger()
    root.handlers = [_Handler(journal)]
    root.setLevel(logging.WARNING)


def _raise_limits() -> None:
    """Allow as many connections as the system does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

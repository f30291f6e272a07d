"""Any ASGI application on a real port, and readers of event streams, for tests."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Self

import httpx
import uvicorn


class Served:
    """An application behind a real server in a thread of its own."""

    def __init__(self, app, *, lifespan="off") -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        config = uvicorn.Config(app, log_level="error", lifespan=lifespan, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        while not self._server.started:
            assert self._thread.is_alive(), "the server did not start"
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(60)
        assert not self._thread.is_alive(), "the server does not end"
        self._socket.close()

    def client(self, **headers: str) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, verify=False)


class Listener:
    """Reads a stream of events in a thread, and lets a test wait for what it is about."""

    def __init__(
        self, client: httpx.Client, path: str, *, method: str = "GET", after: str | None = None, **more
    ) -> None:
        self.events: list[dict] = []
        self.ids: list[str] = []
        self.status = 0
        self._news = threading.Condition()
        self._stop = False
        headers = {"last-event-id": after} if after else {}
        self._thread = threading.Thread(target=self._read, args=(client, method, path, headers, more), daemon=True)
        self._thread.start()

    def _read(self, client, method, path, headers, more) -> None:
        try:
            with client.stream(method, path, headers=headers, **more) as answer:
                self.status = answer.status_code
                place, event = "", None
                for line in answer.iter_lines():
                    if self._stop:
                        return
                    if line.startswith("id: "):
                        place = line[4:]
                    elif line.startswith("data: "):
                        event = json.loads(line[6:])
                    # The id stands before its event, or in a block of its own behind it.
                    if place and event is not None:
                        with self._news:
                            self.ids.append(place)
                            self.events.append(event)
                            self._news.notify_all()
                        place, event = "", None
        except httpx.HTTPError:
            return
        finally:
            with self._news:
                self._stop = True
                self._news.notify_all()

    def wait_for(self, check, seconds: float = 60.0) -> dict:
        """Return the first event that a check holds for, or of a type."""
        wanted = (lambda e: e["type"] == check) if isinstance(check, str) else check
        with self._news:
            found = self._news.wait_for(lambda: next(filter(wanted, self.events), None), seconds)
        assert found, f"it did not come; there were {self.types}"
        return found

    def wait_end(self, seconds: float = 60.0) -> list[dict]:
        self._thread.join(seconds)
        assert not self._thread.is_alive(), f"it did not end; there were {self.types}"
        return self.events

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def stop(self) -> None:
        self._stop = True

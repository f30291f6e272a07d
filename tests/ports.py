"""Ports for servers that are to be found at the same place again after they were away."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

_LOWEST = 20_000
_GIVEN_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """Return a port that is free, below those that the system gives out: meanwhile nobody else comes to have it."""
    end = int(_GIVEN_OUT.read_text().split()[0])
    while True:
        port = _LOWEST + secrets.randbelow(end - _LOWEST) if end > _LOWEST else 0
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]

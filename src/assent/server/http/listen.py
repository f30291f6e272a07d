"""Listening sockets: a loopback address, unless the settings expose it, and a private Unix socket."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH108, PTH118

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import stat
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assent.model import AssentError, ConfigError
from assent.platform.daemon_address import SOCKET_NAME, short_name

if TYPE_CHECKING:
    from assent.config.settings import ServerSettings

BACKLOG = 2048


def listen_tcp(settings: ServerSettings) -> socket.socket:
    """Bind the address in the settings; an address that is not loopback needs `expose`."""
    host = "127.0.0.1" if settings.host == "localhost" else settings.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        raise AssentError(f"--host is an address such as 127.0.0.1, not `{settings.host}`") from None
    if not address.is_loopback and not settings.expose:
        raise ConfigError(f"others can reach {host}", suggestion="say --expose yes if that is what you want")
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, settings.port))
    except OSError as error:
        listener.close()
        raise AssentError(f"cannot listen on {host}:{settings.port}: {error.strerror}") from None
    return listener


def listen_unix(home: str) -> socket.socket:
    """Bind the Unix socket in a folder, for its owner alone. A socket in use, or another file, is left alone."""
    with short_name(home) as folder:
        path = os.path.join(folder, SOCKET_NAME)
        _clear(path, os.path.join(home, SOCKET_NAME))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(path)
            listener.listen(BACKLOG)  # at once: a bound socket that does not listen looks like a dead daemon's
        except OSError as error:
            listener.close()
            raise AssentError(f"cannot listen on {os.path.join(home, SOCKET_NAME)}: {error.strerror}") from None
        finally:
            os.umask(before)
    listener.setblocking(False)  # noqa: FBT003 - as the library has it
    return listener


@contextlib.contextmanager
def open_unix(home: str) -> Iterator[socket.socket]:
    """Open the Unix socket in a folder, and remove its file at the end."""
    listener = listen_unix(home)
    try:
        yield listener
    finally:
        remove_unix(home)
        listener.close()


def remove_unix(home: str) -> None:
    """Remove the file of the Unix socket."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(home, SOCKET_NAME))


def peer_uid(connection: socket.socket) -> int:
    """Return the user id of a Unix socket's peer; -1 if the kernel does not say."""
    try:
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid: int = struct.unpack("3i", data)[1]
    except (OSError, AttributeError, struct.error):
        return -1
    return uid


def _clear(path: str, shown: str) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise AssentError(f"{shown} is not a socket; move it away")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)  # its daemon is gone
            return
        except OSError as error:
            raise AssentError(f"{shown} cannot be used: {error.strerror}") from None
    raise AssentError(f"another daemon listens on {shown}; stop it, or use another ASSENT_HOME")

"""The proxy: HTTP and CONNECT to listed hosts, the only way out of a sandbox.

The proxy resolves a name once, checks the address, and connects to that address. It refuses addresses outside the open
internet unless they are listed themselves; the user's configured package indexes may be on a private network. A tunnel
carries TLS for the server that CONNECT named, one plain HTTP request to that server, or SSH if the server greets with
SSH first. Anything else could ask for another site at that address.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import NoReturn, TypeAlias

from assent.analysis.resources.hosts import Host, parse_host
from assent.model import NET_CONNECT, AssentError, Violation
from assent.sandbox.network.address_ranges import is_near, is_open, is_own
from assent.sandbox.network.proxy_request import ProxyRequest, parse_inner, parse_request
from assent.sandbox.network.tls_client_hello import Incomplete, NotTls, server_name

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]

_LONGEST_HEAD = 1 << 16
_SECONDS = 30
_TLS = b"\x16"
_TLS_PORT = 443
_SSH = (b"SSH-2.0-", b"SSH-1.99-")
_SSH_GREETING = b"SSH-"
_GREETING_SECONDS = 10
_MOST_CONNECTIONS = 256
_PIECE = 1 << 16


class RefusedConnection(AssentError):  # noqa: N818 - what happened
    """The proxy does not connect."""


async def resolve(name: str, port: int) -> list[str]:
    """Return the addresses of a name."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class NetworkProxy:
    """The proxy of one sandbox."""

    def __init__(
        self,
        hosts: Iterable[str],
        on_violation: Callable[[Violation], None],
        ask: Callable[[Violation], Awaitable[bool]] | None = None,
        *,
        indexes: Callable[[], Iterable[str]] = tuple,
        look_up: Resolve = resolve,
    ) -> None:
        self._hosts = {parse_host(host) for host in hosts}
        self._indexes = indexes
        self._on_violation = on_violation
        self._ask = ask
        self._look_up = look_up
        self._answers: dict[str, asyncio.Task[bool]] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, descriptor: int) -> None:
        """Accept connections on a socket that listens inside the sandbox."""
        listener = socket.socket(fileno=descriptor)
        # Set before it serves, so that a cancelled start can close it.
        self._server = await asyncio.start_server(self._accept, sock=listener, limit=_LONGEST_HEAD, start_serving=False)
        await self._server.start_serving()

    def stop(self) -> None:
        """Stop accepting, and end all connections."""
        if self._server is not None:
            self._server.close()
        for task in (*self._tasks, *self._answers.values()):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is None or len(self._tasks) >= _MOST_CONNECTIONS:
            writer.close()
            return
        self._tasks.add(task)
        try:
            await self._handle(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
            pass
        except asyncio.CancelledError:
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            request = parse_request(head[:-4])
        except AssentError as error:
            await self._answer(writer, "400 Bad Request", str(error))
            return
        try:
            address = await self._admit(request)
        except RefusedConnection as error:
            await self._answer(writer, "403 Forbidden", f"{error}")
            return
        try:
            async with asyncio.timeout(_SECONDS):
                theirs = await asyncio.open_connection(address, request.port)
        except (OSError, TimeoutError) as error:
            await self._answer(writer, "502 Bad Gateway", f"{request.place} cannot be reached: {error}")
            return
        try:
            await (self._tunnel if request.tunnel else self._pass_on)(request, (reader, writer), theirs)
        finally:
            theirs[1].close()

    async def _admit(self, request: ProxyRequest) -> str:
        """Return the address to connect to, or raise `RefusedConnection`."""
        name, port = request.host.name, request.port
        if not any(host.admits(name, port) for host in self._hosts):
            await self._question(request, f"{request.place} is not on the list of hosts")
        try:
            async with asyncio.timeout(_SECONDS):
                addresses = await self._look_up(name, port)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise RefusedConnection(f"{name} has no address: {error}") from None
        if not addresses:
            raise RefusedConnection(f"{name} has no address")
        address = addresses[0]
        if self._lists_address(address, port):
            return address
        far = is_open(address) or self._is_mirror(name, port, address)
        if not far or is_own(address):
            self._report(request)
            where = "belongs to this machine" if far else "is not on the open internet"
            raise RefusedConnection(f"{name} leads to {address}, which {where} and is not listed itself")
        return address

    def _lists_address(self, address: str, port: int) -> bool:
        local = address in ("127.0.0.1", "::1") and any(h.admits("localhost", port) for h in self._hosts)
        return local or any(host.admits(address, port) for host in self._hosts)

    def _is_mirror(self, name: str, port: int, address: str) -> bool:
        """Tell whether this is a configured package index on a private network."""
        return is_near(address) and any(parse_host(host).admits(name, port) for host in self._indexes())

    async def _question(self, request: ProxyRequest, why: str) -> None:
        """Ask about a host once, for all its connections; raise `RefusedConnection` unless the answer is yes."""
        place = request.place
        if self._ask is None:
            self._report(request)
            raise RefusedConnection(why)
        if place not in self._answers:
            self._answers[place] = asyncio.ensure_future(_settled(self._ask(_violation(request))))
        if not await asyncio.shield(self._answers[place]):
            self._report(request)
            raise RefusedConnection(why)
        self._hosts.add(Host(request.host.name, request.port))

    def _report(self, request: ProxyRequest) -> None:
        self._on_violation(_violation(request))

    async def _answer(self, writer: asyncio.StreamWriter, status: str, why: str) -> None:
        body = f"assent: {why}\n".encode(errors="replace")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\nX-Assent: sandbox\r\n\r\n" + body)
        await writer.drain()

    async def _tunnel(self, request: ProxyRequest, ours: _Ends, theirs: _Ends) -> None:
        reader, writer = ours
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await writer.drain()
        async with asyncio.timeout(_SECONDS):
            first = await self._first_words(request, reader)
        if isinstance(first, ProxyRequest):
            await self._pass_on(first, ours, theirs)
            return
        if first.startswith(_SSH):
            writer.write(await self._ssh_greeting(request, theirs[0]))
        theirs[1].write(first)
        await _both_ways(ours, theirs)

    async def _ssh_greeting(self, request: ProxyRequest, reader: asyncio.StreamReader) -> bytes:
        """Return the beginning of the server's SSH greeting. A client's greeting alone could be an HTTP request too."""
        said = b""
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(_GREETING_SECONDS):
                said = await reader.readexactly(len(_SSH_GREETING))
        if said != _SSH_GREETING:
            self._reset(request)
        return said

    async def _first_words(self, request: ProxyRequest, reader: asyncio.StreamReader) -> bytes | ProxyRequest:
        """Return the client's first message, after checking that it is for the server of the tunnel."""
        first = await reader.readexactly(1)
        if first == _TLS:
            return await self._client_hello(request, first, reader)
        if request.port == _TLS_PORT or not first.isalpha():
            self._reset(request)
        line = first + await reader.readuntil(b"\n")
        if line.startswith(_SSH):
            return line
        named = Host(request.host.name, request.port)
        try:
            parse_inner(line.removesuffix(b"\r\n"), named)
            return parse_inner(await _read_head(line, reader), named)
        except AssentError:
            self._reset(request)

    async def _client_hello(self, request: ProxyRequest, said: bytes, reader: asyncio.StreamReader) -> bytes:
        """Return the client's first TLS message, if it names the server of the tunnel."""
        name = request.host.name
        while True:
            try:
                asked = server_name(said)
            except Incomplete:
                said += await _more(reader)
                continue
            except NotTls:
                self._reset(request)
            is_name = not name.replace(".", "").isdigit() and ":" not in name
            if asked == name or (asked is None and not is_name):
                return said
            self._reset(ProxyRequest(Host(asked or name), request.port, tunnel=True) if asked else request)

    def _reset(self, request: ProxyRequest) -> NoReturn:
        self._report(request)
        raise ConnectionResetError

    async def _pass_on(self, request: ProxyRequest, ours: _Ends, theirs: _Ends) -> None:
        """Forward one request and its answer; drop whatever else the client sends."""
        theirs[1].write(request.head)
        back = asyncio.ensure_future(_copy(theirs[0], ours[1]))
        try:
            if request.length >= 0:
                await _copy(ours[0], theirs[1], request.length)
            else:
                await _copy_chunks(ours[0], theirs[1])
            await theirs[1].drain()
            await back
        finally:
            back.cancel()


_Ends: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _settled(answer: Awaitable[bool]) -> bool:
    try:
        return await answer
    except Exception:  # noqa: BLE001 - an error is not a yes
        return False


def _violation(request: ProxyRequest) -> Violation:
    return Violation(NET_CONNECT, request.place, "proxy")


async def _both_ways(ours: _Ends, theirs: _Ends) -> None:
    ways = [asyncio.ensure_future(_half(ours[0], theirs[1])), asyncio.ensure_future(_half(theirs[0], ours[1]))]
    try:
        await asyncio.gather(*ways)
    finally:
        for way in ways:
            way.cancel()


async def _half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await _copy(reader, writer)
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()


async def _more(reader: asyncio.StreamReader) -> bytes:
    if piece := await reader.read(_PIECE):
        return piece
    raise ConnectionResetError


async def _read_head(line: bytes, reader: asyncio.StreamReader) -> bytes:
    """Read the rest of a head after its first line, and no more; return the head without its empty line."""
    head = b""
    while line != b"\r\n":
        head += line
        if not line.endswith(b"\r\n") or len(head) > _LONGEST_HEAD:
            raise AssentError("not an HTTP request")
        line = await reader.readuntil(b"\n")
    return head[:-2]


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: int | None = None) -> None:
    left = count
    while left is None or left > 0:
        piece = await reader.read(_PIECE if left is None else min(_PIECE, left))
        if not piece:
            return
        left = None if left is None else left - len(piece)
        writer.write(piece)
        await writer.drain()


async def _copy_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        line = await reader.readuntil(b"\r\n")
        digits = line[:-2].partition(b";")[0].strip()
        if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
            raise ConnectionResetError
        size = int(digits, 16)
        writer.write(digits + b"\r\n")
        if not size:
            break
        await _copy(reader, writer, size)
        if await reader.readexactly(2) != b"\r\n":
            raise ConnectionResetError
        writer.write(b"\r\n")
    writer.write(b"\r\n")

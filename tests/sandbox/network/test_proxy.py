"""The way out leads to the listed hosts, at the address that was checked, and nowhere else."""

import asyncio
import os
import socket
import ssl
from itertools import pairwise
from pathlib import Path

import pytest

from assent.model import AssentError
from assent.sandbox.network.address_ranges import is_open, is_own
from assent.sandbox.network.proxy import NetworkProxy
from assent.sandbox.network.proxy_request import parse_request
from assent.sandbox.network.tls_client_hello import Incomplete, NotTls, server_name


async def serve(reply=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", *, place=("127.0.0.1", 0)):
    heard = []

    async def handle(reader, writer):
        heard.append(await reader.read(65536))
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, *place)
    return server, server.sockets[0].getsockname()[1], heard


async def through(hosts, sent, *, then=b"", addresses=None, ask=None, indexes=()):
    """Send bytes through a proxy; return its answer, what was stopped, and which names were looked up."""
    stopped, asked = [], []

    async def look_up(name, port):
        asked.append(name)
        found = (addresses or {}).get(name, ["127.0.0.1"])
        return found.pop(0) if found and isinstance(found[0], list) else found

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    proxy = NetworkProxy(hosts, stopped.append, ask, indexes=lambda: indexes, look_up=look_up)
    await proxy.serve(listener.detach())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    answer = await asyncio.wait_for(reader.read(65536), 60)
    if then:
        writer.write(then)
        try:
            answer += await asyncio.wait_for(reader.read(65536), 60)
        except ConnectionError:
            answer += b"<reset>"
    writer.close()
    proxy.stop()
    return answer, [v.resource for v in stopped], asked


def test_a_listed_host_is_reached_and_the_request_rewritten():
    async def run():
        server, port, heard = await serve()
        async with server:
            request = (
                f"GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nProxy-Authorization: x\r\n\r\n"
            )
            answer, stopped, _ = await through([f"127.0.0.1:{port}"], request.encode())
        assert answer.endswith(b"ok")
        assert stopped == []
        assert heard[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:")
        assert b"Proxy" not in heard[0]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "indexes", "refused"),
    [
        ("10.1.2.3", ["a.test"], False),
        ("fd00::1", ["a.test"], False),
        ("10.1.2.3", [], True),
        ("10.1.2.3", ["b.test"], True),
        ("127.0.0.1", ["a.test"], True),
        ("169.254.169.254", ["a.test"], True),
        ("::1", ["a.test"], True),
        ("::ffff:10.1.2.3", ["a.test"], True),
        ("0.0.0.0", ["a.test"], True),
        ("100.100.100.200", ["a.test"], True),
        ("fd00:ec2::254", ["a.test"], True),
        ("fd20:ce::254", ["a.test"], True),
        ("fd00:42::42", ["a.test"], True),
        ("nonsense", ["a.test"], True),
    ],
)
def test_the_user_s_own_package_index_may_be_on_a_network_of_its_own(monkeypatch, address, indexes, refused):
    async def connect(*_):
        raise OSError("not in a test")

    async def run():
        listening = asyncio.open_connection
        sent = b"CONNECT a.test:443 HTTP/1.1\r\n\r\n"
        monkeypatch.setattr(
            "assent.sandbox.network.proxy.asyncio.open_connection",
            lambda host, port: listening(host, port) if port != 443 else connect(),
        )
        return await through(["a.test", "c.test"], sent, addresses={"a.test": [address]}, indexes=indexes)

    answer, stopped, _ = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 403 " if refused else b"HTTP/1.1 502 ")
    assert stopped == (["a.test"] if refused else [])


def test_an_index_that_the_profile_does_not_list_is_not_reached():
    sent = b"CONNECT a.test:443 HTTP/1.1\r\n\r\n"
    answer, stopped, asked = asyncio.run(through(["b.test"], sent, indexes=["a.test"]))
    assert (answer[:13], stopped, asked) == (b"HTTP/1.1 403 ", ["a.test"], [])


@pytest.mark.parametrize("hosts", [[], ["b.test"], ["a.test.evil"], ["xa.test"], ["a.test:8080"]])
def test_any_other_host_is_refused_and_not_even_looked_up(hosts):
    answer, stopped, asked = asyncio.run(through(hosts, b"CONNECT a.test:443 HTTP/1.1\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert (stopped, asked) == (["a.test"], [])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "fc00::1",
        "::ffff:127.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "224.0.0.1",
        "255.255.255.255",
        "nonsense",
        "192.0.0.192",
        "192.0.0.9",
        "192.88.99.1",
        "168.63.129.16",
        "100.100.100.200",
        "198.18.0.1",
        "192.31.196.1",
        "fec0::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "::7f00:1",
        "::ffff:0:127.0.0.1",
        "::ffff:168.63.129.16",
        "::ffff:192.0.0.192",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::a83f:8110",
        "64:ff9b:1::8.8.8.8",
        "2002:a9fe:a9fe::1",
        "2002:808:808::1",
        "2001:0:7f00:1::1",
        "2001:20::1",
        "2001:db8::1",
        "100::1",
        "3fff::1",
        "5f00::1",
        "4000::1",
        "2620:4f:8000::1",
        "2600::5efe:10.0.0.1",
        "2600::200:5efe:169.254.169.254",
        "fe80::1%lo",
        "2600::1%lo",
    ],
)
def test_a_listed_name_that_leads_home_is_refused(address):
    assert not is_open(address)
    answer, stopped, _ = asyncio.run(
        through(["a.test"], b"CONNECT a.test:443 HTTP/1.1\r\n\r\n", addresses={"a.test": [address]})
    )
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert stopped == ["a.test"]


@pytest.mark.parametrize(
    "address",
    [
        "93.184.215.14",
        "2606:2800:21f:cb07:6820:80da:af6b:8b2c",
        "64:ff9b::8.8.8.8",
        "::ffff:8.8.8.8",
        "2600::5efe:8.8.8.8",
    ],
)
def test_addresses_of_the_open_internet_are_just_that(address):
    assert is_open(address)


def test_a_name_is_looked_up_once_and_that_address_connected_to():
    async def run():
        server, port, heard = await serve()
        async with server:
            hosts = [f"a.test:{port}", f"127.0.0.1:{port}"]
            request = f"GET http://a.test:{port}/ HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n"
            # A second look would lead elsewhere.
            answer, _, asked = await through(
                hosts, request.encode(), addresses={"a.test": [["127.0.0.1"], ["10.0.0.1"]]}
            )
        assert answer.endswith(b"ok")
        assert (asked, len(heard)) == (["a.test"], 1)

    asyncio.run(run())


BAD = [
    b"GET / HTTP/1.1\r\nHost: a.test",
    b"GET http://a.test/ HTTP/1.1\r\nHost: b.test",
    b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test",
    b"GET http://a.test./ HTTP/1.1",
    b"GET http://u@a.test/ HTTP/1.1",
    b"GET http://a.test\x00.b.test/ HTTP/1.1",
    b"GET https://a.test/ HTTP/1.1",
    b"GET ftp://a.test/ HTTP/1.1",
    b"GET http://2130706433/ HTTP/1.1",
    b"GET http://0x7f.1/ HTTP/1.1",
    "GET http://b\u00fccher.test/ HTTP/1.1".encode(),
    b"CONNECT a.test HTTP/1.1",
    b"CONNECT a.test:443:443 HTTP/1.1",
    b"CONNECT a.test:99999 HTTP/1.1",
    b"CONNECT http://a.test:443 HTTP/1.1",
    b"CONNECT [::1%lo]:443 HTTP/1.1",
    b"get http://a.test/ HTTP/1.1",
    b"GET http://a.test/ HTTP/2.0",
    b"GET  http://a.test/ HTTP/1.1",
    b"POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
    b"POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2",
    b"POST http://a.test/ HTTP/1.1\r\nContent-Length: +1",
    b"POST http://a.test/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked",
    b"POST http://a.test/ HTTP/1.1\r\nConnection: Content-Length\r\nContent-Length: 9",
    b"POST http://a.test/ HTTP/1.1\r\nConnection: x, transfer-encoding\r\nTransfer-Encoding: chunked",
    b"GET http://a.test/ HTTP/1.1\r\nA : b",
    b"GET http://a.test/ HTTP/1.1\r\n folded",
    b"",
]


@pytest.mark.parametrize("head", BAD)
def test_what_could_be_read_in_two_ways_is_refused(head):
    with pytest.raises(AssentError):
        parse_request(head)


def hello(name):
    """Return what a real TLS client says first."""
    context = ssl.create_default_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_the_server_that_tls_asks_for_is_read_from_a_real_client():
    said = hello("a.test")
    assert server_name(said) == "a.test"
    for length in (0, 1, 4, 5, 20, len(said) - 1):
        with pytest.raises(Incomplete):
            server_name(said[:length])
    split = said[:3] + (10).to_bytes(2) + said[5:15] + said[:3] + (len(said) - 15).to_bytes(2) + said[15:]
    assert server_name(split) == "a.test"
    for broken in (b"GET / HTTP/1.1", b"SSH-2.0-x", b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00"):
        with pytest.raises(NotTls):
            server_name(broken)


@pytest.mark.parametrize(
    ("asked_for", "passed"), [("a.test", True), ("b.test", False), ("x.a.test", False), ("127.0.0.1", False)]
)
def test_in_a_tunnel_tls_asks_for_the_server_that_was_named(asked_for, passed):
    async def run():
        server, port, heard = await serve(b"answer")
        async with server:
            hosts = [f"a.test:{port}", f"127.0.0.1:{port}"]
            answer, stopped, _ = await through(
                hosts, f"CONNECT a.test:{port} HTTP/1.1\r\n\r\n".encode(), then=hello(asked_for)
            )
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"answer") is passed
        assert bool(heard and heard[0]) is passed
        assert bool(stopped) is not passed

    asyncio.run(run())


OTHER_SITES = [
    b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",  # without its port, where that is not 80
    b"GET http://b.test/ HTTP/1.1\r\nHost: {a}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: {a}\r\nHost: b.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : b.test\r\nHost: {a}\r\n\r\n",
    b"GET / HTTP/1.1\nHost: b.test\n\n",
    b"\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
    b"get / HTTP/1.1\r\nHost: b.test\r\n\r\n",
    b"GET /\r\n\r\n",
    b"CONNECT b.test:443 HTTP/1.1\r\nHost: {a}\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00\x00\x00\x08\x04\xd2\x16\x2f",  # PostgreSQL: TLS comes later, and could name any server
    b"\x80\x2e\x01\x00\x02",
    b"\x00",
    b"ehlo x\r\n",
    b"SSH-3.0-x\r\n",
    b"SSH-2.0-GET / HTTP/1.1\r\nHost: b.test\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
    b"SSH-1.99-x /\r\n\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("assent.sandbox.network.proxy._GREETING_SECONDS", 1)


async def in_tunnel(said):
    """Send words through a tunnel to `a.test`; return what came back, what was stopped, what the server heard."""
    server, port, heard = await serve()
    async with server:
        named = f"a.test:{port}"
        connect = f"CONNECT {named} HTTP/1.1\r\n\r\n".encode()
        said = said.replace(b"{a}", named.encode())
        answer, stopped, _ = await through([named, f"127.0.0.1:{port}"], connect, then=said)
    return answer.removeprefix(b"HTTP/1.1 200 Connection established\r\n\r\n"), stopped, b"".join(heard)


@pytest.mark.parametrize("said", OTHER_SITES)
def test_in_a_tunnel_no_other_site_is_asked_for_without_tls(said):
    answer, stopped, heard = asyncio.run(in_tunnel(said))
    assert heard == b""
    assert b"ok" not in answer
    assert len(stopped) == 1


def test_in_a_tunnel_one_plain_request_to_the_named_site_is_passed_on():
    said = b"POST /x HTTP/1.1\r\nHost: {a}\r\nContent-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\nHost: b.test\r\n\r\n"
    answer, stopped, heard = asyncio.run(in_tunnel(said))
    assert (answer[-2:], stopped) == (b"ok", [])
    assert heard.startswith(b"POST /x HTTP/1.1\r\nHost: a.test:")
    assert b"Connection: close" in heard
    assert heard.endswith(b"\r\n\r\nhi")
    assert b"b.test" not in heard


@pytest.mark.skipif(os.geteuid() != 0, reason="only root serves the usual ports")
@pytest.mark.parametrize(
    ("port", "site", "passed"), [(80, b"a.test", True), (80, b"b.test", False), (443, b"a.test", False)]
)
def test_at_the_usual_ports_a_tunnel_leads_to_the_named_site_alone(port, site, passed):
    async def run():
        address = "127.73.19.5"
        server, _, heard = await serve(place=(address, port))
        async with server:
            connect = f"CONNECT a.test:{port} HTTP/1.1\r\n\r\n".encode()
            request = b"GET / HTTP/1.1\r\nHost: " + site + b"\r\n\r\n"
            found = await through(["a.test", address], connect, then=request, addresses={"a.test": [address]})
        return found, b"".join(heard)

    (answer, stopped, _), heard = asyncio.run(run())
    assert (answer.endswith(b"ok"), bool(heard), not stopped) == (passed, passed, passed)


@pytest.mark.parametrize(
    ("greeting", "passed"), [(b"SSH-2.0-server\r\n", True), (b"220 mail\r\n", False), (b"SS", False)]
)
def test_in_a_tunnel_ssh_is_passed_on_to_a_server_that_greets_with_it(greeting, passed):
    async def run():
        heard = []

        async def handle(reader, writer):
            writer.write(greeting)
            if len(greeting) < 4:
                writer.write_eof()
            heard.append(await reader.read(65536))
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            named = f"a.test:{server.sockets[0].getsockname()[1]}"
            connect = f"CONNECT {named} HTTP/1.1\r\n\r\n".encode()
            hosts = [named, named.replace("a.test", "127.0.0.1")]
            answer, stopped, _ = await through(hosts, connect, then=b"SSH-2.0-client\r\n")
        return answer.removeprefix(b"HTTP/1.1 200 Connection established\r\n\r\n"), stopped, b"".join(heard)

    answer, stopped, heard = asyncio.run(run())
    assert (heard, bool(stopped)) == ((b"SSH-2.0-client\r\n", False) if passed else (b"", True))
    assert answer.startswith(b"SSH-") is passed


def own_addresses():
    """Return addresses of this machine that are not its loopback."""
    lines = Path("/proc/net/fib_trie").read_text(encoding="ascii").splitlines()
    found = {line.split()[-1] for line, then in pairwise(lines) if "|-- " in line and "/32 host LOCAL" in then}
    return sorted(address for address in found if not address.startswith("127."))


def test_no_listed_name_leads_to_this_machine_by_an_address_of_its_own(monkeypatch):
    assert is_own("127.0.0.1")
    assert is_own("::1")
    assert not any(map(is_own, ("nonsense", "203.0.113.9", "2001:db8::9")))
    for address in own_addresses():
        assert is_own(address)
    monkeypatch.setattr("assent.sandbox.network.proxy.is_own", lambda address: address in ("8.8.8.8", "10.1.2.3"))
    sent = b"CONNECT a.test:443 HTTP/1.1\r\n\r\n"
    for address in ("8.8.8.8", "10.1.2.3"):
        answer, stopped, _ = asyncio.run(through(["a.test"], sent, addresses={"a.test": [address]}, indexes=["a.test"]))
        assert b"belongs to this machine" in answer
        assert stopped == ["a.test"]


@pytest.mark.parametrize("yes", [True, False])
def test_an_unknown_host_is_asked_about_where_somebody_can_be_asked(yes):
    async def run():
        server, port, _ = await serve()
        async with server:

            async def ask(violation):
                return yes and violation.resource == f"a.test:{port}"

            request = f"GET http://a.test:{port}/ HTTP/1.1\r\n\r\n"
            answer, stopped, _ = await through([f"127.0.0.1:{port}"], request.encode(), ask=ask)
        assert answer.endswith(b"ok") is yes
        assert stopped == ([] if yes else [f"a.test:{port}"])

    asyncio.run(run())

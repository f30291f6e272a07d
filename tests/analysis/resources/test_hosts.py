"""A host that may be reached is one plain name or address, written in one way."""

import pytest

from assent.analysis.resources.hosts import Host, parse_host
from assent.model import AssentError

GOOD = {
    "a.test": Host("a.test"),
    "A.Test": Host("a.test"),
    "xn--bcher-kva.test": Host("xn--bcher-kva.test"),
    "a_b.test:8443": Host("a_b.test", 8443),
    "localhost": Host("localhost"),
    "127.0.0.1:80": Host("127.0.0.1", 80),
    "[::1]": Host("::1"),
    "[2001:DB8:0::1]:443": Host("2001:db8::1", 443),
}
BAD = [
    "",
    "*",
    "*.a.test",
    "a.test.",
    ".a.test",
    "a..test",
    "-a.test",
    "a-.test",
    "a.test:",
    "a.test:0",
    "a.test:65536",
    "a.test:080",
    "a.test:80:80",
    "a.test/x",
    "http://a.test",
    "u@a.test",
    "a test",
    "a.test\0",
    "a.test\n",
    "b\u00fccher.test",
    "2130706433",
    "0x7f.1",
    "127.1",
    "0177.0.0.1",
    "1.2.3.4.5",
    "::1",
    "[::1",
    "[::1]x",
    "[::1%eth0]",
    "[1.2.3.4]",
    "[::1]:",
    "a" * 64,
    ".".join(["a" * 60] * 5),
]


@pytest.mark.parametrize("text", GOOD)
def test_a_plain_name_or_address_is_read(text):
    assert parse_host(text) == GOOD[text]
    assert parse_host(str(GOOD[text])) == GOOD[text]


@pytest.mark.parametrize("text", BAD)
def test_anything_else_is_refused(text):
    with pytest.raises(AssentError):
        parse_host(text)


@pytest.mark.parametrize(
    ("host", "name", "port", "meant"),
    [
        ("a.test", "a.test", 443, True),
        ("a.test", "a.test", 80, True),
        ("a.test", "a.test", 22, False),
        ("a.test:22", "a.test", 22, True),
        ("a.test:22", "a.test", 443, False),
        ("a.test", "b.a.test", 443, False),
        ("a.test", "xa.test", 443, False),
    ],
)
def test_only_the_very_host_and_port_is_meant(host, name, port, meant):
    assert parse_host(host).admits(name, port) is meant

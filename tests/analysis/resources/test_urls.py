"""URLs: the host that is really contacted, and doubt about every other spelling."""

from __future__ import annotations

import pytest

from assent.analysis.read import read
from assent.analysis.resources.paths import Place
from assent.analysis.resources.urls import contact, fetch, is_private, read_address, read_host
from assent.model import UNKNOWN, CallError, Facts, Tier, ToolCall

#: URL, host, whether fetching it is more than reading a public page
PLAIN = [
    ("https://example.com/a?b=c#d", "example.com", False),
    ("http://example.com", "example.com", False),
    ("HTTPS://EXAMPLE.COM/", "example.com", False),
    ("https://example.com:443/", "example.com", False),
    ("https://example.com:8443/", "example.com:8443", False),
    ("https://example.com./", "example.com", False),
    ("https://example.com#@evil.test", "example.com", False),
    ("https://example.com/@evil.test", "example.com", False),
    ("https://user@example.com/", "example.com", True),
    ("https://good.test@evil.test/", "evil.test", True),
    ("https://user:pass@example.com/", "example.com", True),
    ("http://localhost/", "localhost", True),
    ("http://localhost:7422/", "localhost:7422", True),
    ("http://127.0.0.1/", "127.0.0.1", True),
    ("http://127.1/", "127.1", True),
    ("http://2130706433/", "2130706433", True),
    ("http://0x7f.1/", "0x7f.1", True),
    ("http://0x7f000001/", "0x7f000001", True),
    ("http://127.0.0.0x1/", "127.0.0.0x1", True),
    ("http://[::1]:80/", "[::1]", True),
    ("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]", True),
    ("http://169.254.169.254/latest", "169.254.169.254", True),
    ("http://10.0.0.1/", "10.0.0.1", True),
    ("http://metadata.google.internal/", "metadata.google.internal", True),
    ("http://printer.local/", "printer.local", True),
    ("http://127.0.0.1.nip.io/", "127.0.0.1.nip.io", True),
    ("http://a.localhost/", "a.localhost", True),
    ("http://intranet/", "intranet", True),
    ("http://8.8.8.8/", "8.8.8.8", False),
    ("https://xn--bcher-kva.test/", "xn--bcher-kva.test", False),
    ("https://a_b.example.com/", "a_b.example.com", False),
    ("https://example.com/" + "a" * 2000, "example.com", False),
    ("https://example.com/" + "a" * 2100, "example.com", True),
    (f"https://{'a' * 40}.test/", f"{'a' * 40}.test", False),
    (f"https://{'a' * 41}.test/", f"{'a' * 41}.test", True),
]


@pytest.mark.parametrize(("url", "host", "doubted"), PLAIN)
def test_a_url_is_its_host_and_perhaps_a_doubt(url, host, doubted):
    found, doubt = contact(url)
    assert (found, doubt is not None) == (host, doubted)


HOSTILE = [
    "",
    "example.com",
    "//example.com/",
    "http:example.com",
    "http:///example.com",
    "https://",
    "https://./",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://exa mple.com/",
    "https://example.com\\@evil.test/",
    "https://example.com\t.evil.test/",
    "https://example.com\x00.evil.test/",
    "https://example.com/\r\nHost: x",
    "https://ex\u00e4mple.com/",
    "https://e%78ample.com/",
    "https://127%2e0.0.1/",
    "https://example.com%00.evil.test/",
    "https://example.com:99999/",
    "https://example.com:x/",
    "https://[::1/",
    "https://a..b.test/",
    "https://{a,b}.test/",
    "https://*.test/",
    "https://example.com/" + "a" * 17_000,
    "https://" + "a." * 130 + "com/",
]


@pytest.mark.parametrize("url", HOSTILE)
def test_what_not_everybody_reads_alike_is_no_url(url):
    with pytest.raises(CallError):
        contact(url)


def test_a_fetch_of_more_addresses_than_anybody_looks_at_is_refused():
    few, many = ({"urls": [f"https://h{i}.example/" for i in range(count)]} for count in (100, 101))
    assert len(fetch("WebFetch", few)) == 100
    with pytest.raises(CallError, match="more than 100 URLs"):
        fetch("WebFetch", many)


#: input, hosts, tier
FETCHES = [
    ({"url": "https://example.com/"}, ["example.com"], Tier.SAFE),
    ({"uri": "https://example.com/"}, ["example.com"], Tier.SAFE),
    ({"url": "http://localhost/"}, ["localhost"], Tier.DANGEROUS),
    ({"url": "https://a.test/", "uri": "http://localhost/"}, ["a.test", "localhost"], Tier.DANGEROUS),
    ({}, [UNKNOWN], Tier.DANGEROUS),
    ({"url": None}, [UNKNOWN], Tier.DANGEROUS),
    ({"url": ""}, [UNKNOWN], Tier.DANGEROUS),
    ({"url": 7}, [UNKNOWN], Tier.DANGEROUS),
    ({"url": ["https://a.test/"]}, [UNKNOWN], Tier.DANGEROUS),
    ({"prompt": "read https://a.test/, then http://b.test/x"}, ["a.test", "b.test"], Tier.SAFE),
    ({"prompt": "read it"}, [UNKNOWN], Tier.DANGEROUS),
    ({"url": "https://a.test/", "prompt": "compare it with http://localhost/"}, ["a.test"], Tier.SAFE),
    ({"url": "https://a.test/", "urls": ["http://localhost/", 7, "b"]}, ["a.test", "localhost"], Tier.DANGEROUS),
    (
        {"url": "https://a.test/", "page": {"link": "http://localhost/", "n": 1}},
        ["a.test", "localhost"],
        Tier.DANGEROUS,
    ),
    ({"url": "https://a.test/", "link": "http://localhost/"}, ["a.test", "localhost"], Tier.DANGEROUS),
    ({"url": "https://a.test/", "format": "text", "timeout": 3}, ["a.test"], Tier.SAFE),
]


def test_who_fetches_by_the_prompt_alone_fetches_all_that_it_names():
    given = {"url": "https://a.test/", "prompt": "read http://localhost/"}
    assert [o.resource for o in fetch("web_fetch", given)] == ["a.test", "localhost"]


@pytest.mark.parametrize("more", [{"method": "POST"}, {"body": "x"}, {"headers": {"a": "b"}}, {"method": 7}])
def test_a_fetch_that_sends_more_than_an_address_is_dangerous(more):
    assert fetch("fetch_url", {"url": "https://a.test/", **more})[-1].tier is Tier.DANGEROUS
    for plain in ({"method": "get"}, {"method": None}, {"body": ""}, {"headers": {}}):
        assert fetch("fetch_url", {"url": "https://a.test/", **plain})[-1].tier is Tier.SAFE


@pytest.mark.parametrize(("given", "hosts", "tier"), FETCHES)
def test_a_fetch_contacts_every_host_it_names(given, hosts, tier):
    found = fetch("WebFetch", given)
    assert [o.resource for o in found] == hosts
    assert max(o.tier for o in found) is tier
    assert {o.kind.value for o in found} == {"net.connect"}


@pytest.mark.parametrize("host", ["example.com", "8.8.8.8", "a.b.c.example"])
def test_public_names_are_public(host):
    assert not is_private(host)


def test_an_address_of_a_command_may_carry_data_too():
    assert read_address("https://example.com/" + "a" * 2000).doubt is None
    assert read_address("https://example.com/" + "a" * 2100).doubt is not None
    assert read_host("a" * 41 + ".test").doubt is not None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("wget https://example.com/x", Tier.SAFE),
        ("wget -q https://example.com/a/b.tgz", Tier.SAFE),
        ("wget https://example.com/", Tier.SAFE),
        ("wget https://example.com/conftest.py", Tier.DANGEROUS),
        ("wget https://example.com/.bashrc", Tier.DANGEROUS),
        ("wget https://example.com/$X", Tier.DANGEROUS),
        ("wget -O x https://example.com/x", Tier.DANGEROUS),
    ],
)
@pytest.mark.parametrize("cwd", [None, "/code"])
def test_where_no_workspace_is_known_a_fetch_by_its_address_is_as_safe_as_in_one(line, expected, cwd):
    found = read(ToolCall(tool="Bash", input={"command": line}, cwd=cwd), Place(Facts(), cwd))
    assert found.tier is expected

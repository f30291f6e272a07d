"""The door: only our own names, only our own pages."""

from __future__ import annotations

import itertools

import pytest

from assent.config.settings import ServerSettings
from assent.server.http.origin import allowed_origins, check_content_type, check_cookie_use, gather_headers
from assent.wire.refusal import Refusal

DOOR = allowed_origins(ServerSettings(names=("assent.lan:7422",), public_url="https://assent.example"), 7422)
HOSTS = [b"127.0.0.1:7422", b"localhost:7422", b"[::1]:7422", b"assent.lan:7422", b"assent.example"]
STRANGERS = [
    b"attacker.example",
    b"attacker.example:7422",
    b"127.0.0.1.nip.io:7422",
    b"localhost.:7422",
    b"LOCALHOST:7422",
    b"localhost",
    b"127.0.0.1",
    b"127.0.0.1:7423",
    b"127.0.0.1:7422.",
    b"127.1:7422",
    b"0.0.0.0:7422",
    b"[::]:7422",
    b"::1:7422",
    b"user@localhost:7422",
    b" localhost:7422",
    b"localhost:7422,evil",
    b"",
]
ORIGINS = [b"http://127.0.0.1:7422", b"http://localhost:7422", b"http://[::1]:7422", b"https://assent.example"]
STRANGE_ORIGINS = [
    b"null",
    b"https://evil.example",
    b"http://localhost",
    b"http://localhost:3000",
    b"https://localhost:7422",
    b"http://assent.example",
    b"http://127.0.0.1:7422.evil.example",
    b"file://",
    b"",
    b"http://LOCALHOST:7422",
    b"chrome-extension://abc",
]


def passes(headers, *, local=False, page=False) -> bool:
    try:
        DOOR.check(headers, local=local, page=page)
    except Refusal as refusal:
        return refusal.status != 403
    return True


@pytest.mark.parametrize("host", HOSTS)
def test_our_own_names_are_let_in(host):
    assert passes({b"host": host})


@pytest.mark.parametrize("host", STRANGERS)
def test_no_other_name_is(host):
    assert not passes({b"host": host})


def test_no_name_at_all_is_refused_but_on_the_unix_socket():
    assert not passes({})
    assert passes({}, local=True)


@pytest.mark.parametrize("origin", ORIGINS)
def test_our_own_pages_may_call(origin):
    assert passes({b"host": HOSTS[0], b"origin": origin})


@pytest.mark.parametrize("origin", STRANGE_ORIGINS)
def test_no_other_page_may(origin):
    assert not passes({b"host": HOSTS[0], b"origin": origin})


@pytest.mark.parametrize("origin", [*ORIGINS, *STRANGE_ORIGINS])
def test_no_page_may_call_over_the_unix_socket(origin):
    assert not passes({b"origin": origin}, local=True)


@pytest.mark.parametrize(
    ("site", "mode", "page"),
    [
        *itertools.product(
            [None, b"none", b"same-origin", b"same-site", b"cross-site", b"x"],
            [None, b"navigate", b"cors"],
            [True, False],
        )
    ],
)
def test_what_a_browser_says_of_the_site_counts_and_only_a_page_is_navigated_to(site, mode, page):
    headers = {b"host": HOSTS[0]}
    headers |= {b"sec-fetch-site": site} if site is not None else {}
    headers |= {b"sec-fetch-mode": mode} if mode is not None else {}
    assert passes(headers, page=page) == (site in (None, b"none", b"same-origin") or (page and mode == b"navigate"))


@pytest.mark.parametrize("name", [b"host", b"origin", b"authorization", b"content-type", b"content-length"])
def test_a_header_that_decides_something_stands_there_once(name):
    with pytest.raises(Refusal) as caught:
        gather_headers([(name, b"x"), (name, b"x")])
    assert caught.value.status == 400


def test_cookies_in_several_headers_are_put_together():
    found = gather_headers([(b"cookie", b"a=1"), (b"x", b"y"), (b"cookie", b"b=2")])
    assert found[b"cookie"] == b"a=1; b=2"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH"])
def test_a_change_with_a_cookie_names_its_page(method):
    with pytest.raises(Refusal):
        check_cookie_use({}, method)
    check_cookie_use({b"origin": ORIGINS[0]}, method)


@pytest.mark.parametrize("kind", [b"application/json", b"application/json; charset=utf-8", b"Application/JSON"])
def test_json_is_taken(kind):
    check_content_type({b"content-type": kind})


@pytest.mark.parametrize(
    "kind", [b"text/plain", b"application/x-www-form-urlencoded", b"multipart/form-data", b"application/jsonx", b""]
)
def test_nothing_else_is(kind):
    with pytest.raises(Refusal) as caught:
        check_content_type({b"content-type": kind})
    assert caught.value.status == 415
    with pytest.raises(Refusal):
        check_content_type({})


def test_at_the_default_port_names_need_none():
    door = allowed_origins(ServerSettings(), 80)
    assert {b"localhost", b"127.0.0.1", b"[::1]"} <= door.hosts


def test_an_address_of_its_own_is_a_name():
    assert b"10.0.0.5:7422" in allowed_origins(ServerSettings(host="10.0.0.5"), 7422).hosts
    assert b"[fd00::5]:7422" in allowed_origins(ServerSettings(host="fd00::5"), 7422).hosts
    assert b"0.0.0.0:7422" not in allowed_origins(ServerSettings(host="0.0.0.0"), 7422).hosts

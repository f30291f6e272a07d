"""What holds for every request: by whom it may come, how large it may be, what goes back with it."""

from __future__ import annotations

import itertools
import json

import pytest

from assent.server.routes import ROUTES
from daemons import Running

PAGES = [r.path for r in ROUTES if r.page and "{" not in r.path] + ["/assets/login.js", "/assets/app.css"]
SITES = (None, "same-origin", "none", "same-site", "cross-site")
KINDS = ("application/json", "text/plain", "application/x-www-form-urlencoded", None)


@pytest.fixture(scope="module")
def cookie(daemon):
    code = daemon.run("token", "link").stdout.strip().partition("#")[2]
    browser = daemon.api(origin=daemon.url)
    assert browser.post("/api/login", json={"code": code}).status_code == 200
    (found,) = browser.cookies.jar
    return f"{found.name}={found.value}"


@pytest.fixture(scope="module")
def bearer(daemon):
    return daemon.mint("user")


def origins(daemon):
    return (None, daemon.url, f"http://localhost:{daemon.port}", "https://evil.example", "null")


@pytest.mark.parametrize(("proof", "site", "kind"), [*itertools.product(("bearer", "cookie"), SITES, KINDS)])
def test_a_change_is_made_by_our_own_pages_or_by_no_page_and_in_json(daemon, cookie, bearer, proof, site, kind):
    for origin in origins(daemon):
        headers = {"authorization": f"Bearer {bearer}"} if proof == "bearer" else {"cookie": cookie}
        headers |= {"origin": origin} if origin else {}
        headers |= {"sec-fetch-site": site} if site else {}
        headers |= {"content-type": kind} if kind else {}
        body = json.dumps({"requestId": "x", "decision": "approve"})
        answer = daemon.api().post("/api/permissions", content=body, headers=headers)
        ours = origin in (None, daemon.url, f"http://localhost:{daemon.port}") and site in (None, "same-origin", "none")
        if not ours or (proof == "cookie" and origin is None):
            assert answer.status_code == 403, (origin, answer.text)
        elif kind != "application/json":
            assert answer.status_code == 415
        else:
            assert answer.status_code == 404
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("site", SITES)
def test_data_is_not_read_by_other_sites_and_pages_are_navigated_to(daemon, cookie, site):
    headers = {"cookie": cookie, **({"sec-fetch-site": site} if site else {})}
    ours = site in (None, "same-origin", "none")
    assert daemon.api().get("/api/permissions", headers=headers).status_code == (200 if ours else 403)
    headers["sec-fetch-mode"] = "navigate"
    assert daemon.api().get("/api/permissions", headers=headers).status_code == (200 if ours else 403)
    assert daemon.api().get("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "127.0.0.1.nip.io", "localhost.", "LOCALHOST", "127.0.0.1", "0.0.0.0", "[::ffff:7f00:1]"],
)
@pytest.mark.parametrize("path", ["/health", "/", "/api/permissions", "/nothing"])
def test_another_host_name_is_403_everywhere(daemon, bearer, host, path):
    name = host if host == "127.0.0.1" else f"{host}:{daemon.port}"
    assert daemon.api(bearer).get(path, headers={"host": name}).status_code == 403


def test_our_own_names_are_let_in(daemon):
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert daemon.api().get("/health", headers={"host": f"{name}:{daemon.port}"}).status_code == 200


def test_a_forwarded_host_changes_nothing(daemon):
    headers = {"x-forwarded-host": "evil.example", "x-forwarded-for": "1.2.3.4", "forwarded": "host=evil.example"}
    assert daemon.api().get("/health", headers=headers).status_code == 200
    headers = {"host": "evil.example", "x-forwarded-host": f"127.0.0.1:{daemon.port}"}
    assert daemon.api().get("/health", headers=headers).status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:3000", "null"])
def test_a_preflight_is_refused(daemon, origin):
    headers = {"origin": origin, "access-control-request-method": "POST"}
    answer = daemon.api().options("/api/permissions", headers=headers)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", [*PAGES, "/health", "/api/permissions", "/nothing", "/openapi.json"])
def test_every_answer_carries_the_headers_that_protect_it(daemon, path):
    headers = daemon.api().get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("size", [2 << 20, 10 << 20])
@pytest.mark.parametrize("announced", [True, False])
def test_a_body_that_is_too_large_is_413(daemon, bearer, agent, size, announced):
    data = b'{"requestId": "' + b"x" * size + b'"}'
    headers = {"content-type": "application/json"}
    content = data if announced else iter([data[: 1 << 16]] * (size >> 16))
    answer = daemon.api(bearer).post("/api/permissions", content=content, headers=headers)
    assert answer.status_code == 413
    assert daemon.api().get("/health").status_code == 200
    if size > 5 << 20:
        content = data if announced else iter([data[: 1 << 16]] * (size >> 16))
        answer = agent.post("/api/hooks/classify", content=content, headers=headers)
        assert answer.status_code == 413
        assert answer.json()["allow"] is False


def test_a_hook_may_send_more_than_others(agent):
    call = {"toolName": "write", "toolInput": {"path": "x.txt", "content": "x" * (3 << 20)}}
    assert agent.post("/api/hooks/classify", json=call).json()["allow"] is True


def test_a_path_that_is_not_there_is_404_and_a_method_that_is_not_is_405(daemon):
    answer = daemon.api().get("/api/nothing")
    assert (answer.status_code, answer.json()) == (404, {"error": "Not found"})
    answer = daemon.api().put("/api/permissions")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, POST"


def test_head_gives_what_get_would_without_the_body(daemon):
    answer = daemon.api().head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


def test_too_many_requests_of_one_token_are_429_and_others_are_not_held_up(tmp_path):
    with Running(tmp_path, "--rate", "5") as running:
        agent = running.api(running.mint("agent", agent="fast", remote=True))
        other = running.api(running.mint("agent", agent="slow", remote=True))
        call = {"toolName": "bash", "toolInput": {"command": "ls"}}
        answers = [agent.post("/api/hooks/classify", json=call) for _ in range(15)]
        refused = [a for a in answers if a.status_code == 429]
        assert refused
        assert refused[0].json() == {"allow": False, "reason": "Too many requests"}
        assert refused[0].headers["retry-after"] == "1"
        assert other.post("/api/hooks/classify", json=call).status_code == 200


def test_the_pages_hold_nothing_about_anybody(daemon, cookie):
    agent = daemon.api(daemon.mint("agent", agent="a", remote=True))
    agent.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "node hidden.js"}})
    for path in PAGES:
        stranger, person = daemon.api().get(path), daemon.api().get(path, headers={"cookie": cookie})
        assert stranger.status_code == 200
        assert stranger.content == person.content
        assert "hidden.js" not in person.text


def test_files_come_packed_to_whoever_takes_that(daemon):
    packed = daemon.api().get("/assets/app.js", headers={"accept-encoding": "br, gzip;q=0.8"})
    plain = daemon.api().get("/assets/app.js", headers={"accept-encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.text == plain.text


@pytest.mark.parametrize("name", ["__init__.py", "nothing.js", "..%2Fapp.js", "%2e%2e", "app.js%00", "index.html/"])
def test_no_other_file_is_served(daemon, name):
    assert daemon.api().get(f"/assets/{name}").status_code == 404


def test_the_page_about_the_api_shows_every_route(daemon):
    page = daemon.api().get("/docs").text
    for route in ROUTES:
        if not route.page:
            assert f"{route.method} {route.path}" in page

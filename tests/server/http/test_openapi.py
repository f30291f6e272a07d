"""The OpenAPI document: it describes the routes there are, and nothing sent by it makes the daemon fail."""

from __future__ import annotations

import functools
import json
import re
from http.cookiejar import DefaultCookiePolicy

import hypothesis
import pytest

from assent.server.http.openapi import make_document
from assent.server.routes import ROUTES
from daemons import Running

DOCUMENT = json.loads(json.dumps(make_document(ROUTES, "0")))
FINITE = {
    **DOCUMENT,
    "paths": {
        path: kept
        for path, methods in DOCUMENT["paths"].items()
        if (kept := {m: about for m, about in methods.items() if "x-assent-stream" not in about})
    },
}
OPERATIONS = [(method, path) for path, methods in FINITE["paths"].items() for method in methods]


def test_every_route_and_role_is_in_the_document_and_no_other():
    shown = {(m.upper(), p): about for p, methods in DOCUMENT["paths"].items() for m, about in methods.items()}
    assert set(shown) == {(r.method, r.path) for r in ROUTES if not r.page}
    for route in ROUTES:
        if not route.page:
            about = shown[route.method, route.path]
            assert about["x-assent-roles"] == [role.value for role in route.roles]
            assert ("requestBody" in about) == (route.takes is not None)


def test_it_is_openapi_3_1_and_every_reference_leads_somewhere():
    assert DOCUMENT["openapi"] == "3.1.0"
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(DOCUMENT)):
        assert name in DOCUMENT["components"]["schemas"]


def test_operation_ids_are_unique():
    ids = [about["operationId"] for methods in DOCUMENT["paths"].values() for about in methods.values()]
    assert len(ids) == len(set(ids))


def test_the_daemon_serves_this_very_document(daemon):
    served = daemon.api().get("/openapi.json").json()
    assert served["paths"] == DOCUMENT["paths"]
    assert served["components"] == DOCUMENT["components"]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """A daemon whose waits are short, so that no example takes long."""
    with Running(tmp_path_factory.mktemp("fuzz"), "--rate", "0", "--wait", "0.05") as running:
        yield running, {role: running.mint(role) for role in ("agent", "admin")}, running.api(), visit()


def visit():
    """Keep the connection from one request to the next, and no cookie."""
    import requests

    made = requests.Session()
    made.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
    return made


@functools.cache
def load_schema():
    """Load it where it is needed: to import the library takes long, and to make its cases longer."""
    import schemathesis

    return schemathesis.openapi.from_dict(FINITE)


@hypothesis.settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
def holds(case, target):
    running, tokens, health, session = target
    for role in ("agent", "admin"):
        headers = {"Authorization": f"Bearer {tokens[role]}", "Host": f"127.0.0.1:{running.port}"}
        answer = case.call(base_url=running.url, headers=headers, session=session, timeout=30)
        assert answer.status_code < 500, answer.text
    assert health.get("/health").status_code == 200


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_request_that_fits_the_document_or_nearly_does_makes_the_daemon_fail(method, path, target):
    from schemathesis.pytest.lazy import get_all_tests

    schema = load_schema().include(method=method.upper(), path=path)
    (made,) = get_all_tests(schema=schema, test_func=holds, settings=None, given_kwargs=None)
    _, run_all = made.ok()
    run_all(target=target)

from __future__ import annotations

import itertools

import pytest

from browsing import Visitor, open_browser
from daemons import Running

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def browser():
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("dashboard"), "--rate", "0", "--heartbeat", "1") as running:
        yield running


@pytest.fixture(scope="module")
def owner(browser, daemon):
    """The owner's browser, open all day."""
    visitor = Visitor(browser, daemon)
    visitor.log_in()
    yield visitor
    visitor.close()


@pytest.fixture
def page(owner):
    """The owner's inbox. Nothing may give the page cause to complain, a broken content policy least of all."""
    owner.page.goto("/")
    owner.page.locator("#link", has_text="live").wait_for()
    yield owner.page
    complaints, owner.complaints = owner.complaints, []
    assert complaints == []


@pytest.fixture
def visit(browser, daemon):
    """Opens further browsers, which may not complain either."""
    opened: list[Visitor] = []

    def visitor(**wishes) -> Visitor:
        opened.append(Visitor(browser, daemon, **wishes))
        return opened[-1]

    yield visitor
    for each in opened:
        each.close()
    assert [each.complaints for each in opened if each.complaints] == []


@pytest.fixture(scope="module")
def person(daemon):
    return daemon.api(daemon.owner)


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="coder"))


def _script(project) -> str:
    """Put a script into the project: a standing answer holds for a file that is there."""
    name = f"job-{next(_numbers)}.js"
    (project / name).write_text("// nothing\n")
    return name


@pytest.fixture
def ask(daemon, agent, person):
    """Ask about a command and return the question's id; what is left open is denied afterwards."""

    def question(command: str | None = None, *, tool="bash", session="s-1", cwd=str(daemon.project), **given) -> str:
        if command is not None or not given:
            given["command"] = command or f"node {_script(daemon.project)}"
        body = {"toolName": tool, "toolInput": given, "cwd": cwd, "sessionId": session}
        return agent.post("/api/hooks/classify", json=body).json()["requestId"]

    yield question
    for each in person.get("/api/permissions").json()["pending"]:
        person.post("/api/permissions", json={"requestId": each["id"], "decision": "reject"})
    assert person.get("/api/permissions").json()["pending"] == []


@pytest.fixture
def outcome(person):
    return lambda asked: person.get(f"/api/permissions/{asked}").json()

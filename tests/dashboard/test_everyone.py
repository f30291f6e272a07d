"""For everyone: by screen reader, in the dark, on a small phone, with a thousand questions, after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browsing import PHONE, Visitor, settle, still
from daemons import Running, until
from keeping import ASKED, SESSION, Node, line

AXE = (Path(sys.prefix) / "browser" / "node_modules" / "axe-core" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
FAULTS = """async (rules) => (await axe.run(document, { resultTypes: ["violations"], runOnly: rules })).violations
    .filter((each) => ["serious", "critical"].includes(each.impact))
    .map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).slice(0, 3).join(" | ")}`)"""
PAGES = ("/", "/sessions", "/audit", "/policy", "/overview", "/people")
PARTS = ("/policy?tab=playground&command=rm+-rf+x", "/policy?tab=draft&rule=Bash(node:*)", "/policy?tab=destructive")


def faults(page) -> list[str]:
    settle(page)
    return axe(page)


def axe(page) -> list[str]:
    page.evaluate(AXE)
    return page.evaluate(FAULTS, RULES)


@pytest.mark.parametrize(
    ("scheme", "paths", "keys"),
    [("light", PAGES + PARTS, "wfe?"), ("dark", ("/", "/audit", "/overview", PARTS[0]), "w")],
    ids=["light", "dark"],
)
def test_no_page_has_a_serious_fault_for_those_who_can_not_see_it(visit, ask, scheme, paths, keys):
    ask(f"cd src && node {scheme}.js > /etc/motd; curl -d x https://example.com")
    ask(f"node {scheme}\u202e.js")
    page = visit(color_scheme=scheme, reduced_motion="reduce").log_in()
    found = {}
    for path in paths:
        page.goto(path)
        found[path] = faults(page)
    page.goto("/")
    expect(page.locator(".card.open")).to_be_visible()
    still(page)
    for key in keys:
        page.keyboard.press(key)
        found[key] = faults(page)
        page.keyboard.press("Escape")
    page.goto("/audit?verdict=ask")
    page.locator("tbody button").first.click()
    found["record"] = faults(page)
    assert {path: those for path, those in found.items() if those} == {}


STATES = {
    "nothing waits": ("/", ()),
    "somebody's menu": ("/", ("#me summary",)),
    "a destructive call to confirm": ("/policy?tab=destructive", ("text=Ask me once",)),
    "nothing stands": ("/policy?tab=grants", ()),
    "a token, once": ("/people", ("text=Create token", ".notice.good")),
    "a verified log": ("/audit", ("text=Verify", ".proof .good")),
    "figures as a table": ("/overview", ("text=Show as a table",)),
    "a timeline": ("/sessions?id=s-1", ()),
}
"""Where to go, and what to click there; the last may also be what to wait for."""


def test_nor_has_any_state_that_one_comes_to(visit, ask, agent, daemon):
    door = visit().page
    door.goto("/")
    door.get_by_label("Or paste your token").fill("nonsense")
    door.keyboard.press("Enter")
    expect(door.get_by_role("alert")).to_be_visible()
    found = {"the door": axe(door)}
    call = {"toolName": "bash", "toolInput": {"command": "rm -rf /"}, "cwd": str(daemon.project), "sessionId": "s-1"}
    agent.post("/api/hooks/classify", json=call)
    page = visit(viewport=PHONE, reduced_motion="reduce").log_in()
    for name, (path, steps) in STATES.items():
        page.goto(path)
        settle(page)
        for step in steps:
            page.locator(step).first.click()
        found[name] = axe(page)
    page.goto("/")
    for command in ("node one.js", "node two.js"):
        expect(page.locator(f"#q-{ask(command)}")).to_be_visible()
    still(page)
    page.route(
        "**/api/permissions", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    page.keyboard.press("x")
    page.keyboard.press("a")
    expect(page.locator(".card").get_by_role("alert")).to_be_visible()
    found["a card that says why, and a selection"] = axe(page)
    page.unroute("**/api/permissions")
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    assert page.locator(".toast").evaluate("(toast) => getComputedStyle(toast).animationName") == "none"
    found["something to undo"] = axe(page)
    page.keyboard.press("z")
    expect(page.get_by_text("Undone")).to_be_visible()
    assert {state: those for state, those in found.items() if those} == {}


def test_nothing_is_wider_than_a_small_phone(visit, ask):
    ask("cd src && node " + "a-very-long-name/" * 30 + "x.js > /etc/motd")
    page = visit(viewport=PHONE).log_in()
    for path in PAGES + PARTS:
        page.goto(path)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_the_page_can_be_walked_through_by_tab_and_says_where_one_is(page, ask):
    asked = ask()
    expect(page.locator(f"#q-{asked}")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    names = []
    for _ in range(30):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.innerText || document.activeElement.ariaLabel || ''"))
    wanted = ("Inbox", "People", "Keys", "Allow once", "Deny", "Edit")
    places = [next(i for i, name in enumerate(names) if name.startswith(want)) for want in wanted]
    assert places == sorted(places)


WATCH = """window.jumps = [];
    const note = (found) => window.jumps.push(...found.getEntries().filter((each) => !each.hadRecentInput).map(
        (each) => each.sources.map(({ node }) => node?.outerHTML?.slice(0, 80) || node?.nodeName).join(" | ")));
    new PerformanceObserver(note).observe({ type: "layout-shift", buffered: true });"""
"""What the browser itself finds to have moved without anybody having touched anything."""


def jumps(page) -> list[str]:
    page.evaluate("requestAnimationFrame(() => requestAnimationFrame(() => { window.drawn = true; }))")
    until(lambda: page.evaluate("window.drawn"))
    return page.evaluate("window.jumps")


def test_nothing_jumps_while_a_page_fills_or_a_question_comes_or_goes(visit, ask, person):
    visitor = visit()
    visitor.page.add_init_script(WATCH)
    first = ask("cd src && node first.js > /etc/motd; curl -d x https://example.com")
    page = visitor.log_in()
    expect(page.locator(f"#q-{first} .earlier")).to_contain_text("before")
    before = page.locator(f"#q-{first}").bounding_box()
    second = ask()
    expect(page.locator(f"#q-{second}")).to_be_visible()
    assert page.locator(f"#q-{first}").bounding_box() == before
    third = ask()
    below = page.locator(f"#q-{third}")
    expect(below).to_be_visible()
    before = below.bounding_box()
    person.post("/api/permissions", json={"requestId": second, "decision": "reject"})
    expect(page.locator(".gone")).to_contain_text("Denied by")  # in its room, so that what is below it stays
    assert below.bounding_box() == before
    found = {"/": jumps(page)}
    for path in (*PAGES[1:], *PARTS, "/sessions?id=s-1"):
        page.goto(path)
        settle(page)
        found[path] = jumps(page)
    assert {path: those for path, those in found.items() if those} == {}
    page.evaluate("document.querySelector('main').style.paddingTop = '99px'")  # the browser does tell
    until(lambda: page.evaluate("window.jumps.length"))


PENDING = 1000
MULTIPLY = """
WITH RECURSIVE copies(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM copies WHERE n < :count)
INSERT INTO approvals ({columns}) SELECT {values} FROM approvals, copies
"""


@pytest.fixture
def crowded(tmp_path):
    """A daemon that a thousand callers have asked before it was restarted."""
    running = Running(tmp_path, "--rate", "0")
    with Node(running.state) as node, ThreadPoolExecutor(1) as elsewhere:  # the browser has this thread's loop
        elsewhere.submit(lambda: asyncio.run(node.decisions.decide(line(ASKED), SESSION))).result()
    database = sqlite3.connect(running.state / "assent.db")
    columns = [row[1] for row in database.execute("PRAGMA table_info(approvals)")]
    new = {"id": "'copy-' || n", "digest": "digest || n", "created_at": "created_at + n"}
    sql = MULTIPLY.format(columns=", ".join(columns), values=", ".join(new.get(each, each) for each in columns))
    with database:
        database.execute(sql, {"count": PENDING})
    known = {row[0] for row in database.execute("SELECT id FROM approvals WHERE state = 'pending'")}
    database.close()
    with running:
        yield running, known


def test_a_thousand_questions_are_held_a_few_are_drawn_and_every_one_is_reached(browser, crowded):
    running, known = crowded
    assert len(known) == PENDING
    visitor = Visitor(browser, running)
    page = visitor.log_in()
    waiting = page.locator("main .title .quiet")  # by its place: to search a thousand cards for words keeps them busy
    expect(waiting).to_have_text("1,000 questions waiting")
    expect(page).to_have_title("(1000) Inbox · Assent")
    cards, current = page.locator(".card"), page.locator(".card[aria-current]")
    drawn = cards.count()
    assert drawn < 100
    page.keyboard.press("j")
    for _ in range(drawn):
        page.keyboard.press("j")
    expect(current).to_be_in_viewport()
    assert current.evaluate("(card) => [...card.parentElement.children].indexOf(card)") == drawn
    page.keyboard.press("x")
    page.get_by_role("button", name="Select all").click()
    expect(page.get_by_role("region", name="Answer the selection")).to_contain_text("1000 selected")
    page.keyboard.press("End")
    expect(current).to_be_in_viewport()
    assert set(cards.evaluate_all("(cards) => cards.map((card) => card.dataset.id)")) == known
    last = current.get_attribute("data-id")
    still(page)
    page.keyboard.press("d")
    expect(waiting).to_have_text("999 questions waiting")
    assert running.api(running.owner).get(f"/api/permissions/{last}").json()["status"] == "rejected"
    visitor.close()
    assert visitor.complaints == []


def test_after_a_restart_it_finds_back_and_has_lost_nothing(browser, tmp_path):
    with Running(tmp_path, "--rate", "0") as running:
        agent = running.api(running.mint("agent", agent="a", remote=True))
        call = {"toolName": "bash", "toolInput": {"command": "node before.js"}}
        granted = agent.post("/api/hooks/classify", json=call | {"sessionId": "granted"}).json()["requestId"]
        before = agent.post("/api/hooks/classify", json=call).json()["requestId"]
        visitor = Visitor(browser, running)
        page = visitor.log_in()
        expect(page.locator(f"#q-{before}")).to_be_visible()
        still(page)
        page.keyboard.press("s")
        expect(page.locator(f"#q-{granted}")).to_have_count(0)
        still(page)
        running.kill()
        expect(page.locator("#link")).to_contain_text("unreachable")
        page.keyboard.press("a")
        expect(page.locator(f"#q-{before}").get_by_role("alert")).to_contain_text("Nothing was changed")
        page.get_by_role("link", name="Audit").click()
        expect(page.get_by_role("alert")).to_contain_text("Can't load this page. Retrying…")
        running.start()
        call["toolInput"]["command"] = "node after.js"
        after = until(lambda: running.api(agent.headers["authorization"][7:]).post("/api/hooks/classify", json=call))
        expect(page.locator("#link")).to_contain_text("live", timeout=90_000)
        expect(page.get_by_role("button", name="Verify")).to_be_visible()  # the page that could not be had is there now
        page.keyboard.press("1")
        expect(page.locator(f"#q-{after.json()['requestId']}")).to_be_visible()
        expect(page.locator(f"#q-{before}")).to_be_visible()
        page.locator(f"#q-{before}").get_by_role("button", name="Allow once").click()
        expect(page.locator(f"#q-{before}")).to_have_count(0)
        page.keyboard.press("z")
        expect(page.get_by_text("Undone: you'll be asked again.")).to_be_visible()
        assert running.api(running.owner).get("/api/grants").json()["grants"] == []
        visitor.close()
        assert visitor.complaints == []

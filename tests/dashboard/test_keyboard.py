"""Every page by keyboard alone: one sees where one is, and a page that draws itself anew does not take one's place."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browsing import settle
from runners import Runner, write_strategy

HERE = """() => {
    const at = document.activeElement;
    const name = (at.ariaLabel || at.labels?.[0]?.innerText || at.innerText || at.placeholder || "").trim();
    const box = at.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(at);
    const ringed = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    const around = ["dialog", "main", "header, .door, .skip"].find((each) => at.closest(each));
    const inside = around || "nowhere";
    return { name, inside, seen: ringed && box.bottom > 0 && box.top < innerHeight };
}"""
ORDER = 'document.querySelectorAll(\'[tabindex]:not([tabindex="0"], [tabindex="-1"])\').length'


class Keys:
    """Somebody who has no mouse. Wherever the Tab key takes them, they see it."""

    def __init__(self, page) -> None:
        self.page = page

    @property
    def here(self) -> dict:
        return self.page.evaluate(HERE)

    def press(self, *keys: str) -> Keys:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def type(self, text: str) -> Keys:
        self.page.keyboard.insert_text(text)
        return self

    def to(self, name: str, *, by: str = "Tab", most: int = 60) -> Keys:
        """Walk to what has this name."""
        walked = []
        for _ in range(most):
            self.press(by)
            walked.append(self.here)
            assert walked[-1]["seen"] or walked[-1]["inside"] == "nowhere", walked[-1]
            if re.match(name, walked[-1]["name"]):
                return self
        raise AssertionError(f"nothing is called {name} on the way: {[each['name'][:30] for each in walked]}")

    def turn(self, key: str, heading: str) -> Keys:
        """Go to a page by its number; what is read next is there."""
        self.press(key)
        expect(self.page.get_by_role("heading", name=heading, level=1)).to_be_visible()
        settle(self.page)
        assert self.here["inside"] == "main"
        assert self.page.evaluate(ORDER) == 0
        return self


@pytest.fixture
def keys(page):
    return Keys(page)


@pytest.fixture(scope="module", autouse=True)
def history(daemon, agent, person):
    for line in ("ls -la", "npm install zod", "rm -rf /"):
        body = {"toolName": "bash", "toolInput": {"command": line}, "cwd": str(daemon.project), "sessionId": "s-1"}
        if asked := agent.post("/api/hooks/classify", json=body).json().get("requestId"):
            person.post("/api/permissions", json={"requestId": asked, "decision": "reject"})


def stays(keys, change) -> None:
    """See that what has the focus has it after the page was drawn anew."""
    before = keys.here
    change()
    assert keys.here == before
    assert before["inside"] == "main"


def test_a_session_is_followed_and_a_record_opened(keys, page, ask):
    keys.turn("2", "Sessions").to("coder")

    def another():
        ask(session="s-2")
        expect(page.locator(".session")).to_have_count(2)

    stays(keys, another)
    page.locator(".session").filter(has_text="s-1").get_by_role("link", name="coder").focus()
    keys.press("Enter")
    expect(page.get_by_role("heading", name="s-1", level=1)).to_be_visible()
    assert keys.here["inside"] == "main"
    keys.to("Record")

    def more():
        rows = page.locator("tbody tr").count()
        ask()
        expect(page.locator("tbody tr")).to_have_count(rows + 2)

    stays(keys, more)
    record = keys.here["name"]
    keys.press("Enter")
    expect(page.get_by_role("dialog", name=record)).to_contain_text("The hash matches")
    for _ in range(12):  # round and round, through the browser's own controls, but never into the page behind
        assert keys.press("Tab").here["inside"] in ("dialog", "nowhere")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert (keys.here["name"], keys.here["inside"]) == (record, "main")


def test_a_run_is_stopped(keys, page, daemon):
    step = "- {agent: worker, tool: run_command, input: {command: node waits.js}}"
    with Runner(daemon) as runner:
        run = runner.launch(write_strategy(daemon.root, step, name="waits"))
        runner.find("request_permission", runId=run)
        keys.turn("2", "Sessions").to("waits").press("Enter")
        expect(page.get_by_role("heading", name=run, level=1)).to_be_visible()
        keys.to("Stop waits").press("Enter")
        expect(page.get_by_label("The run").locator(".verdict")).to_have_text("cancelled")
        assert keys.here["inside"] == "main"


def test_the_log_is_searched_and_verified(keys, page):
    keys.turn("3", "Audit").to("Verify").press("Enter")
    expect(page.get_by_text("verified, none was changed")).to_be_visible()
    assert keys.here["name"] == "Verify"
    keys.to("Text in the call").type("rm -rf")
    expect(page.locator("tbody tr")).to_have_count(1)
    keys.to("Verdict").press("ArrowDown")
    expect(page.get_by_text("No records found.")).to_be_visible()
    keys.press("ArrowDown", "ArrowDown")
    expect(page.locator("tbody tr")).to_have_count(1)
    keys.to("Time").press("End").to("From when").to("Clear").press("Enter")
    expect(page.get_by_label("Text in the call")).to_have_value("")
    assert keys.here["name"] == "Clear"
    keys.to("Record").press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert keys.here["inside"] == "dialog"
    keys.press("Escape")


def answer_late(page):
    """Let a page wait for what it searches, until the function that is returned lets it go on."""
    held = []

    def hold(route):
        held.append(route)

    def answer():
        expect(page.get_by_text("Loading…")).to_be_visible()
        for route in held:
            route.continue_()
        page.unroute("**/api/audit?*")
        settle(page)

    page.route("**/api/audit?*", hold)
    return answer


def test_what_a_search_finds_does_not_take_ones_place(keys, page):
    keys.turn("3", "Audit").to("Clear")
    found = answer_late(page)
    keys.press("Enter").to("Record")
    stays(keys, found)
    record = keys.here["name"]
    keys.press("Enter")
    expect(page.get_by_role("dialog", name=record)).to_be_visible()


def test_where_the_focused_record_is_not_found_its_list_has_the_focus(keys, page):
    keys.turn("3", "Audit").to("Text in the call")
    found = answer_late(page)
    keys.type("nothing is called so").to("Record")
    found()
    expect(page.get_by_text("No records found.")).to_be_visible()
    assert keys.here["inside"] == "main"


def test_a_standing_answer_is_revoked_and_one_destructive_call_asked_about(keys, page, ask, person):
    answer = {"requestId": ask(), "decision": "approve_always", "pattern": "Bash(node:*)"}
    person.post("/api/permissions", json=answer)
    keys.turn("4", "Policy").to("Standing approvals").press("Enter").to("Revoke").press("Enter")
    expect(page.get_by_text("No standing approvals")).to_be_visible()
    assert keys.here["inside"] == "main"
    assert person.get("/api/grants").json()["grants"] == []
    keys.to("Destructive", by="Shift+Tab").press("Enter").to("Ask me once").press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("rm -rf /")
    keys.type("rm").press("Escape")
    expect(dialog).to_have_count(0)
    assert keys.here["name"].startswith("Ask me once")
    keys.press("Enter").press("Enter")  # nothing was typed, so this is no yes
    expect(dialog).to_be_visible()
    keys.type("rm").press("Enter")
    expect(page.locator(".countdown")).to_be_visible()
    assert keys.here["name"].startswith("Ask me once")
    keys.to("Block again", by="Shift+Tab").press("Enter")
    expect(page.locator(".countdown")).to_have_count(0)
    assert keys.here["inside"] == "main"


def test_a_rule_is_proposed_drafted_and_tried(keys, page):
    keys.turn("5", "Overview").to("How far back").to("Propose a rule for npm install").press("Enter")
    expect(page.get_by_label("Rule", exact=True)).to_be_focused()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("Bash(npm install:*)")
    keys.to("Effect").press("ArrowDown", "ArrowDown")
    expect(page.locator("tbody tr").first).to_contain_text("deny")
    keys.to("Playground", by="Shift+Tab").press("Enter")
    expect(page.get_by_label("Command, path")).to_be_focused()
    keys.type("rm -rf /")
    expect(page.locator(".ruling .verdict")).to_have_text("deny")


def test_a_token_is_made_and_revoked(keys, page, daemon):
    keys.turn("6", "People and tokens").to("Role").press("ArrowDown").to("User").press("Control+a").type("gina")
    keys.to("Create token").press("Enter")
    secret = page.locator(".notice.good pre").inner_text()
    keys.to("Done").press("Enter")
    assert keys.here["name"] == "Create token"
    expect(page.get_by_text(secret)).to_have_count(0)
    theirs = page.locator("section").filter(has_text="gina")
    theirs.get_by_role("button", name="Revoke").focus()
    keys.press("Enter")
    expect(theirs).to_have_count(0)
    assert keys.here["inside"] == "main"
    assert daemon.api(secret).get("/api/login").status_code == 401


def test_one_leaves_everywhere_and_comes_back(visit, daemon):
    token = daemon.mint("user", user="hanna")
    page = visit().log_in(token=token)
    keys = Keys(page).to("hanna").press("Enter").to("Sound")
    keys.press("Escape")
    assert keys.here["name"].startswith("hanna")
    expect(page.get_by_label("Sound")).to_be_hidden()
    keys.press("Enter").to("Log out everywhere").press("Enter")
    expect(page.get_by_label("Or paste your token")).to_be_focused()
    keys.type(token).press("Enter")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_several_are_selected_and_let_go_and_a_key_is_for_the_question_one_is_at(keys, page, ask, outcome):
    asked = [ask() for _ in range(3)]
    expect(page.locator(".card")).to_have_count(3)
    expect(page.locator(".moving")).to_have_count(0)
    page.keyboard.press("j")
    keys.press("x").to("Select all").press("Enter")
    expect(page.get_by_text("3 selected")).to_be_visible()
    assert keys.here["name"] == "Select all"
    fourth = ask()
    expect(page.locator(f"#q-{fourth}")).to_be_visible()
    assert keys.here["name"] == "Select all"
    keys.to("Clear").press("Enter")
    expect(page.get_by_text("3 selected")).to_be_hidden()
    assert keys.here["inside"] == "main"
    other = page.locator(".card:not(.open)").last.get_attribute("data-id")
    page.locator(f"#q-{other}").get_by_role("button", name="Deny").focus()
    keys.press("d")  # the open one is another: first it is shown which one is meant
    expect(page.locator(f"#q-{other}")).to_have_attribute("aria-current", "true")
    assert {outcome(each)["status"] for each in asked} == {"pending"}
    keys.press("d")
    expect(page.locator(f"#q-{other}")).to_have_count(0)
    assert {each for each in (*asked, fourth) if outcome(each)["status"] != "pending"} == {other}
    keys.press("?")
    assert keys.here["inside"] == "dialog"
    keys.press("Escape")
    assert keys.here["inside"] == "main"

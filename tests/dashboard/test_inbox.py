"""The inbox in a real browser: every way to answer, and what a card shows before and after."""

from __future__ import annotations

import itertools
import json
import re
import socket

import pytest
from playwright.sync_api import expect

from browsing import still
from daemons import until

NUMBERS = itertools.count(1)


def card(page, asked):
    return page.locator(f"#q-{asked}")


def ready(page, asked):
    """Wait until a question is there and the page takes keys and clicks for it."""
    expect(card(page, asked)).to_be_visible()
    still(page)


def test_a_question_appears_by_itself_with_all_there_is_to_know(page, ask, daemon):
    expect(page.get_by_text("No pending questions")).to_be_visible()
    asked = ask("cd src && node build.js > /etc/motd; curl -s https://api.example.com/x -d @out")
    shown = card(page, asked)
    expect(shown).to_contain_text("coder")
    expect(shown.locator(".tier").first).to_have_text("dangerous")
    expect(shown).to_contain_text(str(daemon.project))
    expect(shown).to_contain_text("api.example.com")
    expect(shown.locator(".facts")).to_contain_text("/etc/motd")
    expect(shown).to_contain_text("outside the workspace")
    expect(shown).to_contain_text("No similar question was asked before.")
    expect(shown.locator(".clock")).to_contain_text(re.compile(r"waiting \d+ s · expires in \d+ min"))
    expect(page).to_have_title("(1) Inbox · Assent")


def test_each_part_of_a_line_has_the_colour_of_its_own_tier_and_its_reason(page, ask):
    asked = ask("ls -la && node tool.js && curl -d x https://example.com")
    shown = card(page, asked)
    expect(shown.locator(".part.safe")).to_have_text("ls -la")
    expect(shown.locator(".part.dangerous").first).to_contain_text("node")
    assert "runs code" in shown.locator(".part.dangerous").first.get_attribute("title")
    shown.locator(".part.dangerous").first.click()
    expect(shown.locator(".explained")).to_contain_text("runs code")


@pytest.mark.parametrize(
    ("line", "places"),
    [("echo node x; node x", [13]), ("nohup node x; node x", [6, 14]), ("nice env node x && echo node x", [9])],
)
def test_words_that_only_look_like_a_command_have_not_its_colour(page, ask, line, places):
    block = card(page, ask(line)).locator(".code").first
    expect(block).to_have_text(line)
    found = block.evaluate(
        """(block) => [...block.textContent.matchAll(/node/g)].map(({ index }) => {
            const walk = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
            for (let at = 0; walk.nextNode(); at += walk.currentNode.length)
                if (index < at + walk.currentNode.length)
                    return walk.currentNode.parentElement.closest(".part.dangerous") && index;
        }).filter((index) => index !== null)"""
    )
    assert found == places


@pytest.mark.parametrize(
    ("key", "button", "expected"),
    [
        ("a", "Allow once", {"status": "approved", "decision": "approve"}),
        ("s", "This session", {"status": "approved", "decision": "approve"}),
        ("d", "Deny", {"status": "rejected", "decision": "reject"}),
    ],
)
def test_an_answer_by_key_or_button_is_the_answer(page, ask, outcome, key, button, expected):
    by_key = ask()
    ready(page, by_key)
    page.keyboard.press(key)
    expect(card(page, by_key)).to_have_count(0)
    by_hand = ask()
    card(page, by_hand).get_by_role("button", name=button, exact=True).click()
    expect(card(page, by_hand)).to_have_count(0)
    for asked in (by_key, by_hand):
        assert expected.items() <= outcome(asked).items()


def test_a_session_answer_stands_and_can_be_undone(page, ask, person):
    asked = ask()
    ready(page, asked)
    page.keyboard.press("s")
    grants = until(lambda: [g for g in person.get("/api/grants").json()["grants"] if g.get("requestId") == asked])
    assert grants[0]["scope"] == "session"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone: you'll be asked again.")).to_be_visible()
    assert not [g for g in person.get("/api/grants").json()["grants"] if g.get("requestId") == asked]


def test_always_shows_an_editable_pattern_and_counts_what_it_would_have_covered(page, ask, person):
    for name in ("one", "two", "three"):
        ask(f"cargo install {name}")
    expect(page.locator(".card")).to_have_count(3)
    still(page)
    page.keyboard.press("w")
    pattern = page.get_by_label("Pattern to allow")
    expect(pattern).to_have_value("Bash(cargo install:*)")
    counted = page.locator(".counted")
    expect(counted).to_contain_text("would have answered 3 of")
    for everything in ("*", "Bash(*)", "Bash(:*)"):
        pattern.fill(everything)
        expect(counted).to_contain_text("This covers every call of the tool, except those that can't be undone")
    pattern.fill("Bash(cargo install two)")
    expect(counted).to_contain_text("would have answered 1 of")
    expect(counted).not_to_contain_text("every call of the tool")
    pattern.fill("Bash()")
    expect(counted.locator(".bad")).to_be_visible()
    pattern.fill("Bash(cargo install:*)")
    asked = page.locator(".card.open").get_attribute("data-id")
    page.keyboard.press("Control+Enter")
    expect(card(page, asked)).to_have_count(0)
    (grant,) = [g for g in person.get("/api/grants").json()["grants"] if g.get("requestId") == asked]
    assert (grant["pattern"], grant["scope"], grant.get("expiresAt")) == ("Bash(cargo install:*)", "always", None)
    person.delete(f"/api/grants/{grant['id']}")


def test_until_a_time_ends_then(page, ask, person):
    asked = ask()
    ready(page, asked)
    page.keyboard.press("u")
    page.get_by_label("How long").select_option("until a time …")
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(card(page, asked).get_by_role("alert")).to_have_text("Choose a date and time.")
    page.get_by_label("Until when").fill("2020-01-01T12:00")
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(card(page, asked).get_by_role("alert")).to_have_text("The expiry is in the past.")
    page.get_by_label("How long").select_option("for an hour")
    page.get_by_role("button", name="Allow", exact=True).click()
    expect(card(page, asked)).to_have_count(0)
    (grant,) = [g for g in person.get("/api/grants").json()["grants"] if g.get("requestId") == asked]
    assert 3500 < (grant["expiresAt"] - grant["createdAt"]) / 1000 <= 3601
    person.delete(f"/api/grants/{grant['id']}")


def test_a_denial_may_have_words_for_the_agent(page, ask, outcome):
    asked = ask()
    ready(page, asked)
    page.keyboard.press("f")
    page.get_by_label("Tell the agent why").fill("use the staging database")
    page.get_by_role("button", name="Deny", exact=True).click()
    expect(card(page, asked)).to_have_count(0)
    assert outcome(asked)["feedback"] == "use the staging database"


def test_an_edit_shows_its_difference_and_is_decided_again(page, ask, agent, daemon):
    asked = ask("node job.js --env production")
    ready(page, asked)
    page.keyboard.press("e")
    text = page.get_by_label("The command")
    text.fill("node job.js --env staging")
    expect(page.locator(".diff ins")).to_contain_text("staging")
    expect(page.locator(".diff del")).to_contain_text("production")
    expect(page.get_by_text("As edited:")).to_contain_text("ask")
    page.keyboard.press("Control+Enter")
    expect(card(page, asked)).to_have_count(0)
    body = {"toolName": "bash", "toolInput": {"command": "node job.js --env production"}}
    told = agent.post(
        "/api/hooks/classify", json=body | {"cwd": str(daemon.project), "sessionId": "s-1", "honoursUpdatedInput": True}
    ).json()
    assert told["updatedInput"] == {"command": "node job.js --env staging"}


def test_nothing_that_a_call_is_given_is_left_out(page, ask, agent, daemon):
    def opened(asked):
        ready(page, asked)
        page.keyboard.press("End")
        expect(card(page, asked)).to_have_attribute("aria-current", "true")
        return card(page, asked).locator(".input")

    beside = opened(ask("node b.js", timeout=5, description="lists \u202efiles"))
    expect(beside).to_contain_text("lists \\u202efiles")
    expect(page.get_by_text("Contains invisible characters")).to_be_visible()
    expect(opened(ask("node", args=["evil.js", "--all"]))).to_contain_text('"evil.js"')
    expect(opened(ask("node a.js", cmd="node c.js"))).to_contain_text("node c.js")
    exact = ask(tool="transfer", amount=9007199254740993, note=10**30)
    expect(opened(exact)).to_contain_text("9007199254740993")
    expect(opened(exact)).to_contain_text(str(10**30))
    page.keyboard.press("e")
    text = page.get_by_label("The input, as JSON")
    text.fill(text.input_value().replace("9007199254740993", "9007199254740995"))
    page.keyboard.press("Control+Enter")
    expect(card(page, exact)).to_have_count(0)
    body = {"toolName": "transfer", "toolInput": {"amount": 9007199254740993, "note": 10**30}, "sessionId": "s-1"}
    told = agent.post(
        "/api/hooks/classify", json=body | {"cwd": str(daemon.project), "honoursUpdatedInput": True}
    ).json()
    assert told["updatedInput"] == {"amount": 9007199254740995, "note": 10**30}


def test_a_pattern_that_hides_something_says_what_it_is(page, ask):
    asked = ask(tool="frob\u202enicate", what="this")
    ready(page, asked)
    page.keyboard.press("w")
    expect(page.get_by_text("The pattern contains invisible characters.")).to_be_visible()
    page.get_by_label("Pattern to allow").fill("Bash(node:*)")
    expect(page.get_by_text("The pattern contains invisible characters.")).to_have_count(0)


def test_an_edit_that_policy_denies_leaves_the_card_with_the_reason(page, ask, outcome):
    asked = ask()
    ready(page, asked)
    page.keyboard.press("e")
    page.get_by_label("The command").fill("rm -rf /")
    page.keyboard.press("Control+Enter")
    expect(card(page, asked).get_by_role("alert")).to_contain_text("not allowed")
    assert outcome(asked)["status"] == "pending"
    page.keyboard.press("Escape")
    expect(card(page, asked).get_by_role("button", name="Allow once")).to_be_enabled()


def test_buttons_are_off_while_posting_and_an_error_leaves_the_card(page, ask, outcome):
    asked = ask()
    held = []
    page.route(
        "**/api/permissions", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    card(page, asked).get_by_role("button", name="Allow once").click()
    expect(card(page, asked).get_by_role("button", name="Allow once")).to_be_disabled()
    expect(card(page, asked).get_by_role("button", name="Deny", exact=True)).to_be_disabled()
    until(lambda: page.wait_for_timeout(10) or held)
    held[0].fulfill(status=503, body=json.dumps({"error": "The store cannot be used; nothing was done"}))
    expect(card(page, asked).get_by_role("alert")).to_contain_text("nothing was done")
    expect(card(page, asked).get_by_role("button", name="Allow once")).to_be_enabled()
    page.unroute("**/api/permissions")
    assert outcome(asked)["status"] == "pending"


def test_several_are_answered_at_once(page, ask, outcome):
    asked = [ask() for _ in range(4)]
    expect(page.locator(".card")).to_have_count(4)
    for each in asked[:3]:
        card(page, each).get_by_role("checkbox").check()
    page.get_by_role("region", name="Answer the selection").get_by_role("button", name="Deny").click()
    expect(page.locator(".card")).to_have_count(1)
    assert [outcome(each)["status"] for each in asked] == ["rejected"] * 3 + ["pending"]


def test_several_are_answered_and_an_answer_is_taken_back_by_keys_alone(page, ask, outcome, person):
    asked = [ask() for _ in range(4)]
    expect(page.locator(".card")).to_have_count(4)
    still(page)
    page.keyboard.press("Shift+D")
    for _ in range(3):
        page.keyboard.press("j")
        page.keyboard.press("x")
    expect(page.get_by_role("region", name="Answer the selection")).to_contain_text("3 selected")
    page.keyboard.press("Shift+D")
    expect(page.locator(".card")).to_have_count(1)
    assert [outcome(each)["status"] for each in asked] == ["rejected"] * 3 + ["pending"]
    still(page)
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("Undone: you'll be asked again.")).to_be_visible()
    assert not [g for g in person.get("/api/grants").json()["grants"] if g.get("requestId") == asked[3]]


PRESS_ONCE_GONE = """(id) => {
    const gone = (found) => found.some((each) => [...each.removedNodes].some((node) => node.dataset?.id === id));
    new MutationObserver((found, observer) => {
        if (!gone(found)) return;
        observer.disconnect();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
        window.pressed = true;
    }).observe(document.querySelector(".cards"), { childList: true });
}"""
"""Somebody about to press the key, at the very moment at which the question goes."""


def test_a_key_meant_for_one_question_does_not_answer_the_next(page, ask, outcome, person):
    first, second = ask(), ask()
    ready(page, second)
    page.keyboard.press("j")
    expect(page.locator(".card[aria-current]")).to_have_attribute("data-id", first)
    page.evaluate(PRESS_ONCE_GONE, first)
    person.post("/api/permissions", json={"requestId": first, "decision": "reject"})
    until(lambda: page.evaluate("window.pressed"))
    expect(page.locator(".card[aria-current]")).to_have_attribute("data-id", second)
    still(page)
    page.keyboard.press("d")
    expect(card(page, second)).to_have_count(0)
    assert outcome(second)["status"] == "rejected"


SLOWLY = """() => {
    const real = window.setTimeout;
    window.setTimeout = (done, after, ...more) => real(done, 20 * after, ...more);
}"""
"""What the page does after a moment it does after a long one, so that no busy machine is slower than that."""


def test_who_types_on_while_their_question_goes_answers_nothing(page, ask, outcome, person):
    first, second = ask(), ask()
    ready(page, second)
    page.keyboard.press("j")
    page.keyboard.press("f")
    page.keyboard.type("use the staging ")
    person.post("/api/permissions", json={"requestId": first, "decision": "approve"})
    lost = page.get_by_role("dialog", name="This question is already answered")
    expect(lost).to_contain_text("Allowed by")
    expect(lost).to_contain_text("use the staging")
    still(page)
    page.keyboard.type("database and do as I said ")
    page.keyboard.press("Enter")
    expect(lost).to_be_visible()
    page.evaluate(SLOWLY)
    page.keyboard.press("Escape")
    expect(lost).to_have_count(0)
    page.keyboard.type("add", delay=20)
    expect(card(page, second)).to_be_focused()
    assert outcome(second)["status"] == "pending"
    still(page)
    page.keyboard.press("d")
    expect(card(page, second)).to_have_count(0)


TYPE_ON_ONCE_GONE = """(id) => {
    const gone = (found) => found.some((each) => [...each.removedNodes].some((node) => node.dataset?.id === id));
    const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const type = (left) => {
        for (const key of ["t", "a"]) press(key);
        if (left) setTimeout(type, 120, left - 1);
        else window.pressed = true;
    };
    new MutationObserver((found, observer) => {
        if (!gone(found)) return;
        observer.disconnect();
        type(8); // longer, in all, than one waits for a page to come to rest
    }).observe(document.querySelector(".cards"), { childList: true });
}"""


def test_no_key_is_taken_for_as_long_as_keys_come_where_the_question_has_just_changed(page, ask, outcome, person):
    first, second = ask(), ask()
    ready(page, second)
    page.keyboard.press("j")
    page.evaluate(TYPE_ON_ONCE_GONE, first)
    person.post("/api/permissions", json={"requestId": first, "decision": "reject"})
    until(lambda: page.evaluate("window.pressed"))
    assert outcome(second)["status"] == "pending"
    still(page)
    page.keyboard.press("d")
    expect(card(page, second)).to_have_count(0)


CLICK_ONCE_GONE = """(id) => {
    const gone = (found) => found.some((each) => [...each.removedNodes].some((node) => node.dataset?.id === id));
    new MutationObserver((found, observer) => {
        if (!gone(found)) return;
        observer.disconnect();
        const { x, y, width, height } = document.querySelector(".card .good").getBoundingClientRect();
        const hit = document.elementFromPoint(x + width / 2, y + height / 2);
        window.hit = hit.closest("button")?.innerText || "none";
    }).observe(document.querySelector(".cards"), { childList: true });
}"""


def test_a_click_meant_for_one_question_does_not_hit_the_next(page, ask, person):
    first, second = ask(), ask()
    ready(page, first)
    ready(page, second)
    current = page.locator(".card[aria-current]").get_attribute("data-id")
    page.evaluate(CLICK_ONCE_GONE, current)
    person.post("/api/permissions", json={"requestId": current, "decision": "reject"})
    assert until(lambda: page.evaluate("window.hit")) == "none"
    still(page)
    page.locator(".card").get_by_role("button", name="Allow once").click()
    expect(page.locator(".card")).to_have_count(0)


PRESS_ONCE_THERE = """new MutationObserver((found, observer) => {
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true, cancelable: true }));
    window.pressed = true;
}).observe(document.querySelector(".cards"), { childList: true })"""


def test_a_key_pressed_as_the_first_question_comes_does_not_answer_it(page, ask, outcome):
    expect(page.get_by_text("No pending questions")).to_be_visible()
    page.evaluate(f"() => {{ {PRESS_ONCE_THERE} }}")
    asked = ask()
    assert until(lambda: page.evaluate("window.pressed"))
    ready(page, asked)
    assert outcome(asked)["status"] == "pending"


def test_what_nobody_can_have_read_is_not_allowed_with_the_others(page, ask, outcome):
    short, long = ask(), ask("node x.js " + "a" * 3000)
    ready(page, long)
    page.keyboard.press("Home")
    for each in (short, long):
        card(page, each).get_by_role("checkbox").check()
    page.locator(f"#q-{short}").click(position={"x": 5, "y": 5})
    expect(card(page, short)).to_have_attribute("aria-current", "true")
    page.keyboard.press("Shift+A")
    expect(card(page, short)).to_have_count(0)
    expect(card(page, long).get_by_role("alert")).to_contain_text("Too long to approve from here. Expand it first.")
    assert [outcome(each)["status"] for each in (short, long)] == ["approved", "pending"]
    still(page)
    page.keyboard.press("Shift+D")
    expect(card(page, long)).to_have_count(0)


def test_what_was_never_on_the_screen_is_not_allowed_with_the_others(page, ask, outcome):
    asked = [ask() for _ in range(12)]
    expect(page.locator(".card")).to_have_count(12)
    ready(page, asked[-1])
    page.keyboard.press("x")
    page.get_by_role("button", name="Select all").click()
    page.keyboard.press("Shift+A")
    expect(page.locator(".toast.bad")).to_contain_text("left: you haven't seen them yet")
    assert (outcome(asked[0])["status"], outcome(asked[-1])["status"]) == ("approved", "pending")
    expect(card(page, asked[-1]).get_by_role("alert")).to_contain_text("You haven't seen all of it yet.")
    page.keyboard.press("End")
    expect(card(page, asked[-1])).to_be_in_viewport(ratio=0.9)
    still(page)
    page.keyboard.press("Shift+A")
    until(lambda: outcome(asked[-1])["status"] == "approved")


def test_a_card_that_is_drawn_anew_takes_no_click_for_a_moment(page, ask, agent, daemon):
    """That the agent stopped waiting may move what is below it, under a finger on its way."""
    call = {"toolName": "bash", "toolInput": {"command": "node waits.js"}, "sessionId": "s-1"}
    asking = agent.build_request("POST", "/api/hooks/classify?wait=300", json=call | {"cwd": str(daemon.project)})
    head = f"POST {asking.url.raw_path.decode()} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in asking.headers.items()
    )
    with socket.create_connection(("127.0.0.1", daemon.port)) as caller:
        caller.sendall(f"{head}\r\n".encode() + asking.read())
        expect(page.locator(".card")).to_be_visible()
        still(page)
        page.evaluate(
            """() => { window.moved = false; new MutationObserver(() => {
                window.moved ||= Boolean(document.querySelector(".moving") && document.querySelector(".card .tag"));
            }).observe(document.querySelector(".cards"), { attributes: true, subtree: true, childList: true }); }"""
        )
    # The list is looked up every half a minute while the socket says nothing: here that has passed.
    page.evaluate("() => { const now = Date.now; Date.now = () => now() + 31_000; }")
    expect(page.locator(".card .tag")).to_have_text(
        "the agent stopped waiting; a yes applies when it retries", timeout=90_000
    )
    until(lambda: page.evaluate("window.moved"))


def test_an_edit_says_what_its_field_could_not_hold(page, ask):
    asked = ask("node a.js\r\nnode b.js")
    ready(page, asked)
    page.keyboard.press("e")
    expect(page.locator(".diff del")).to_contain_text("\\r")


def test_an_answer_that_came_too_late_is_said_to_have(page, visit, ask, outcome):
    one, two = page, visit().log_in()
    asked, held = ask(), []
    expect(card(one, asked)).to_be_visible()
    one.route(
        "**/api/permissions", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    still(one)
    one.keyboard.press("a")
    until(lambda: one.wait_for_timeout(10) or held)
    ready(two, asked)
    two.keyboard.press("d")
    expect(card(one, asked)).to_have_count(0)
    held[0].continue_()
    expect(one.locator(".toast.bad")).to_contain_text("Not allowed")
    one.unroute("**/api/permissions")
    assert outcome(asked)["status"] == "rejected"


def test_where_some_of_several_can_not_be_answered_their_cards_say_why(page, ask, outcome):
    asked = [ask() for _ in range(33)]
    expect(page.get_by_text("33 questions waiting")).to_be_visible()
    refused = {asked[0], asked[-1]}
    assert page.locator(f"#q-{asked[-1]}").count() == 0  # it is not even drawn

    def refuse(route):
        if route.request.method == "POST" and route.request.post_data_json["requestId"] in refused:
            route.fulfill(status=503, body=json.dumps({"error": "The store cannot be used; nothing was done"}))
        else:
            route.continue_()

    page.route("**/api/permissions", refuse)
    still(page)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Select all").click()
    page.keyboard.press("Shift+D")
    expect(page.locator(".toast.bad")).to_contain_text("Denied: 31. 2 left; the cards say why")
    for each in refused:
        expect(card(page, each).get_by_role("alert")).to_contain_text("nothing was done")
        assert outcome(each)["status"] == "pending"
    expect(page.get_by_role("region", name="Answer the selection")).to_contain_text("2 selected")
    page.unroute("**/api/permissions")


def test_keys_walk_through_the_cards_and_a_held_key_answers_one(page, ask):
    asked = [ask() for _ in range(3)]
    expect(page.locator(".card")).to_have_count(3)
    for expected in (asked[0], asked[1], asked[2], asked[2]):
        page.keyboard.press("j")
        expect(page.locator(".card[aria-current]")).to_have_attribute("data-id", expected)
    page.keyboard.press("k")
    expect(page.locator(".card[aria-current]")).to_have_attribute("data-id", asked[1])
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("a")
    page.keyboard.press("Escape")
    still(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".card")).to_have_count(3)
    page.keyboard.down("d")
    for _ in range(5):
        page.keyboard.down("d")
    page.keyboard.up("d")
    expect(page.locator(".card")).to_have_count(2)


def test_the_oldest_question_is_the_first_however_long_it_takes_to_be_looked_up(page, ask):
    held = []
    page.route(re.compile(r"/api/permissions/[^/?]+$"), lambda route: route.continue_() if held else held.append(route))
    first = ask()
    until(lambda: page.wait_for_timeout(10) or held)
    second = ask()
    page.wait_for_timeout(500)
    held[0].continue_()
    expect(card(page, second)).to_be_visible()
    assert page.locator(".card").evaluate_all("(cards) => cards.map((card) => card.dataset.id)") == [first, second]
    page.unroute_all()


def test_an_answer_given_while_several_are_being_answered_is_told(page, ask):
    asked, held = [ask(), ask()], []
    expect(page.locator(".card")).to_have_count(2)

    def hold(route):
        several = route.request.method == "POST" and route.request.post_data_json["requestId"] == asked[0]
        return held.append(route) if several else route.continue_()

    page.route("**/api/permissions", hold)
    still(page)
    for key in ("j", "x", "Shift+D"):
        page.keyboard.press(key)
    until(lambda: page.wait_for_timeout(10) or held)
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    held[0].continue_()
    expect(page.locator(".card")).to_have_count(0)
    page.unroute_all()


def test_earlier_answers_to_the_like_are_shown(page, ask, person):
    before = ask("terraform apply -target=a")
    person.post("/api/permissions", json={"requestId": before, "decision": "reject", "feedback": "not on Fridays"})
    asked = ask("terraform apply -target=b")
    shown = card(page, asked).locator(".earlier")
    expect(shown).to_contain_text("Answered before: 1")
    expect(shown).to_contain_text("not on Fridays")


def test_an_edit_of_a_file_is_shown_as_a_difference(page, ask):
    asked = ask(tool="Edit", file_path="/etc/hosts", old_string="a 1", new_string="b 1")
    expect(card(page, asked).locator(".diff del")).to_contain_text("a")
    expect(card(page, asked).locator(".facts")).to_contain_text("/etc/hosts")


def test_two_browsers_see_each_others_answers(page, visit, ask):
    one, two = page, visit().log_in()
    asked = ask()
    expect(card(one, asked)).to_be_visible()
    ready(two, asked)
    still(one)
    one.keyboard.press("a")
    expect(card(two, asked)).to_have_count(0)
    expect(two.get_by_text("allowed by")).to_be_visible()


def test_without_a_socket_it_polls_and_says_so(visit, ask):
    visitor = visit()
    visitor.page.route_web_socket("**/ws/permissions*", lambda socket: socket.close())
    page = visitor.log_in()
    expect(page.locator("#link")).to_contain_text("polling")
    asked = ask()
    expect(card(page, asked)).to_be_visible()


WATCH = """
    window.called = [];
    const Told = Notification;
    window.Notification = class extends Told {
        constructor(title, more) {
            super(title, more);
            window.called.push([title, more.body]);
            this.onshow = () => window.called.push("shown");
        }
    };
    const start = OscillatorNode.prototype.start;
    OscillatorNode.prototype.start = function (...given) {
        window.called.push("sound");
        return start.apply(this, given);
    };
"""
"""Everything really happens; this only keeps note of it."""


@pytest.fixture
def watched(visit):
    visitor = visit(permissions=["notifications"])
    visitor.page.add_init_script(WATCH)
    page = visitor.log_in()
    visitor.context.new_page()
    return page


def calls(page, ask, away: bool = True) -> list:
    """What somebody who looks elsewhere, or not, is called with when a question comes."""
    # Pages in a browser without a screen are told that they are looked at, each of them, unless one says otherwise.
    page.context.new_cdp_session(page).send("Emulation.setFocusEmulationEnabled", {"enabled": not away})
    for each in page.context.pages if away else reversed(page.context.pages):
        each.bring_to_front()
    until(lambda: page.evaluate("document.hasFocus()") is not away)
    page.evaluate("window.called = []")
    expect(card(page, ask(f"node \u202e{next(NUMBERS)}.js"))).to_be_visible()
    return page.evaluate("window.called")


def wish(page, label: str, *, on: bool) -> None:
    page.locator("#me summary").click()
    page.get_by_label(label).set_checked(on)
    page.locator("#me summary").click()


def test_nobody_is_called_before_they_wish_for_it(watched, ask):
    assert calls(watched, ask) == []
    assert watched.evaluate("localStorage.length") == 0
    watched.evaluate("localStorage.setItem('assent', '[no JSON')")
    watched.reload()
    expect(watched.get_by_role("heading", name="Inbox")).to_be_visible()
    assert calls(watched, ask) == []


def test_a_notification_is_shown_to_who_looks_elsewhere_and_the_wish_is_remembered(watched, ask):
    wish(watched, "Notify me", on=True)
    until(lambda: "shown" in watched.evaluate("window.called"))
    title, body = calls(watched, ask)[0]
    assert title == "coder asks"
    assert re.fullmatch(r"node \\u202e\d+\.js", body)
    until(lambda: "shown" in watched.evaluate("window.called"))
    assert calls(watched, ask, away=False) == []
    watched.reload()
    expect(watched.locator("#link")).to_contain_text("live")
    assert calls(watched, ask)[0][0] == "coder asks"
    until(lambda: "shown" in watched.evaluate("window.called"))
    kept = watched.evaluate("({...localStorage, ...sessionStorage})")
    assert kept == {"assent": '{"notify":true,"sound":false}'}
    wish(watched, "Notify me", on=False)
    assert calls(watched, ask) == []


def test_a_sound_is_played_to_who_wishes_for_it(watched, ask):
    wish(watched, "Sound", on=True)
    assert watched.evaluate("window.called") == ["sound"]
    assert calls(watched, ask, away=False) == ["sound"]
    watched.reload()
    expect(watched.locator("#link")).to_contain_text("live")
    assert calls(watched, ask) == ["sound"]
    wish(watched, "Sound", on=False)
    assert calls(watched, ask) == []


REFUSE = """
    localStorage.setItem("assent", '{"notify":true,"sound":true}');
    Notification.requestPermission = async () => "granted";
    Object.defineProperty(Notification, "permission", { get: () => "granted" });
    Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
    const refuse = { construct() { throw new TypeError("Illegal constructor"); } };
    for (const name of ["Notification", "AudioContext"]) window[name] = new Proxy(window[name], refuse);
"""
"""As on a phone: everything is there and permitted, and then refused."""


def test_a_browser_that_refuses_to_call_loses_no_question(visit, ask):
    visitor = visit()
    visitor.page.add_init_script(REFUSE)
    page = visitor.log_in()
    expect(page.locator("#link")).to_contain_text("live")
    for asked in (ask(), ask()):
        expect(card(page, asked)).to_be_visible()
    wish(page, "Notify me", on=False)
    page.locator("#me summary").click()
    page.get_by_label("Notify me").click()
    expect(page.get_by_text("blocks notifications")).to_be_visible()
    expect(page.get_by_label("Notify me")).not_to_be_checked()


def test_an_admin_sees_everybodys_questions_and_a_user_their_own(page, visit, daemon):
    other = daemon.api(daemon.mint("agent", user="eve", agent="hers", remote=True))
    admin, user = page, visit().log_in(token=daemon.mint("user"))
    expect(user.get_by_text("No pending questions")).to_be_visible()
    asked = other.post("/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "node e.js"}}).json()
    expect(card(admin, asked["requestId"])).to_contain_text("for eve")
    expect(user.locator(".card")).to_have_count(0)
    still(admin)
    admin.keyboard.press("d")
    expect(admin.locator(".card")).to_have_count(0)

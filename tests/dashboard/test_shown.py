"""What was not on the screen is allowed by no key, no button and not with others; what asks never looks safe."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browsing import PHONE, still

LINES = 200
LONG = (
    "\n".join(f"echo line{n}" for n in range(LINES // 2))
    + "\nnode evil.js\n"
    + "\n".join(f"echo more{n}" for n in range(LINES // 2 - 2))
    + "\nnode last.js"
)
GREEN = """(card) => {
    const probe = document.createElement("span");
    probe.className = "good";
    document.body.append(probe);
    const safe = getComputedStyle(probe).color;
    probe.remove();
    const styles = (each) => getComputedStyle(each);
    const looks = (each) => ["color", "backgroundColor", "borderLeftColor"].map((name) => styles(each)[name]);
    const parts = [card, ...card.querySelectorAll(".head *, .input *, .facts *, .doing *, .why *")];
    return parts.filter((each) => looks(each).includes(safe)).map((each) => each.outerHTML.slice(0, 80));
}"""
EXPAND, SCROLL = "Too long to approve from here. Expand it first.", "Scroll through it first."


def opened(page, asked):
    card = page.locator(f"#q-{asked}")
    expect(card).to_be_visible()
    card.click(position={"x": 5, "y": 5})
    expect(card).to_have_attribute("aria-current", "true")
    still(page)
    return card


def scroll_through(page, card):
    """Move through the block as a person does, a piece at a time."""
    card.locator(".input .code").first.evaluate(
        """async (block) => {
            block.scrollIntoView({ block: "start" });
            for (let at = 0; at <= block.scrollHeight; at += block.clientHeight / 2) {
                block.scrollTop = at;
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
            }
            block.scrollIntoView({ block: "end" });
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        }"""
    )


def hinted(page, words):
    expect(page.locator(".toast").last).to_contain_text(words)


def test_head_tail_and_what_matters_between_are_shown_of_what_is_long(page, ask):
    card = opened(page, ask(LONG))
    block = card.locator(".input .code").first
    for part in ("echo line0", "… line 101:", "node evil.js", "node last.js", "lines left out"):
        expect(block).to_contain_text(part)
    assert "echo line60" not in block.inner_text()


@pytest.mark.parametrize(
    ("key", "button"), [("a", "Allow once"), ("s", "This session"), ("w", "Always or until"), ("e", "Edit")]
)
def test_what_is_folded_or_not_scrolled_through_is_allowed_by_no_key_and_no_button(page, ask, outcome, key, button):
    asked = ask(LONG + f" # {key}")
    card = opened(page, asked)
    page.keyboard.press(key)
    hinted(page, EXPAND)
    card.get_by_role("button", name=button).click()
    hinted(page, EXPAND)
    card.get_by_role("button", name="Show the other").click()
    card.locator(".input .code").first.evaluate("(block) => { block.scrollTop = block.scrollHeight; }")
    card.focus()
    page.keyboard.press(key)
    hinted(page, SCROLL)
    assert outcome(asked)["status"] == "pending"
    expect(card.locator("form")).to_have_count(0)


def test_what_was_scrolled_through_is_allowed(page, ask, outcome):
    asked = ask(LONG + " # read")
    card = opened(page, asked)
    card.get_by_role("button", name="Show the other").click()
    scroll_through(page, card)
    card.focus()
    page.keyboard.press("a")
    expect(card).to_have_count(0)
    assert outcome(asked)["status"] == "approved"


def test_what_is_long_is_denied_at_once(page, ask, outcome):
    asked = ask(LONG + " # no")
    opened(page, asked)
    page.keyboard.press("d")
    expect(page.locator(f"#q-{asked}")).to_have_count(0)
    assert outcome(asked)["status"] == "rejected"


def test_what_was_seen_in_part_is_not_allowed_with_the_others(page, ask, outcome):
    asked, short = ask(LONG + " # bulk"), ask()
    card = opened(page, asked)
    for each in (asked, short):
        page.locator(f"#q-{each}").get_by_role("checkbox").check()
    page.locator(f"#q-{short}").scroll_into_view_if_needed()
    still(page)
    page.keyboard.press("Shift+A")
    expect(page.locator(f"#q-{short}")).to_have_count(0)
    expect(card.get_by_role("alert")).to_contain_text(EXPAND)
    assert [outcome(each)["status"] for each in (asked, short)] == ["pending", "approved"]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__db__query", {"sql": "select 1;\n" * 150 + "drop table users"}),
        ("Write", {"file_path": "/srv/x.sh", "content": "echo a\n" * 150 + "rm -rf y"}),
        ("Edit", {"file_path": "/srv/x.sh", "old_string": "a", "new_string": "echo a\n" * 150 + "rm -rf y"}),
    ],
)
def test_every_tools_input_must_have_been_on_the_screen(page, ask, outcome, tool, given):
    asked = ask(tool=tool, **given)
    opened(page, asked)
    page.keyboard.press("a")
    hinted(page, "first.")
    assert outcome(asked)["status"] == "pending"


@pytest.mark.parametrize("key", ["a", "s", "w", "d", "f", "e"])
def test_a_key_answers_no_question_that_is_not_on_the_screen(page, ask, outcome, key):
    """Somebody who moved on with the wheel means what they look at."""
    asked = [ask() for _ in range(12)]
    expect(page.locator(".card")).to_have_count(12)
    still(page)
    page.mouse.move(700, 500)
    page.mouse.wheel(0, 20_000)
    current = page.locator(f"#q-{asked[0]}")
    expect(current).not_to_be_in_viewport()
    page.keyboard.press(key)
    hinted(page, "This question is now selected.")
    expect(current).to_be_in_viewport()
    expect(page.locator(".card form")).to_have_count(0)
    assert {outcome(each)["status"] for each in asked} == {"pending"}


BLOCK = "(block) => { const it = block.getBoundingClientRect(); return [it.top, it.bottom]; }"


def test_what_a_bar_at_the_bottom_covers_was_not_on_the_screen(visit, ask, outcome):
    asked = ask("\n".join(f"echo {n}" for n in range(22)) + "\nnode last.js")
    page = visit(viewport=PHONE).log_in()
    card = opened(page, asked)
    block, bar = card.locator(".input .code").first, page.locator("nav").bounding_box()["y"]
    page.evaluate("(by) => scrollBy(0, by)", block.evaluate(BLOCK)[1] - bar - 30)  # its last line is under the bar
    top, bottom = block.evaluate(BLOCK)
    assert (top >= 0, bar < bottom < PHONE["height"]) == (True, True)
    page.keyboard.press("a")
    hinted(page, SCROLL)
    assert outcome(asked)["status"] == "pending"
    page.keyboard.press("a")  # by now it was brought above the bar
    expect(card).to_have_count(0)


def test_what_asks_never_looks_safe_and_says_what_is_at_stake(page, ask):
    card = opened(page, ask(tool="Read", file_path="/home/dev/.ssh/id_rsa"))
    expect(card.locator(".stake").first).to_have_text("secrets")
    expect(card.locator(".tier").first).to_have_text("asked")
    expect(card.locator(".tier.safe")).to_have_count(0)
    assert card.evaluate(GREEN) == []

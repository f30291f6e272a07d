"""The example's page, in a real browser: it asks, it answers once, and it hides a question only when it is answered."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from serving import Served

FILE = Path(__file__).parents[3] / "examples" / "chat" / "app.py"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def chat(browser, tmp_path):
    spec = importlib.util.spec_from_file_location("chat_example", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outer, app = module.make_app(tmp_path, "the-key")
    with app, Served(outer) as served:
        page = browser.new_page()
        page.goto(f"{served.url}/#the-key")
        page.notes = tmp_path / "notes.txt"
        yield page
        page.close()


def say(page, text):
    page.fill("#message", text)
    page.click("text=Send")


def test_a_question_is_shown_with_its_input_and_an_approved_call_runs(chat):
    say(chat, "note milk")
    expect(chat.locator("#question")).to_have_text("Allow write_note to run?")
    expect(chat.locator("#input")).to_contain_text("milk")
    assert not chat.notes.exists()
    chat.click("#approve")
    expect(chat.locator("#log li").last).to_have_text("agent: noted: milk")
    expect(chat.locator("#prompt")).to_be_hidden()
    assert chat.notes.read_text() == "milk\n"


def test_a_new_question_starts_with_fresh_buttons(chat):
    say(chat, "note a, b")
    expect(chat.locator("#input")).to_contain_text('"a"')
    chat.click("#approve")
    expect(chat.locator("#input")).to_contain_text('"b"')
    expect(chat.locator("#approve")).to_be_enabled()
    expect(chat.locator("#error")).to_have_text("")
    chat.click("#reject")
    expect(chat.locator("#prompt")).to_be_hidden()
    expect(chat.locator("#log li").last).to_contain_text("noted: a; ")
    assert chat.notes.read_text() == "a\n"


def test_an_answer_that_does_not_arrive_leaves_the_question_and_can_be_given_again(chat):
    say(chat, "note tea")
    expect(chat.locator("#prompt")).to_be_visible()
    chat.route("**/respond", lambda route: route.abort())
    chat.click("#approve")
    expect(chat.locator("#error")).to_have_text("Failed — please try again.")
    expect(chat.locator("#prompt")).to_be_visible()
    expect(chat.locator("#approve")).to_be_enabled()
    chat.unroute("**/respond")
    chat.click("#approve")
    expect(chat.locator("#log li").last).to_have_text("agent: noted: tea")


def test_while_an_answer_is_on_its_way_there_is_no_second_one(chat):
    say(chat, "note jam")
    expect(chat.locator("#prompt")).to_be_visible()
    held = []
    chat.route("**/respond", lambda route: held.append(route))  # noqa: PLW0108 - a built-in method cannot be marked
    chat.click("#approve")
    expect(chat.locator("#approve")).to_be_disabled()
    expect(chat.locator("#reject")).to_be_disabled()
    chat.wait_for_function("() => true")
    assert len(held) == 1
    held[0].continue_()
    expect(chat.locator("#prompt")).to_be_hidden()
    expect(chat.locator("#log li").last).to_have_text("agent: noted: jam")
    assert chat.notes.read_text() == "jam\n"


def test_what_policy_denies_asks_nobody(chat):
    say(chat, "forget milk")
    expect(chat.locator("#log li").last).to_contain_text("denied by forget_note")
    expect(chat.locator("#prompt")).to_be_hidden()


def test_without_the_key_nothing_is_shown(chat):
    url = chat.url.partition("#")[0]
    answer = chat.request.get(f"{url}api/sessions/x/stream")
    assert answer.status == 401

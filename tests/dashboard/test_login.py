"""Logging in and out in a real browser: no secret stays in an address, in storage, or in the journal."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


def test_a_link_logs_in_and_leaves_no_trace(visit, daemon):
    visitor = visit()
    code = daemon.run("token", "link").stdout.strip().partition("#")[2]
    addresses = []
    visitor.page.on("request", lambda request: addresses.append(request.url))
    visitor.page.goto(f"/login#{code}")
    expect(visitor.page.get_by_role("heading", name="Inbox")).to_be_visible()
    assert visitor.page.url == f"{daemon.url}/"
    assert not any(code in address.partition("#")[0] for address in addresses)
    stored = visitor.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "assent_" not in stored
    assert code not in daemon.log()
    visitor.page.go_back()
    assert code not in visitor.page.url


def test_a_used_link_says_so_and_a_token_is_another_way(visit, daemon):
    visitor = visit()
    code = daemon.run("token", "link").stdout.strip().partition("#")[2]
    visitor.page.goto(f"/login#{code}")
    expect(visitor.page.get_by_role("heading", name="Inbox")).to_be_visible()
    second = visit()
    second.page.goto(f"/login#{code}")
    expect(second.page.get_by_role("alert")).to_contain_text("used before")
    token = daemon.mint("user", user="frida")
    second.page.get_by_label("Or paste your token").fill(token)
    second.page.get_by_role("button", name="Log in").click()
    expect(second.page.locator("#me")).to_contain_text("frida")
    assert token not in second.page.evaluate("document.documentElement.outerHTML + JSON.stringify({...localStorage})")
    assert token not in daemon.log()


def test_an_agents_token_opens_nothing(visit, daemon):
    visitor = visit()
    visitor.page.goto("/")
    visitor.page.get_by_label("Or paste your token").fill(daemon.mint("agent", agent="a"))
    visitor.page.get_by_role("button", name="Log in").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("not the token of a person")


@pytest.mark.parametrize(("button", "other_stays"), [("Log out", True), ("Log out everywhere", False)])
def test_logging_out_here_or_everywhere(visit, daemon, button, other_stays):
    token = daemon.mint("user", user=f"user-{button}")
    one, two = visit().log_in(token=token), visit().log_in(token=token)
    one.locator("#me summary").click()
    one.get_by_role("button", name=button, exact=True).click()
    expect(one.get_by_label("Or paste your token")).to_be_visible()
    if other_stays:
        two.reload()
        expect(two.get_by_role("heading", name="Inbox")).to_be_visible()
    else:  # by itself, and nothing of what it showed is left behind the door
        expect(two.get_by_label("Or paste your token")).to_be_visible()
        expect(two.locator("#main")).to_be_empty()
        expect(two).to_have_title("Log in · Assent")

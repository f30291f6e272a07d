"""The other pages in a real browser: what happened, what holds, what would happen, and who may do what.

No call is made here but those of `history`, so that the tests count the same in any order.
"""

from __future__ import annotations

import json
import re
import sqlite3

import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module", autouse=True)
def history(daemon, agent, person):
    """Some calls of two agents: looked at, asked about, denied, answered."""
    other = daemon.api(daemon.mint("agent", agent="builder"))
    lines = [("s-1", line) for line in ("ls -la", "git status", "npm install zod", "npm install ajv", "rm -rf /")]
    for session, line in [*lines, ("s-2", "node hidden\u202e.js")]:
        body = {"toolName": "bash", "toolInput": {"command": line}, "cwd": str(daemon.project), "sessionId": session}
        told = (agent if session == "s-1" else other).post("/api/hooks/classify", json=body).json()
        if line == "npm install zod":
            answer = {"requestId": told["requestId"], "decision": "approve_always", "pattern": "Bash(npm install zod)"}
            assert person.post("/api/permissions", json=answer).status_code == 200


def rows(page):
    return page.locator("tbody tr")


def test_the_log_is_searched_by_every_filter(page):
    page.goto("/audit")
    expect(rows(page).filter(has_text="rm -rf /").first).to_be_visible()
    page.get_by_label("Text in the call").fill("git stat")
    expect(rows(page)).to_have_count(1)
    assert "text=git+stat" in page.url
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Verdict").select_option("deny")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("rm -rf /")
    page.get_by_label("Tier").select_option("safe")
    expect(page.get_by_text("No records found.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Agent").fill("builder")
    expect(rows(page)).to_have_count(3)
    expect(rows(page).first.locator(".said")).to_contain_text("\\u202e")
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Event").select_option("token.created")
    expect(rows(page).first).to_contain_text("created")
    page.get_by_label("Time").select_option("the last hour")
    expect(rows(page).first).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Tool").fill("Bash")
    page.get_by_label("Source").select_option("classifier")
    expect(rows(page).filter(has_text="rm -rf /")).to_have_count(1)
    page.get_by_label("Source").select_option("hook")
    expect(page.get_by_text("No records found.")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Time").select_option("between …")
    page.get_by_label("From when").fill("2020-01-01T00:00:00")
    expect(rows(page).filter(has_text="rm -rf /").first).to_be_visible()
    page.get_by_label("Until when").fill("2020-01-02T00:00:00")
    expect(page.get_by_text("No records found.")).to_be_visible()


def test_a_record_is_shown_whole_with_its_rules_and_its_place_in_the_chain(page):
    page.goto("/audit?verdict=deny")
    rows(page).first.get_by_role("button").click()
    sheet = page.get_by_role("dialog")
    expect(sheet).to_contain_text("rm deletes whole trees")
    expect(sheet).to_contain_text("The hash matches the previous record.")
    expect(sheet).to_contain_text("Decided by classifier")
    sheet.get_by_text("The whole record").click()
    expect(sheet).to_contain_text('"permissionDecision"')
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


def test_the_log_is_exported_as_it_is_filtered(page):
    page.goto("/audit?agent=builder&tool=Bash")
    expect(rows(page)).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert [line["agent"] for line in lines] == ["builder", "builder"]
    assert lines[0]["position"] < lines[1]["position"]
    assert lines[0]["body"]["permissionDecision"]["digest"]


def test_verifying_says_that_the_log_is_whole_and_where_it_is_not(page, daemon):
    page.goto("/audit")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text(re.compile(r"\d+ records verified"))).to_be_visible(timeout=60_000)
    with sqlite3.connect(daemon.state / "assent.db", timeout=30) as database:
        before = database.execute("SELECT text FROM events WHERE position = 3").fetchone()
        database.execute("UPDATE events SET text = 'nothing to see' WHERE position = 3")
    database.close()
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("alert")).to_contain_text("The log was changed", timeout=60_000)
    expect(page.get_by_role("alert")).to_contain_text("position 3")
    page.goto("/audit?text=nothing+to+see")
    rows(page).first.get_by_role("button").click()
    expect(page.get_by_role("dialog")).to_contain_text("does NOT match")
    with sqlite3.connect(daemon.state / "assent.db", timeout=30) as database:
        database.execute("UPDATE events SET text = ? WHERE position = 3", before)
    database.close()


def test_the_layers_are_shown_with_where_each_rule_was_written(page, daemon):
    daemon.user_file.write_text('permissions:\n  deny:\n    - {rule: "Bash(shred:*)", reason: "keep your files"}\n')
    page.goto("/policy")
    shown = page.locator("section").filter(has_text=str(daemon.user_file))
    expect(shown).to_contain_text("Bash(shred:*)")
    expect(shown).to_contain_text("line 3")
    expect(shown).to_contain_text("keep your files")
    (daemon.project / "assent.yaml").write_text('permissions:\n  allow: ["Bash(make:*)"]\n')
    page.get_by_label("Working directory").fill(str(daemon.project))
    expect(page.get_by_text("not trusted: allow rules ignored")).to_be_visible()
    (daemon.project / "assent.yaml").unlink()
    daemon.user_file.write_text("permissions: [\n")
    page.goto("/policy")
    expect(page.get_by_text("The policy files have an error")).to_be_visible()
    daemon.user_file.write_text("permissions: {}\n")
    page.reload()
    expect(page.get_by_text("This file has no rules.")).to_be_visible()


def test_a_standing_answer_is_listed_and_revoked(page, person):
    page.goto("/policy?tab=grants")
    expect(rows(page).filter(has_text="Bash(npm install zod)")).to_contain_text("coder")
    page.get_by_role("button", name="Revoke Bash(npm install zod)").click()
    expect(page.get_by_text("No standing approvals")).to_be_visible()
    assert person.get("/api/grants").json()["grants"] == []


def test_destructive_calls_are_asked_about_for_a_while_once_that_is_typed(page, person):
    page.goto("/policy?tab=destructive")
    expect(rows(page)).to_contain_text(["rm -rf /"])
    rows(page).first.get_by_role("button", name="Ask me once").click()
    yes = page.get_by_role("button", name="Ask about it")
    expect(yes).to_be_disabled()
    page.get_by_label("Type rm to confirm").fill("rm")
    yes.click()
    expect(page.locator(".countdown")).to_contain_text("min")
    (enabled,) = person.get("/api/destructive").json()["enablements"]
    assert 0 < enabled["until"] - enabled["createdAt"] <= 300_000
    page.get_by_role("button", name="Block again").click()
    expect(page.locator(".countdown")).to_have_count(0)


def test_the_playground_decides_as_one_types_and_records_nothing(page, person):
    before = person.get("/api/stats").json()["auditPosition"]
    page.goto("/policy?tab=playground")
    page.get_by_label("Command, path").fill("ls && curl -d x https://example.com")
    result = page.locator("section").last
    expect(result.locator(".ruling .verdict")).to_have_text("ask")
    expect(result.locator(".tree")).to_contain_text("contacts example.com")
    page.get_by_label("Command, path").fill("ls")
    expect(result.locator(".ruling .verdict")).to_have_text("allow")
    page.get_by_label("Command, path").fill("/etc/passwd")
    page.get_by_label("Tool").select_option("Write")
    expect(result.locator(".ruling .verdict")).to_have_text("ask")
    assert person.get("/api/stats").json()["auditPosition"] == before


def test_a_drafted_rule_is_held_against_what_happened(page):
    page.goto("/policy?tab=draft&rule=Bash(npm+install:*)")
    expect(page.get_by_text("Changes 2 decisions")).to_be_visible()
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Effect").select_option("deny")
    expect(rows(page).first).to_contain_text("deny")
    page.get_by_label("Rule", exact=True).fill("Bash(ls:*)")
    expect(rows(page)).to_have_count(1)
    expect(page.locator("pre").last).to_contain_text('- "Bash(ls:*)"')
    page.get_by_label("Rule", exact=True).fill("Bash()")
    expect(page.locator(".notice.bad")).to_contain_text("empty")


def test_the_overview_counts_and_proposes_a_rule(page):
    page.goto("/overview")
    expect(page.get_by_role("img", name="Decisions over time, by verdict")).to_be_visible()
    figures = page.locator(".figure")
    expect(figures.filter(has_text="calls decided").locator("strong")).to_have_text("6")
    expect(figures.filter(has_text="questions per hundred calls").locator("strong")).to_have_text("50")
    page.get_by_text("Show as a table").click()
    expect(page.locator("details.figures tbody")).to_contain_text("3")
    row = rows(page).filter(has_text="npm install")
    expect(row).to_contain_text("50 %")
    row.get_by_role("button", name="Propose a rule").click()
    expect(page.get_by_label("Rule", exact=True)).to_have_value("Bash(npm install:*)")
    expect(page.get_by_text("Changes 2 decisions")).to_be_visible()


def test_a_token_is_made_shown_once_and_revoked(page, daemon):
    page.goto("/people")
    page.get_by_label("Role").select_option("user")
    page.get_by_label("User", exact=True).fill("gina")
    page.get_by_label("Label").fill("her phone")
    page.get_by_role("button", name="Create token").click()
    secret = page.locator(".notice.good pre").inner_text()
    assert daemon.api(secret).get("/api/login").json() == {"userId": "gina", "role": "user"}
    page.reload()
    gina = page.locator("section").filter(has_text="gina")
    expect(gina).to_contain_text("her phone")
    assert secret not in page.content()
    gina.get_by_role("button", name="Revoke").click()
    expect(gina).to_have_count(0)
    assert daemon.api(secret).get("/api/login").status_code == 401


def test_a_user_has_no_page_for_tokens(visit, daemon):
    theirs = visit().log_in(token=daemon.mint("user", user="hugo"), path="/people")
    expect(theirs.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(theirs.get_by_role("link", name="People")).to_have_count(0)

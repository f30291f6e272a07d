"""Agents at work, in a real browser: their sessions, and runs of the daemon's own."""

from __future__ import annotations

from playwright.sync_api import expect

from runners import Runner, write_strategy


def rows(page):
    return page.locator("tbody tr")


def test_sessions_show_what_each_agent_does_and_did(page, ask, agent):
    agent.post(
        "/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": "rm -rf /"}, "sessionId": "s-1"}
    )
    ask("node fresh.js", session="s-3")
    page.goto("/sessions")
    mine = page.locator(".session").filter(has_text="s-1")
    expect(mine).to_contain_text("coder")
    expect(mine).to_contain_text("1 denied")
    fresh = page.locator(".session").filter(has_text="s-3")
    expect(fresh).to_contain_text("waiting for 1 answer")
    fresh.get_by_role("link", name="coder").click()
    expect(rows(page)).to_have_count(2)
    expect(page.get_by_text("Waiting for 1 answer.")).to_be_visible()
    ask("node fresher.js", session="s-3")
    expect(rows(page)).to_have_count(4)


def test_a_run_is_watched_with_its_guards_its_sandbox_and_its_outcomes_and_stopped(page, daemon):
    lines = ("touch /var/never", "node waits.js")
    steps = [f"{{agent: worker, tool: run_command, on_error: continue, input: {{command: {line}}}}}" for line in lines]
    strategy = write_strategy(daemon.root, "\n".join(f"- {step}" for step in steps), name="waits")
    with Runner(daemon) as runner:
        run = runner.launch(strategy)
        runner.decide(run, runner.find("request_permission", runId=run), "allow")
        runner.hear("request_permission", runId=run, resource="node waits.js")
        page.goto("/sessions")
        listed = page.get_by_label("Runs").locator(".card").filter(has_text=run)
        expect(listed).to_contain_text("running")
        listed.get_by_role("link", name="waits").click()
        expect(page.get_by_text("Waiting for 1 answer.")).to_be_visible()
        guards = page.get_by_label("The run").locator(".guards")
        chain = ["self-protection", "forbidden-globs", "read-path-policy", "write-path-policy", "classifier"]
        expect(guards.locator("dt").filter(has_text="run_command")).to_have_count(1)
        expect(guards.locator("dd").last.locator(".tag")).to_have_text(chain)
        runner.send("update_policy", runId=run, tool="read_file", mode="write", allow=["out/**"])
        expect(guards.locator("dt").filter(has_text="read_file")).to_have_count(1)
        for happened in ("applied", "violation", "failed"):
            expect(rows(page).filter(has_text=happened).first).to_be_visible()
        expect(rows(page).filter(has_text="process failed")).to_contain_text("exit 1")
        rows(page).filter(has_text="violation").first.get_by_role("button").click()
        expect(page.get_by_role("dialog")).to_contain_text("/var/never")
        page.keyboard.press("Escape")
        rows(page).filter(has_text="applied").first.get_by_role("button").click()
        expect(page.get_by_role("dialog")).to_contain_text("workspace-write")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator(".panel .verdict").first).to_have_text("cancelled")
    page.goto("/overview")
    expect(page.locator(".figure").filter(has_text="sandbox violations").locator("strong")).not_to_have_text("0")
    expect(page.locator("section").filter(has_text="Sandbox violations")).to_contain_text("/var/never")

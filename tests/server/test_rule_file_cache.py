"""Nobody waits for another's rules: a project's file is small, and long ones are parsed beside what is decided."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from assent.config.layers import parse_project
from assent.model import ConfigError
from assent.server import rule_file_cache
from assent.server.rule_file_cache import RuleFiles, StillReadingError
from daemons import until


def hook(command="ls", cwd=""):
    given = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": cwd}
    return given | {"tool_input": {"command": command}}


def rules(count, tag="x", width=40):
    return "permissions:\n  deny:\n" + "".join(f"    - Bash({tag}{i:0{width}}:*)\n" for i in range(count))


def reason(answer):
    return answer.json()["hookSpecificOutput"].get("permissionDecisionReason", "")


@pytest.fixture
def local(daemon):
    return daemon.api(daemon.mint("agent", agent="here"))


def project(daemon, name, text):
    folder = daemon.home / name
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    (folder / "assent.yaml").write_text(text)
    return str(folder)


def test_a_huge_file_denies_its_own_project_at_once_and_stalls_nobody(daemon, local):
    mine = project(daemon, "huge", rules(80_000))
    other = project(daemon, "other", "permissions: {}\n")
    started = time.monotonic()
    answers = [local.post("/api/hooks/claude-code", json=hook(cwd=mine)) for _ in range(3)]
    assert time.monotonic() - started < 4
    for answer in answers:
        assert answer.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert "larger than 256 KiB" in reason(answer)
    assert local.post("/api/hooks/claude-code", json=hook(cwd=other)).status_code == 200


def test_the_first_call_of_a_project_with_long_rules_waits_for_them_and_they_hold(daemon, local):
    mine = project(daemon, "long", rules(4000, "y"))
    answer = local.post("/api/hooks/claude-code", json=hook("y" + "7".zfill(40), cwd=mine))
    assert answer.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "y" + "7".zfill(40) in reason(answer)
    assert local.post("/api/hooks/claude-code", json=hook(cwd=mine)).status_code == 200


def test_others_are_answered_while_rules_that_change_again_and_again_are_parsed(daemon, local):
    other = project(daemon, "quick", "permissions: {}\n")
    local.post("/api/hooks/claude-code", json=hook(cwd=other))
    stop, slow = threading.Event(), daemon.api(daemon.mint("agent", agent="slow"))

    def spoil():
        number = 0
        while not stop.is_set():
            number += 1
            mine = project(daemon, "spoilt", rules(4900, f"z{number}x"))
            slow.post("/api/hooks/claude-code", json=hook(cwd=mine))

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        took = []
        for _ in range(40):
            started = time.monotonic()
            assert local.post("/api/hooks/claude-code", json=hook(cwd=other)).status_code == 200
            took.append(time.monotonic() - started)
    finally:
        stop.set()
        thread.join()
    assert sorted(took)[len(took) // 2] < 0.5


def read(files, data, trusted=False):
    """Read a file as a request does: wait, and ask again."""
    try:
        return files.parse(data, "p/assent.yaml", trusted)
    except StillReadingError as reading:
        asyncio.run(reading.wait())
        return files.parse(data, "p/assent.yaml", trusted)


def test_what_was_parsed_is_kept_by_its_content():
    files, data = RuleFiles(), rules(1000).encode()
    first = read(files, data)
    assert read(files, data) is first
    assert read(files, data, trusted=True) is not first
    files.close()


def test_a_long_file_that_is_broken_is_told_once_it_was_read():
    files, data = RuleFiles(), rules(1000).encode() + b"nonsense: [\n"
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"p/assent\.yaml"):
            read(files, data)
    files.close()


def test_only_so_many_are_kept_and_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(rule_file_cache, "MOST_KEPT", 2)
    monkeypatch.setattr(rule_file_cache, "LONGEST_WAIT", 0.05)
    go_on = threading.Event()

    def slowly(*given):
        go_on.wait(60)
        return parse_project(*given)

    monkeypatch.setattr(rule_file_cache, "parse_project", slowly)
    files = RuleFiles()
    for number in range(4):
        with pytest.raises(StillReadingError) as reading:
            files.parse(rules(300, f"a{number}").encode(), "p/assent.yaml", False)
    assert len(files._read) == 2
    with pytest.raises(ConfigError, match="takes too long"):
        asyncio.run(reading.value.wait())
    go_on.set()
    until(lambda: all(read.done() for read in files._read.values()))
    files.close()

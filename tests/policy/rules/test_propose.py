"""Patterns that are proposed to whoever answers: program and subcommand, a path, a host, a tool, or nothing."""

from __future__ import annotations

import msgspec
import pytest

from assent.model import UNKNOWN
from assent.policy.rules.propose import propose
from scenes import DANGEROUS, DESTRUCTIVE, calls, connects, executes, look, reads, run, writes


def proposed(*operations, tool="Bash", **more):
    return propose(msgspec.structs.replace(look(*operations, tool=tool).reading, **more))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("git push origin main", "Bash(git push:*)"),
        ("npm run build", "Bash(npm run build:*)"),
        ("docker compose", "Bash(docker compose:*)"),
        ("node script.js", "Bash(node script.js)"),
        ("node", "Bash(node)"),
        ("ls *", ""),
        ("git push:", ""),
        (f"node {UNKNOWN}", ""),
        ("node a\u200b.js", ""),
    ],
)
def test_a_command_is_proposed_by_its_program_and_subcommand(line, expected):
    assert proposed(run(line, tier=DANGEROUS)) == expected


def test_everything_else_is_proposed_by_what_it_is_about():
    assert proposed(reads("/ws/a"), tool="Read") == "Read(/ws/a)"
    assert proposed(writes("/ws/a"), tool="Write") == "Write(/ws/a)"
    assert proposed(writes("/ws/*"), tool="Write") == ""
    assert proposed(connects("a.test"), tool="WebFetch") == "WebFetch(domain:a.test)"
    assert proposed(calls("mcp__a__b"), tool="mcp__a__b") == "mcp__a__b"
    assert proposed(executes("/ws/x.sh")) == ""


def test_the_gravest_operation_names_the_pattern():
    assert proposed(run("ls"), run("git push", tier=DANGEROUS), reads("/ws/a")) == "Bash(git push:*)"


def test_nothing_is_proposed_for_what_cannot_be_undone_or_read():
    assert proposed(run("rm x", tier=DESTRUCTIVE)) == ""
    assert proposed(run("rm x", tier=DANGEROUS), unreadable="a loop") == ""

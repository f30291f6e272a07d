"""Command lines that other tools are given are read as a shell's, for what protections speak about."""

from __future__ import annotations

import json

import pytest

from assent.analysis.read import read
from assent.analysis.resources.paths import place_of
from assent.analysis.tools.command_lines import MOST_LINES, read_lines
from assent.analysis.tools.nested_json import DEEPEST
from assent.model import CallError, OperationKind, ToolCall, Verdict
from assent.policy.engine import Engine
from scenes import HOME, SESSION, place, policy, world

OWN = f"{HOME}/.local/share/assent"
FILE = f"{HOME}/.config/assent/assent.yaml"
FACTS = world(links={}, assent_paths=(OWN,), assent_files=(FILE,), assent_endpoints=("localhost:7422",))
RUN, READ, WRITE, CONTACT = (
    OperationKind.COMMAND_EXECUTE,
    OperationKind.FS_READ,
    OperationKind.FS_WRITE,
    OperationKind.NET_CONNECT,
)


def found(given, **where):
    return {(o.kind, o.resource) for o in read_lines(given, place(facts=FACTS, **where))}


#: an input, and what of its lines is kept
KEPT = [
    ({"command": "assent approve 3"}, {(RUN, "assent approve 3")}),
    ({"x": [{"cmd": "assent approve 3"}]}, {(RUN, "assent approve 3")}),
    ({"x": json.dumps({"run": "assent approve 3"})}, {(RUN, "assent approve 3")}),
    ({"command": "assent", "args": ["approve", "3"]}, {(RUN, "assent"), (RUN, "assent approve 3")}),
    ({"command": "assent", "args": "approve 3"}, {(RUN, "assent"), (RUN, "assent approve 3")}),
    ({"command": "ls", "args": ["a", 3]}, set()),
    ({"argv": ["assent", "approve", "3"]}, {(RUN, "assent approve 3")}),
    ({"commands": ["ls", "assent approve 3"]}, {(RUN, "assent approve 3"), (RUN, "ls 'assent approve 3'")}),
    ({"command": "cat ~/.ssh/id_rsa"}, {(READ, f"{HOME}/.ssh/id_rsa")}),
    ({"command": f"cat {OWN}/token"}, {(READ, f"{OWN}/token"), (RUN, f"cat {OWN}/token")}),
    ({"command": f"./x {OWN}/token"}, {(RUN, f"./x {OWN}/token")}),
    ({"command": "echo x > .git/hooks/pre-commit"}, {(WRITE, "/ws/.git/hooks/pre-commit")}),
    ({"cwd": "/ws/.git", "command": "echo x > hooks/pre-commit"}, {(WRITE, "/ws/.git/hooks/pre-commit")}),
    ({"cwd": "$X", "command": "echo x > a"}, set()),
    ({"command": "curl https://a.example/"}, {(CONTACT, "a.example")}),
    ({"command": "echo x > a; ls; cat b; make"}, set()),
    ({"command": "it's no line"}, set()),
    ({"command": "", "cmd": [], "line": 3, "run": [1]}, set()),
    ({"description": "assent approve 3", "command_description": "assent approve 3", "x": "assent approve 3"}, set()),
]


@pytest.mark.parametrize(("given", "kept"), KEPT, ids=[str(given) for given, _ in KEPT])
def test_what_protections_speak_about_is_kept(given, kept):
    assert found(given) == kept


def test_what_cannot_be_undone_and_what_is_not_known_is_kept():
    assert (RUN, "rm -rf /") in found({"command": "rm -rf /"})
    assert any(kind is WRITE and "/home/dev/" in resource for kind, resource in found({"command": "rm ~/$X"}))


def test_lines_are_bounded():
    assert len(found({"x": [{"command": f"assent approve {i}"} for i in range(MOST_LINES)]})) == MOST_LINES
    with pytest.raises(CallError, match="more than 64 commands"):
        found({"x": [{"command": f"assent approve {i}"} for i in range(MOST_LINES + 1)]})
    deep: object = {"command": "assent approve 3"}
    for _ in range(DEEPEST + 1):
        deep = [deep]
    assert found({"x": deep}) == set()


@pytest.mark.parametrize("tool", ["mcp__a__run", "own_tool", "PowerShell", "write_stdin"])
def test_no_tool_answers_assent_s_questions(tool):
    for mode in ("bypassPermissions", "default"):
        engine = Engine([policy(mode=mode, allow=["mcp__a__*", "own_tool", "*"])], facts=lambda: FACTS)
        call = ToolCall(tool=tool, input={"command": "assent approve 3", "chars": "assent approve 3\n"}, cwd="/ws")
        assert engine.decide(call, SESSION).verdict is Verdict.DENY


def test_a_shell_tool_s_other_lines_are_read_too():
    call = ToolCall(tool="Bash", input={"command": "ls", "commands": ["assent approve 3"]}, cwd="/ws")
    operations = read(call, place_of(call, SESSION, FACTS)).operations
    assert any(o.argv == ("assent", "approve", "3") for o in operations)


def test_an_allowed_server_s_ordinary_lines_are_not_asked_about():
    engine = Engine([policy(allow=["mcp__a__*"])], facts=lambda: FACTS)
    for line in ("npm test", "git commit -m x", "cat src/a.py | head", "make > /tmp/log", "curl https://a.example/"):
        call = ToolCall(tool="mcp__a__run", input={"command": line}, cwd="/ws")
        assert engine.decide(call, SESSION).verdict is Verdict.ALLOW, line

"""Whatever is sent about a structured tool is answered with an error or a no: never with 5xx, never with a yes."""

from __future__ import annotations

import json

import pytest

TOOLS = ["Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "replace", "delete_file"]
LOOKS = ["Read", "read_many_files", "Glob", "Grep", "LS", "WebFetch"]
OTHERS = ["mcp__srv__do", "Frobnicate", "Task"]
SENT = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def local(daemon):
    """An agent on this machine."""
    return daemon.api(daemon.mint("agent", agent="near"))


def tell(client, door, data):
    """Send a body as it is; return the status, and whether it was a yes."""
    answer = client.post(door, content=data if isinstance(data, bytes) else json.dumps(data), headers=SENT)
    said = answer.json()
    return answer.status_code, said.get("allow", said.get("decision") in ("allow", "sandboxed")), said


@pytest.fixture(scope="module", params=["/api/hooks/classify", "/api/decide"])
def door(request, local, person):
    """Both places where a call can be held against the rules."""
    client = local if request.param == "/api/hooks/classify" else person
    return lambda data: tell(client, request.param, data)


def body(daemon, tool, given, **more):
    return {"toolName": tool, "toolInput": given, "cwd": str(daemon.project), **more}


@pytest.mark.parametrize("given", [[], [1], "x", 7, 1.5, True, [["a"]]], ids=str)
@pytest.mark.parametrize("tool", [*TOOLS, *LOOKS, *OTHERS])
def test_an_input_that_is_no_object_is_400(daemon, door, tool, given):
    status, yes, said = door(body(daemon, tool, given))
    assert (status, yes) == (400, False)
    assert "toolInput" in (said.get("reason") or said["error"])


#: values of a field that should be a path, or a page
WRONG = [
    None,
    "",
    7,
    1.5,
    True,
    [],
    ["a", 7],
    {},
    {"a": 1},
    "a\0b",
    "a\nb",
    "\u202ea\0",
    "/" + "x" * 5000,
    "C:\\x",
    "\x1b[2J",
]


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("tool", [*TOOLS, *LOOKS])
def test_a_field_of_the_wrong_kind_is_not_allowed(daemon, door, tool, value):
    fields = ("url", "pattern") if tool in ("WebFetch", "Glob") else ("file_path", "paths", "patch", "pattern", "path")
    status, yes, said = door(body(daemon, tool, dict.fromkeys(fields, value)))
    assert (status, yes) == (200, False)
    assert said["reason"]


@pytest.mark.parametrize("tool", [*TOOLS, *LOOKS, *OTHERS])
def test_deep_json_ends_in_an_answer(daemon, door, tool):
    deep = b'{"toolName": "%s", "toolInput": {"file_path": "/etc/x", "edits": ' % tool.encode()
    status, yes, _ = door(deep + b"[" * 900 + b"]" * 900 + b"}}")
    assert status in (200, 400)
    assert not yes or tool in LOOKS
    assert door(deep + b"[" * 50_000 + b"]" * 50_000 + b"}}")[:2] == (400, False)
    assert door(deep + b"[" * 50_000)[:2] == (400, False)


@pytest.mark.parametrize(
    "data",
    [
        b'{"toolName": "Write", "toolInput": {"file_path": "\\ud800"}}',
        b'{"toolName": "Write", "toolInput": {"\\udfff": "a"}}',
        b'{"toolName": "Write", "toolInput": {"file_path": "\xed\xa0\x80"}}',
        b'{"toolName": "Write", "toolInput": {"file_path": "a"}, "cwd": "/\\ud800"}',
        b'{"toolName": "Wr\\ud83dite", "toolInput": {}}',
        b'{"toolName": "Write", "toolInput": {"file_path": "a"}',
        b'{"toolName": "Write", "toolInput": {"n": 1e999}}',
        b'{"toolName": "Write", "toolInput": {"n": NaN}}',
        b'\xef\xbb\xbf{"toolName": "Write"}',
        b'{"toolName": ["Write"]}',
        b'"Write"',
        b"null",
    ],
)
def test_what_is_no_text_or_no_json_is_400(door, data):
    assert door(data)[:2] == (400, False)


@pytest.mark.parametrize("tool", ["Write", "Read", "apply_patch", "mcp__srv__do"])
def test_five_megabytes_are_too_much_or_a_call_like_another(daemon, door, tool):
    much = "x" * (5 << 20)
    for given in ({"file_path": much}, {"path": "/etc/x", "content": much}, {"patch": "\n" + much}, {much: 1}):
        status, yes, _ = door(body(daemon, tool, given))
        assert status in (200, 400, 413)
        assert not yes or (tool, "content" in given) == ("Read", True)
    assert door(body(daemon, tool, {"path": "/etc/x"}))[0] == 200


@pytest.mark.parametrize("cwd", ["relative", ".", "../..", "~", "C:\\x", "/no/such/folder", "/etc/passwd", "/a\0b"])
@pytest.mark.parametrize("tool", ["Write", "Read", "Grep", "LS", "mcp__srv__do", "Bash"])
def test_a_folder_that_is_none_is_an_error(door, tool, cwd):
    given = {"file_path": "notes.txt", "pattern": "x", "command": "ls"}
    status, yes, said = door({"toolName": tool, "toolInput": given, "cwd": cwd})
    assert (status, yes) == (400, False)
    assert "cwd" in (why := said.get("reason") or said["error"]) or cwd in why or "no folder" in why


@pytest.mark.parametrize("cwd", [7, [], {}, True])
def test_a_folder_of_the_wrong_kind_is_400(door, cwd):
    assert door({"toolName": "Write", "toolInput": {"file_path": "a"}, "cwd": cwd})[:2] == (400, False)


@pytest.mark.parametrize("path", ["/etc/x", "../x", ".git/config", ".env", "~/.bashrc", "a/../../x", "assent.yaml"])
@pytest.mark.parametrize("where", [{}, {"cwd": None}, {"cwd": ""}])
def test_without_a_folder_what_matters_by_its_name_is_still_asked_about(door, where, path):
    status, yes, _ = door({"toolName": "Write", "toolInput": {"file_path": path, "content": ""}, **where})
    assert (status, yes) == (200, False)


def test_an_agent_elsewhere_has_folders_that_are_not_here(agent):
    given = {"toolName": "read", "toolInput": {"path": "a"}, "cwd": "/not/on/this/machine"}
    assert tell(agent, "/api/hooks/classify", given)[:2] == (200, True)
    assert tell(agent, "/api/hooks/classify", given | {"cwd": "relative"})[:2] == (400, False)


def test_an_agents_own_hook_is_told_no_with_200(local, daemon):
    call = {"hook_event_name": "PreToolUse", "tool_name": "Write", "tool_input": {"file_path": "a"}, "session_id": "s"}
    for cwd in ("relative", "/no/such/folder"):
        answer = local.post("/api/hooks/claude-code", json=call | {"cwd": cwd})
        assert answer.status_code == 200
        assert answer.json()["hookSpecificOutput"]["permissionDecision"] == "deny"
    over = call | {"hook_event_name": "PostToolUse", "tool_response": {}, "tool_use_id": "t", "cwd": "/no/such/folder"}
    assert local.post("/api/hooks/claude-code", json=over).content == b""
    assert local.post("/api/hooks/claude-code", json=call | {"cwd": str(daemon.project)}).status_code == 200


def test_a_call_that_says_no_folder_does_not_leave_the_rules_of_its_workspace(daemon):
    ruled = daemon.home / "ruled"
    ruled.mkdir()
    (ruled / "assent.yaml").write_text('permissions: {deny: ["mcp__srv__do", "Bash(ls:*)"]}')
    fixed = daemon.api(daemon.mint("agent", agent="fixed", workspace=[str(ruled)]))
    for given in ({"toolName": "mcp__srv__do"}, {"toolName": "bash", "toolInput": {"command": "ls"}}):
        for where in ({}, {"cwd": str(ruled)}, {"cwd": "/"}):
            _, yes, said = tell(fixed, "/api/hooks/classify", given | where)
            assert (yes, said["reason"].startswith("Blocked: denied by ")) == (False, True)

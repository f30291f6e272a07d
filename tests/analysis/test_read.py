"""Reading calls: what each tool would do, and that what is not said clearly is dangerous."""

from __future__ import annotations

import pytest

from assent.analysis.read import read
from assent.analysis.tools.input_fields import LONGEST_PATH
from assent.model import UNKNOWN, CallError, ToolCall
from scenes import place, world

U = UNKNOWN


def operations(tool, given, **scene):
    reading = read(ToolCall(tool=tool, input=given, cwd="/ws"), place(**scene))
    return [(o.kind.value, o.resource, o.tier.value) for o in reading.operations]


#: tool, input, operations
STRUCTURED = [
    ("Read", {"file_path": "/ws/a"}, [("fs.read", "/ws/a", "safe")]),
    ("read", {"path": "a"}, [("fs.read", "/ws/a", "safe")]),
    ("file_read", {"path": "/etc/shadow"}, [("fs.read", "/etc/shadow", "safe")]),
    ("read_file", {"absolute_path": "/x"}, [("fs.read", "/x", "safe")]),
    ("view", {"filePath": "/ws/a"}, [("fs.read", "/ws/a", "safe")]),
    ("read_many_files", {"paths": ["a", "b"]}, [("fs.read", "/ws/a", "safe"), ("fs.read", "/ws/b", "safe")]),
    ("open_file", {"files": [{"path": "a"}]}, [("fs.read", "/ws/a", "safe")]),
    ("list_dir", {"path": "."}, [("fs.read", "/ws", "safe")]),
    ("LS", {"target_directory": "src"}, [("fs.read", "/ws/src", "safe")]),
    ("Write", {"file_path": "/ws/a", "content": "x"}, [("fs.write", "/ws/a", "safe")]),
    ("file_write", {"path": "~/.ssh/config"}, [("fs.write", "/home/dev/.ssh/config", "dangerous")]),
    ("write", {"file_path": "/etc/hosts"}, [("fs.write", "/etc/hosts", "dangerous")]),
    ("write_file", {"path": ".env"}, [("fs.write", "/ws/.env", "dangerous")]),
    ("Write", {"file_path": ".git/hooks/x"}, [("fs.write", "/ws/.git/hooks/x", "dangerous")]),
    ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, [("fs.write", "/ws/a", "safe")]),
    ("NotebookEdit", {"notebook_path": "n.ipynb"}, [("fs.write", "/ws/n.ipynb", "safe")]),
    ("str_replace_editor", {"command": "create", "path": "a"}, [("fs.write", "/ws/a", "safe")]),
    ("delete_file", {"target_file": "a"}, [("fs.write", "/ws/a", "dangerous")]),
    ("Glob", {"pattern": "*.py"}, [("fs.read", "/ws", "safe"), ("fs.read", "/ws/*.py", "safe")]),
    ("Glob", {"pattern": "/etc/*"}, [("fs.read", "/ws", "safe"), ("fs.read", "/etc/*", "safe")]),
    ("Glob", {"pattern": "../*", "path": "src"}, [("fs.read", "/ws/src", "safe"), ("fs.read", "/ws/*", "safe")]),
    ("Grep", {"pattern": "x"}, [("fs.read", "/ws", "safe")]),
    ("Grep", {"pattern": "x", "path": "/etc"}, [("fs.read", "/etc", "safe")]),
    ("Grep", {"pattern": "x", "glob": ".env"}, [("fs.read", "/ws", "safe"), ("fs.read", "/ws/.env", "safe")]),
    ("search_files", {"query": "x", "path": "src"}, [("fs.read", "/ws/src", "safe")]),
    ("WebFetch", {"url": "https://a.test/"}, [("net.connect", "a.test", "safe")]),
    ("WebSearch", {"query": "x"}, [("tool.call", "WebSearch", "safe")]),
    ("TodoWrite", {"todos": []}, [("tool.call", "TodoWrite", "safe")]),
    ("ask_user", {}, [("tool.call", "AskUserQuestion", "safe")]),
    ("Task", {"prompt": "x"}, [("tool.call", "Agent", "dangerous")]),
    ("PowerShell", {"command": "ls"}, [("tool.call", "PowerShell", "dangerous")]),
    (
        "mcp__x__y",
        {"path": "a"},
        [("tool.call", "mcp__x__y", "dangerous"), ("fs.read", "/ws/a", "safe"), ("fs.write", "/ws/a", "safe")],
    ),
]


@pytest.mark.parametrize(("tool", "given", "found"), STRUCTURED)
def test_a_tool_s_input_says_what_it_does(tool, given, found):
    assert operations(tool, given) == found


#: tool, input with several fields that may count, operations
AMBIGUOUS = [
    ("Read", {"file_path": "a", "path": "/etc/x"}, ["/etc/x", "/ws/a"]),
    ("Read", {"path": "a", "paths": None}, ["/ws/a"]),
    ("Read", {"path": "a", "paths": ["b", "c"]}, ["/ws/a", "/ws/b", "/ws/c"]),
    ("Write", {"file_path": "a", "path": "a"}, ["/ws/a"]),
    ("Write", {"file_path": "/etc/x", "input": "*** Add File: ok\n"}, ["/etc/x", "/ws/ok"]),
    ("Write", {"paths": ["/etc/x"], "patch": "*** Add File: ok\n"}, ["/etc/x", "/ws/ok"]),
    ("Edit", {"patch": "*** Add File: a\n", "input": "*** Add File: b\n"}, ["/ws/a", "/ws/b"]),
    ("Edit", {"file_path": "a", "edits": [{"file_path": "/etc/x"}, {"old": "y"}, 7]}, ["/etc/x", "/ws/a"]),
    ("Write", {"file_path": "a", "input": "two\nlines"}, ["/ws/a"]),
    ("Glob", {"pattern": "*.md", "glob_pattern": "/etc/*"}, ["/etc/*", "/ws", "/ws/*.md"]),
    ("Grep", {"pattern": "x", "include": ".env", "glob": "a"}, ["/ws", "/ws/.env", "/ws/a"]),
    ("Grep", {"pattern": "x", "paths": ["a", "b"], "glob": "c"}, ["/ws/a", "/ws/a/c", "/ws/b", "/ws/b/c"]),
]


@pytest.mark.parametrize(("tool", "given", "resources"), AMBIGUOUS)
def test_every_field_that_may_count_is_read(tool, given, resources):
    assert sorted(r for _, r, _ in operations(tool, given)) == resources


#: tool, input that does not say which file
UNCLEAR = [
    ("Read", {}),
    ("Read", {"file_path": None}),
    ("Read", {"file_path": ""}),
    ("Read", {"file_path": 7}),
    ("Read", {"file_path": ["a"]}),
    ("Read", {"paths": "a"}),
    ("Read", {"paths": []}),
    ("Read", {"paths": ["a", 7]}),
    ("Read", {"files": [{"name": "a"}]}),
    ("Read", {"include": ["a"]}),
    ("Write", {"content": "x"}),
    ("Write", {"file_path": {"a": 1}}),
    ("Edit", {"edits": "x"}),
    ("Edit", {"command": "no\npatch"}),
    ("delete_file", {}),
    ("Grep", {"pattern": "x", "path": 7}),
    ("Glob", {"pattern": 7}),
    ("Glob", {"pattern": ""}),
    ("Grep", {"pattern": "x", "glob": 7}),
]


@pytest.mark.parametrize(("tool", "given"), UNCLEAR)
def test_what_does_not_say_which_file_is_unknown_and_dangerous(tool, given):
    found = operations(tool, given)
    assert any(U in resource and tier == "dangerous" for _, resource, tier in found)


@pytest.mark.parametrize("given", [{}, {"pattern": None}, {"pattern": 7}, {"path": "/etc"}])
def test_a_search_that_does_not_say_for_what_is_dangerous_and_still_reads_its_folder(given):
    found = operations("Grep", given)
    assert ("tool.call", "Grep", "dangerous") in found
    assert found[0][:2] == ("fs.read", given.get("path", "/ws"))


def test_a_patch_writes_every_file_it_names():
    patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: /etc/hosts\n*** Move to: ../b\n*** End Patch"
    for given in ({"command": patch}, {"patch": patch}, {"input": patch}, {"patchText": patch}):
        assert operations("apply_patch", given) == [
            ("fs.write", "/ws/a", "safe"),
            ("fs.write", "/etc/hosts", "dangerous"),
            ("fs.write", "/b", "safe"),
        ]


def test_a_patch_that_is_one_line_is_a_patch_too():
    assert operations("apply_patch", {"input": "*** Delete File: a"}) == [("fs.write", "/ws/a", "dangerous")]
    assert operations("apply_patch", {"input": "***  Add File: a"}) == [("fs.write", "/ws/a", "safe")]


def test_a_file_is_known_by_where_it_leads():
    facts = world(links={"/ws/l": "/home/dev/.ssh/id_rsa"})
    reading = read(ToolCall(tool="Read", input={"path": "l"}, cwd="/ws"), place(facts=facts))
    (operation,) = reading.operations
    assert (operation.target, operation.secret) == ("/home/dev/.ssh/id_rsa", True)
    assert reading.facts == {"disk": "known"}


@pytest.mark.parametrize("path", ["/" + "a" * LONGEST_PATH, "a" * (LONGEST_PATH + 1)])
def test_a_path_longer_than_any_disk_takes_is_refused(path):
    with pytest.raises(CallError, match="longer than"):
        operations("Read", {"path": path})


def test_the_worst_operation_gives_the_tier_and_its_reason():
    reading = read(ToolCall(tool="Write", input={"paths": ["a", "/etc/x"]}, cwd="/ws"), place())
    assert (reading.tier.value, reading.reason) == ("dangerous", "writes to a sensitive path")


def test_a_line_of_another_shell_can_not_be_read():
    reading = read(ToolCall(tool="pwsh", input={"command": "rm x"}), place())
    assert reading.unreadable == "a command of another shell"


def commands(given, **scene):
    reading = read(ToolCall(tool="Bash", input=given, cwd="/ws"), place(**scene))
    return [o.resource for o in reading.operations if o.argv]


#: input of a shell tool, commands found
LINES = [
    ({"command": "ls -l"}, ["ls -l"]),
    ({"input": "ls"}, ["ls"]),
    ({"cmd": "ls"}, ["ls"]),
    ({"command": "ls", "input": "pwd", "cmd": "id"}, ["ls", "pwd", "id"]),
    ({"command": ["ls", "-l"]}, ["ls -l"]),
    ({"command": "ls", "args": ["a b"]}, ["ls 'a b'"]),
    ({}, [U]),
    ({"command": None}, [U]),
    ({"command": 7}, [U]),
    ({"command": []}, [U]),
    ({"command": ["ls", 7]}, [U]),
    ({"command": ["ls"], "args": ["x"]}, [U]),
    ({"command": "ls", "args": "x"}, [U]),
    ({"command": "ls", "args": [7]}, [U]),
    ({"script": "ls"}, [U]),
]


@pytest.mark.parametrize(("given", "found"), LINES)
def test_every_field_that_may_be_run_is_read(given, found):
    assert commands(given) == found


def test_a_command_that_is_not_said_is_unreadable_and_dangerous():
    reading = read(ToolCall(tool="Bash", input={}), place())
    assert (reading.tier.value, reading.unreadable) == ("dangerous", "contains no command")


def test_operations_of_a_second_line_belong_to_its_own_commands():
    reading = read(ToolCall(tool="Bash", input={"command": "cat a", "cmd": "cat b"}, cwd="/ws"), place())
    owners = {o.resource: o.owner for o in reading.operations}
    files = [reading.operations[owners[f]].resource for f in ("/ws/a", "/ws/b")]
    assert files == ["cat a", "cat b"]


#: other fields, the folder that relative paths start from
FOLDERS = [
    ({}, "/ws/a"),
    ({"cwd": "/tmp"}, "/tmp/a"),
    ({"workdir": "sub"}, "/ws/sub/a"),
    ({"working_directory": "~"}, "/home/dev/a"),
    ({"cwd": "/tmp", "workdir": "/tmp/"}, "/tmp/a"),
    ({"cwd": "/tmp", "workdir": "/etc"}, f"{U}/a"),
    ({"cwd": 7}, f"{U}/a"),
    ({"cwd": ""}, f"{U}/a"),
]


@pytest.mark.parametrize(("fields", "path"), FOLDERS)
def test_a_folder_in_the_input_moves_paths_and_no_boundary(fields, path):
    reading = read(ToolCall(tool="Bash", input={"command": "cat a", **fields}, cwd="/ws"), place())
    # An agent that does not know the field stays where it is.
    files = {o.resource for o in reading.operations if o.kind.value == "fs.read"}
    assert files == {path, "/ws/a"}


#: other fields, why they make a call dangerous
EXTRAS = [
    ({"env": {"A": "b"}}, "sets environment variables for the command"),
    ({"environment": {"A": "b"}}, "sets environment variables for the command"),
    ({"stdin": "touch x"}, "sets more than the command"),
    ({"script": "touch x"}, "sets more than the command"),
    ({"command_line": "touch x"}, "sets more than the command"),
    ({"argv": ["touch", "x"]}, "sets more than the command"),
    ({"program": "touch"}, "sets more than the command"),
    ({"shellCommand": {"a": "touch x"}}, "sets more than the command"),
    ({"dangerouslyDisableSandbox": True}, "asks to leave the agent's own sandbox"),
    ({"with_escalated_permissions": True}, "asks to leave the agent's own sandbox"),
]


@pytest.mark.parametrize(("fields", "reason"), EXTRAS)
def test_what_else_a_shell_tool_is_asked_for_is_dangerous(fields, reason):
    reading = read(ToolCall(tool="Bash", input={"command": "ls", **fields}), place())
    assert (reading.tier.value, reading.reason) == ("dangerous", reason)
    for plain in (
        {"env": {}},
        {"Description": "x"},
        {"command_id": "x"},
        {"exec": True},
        {"program": ""},
        {"other": "x"},
    ):
        assert read(ToolCall(tool="Bash", input={"command": "ls", **plain}), place()).tier.value == "safe"


#: what else is in the input of a shell call
MORE = [
    {"shell": "./evil"},
    {"shell": ["bash"]},
    {"sandbox_permissions": "require_escalated"},
    {"additional_permissions": {"network": True}},
]


@pytest.mark.parametrize("more", MORE, ids=str)
def test_another_shell_or_more_rights_are_dangerous(more):
    assert operations("exec_command", {"cmd": "ls", **more})[-1][2] == "dangerous"
    assert operations("exec_command", {"cmd": "ls", "shell": "bash"})[-1][2] == "safe"


@pytest.mark.parametrize("spelling", ["file:///etc/x", "FILE:///etc/x", "file:/etc/x", "file://localhost/etc/x"])
def test_a_file_address_is_the_file(spelling):
    assert operations("Read", {"file_path": spelling})[0][1] == "/etc/x"


@pytest.mark.parametrize(
    ("path", "shown"), [("/home/dev", True), ("/", True), ("/home/dev/.assent", True), ("a", False)]
)
def test_a_search_of_contents_above_assent_s_own_files_reads_them(path, shown):
    own = "/home/dev/.assent"
    reading = read(
        ToolCall(tool="Grep", input={"pattern": "x", "path": path}, cwd="/ws"), place(facts=world(assent_paths=(own,)))
    )
    assert (own in [o.resource for o in reading.operations]) is shown


@pytest.mark.parametrize("spelling", ["C:\\x", "c:/x", "\\\\host\\x", "file://host/x", "https://x.example/y"])
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit"])
def test_a_path_of_another_system_is_not_known(tool, spelling):
    assert operations(tool, {"file_path": spelling})[0][1:] == (UNKNOWN, "dangerous")


@pytest.mark.parametrize("path", ["/dev/fd/3", "/proc/self/fd/4", "/proc/1/fd/5"])
def test_what_is_already_open_may_be_a_secret(path):
    assert read(ToolCall(tool="Read", input={"file_path": path}), place()).operations[0].secret


@pytest.mark.parametrize(
    "words", [["cat", "a" * 70_000], ["cat", *["ab"] * 30_000], ["sqlite3", "x", "select 1;" * 9_000]]
)
def test_words_in_a_list_may_be_no_longer_than_a_line(words):
    reading = read(ToolCall(tool="Bash", input={"command": words}, cwd="/ws"), place())
    assert "longer than" in reading.unreadable
    assert reading.tier.value == "dangerous"
    assert read(ToolCall(tool="Bash", input={"command": words[:1]}, cwd="/ws"), place()).unreadable is None

"""Fields of structured tools: whatever may name a file is read as one, in every vocabulary, and text is not."""

from __future__ import annotations

import pytest

from assent.analysis.read import read
from assent.analysis.tools.input_fields import DEEPEST, MOST_PATHS
from assent.analysis.tools.names import TOOLS
from assent.model import UNKNOWN, CallError, Facts, ToolCall, Verdict
from assent.policy.engine import Engine
from scenes import SESSION, place, world

U = UNKNOWN
BAD = "/etc/x"
WRITERS = [n for t in TOOLS if t.shape == "write" for n in (t.name, *t.aliases)]
READERS = [n for t in TOOLS if t.shape in ("read", "search") for n in (t.name, *t.aliases)]

#: fields that some vocabulary may take for the file, beside one that all know
OTHERS = [
    *("TargetFile", "targetFile", "AbsolutePath", "FilePath", "file_name", "fileName", "FileName", "full_path", "uri"),
    *("fileUri", "relative_path", "abs_path", "destination", "dest", "dst", "to", "from", "output", "outputPath"),
    *("source", "src", "new_path", "move_path", "location", "SearchPath", "DirectoryPath", "root_dir", "target"),
    *("anything", "x"),
]


def touched(tool, given):
    reading = read(ToolCall(tool=tool, input=given, cwd="/ws"), place())
    return {o.resource for o in reading.operations}


@pytest.mark.parametrize("field", OTHERS)
@pytest.mark.parametrize("tool", ["Write", "Edit", "Read", "Grep", "LS", "Delete"])
def test_a_second_field_that_may_be_the_file_is_read(tool, field):
    assert BAD in touched(tool, {"file_path": "a", "pattern": "x", field: BAD})
    assert BAD in touched(tool, {"file_path": "a", "pattern": "x", "more": [{field: BAD}]})
    # Alone it does not say which file is meant.
    assert touched(tool, {field: BAD}) > {BAD}


#: what stands beside a file that is fine, and names another
BESIDE = [
    {"edits": [{"file_path": BAD}]},
    {"edits": [{"target": "ok"}, [{"path": BAD}]]},
    {"edits": {"path": BAD}},
    {"changes": {BAD: {"type": "add"}}},
    {"changes": [{"path": BAD, "old": "a"}]},
    {"operation": {"type": "create_file", "path": BAD}},
    {"files": [{"path": "b", "file_path": BAD}]},
    {"files": [{"path": "b", "name": BAD}]},
    {"file_paths": ["b", BAD]},
    {"targets": [BAD]},
]


@pytest.mark.parametrize("beside", BESIDE, ids=str)
def test_a_file_inside_lists_and_objects_is_read(beside):
    assert BAD in touched("MultiEdit", {"file_path": "a", **beside})


@pytest.mark.parametrize("tool", WRITERS)
def test_whatever_a_writing_tool_is_called_no_second_file_slips_through(tool):
    engine = Engine(facts=world)
    for beside in ({"TargetFile": BAD}, {"edits": [{"path": BAD}]}, {"x": {".": {"/etc/x": 1}}}, {"workdir": "/etc"}):
        call = ToolCall(tool=tool, input={"file_path": "a", "path": "a", **beside}, cwd="/ws")
        assert engine.decide(call, SESSION).verdict is Verdict.ASK


@pytest.mark.parametrize("tool", READERS)
def test_whatever_a_reading_tool_is_called_no_second_secret_slips_through(tool):
    engine = Engine(facts=world)
    for beside in ({"TargetFile": ".env"}, {"x": "~/.ssh/id_rsa"}, {"workdir": "~/.ssh"}, {"y": [{"path": ".env"}]}):
        call = ToolCall(tool=tool, input={"file_path": "a", "pattern": "x", **beside}, cwd="/ws")
        assert engine.decide(call, SESSION).verdict is Verdict.ASK


@pytest.mark.parametrize(
    "more",
    [
        {"content": BAD},
        {"old_string": BAD, "new_string": "~/.ssh"},
        {"file_text": BAD},
        {"description": BAD, "replace_all": True},
        {"edits": [{"old_string": BAD, "new_string": "b"}]},
        {"TargetContent": BAD},
        {"source": "a\nb"},
        {"source": "", "flag": True, "count": 3, "none": None},
        {"language": "python", "note": "see /etc/x"},
    ],
    ids=str,
)
def test_text_names_no_file(more):
    assert {r for r in touched("Edit", {"file_path": "a", **more}) if not r.startswith("/ws/")} == set()


@pytest.mark.parametrize(
    "more",
    [
        {"edits": [{"path": 7}]},
        {"edits": [{"path": ""}]},
        {"edits": [{"path": None}]},
        {"TargetFile": "C:\\x"},
        {"TargetFile": "https://x.example/"},
        {"source": "https://x.example/"},
    ],
    ids=str,
)
def test_a_second_file_that_is_not_clear_is_unknown(more):
    assert U in {r.removeprefix("/ws/") for r in touched("Edit", {"file_path": "a", **more})}


def nested(depth):
    value = {"path": "b"}
    for _ in range(depth):
        value = [value]
    return value


def test_what_lies_deeper_than_anybody_looks_may_be_any_file():
    assert touched("Edit", {"file_path": "a", "edits": nested(DEEPEST - 2)}) == {"/ws/a", "/ws/b"}
    assert U in {r.removeprefix("/ws/") for r in touched("Edit", {"file_path": "a", "edits": nested(DEEPEST)})}
    with pytest.raises(CallError, match="nested more than"):
        touched("Edit", {"file_path": "a", "edits": nested(50_000)})


@pytest.mark.parametrize("field", ["paths", "others"])
def test_a_call_that_names_more_files_than_anybody_looks_at_is_refused(field):
    many = [{"path": f"f{i}"} for i in range(MOST_PATHS + 1)]
    for tool in ("Read", "Write", "Grep"):
        with pytest.raises(CallError, match="names more than"):
            touched(tool, {"pattern": "x", field: many})


def test_a_folder_given_beside_a_file_is_where_it_may_be():
    assert touched("Write", {"file_path": "a", "workdir": "/etc"}) == {"/ws/a", "/etc/a"}
    assert touched("Write", {"file_path": "/ws/a", "cwd": "/etc"}) == {"/ws/a"}
    assert touched("apply_patch", {"input": "*** Add File: a", "cwd": "/etc"}) == {"/ws/a", "/etc/a"}
    assert touched("Write", {"file_path": "a", "cwd": 7}) == {"/ws/a", f"{U}/a"}
    assert touched("Write", {"file_path": "a", "cwd": None}) == {"/ws/a"}


@pytest.mark.parametrize("given", [{"paths": ["a", "~/.s?h/*"]}, {"include": [".e*"], "paths": ["a"]}])
def test_many_files_read_by_a_pattern_are_read_by_the_names_it_may_find(given):
    assert Engine(facts=world).decide(ToolCall(tool="read_many_files", input=given, cwd="/ws"), SESSION).verdict is (
        Verdict.ASK
    )


@pytest.mark.parametrize("tool", ["apply_patch", "patch", "Apply_Patch"])
@pytest.mark.parametrize("field", ["patch", "command", "input", "diff"])
@pytest.mark.parametrize(
    "patch", ["w /etc/x", "1c\nx\n.\nw /etc/x\n", ["apply_patch", "*** Add File: a"], {"a": 1}, 7, ""]
)
def test_a_patch_that_can_not_be_read_may_change_any_file(tool, field, patch):
    assert U in touched(tool, {"file_path": "a", field: patch})


def test_a_text_beside_the_file_of_an_edit_need_be_no_patch():
    assert touched("replace_in_file", {"path": "a", "diff": "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"}) == {
        "/ws/a"
    }


@pytest.mark.parametrize(
    "given",
    [
        {"file_path": [".claude/x"]},
        {"file_path": {"path": ".claude/x"}},
        {"path": [{"uri": ".claude/x"}]},
        {"path": [[".claude/x"]]},
        {"paths": ".claude/x"},
        {"paths": {"path": ".claude/x"}},
        {"paths": [[".claude/x"]]},
        {"file_path": "x", "cwd": ["/ws/.claude"]},
    ],
)
def test_something_else_in_the_place_of_a_path_is_looked_into(given):
    assert {"/ws/.claude/x"} < touched("Write", {**given, "content": "y"})
    assert any(r.startswith(U) or U in r for r in touched("Write", given))


@pytest.mark.parametrize("field", ["include", "glob", "file_pattern"])
def test_a_filter_beside_files_to_read_may_name_one(field):
    for value in (".env", [".env"], [{"path": ".env"}], {"path": ".env"}):
        given = {"paths": ["a"], field: value}
        decision = Engine(facts=world).decide(ToolCall(tool="read_many_files", input=given, cwd="/ws"), SESSION)
        assert decision.verdict is Verdict.ASK
        assert "/ws/.env" in touched("read_many_files", given)
    assert touched("read_many_files", {"paths": ["a"], field: ""}) == {"/ws/a"}


def test_a_folder_alone_is_what_a_call_is_about():
    assert "/home/dev/.ssh" in touched("list_dir", {"folder": "/home/dev/.ssh"})
    assert "/ws/.claude" in touched("Delete", {"workdir": ".claude"})


@pytest.mark.parametrize("field", ["folder", "dir", "cwd", "workdir", "working_directory"])
@pytest.mark.parametrize("beside", [{}, {"path": "/ws/src"}, {"path": "src"}])
def test_a_search_in_a_folder_by_any_name_is_a_search_there(field, beside):
    given = {"pattern": "x", field: "/home/dev/.ssh", **beside}
    assert "/home/dev/.ssh" in touched("Grep", given)
    assert Engine(facts=world).decide(ToolCall(tool="Grep", input=given, cwd="/ws"), SESSION).verdict is Verdict.ASK


@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_filters_in_a_list_are_filters(tool):
    assert "/ws/.env" in touched(tool, {"pattern": "x", "glob": [".env"]})


def test_more_is_not_deleted_than_is_looked_at():
    facts = Facts(resolve=str, names=lambda _: [])
    engine = Engine(facts=lambda: facts)
    few, many = (ToolCall(tool="Delete", input={"paths": [f"d{i}" for i in range(n)]}, cwd="/ws") for n in (20, 700))
    assert engine.decide(few, SESSION).verdict is Verdict.ASK
    refused = engine.decide(many, SESSION)
    assert (refused.verdict, "deletes too many files" in refused.decision_reason) == (Verdict.DENY, True)

"""What strings of an input name: places and machines in any spelling, and neither in prose, ids, patterns and code."""

from __future__ import annotations

import json

import pytest

from assent.analysis.tools.argument_resources import MOST_VALUES, find_arguments
from assent.analysis.tools.input_fields import MOST_PATHS
from assent.analysis.tools.nested_json import DEEPEST, LONGEST_JSON
from assent.analysis.tools.path_spellings import MOST, spellings
from assent.model import UNKNOWN, CallError, Facts, ToolCall, Verdict
from assent.policy.engine import Engine
from scenes import HOME, SESSION, place, policy, world

U = UNKNOWN
OWN = f"{HOME}/.local/share/assent"
FILE = f"{HOME}/.config/assent/assent.yaml"
HOOK = f"{HOME}/.claude/settings.json"
WIRED = "/ws/.claude/settings.json"
THERE = {"/ws", "/ws/src", "/ws/my notes", "/ws/main", "/etc/shadow", "/ws/up"}
FACTS = world(
    links={"/ws/up": HOME, "/ws/out": "/etc"},
    exists=THERE.__contains__,
    assent_paths=(OWN,),
    assent_files=(FILE, HOOK, WIRED),
    assent_endpoints=("127.0.0.1:7422", "localhost:7422"),
)


def shown(value):
    """Name a case by what is given; sets come in any order."""
    return "" if isinstance(value, set) else str(value)[:40]


def found(given, *, facts=FACTS, words=frozenset(), **where):
    return find_arguments(given, place(facts=facts, **where), words)


def named(given, **scene):
    return {p.path for p in found(given, **scene).places}


#: a string, and the places that it names, seen from /ws
PLACES = [
    ("/ws/a", {"/ws/a"}),
    ("a.py", {"/ws/a.py"}),
    ("src/a", {"/ws/src/a"}),
    ("src", {"/ws/src"}),
    ("my notes/a", {"/ws/my notes/a"}),
    (".env", {"/ws/.env"}),
    (".", {"/ws"}),
    ("..", {"/"}),
    ("x/..", {"/ws"}),
    ("no such/../a", {"/ws/a"}),
    ("~/a", {f"{HOME}/a"}),
    ("~dev/a", {f"{HOME}/a"}),
    ("~ann/a", {f"{HOME}/a", "/home/ann/a"}),
    ("$HOME/a", {f"{HOME}/a"}),
    ("${env:HOME}/a", {"/ws/${env:HOME}/a", f"{HOME}/a"}),
    ("%USERPROFILE%/a", {"/ws/%USERPROFILE%/a", f"{HOME}/a"}),
    ("$XDG_CONFIG_HOME/a", {f"{U}/a", f"{HOME}/.config/a"}),
    ("$ASSENT_HOME/token", {f"{U}/token", f"{OWN}/token"}),
    ("$OTHER/a", {f"{U}/a"}),
    ("file:///etc/a", {"/etc/a"}),
    ("file:a.b", {"/ws/file:a.b", "/ws/a.b"}),
    ("file:///%65tc/a", {"/%65tc/a", "/etc/a"}),
    ("file://host/etc/a", {"/etc/a", "/host/etc/a"}),
    ("..\\..\\etc\\a", {"/etc/a"}),
    ("'/etc/a'", {"/etc/a"}),
    ("--file=/etc/a", {"/etc/a"}),
    ("/etc/a:/b:ro", {"/etc/a:/b:ro", "/etc/a", "/b:ro", "/b"}),
    ("a.py,/etc/a", {"/ws/a.py,/etc/a", "/ws/a.py", "/etc/a"}),
    ("/etc/a\0.txt", {"/etc/a.txt", "/etc/a"}),
    ("out/a.py", {"/ws/out/a.py"}),
    ("main/../../out/a", {"/out/a"}),
    ("src/x/../../up/../a.b", {"/ws/a.b"}),
    ("$PWD/a.b", {f"{U}/a.b", "/ws/a.b"}),
    ("\\\\?\\etc\\a", {"/etc/a", "/?/etc/a"}),
    ("//wsl$/Any/etc/a", {"/wsl$/Any/etc/a", "/etc/a"}),
    ("/" * 5000 + "etc/a", {"/etc/a"}),
    ("/x/.." * 2000 + "/etc/a", {"/etc/a"}),
]


@pytest.mark.parametrize(("text", "places"), PLACES, ids=shown)
def test_a_string_names_places_by_every_spelling(text, places):
    assert named({"x": text}) == places


#: strings that name no place
WORDS = [
    *("", "  ", "main!", "hello world", "see /etc/x", "look at ~/.ssh/id_rsa please", "~50% faster", "$5 a month"),
    *("feature/secrets", "owner/repo", "credentials", "text/html", "2024/01/02", "v1.2.3", "01HZX", "a / b"),
    *("import os\nprint('/etc/x')", "https://a.example/x.py", "const x = require('../../.env'); y()", "*/5 * * * *"),
    "/9j/" + "A/+b" * 2000,
]


@pytest.mark.parametrize("text", WORDS, ids=shown)
def test_prose_ids_branches_and_code_name_no_place(text):
    assert named({"x": text}) == set()
    assert named({"x": [{"y": (text,)}]}) == set()


@pytest.mark.parametrize("field", ["path", "file", "output_file", "cwd", "rootDir", "folder"])
def test_a_field_that_says_so_holds_a_place_whatever_stands_in_it(field):
    assert named({field: "new"}) == {"/ws/new"}
    assert named({"x": [{field: "new"}]}) == {"/ws/new"}
    assert named({"x": "new"}) == set()


#: a string, and the protected place that a part of it names
PARTS = [
    ("file:///ws/.env?x=1", "/ws/.env"),
    ("/ws/.env#L10", "/ws/.env"),
    ("jar:file:/ws/.env!/x", "/ws/.env"),
    (".env@HEAD", "/ws/.env"),
    ("$X/../../.ssh/id_rsa", f"{U}/.ssh/id_rsa"),
    ("$X/../etc/shadow", "/etc/shadow"),
    ("~+/.env", f"{U}/.env"),
    ("/etc/sh{a,b}dow", "/etc/shadow"),
    ("**/id_rsa", "/ws/**/id_rsa"),
    ("a=1&path=/etc/shadow&b=2", "/etc/shadow"),
]


@pytest.mark.parametrize(("text", "part"), PARTS, ids=shown)
def test_a_protected_place_is_found_whatever_stands_around_it(text, part):
    assert part in named({"x": text})


def test_fields_that_hold_several_words_name_each_of_them():
    assert "/etc/shadow" in named({"paths": "/etc/shadow a.py"})
    assert "/etc/a" in named({"paths": "a.py\n/etc/a"}) & named({"paths": "a.py\t/etc/a"})
    assert "/etc/shadow" in named({"args": "-v jar:file:/etc/shadow!/x"})
    assert named({"args": "-v main https://a.example/etc/shadow"}) == set()
    assert named({"x": "a.py\n/etc/shadow"}) == named({"args": f"-v {'x' * 5000}"}) == set()
    assert named({"path": "/etc/my /etc/file"}) == {"/etc/my /etc/file"}
    assert "/etc/shadow" in named({"path": "a.py /etc/shadow"})
    assert named({"content": json.dumps({"paths": f"a.py {FILE} /etc/shadow"})}) == {FILE}
    assert found({"args": "-v http://127.0.0.1:7422/"}).hosts == ("localhost:7422", "127.0.0.1:7422")


def test_a_list_may_be_the_names_of_one_path():
    assert {"/etc/shadow", "/ws/etc/shadow"} <= named({"path": ["etc", "shadow"]})
    assert "/home/dev/.ssh/id" in named({"x": ["home", "dev", ".ssh", "id"]})
    assert "/etc/shadow" in named({"x": ["", "etc", "shadow"]})
    assert named({"x": ["/", "etc", "shadow"]}) >= {"/etc/shadow"}
    assert named({"x": ["etc", "shadow"]}) == named({"x": ["", "etc", "a"]}) == set()
    assert named({"x": ["etc", 3]}) == named({"x": ["etc", "the shadow"]}) == set()


def test_a_patch_names_the_files_that_it_changes():
    patch = "*** Begin Patch\n*** Update File: /etc/a\n@@\n-a\n+b\n*** End Patch"
    for field in ("patch", "input", "edits"):
        assert named({field: patch}) == {"/etc/a"}
    assert named({"body": patch}) == named({"content": json.dumps({"patch": patch})}) == set()
    assert named({"patch": "nothing\nof the kind"}) == set()


def test_json_in_strings_and_keys_is_looked_into():
    assert named({"x": json.dumps({"path": "new", "y": ["/etc/a"]})}) == {"/ws/new", "/etc/a"}
    assert named({"x": json.dumps(json.dumps(["/etc/a"]))}) == {"/etc/a"}
    assert named({"x": '{"broken": "/etc/a"'}) == set()
    assert named({"/etc/a": 1, "x": {"/etc/b": {json.dumps(["/etc/c"]): None}}}) == {"/etc/a", "/etc/b", "/etc/c"}
    assert named({"x": json.dumps(["/etc/a"] + ["y"] * LONGEST_JSON)}) == set()


def test_json_that_is_the_content_of_a_file_names_only_what_is_assent_s_own():
    assert named({"content": json.dumps({"path": "/etc/a", "files": [".env"]})}) == set()
    assert named({"content": json.dumps({"x": f"{OWN}/token", "y": "x/../b"})}) == {f"{OWN}/token"}
    assert named({"content": json.dumps("/etc/a")}) == {"/etc/a"}
    assert named({"input": json.dumps({"path": "/etc/a"})}) == {"/etc/a"}


def test_words_are_words_whatever_stands_in_them():
    given = {
        "content": "/etc/a",
        "x": [{"content": "/etc/b", "path": "/etc/c"}],
        "y": json.dumps({"content": "/etc/d"}),
    }
    assert named(given, words=frozenset({"content"})) == {"/etc/c"}
    assert named({"content": json.dumps(["/etc/a"])}, words=frozenset({"content"})) == set()


def test_a_relative_path_is_counted_from_every_folder_that_the_tool_may_stand_in():
    assert named({"x": "a.py"}, cwd="/ws/src") == {"/ws/src/a.py", "/ws/a.py"}
    assert named({"x": "a.py"}, cwd=None) == {"/ws/a.py"}
    assert named({"x": "a.py", "y": "new"}, cwd=None, workspace=()) == {f"{U}/a.py"}
    assert named({"x": ".config/assent/assent.yaml"}) == {"/ws/.config/assent/assent.yaml", FILE}
    assert named({"x": "home/dev/.config/assent/assent.yaml"}) >= {FILE}
    assert named({"dir": "/etc", "x": "shadow"}) == {"/etc", "/etc/shadow"}
    assert named({"dir": HOME, "x": ".ssh/a"}) == {HOME, "/ws/.ssh/a", f"{HOME}/.ssh/a"}
    assert named({"dir": "/etc", "x": "a.py"}) == {"/etc", "/ws/a.py"}
    assert named({"dir": f"{HOME}/.ssh", "x": "a.py"}) == {f"{HOME}/.ssh", "/ws/a.py"}


@pytest.mark.parametrize(
    ("given", "protected"),
    [
        ({"dir": "/etc", "name": "shadow"}, "/etc/shadow"),
        ({"folder": "/etc/", "file": "shadow"}, "/etc/shadow"),
        ({"a": {"dir": "/etc"}, "b": {"c": {"name": "shadow"}}}, "/etc/shadow"),
        ({"dir": "/ws", "name": "Jenkinsfile"}, "/ws/Jenkinsfile"),
        ({"dir": "/etc", **{f"x{i}": f"word{i}" for i in range(300)}, "name": "shadow"}, "/etc/shadow"),
        ({"paths": [f"/data/x{i}" for i in range(30)], "dir": "/etc", "name": "shadow"}, "/etc/shadow"),
    ],
)
def test_a_folder_and_a_plain_name_beside_it_are_a_path_also_where_the_disk_is_not_seen(given, protected):
    assert protected in named(given, facts=world())


def test_a_plain_word_at_home_names_no_secret():
    assert "/ws/credentials" not in named({"dir": "/ws", "kind": "credentials"}, facts=world())


def test_more_folders_and_names_than_are_put_together_are_refused():
    given = {"paths": [f"/data/x{i}" for i in range(60)], "names": [f"word{i}" for i in range(60)]}
    with pytest.raises(CallError, match="by their folders and names"):
        named(given)


def test_links_lead_where_they_lead_and_where_a_tool_takes_them_that_tidies_first():
    assert {p.target for p in found({"x": "up/.config/a"}).places} == {f"{HOME}/.config/a"}
    kernel = {"/ws/link/../state/a.b": "/other/state/a.b", "/ws/state/a.b": f"{OWN}/a.b"}
    facts = world(resolve=lambda p: kernel.get(p, p), assent_paths=(OWN,))
    places = found({"x": "link/../state/a.b"}, facts=facts).places
    assert {p.target for p in places} == {"/other/state/a.b", f"{OWN}/a.b"}


#: a pattern of file names, and what else it may find
PATTERNS = [
    ("~/.s?h/*", {f"{HOME}/.s?h/*", f"{HOME}/.ssh/*"}),
    (".cl*/settings.json", {"/ws/.cl*/settings.json", "/ws/.claude/settings.json", "/ws/.claude.json/settings.json"}),
    ("src/*.py", {"/ws/src/*.py"}),
    ("^src/.*", {"/ws/^src/.*"}),
    ("{a,b}.py", {"/ws/{a,b}.py", "/ws/b}.py"}),
    ("{" * 20 + ".py", {"/ws/" + "{" * 20 + ".py"}),
]


@pytest.mark.parametrize(("text", "places"), PATTERNS, ids=shown)
def test_a_pattern_names_what_it_may_find(text, places):
    assert named({"x": text}) == places


#: what comes near Assent's own files without naming them
NEAR = [
    ({"x": HOME}, {OWN, FILE, HOOK}),
    ({"x": f"{HOME}/.config"}, {FILE}),
    ({"x": "/ws/up"}, {OWN, FILE, HOOK}),
    ({"path": "/"}, {OWN, FILE, HOOK}),
    ({"x": "/"}, set()),
    ({"x": "/ws"}, set()),
    ({"path": "."}, set()),
    ({"x": "~/.local/share/*/token"}, {OWN}),
    ({"x": "~/.local/share/{assent,x}/token"}, {OWN}),
    ({"x": "$X/assent/token"}, {OWN}),
    ({"x": "$X/.config/assent/assent.yaml"}, {FILE}),
    ({"x": "$X/settings.json"}, set()),
    ({"cmd": "cat ~/.local/share/assent/token"}, {OWN}),
    ({"body": f"cat {OWN}/token"}, {OWN}),
    ({"body": "the folder .local/share/assent-tools"}, set()),
    ({"body": "the folders .local/share/assent2 and .local/share/assent"}, {OWN}),
    ({"body": 'no JSON: ".local\\/share\\u002fassent\\/token"'}, {OWN}),
    ({"body": "x" * 5000 + OWN.upper()}, {OWN}),
    ({"body": "see ~/.config/assent/assent.yaml"}, set()),
    ({"command": "vi ~/.config/assent/assent.yaml"}, {FILE}),
]


@pytest.mark.parametrize(("given", "near"), NEAR, ids=shown)
def test_what_is_mentioned_or_lies_in_a_named_folder_may_be_touched(given, near):
    assert set(found(given).near) == near


def test_what_lies_in_no_home_is_mentioned_by_its_whole_path_alone():
    for home in (None, "/home/other"):
        facts = world(home=home, assent_paths=("/srv/assent",))
        assert found({"x": "in /srv/assent/token"}, facts=facts).near == ("/srv/assent",)
    facts = world(assent_paths=(f"{HOME}/assent",))
    assert found({"x": "about assent"}, facts=facts).near == ()


#: a string or an input, and the machines that it names
MACHINES = [
    ({"x": "https://a.example/x"}, {"a.example"}),
    ({"x": "https://a.example:8443/x"}, {"a.example:8443"}),
    ({"x": "postgres://db.example:5432/x"}, {"db.example:5432"}),
    ({"x": "HTTP://LocalHost:07422/"}, {"localhost:7422"}),
    ({"x": "http:/127.0.0.1:7422"}, {"localhost:7422"}),
    ({"x": "127.0.0.1:8080"}, {"127.0.0.1:8080"}),
    ({"x": "main.py:42"}, set()),
    ({"x": "https://a.example:7422/"}, {"a.example:7422"}),
    ({"x": "https://\u0661\u0662\u0667.0.0.1:7422/"}, {"localhost:7422", U}),
    ({"host": "a.example"}, {"a.example"}),
    ({"host": "box", "x": 1.5}, set()),
    ({"host": "a.example", "port": 7422}, {"a.example", "a.example:7422"}),
    ({"host": "::1", "port": "7422"}, {"localhost:7422"}),
    ({"host": "box", "port": 7422}, {"localhost:7422"}),
    ({"port": 7422}, {"localhost:7422"}),
    ({"count": 7422, "ok": True, "none": None}, set()),
    ({"count": 7422, "x": "127.0.0.1"}, {"localhost:7422"}),
    ({"x": "sqlite:///a.db"}, set()),
    ({"x": "example.com"}, set()),
    ({"x": "is http://a.example down?"}, set()),
]


@pytest.mark.parametrize(("given", "hosts"), MACHINES, ids=shown)
def test_addresses_name_machines(given, hosts):
    assert set(found(given).hosts) == hosts


def test_where_assent_listens_is_near_when_a_text_mentions_it():
    assert found({"x": "curl http://127.0.0.1:7422/x"}).near_hosts == ("localhost:7422",)
    assert found({"x": "curl\nhttp://a.example:7422/x"}).near_hosts == ()
    assert found({"x": "a\nb 127.0.0.1:7422"}).hosts == ()


def test_what_is_beyond_the_bounds_is_refused():
    deep: object = "a"
    for _ in range(DEEPEST + 1):
        deep = [deep]
    packed: object = '"a"'
    for _ in range(DEEPEST - 1):
        packed = [packed]
    assert found({"x": packed[0]}, facts=Facts()).hosts == ()
    for given, why in (
        ({"x": deep}, "nested more than"),
        ({"x": packed}, "nested more than"),
        ({"x": ["a"] * (MOST_VALUES + 1)}, "more than 10000 values"),
        ({"x": [f"/etc/{i}" for i in range(MOST_PATHS + 1)]}, "more than 800 files"),
        ({"args": "a " * 1_001}, "`args` has more than 1000 words"),
    ):
        with pytest.raises(CallError, match=why):
            found(given, facts=Facts())


#: ordinary calls of servers that a rule allows
ORDINARY = [
    *({"path": "/ws/src/a.py"}, {"path": "src/a.py", "content": "import os\n# see ~/.ssh/id_rsa and /etc/x\n"}),
    *({"repo_path": "/ws"}, {"path": "."}, {"path": "README"}, {"dir": "/tmp"}, {"route": "/"}, {"date": "2024/01/02"}),
    {"title": "Fix crash", "body": "See `~/.claude/settings.json` and /etc/passwd.\n\n- a/b\n- ../../x"},
    *({"owner": "acme", "repo": "secrets", "ref": "feature/secrets"}, {"branch": "fix/env-credentials"}),
    *({"query": "SELECT * FROM t WHERE p LIKE '%/etc%'"}, {"query": "credentials"}, {"query": "is:open author:@me"}),
    *({"pattern": "^foo.*bar$"}, {"regex": r"\.env.*"}, {"pattern": "**/*.ts"}, {"glob": "src/**/*.{js,ts}"}),
    *({"id": "01HZX-3.4", "limit": 5}, {"version": "v1.2.3"}, {"mime": "text/html"}, {"cron": "*/5 * * * *"}),
    {"code": "const x = require('../../.env'); fetch(`https://a.example/x`)"},
    *({"url": "https://api.example.com/v1/users?path=/etc/x"}, {"endpoint": "/repos/acme/x/contents/.github"}),
    *({"labels": ["bug", "help wanted"], "assignees": ["ann"]}, {"expression": "a/b + c*d"}, {"email": "a@b.com"}),
    *({"text": "~50% faster, costs $5/month"}, {"selector": "div > a[href='/login']"}, {"css": "url(/img/a.png)"}),
    *({"message": "feat: drop .env support"}, {"json": '{"name":"x","files":["a.py"]}'}, {"key": "state/secrets"}),
    {"content": '{"scripts":{"x":"cat ~/.ssh/config"},"main":"./index.js"}'},
    *({"host": "db.example.com", "port": 5432}, {"image": "registry.example.com/acme/app:1.2"}),
    *({"data": "/9j/4AAQSkZJRg" + "A/+" * 3000}, {"prompt": "Look at https://localhost:8080 and src/a.py"}),
    *({"volume": "./data:/data:ro"}, {"args": ["--config=src/tsconfig.json", "-v"]}, {"jq": ".items[] | .name"}),
    *({"xpath": "//div[@id='x']/a"}, {"q": "..."}, {"command": "git log --oneline | head -5"}),
    *({"html": '<a href="../x">y</a>'}, {"n": 7422}, {"rows": [["a", 1], ["b", None]]}),
]


@pytest.mark.parametrize("given", ORDINARY, ids=shown)
def test_ordinary_calls_of_an_allowed_server_are_not_asked_about(given):
    rules = policy(allow=["mcp__a__*"], deny=["Write(/etc/**)", "Read(/etc/shadow)", "WebFetch(domain:evil.example)"])
    call = ToolCall(tool="mcp__a__b", input=given, cwd="/ws")
    decision = Engine([rules], facts=lambda: FACTS).decide(call, SESSION)
    assert decision.verdict is Verdict.ALLOW, decision.decision_reason


#: tools that only talk, with words that would be places elsewhere
TALK = [
    ("TodoWrite", {"todos": [{"content": FILE, "status": "pending", "activeForm": ".env"}]}),
    ("AskUserQuestion", {"questions": [{"question": "Which?", "options": [{"label": HOOK, "description": "x"}]}]}),
    ("WebSearch", {"query": "conftest.py"}),
    ("ExitPlanMode", {"plan": f"Edit {OWN}/token"}),
    ("BashOutput", {"bash_id": "a/b.c", "filter": ".*"}),
]


@pytest.mark.parametrize(("tool", "given"), TALK)
def test_tools_that_only_talk_stay_quiet(tool, given):
    decision = Engine(facts=lambda: FACTS).decide(ToolCall(tool=tool, input=given, cwd="/ws"), SESSION)
    assert (decision.verdict, len(decision.reading.operations)) == (Verdict.ALLOW, 1)


#: the same tools, with a field of which nobody knows that it is words
TOLD_MORE = [
    ("TodoWrite", {"todos": [], "path": f"{OWN}/token"}),
    ("TodoWrite", {"todos": [{"content": "x"}, {"content": "y", "save_to": f"{OWN}/token"}]}),
    ("AskUserQuestion", {"questions": [[{"options": [{"label": "x", "file": f"{OWN}/token"}]}]]}),
]


@pytest.mark.parametrize(("tool", "given"), TOLD_MORE)
def test_what_else_a_tool_that_only_talks_is_given_is_looked_at(tool, given):
    decision = Engine(facts=lambda: FACTS).decide(ToolCall(tool=tool, input=given, cwd="/ws"), SESSION)
    assert decision.verdict is Verdict.DENY


def test_a_known_tool_is_not_asked_about_its_content():
    engine = Engine(facts=lambda: FACTS)
    for tool, given in (
        ("Write", {"file_path": "/ws/a", "content": FILE}),
        ("Write", {"file_path": "~/../../ws/a", "content": json.dumps({"x": FILE})}),
        ("Edit", {"file_path": "/ws/a", "old_string": OWN, "new_string": ".env", "replace_all": False}),
        ("Grep", {"pattern": "/etc/shadow", "path": "/ws/src", "-n": True}),
        ("Read", {"file_path": "/ws/a b.py", "offset": 3, "cwd": "/ws"}),
        ("Bash", {"command": "ls", "description": OWN}),
        ("WebFetch", {"url": "https://a.example/", "prompt": OWN, "more": ["https://a.example/"]}),
    ):
        decision = engine.decide(ToolCall(tool=tool, input=given, cwd="/ws"), SESSION)
        assert decision.verdict is Verdict.ALLOW, (tool, given, decision.decision_reason)


def test_a_shell_tool_s_other_fields_are_looked_at():
    loosest = policy(mode="bypassPermissions", allow=["*"])
    engine = Engine([loosest], facts=lambda: FACTS)
    for more in (
        {"log": f"{OWN}/x"},
        {"env": {"X": FILE}},
        {"stdin": f"cat {OWN}/token"},
        {"x": "curl localhost:7422"},
    ):
        call = ToolCall(tool="Bash", input={"command": "ls", **more}, cwd="/ws")
        assert engine.decide(call, SESSION).verdict is not Verdict.ALLOW
    call = ToolCall(tool="Bash", input={"command": "ls", "log": "/ws/src/x.log"}, cwd="/ws")
    assert engine.decide(call, SESSION).verdict is Verdict.ALLOW


def test_a_string_is_taken_for_so_many_paths_and_no_more():
    assert MOST < len(spellings("file:" * 20 + "a.py", FACTS)) <= MOST + 4

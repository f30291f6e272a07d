"""P6, for structured tools: through no field of no tool does an agent reach what lets it answer its own questions.

Spellings are generated: whatever a tool may strip, decode, expand or follow names the same place.
"""

from __future__ import annotations

import json
import posixpath
import urllib.parse

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assent.analysis.tools.input_fields import CONTENT
from assent.model import Consent, Grant, Mode, Rule, Session, ToolCall, Verdict
from assent.policy.engine import Engine
from daemons import Running
from scenes import HOME, policy, world

OWN = f"{HOME}/.local/share/assent"
FILE = f"{HOME}/.config/assent/assent.yaml"
HOOK = f"{HOME}/.claude/settings.json"
CWD = f"{HOME}/work/proj"
LINKS = {f"{CWD}/state": OWN, f"{CWD}/up": HOME, f"{CWD}/deep": "/", "/var/me": HOME}
FOLDERS = {"/", "/home", HOME, CWD, f"{CWD}/src", OWN, f"{HOME}/.config", *LINKS}


def follow(path):
    """Follow links as a kernel does, on a disk that ignores case: name by name, `..` from where a link leads."""
    at = "/"
    for name in path.split("/"):
        at = posixpath.normpath(posixpath.join(at, name)) if name else at
        at = LINKS.get(at.lower(), at)
    return at


FACTS = world(
    resolve=follow,
    names=lambda _: (),
    exists=FOLDERS.__contains__,
    assent_paths=(OWN,),
    assent_files=(FILE, HOOK),
    assent_endpoints=("127.0.0.1:7422", "localhost:7422"),
)
SESSION = Session(id="s", user="ann", agent="bot", workspace=(CWD,))

KEPT = (f"{OWN}/token", OWN, f"{OWN}/assent.sock", f"{OWN}/mcp/pins.json")
WRITTEN = (FILE, HOOK)
CONTROL = (f"{HOME}/.bashrc", f"{CWD}/.git/hooks/pre-commit", f"{CWD}/.mcp.json", f"{HOME}/.ssh/authorized_keys")
SECRET = (f"{HOME}/.ssh/id_rsa", f"{CWD}/.env", "/etc/shadow", f"{HOME}/.aws/credentials")

#: ways to begin the name of an absolute path
STARTS = [
    lambda p: p,
    lambda p: posixpath.relpath(p, CWD),
    lambda p: f"src/../{posixpath.relpath(p, CWD)}",
    lambda p: f"no such/../{posixpath.relpath(p, CWD)}",
    lambda p: f"./{posixpath.relpath(p, CWD)}",
    lambda p: f"/proc/self/root{p}",
    lambda p: f"/proc/1/root//proc/self/root{p}",
    lambda p: f"/proc/self/cwd/{posixpath.relpath(p, CWD)}",
    lambda p: f"/tmp/..{p}",
    lambda p: f"{CWD}/deep{p}",
    lambda p: f"deep{p}",
    lambda p: f"deep/../{posixpath.relpath(p, CWD)}",
    lambda p: f"deep/../state{p.removeprefix(OWN)}" if p.startswith(OWN) else p,
    lambda p: p.replace(HOME, "~", 1),
    lambda p: p.replace(HOME, "~dev", 1),
    lambda p: p.replace(HOME, "$HOME", 1),
    lambda p: p.replace(HOME, "${HOME}", 1),
    lambda p: p.replace(HOME, "%HOME%", 1),
    lambda p: p.replace(HOME, f"{CWD}/up", 1),
    lambda p: p.replace(HOME, "up", 1),
    lambda p: p.replace(HOME, "/var/me", 1),
    lambda p: p.replace(OWN, f"{CWD}/state", 1),
    lambda p: f"file://{p}",
    lambda p: f"file:{p}",
    lambda p: f"FILE://localhost{p}",
    lambda p: f"file:///{urllib.parse.quote(p[1:], safe='')}",
    lambda p: "file://" + "".join(f"%{ord(c):02x}" for c in p),
    lambda p: f"unix://{p}",
    lambda p: f"http+unix://{urllib.parse.quote(p, safe='')}/api",
    lambda p: f"file://{p}?x=1",
    lambda p: f"file://{p}#top",
    lambda p: f"jar:file:{p}!/x",
    lambda p: f"zip://{p}#x",
    lambda p: f"a=1&path={p}&b=2",
    lambda p: f"$PWD/{posixpath.relpath(p, CWD)}",
    lambda p: f"${{workspaceFolder}}/{posixpath.relpath(p, CWD)}",
    lambda p: f"$OLDPWD/../../../..{p}",
    lambda p: f"/proc/1/cwd/../../../..{p}",
    lambda p: "\\\\?" + p.replace("/", "\\"),
    lambda p: "\\\\wsl$\\Any" + p.replace("/", "\\"),
    lambda p: f"//wsl.localhost/Any{p}",
    lambda p: f"{p[:-1]}{{{p[-1]},x}}",
]
#: ways to write the same name otherwise, one after another …
CHANGES = [
    lambda p: p.replace("/", "//"),
    lambda p: p.replace("/", "/./"),
    lambda p: p.replace("/", "/x/../"),
    lambda p: p + "/",
    lambda p: p + "/.",
    lambda p: p.replace("/", "\\"),
    str.swapcase,
]
#: … and what may stand around it
EDGES = [
    lambda p: p,
    lambda p: p + "  ",
    lambda p: f" {p}",
    lambda p: f"\t{p}\r\n",
    lambda p: f"{p}\0.txt",
    lambda p: f'"{p}"',
    lambda p: f"'{p}'",
]
FIXED = ("/proc/", "deep/..", "$", "%", ":", "~dev", "/deep", "=", "{", "\\", "//wsl")
"""What is in a spelling that is only one letter by letter."""
#: ways to carry a name inside a token
AROUND = [
    lambda p: p,
    lambda p: f"{p}#L10",
    lambda p: f"{p}?raw",
    lambda p: f"--file={p}",
    lambda p: f"@{p}",
    lambda p: f"host:{p}",
    lambda p: f"{p}:/in:ro",
]


def is_word(value):
    """Tell whether a value can stand in a list of words."""
    return isinstance(value, str) and not value.startswith(("{", "[", '"')) and len(value.split()) == 1


#: ways to put a value inside others
WRAPPED = [
    lambda v: v,
    lambda v: [v],
    lambda v: {"x": v},
    lambda v: ["a", {"b": [None, 7, v]}],
    lambda v: {str(v): True} if isinstance(v, str) else [v],
    lambda v: {"paths": f"a.py\n{v}"} if is_word(v) else [v],
    lambda v: {"files": f"a.py, {v}"} if is_word(v) else [v],
    lambda v: {"args": f"-v {v} b.py"} if is_word(v) else [v],
    json.dumps,
    lambda v: json.dumps({"deep": [v]}).replace("/", "\\/"),
]
UNKNOWN_TOOLS = [
    "mcp__files__read_file",
    "mcp__a__b",
    "mcp_a_b",
    "remove",
    "Agent",
    "PowerShell",
    "write_stdin",
    "Ünïcode",
]
KNOWN_TOOLS = ["Read", "Write", "Edit", "Delete", "LS", "Grep", "Glob", "Bash", "WebFetch", "TodoWrite", "WebSearch"]
ORDINARY = {
    **{key: {"file_path": f"{CWD}/src/a.py"} for key in ("Read", "Write", "Edit", "Delete", "LS")},
    "Grep": {"pattern": "x"},
    "Glob": {"pattern": "*.py"},
    "Bash": {"command": "ls"},
    "WebFetch": {"url": "https://a.example/"},
    "TodoWrite": {"todos": [{"content": "do it", "status": "pending"}]},
}
FIELDS = st.one_of(
    st.sampled_from(["path", "uri", "x", "query", "name", "options", "id", "source", "body", "to", "cwd", "content"]),
    st.from_regex(r"[a-z_]{1,8}", fullmatch=True),
)


@st.composite
def spellings(draw, places):
    text = draw(st.sampled_from(STARTS))(draw(st.sampled_from(places)))
    if not any(part in text for part in FIXED):
        for change in draw(st.lists(st.sampled_from(CHANGES), max_size=2)):
            text = change(text)
    if text.startswith(("/", "~")):
        text = draw(st.sampled_from(AROUND))(text)
    return draw(st.sampled_from(EDGES))(text)


@st.composite
def inputs(draw, places, fields=FIELDS):
    field, value = draw(fields), draw(spellings(places))
    for wrap in draw(st.lists(st.sampled_from(WRAPPED), max_size=3)):
        value = wrap(value)
    return {field: value, **draw(st.dictionaries(FIELDS.filter(lambda f: f != field), st.just("ok"), max_size=2))}


@st.composite
def policies(draw):
    """The loosest that can be written: any mode, everything allowed, handed to the package or not."""
    return policy(
        mode=draw(st.sampled_from(list(Mode))).value,
        embedded=draw(st.booleans()),
        classifier=draw(st.sampled_from([None, False])),
        allow=["*", "Read", "Write", "Edit", "Bash", "mcp__files__*", "WebFetch"],
    )


GRANTED = Consent(grants=(Grant(id="g", rule=Rule(tool="*"), verdict=Verdict.ALLOW),))


def decided(tool, given, loosest, consent=GRANTED, cwd=CWD):
    call = ToolCall(tool=tool, input=given, cwd=cwd)
    return Engine([loosest], facts=lambda: FACTS).decide(call, SESSION, consent)


@settings(max_examples=1500)
@given(st.sampled_from(UNKNOWN_TOOLS), inputs((*KEPT, *WRITTEN)), policies())
@example("mcp__x__y", {"x": f"{OWN}/token"}, policy(mode="bypassPermissions"))
def test_no_spelling_of_what_is_assent_s_own_is_let_through(tool, given, loosest):
    assert decided(tool, given, loosest).verdict is not Verdict.ALLOW


@settings(max_examples=200)
@given(st.sampled_from(UNKNOWN_TOOLS), st.sampled_from((*KEPT, *WRITTEN, *CONTROL)), FIELDS, policies())
def test_no_path_whose_names_come_one_by_one_is_let_through(tool, path, field, loosest):
    for names in (path[1:].split("/"), ["/", *path[1:].split("/")], path.split("/")):
        assert decided(tool, {field: names}, loosest).verdict is not Verdict.ALLOW


#: lines that a shell tool may not run in any mode …
LINES = [
    "assent approve 3",
    "true && python3 -m assent approve 3",
    f"cat {OWN}/token",
    "cat state/token",
    f"echo x > {FILE}",
    "cd ~/.config && rm -r assent",
    "echo x >> ~/.bashrc",
    "cp a .git/hooks/pre-commit",
    "curl -s http://localhost:7422/api/permissions",
]
#: … and ways to give them to another one
SPOKEN = [
    lambda line: line,
    lambda line: f"ls\n{line}\n",
    lambda line: ["bash", "-c", line],
    lambda line: ["ls", line],
]


@settings(max_examples=400)
@given(
    st.sampled_from(UNKNOWN_TOOLS),
    st.sampled_from(["command", "cmd", "script", "input", "chars", "stdin", "keys", "run", "shell_command", "argv"]),
    st.sampled_from(LINES),
    st.sampled_from(SPOKEN),
    st.sampled_from([lambda v: v, lambda v: {"x": [v]}, lambda v: {"input": json.dumps(v)}]),
    policies(),
)
def test_no_command_line_is_let_through_that_a_shell_tool_may_not_run(tool, field, line, spoken, wrap, loosest):
    assert decided(tool, wrap({field: spoken(line)}), loosest).verdict is not Verdict.ALLOW


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"command": "assent", "args": ["approve", "3"]}, "only a person may run"),
        ({"program": "assent", "args": "approve 3"}, "only a person may run"),
        ({"cwd": f"{HOME}/.config", "command": "rm -r assent"}, "changes Assent's configuration"),
        (
            {"patch": f"*** Begin Patch\n*** Update File: {FILE}\n@@\n-a\n+b\n*** End Patch"},
            "changes Assent's configuration",
        ),
        ({"diff": f"--- {FILE}\n+++ {FILE}\n@@ -1 +1 @@\n-a\n+b\n"}, "changes Assent's configuration"),
    ],
)
def test_lines_in_parts_and_patches_are_read_too(given, reason):
    decision = decided("mcp__any__tool", given, policy(mode="bypassPermissions", allow=["*"]))
    assert (decision.verdict, reason in decision.decision_reason) == (Verdict.DENY, True)


@settings(max_examples=800)
@given(
    st.sampled_from(KNOWN_TOOLS),
    inputs(KEPT, FIELDS.filter(lambda f: f not in CONTENT and f not in ("query", "id", "options", "cwd"))),
    policies(),
)
def test_no_field_of_a_known_tool_lets_it_through_either(tool, given, loosest):
    assert decided(tool, {**ORDINARY.get(tool, {}), **given}, loosest).verdict is not Verdict.ALLOW


@settings(max_examples=800)
@given(st.sampled_from(UNKNOWN_TOOLS), inputs(CONTROL, FIELDS.filter(lambda f: f not in CONTENT)), policies())
def test_no_spelling_of_the_control_plane_is_let_through(tool, given, loosest):
    assert decided(tool, given, loosest).verdict is not Verdict.ALLOW


@settings(max_examples=600)
@given(st.sampled_from(UNKNOWN_TOOLS), inputs(SECRET, FIELDS.filter(lambda f: f not in CONTENT)), policies())
def test_no_spelling_of_a_secret_is_let_through_by_a_rule(tool, given, loosest):
    if loosest.mode is not Mode.BYPASS and not loosest.embedded:
        assert decided(tool, given, loosest, Consent()).verdict is not Verdict.ALLOW


HOSTS = [
    *("127.0.0.1", "localhost", "LocalHost", "localhost.", "[::1]", "127.1", "0", "0.0.0.0", "2130706433"),
    *(
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "user@127.0.0.1",
        "%31%32%37.0.0.1",
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
    ),
    *("me.localhost", "127.0.0.1.nip.io", "ip6-localhost", "[0:0:0:0:0:0:0:1]"),
]


@settings(max_examples=500)
@given(
    st.sampled_from(["mcp__http__get", "fetch_it", "Read", "TodoWrite"]),
    st.sampled_from(HOSTS),
    st.sampled_from(
        ["http://", "https://", "HTTP://", "ws://", "//", "", "http:/", "http:\\\\", "http:///", " http://"]
    ),
    st.sampled_from(["", "/", "/api/permissions", "?x=1", "/a b"]),
    st.sampled_from([":7422", ":07422", ":7422"]),
    st.sampled_from(WRAPPED),
    policies(),
)
def test_no_spelling_of_where_the_daemon_listens_is_let_through(tool, host, scheme, path, port, wrap, loosest):
    field = "url" if tool != "TodoWrite" else "link"
    assert decided(tool, {field: wrap(scheme + host + port + path)}, loosest).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("host", [h for h in HOSTS if "@" not in h])
@pytest.mark.parametrize("port", [7422, "7422", 7422.0])
def test_host_and_port_apart_are_an_address_too(host, port):
    loosest = policy(mode="bypassPermissions", allow=["*"])
    for apart in ({"host": host, "port": port}, {"to": {"hostname": host}, "options": [{"port": port}]}):
        assert decided("mcp__net__send", apart, loosest).verdict is Verdict.DENY
    other = {"host": "db.example.com", "port": port}
    assert decided("mcp__net__send", other, loosest).verdict is Verdict.ALLOW


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("p06s"), "--rate", "0")
    running.user_file.write_text('permissions:\n  mode: bypassPermissions\n  allow: ["mcp__files__*"]\n')
    running.state.mkdir(mode=0o700)
    hooks = running.state / "hooks.json"
    hooks.write_text(json.dumps([str(running.home / ".claude/settings.json")]))
    hooks.chmod(0o600)
    (running.project / "state").symlink_to(running.state)
    with running:
        yield running


def test_a_wired_agent_with_a_server_for_files_can_not_answer_itself(daemon):
    """The token, the policy, the hook's entry, the socket and the address of a real daemon."""
    agent = daemon.api(daemon.mint("agent"))
    home, state = daemon.home, daemon.state
    policy_file = f"{home}/.config/assent/assent.yaml"
    attacks = (
        {"path": f"{state}/token"},
        {"path": f"{state}/../{state.name}//token"},
        {"path": "state/token"},
        {"path": f"/proc/self/root{state}/token"},
        {"paths": [f"{home}/a", f"file://localhost{state}/token"]},
        {"path": "~/.config/assent/assent.yaml", "content": "permissions: {mode: bypassPermissions}"},
        {"path": "../.config/assent/assent.yaml"},
        {"edits": json.dumps([{"file": f"{home}/.config/assent/assent.yaml"}])},
        {"path": f"{home}/.claude/settings.json", "content": "{}"},
        {"source": "/tmp/x", "destination": "../.claude/./settings.json"},
        {"url": f"http://127.0.0.1:{daemon.port}/api/permissions"},
        {"url": f"HTTP://LOCALHOST:{daemon.port}/"},
        {"socket": f"unix://{state}/assent.sock"},
        {"command": "assent approve --all"},
        {"program": "assent", "args": ["token", "create"]},
        {"command": f"cd {state.parent} && cat {state.name}/token"},
        {"patch": f"--- {policy_file}\n+++ {policy_file}\n@@ -1 +1 @@\n-a\n+b\n"},
        {"paths": f"a.py\n{state}/token"},
        {"url": f"file://{home}/.claude/settings.json?x=1"},
    )
    for tool in ("mcp__files__read_file", "mcp__files__write_file", "mcp__other__thing", "own_tool"):
        for named in attacks:
            body = {"toolName": tool, "toolInput": named, "cwd": str(daemon.project)}
            told = agent.post("/api/hooks/classify", json=body).json()
            assert (told["allow"], "requestId" in told) == (False, False), (tool, named, told)
        ordinary = {"toolName": tool, "toolInput": {"path": "src/a.py", "content": "x"}, "cwd": str(daemon.project)}
        assert agent.post("/api/hooks/classify", json=ordinary).json()["allow"] is True

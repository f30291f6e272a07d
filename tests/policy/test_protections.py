"""Protections: what holds whatever is configured."""

from __future__ import annotations

import pytest

from assent.model import UNKNOWN, Consent, Session, Source, Verdict
from scenes import DANGEROUS, calls, connects, executes, judge, look, policy, reads, run, view_of, world, writes

ALLOW, ASK, DENY = Verdict
OWN = "/home/dev/.local/share/assent"
FILE = "/home/dev/.config/assent/assent.yaml"
FACTS = world(
    assent_paths=(OWN, "/run/assent.sock"), assent_files=(FILE,), assent_endpoints=("127.0.0.1:7422", "[::1]:7422")
)
LOOSEST = policy(mode="bypassPermissions", classifier=False, allow=["*", "Bash", "Read", "Write"])
EMBEDDED = policy(mode="bypassPermissions", embedded=True)

#: what is tried, whether self-protection denies it
TRIED = [
    (reads(f"{OWN}/tokens"), True),
    (reads(OWN), True),
    (reads(OWN.upper()), True),
    (reads("/ws/link", target=f"{OWN}/tokens"), True),
    (reads(f"{OWN}-other/x"), False),
    (reads("/home/dev/.local/share", sweep=True), False),
    (writes(f"{OWN}/x"), True),
    (writes("/home/dev/.local/share", sweep=True), True),
    (writes("/", sweep=True), True),
    (writes("/home/dev/.local/share"), False),
    (writes("/run/assent.sock"), True),
    (executes(f"{OWN}/bin/x"), True),
    (writes(FILE), True),
    (writes(FILE.upper()), True),
    (writes("/ws/link", target=FILE), True),
    (writes("/home/dev/.config", sweep=True), True),
    (reads(FILE), False),
    (writes(f"{FILE}.bak"), False),
    (connects("127.0.0.1:7422"), True),
    (connects("localhost:7422"), True),
    (connects("LOCALHOST:7422"), True),
    (connects("localhost.:7422"), True),
    (connects("[::1]:7422"), True),
    (connects("[::ffff:127.0.0.1]:7422"), True),
    (connects("127.1:7422"), True),
    (connects("2130706433:7422"), True),
    (connects("0x7f000001:7422"), True),
    (connects("0.0.0.0:7422"), True),
    (connects("my-laptop:7422"), True),
    (connects("my.laptop.local:7422"), True),
    (connects("127.0.0.1:7423"), False),
    (connects("127.0.0.1"), False),
    (connects("example.com:7422"), False),
    (connects("[::1]"), False),
    (calls("T"), False),
]


@pytest.mark.parametrize(("operation", "denied"), TRIED)
@pytest.mark.parametrize("loose", [LOOSEST, EMBEDDED])
def test_nothing_may_touch_assent_itself(operation, denied, loose):
    decision = judge(look(run("x"), operation, facts=FACTS), loose, consent=Consent(yes=True))
    found = [o for o in decision.opinions if o.policy == "self-protection"]
    assert bool(found) is denied
    assert (decision.verdict is DENY) is denied
    if denied:
        assert decision.decision_source is Source.PROTECTION


def test_a_daemon_on_a_port_of_the_web_is_found_without_one():
    facts = world(assent_endpoints=("127.0.0.1:443",))
    for host, denied in (("localhost", True), ("[::1]", True), ("127.0.0.1", True), ("example.com", False)):
        assert (judge(look(run("x"), connects(host), facts=facts), LOOSEST).verdict is DENY) is denied


#: line, whether only a person may run it
COMMANDS = [
    ("assent approve 1", True),
    ("assent deny 1", True),
    ("assent token create --role admin", True),
    ("assent policy show", True),
    ("assent trust", True),
    ("assent init claude-code", True),
    ("assent uninit claude-code", True),
    ("assent launch claude-code", True),
    ("assent serve", True),
    ("assent -v approve 1", True),
    ("assent --store x approve 1", True),
    ("/usr/bin/assent approve 1", True),
    ("./assent approve 1", True),
    ("ASSENT approve 1", True),
    ("python -m assent approve 1", True),
    ("python3.11 -m assent approve 1", True),
    ("python -I -X dev -m assent approve 1", True),
    ("python -Im assent approve 1", True),
    ("python -massent approve 1", True),
    ("python -m assent.cli approve 1", True),
    ("python /usr/bin/assent approve 1", True),
    ("pypy3 -m assent serve", True),
    ("uv run assent approve 1", True),
    ("uv run python -m assent approve 1", True),
    ("uv run --with x assent approve 1", True),
    ("uv tool run assent approve 1", True),
    ("uvx assent approve 1", True),
    ("uvx --from assent assent approve 1", True),
    ("uvx assent@latest approve 1", True),
    ("pipx run --spec x assent approve 1", True),
    ("poetry run assent approve 1", True),
    (f"assent {UNKNOWN} 1", True),
    ("assent check ls", False),
    ("assent check approve", False),
    ("assent explain deny", False),
    ("assent run -- git init", False),
    ("assent pending", False),
    ("assent --version", False),
    ("assent", False),
    ("assenter approve", False),
    ("echo assent approve", False),
    ("git init", False),
    ("python -m pytest approve", False),
    ("python x.py", False),
    ("uv run pytest", False),
    ("uv", False),
]


@pytest.mark.parametrize(("line", "denied"), COMMANDS)
def test_an_agent_can_not_answer_or_re_configure(line, denied):
    decision = judge(look(run(line)), LOOSEST)
    assert (decision.verdict is DENY) is denied
    if denied:
        assert decision.decision_reason.startswith("only a person may run `assent ")
        assert UNKNOWN not in decision.decision_reason


CONTROL = [
    "/ws/.claude/settings.json",
    "/ws/.git/hooks/pre-commit",
    "/ws/.git/config",
    "/ws/.mcp.json",
    "/ws/conftest.py",
    "/ws/.github/workflows/ci.yml",
    "/ws/.venv/bin/python",
    "/ws/deep/down/x.pth",
    "/home/dev/.bashrc",
    "/ws/.CLAUDE/settings.json",
]


@pytest.mark.parametrize("path", CONTROL)
def test_writing_what_decides_later_what_runs_is_asked_firmly_in_every_mode(path):
    view = look(writes(path), tool="Write")
    for loose in (LOOSEST, EMBEDDED):
        decision = judge(view, loose)
        assert (decision.verdict, decision.decision_source) == (ASK, Source.PROTECTION)
    assert judge(view, LOOSEST, consent=Consent(yes=True)).verdict is ALLOW
    assert judge(look(reads(path), tool="Read"), LOOSEST).verdict is ALLOW


@pytest.mark.parametrize("path", ["/ws/src/main.py", "/ws/.gitignore", "/ws/claude/settings.json", "/ws/git/config"])
def test_plain_files_are_no_control_plane(path):
    assert judge(look(writes(path), tool="Write")).verdict is ALLOW


def test_a_link_into_the_control_plane_is_the_control_plane():
    view = view_of("Write", {"file_path": "/ws/a"}, facts=world(links={"/ws/a": "/ws/.git/config"}))
    assert judge(view, LOOSEST).verdict is ASK


LEADS = {
    "/ws": ("/ws/rules/real.yaml", "/shared/claude"),
    "/ws/pkg": ("/ws/pkg/notes.md",),
    "/home/dev": ("/home/dev/dotfiles/bashrc", "/home/dev"),
}


@pytest.mark.parametrize(
    ("path", "verdict"),
    [
        ("/ws/rules/real.yaml", ASK),
        ("/ws/rules/REAL.yaml", ASK),
        ("/ws/alias.yaml", ASK),
        ("/shared/claude/settings.json", ASK),
        ("/home/dev/dotfiles/bashrc", ASK),
        ("/ws/pkg/notes.md", ASK),
        ("/ws/rules/other.yaml", ALLOW),
        ("/home/dev/other", ALLOW),
        ("/shared/claude2", ALLOW),
    ],
)
def test_where_a_link_of_the_control_plane_leads_is_the_control_plane(path, verdict):
    links = {"/ws/alias.yaml": "/ws/rules/real.yaml"}
    facts = world(links=links, control_links=lambda folder: LEADS.get(folder, ()))
    view = view_of("Write", {"file_path": path}, facts=facts, cwd="/ws/pkg/deep")
    assert judge(view, LOOSEST).verdict is verdict
    line = view_of("Bash", {"command": f"echo x > {path}"}, facts=facts, cwd="/ws/pkg/deep")
    assert judge(line, LOOSEST).verdict is verdict


def test_without_a_workspace_the_links_of_the_folder_count():
    facts = world(control_links=lambda folder: ("/x/b",) if folder == "/x" else ())
    for cwd, verdict in (("/x", ASK), ("/y", ALLOW), (None, ALLOW)):
        view = view_of("Write", {"file_path": "/x/b"}, facts=facts, cwd=cwd, session=Session())
        assert judge(view, LOOSEST).verdict is verdict


def test_a_path_that_is_not_known_is_not_called_control_plane():
    decision = judge(look(writes(f"/ws/.git/{UNKNOWN}", DANGEROUS), tool="Write"))
    assert [o.policy for o in decision.opinions if o.source is Source.PROTECTION] == []


def test_secrets_ask_softly_and_by_the_name_of_the_file():
    view = view_of("Read", {"file_path": ".env"})
    decision = judge(view)
    assert (decision.verdict, decision.decision_source) == (ASK, Source.PROTECTION)
    assert decision.decision_reason == "/ws/.env holds secrets"
    assert judge(view, policy(mode="bypassPermissions")).verdict is ALLOW
    assert judge(view, policy(embedded=True)).verdict is ALLOW
    assert judge(view, policy(allow=["Read"])).verdict is ASK
    assert judge(look(reads("$API_KEY", secret=True))).verdict is ASK


#: path, workspace, verdict of a plain write
EDGE = [
    ("/ws/a", ("/ws",), ALLOW),
    ("/tmp/a", ("/ws",), ASK),
    ("/ws-evil/a", ("/ws",), ASK),
    ("/dev/null", ("/ws",), ALLOW),
    ("/tmp/a", (), ALLOW),
    ("/tmp/a", ("/",), ALLOW),
    ("/tmp/a", ("/home/dev",), ALLOW),
    ("/ws2/a", ("/ws", "/ws2"), ALLOW),
]


@pytest.mark.parametrize(("path", "workspace", "verdict"), EDGE)
def test_a_write_beyond_the_workspace_is_asked_about(path, workspace, verdict):
    view = look(writes(path), tool="Write", session=Session(workspace=workspace))
    assert judge(view).verdict is verdict
    assert judge(view, policy(embedded=True)).verdict is ALLOW


def test_a_link_that_leads_out_is_outside():
    out = view_of("Write", {"file_path": "/ws/l/a"}, facts=world(links={"/ws/l": "/tmp"}))
    assert judge(out).verdict is ASK
    assert judge(out, policy(allow=["Write(/ws/**)"])).verdict is ASK
    assert judge(out, policy(allow=["Write(/ws/**)", "Write(/tmp/**)"])).verdict is ASK


@pytest.mark.parametrize("line", ["rm -rf {0}", "rm -r {0}/share", "mv {0}/share /tmp/x", "rm -rf {1}", "mv {1} x"])
def test_assent_s_own_files_do_not_go_with_the_folder_they_are_in(line):
    view = view_of("Bash", {"command": line.format("~/.local", "~/.config")}, facts=FACTS)
    decision = judge(view, LOOSEST)
    assert (decision.verdict, decision.decision_source) == (DENY, Source.PROTECTION)

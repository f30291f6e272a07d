"""Wiring an agent up and taking it back: settings are somebody else's, and nothing in them is lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from assent.agents.hooks.opencode import plugin_line
from assent.agents.specs import WIRINGS, is_ours
from assent.agents.wiring.codex_trust import list_hooks
from assent.agents.wiring.settings_changes import Wired, apply_change, hold_book, read_book, write_book
from assent.cli import main
from assent.cli.agent_wiring import find_off
from assent.model import AssentError
from assent.platform.jsonc import parse
from daemons import until

THEIRS = """{
  "model": "opus",
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(*)", "WebFetch(domain:example.com)", "Bash(run_in_background:true)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(.env)", "Edit(//etc/**)", "Agent(Explore)", "mcp__files"]
  },
  "hooks": {"PreToolUse": [{"matcher": "Write", "hooks": [{"type": "command", "command": "echo"}]}]}
}
"""
COMMENTED = """{
  // my own settings
  "general": {"vimMode": true},
  "hooks": {"BeforeTool": [{"matcher": "x", "hooks": [{"type": "command", "command": "echo"}]}]}, /* mine */
}
"""


@pytest.fixture
def world(here, capsys, monkeypatch):
    """The same, with `assent` called within this process: there are many calls."""

    def run(*words: str, cwd=here.project):
        monkeypatch.chdir(cwd)
        code = main(list(words))
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    here.run = run
    return here


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def settings(world):
    path = world.home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(THEIRS)
    return path


def init(world, *words: str, agent: str = "claude-code", **more):
    return world.run("init", agent, "--yes", "--no-start", *words, **more)


def line_of(path, event="PreToolUse"):
    entries = [e for e in parse(path.read_text()).value["hooks"][event] if is_ours(e)]
    assert len(entries) == 1
    return entries[0]["hooks"][0]["command"]


def call_hook(line: str, data: bytes, **more):
    return subprocess.run(["/bin/sh", "-c", line], input=data, capture_output=True, check=False, timeout=60, **more)


def test_what_is_not_assents_stays_and_comes_back_exactly(world, settings):
    done = init(world)
    assert done.code == 0, done.err
    found = json.loads(settings.read_text())
    theirs = parse(THEIRS).value
    assert {**found, "hooks": None} == {**theirs, "hooks": None}
    assert [e for e in found["hooks"]["PreToolUse"] if not is_ours(e)] == theirs["hooks"]["PreToolUse"]
    events = {"SessionStart", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure"}
    assert set(found["hooks"]) == events
    assert found["hooks"]["PreToolUse"][1]["hooks"][0]["timeout"] == 600
    status = found["hooks"]["PreToolUse"][1]["hooks"][0]["statusMessage"]
    assert "http://127.0.0.1:7422" in status
    assert "assent pending" in status
    assert world.run("uninit", "claude-code").code == 0
    assert settings.read_text() == THEIRS
    assert not world.user_file.exists()


def test_comments_stay_where_the_agent_reads_them(world):
    settings = world.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(COMMENTED)
    assert init(world, agent="gemini").code == 0
    text = settings.read_text()
    assert "// my own settings" in text
    assert "/* mine */" in text
    assert parse(text).value["general"] == {"vimMode": True}
    world.run("uninit", "gemini")
    assert settings.read_text() == COMMENTED


@pytest.mark.parametrize(("agent", "file"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")])
@pytest.mark.parametrize("text", ['// mine\n{"hooks": {}}', '{"hooks": {},}', '\ufeff{"hooks": {}}'])
def test_settings_that_the_agent_itself_would_leave_out_are_refused(world, agent, file, text):
    # Both agents then go on without any hook: what is wired up in such a file decides nothing.
    path = world.home / file
    path.parent.mkdir()
    path.write_text(text)
    done = init(world, agent=agent)
    assert done.code == 2
    assert f"{agent} cannot parse this file" in done.err
    assert ("byte order mark" in done.err) is text.startswith("\ufeff")
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ({"model": "x"}, "model"),
        ({"description": 4}, "description"),
        ({"hooks": {"Stop": ["x"]}}, "hooks.Stop"),
        ({"hooks": {"PreToolUse": [{"matcher": 5}]}}, "hooks.PreToolUse"),
        ({"hooks": {"PreToolUse": [{"hooks": "x"}]}}, "hooks.PreToolUse"),
        ({"hooks": {"PreToolUse": [{"hooks": [{"type": "new", "command": "x"}]}]}}, "hooks.PreToolUse"),
    ],
    ids=str,
)
def test_a_file_of_hooks_that_codex_would_leave_out_is_refused(world, text, named):
    path = world.home / ".codex" / "hooks.json"
    path.parent.mkdir()
    path.write_text(json.dumps(text))
    done = init(world, agent="codex")
    assert done.code == 2
    assert f"remove {named}" in done.err
    assert json.loads(path.read_text()) == text


def test_rules_are_taken_over_and_each_refusal_is_explained(world, settings):
    shown = init(world, "--dry-run").out
    for text in (
        "allow Bash(npm run test:*)",
        "allow WebFetch(domain:example.com)",
        "ask   Bash(git push:*)",
        "deny  Read(**/.env)",
        "deny  Edit(/etc/**)",
        "deny  Write(/etc/**)",
        "deny  mcp__files__*",
    ):
        assert f"imports      {text}" in shown
    assert "skips        allow Bash(*): the rule would allow every such call" in shown
    assert "skips        allow Bash(run_in_background:true): the rule is about a parameter" in shown
    assert "skips        deny  Agent(Explore): Assent has no rules for Agent" in shown
    init(world)
    assert world.run("check", "npm run test").code == 0
    assert world.run("check", "git push").code == 3
    assert world.run("check", "cat sub/.env").code == 4


def test_a_policy_that_is_there_keeps_its_comments_and_gets_the_rules(world, settings):
    before = "# mine\npermissions:\n  mode: default  # calm\n  deny:\n    - Bash(curl:*)  # never\n"
    world.user_file.write_text(before)
    assert init(world).code == 0
    text = world.user_file.read_text()
    assert all(line in text.splitlines() for line in before.splitlines())
    assert "    - Read(.env)  # from claude-code" in text
    world.run("uninit", "claude-code")
    assert world.user_file.read_text() == before


def test_a_dry_run_changes_nothing(world, settings):
    done = init(world, "--dry-run")
    assert done.code == 0
    assert "+      " in done.out
    assert settings.read_text() == THEIRS
    assert not world.state.exists()


def test_without_a_terminal_it_asks_for_yes(world, settings):
    done = world.run("init", "claude-code")
    assert done.code == 2
    assert "--yes" in done.err
    assert settings.read_text() == THEIRS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"hooks": ', "not valid JSON"),
        ("[1, 2]", "expected the file to be an object"),
        ('{"hooks": []}', "expected hooks to be an object"),
        ('{"hooks": {"PreToolUse": {}}}', "expected hooks.PreToolUse to be a list"),
        ('{"a": 1, "a": 2}', "duplicate name"),
        ('{"disableAllHooks": true}', "hooks are disabled here"),
    ],
)
def test_settings_that_can_not_be_changed_are_left_alone(world, settings, text, said):
    settings.write_text(text)
    done = init(world)
    assert done.code == 2
    assert said in done.err
    assert settings.read_text() == text
    assert not (world.state / "agents").exists()


def test_settings_that_are_not_text_are_left_alone(world, settings):
    settings.write_bytes(b"\xff\xfe{}")
    done = init(world)
    assert (done.code, settings.read_bytes()) == (2, b"\xff\xfe{}")
    assert "not UTF-8" in done.err


def test_read_only_settings_are_left_alone(world, settings):
    settings.chmod(0o444)
    done = init(world)
    assert done.code == 2
    assert "read-only" in done.err
    assert "--dry-run" in done.err
    assert settings.read_text() == THEIRS


def test_a_link_stays_a_link_and_a_link_to_nothing_is_refused(world, settings):
    kept = world.home / "dotfiles.json"
    kept.write_text(THEIRS)
    settings.unlink()
    settings.symlink_to(kept)
    assert init(world).code == 0
    assert settings.is_symlink()
    assert line_of(kept)
    world.run("uninit", "claude-code")
    assert (settings.is_symlink(), kept.read_text()) == (True, THEIRS)
    kept.unlink()
    done = init(world)
    assert done.code == 2
    assert "dangling symbolic link" in done.err


def test_a_projects_link_leads_nowhere_outside_of_it(world, settings):
    ours = world.project / ".claude"
    ours.symlink_to(settings.parent)  # the user's own settings
    done = init(world, "--project")
    assert done.code == 2
    assert "the file is a link out of the project" in done.err
    assert settings.read_text() == THEIRS
    ours.unlink()
    (world.project / "elsewhere").mkdir()
    ours.symlink_to(world.project / "elsewhere")
    assert init(world, "--project").code == 0
    assert line_of(world.project / "elsewhere" / "settings.local.json")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_crash_in_the_middle_is_undone_exactly(world, settings, monkeypatch, when):
    def crash(change):
        if when == "after":
            apply_change(change)
        raise AssentError("the machine went down")

    with monkeypatch.context() as patched:
        patched.setattr("assent.cli.commands.init.apply_change", crash)
        assert init(world).code == 2
    assert world.run("uninit", "claude-code").code == 0
    assert settings.read_text() == THEIRS
    assert not is_protected(world, settings)
    assert init(world).code == 0
    assert is_protected(world, settings)
    world.run("uninit", "claude-code")
    assert settings.read_text() == THEIRS


def is_protected(world, settings) -> bool:
    return str(settings) in json.loads((world.state / "hooks.json").read_text())


def test_what_somebody_writes_while_the_change_is_shown_is_not_lost(world, settings, monkeypatch):
    monkeypatch.setattr("assent.cli.commands.init._test_hook", lambda *_: 0)

    def agree():
        settings.write_text('{"model": "haiku"}')
        return True

    monkeypatch.setattr("assent.cli.commands.init._agrees", agree)
    done = world.run("init", "claude-code", "--no-start")
    assert done.code == 2
    assert "changed meanwhile" in done.err
    assert settings.read_text() == '{"model": "haiku"}'
    assert world.run("uninit", "claude-code").code == 0
    assert settings.read_text() == '{"model": "haiku"}'


def test_many_wirings_at_once_are_all_in_the_book(world):
    home = str(world.state)

    def add(number: int) -> None:
        with hold_book(home):
            one = Wired(agent="codex", scope="project", root=f"/p{number}", key="k", token="t")
            write_book(home, [*read_book(home), one])

    with ThreadPoolExecutor(8) as several:
        list(several.map(add, range(8)))
    assert {wired.root for wired in read_book(home)} == {f"/p{number}" for number in range(8)}


def test_the_mode_of_the_settings_stays(world, settings):
    settings.chmod(0o640)
    init(world)
    assert settings.stat().st_mode & 0o777 == 0o640


def test_an_older_assent_gives_way_and_twice_is_once(world, settings):
    older = {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/bin/assent hook claude-code"}]}
    settings.write_text(json.dumps({"hooks": {"PreToolUse": [older]}}))
    assert init(world).code == 0
    first = line_of(settings)
    assert first.startswith("POSIXLY_CORRECT=1; exec /bin/sh -c ")
    assert init(world).code == 0
    assert line_of(settings) == first
    world.run("uninit", "claude-code")
    assert parse(settings.read_text()).value == {"hooks": {"PreToolUse": [older]}}


def test_what_was_changed_since_is_kept_when_it_is_taken_out(world, settings):
    init(world, "--no-import")
    text = settings.read_text().replace('"model": "opus"', '"model": "haiku"')
    settings.write_text(text)
    done = world.run("uninit", "claude-code")
    assert "later changes stay" in done.out
    found = parse(settings.read_text()).value
    assert found["model"] == "haiku"
    assert found["hooks"] == parse(THEIRS).value["hooks"]


def test_rules_that_were_taken_over_go_again_and_what_was_added_since_stays(world, settings):
    before = "# mine\nserver:\n  port: 7000\n# and what else I want\n"
    world.user_file.write_text(before)
    init(world)
    world.user_file.write_text(world.user_file.read_text().replace("7000", "7001"))
    assert "later changes stay" in world.run("uninit", "claude-code").out
    assert world.user_file.read_text() == before.replace("7000", "7001")
    assert settings.read_text() == THEIRS


def test_a_rule_added_among_those_that_were_taken_over_never_changes_its_list(world, settings):
    world.user_file.write_text("permissions:\n  allow:\n    - Bash(ls:*)\n")
    init(world)
    text = world.user_file.read_text()
    last = [line for line in text.splitlines(keepends=True) if "mcp__files" in line][-1]
    world.user_file.write_text(text.replace(last, last + "    - Bash(curl:*)\n"))
    before = world.user_file.read_text()
    assert "as it is: it was changed in the same place" in world.run("uninit", "claude-code").out
    assert world.user_file.read_text() == before


def test_a_switch_goes_back_too_when_the_file_was_changed_since(world):
    settings = world.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooksConfig": {"notifications": true}, "general": {"vimMode": true}}')
    init(world, agent="gemini")
    settings.write_text(settings.read_text().replace('"vimMode": true', '"vimMode": false'))
    assert "removed Assent's entries" in world.run("uninit", "gemini").out
    found = parse(settings.read_text()).value
    assert found == {"hooksConfig": {"notifications": True}, "general": {"vimMode": False}}


def test_a_second_wiring_after_a_change_is_taken_back_as_far_as_the_first(world, settings):
    init(world, "--no-import")
    settings.write_text(settings.read_text().replace('"model": "opus"', '"model": "haiku"'))
    assert init(world, "--no-import").code == 0
    assert line_of(settings)
    world.run("uninit", "claude-code")
    assert parse(settings.read_text()).value == parse(THEIRS).value | {"model": "haiku"}


def test_without_its_backup_the_entries_still_go(world, settings):
    init(world, "--no-import")
    for copy in (world.state / "backups").iterdir():
        copy.unlink()
    assert world.run("uninit", "claude-code").code == 0
    assert parse(settings.read_text()).value == parse(THEIRS).value


@pytest.mark.parametrize(
    ("agent", "file", "events"),
    [
        ("codex", ".codex/hooks.json", {"SessionStart", "PreToolUse", "PermissionRequest", "PostToolUse"}),
        ("gemini", ".gemini/settings.json", {"SessionStart", "BeforeTool", "AfterTool"}),
    ],
)
def test_other_agents_get_a_file_of_their_own_and_lose_it_again(world, agent, file, events):
    done = init(world, agent=agent)
    assert done.code == 0, done.err
    found = json.loads((world.home / file).read_text())
    assert set(found["hooks"]) == events
    if agent == "gemini":
        assert found["hooksConfig"] == {"enabled": True}
        assert found["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"] == 600_000
    if agent == "codex":
        assert "/hooks" in done.out  # how to trust them, where Codex is not there to be asked
    world.run("uninit", agent)
    assert not (world.home / file).parent.exists()


def test_rules_of_codex_and_gemini_are_taken_over(world):
    rules = world.home / ".codex" / "rules" / "default.rules"
    rules.parent.mkdir(parents=True)
    rules.write_text(
        'prefix_rule(pattern=["cargo", ["test", "check"]], decision="allow")\n'
        'prefix_rule(pattern=["git", "push"], decision="prompt")\n'
        'prefix_rule(pattern=["dd"], decision="forbidden")\n'
        'prefix_rule(pattern=["sh", "-c", "a b"], decision="allow")\n'
        'network_rule(host="example.com", decision="allow")\n'
    )
    shown = init(world, "--dry-run", agent="codex").out
    for text in ("allow Bash(cargo test:*)", "allow Bash(cargo check:*)", "ask   Bash(git push:*)", "deny  Bash(dd:*)"):
        assert f"imports      {text}" in shown
    assert "a word would have another meaning" in shown
    assert "Assent has no equivalent of network_rule" in shown
    policies = world.home / ".gemini" / "policies" / "mine.toml"
    policies.parent.mkdir(parents=True)
    policies.write_text(
        '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = ["git status", "ls"]\ndecision = "allow"\n'
        '[[rule]]\ntoolName = "run_shell_command"\ncommandRegex = "rm.*"\ndecision = "deny"\n'
        '[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\n'
    )
    (world.home / ".gemini" / "settings.json").write_text('{"tools": {"exclude": ["run_shell_command(rm)"]}}')
    shown = init(world, "--dry-run", agent="gemini").out
    for text in ("allow Bash(git status:*)", "allow Bash(ls:*)", "deny  Bash(rm:*)"):
        assert f"imports      {text}" in shown
    assert "Assent has no equivalent of commandRegex" in shown
    assert "the rule would allow every such call" in shown


def test_a_projects_own_rules_start_in_the_project(world):
    (world.project / ".claude").mkdir()
    rules = {"permissions": {"deny": ["Read(/secret.txt)", "Read(private)"]}}
    (world.project / ".claude" / "settings.json").write_text(json.dumps(rules))
    shown = init(world, "--project", "--dry-run").out
    assert f"deny  Read({world.project}/secret.txt)" in shown
    init(world, "--project")
    assert world.run("check", "cat secret.txt").code == 4
    assert world.run("check", "cat sub/private/x").code == 4


def test_a_project_is_wired_up_for_itself_with_its_own_token(world):
    assert init(world, "--project").code == 0
    assert line_of(world.project / ".claude" / "settings.local.json")
    tokens = json.loads(world.run("token", "list", "--json").out)
    wired = next(t for t in tokens if t["agent"] == "claude-code")
    assert wired["workspace"] == [str(world.project)]
    assert init(world, "--project", cwd=world.home).code == 2  # a home is no project


def test_a_second_wiring_of_an_agent_is_told_of_the_first(world):
    assert "already" not in init(world, "--project").out
    assert f"note: claude-code is already connected in {world.project}" in init(world).out
    assert "note: claude-code is already connected for all your projects" in init(world, "--project").out
    assert "already" not in init(world, agent="gemini").out


def test_an_unknown_agent_is_refused_with_those_there_are(world):
    done = init(world, agent="docker-agent")
    assert done.code == 2
    assert "claude-code" in done.err
    assert "hook-script" in done.err


def test_the_settings_and_the_home_are_protected_from_then_on(world, settings):
    init(world)
    assert world.run("check", "--tool", "Write", str(settings)).code == 4
    assert world.run("check", "--tool", "Read", str(world.state / "agents" / "claude-code.token")).code == 4


def test_an_interpreter_inside_a_project_is_refused(world):
    done = init(world, "--python", str(world.project / "bin" / "python3"))
    assert done.code == 2
    assert "does not exist" in done.err
    inner = world.project / "bin" / "python3"
    inner.parent.mkdir()
    inner.symlink_to("/usr/bin/python3")
    assert "is in the project" in init(world, "--python", str(inner)).err


CALL = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s"}


def test_the_line_denies_whatever_becomes_of_the_client(world, settings):
    init(world)
    line = line_of(settings)
    words = shlex.split(line)
    data = json.dumps(CALL | {"cwd": str(world.project)}).encode()
    without_daemon = call_hook(line, data)
    assert without_daemon.returncode == 2
    assert b"assent serve" in without_daemon.stderr
    python, script = words[words.index("assent-hook") + 1], str(world.state / "hook.py")
    for broken in (
        line.replace(python, "/nonexistent/python3"),
        line.replace(script, "/nonexistent/hook.py"),
        line.replace(f"{script} claude-code", script).replace(" 590", ""),
    ):
        done = call_hook(broken, data)
        assert done.returncode == 2, broken
        assert done.stderr
    assert call_hook(f"{line} <&-", b"").returncode == 2
    for name in ("hook_client.py", "hook.py"):
        for signal in (9, 15):
            (world.state / name).write_text(f"import posix\nposix.kill(posix.getpid(), {signal})\n")
            assert call_hook(line, data).returncode == 2
        for nothing in ("raise SystemExit(1)\n", "raise SystemExit(0)\n", "import posix\nposix._exit(0)\n", ""):
            (world.state / name).write_text(nothing)
            assert call_hook(line, data).returncode == 2


SHELLS = {"dash": "/bin/dash", "bash": "/bin/bash", "bash as sh": "/bin/bash --posix", "busybox": "/bin/busybox sh"}
"""What runs the line, and what `/bin/sh` is: on each system another."""
HOSTILE = [
    {},
    *(
        {"SHELLOPTS": options}
        for options in ("errexit", "noexec", "nounset:noglob:pipefail", "xtrace:verbose:noclobber")
    ),
    {"BASH_FUNC_echo%%": "() { exit 0; }"},
    {"BASH_FUNC_/bin/sh%%": "() { exit 0; }"},
    {"IFS": "10", "PATH": "", "ENV": "/dev/null", "HOME": "", "TMPDIR": "/nonexistent", "code": "10"},
]
ENDS = {"/nonexistent": 2, "/bin/true": 2, "/bin/false": 2, "/bin/sh -c exit\\ 2": 2, "/bin/sh -c exit\\ 10": 0}
"""By what stands in the client's place: nothing but its own code for an answer is one."""


def run_line(line: str, shell: str, instead: str, **more):
    """Run a line as an agent does, where `/bin/sh` is this shell, with something else in the client's place."""
    client = line.partition(" assent-hook ")[2].partition("\n")[0]
    line = line.replace(client, instead).replace("/bin/sh", shell, 1)
    return subprocess.run([*shell.split(), "-c", line], capture_output=True, check=False, timeout=60, **more)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_no_variable_makes_a_yes_of_a_client_that_is_gone(world, settings, shell):
    init(world)
    line = line_of(settings)
    for environ in HOSTILE:
        for instead, code in ENDS.items():
            done = run_line(line, shell, instead, env=environ)
            stumbles = environ.get("SHELLOPTS") == "noexec" and "bash" in shell  # it denies everything, then
            assert done.returncode == (2 if stumbles else code), (environ, instead, done)
            assert code == 0 or done.stderr or "exit" in instead, (environ, instead, done)


@pytest.mark.parametrize("shell", SHELLS.values(), ids=SHELLS)
def test_when_no_more_processes_can_be_started_the_line_denies(world, settings, shell):
    init(world)

    def starve() -> None:
        if os.geteuid() == 0:  # root may always start more
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))

    done = run_line(line_of(settings), shell, "/bin/sh -c exit\\ 10", preexec_fn=starve)
    assert done.returncode == 2, done
    assert done.stderr


def test_gemini_finds_no_variable_to_put_in(world):
    # It replaces $name in its settings by what its environment holds, and that may come from a file of the project.
    init(world, agent="gemini")
    line = line_of(world.home / ".gemini" / "settings.json", "BeforeTool")
    assert not re.search(r"\$(\w|\{)", line)


def test_the_client_is_read_compiled_and_made_anew_when_it_changed(world, settings):
    init(world)
    compiled = world.state / "__pycache__"
    # One for each Python: the one that wires, and the one that the hook runs with.
    assert {file.name.partition(".")[0] for file in compiled.iterdir()} == {"hook_client"}
    (world.state / "hook_client.py").write_text("def main(argv):\n    return 0\n")
    assert call_hook(line_of(settings), b"").returncode == 0
    init(world)
    assert call_hook(line_of(settings), b"").returncode == 2


def test_doctor_says_so_when_the_hook_lets_through_what_must_be_denied(world, settings):
    init(world, "--no-import")
    (world.state / "hook_client.py").write_text("def main(argv):\n    return 0\n")
    done = world.run("doctor")
    assert done.code == 1
    assert "the hook allowed a call that must be denied" in done.out


def test_doctor_runs_no_line_that_only_looks_like_assents(world, settings):
    init(world, "--project", "--no-import")
    wired = world.project / ".claude" / "settings.local.json"
    text = json.loads(wired.read_text())
    text["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = f"touch {world.home}/fooled # assent-hook"
    wired.write_text(json.dumps(text))
    done = world.run("doctor")
    assert done.code == 1
    assert "does not contain Assent's hook as written PreToolUse" in done.out
    assert not (world.home / "fooled").exists()


@pytest.mark.parametrize(
    "changed",
    [
        {"matcher": "Write"},
        {"hooks": [{"type": "command", "command": "LINE", "timeout": 5}]},
        {"hooks": [{"type": "command", "command": "LINE", "timeout": 600, "async": True}]},
        {"hooks": [{"type": "command", "command": "LINE", "timeout": 600, "if": "Bash(rm:*)"}]},
        {"hooks": [{"type": "prompt", "command": "LINE", "timeout": 600}]},
    ],
    ids=str,
)
def test_an_entry_that_decides_less_than_it_should_is_found(changed):
    whole = {"matcher": "*", "hooks": [{"type": "command", "command": "LINE", "timeout": 600, "statusMessage": "x"}]}
    assert WIRINGS["claude-code"].runs("PreToolUse", whole, "LINE")
    assert not WIRINGS["claude-code"].runs("PreToolUse", whole | changed, "LINE")


@pytest.mark.parametrize(
    ("agent", "settings", "off"),
    [
        ("claude-code", {"disableAllHooks": True}, True),
        ("claude-code", {"disableAllHooks": False}, False),
        ("gemini", {"hooksConfig": {"enabled": True}}, False),
        ("gemini", {"hooksConfig": {"enabled": False}}, True),
        ("gemini", {"hooksConfig": {"enabled": True, "disabled": ["assent"]}}, True),
        ("gemini", {}, False),
        ("codex", None, False),
        ("codex", {"features": {"hooks": True}}, False),
        ("codex", {"features": {"hooks": False}}, True),
        ("codex", {"features": {"codex_hooks": False}}, True),
    ],
)
def test_hooks_that_are_switched_off_are_found(agent, settings, off):
    assert WIRINGS[agent].is_off(settings) is off


def test_hooks_that_a_project_switches_off_are_found(world):
    file, ours = str(world.home / ".codex" / "hooks.json"), world.project / ".codex" / "config.toml"
    ours.parent.mkdir()
    ours.write_text("[features]\nhooks = false\n")
    assert find_off(WIRINGS["codex"], file, None) == []
    assert find_off(WIRINGS["codex"], file, str(world.project)) == [str(ours)]
    assert "disabled" in init(world, "--project", agent="codex").err


def test_a_program_that_a_project_puts_before_hooks_is_found(world, settings):
    init(world, "--no-import")
    ours = world.project / ".claude" / "settings.json"
    ours.parent.mkdir()
    ours.write_text('{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/bin/true"}}')
    assert f"{ours} sets CLAUDE_CODE_SHELL_PREFIX, which can skip hooks" in world.run("doctor").out


def test_doctor_finds_what_speaks_before_the_hook(world, monkeypatch):
    init(world, agent="gemini")
    assert "other output precedes the hook's answer" not in world.run("doctor").out
    (world.home / "greeting.sh").write_text("echo hello\n")
    monkeypatch.setenv("BASH_ENV", str(world.home / "greeting.sh"))
    monkeypatch.setenv("SHLVL", "1")
    assert "other output precedes the hook's answer" in world.run("doctor").out


FAKE_CODEX = """#!/bin/sh
read -r hello
echo '{"id": 0, "result": {}}'
read -r ready
read -r wanted
cat "$0.json"
cat > /dev/null
"""


def test_only_the_very_lines_that_were_written_are_trusted(tmp_path):
    hook = {"trustStatus": "untrusted", "enabled": True, "currentHash": "sha256:x"}
    lines = ["/bin/sh -c x assent-hook python", "touch fooled # assent-hook", "assent hook codex; touch fooled"]
    hooks = [hook | {"key": f"k{number}", "command": line} for number, line in enumerate(lines)]
    program = tmp_path / "codex"
    program.write_text(FAKE_CODEX)
    program.chmod(0o755)
    answer = {"id": 1, "result": {"data": [{"hooks": hooks}]}}
    (tmp_path / "codex.json").write_text(json.dumps(answer) + "\n")
    found = list_hooks(str(program), str(tmp_path), os.environ, lines[:1])
    assert [each.key for each in found] == ["k0"]


def test_a_trial_never_stops_anything(world, settings):
    init(world, "--observe")
    done = call_hook(line_of(settings), json.dumps(CALL).encode())
    assert (done.returncode, done.stdout) == (0, b"")
    (world.state / "hook.py").unlink()
    assert call_hook(line_of(settings), b"").returncode == 0


@pytest.fixture
def started(world, settings, monkeypatch):
    """An agent wired up so that its hook starts the daemon; what was started is ended."""
    monkeypatch.setenv("ASSENT_PORT", "0")
    assert world.run("init", "claude-code", "--yes", "--no-import").code == 0
    yield line_of(settings)
    for line in (world.state / "daemon.log").read_text().splitlines():
        if '"daemon.started"' in line:
            with contextlib.suppress(ProcessLookupError):
                os.kill(json.loads(line)["pid"], 9)


def test_the_hook_starts_one_daemon_however_many_ask_and_a_revoked_token_is_a_no(world, started):
    for line in (world.state / "daemon.log").read_text().splitlines():
        if '"daemon.started"' in line:
            os.kill(json.loads(line)["pid"], 9)  # `init` itself had it started
    (world.state / "daemon.log").unlink()
    data = json.dumps(CALL | {"cwd": str(world.project)}).encode()
    with ThreadPoolExecutor(4) as several:
        done = list(several.map(lambda _: call_hook(started, data, env=world.environ), range(4)))
    assert [each.returncode for each in done] == [0] * 4, done
    assert all(b'"allow"' in each.stdout for each in done)
    assert (world.state / "daemon.log").read_text().count('"daemon.started"') == 1
    token = next(t for t in json.loads(world.run("token", "list", "--json").out) if t["agent"] == "claude-code")
    assert world.run("token", "revoke", token["id"]).code == 0
    until(lambda: call_hook(started, data, env=world.environ).returncode == 2)
    assert b"run `assent init claude-code` again" in call_hook(started, data, env=world.environ).stderr
    assert "rejected the token" in world.run("doctor").out


def test_opencode_gets_a_plugin_that_runs_the_same_line(world):
    assert init(world, agent="opencode").code == 0
    plugin = world.home / ".config" / "opencode" / "plugin" / "assent.js"
    line = plugin_line(plugin.read_text())
    call = json.dumps({"hook_event_name": "tool.execute.before", "tool_name": "bash", "tool_input": {"command": "ls"}})
    done = call_hook(line, call.encode())
    assert done.returncode == 2
    assert json.loads(done.stdout)["allow"] is False
    world.run("uninit", "opencode")
    assert not plugin.exists()


@pytest.fixture
def plugin(world):
    assert init(world, agent="opencode").code == 0
    return world.home / ".config" / "opencode" / "plugin" / "assent.js"


def copies(world, text: str) -> list[str]:
    return [str(path) for path in (world.state / "backups").iterdir() if path.read_text() == text]


def test_a_plugin_that_was_changed_goes_too_and_the_change_is_kept(world, plugin):
    changed = plugin.read_text() + "// mine\n"
    plugin.write_text(changed)
    assert "does not contain Assent's hook as written" in world.run("doctor").out
    said = world.run("uninit", "opencode").out
    assert not plugin.parent.parent.exists()
    assert copies(world, changed)[0] in said


def test_a_changed_plugin_gives_way_to_a_new_one_and_never_comes_back(world, plugin):
    changed = plugin.read_text() + "// mine\n"
    plugin.write_text(changed)
    said = init(world, agent="opencode").out
    assert copies(world, changed)[0] in said
    world.run("uninit", "opencode")
    assert not plugin.parent.parent.exists()


def test_what_was_there_before_the_plugin_comes_back_whatever_became_of_it(world):
    plugin = world.home / ".config" / "opencode" / "plugin" / "assent.js"
    plugin.parent.mkdir(parents=True)
    plugin.write_text("// my own\n")
    init(world, agent="opencode")
    plugin.write_text(plugin.read_text() + "// mine\n")
    init(world, agent="opencode")
    plugin.write_text(plugin.read_text() + "// mine too\n")
    world.run("uninit", "opencode")
    assert plugin.read_text() == "// my own\n"


@pytest.mark.parametrize("text", ["// all my own\n", 'const LINE = "\\q"\n'])
def test_a_plugin_that_runs_assent_no_longer_is_somebody_elses(world, plugin, text):
    plugin.write_text(text)
    assert "as it is: it was changed in the same place" in world.run("uninit", "opencode").out
    assert plugin.read_text() == text


def test_a_plugin_of_a_lost_assent_gives_way_and_never_comes_back(world, plugin):
    (world.state / "agents" / "wirings.json").unlink()
    old = plugin.read_text().replace("590", "290")
    plugin.write_text(old)
    assert copies(world, old) == []
    said = init(world, agent="opencode").out
    assert copies(world, old)[0] in said
    world.run("uninit", "opencode")
    assert not plugin.exists()


@pytest.fixture
def moved(world):
    """A project that was wired up for itself, and then moved."""
    old, new = world.home / "old", world.home / "new"
    (old / ".git").mkdir(parents=True)
    (old / ".claude").mkdir()
    (old / ".claude" / "settings.local.json").write_text('{"model": "opus"}\n')
    init(world, "--project", cwd=old)
    old.rename(new)
    return new


def test_a_project_that_was_moved_is_taken_out_where_it_lies_now(world, moved):
    said = world.run("doctor").out
    assert "the folder no longer exists" in said
    assert "--project" in said
    assert world.run("uninit", "claude-code", "--project", cwd=moved).code == 0
    assert (moved / ".claude" / "settings.local.json").read_text() == '{"model": "opus"}\n'
    assert read_book(str(world.state)) == ()
    assert list((world.state / "agents").glob("*.token")) == []


def test_a_project_that_was_moved_is_wired_up_anew_and_comes_back_as_it_was(world, moved):
    assert init(world, "--project", cwd=moved).code == 0
    assert [wired.root for wired in read_book(str(world.state))] == [str(moved)]
    assert len(list((world.state / "agents").glob("*.token"))) == 1
    world.run("uninit", "claude-code", "--project", cwd=moved)
    assert (moved / ".claude" / "settings.local.json").read_text() == '{"model": "opus"}\n'


def test_a_copy_of_a_project_is_not_the_project(world, moved):
    moved.rename(world.home / "old")
    shutil.copytree(world.home / "old", moved)
    done = world.run("uninit", "claude-code", "--project", cwd=moved)
    assert "not connected in this project" in done.err


def test_of_a_project_that_is_gone_an_empty_folder_is_enough(world, moved):
    shutil.rmtree(moved)
    (world.home / "old").mkdir()
    assert world.run("uninit", "claude-code", "--project", cwd=world.home / "old").code == 0
    assert read_book(str(world.state)) == ()

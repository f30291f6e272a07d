from __future__ import annotations

import json

import pytest

from assent.cli import exit_codes, main
from assent.cli.options.arguments import add_call_options, make_parser, parse_call
from assent.sandbox import Machine

USER_FILE = """
permissions:
  allow: ["Bash(npm test)", "mcp__docs__*"]
  ask: ["Bash(git log:*)"]
  deny:
    - rule: Bash(wget:*)
      reason: use curl
"""


@pytest.fixture
def policy(here):
    here.user_file.write_text(USER_FILE)
    return here


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["ls"], 0, "allow: "),
        (["ls", "-la"], 0, "allow: "),
        (["npm test"], 0, "allow: allowed by Bash(npm test)"),
        (["git", "log", "--oneline"], 3, "ask: approval required by Bash(git log:*)"),
        (["wget example.com"], 4, "deny: use curl"),
        (["rm -rf /"], 4, "deny: rm deletes"),
        (["ls; rm -rf /"], 4, "deny: rm deletes"),
        (["--tool", "Write", "a.txt"], 0, "allow: "),
        (["--tool", "Write", "/etc/hosts"], 3, "ask: "),
        (["--tool", "Write", '{"file_path": "/etc/hosts"}'], 3, "ask: "),
        (["--tool", "Read", "with", "space.txt"], 0, "allow: "),
        (["--tool", "Grep", "TODO"], 0, "allow: "),
        (["--tool", "WebFetch", "https://example.com/"], 0, "allow: "),
        (["--tool", "WebFetch", '{"url": "http://localhost:7422/"}'], 4, "deny: "),
        (["--tool", "mcp__docs__find", "{}"], 0, "allow: "),
        (["--tool", "mcp__docs__find"], 0, "allow: "),
        (["--tool", "mcp__other__do", "{}"], 3, "ask: "),
        (["--tool", "PowerShell", "dir"], 3, "ask: "),
        (["--tool", "exec", "wget x"], 4, "deny: use curl"),
    ],
)
def test_the_exit_code_and_the_first_word_give_the_verdict(policy, capsys, words, code, said):
    assert main(["check", *words]) == code
    assert capsys.readouterr().out.startswith(said)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "no command given"),
        (["--tool", "Foo", "text"], "must be a JSON object"),
        (["--tool", "Write", "{broken"], "not valid JSON"),
        (["--tool", "Write", '{"a": ' + "[" * 100_000], "nested too deeply"),
        (["--tool", "", "x"], "--tool needs a name"),
        (["--cwd", "/does/not/exist", "ls"], "folder not found: `/does/not/exist`"),
        (["--cwd", "/etc/passwd", "ls"], "folder not found: `/etc/passwd`"),
        (["--cwd", "", "ls"], "folder not found: ``"),
        (["--mode", "stric", "ls"], "unknown mode `stric`"),
        (["--policy", "/does/not/exist.yaml", "ls"], "/does/not/exist.yaml: file not found"),
        (["--nonsense", "ls"], "no command given"),
        (["--batch", "ls"], "takes no command"),
        (["bad\udc80bytes"], "not valid UTF-8"),
    ],
)
def test_wrong_usage_is_exit_2_with_a_message(policy, capsys, words, complaint):
    if words[:1] == ["--nonsense"]:
        words, complaint = ["--nonsense=1"], "unrecognized"
    assert main(["check", *words]) == exit_codes.USAGE
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    ("argv", "command", "as_json"),
    [
        (["ls"], ["ls"], False),
        (["ls", "-la"], ["ls", "-la"], False),
        (["--json", "ls", "-la"], ["ls", "-la"], True),
        (["git log -1", "--json"], ["git log -1"], True),
        (["ls", "--json"], ["ls"], True),
        (["ls", "--json", "--cwd", "/"], ["ls"], True),
        (["npm", "ls", "--json"], ["npm", "ls", "--json"], False),
        (["npm", "--json", "ls"], ["npm", "--json", "ls"], False),
        (["--", "npm", "--json"], ["npm", "--json"], False),
        (["--json", "--", "--batch"], ["--batch"], True),
        (["git", "checkout", "--", "x"], ["git", "checkout", "--", "x"], False),
        (["git", "--help"], ["git", "--help"], False),
        (["git", "--version"], ["git", "--version"], False),
        (["-"], ["-"], False),
    ],
)
def test_a_command_keeps_its_own_dashes(argv, command, as_json):
    parser = make_parser("check", "", ())
    parser.add_argument("--batch", action="store_true")
    add_call_options(parser)
    given = parse_call(parser, argv)
    assert (given.command, given.json) == (command, as_json)


def test_rules_are_named_with_file_and_line(policy, capsys):
    main(["check", "wget x"])
    assert f"  by Bash(wget:*) @ user {policy.user_file}:6\n" in capsys.readouterr().out


def test_a_destructive_call_names_its_impact_and_the_way_back(here, capsys):
    main(["check", "rm -rf /"])
    out = capsys.readouterr().out
    assert "  impact: " in out
    assert "  to undo: " in out


def test_json_has_every_promised_key(policy, capsys):
    assert main(["check", "--json", "wget x > out"]) == exit_codes.DENY
    answer = json.loads(capsys.readouterr().out)
    assert answer["decision"] == "deny"
    assert answer["reason"] == "use curl"
    assert answer["decision_source"] == "rule"
    assert answer["rule_refs"] == [f"Bash(wget:*) @ user {policy.user_file}:6"]
    assert answer["mode"] == "default"
    assert answer["destructive"] is False
    assert {"tier", "impact_scope", "rollback_advice", "policy_version"} <= set(answer)
    assert {"fs.write", "command.execute"} <= {o["kind"] for o in answer["operations"]}
    assert all({"kind", "resource", "tier", "reason"} <= set(o) for o in answer["operations"])


def test_what_is_only_known_at_run_time_is_marked(here, capsys):
    main(["check", "--json", "$X y"])
    operation = json.loads(capsys.readouterr().out)["operations"][0]
    assert operation["known"] is False
    assert operation["resource"] == "… y"


def test_a_command_can_come_from_stdin(world):
    assert world.run("check", "-", stdin="ls\n").code == exit_codes.OK
    assert world.run("check", "-", stdin="rm -rf /\n").code == exit_codes.DENY
    assert world.run("check", "-", stdin=b"ls \xff").code == exit_codes.USAGE
    assert world.run("check", "-", stdin="x" * (1 << 20) + "y").code == exit_codes.USAGE


def test_the_mode_given_replaces_the_users_but_not_the_projects(here, capsys):
    here.user_file.write_text("permissions: {mode: strict}")
    assert main(["check", "ls"]) == exit_codes.DENY
    assert main(["check", "--mode", "default", "ls"]) == exit_codes.OK
    assert main(["check", "--mode", "never", "npm install x"]) == exit_codes.DENY
    (here.project / "assent.yaml").write_text("permissions: {mode: plan}")
    assert main(["check", "--mode", "bypass", "touch x"]) == exit_codes.DENY


def test_a_policy_file_given_is_heard_as_the_users(here, tmp_path):
    extra = tmp_path / "extra.yaml"
    extra.write_text('permissions: {allow: ["Bash(npm test)"], deny: ["Bash(ls:*)"]}')
    assert main(["check", "npm test"]) == exit_codes.ASK
    assert main(["check", "--policy", str(extra), "npm test"]) == exit_codes.OK
    assert main(["check", "--policy", str(extra), "ls"]) == exit_codes.DENY


def test_an_ask_is_reported_where_nobody_could_be_asked(here):
    here.user_file.write_text("permissions: {interactive: false}")
    assert main(["check", "npm test"]) == exit_codes.ASK


def test_a_dangerous_line_that_the_sandbox_holds_is_exit_0(here, capsys):
    assert main(["check", "--mode", "auto", "npm test"]) == exit_codes.OK
    assert capsys.readouterr().out.startswith("sandboxed: ")


def test_a_boundary_that_can_not_be_set_up_is_exit_4(here, capsys, monkeypatch):
    lacking = Machine(None, 0, seccomp=False, notify=False, missing=("bubblewrap is not installed",))
    monkeypatch.setattr("assent.sandbox.capabilities.find_machine", lambda: lacking)
    assert main(["check", "--mode", "on_failure", "npm test"]) == exit_codes.DENY
    out = capsys.readouterr().out
    assert out.startswith("unavailable: ")
    assert "which is not available here" in out


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("permissions:\n  alow: []\n", "assent.yaml:2: Unknown configuration field 'permissions.alow'."),
        ("permissions: [", "assent.yaml:"),
        ("", "assent.yaml: the file is empty"),
    ],
)
@pytest.mark.parametrize("words", [["check", "ls"], ["check", "--batch"], ["explain", "ls"], ["policy", "show"]])
def test_a_broken_file_is_exit_2_before_anything_is_decided(here, capsys, words, text, complaint):
    here.user_file.write_text(text)
    assert main(words) == exit_codes.USAGE
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert "  hint: " in shown.err or "[" in text
    assert shown.out == ""


def test_damaged_state_is_exit_2_too(here, capsys):
    here.state.mkdir(mode=0o700)
    hooks = here.state / "hooks.json"
    hooks.write_text("{")
    hooks.chmod(0o600)
    assert main(["check", "ls"]) == exit_codes.USAGE
    assert "hooks.json: the file is damaged" in capsys.readouterr().err


UNTRUSTED = "assent: note: project rules are not trusted: 1 allow rule ignored; run `assent trust`\n"


@pytest.mark.parametrize("words", [("check",), ("check", "--json"), ("explain",), ("explain", "--json")])
def test_rules_that_do_not_count_are_mentioned_once_on_the_error_stream(here, capsys, words):
    (here.project / "assent.yaml").write_text('permissions: {allow: ["Bash(npm test)"]}')
    assert main([*words, "npm test"]) == exit_codes.ASK
    shown = capsys.readouterr()
    assert shown.err == UNTRUSTED
    assert "not trusted" not in shown.out


@pytest.mark.parametrize("words", [("check",), ("check", "--json"), ("explain",)])
def test_where_all_rules_count_the_error_stream_is_empty(here, capsys, words):
    (here.project / "assent.yaml").write_text('permissions: {deny: ["Bash(npm test)"]}')
    assert main([*words, "npm test"]) == exit_codes.DENY
    assert capsys.readouterr().err == ""


def test_deciding_writes_nothing(world):
    before = sorted(p for p in world.home.parent.rglob("*"))
    assert world.run("check", "npm test").code == exit_codes.ASK
    assert sorted(p for p in world.home.parent.rglob("*")) == before


def test_colour_only_where_it_is_wanted(world):
    assert "\x1b[" not in world.run("check", "ls").out
    assert "\x1b[1;32mallow\x1b[0m" in world.run("check", "ls", FORCE_COLOR="1").out


def test_escape_sequences_in_a_command_do_not_reach_the_screen(here, capsys):
    main(["check", "\x1b[2Jfoo\u202e"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_name_on_disk_that_is_no_text_still_gives_json(here, capsys):
    (here.project / "link").symlink_to(b"caf\xe9".decode("utf-8", "surrogateescape"))
    assert main(["check", "--json", "--tool", "Write", "link"]) in (exit_codes.OK, exit_codes.ASK)
    assert "caf" in json.loads(capsys.readouterr().out)["operations"][0]["target"]


def test_dots_after_a_link_lead_where_the_disk_says(here, tmp_path, capsys):
    (tmp_path / "far" / "away").mkdir(parents=True)
    (here.project / "link").symlink_to(tmp_path / "far" / "away")
    main(["check", "--json", "--cwd", "link/..", "--tool", "Write", "x"])
    assert json.loads(capsys.readouterr().out)["operations"][0]["resource"] == str(tmp_path / "far" / "x")


@pytest.mark.parametrize("name", ["assent.yaml", "agentrail.yaml", ".claude/settings.json", ".mcp.json", "conftest.py"])
@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
def test_a_file_that_decides_later_is_no_other_by_another_name(here, capsys, name, mode):
    for folder in (".claude", "kept", "sub"):
        (here.project / folder).mkdir()
    (here.project / "kept" / "real").write_text("{}")
    (here.project / name).symlink_to(here.project / "kept" / "real")
    (here.project / "sub" / "alias").symlink_to(here.project / name)
    (here.project / "also").symlink_to("kept")
    for path in (name, "kept/real", "sub/alias", "also/real", "sub/../kept/real"):
        for words in (["--tool", "Write", path], ["--tool", "Edit", path], [f"echo x > {path}"]):
            assert main(["check", "--mode", mode, *words]) == exit_codes.ASK
            assert "can make code run later" in capsys.readouterr().out
    assert main(["check", "--mode", mode, "--tool", "Write", "kept/other"]) == exit_codes.OK


def test_a_check_assumes_nothing_of_the_environment_unless_it_is_told(here, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "./evil")
    assert main(["check", "git diff"]) == exit_codes.OK
    assert main(["check", "--env", "GIT_EXTERNAL_DIFF", "git diff"]) == 3
    assert main(["check", "--env", "GIT_EXTERNAL_DIFF=", "git diff"]) == exit_codes.OK
    assert main(["check", "--env=PAGER=less", "--env", "GIT_DIR=x", "git diff"]) == 3
    assert "`GIT_DIR` in the agent's environment" in capsys.readouterr().out
    file = tmp_path / "environ"
    file.write_bytes(b"PAGER=less\0GIT_DIR=x\0")
    assert main(["check", "--env-from", str(file), "git diff"]) == 3
    assert main(["explain", "--env-from", str(file), "git diff"]) == 3
    file.write_text("PAGER=less\nFOO=a=b\n")
    assert main(["check", "--env-from", str(file), "git diff"]) == exit_codes.OK


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--env", "NOT_THERE_AT_ALL", "ls"], "`NOT_THERE_AT_ALL` is neither NAME=VALUE"),
        (["--env", "=x", "ls"], "`=x` is neither NAME=VALUE"),
        (["--env-from", "/not/there", "ls"], "cannot read"),
        (["--env-from", "/dev/zero", "ls"], "is larger than"),
        (["--env", "A=1", "--batch"], "set `environment` on each line"),
    ],
)
def test_an_environment_that_can_not_be_had_is_wrong_usage(here, capsys, words, complaint):
    assert main(["check", *words]) == exit_codes.USAGE
    assert complaint in capsys.readouterr().err

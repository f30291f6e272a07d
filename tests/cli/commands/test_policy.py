from __future__ import annotations

import json

import msgspec
import pytest

from assent.cli import exit_codes, main
from assent.cli.policy_layers import shown_layer, shown_rules
from assent.model import Layer, Policy
from assent.policy.layers import merge
from assent.policy.rules.parse import parse_rules

USER_FILE = """
permissions:
  mode: acceptEdits
  classifier: on
  interactive: true
  profile: workspace-write
  unknown_repository: ask
  forbidden: ["**/*.pem"]
  deny_commands: ["shutdown:*"]
  approve_commands: ["docker:*"]
  read: {deny: [/secret/**], default: allow}
  write: {allow: [/srv/**]}
  allow: ["Bash(npm test)"]
  deny:
    - rule: Bash(wget:*)
      reason: use curl
      match: [wget x, "ls && wget y"]
      not_match: curl x
"""
PROJECT_FILE = 'permissions: {mode: strict, allow: ["Bash(make)"], ask: ["Bash(git push:*)"]}'


@pytest.fixture
def layered(here):
    here.user_file.write_text(USER_FILE)
    (here.project / "assent.yaml").write_text(PROJECT_FILE)
    return here


def test_show_has_every_layer_and_rule_with_its_place(layered, capsys):
    assert main(["policy", "show"]) == exit_codes.OK
    out = capsys.readouterr().out
    project_file = layered.project / "assent.yaml"
    for text in (
        "mode: acceptEdits, tightened by strict",
        "classifier: on",
        "interactive: yes",
        "sandbox profile: workspace-write",
        f"workspace: {layered.project}",
        f"user {layered.user_file} (your own: all of it applies)",
        f"project {project_file} (not trusted: allow rules ignored, ",
        "unknown_repository: ask",
        "read deny: /secret/**",
        "read default: allow",
        "write allow: /srv/**",
        "forbidden: **/*.pem",
        "deny_commands: shutdown:*",
        "approve_commands: docker:*",
        f"Bash(wget:*)  user {layered.user_file}:15",
        f"Bash(git push:*)  project {project_file}:1",
        f"Bash(make)  project {project_file}:1  (ignored: not trusted)",
        "chain: self-protection > forbidden-globs > deny-rules > ask-rules > allow-rules",
        "note: project rules are not trusted: 1 allow rule ignored",
    ):
        assert text in out


def test_show_json_has_the_same(layered, capsys):
    assert main(["policy", "show", "--json", "--cwd", str(layered.project)]) == exit_codes.OK
    shown = json.loads(capsys.readouterr().out)
    assert shown["modes"] == ["acceptEdits", "strict"]
    assert [layer["layer"] for layer in shown["layers"]] == ["user", "project"]
    assert [(r["rule"], r["counts"]) for r in shown["allow"]] == [("Bash(npm test)", True), ("Bash(make)", False)]
    assert shown["deny"][0]["reason"] == "use curl"
    assert shown["chain"][0] == "self-protection"
    assert shown["version"]


RULES = parse_rules(["Bash(make)"])


@pytest.mark.parametrize(
    ("policy", "counts", "said"),
    [
        (Policy(layer=Layer.MANAGED), True, "your organisation's: all of it applies"),
        (Policy(layer=Layer.USER), True, "your own: all of it applies"),
        (Policy(layer=Layer.USER, trusted=True), True, "your own: all of it applies"),
        (Policy(layer=Layer.PROJECT, trusted=True), True, "trusted: its allow rules apply"),
        (Policy(layer=Layer.PROJECT), False, "not trusted: allow rules ignored"),
        (Policy(layer=Layer.RUN), False, "a run's: allow rules ignored"),
        (Policy(layer=Layer.RUN, trusted=True), False, "a run's: allow rules ignored"),
    ],
)
def test_what_a_layer_says_of_itself_is_what_the_engine_does(policy, counts, said):
    policy = msgspec.structs.replace(policy, allow=RULES)
    layer = shown_layer(policy)
    (rule,) = shown_rules((policy,), "allow")
    allowing = [link for link in merge([policy]).chain if link.name == "allow-rules"]
    assert (layer.allows_count, rule.counts, bool(allowing)) == (counts, counts, counts)
    assert said in layer.standing
    assert (rule.ignored is None) is counts


def test_show_without_any_file_says_that_the_default_holds(here, capsys):
    assert main(["policy", "show"]) == exit_codes.OK
    assert "none: defaults apply" in capsys.readouterr().out


def test_show_reports_what_is_declared_about_being_asked(here, capsys):
    here.user_file.write_text("permissions: {interactive: false, classifier: off}")
    main(["policy", "show"])
    out = capsys.readouterr().out
    assert "interactive: no" in out
    assert "classifier: off" in out


def test_trusted_rules_count(layered, capsys):
    assert main(["trust", "--yes"]) == exit_codes.OK
    main(["policy", "show", "--json"])
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert all(rule["counts"] for rule in shown["allow"])


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("permissions: {allow: ['Bash(npm test)']}", exit_codes.OK, "0 findings"),
        ("permissions: {allow: ['Bash(ls:*)'], deny: ['Bash(ls:*)']}", exit_codes.FOUND, "warning"),
        ("permissions: {allow: ['Bash(a && b)']}", exit_codes.FOUND, "error"),
        ("permissions: {allow: ['Bash(ls*)']}", exit_codes.OK, "hint"),
        ("permissions: {mode: bypass}", exit_codes.FOUND, "warning"),
    ],
)
def test_lint_finds_what_is_not_meant(here, tmp_path, capsys, text, code, said):
    file = tmp_path / "assent.yaml"
    file.write_text(text)
    assert main(["policy", "lint", str(file)]) == code
    assert said in capsys.readouterr().out
    assert main(["policy", "lint", "--json", str(file)]) == code
    findings = json.loads(capsys.readouterr().out)
    assert all({"severity", "message", "rule", "origin", "suggestion"} == set(f) for f in findings)


def test_lint_looks_at_the_layers_in_force_by_default(here, capsys):
    here.user_file.write_text("permissions:\n  allow: ['Bash(a && b)']\n")
    assert main(["policy", "lint"]) == exit_codes.FOUND
    assert f"user {here.user_file}:2: error: allow: Bash(a && b): " in capsys.readouterr().out


def test_the_examples_of_every_rule_are_tried(layered, capsys):
    assert main(["policy", "test"]) == exit_codes.OK
    out = capsys.readouterr().out
    assert "ok    deny   Bash(wget:*)    3  user" in out
    assert "1 rules with 3 examples, 0 failed" in out
    assert main(["policy", "test", "--json", str(layered.user_file)]) == exit_codes.OK
    assert json.loads(capsys.readouterr().out)[0]["examples"] == 3


@pytest.mark.parametrize("examples", ["match: curl x", "not_match: wget x", 'match: ["wget x", "curl x"]'])
def test_an_example_that_does_not_hold_is_exit_1(here, tmp_path, capsys, examples):
    file = tmp_path / "assent.yaml"
    file.write_text(f"permissions:\n  deny:\n    - rule: Bash(wget:*)\n      {examples}\n")
    assert main(["policy", "test", str(file)]) == exit_codes.FOUND
    out = capsys.readouterr().out
    assert "FAIL" in out
    assert "the example `" in out
    assert f"{file}:3" in out


@pytest.mark.parametrize("action", ["lint", "test"])
def test_a_file_that_is_not_there_is_wrong_usage(here, capsys, action):
    assert main(["policy", action, "/does/not/exist.yaml"]) == exit_codes.USAGE
    assert "file not found" in capsys.readouterr().err


def test_a_failing_rule_is_told_apart_from_those_that_hold():
    from assent.cli.rule_examples import try_examples
    from assent.model import Policy, Rule

    policy = Policy(
        allow=(Rule(tool="Bash", pattern="ls:*", match=("ls -l",)),),
        ask=(Rule(tool="Bash", pattern="npm:*", not_match=("npm test",)), Rule(tool="Bash", pattern="no examples")),
    )
    assert [(t.rule, t.failure is None) for t in try_examples([policy])] == [
        ("Bash(npm:*)", False),
        ("Bash(ls:*)", True),
    ]

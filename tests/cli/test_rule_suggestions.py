from __future__ import annotations

import json
import re

import pytest

from assent.cli import exit_codes, main
from assent.cli.engines import open_engines
from assent.cli.rule_suggestions import suggest
from assent.model import ToolCall


def suggestion(here, tool: str, **given):
    bench = open_engines().find(str(here.project))
    call = ToolCall(tool=tool, input=given, cwd=str(here.project))
    return suggest(bench.decide(call), call, bench)


@pytest.mark.parametrize(
    ("command", "effect", "rules"),
    [
        ("npm test", "allow", ["Bash(npm test)"]),
        ("npm test && make 'a b'", "allow", ["Bash(npm test)", "Bash(make 'a b')"]),
        ("ls", "deny", ["Bash(ls)"]),
    ],
)
def test_a_command_gets_the_narrowest_rules_that_work(here, command, effect, rules):
    found = suggestion(here, "Bash", command=command)
    assert (found.effect, list(found.rules)) == (effect, rules)


@pytest.mark.parametrize(
    ("tool", "given", "rule"),
    [
        ("Write", {"file_path": "/srv/data/x"}, "Write(/srv/data/x)"),
        ("mcp__x__y", {}, "mcp__x__y"),
        ("WebFetch", {"url": "http://192.168.1.7/"}, "WebFetch(domain:192.168.1.7)"),
    ],
)
def test_other_tools_get_theirs(here, tool, given, rule):
    assert suggestion(here, tool, **given).rules == (rule,)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /",
        "assent approve 7",
        "cat $ASSENT_HOME/tokens",
        "$X y",
        "if then fi ((",
        "npm run *",
        "npm run a:",
        "npm test\u202e",
        "; ".join(f"npm run t{i}" for i in range(9)),
        "echo x > .git/hooks/pre-commit",
        "cat .env",
        "npm run " + "x" * 5000,
    ],
)
def test_nothing_is_suggested_where_no_rule_should_or_can_help(here, command):
    assert suggestion(here, "Bash", command=command) is None


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("git push --force", "Assent suggests no rule for calls that cannot be undone"),
        ("rm -rf /", "no policy can allow a call that controls Assent itself"),
        ("assent approve 7", "no policy can allow a call that controls Assent itself"),
        ("cat .env", "approve when you are asked"),
        ("npm run *", "no rule can name exactly this call"),
    ],
)
def test_then_the_tree_says_what_is_open(here, capsys, command, advice):
    main(["explain", command])
    assert advice in capsys.readouterr().out


def test_a_rule_that_decided_is_pointed_to(here, capsys):
    here.user_file.write_text('permissions: {ask: ["Bash(npm:*)"]}')
    main(["explain", "npm test"])
    assert "change the deciding rule" in capsys.readouterr().out


def test_what_is_suggested_holds_when_it_is_written_down(here, capsys):
    main(["explain", 'npm run "a b"'])
    rule = json.loads(re.search(r'- (".*")$', capsys.readouterr().out, re.MULTILINE)[1])
    here.user_file.write_text(json.dumps({"permissions": {"allow": [rule]}}))
    assert main(["check", 'npm run "a b"']) == exit_codes.OK

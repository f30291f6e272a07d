"""Lines made to be slow, under hundreds of rules: every rule is heard, and few are held against every word."""

from __future__ import annotations

import pytest

from assent import Engine, Facts, Policy, Session, ToolCall, parse_rules
from work import steps

RULES = [f"Bash(bad{i} run:*)" for i in range(200)] + [f"Bash(* --force{i}*)" for i in range(5)]
RULES += [f"Read(/srv/s{i}/**)" for i in range(200)]
SESSION = Session(workspace=("/code",))
MANY_WORDS = "frobnicate " + " ".join(f"w{i}" for i in range(2_000))
MANY_COMMANDS = "ls -la; " * 300 + "ls $("


def engine(*more):
    return Engine([Policy(deny=parse_rules([*RULES, *more]))], facts=lambda: Facts(home="/home/u", resolve=str))


def decide(judge, line):
    return judge.decide(ToolCall(tool="Bash", input={"command": line}, cwd="/code"), SESSION)


@pytest.mark.parametrize("line", [MANY_WORDS, MANY_COMMANDS])
def test_what_hundreds_of_rules_cost_is_bounded(line):
    judge, free = engine(), Engine(facts=lambda: Facts(home="/home/u", resolve=str))
    for each in (judge, free):
        decide(each, "ls")
    assert steps(lambda: decide(judge, line)) < steps(lambda: decide(free, line)) + 250_000
    assert decide(judge, line).decision == "ask"


@pytest.mark.parametrize("position", [0, 150, 299])
def test_a_command_that_is_denied_is_denied_wherever_it_stands_in_a_line_that_can_not_be_read(position):
    commands = ["ls -la"] * 300
    commands[position] = "bad7 run x"
    assert decide(engine(), "; ".join([*commands, "ls $("])).decision == "deny"


def test_what_stands_behind_a_program_that_is_not_known_may_be_what_a_rule_is_about():
    judge = engine("Bash(worse:*)")
    assert decide(judge, "frobnicate x worse y").decision == "ask"
    assert any("may match" in o.reason for o in decide(judge, "frobnicate x worse y").opinions)
    assert any("may match" in o.reason for o in decide(judge, MANY_WORDS).opinions)


@pytest.mark.parametrize("word", ["a[" * 30_000, "*a" * 30_000, "[!-" * 20_000])
def test_a_very_long_pattern_may_be_any_word_of_a_rule(word):
    judge = Engine([Policy(deny=parse_rules(["Bash(rm keep:*)"]))], facts=lambda: Facts(home="/home/u", resolve=str))
    assert steps(lambda: decide(judge, f"rm {word}")) < 250_000
    assert any("Bash(rm keep:*)" in o.reason for o in decide(judge, f"rm {word}").opinions)
    assert any("Bash(rm keep:*)" in o.reason for o in decide(judge, "rm k[e]ep").opinions)
    assert not any("Bash(rm keep:*)" in o.reason for o in decide(judge, "rm k[f]ep").opinions)

"""Examples that a rule carries are checked as the rule would really be applied."""

from __future__ import annotations

import pytest

from assent.model import Rule, RuleError
from assent.policy.rules.examples import check_examples

#: rule, effect, examples it matches, examples it leaves alone
SOUND = [
    ("Bash", "ls:*", "allow", ("ls", "ls -l"), ("lsof", "ls; rm x", "ls && make")),
    ("Bash", "rm:*", "deny", ("rm x", "ls && sudo rm x", "find . -exec rm {} +"), ("ls", "rmdir x")),
    ("Bash", "git push:*", "ask", ("git push -f",), ("git status",)),
    ("Write", "src/**", "allow", ("src/a.py", "./src/b"), ("a.py", "../src/a")),
    ("Read", "~/.ssh/**", "deny", ("~/.ssh/id_rsa",), ("~/x",)),
    ("Edit", "/etc/**", "deny", ("/etc/hosts",), ("/tmp/x",)),
    ("WebFetch", "domain:*.a.test", "allow", ("x.a.test", "https://y.a.test/z"), ("a.test", "b.test")),
    ("WebFetch", "https://a.test/*", "deny", ("https://a.test/x",), ("https://b.test/",)),
    ("mcp__x__y", "prod*", "deny", ("production",), ("dev",)),
]


@pytest.mark.parametrize(("tool", "pattern", "effect", "match", "not_match"), SOUND)
def test_true_examples_pass(tool, pattern, effect, match, not_match):
    check_examples(Rule(tool=tool, pattern=pattern, match=match, not_match=not_match), effect)


@pytest.mark.parametrize(("tool", "pattern", "effect", "match", "not_match"), SOUND)
def test_false_examples_are_refused_by_name(tool, pattern, effect, match, not_match):
    for example in not_match:
        with pytest.raises(RuleError, match="does not match"):
            check_examples(Rule(tool=tool, pattern=pattern, match=(example,)), effect)
    for example in match:
        with pytest.raises(RuleError, match="though it is listed under `not_match`"):
            check_examples(Rule(tool=tool, pattern=pattern, not_match=(example,)), effect)


def test_what_only_may_match_is_no_example_of_either():
    for field in ("match", "not_match"):
        with pytest.raises(RuleError):
            check_examples(Rule(tool="Bash", pattern="rm:*", **{field: ("$X y",)}), "deny")


def test_an_exception_is_an_example_of_what_is_left_alone():
    check_examples(Rule(tool="Bash", pattern="git:*", exceptions=("git status",), not_match=("git status",)), "deny")


def test_a_pattern_that_can_not_be_used_is_refused():
    with pytest.raises(RuleError, match="is not a domain"):
        check_examples(Rule(tool="WebFetch", pattern="domain:"), "deny")

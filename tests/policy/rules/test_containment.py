"""Whether one rule is about everything that another is about: never claimed where it does not hold."""

from __future__ import annotations

import itertools

import pytest

from assent.model import Certainty, Rule
from assent.policy.rules.containment import contains
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_rule
from scenes import calls, connects, look, reads, run, writes

#: wide, narrow, contained when both allow, when both deny
TABLE = [
    ("Bash", "Bash(ls)", True, True),
    ("Bash(*)", "Bash(ls)", True, True),
    ("Bash", "Bash(*)", True, True),
    ("Bash(*)", "Bash", False, False),
    ("Bash(git:*)", "Bash(git status)", True, True),
    ("Bash(git:*)", "Bash(git * main)", True, True),
    ("Bash(git)", "Bash(git status)", False, True),
    ("Bash(git)", "Bash(git)", True, True),
    ("Bash(git status)", "Bash(git:*)", False, False),
    ("Bash(git:*)", "Bash", False, False),
    ("Bash(git * main)", "Bash(git * main)", True, True),
    ("Bash(git * main)", "Bash(git push main)", False, False),
    ("Write", "Write(/ws/a)", True, True),
    ("Write(/ws/**)", "Write(/ws/a/*)", True, True),
    ("Write(/ws/**)", "Write(/ws)", False, False),
    ("Write(/ws/**)", "Write(/ws/**/x)", True, True),
    ("Write(/ws/*)", "Write(/ws/a)", True, False),
    ("Write(/ws)", "Write(/ws/a/**)", False, True),
    ("Write(/ws)", "Write(/ws)", True, True),
    ("Write(/ws/*)", "Write(/ws/a/b)", False, False),
    ("Write(/ws/*)", "Write(/ws/*)", False, False),
    ("Write(/ws/*.py)", "Write(/ws/a.py)", True, False),
    ("Write(/ws/*.py)", "Write(/ws/*.py)", True, True),
    ("Write(/ws/a)", "Write(/ws/a)", True, True),
    ("Write(/ws/a)", "Write", False, False),
    ("Write(src/**)", "Write(/ws/src/a)", False, False),
    ("Write(../**)", "Write(a)", False, False),
    ("Write(/ws/**)", "Edit(/ws/a)", False, True),
    ("Edit(/ws/**)", "Write(/ws/a)", False, True),
    ("Edit", "Write(/ws/a)", False, False),
    ("Edit", "Edit(/ws/a)", True, False),
    ("Edit", "Edit", True, True),
    ("Read", "Write", False, False),
    ("WebFetch(domain:*.a.test)", "WebFetch(domain:x.a.test)", True, True),
    ("WebFetch(domain:*.a.test)", "WebFetch(domain:a.test)", False, False),
    ("WebFetch(domain:a.test)", "WebFetch(domain:a.test)", True, True),
    ("WebFetch(domain:a*.test)", "WebFetch(domain:ab.test)", False, False),
    ("WebFetch(domain:*)", "WebFetch(domain:a.test)", True, True),
    ("WebFetch(domain:a.test)", "WebFetch(domain:*)", False, False),
    ("WebFetch(domain:*)", "Fetcher(domain:a.test)", False, True),
    ("WebFetch", "WebFetch(domain:a.test)", True, False),
    ("Web*", "WebFetch(domain:a.test)", True, False),
    ("WebSearch", "WebFetch(domain:a.test)", False, False),
    ("WebFetch(domain:a.test)", "WebFetch", False, False),
    ("*", "Bash(ls)", True, True),
    ("*", "Edit(/ws/a)", True, True),
    ("Edit", "Delete(/ws/a)", False, False),
    ("Delete", "Delete(/ws/a)", True, False),
    ("Edit(/ws/**)", "Delete(/ws/a)", False, True),
    ("Delete(/ws/**)", "Delete(/ws/a)", True, True),
    ("*(x)", "Bash(ls)", False, False),
    ("mcp__x__*", "Read(/ws/a)", False, False),
    ("mcp__x__*", "mcp__x__y", True, True),
    ("mcp__x__y", "mcp__x__y(a)", True, True),
    ("mcp__x__y(a)", "mcp__x__y", False, False),
    ("mcp__x__*", "mcp__y__y", False, False),
]


@pytest.mark.parametrize(("wide", "narrow", "allow", "deny"), TABLE)
def test_a_rule_contains_another_only_if_it_surely_does(wide, narrow, allow, deny):
    one, other = compile_rule(parse_rule(wide)), compile_rule(parse_rule(narrow))
    assert contains(one, other, broad=False, narrow_broad=False) is allow
    assert contains(one, other, broad=True, narrow_broad=True) is deny


#: what only denies or asks find is no matter where the narrow rule allows
DENIES_AN_ALLOW = [
    ("WebFetch", "WebFetch(domain:a.test)", True),
    ("Edit", "Edit(/ws/a)", True),
    ("Edit", "Write(/ws/a)", False),
    ("Bash(git)", "Bash(git status)", True),
    ("WebFetch(domain:a.test)", "Fetcher(domain:a.test)", True),
]


@pytest.mark.parametrize(("wide", "narrow", "contained"), DENIES_AN_ALLOW)
def test_a_deny_contains_an_allow_if_it_finds_all_that_the_allow_surely_covers(wide, narrow, contained):
    one, other = compile_rule(parse_rule(wide)), compile_rule(parse_rule(narrow))
    assert contains(one, other, broad=True, narrow_broad=False) is contained


def test_a_rule_with_exceptions_contains_nothing():
    wide = compile_rule(Rule(tool="Bash", pattern="git:*", exceptions=("git push",)))
    assert not contains(wide, compile_rule(parse_rule("Bash(git status)")), broad=True, narrow_broad=False)


RULES = sorted({r for row in TABLE for r in row[:2]})
VIEWS = [
    look(writes("/ws/a"), tool="Bash"),
    *(look(run(c)) for c in ("git", "git status", "git push main", "ls", "ls -l", "./git x main")),
    *(
        look(writes(p), tool=t)
        for p in ("/ws", "/ws/a", "/ws/a.py", "/ws/src/a", "/x")
        for t in ("Write", "Edit", "Delete")
    ),
    look(reads("/ws/a"), tool="Read"),
    *(look(connects(h), tool=t) for h in ("a.test", "x.a.test", "ab.test") for t in ("WebFetch", "Fetcher", "Bash")),
    *(look(calls(t), tool=t, given={"q": "a"}) for t in ("mcp__x__y", "mcp__x__z", "mcp__y__y")),
]


@pytest.mark.parametrize(("broad", "narrow_broad"), [(True, True), (True, False), (False, False)])
def test_what_is_contained_never_matches_what_the_wider_rule_does_not(broad, narrow_broad):
    for wide, narrow in itertools.permutations(map(compile_rule, map(parse_rule, RULES)), 2):
        if contains(wide, narrow, broad=broad, narrow_broad=narrow_broad):
            for view in VIEWS:
                operation = view.reading.operations[0]
                if narrow.match(operation, view, broad=narrow_broad) is Certainty.YES:
                    assert wide.match(operation, view, broad=broad) is Certainty.YES

"""A rule says in plain words how it is read."""

from __future__ import annotations

import pytest

from assent.model import PathPolicy
from assent.policy.lint import explain_rules
from assent.policy.rules.describe import phrase
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_rule
from scenes import policy

#: rule, as an allow, as a deny
TABLE = [
    ("Bash", "any Bash call", "any Bash call"),
    ("shell", "any Bash call", "any Bash call"),
    ("Bash(*)", "any command", "any command"),
    ("Bash(git:push)", "exactly `git push`", "`git push`, alone or with anything after it"),
    ("Bash(git:push:*)", "`git push`, alone or with anything after it", "`git push`, alone or with anything after it"),
    ("Bash(git:push*)", "commands like `git push*`", "commands like `git push*`"),
    ("Bash(npm run test:unit)", "exactly `npm run test:unit`", "`npm run test:unit`, alone or with anything after it"),
    ("Write", "any write", "any write"),
    ("Edit(/a/**)", "writes to `/a/**`", "writes to `/a/**`"),
    ("Read", "any read", "any read"),
    ("Grep(/a/**)", "reads of `/a/**`", "reads of `/a/**`"),
    ("WebFetch(domain: a.test)", "connections to `a.test`", "connections to `a.test`"),
    ("mcp__x__*", "any call of `mcp__x__*`", "any call of `mcp__x__*`"),
    ("send(*prod*)",) + ("any call of `send` whose input matches `*prod*`",) * 2,
]


@pytest.mark.parametrize(("text", "allow", "deny"), TABLE)
def test_a_rule_is_put_in_plain_words(text, allow, deny):
    matcher = compile_rule(parse_rule(text))
    assert phrase(matcher, "allow") == allow
    assert phrase(matcher, "deny") == phrase(matcher, "ask") == deny


def test_every_list_is_explained_and_what_is_no_rule_is_left_to_the_findings():
    given = policy(deny=["Bash(git:push*)"], forbidden=("/x/**",), read=PathPolicy(deny=("/y/**", " ")))
    assert [(m.rule, m.means) for m in explain_rules([given])] == [
        ("deny: Bash(git:push*)", "commands like `git push*`"),
        ("forbidden: /x/**", "reads of `/x/**` and writes to `/x/**`"),
        ("read.deny: /y/**", "reads of `/y/**`"),
    ]

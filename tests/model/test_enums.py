"""Words that compare by strictness, and the closed sets they come from."""

from __future__ import annotations

import itertools

import pytest

from assent.model import MODE_ALIASES, Certainty, Layer, Mode, Tier, Verdict

ORDERS = {
    Verdict: ["allow", "ask", "deny"],
    Tier: ["safe", "dangerous", "destructive"],
    Certainty: ["no", "maybe", "yes"],
    Layer: ["run", "project", "user", "managed"],
}


@pytest.mark.parametrize("kind", ORDERS)
def test_words_compare_by_their_place_in_the_list(kind):
    assert [w.value for w in kind] == ORDERS[kind]
    for (i, one), (j, other) in itertools.product(enumerate(kind), repeat=2):
        assert (one < other, one > other) == (i < j, i > j)
        assert (one <= other, one >= other) == (i <= j, i >= j)
        assert max(one, other).rank == max(i, j)
    assert str(max(kind)) == ORDERS[kind][-1]


def test_a_word_is_no_stricter_or_looser_than_mere_text():
    assert not Verdict.DENY > "allow"
    assert not Verdict.ALLOW < "deny"
    assert not Verdict.ALLOW <= "deny"
    assert not Verdict.DENY >= "allow"


def test_a_word_nobody_knows_is_none():
    with pytest.raises(ValueError, match="perhaps"):
        Verdict("perhaps")


def test_other_names_of_modes_are_names_of_modes():
    assert {a: m.value for a, m in MODE_ALIASES.items()} == {
        "on_request": "default",
        "never": "dontAsk",
        "bypass": "bypassPermissions",
    }
    assert not MODE_ALIASES.keys() & {m.value for m in Mode}

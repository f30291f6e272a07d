"""Principals, and text in which nothing hides."""

from __future__ import annotations

import pytest

from assent.model import Principal, Role, is_hidden, visible
from assent.model.principal import PEER


@pytest.mark.parametrize(
    ("role", "user", "may"),
    [
        (Role.ADMIN, "ann", True),
        (Role.USER, "ann", False),
        (Role.USER, "bob", True),
        (Role.AGENT, "bob", False),
    ],
)
def test_a_user_answers_for_their_own_and_an_admin_for_all(role, user, may):
    assert Principal(role=role, user=user).may_answer("bob") is may


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x1bb", "a\\x1bb"),
        ("\U000e0041", "\\U000e0041"),
        ("\u00e9", "\u00e9"),
        ("\ufdd0", "\u2026"),
    ],
)
def test_what_hides_is_written_out(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(("char", "hidden"), [(" ", False), ("a", False), ("\u200b", True), ("\u2800", True)])
def test_a_character_hides_or_does_not(char, hidden):
    assert is_hidden(char) is hidden


@pytest.mark.parametrize(("token", "peer"), [(PEER, True), ("", False), ("tok_1", False)])
def test_who_comes_without_a_token_over_the_socket_is_a_peer(token, peer):
    assert Principal(token=token, role=Role.AGENT, user="ann").is_peer is peer

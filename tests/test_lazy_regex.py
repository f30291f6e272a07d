"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

import assent.lazy_regex as later


def test_an_expression_is_compiled_when_it_is_first_used_and_only_then(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or re._compile(*given))
    found = later.compile("a(b)", re.IGNORECASE)
    assert compiled == []
    assert found.match("AB")[1] == "B"
    assert found.fullmatch("abc") is None
    assert compiled == [("a(b)", re.IGNORECASE)]


@pytest.mark.parametrize("name", ["findall", "finditer", "fullmatch", "match", "search", "split"])
def test_each_way_to_use_it_gives_what_the_standard_one_gives(name):
    ours, theirs = later.compile("[ab](x)?"), re.compile("[ab](x)?")
    found, wanted = getattr(ours, name)("ax b"), getattr(theirs, name)("ax b")
    assert str(found if name != "finditer" else list(found)) == str(wanted if name != "finditer" else list(wanted))
    assert ours.sub("-", "ax b") == theirs.sub("-", "ax b")
    assert ours.pattern == theirs.pattern


def test_a_wrong_expression_is_an_error_each_time_it_is_used():
    wrong = later.compile("(")
    for _ in range(2):
        with pytest.raises(re.error):
            wrong.match("x")


def test_what_it_has_not_is_an_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = later.compile("a").nothing

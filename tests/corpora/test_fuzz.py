"""No text at all makes reading fail, run away, or allow what it does not know."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus import decide, escape
from fuzz import LONG, fault, patterns, scrawl, towers
from grammar import META, Lines
from work import steps

many = settings(max_examples=400, deadline=None)
EACH = 8
"""Calls of functions that a character may cost at most."""
ONCE = 700_000
"""Calls that a line may cost beside its length: what is refused is described, what is listed is judged."""
PIECES = st.lists(st.sampled_from((*META, "ls", "rm", "x", "if", "do", "done", "E\n", "\u200b", "é")), max_size=60)


@many
@given(st.one_of(st.binary(max_size=200).map(lambda b: b.decode("latin-1")), st.text(max_size=200)))
def test_any_bytes_and_any_text_are_decided(line):
    assert fault(line) is None, escape(line)


@given(st.binary(max_size=20))
def test_bytes_that_are_no_text_are_denied(data):
    assert decide((b"ls \xff" + data).decode("utf-8", "surrogateescape")).decision == "deny"


@many
@given(PIECES.map("".join))
def test_any_pieces_of_shell_are_decided(line):
    assert fault(line) is None, escape(line)


@many
@given(st.integers(0, 1 << 32))
def test_any_line_of_the_grammar_is_decided(seed):
    line = Lines(random.Random(seed)).line()
    assert fault(line) is None, escape(line)


@pytest.mark.parametrize("size", [100_000, LONG])
def test_towers_of_brackets_are_decided(size):
    for line in towers(size):
        assert fault(line) is None, escape(line[:40])


def test_a_million_semicolons_are_decided():
    for piece in (";", "a;", "\n", "a\n", "a&", "a|", ":;", "#", " ", "''", '"" '):
        assert decide(piece * 1_000_000).decision == "ask", piece


def test_every_pattern_of_two_characters_is_decided():
    for line in patterns(LONG):
        assert fault(line) is None, escape(line[:40])


@pytest.mark.parametrize("size", [8_192, LONG])
def test_the_work_for_a_line_is_bounded_by_its_length(size):
    random_lines = [(scrawl(random.Random(seed)) * 4_000)[:size] for seed in range(8)]
    for line in (*towers(size), *list(patterns(size))[:: 5 if size < LONG else 37], *random_lines):
        taken = steps(lambda line=line: decide(line))
        assert taken < ONCE + EACH * len(line), (taken, escape(line[:60]))

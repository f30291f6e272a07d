"""Sums of constants come out as bash prints them, or not at all."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.analysis.bash.arithmetic import worked_out
from assent.analysis.evaluate.script import parse
from assent.model import UNKNOWN

CONSTANT = {
    "echo $((1 + 2))": "3",
    "echo $((60*60*24))": "86400",
    "echo $((2 + 3 * 4 - 5))": "9",
    "echo $((7 / 2 * 2))": "6",
    "echo $((10 % 4))": "2",
    "echo $((3-5))": "-2",
    "n=10; echo $((n+20))": "30",
    "n=10; echo $(($n+20))": "30",
    "n=1; echo $((n$n))": UNKNOWN,
    "n=1; echo $(($n$n + 1))": "12",
    "a=2; b=$((a*3)); echo $((b+1))": "7",
    "echo $(((1+2)*3))": UNKNOWN,
    "echo $((010 + 1))": UNKNOWN,
    "echo $((0x10))": UNKNOWN,
    "echo $((2#101))": UNKNOWN,
    "echo $((1/0))": UNKNOWN,
    "echo $((5%0))": UNKNOWN,
    "echo $((2**3))": UNKNOWN,
    "echo $((n+1))": UNKNOWN,
    "echo $(($1+1))": UNKNOWN,
    "n=10; echo $((n++))": UNKNOWN,
    "n=10; m=$((n+=5)); echo $((n + 1))": UNKNOWN,
    "echo $((999999999*999999999*999999999))": UNKNOWN,
    "echo $((999999999*999999999*4 + 999999999*999999999*4))": UNKNOWN,
    "echo $((1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1))": UNKNOWN,
    "for n in 1 $(nproc); do echo $((n+1)); done": UNKNOWN,
    "n=1; while true; do echo $((n+1)); n=$((n+1)); done": UNKNOWN,
}


@pytest.mark.parametrize("line", CONSTANT)
def test_what_is_constant_is_worked_out_and_nothing_else(line):
    words = [c.words for c in parse(line).commands if c.words and c.words[0].text == "echo"]
    assert [word.text for word in words[0][1:]] == [CONSTANT[line]]


NUMBER = st.integers(0, 10**9 - 1).map(str)
SUM = st.lists(st.tuples(st.sampled_from("+-*/% "), NUMBER), min_size=1, max_size=6)


@given(st.lists(SUM, min_size=30, max_size=30))
@settings(max_examples=10, deadline=None)
def test_bash_agrees(sums):
    texts = ["".join(f" {operator} {number}" for operator, number in terms).lstrip(" +-*/%") for terms in sums]
    known = {text: result for text in texts if (result := worked_out(text)) is not None}
    said = subprocess.run(["bash"], input="\n".join(f"echo $(({t}))" for t in known), capture_output=True, text=True)  # noqa: PLW1510
    assert said.stdout.split() == list(known.values())

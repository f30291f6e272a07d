"""What is allowed is run for real, and leaves nothing behind that the decision did not tell."""

from __future__ import annotations

import itertools
import random

import pytest

from assent.model import FS_WRITE
from corpus import decide
from grammar import Lines, options
from oracle import allowed_rows, fault, faults, run

LINES = 500
"""Random lines for each seed; a third of them is allowed."""


SHARES, EVERY = 2, 7
"""Shares of the corpora that are run here, each one line in so many; by hand all of them are."""


@pytest.mark.parametrize("seed", range(6))
def test_no_random_line_that_is_allowed_does_more_than_it_tells(seed):
    lines = Lines(random.Random(seed))
    found, ran = faults(dict.fromkeys(lines.line() for _ in range(LINES)))
    assert not found, "\n".join(found)
    assert ran > LINES / 5


def test_no_option_that_is_allowed_does_more_than_it_tells():
    found, ran = faults(itertools.islice(options(), 0, None, 499))
    assert not found, "\n".join(found)
    assert ran > 20


@pytest.mark.parametrize("share", range(SHARES))
def test_no_line_of_the_corpora_that_is_allowed_does_more_than_it_tells(share):
    found, ran = faults(itertools.islice(allowed_rows(), share, None, EVERY))
    assert not found, "\n".join(found)
    assert ran > 50


SEEN = [
    ("echo x > /marker/hit", "changed /marker/hit"),
    ("marker", "changed /marker/hit"),
    ("./evil", "changed /marker/hit"),
    ("rm a.txt", "changed /code/a.txt"),
    ("chmod 600 a.txt", "changed /code/a.txt"),
    ("mkdir -p new/folder", "changed /code/new"),
    ("(sleep 0.05; touch /tmp/late) &", "changed /tmp/late"),
    ("git config a.b c", "changed /code/.git/config"),
    ("cat .env", "showed a secret"),
    ("touch /etc/x", "tried to write outside"),
    ("kill -9 -1", "ended what ran it"),
]


@pytest.mark.parametrize(("line", "said"), SEEN)
def test_the_oracle_sees_what_a_line_does(line, said):
    (outcome,) = run([line])
    assert said in (fault(outcome, decide("ls")) or ""), outcome


@pytest.mark.parametrize("line", ["ls", "git status", "cat a.txt | head -1", "sleep 9", "curl http://192.0.2.1"])
def test_the_oracle_has_nothing_against_a_look(line):
    (outcome,) = run([line])
    assert fault(outcome, decide("ls")) is None, outcome


def test_the_oracle_takes_what_a_decision_tells():
    line = "echo x > new.txt"
    (outcome,) = run([line])
    assert outcome.changed == ("/code/new.txt",)
    assert any(o.kind is FS_WRITE for o in decide(line).reading.operations)
    assert fault(outcome, decide(line)) is None


def test_every_line_gets_its_own_outcome_also_behind_one_that_ends_the_sandbox():
    lines = ["echo x > /tmp/1", "kill -9 -1", "ls", "echo x > /tmp/2"]
    assert [(o.line, o.changed, o.died) for o in run(lines)] == [
        (lines[0], ("/tmp/1",), False),
        (lines[1], (), True),
        (lines[2], (), False),
        (lines[3], ("/tmp/2",), False),
    ]


def test_nothing_outside_the_sandbox_can_be_written_or_reached():
    lines = [
        "echo x > /proc/sys/kernel/core_pattern",
        "echo x > /usr/bin/x",
        "ls /run",
        "cat /proc/net/dev | tail -n +4",
    ]
    said = [outcome.said for outcome in run(lines)]
    assert "denied" in said[0] or "Read-only" in said[0]
    assert "Read-only" in said[1] or "denied" in said[1]
    assert "No such file" in said[2]
    assert said[3] == ""

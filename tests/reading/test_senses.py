"""What a command's words say is found once while it comes again, and is what it would be found to say alone."""

from __future__ import annotations

import msgspec
import pytest

from assent import Engine, Facts, Policy, Session, ToolCall
from assent.model.rule import CommandEntry
from assent.reading import senses
from assent.reading.commands import read_line
from assent.reading.paths import Place
from assent.reading.senses import MOST_KEPT
from corpus import rows

PLACE = Place(Facts(home="/home/u", resolve=str), "/code", ("/code",))
ELSEWHERE = Place(Facts(home="/home/u", resolve=str), "/other", ("/other",))


@pytest.fixture(autouse=True)
def forgotten():
    senses._kept.clear()
    yield
    senses._kept.clear()


def alone(line, place):
    senses._kept.clear()
    return read_line(line, place)


def test_a_line_is_read_the_same_whatever_was_read_before():
    lines = [row.line for row in rows()][::3]
    apart = {line: (alone(line, PLACE), alone(line, ELSEWHERE)) for line in lines}
    for line in lines + lines[::-1]:
        assert (read_line(line, PLACE), read_line(line, ELSEWHERE)) == apart[line], line


@pytest.mark.parametrize(
    "line", ["wc -l a.txt", "git log -3", "sort -o b a", "rm x", "grep -rn x src", "frobnicate -x"]
)
def test_the_same_command_in_another_line_is_the_same(line):
    operations, _ = read_line(line, PLACE)
    (_, *again), _ = read_line(f"true && {line}", PLACE)
    moved = [o if o.owner is None else msgspec.structs.replace(o, owner=o.owner - 1) for o in again]
    assert moved == list(operations)


@pytest.mark.parametrize("line", ["rm -rf .", "rm -r src", "chmod -R 777 ..", "mv / x"])
def test_where_a_command_stands_counts_each_time(line):
    for place in (PLACE, ELSEWHERE, PLACE):
        assert read_line(line, place) == alone(line, place)


def test_where_it_is_sent_counts_each_time():
    for line in ("git -C a status", "git -C /etc status", "git -C a status", "make -C .. -n"):
        assert read_line(line, PLACE) == alone(line, PLACE)


def test_a_users_own_entry_is_not_taken_for_the_catalogs():
    read_line("frob x", PLACE)
    own = Policy(commands=(CommandEntry(names=("frob",), entry={"does": "looks", "tier": "safe", "args": "look*"}),))
    call = ToolCall(tool="Bash", input={"command": "frob x"}, cwd="/code")
    session = Session(workspace=("/code",))
    verdicts = [Engine(policies).decide(call, session).decision for policies in ([], [own], [], [own])]
    assert verdicts == ["ask", "allow", "ask", "allow"]


def test_not_everything_is_kept():
    for number in range(MOST_KEPT + 50):
        read_line(f"wc -l f{number}", PLACE)
    assert 0 < len(senses._kept) <= MOST_KEPT
    senses._kept.clear()
    read_line("wc -l " + "x" * 300, PLACE)
    read_line('wc -l "$x"', PLACE)
    read_line("rm -r src", PLACE)  # how bad it is depends on where it stands
    assert not senses._kept


def test_a_clause_that_holds_where_the_call_stands_says_nothing_of_where_the_command_is_sent():
    entry = {
        "does": "runs a command",
        "tier": "safe",
        "ordered": True,
        "values": {"-C": "cwd"},
        "runs": "words",
        "args": "look*",
        "when": [{"broad": True, "runs": ""}],
    }
    engine = Engine([Policy(commands=(CommandEntry(names=("frob",), entry=entry),))])
    session = Session(workspace=("/code",))
    call = ToolCall(tool="Bash", input={"command": "frob -C a/b/c ../.. x"}, cwd="/code/sub")
    assert engine.decide(call, session).decision == "ask"

"""What a command's words say is found once while it comes again, and is what it would be found to say alone."""

from __future__ import annotations

import msgspec
import pytest

from assent import Engine, Facts, Policy, Session, ToolCall
from assent.analysis import operations as touching
from assent.analysis.lines.commands import read_line
from assent.analysis.programs import command_cache, embedded_code
from assent.analysis.programs.command_cache import MOST_KEPT
from assent.analysis.resources import paths, wildcards
from assent.analysis.resources.paths import Place
from assent.model import Tier
from assent.model.rule import CommandEntry
from corpus import rows

PLACE = Place(Facts(home="/home/u", resolve=str), "/code", ("/code",))
ELSEWHERE = Place(Facts(home="/home/u", resolve=str), "/other", ("/other",))


CACHES = (paths._traits, embedded_code._judge, touching._look, wildcards._let_through)


def forget():
    command_cache._kept.clear()
    command_cache._sought.clear()
    for cache in CACHES:
        cache.cache_clear()


@pytest.fixture(autouse=True)
def forgotten():
    forget()
    yield
    forget()


def alone(line, place):
    forget()
    return read_line(line, place)


def test_a_line_is_read_the_same_whatever_was_read_before():
    lines = [row.line for row in rows()][::3]
    apart = {line: (alone(line, PLACE), alone(line, ELSEWHERE)) for line in lines}
    for line in lines + lines[::-1]:
        assert (read_line(line, PLACE), read_line(line, ELSEWHERE)) == apart[line], line


@pytest.mark.parametrize(
    "line",
    [
        *("wc -l a.txt", "git log -3", "sort -o b a", "rm x", "grep -rn x src", "frobnicate -x"),
        *("grep -rn x --include=*.py", "cat $X/a", "cat *.pem", "ls ?", "find . -name '*.py'", "find $X -delete"),
    ],
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


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (("cat '*.pem'", "cat *.pem", 'cat "*.pem"'), 2),
        (("grep -e *x y", "grep -e '*x' y"), 2),
        (("cat $X", "cat $Y", "cat $HOME", "cat $AWS_SECRET_ACCESS_KEY"), 3),
        (("find '*' -delete", "find * -delete"), 2),
        (("wc $(ls)", "wc $(cat a)", "true; wc $(ls)"), 2),
    ],
)
def test_words_of_one_text_that_came_to_be_otherwise_are_told_apart(lines, count):
    apart = [alone(line, PLACE) for line in lines]
    forget()
    assert [read_line(line, PLACE) for line in lines] == apart
    assert len(set(apart)) >= count


def test_a_folder_in_which_a_name_comes_to_be_an_option_counts_each_time():
    dashes = set()
    facts = Facts(home="/home/u", resolve=str, has_dashes=lambda folder: folder in dashes)
    place = Place(facts, "/code", ("/code",))
    assert read_line("sort *", place)[0][0].tier is Tier.SAFE
    dashes.add("/code")
    assert read_line("sort *", place)[0][0].tier is Tier.DANGEROUS


def test_not_everything_is_kept():
    for number in range(MOST_KEPT + 50):
        read_line(f"wc -l f{number}", PLACE)
    assert 0 < len(command_cache._kept) <= MOST_KEPT
    command_cache._kept.clear()
    read_line("wc -l " + "x" * 300, PLACE)
    read_line("wc " + "x " * 60, PLACE)
    read_line("rm -r src", PLACE)  # how bad it is depends on where it stands
    read_line("find . -name " + "x" * 300, PLACE)
    assert not command_cache._kept
    assert not command_cache._sought
    for number in range(MOST_KEPT + 50):
        read_line(f"find . -name f{number}", PLACE)
    assert 0 < len(command_cache._sought) <= MOST_KEPT


@pytest.mark.parametrize("line", ["cat {}", "cat {}/*.pem", "grep x --include={}*", "sed -n '{}'", "ls {}/?"])
def test_nothing_long_is_kept(line):
    sizes = [cache.cache_info().currsize for cache in CACHES]
    read_line(line.format("x" * 1_100), PLACE)
    assert [cache.cache_info().currsize for cache in CACHES] == sizes


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

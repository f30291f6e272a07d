"""Every entry of the catalog is well formed, holds to its own examples, and is honest about what it cannot undo."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import pytest
import yaml

from assent.catalog import Clause, Entry, entries, parse_entry
from assent.catalog.loader import Slice
from assent.model import Tier
from lines import worst

ALL = entries()
FOLDER = resources.files("assent.catalog") / "data"
FILES = sorted(f.name for f in FOLDER.iterdir())


def levels(entry: Entry) -> Iterator[Entry]:
    yield entry
    for child in entry.subcommands.values():
        yield from levels(child)


def identify(part: Slice) -> str:
    return f"{part.file}:{part.line}:{part.names[0]}"


def said(part: Slice, kind: str) -> list[str]:
    return [line for level in levels(parse_entry(part)) for line in getattr(level.examples, kind)]


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_examples_hold(part: Slice) -> None:
    wrong = []
    for kind, tiers in (
        ("safe", (Tier.SAFE,)),
        ("not_safe", (Tier.DANGEROUS,)),
        ("destructive", (Tier.DESTRUCTIVE,)),
    ):
        for line in said(part, kind):
            found = worst(line)
            if found.tier not in tiers:
                wrong.append(f"{line!r} is {found.tier}, not {kind}: {found.reason}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_examples_are_there_and_about_the_entry(part: Slice) -> None:
    lines = [line for kind in ("safe", "not_safe", "destructive") for line in said(part, kind)]
    assert lines
    assert any(said(part, kind) for kind in ("not_safe", "destructive")), "say when it is not safe"
    for line in lines:
        assert any(name.rstrip("0123456789.") in line or name == "ld.so" for name in part.names), line


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_what_can_not_be_undone_says_what_it_hits_and_how_to_go_back(part: Slice) -> None:
    for level in levels(parse_entry(part)):
        sayings: list[Entry | Clause] = [level, *level.when]
        for saying in sayings:
            if saying.tier is Tier.DESTRUCTIVE:
                assert saying.impact, saying
                assert saying.rollback, saying
            else:
                assert not saying.impact, saying
                assert not saying.rollback, saying


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_reasons_read_as_sentences(part: Slice) -> None:
    for level in levels(parse_entry(part)):
        for does in (level.does, *(c.does for c in level.when if c.does)):
            assert does == does.strip().rstrip(".")
            assert does[:1].islower(), does


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_options_are_spelled_as_options(part: Slice) -> None:
    for level in levels(parse_entry(part)):
        for name in level.table:
            start = name.endswith("=") if level.options == "pairs" else name.startswith(("-", "+"))
            assert start, f"{name} is no option"
        for clause in level.when:
            known = {*level.table, *clause.any.split(), *clause.unless.split()}
            for option in (*clause.value, *clause.roles):
                assert option in known, f"{option} is given a meaning but is not known"


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_conditions_name_known_options(part: Slice) -> None:
    """A clause about an option that the entry does not list could never hold where it matters."""

    def check(level: Entry, above: set[str]) -> None:
        known = above | set(level.table)
        for clause in level.when:
            named = {
                *clause.any.split(),
                *clause.unless.split(),
                *(n for g in clause.all.split() for n in g.split("|")),
            }
            missing = {n for n in named if n not in known}
            # An option that is not listed makes the call dangerous by itself: only its reason may be given here.
            assert not missing or clause.tier is Tier.DANGEROUS, missing
        for child in level.subcommands.values():
            check(child, known)

    check(parse_entry(part), set())


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_arguments_have_known_roles_and_one_repetition(part: Slice) -> None:
    from typing import get_args

    from assent.catalog import Role

    known = set(get_args(Role))
    for level in levels(parse_entry(part)):
        for spec in (level.args, *(c.args for c in level.when if c.args is not None)):
            names = spec.split()
            assert {n.rstrip("*") for n in names} <= known, spec
            assert sum(n.endswith("*") for n in names) <= 1, spec


@pytest.mark.parametrize("file", FILES)
def test_no_key_is_written_twice(file: str) -> None:
    def check(node: yaml.Node) -> None:
        if isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                assert key.value not in seen, f"{file}:{line}: `{key.value}` is already in line {seen[key.value]}"
                seen[key.value] = line
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                check(item)

    root = yaml.compose((FOLDER / file).read_text("utf-8"), yaml.CSafeLoader)
    assert isinstance(root, yaml.MappingNode)
    check(root)


@pytest.mark.parametrize("file", FILES)
def test_the_index_finds_every_entry_that_yaml_finds(file: str) -> None:
    whole = yaml.load((FOLDER / file).read_text("utf-8"), yaml.CSafeLoader)
    indexed = [part.names for part in ALL if part.file == file]
    assert indexed == [tuple(n.strip() for n in key.split(",")) for key in whole]


def test_pure_entries_take_nothing_that_writes_or_runs() -> None:
    for part in ALL:
        for level in levels(parse_entry(part)):
            if level.pure:
                roles = {o.role for o in level.table.values()} | {n.rstrip("*") for n in level.args.split()}
                assert roles <= {None, "text", "number", "read", "look", "filter", "name", "jq"}, part.names


def test_a_program_without_options_has_no_subcommands() -> None:
    for part in ALL:
        for level in levels(parse_entry(part)):
            assert level.options != "any" or not level.subcommands, part.names

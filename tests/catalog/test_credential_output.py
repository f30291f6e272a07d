"""Commands that print a credential are asked about, by a table that holds to its own examples."""

from __future__ import annotations

import pytest

from assent.catalog.credential_output import families, find_revealed, parse_family
from assent.catalog.loader import Slice
from assent.model import ConfigError, Tier
from lines import operations

ALL = families()


def identify(part: Slice) -> str:
    return f"{part.line}:{part.names[0]}"


def prints_secret(line: str) -> bool:
    return any(o.secret for o in operations(line))


@pytest.mark.parametrize("part", ALL, ids=identify)
def test_examples_hold(part: Slice) -> None:
    family = parse_family(part)
    missed = [line for line in family.examples if not prints_secret(line)]
    asked = [line for line in family.quiet if prints_secret(line)]
    assert (missed, asked) == ([], [])


def test_what_prints_a_credential_is_never_safe() -> None:
    lines = [line for part in ALL for line in parse_family(part).examples]
    assert len(lines) > 100
    calm = [line for line in lines if all(o.tier is Tier.SAFE for o in operations(line))]
    assert calm == []


def test_a_program_that_is_not_in_the_table_prints_none() -> None:
    assert find_revealed(["ls", "auth", "token"]) is None
    assert find_revealed(["gh", "auth"]) is None


def test_a_program_of_that_name_in_any_folder_prints_one_too() -> None:
    assert prints_secret("./bin/gh auth token")
    assert prints_secret("/opt/own/bin/gh auth token")
    assert not prints_secret("./bin/gh auth status")


def test_a_fault_in_the_table_names_its_line() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_family(Slice("revealing.yaml", 7, ("x",), "x:\n  shows: 3\n"))
    assert caught.value.line == 7

"""What an allow on a command must not carry along: variables that change it, and a folder outside the workspace."""

from __future__ import annotations

import pytest

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.model import COMMAND_EXECUTE, FS_READ, UNKNOWN, Facts, Operation, Tier
from lines import PLACE, operations, tier


def assignments(line: str) -> list[str]:
    return [o.argv[0] for o in operations(line) if o.kind is COMMAND_EXECUTE and "=" in "".join(o.argv[:1])]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("LD_PRELOAD=./x make", ["LD_PRELOAD=./x"]),
        ("PATH=. LANG=C make", ["PATH=."]),
        ("A=1 B=2 make", ["A=1", "B=2"]),
        ("env LD_PRELOAD=./x make", ["LD_PRELOAD=./x"]),
        ("env -i A=1 make", ["A=1"]),
        ("env 1=x make", ["1=x"]),
        ("env -S 'A=1 make'", ["A=1"]),
        ("GIT_EXTERNAL_DIFF=./x git diff", ["GIT_EXTERNAL_DIFF=./x"]),
        ("A='b c' git log", ["A=b c"]),
        ("A=$X git log", [f"A={UNKNOWN}"]),
        ("A=1 ls", []),
        ("bash -c 'A=1 make'", ["A=1"]),
        ("export LD_PRELOAD=x A=1 LANG=C", ["LD_PRELOAD=x", "A=1"]),
        ("export A", [f"A={UNKNOWN}"]),
        ("export HTTP_PROXY=", [f"HTTP_PROXY={UNKNOWN}"]),
        ("PATH=.", ["PATH=."]),
        ("LANG=C make", []),
        ("env CI=1 make", []),
        ("export LANG=C", []),
        ("A=1; make", []),
    ],
)
def test_a_variable_that_is_not_harmless_is_an_operation_of_its_own(line: str, expected: list[str]) -> None:
    assert assignments(line) == expected


def test_nothing_owns_the_setting_of_a_variable() -> None:
    command, setting = operations("LD_PRELOAD='a b' make")
    assert command.argv == ("make",)
    assert setting == Operation(
        kind=COMMAND_EXECUTE,
        resource="LD_PRELOAD='a b'",
        argv=("LD_PRELOAD=a b",),
        tier=Tier.DANGEROUS,
        reason="sets LD_PRELOAD, which can change what programs do",
    )


def strays(line: str, place: Place = PLACE, base: str | None = None) -> list[str]:
    return [o.resource for o in read_line(line, place, base)[0] if o.kind is FS_READ and o.tier is Tier.DANGEROUS]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cd /tmp/evil && make", ["/tmp/evil"]),
        ("cd /tmp/evil && make && make test", ["/tmp/evil", "/tmp/evil"]),
        ("cd .. && make", ["/code"]),
        ("cd ../app-evil && ./t.sh", ["/code/app-evil"]),
        ('cd "$X" && make', [UNKNOWN]),
        ("env -C /tmp/evil make", ["/tmp/evil"]),
        ("git -C /tmp/evil push", ["/tmp/evil"]),
        ("bash -c 'cd /tmp/evil; make'", ["/tmp/evil"]),
        ("cd /tmp/evil && bash -c make", ["/tmp/evil"]),
        ("cd /tmp && find . -delete", ["/tmp"]),
        ("cd /tmp/evil && ls", []),
        ("git -C /tmp/evil status", []),
        ("cd src && make", []),
        ("(cd /tmp && ls); make", []),
        ("make", []),
        ("docker exec app make", []),
        ("ssh host 'cd /x && make'", []),
        ("$X y; $X z", []),
    ],
)
def test_a_command_that_is_not_safe_names_its_folder_outside_the_workspace(line: str, expected: list[str]) -> None:
    assert strays(line) == expected


def test_the_folder_needs_an_allow_of_its_own() -> None:
    found = operations("cd /tmp/evil && make")
    (folder,) = [o for o in found if o.kind is FS_READ]
    assert folder.own_cover
    assert folder.owner is not None
    assert found[folder.owner].argv == ("make",)
    assert folder.reason == "works in /tmp/evil, outside the workspace"
    unknown = operations('cd "$X" && make')[-1]
    assert unknown.reason == "works in a directory that may be outside the workspace"


def test_a_link_leads_out_of_the_workspace() -> None:
    facts = Facts(resolve=lambda path: path.replace("/code/app/link", "/tmp/evil"))
    place = Place(facts, "/code/app", ("/code/app",))
    assert strays("cd link && make", place) == ["/code/app/link"]


@pytest.mark.parametrize(
    "place",
    [
        Place(Facts(), "/code/app", ()),
        Place(Facts(), None, ("/code/app",)),
        Place(Facts(), "/tmp", ("/code/app",)),
    ],
    ids=["no workspace", "no folder", "starts outside"],
)
def test_a_call_that_does_not_stand_in_a_workspace_leaves_none(place: Place) -> None:
    assert strays("cd /tmp/evil && make", place) == []


def test_a_folder_named_in_the_input_is_left_for_as_by_cd() -> None:
    moved = Place(Facts(), "/tmp/evil", ("/code/app",))
    assert strays("make", moved, "/code/app") == ["/tmp/evil"]
    assert strays("make", moved, "/tmp") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("python3 --version", Tier.SAFE),
        ("echo 1 | python3 --version", Tier.DANGEROUS),
        ("python3 --version <<< 1", Tier.DANGEROUS),
        ("python3 --version < x", Tier.DANGEROUS),
        ("julia --version <> x", Tier.DANGEROUS),
        ("python3 --version > /dev/null", Tier.SAFE),
        ("echo 1 | tclsh --version", Tier.DANGEROUS),
    ],
)
def test_an_interpreter_that_is_fed_is_dangerous_whatever_its_options(line: str, expected: Tier) -> None:
    assert tier(line) is expected

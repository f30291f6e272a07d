"""An option called like an output is a write, whoever has described it: an allow on the command is none on that."""

from __future__ import annotations

import pytest

from assent.analysis.resources.paths import Place
from assent.model import ALLOW, ASK, DANGEROUS, FS_WRITE, UNKNOWN, Facts
from lines import operations
from scenes import judge, policy, view_of


def writes(line: str, place: Place | None = None) -> list[str]:
    found = operations(line) if place is None else operations(line, place)
    return [o.resource for o in found if o.kind is FS_WRITE]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("frob -o ~/.bashrc", ["/home/u/.bashrc"]),
        ("frob -o/home/u/.bashrc", ["/home/u/.bashrc"]),
        ("frob -xo ~/.bashrc", ["/home/u/.bashrc"]),
        ("frob --output ~/.bashrc", ["/home/u/.bashrc"]),
        ("frob --output=/home/u/.bashrc", ["/home/u/.bashrc"]),
        ("frob -out:/home/u/.bashrc", ["/home/u/.bashrc"]),
        ("frob --logFile=.git/hooks/pre-commit", ["/code/app/.git/hooks/pre-commit"]),
        ("frob --report-dir /tmp/x", ["/tmp/x"]),
        ('frob --output "$X"', [UNKNOWN]),
        ("frob ~/.bashrc", ["/home/u/.bashrc"]),
        ("frob --what=/home/u/.ssh/authorized_keys", ["/home/u/.ssh/authorized_keys"]),
        ("./frob -o ~/.bashrc", ["/home/u/.bashrc"]),
        ("timeout 5 frob -o ~/.bashrc", ["/home/u/.bashrc"]),
        ("cd /tmp && frob -o x", ["/tmp/x"]),
        ("go test -o ~/.bashrc", ["/home/u/.bashrc"]),
        ("go test -coverprofile=/tmp/c.out ./...", ["/tmp/c.out"]),
        ("go build -o .git/hooks/pre-commit .", ["/code/app/.git/hooks/pre-commit"]),
        ("pytest --junitxml=/home/u/.bashrc", ["/home/u/.bashrc"]),
        ("gcc -o ~/.bashrc x.c", ["/home/u/.bashrc"]),
        ("protoc --python_out=/home/u/.ssh x.proto", ["/home/u/.ssh"]),
        ("eslint -o .claude/settings.json .", ["/code/app/.claude/settings.json"]),
        ("npm test -- --outputFile=.git/hooks/x", ["/code/app/.git/hooks/x"]),
        ("cargo test -- --logfile ~/.bashrc", ["/home/u/.bashrc"]),
        ("curl --frob -o ~/.bashrc https://x.example", ["/home/u/.bashrc"]),
        # What stays in the workspace is the command's own.
        ("frob -o out.txt", []),
        ("frob --output=build/out.txt --timeout 5 -o", []),
        ("frob --output --verbose", []),
        ("frob --output=", []),
        ("frob .github/workflows/ci.yml", []),
        ("frob --what /opt/data", []),
        ("go test -coverprofile=c.out ./...", []),
        ("go build -o bin/app .", []),
        ("ls -o /tmp", []),
    ],
)
def test_what_an_option_names_is_written_where_it_matters(line: str, expected: list[str]) -> None:
    assert writes(line) == expected


def test_more_of_them_than_anybody_looks_at_are_any_place() -> None:
    assert writes("frob" + " --out x" * 64) == []
    assert writes("frob" + " --out x" * 65) == [UNKNOWN]


def test_where_no_workspace_is_known_sensitive_places_count() -> None:
    nowhere = Place(Facts(home="/home/u"), "/code/app")
    assert writes("frob -o x --log /etc/x --report ~/.bashrc", nowhere) == ["/etc/x", "/home/u/.bashrc"]


def test_a_guess_is_never_more_than_dangerous() -> None:
    assert [o.tier for o in operations("frob --out /dev/sda") if o.kind is FS_WRITE] == [DANGEROUS]


@pytest.mark.parametrize("line", ["go test -o ~/.bashrc", "go test -o /tmp/x", "go test -o .git/hooks/pre-commit"])
def test_an_allow_on_the_command_does_not_reach_it(line: str) -> None:
    rule = policy(allow=["Bash(go test:*)"])
    assert judge(view_of("Bash", {"command": "go test -o bin/x"}), rule).verdict is ALLOW
    assert judge(view_of("Bash", {"command": line}), rule).verdict is ASK


def test_a_write_rule_covers_a_plain_place_elsewhere() -> None:
    rule = policy(allow=["Bash(go test:*)", "Write(/tmp/**)"])
    assert judge(view_of("Bash", {"command": "go test -o /tmp/x"}), rule).verdict is ALLOW

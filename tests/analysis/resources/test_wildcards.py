"""Patterns of the shell: nothing they may find is missed, and everyday ones stay everyday."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.analysis.ir import Word
from assent.analysis.resources.wildcards import blur, control_plane, is_pattern, leads_to, may_be_secret, segments
from assent.model import UNKNOWN

OWN = "/home/u/.local/share/assent"


@pytest.mark.parametrize(
    "path",
    [
        "/w/.e*v",
        "/w/.e?v",
        "/w/.???",
        "/w/.[e]nv",
        "/w/.en[a-z]",
        "/w/.en[-v]",
        "/w/.en[!v]",
        "/w/.en[v]]",
        "/w/.en[[:alpha:]]",
        "/w/.ENV*",
        "/w/.en*.local",
        "/w/.?nv.local",
        "/w/.*",
        "/w/.bash_h*",
        "/w/.*_histor?",
        "/w/id_*",
        "/w/*_rsa",
        "/w/*secret*",
        "/w/s*.json",
        "/w/*.env",
        "/w/server.p?m",
        "/w/server.p*",
        "/w/*.k?y",
        "/w/ser*m",
        "/home/u/.s?h/x",
        "/home/u/.ss*/x",
        "/home/u/.config/*/hosts.yml",
        "/home/u/.conf*/gh",
        "/home/u/.docker/*.json",
        "/home/u/.m2/s*",
        "/etc/shado?",
        "/etc/s*",
        "/e*/shadow",
        "/proc/self/envir*n",
        "/proc/self/*",
        f"/w/.e*v{UNKNOWN}",
        "/w/" + "a" * 300 + "*",
        "/*" + "/a" * 70,
    ],
)
def test_a_pattern_that_is_after_a_secret_is_one(path: str) -> None:
    assert may_be_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "/w/*",
        "/w/**",
        "/w/???",
        "/w/src/**/*.py",
        "/w/*.json",
        "/w/*.[ch]",
        "/w/*.toml",
        "/w/test_*",
        "/w/*_test.go",
        "/w/README*",
        "/w/Makefile.*",
        "/w/lib*.so.*",
        "/w/.eslintrc*",
        "/w/id_*.pub",
        "/w/config.y*",
        "/w/*/*",
        "/home/u/*/hosts.yml",
        "/etc/*",
        "/etc/*.conf",
        "/etc/*release",
        "/proc/*/status",
        "/w/README.md",
        "/w/.docker",
    ],
)
def test_an_everyday_pattern_is_no_secret(path: str) -> None:
    assert not may_be_secret(path)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/w/.gi?/config", "/w/.git/config"),
        ("/w/c*test.py", "/w/conftest.py"),
        ("/w/.github/w*/ci.yml", "/w/.github/workflows/ci.yml"),
        ("/etc/cron?d/x", "/etc/cron/x"),
        ("/w/*.md", None),
        ("/w/src/*.py", None),
        ("/w/test_*.py", None),
    ],
)
def test_a_pattern_that_may_find_the_control_plane_names_it(path: str, found: str | None) -> None:
    assert control_plane(path) == found


#: pattern, reaches it, reaches it or a folder above
REACHES = [
    (OWN, True, True),
    (OWN + "/*", True, True),
    ("/home/u/.local/share/assen?/token", True, True),
    ("/home/u/.local/share/*/token", True, True),
    ("/home/u/.loc*/**/token", True, True),
    ("/home/u/.local/**", True, True),
    ("/home/*/.local/share/ASSENT", True, True),
    ("/home/u/.loc*", False, True),
    ("/home/*", False, True),
    ("/", False, True),
    ("/home/u/*", False, False),
    ("/home/u/**/token", False, False),
    ("/home/u/.local/share/assent2*", False, False),
    ("/w/*", False, False),
]


@pytest.mark.parametrize(("pattern", "reached", "near"), REACHES)
def test_a_pattern_leads_to_what_it_may_find(pattern: str, reached: bool, near: bool) -> None:
    assert leads_to(segments(pattern), segments(OWN), above=False) is reached
    assert leads_to(segments(pattern), segments(OWN), above=True) is near


@given(st.text("ab*?[-]", min_size=1, max_size=7), st.text("ab-", min_size=1, max_size=5))
def test_whatever_a_pattern_matches_it_leads_to(pattern: str, name: str) -> None:
    if fnmatch.fnmatchcase(name, pattern):
        assert leads_to((pattern,), (name,), above=False)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/w/*.py", "/w/….py"),
        ("/w/a?*b/[a-z]x[0-9].c", "/w/a…b/….c"),
        ("/w/[a", "/w/[a"),
        ("/w/plain", "/w/plain"),
        ("x[a\nb]y*", "x…y…"),
        ("a]*[c", "a]…[c"),
    ],
)
def test_what_a_pattern_finds_is_not_known(path: str, shown: str) -> None:
    assert blur(path).replace(UNKNOWN, "…") == shown


def test_only_what_the_shell_expands_is_a_pattern() -> None:
    assert is_pattern(Word("*.py", splits=True))
    assert not is_pattern(Word("*.py"))
    assert not is_pattern(Word(UNKNOWN, splits=True))

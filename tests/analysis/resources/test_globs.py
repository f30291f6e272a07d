"""Path patterns: one level, any depth, and where they start."""

from __future__ import annotations

import pytest

from assent.analysis.resources.globs import compile_glob
from assent.analysis.resources.re2 import compile_expression
from assent.model import RuleError

#: pattern, path, matches
MATCHES = [
    ("/a/b", "/a/b", True),
    ("/a/b", "/a/bc", False),
    ("/a/b", "/a/b/c", False),
    ("//a//b", "/a/b", True),
    ("/a/./b", "/a/b", True),
    ("/a/x/../b", "/a/b", True),
    ("/a/b/", "/a/b", True),
    ("/", "/", True),
    ("/a/*", "/a/b", True),
    ("/a/*", "/a/b/c", False),
    ("/a/*", "/a", False),
    ("/a/*", "/ab/c", False),
    ("/*", "/a", True),
    ("/*", "/a/b", False),
    ("/a/**", "/a/b", True),
    ("/a/**", "/a/b/c/d", True),
    ("/a/**", "/a", False),
    ("/a/**", "/a-evil/b", False),
    ("/**", "/a/b", True),
    ("/a/*.py", "/a/x.py", True),
    ("/a/*.py", "/a/.py", True),
    ("/a/*.py", "/a/b/x.py", False),
    ("/a/*.py", "/a/xZpy", False),
    ("/a/**/*.py", "/a/x.py", True),
    ("/a/**/*.py", "/a/b/c/x.py", True),
    ("/a/**/b", "/a/b", True),
    ("/a/**/b", "/a/xb", False),
    ("/a/**/b/**", "/a/b/c", True),
    ("/a/**/b/**", "/a/b", False),
    ("/a/*/c", "/a/b/c", True),
    ("/a/*/c", "/a/b/b/c", False),
    ("/a/?", "/a/b", True),
    ("/a/?", "/a/bb", False),
    ("/a/?", "/a//", False),
    ("/a/[bc]", "/a/b", True),
    ("/a/[bc]", "/a/d", False),
    ("/a/[!bc]", "/a/d", True),
    ("/a/[^bc]", "/a/b", False),
    ("/a/[b-d]x", "/a/cx", True),
    ("/a/[]]", "/a/]", True),
    ("/a/[", "/a/[", True),
    ("/a/\\*", "/a/*", True),
    ("/a/\\*", "/a/b", False),
    ("/a/b\\", "/a/b\\", True),
    ("/a/*\nb", "/a/x\nb", True),
    ("/a/[!b]", "/a//", False),
    ("/a/[!]", "/a/!", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_a_star_is_one_level_and_two_are_any_depth(pattern, path, expected):
    assert compile_glob(pattern).matches(path) is expected


#: pattern, anchor, folders above it, what it is literally about
STARTS = [
    ("/a/**", "root", 0, "/a"),
    ("//a", "root", 0, "/a"),
    ("~", "home", 0, "/"),
    ("~/x/*", "home", 0, "/x"),
    ("~x", "cwd", 0, "/~x"),
    ("a/b", "cwd", 0, "/a/b"),
    ("./a", "cwd", 0, "/a"),
    ("../a", "cwd", 1, "/a"),
    ("../../a/*", "cwd", 2, "/a"),
    ("**/*.pem", "cwd", 0, "/"),
    ("a*/b", "cwd", 0, "/"),
]


@pytest.mark.parametrize(("pattern", "anchor", "up", "base"), STARTS)
def test_a_pattern_starts_at_the_root_the_home_or_the_cwd(pattern, anchor, up, base):
    glob = compile_glob(pattern)
    assert (glob.anchor, glob.up, glob.base) == (anchor, up, base)


#: pattern, path, touched, swept when walked from there
TOUCHES = [
    ("/a/**", "/a", True, True),
    ("/a/*", "/a", True, True),
    ("/a/*", "/a/b/c", False, True),
    ("/a/b", "/a/b", True, True),
    ("/a/b", "/a", False, False),
    ("/a/*.pem", "/a", True, True),
    ("/a/*.pem", "/a/b", False, True),
    ("/**", "/", True, True),
    ("/*", "/", True, True),
    ("/**/*.pem", "/", False, False),
    ("/**/*.pem", "/x", False, False),
    ("/**/*.pem", "/x/a.pem", True, True),
    ("/", "/", True, True),
]


@pytest.mark.parametrize(("pattern", "path", "touched", "swept"), TOUCHES)
def test_a_folder_stands_for_what_a_pattern_says_about_its_content(pattern, path, touched, swept):
    glob = compile_glob(pattern)
    assert glob.touches(path) is touched
    assert glob.sweeps(path) is swept


def test_only_any_depth_is_all_that_is_below():
    assert compile_glob("/a/**").is_all_below("/a")
    assert not compile_glob("/a/**").is_all_below("/a/b")
    assert not compile_glob("/a/*").is_all_below("/a")


#: pattern, start, path, as the pattern sees it
SEEN = [
    ("x", "/ws", "/ws/x", "/x"),
    ("x", "/ws", "/ws", "/"),
    ("x", "/ws", "/ws-evil/x", None),
    ("x", "/", "/x", "/x"),
    ("../x", "/ws/a", "/ws/x", "/x"),
    ("../../../x", "/ws/a", "/x", "/x"),
    ("../x", "/ws/a", "/other/x", None),
]


@pytest.mark.parametrize(("pattern", "start", "path", "seen"), SEEN)
def test_a_relative_pattern_sees_paths_from_its_start(pattern, start, path, seen):
    assert compile_glob(pattern).seen_from(start, path) == seen


def test_what_a_pattern_is_about_lies_below_its_ancestors_only():
    glob = compile_glob("a/b/**")
    assert glob.base_from("/ws") == "/ws/a/b"
    assert glob.is_below("/ws", "/ws")
    assert glob.is_below("/ws", "/ws/a")
    assert not glob.is_below("/ws", "/ws/a/b")
    assert not glob.is_below("/ws", "/ws/a/bc")
    assert not compile_glob("**/x").is_below("/ws", "/ws")


def test_a_pattern_that_can_never_be_one_is_refused():
    with pytest.raises(RuleError, match="pattern cannot be used"):
        compile_glob("/a/[z-a]*")
    with pytest.raises(RuleError, match="pattern cannot be used"):
        compile_expression("(")


def test_no_pattern_can_make_matching_hang():
    glob = compile_glob("/" + "*a" * 40 + "b")
    assert not glob.matches("/" + "a" * 5000)

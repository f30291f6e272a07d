"""The working folder is followed through a line."""

import pytest

from shell_lines import read

FOLLOWED = [
    ("x", "/w"),
    ("cd a; x", "/w/a"),
    ("cd a && x", "/w/a"),
    ("cd a && cd b && x", "/w/a/b"),
    ("cd a/../b/./c; x", "/w/b/c"),
    ("cd ..; x", "/"),
    ("cd ../../..; x", "/"),
    ("cd //a; x", "/a"),
    ("cd /; x", "/"),
    ("cd; x", "/home/u"),
    ("cd ~/a; x", "/home/u/a"),
    ("cd a; cd -; x", "/w"),
    ("cd -- a; x", "/w/a"),
    ("cd -P a; x", "/w/a"),
    ("cd ''; x", "/w"),
    ("D=a; cd $D; x", "/w/a"),
    ("(cd a); x", "/w"),
    ("(cd a; x)", "/w/a"),
    (": $(cd a); x", "/w"),
    ("{ cd a; }; x", "/w/a"),
    ("pushd a; x", "/w/a"),
    ("pushd a; pushd b; popd; x", "/w/a"),
    ("pushd a; popd; x", "/w"),
    ("pushd a; pushd; x", "/w"),
    ("command cd a; x", "/w/a"),
    ("builtin cd a; x", "/w/a"),
    ("if true; then cd .; fi; x", "/w"),
    ("a || b; x", "/w"),
    ("CDPATH=/q; cd ./a; x", "/w/a"),
    ("cd a && cd $PWD/b && x", "/w/a/b"),
]
UNKNOWN = [
    "cd $D; x",
    "cd -; x",
    "cd -x a; x",
    "cd a b; x",
    "cd *; x",
    "CDPATH=/q; cd a; x",
    "if a; then cd b; fi; x",
    "a && cd b; x",
    "a || cd b; x",
    "cd a | b; x",
    "cd a & x",
    "for i in 1; do cd a; done; x",
    "while a; do cd b; done; x",
    "case a in b) cd c;; esac; x",
    "f() { cd a; }; f; x",
    "f() { x; }",
    "eval cd a; x",
    "$U a; x",
    "popd; x",
    "popd +1; x",
    "pushd; x",
    "pushd +1; x",
    "pushd $D; x",
    "pushd $D; pushd a; x",
    "cd $D; cd a; x",
]


def folder(line, **known):
    commands = read(line, **known).commands
    return next(command for command in reversed(commands) if command.words and command.words[0].text == "x").cwd


@pytest.mark.parametrize(("line", "cwd"), FOLLOWED)
def test_a_known_folder_is_followed(line, cwd):
    assert folder(line) == cwd


@pytest.mark.parametrize("line", UNKNOWN)
def test_a_folder_that_is_not_sure_is_unknown(line):
    assert folder(line) is None


def test_without_a_folder_to_start_in_only_an_absolute_one_is_known():
    assert folder("cd a; x", cwd=None) is None
    assert folder("cd /a; x", cwd=None) == "/a"


def test_without_a_home_cd_alone_leads_nowhere_known():
    assert folder("cd; x", home=None) is None


def test_a_search_path_from_outside_makes_a_relative_folder_unknown():
    assert folder("cd a; x", variables={"CDPATH": "/q"}) is None


ELSEWHERE = [
    ("x", ()),
    ("cd a; x", ("/w",)),
    ("cd a && x", ()),
    ("cd a && cd b && x", ()),
    ("cd a && ls; x", ("/w",)),
    ("cd a || exit; x", ()),
    ("cd a || { echo no; exit 1; }; x", ()),
    ("cd a || return 1; x", ("/w",)),
    ("f() { cd a || return 1; x; }", ("/w/a",)),
    ("cd a || echo no; x", ("/w",)),
    ("cd a || {\n}; x", ("/w",)),
    ("cd a || (exit); x", ("/w",)),
    ("cd a || > f; x", ("/w",)),
    ("cd a; cd b; x", ("/w/b", "/w/a", "/w")),
    ("cd a; cd b && x", ("/w/b",)),
    ("cd a; cd /w; x", ("/w/a",)),
    ("cd a; ls && x", ("/w",)),
    ("{ cd a; } && x", ("/w",)),
    ("(cd a; x)", ("/w",)),
    ("(cd a); x", ()),
    ("pushd a; x", ("/w",)),
    ("cd $D; cd b$D; x", ("\ufdd0", "/w")),
    ("cd a; cd $D; x", ("\ufdd0", "/w/a", "/w")),
    ("cd a > /dev/null && x", ()),
    ("if y; then cd a; fi; x", ("/w", "/w/a")),
    ("if y; then cd a; fi; cd b && x", ("/w/b", "/w/a/b")),
    ("f() { x; }", ("/w",)),
    ("f() { cd a && x; }", ("/w/a",)),
]


@pytest.mark.parametrize(("line", "places"), ELSEWHERE)
def test_a_command_tells_where_it_runs_if_a_change_of_folder_fails(line, places):
    commands = read(line).commands
    last = next(command for command in reversed(commands) if command.words and command.words[0].text == "x")
    assert sorted(last.elsewhere) == sorted(places)


@pytest.mark.parametrize(
    "line",
    [
        "cd a; cd b; cd c; cd d; cd e; x",
        " || ".join(f"cd /{number}" for number in range(30)) + "; x",
        "while x; do cd a; done; x",
    ],
)
def test_too_many_places_to_be_in_are_unreadable_and_the_nearest_are_told(line):
    script = read(line)
    last = script.commands[-1]
    assert script.unreadable
    assert last.cwd is None
    assert len(last.elsewhere) == 24


def test_a_few_changes_of_folder_are_followed():
    assert read("cd a; ls; cd ..; cd b; ls; cd ..; x").unreadable is None


def test_one_of_two_folders_is_either():
    command = read("cd /a || cd /b; cd c; ls").commands[-1]
    assert command.cwd is None
    assert {"/a/c", "/b/c"} <= set(command.elsewhere)

"""Which folders can be a workspace: ordinary projects, and no protected place by any name."""

from __future__ import annotations

import pytest

from assent.catalog.workspace_roots import refuse_root, refuse_write

HOME = "/home/u"
OWN = ("/home/u/.local/share/assent", "/srv/assent")

EVERYTHING = (
    "/",
    "/home",
    "/home/u",
    "/home/other",
    "/root",
    "/tmp",
    "/srv",
    "/opt",
    "/mnt",
    "/var",
    "/mnt/c",
    "/mnt/d",
    "/mnt/c/Users",
    "/HOME/U",
    "/Users/x",
)
SYSTEM = (
    *(
        "/etc",
        "/etc/cron.d",
        "/mnt/c/ProgramData/Microsoft/x",
        "/usr",
        "/usr/local",
        "/usr/local/bin",
        "/usr/src",
        "/var/spool/cron",
        "/var/lib/x",
        "/ETC",
    ),
    *(
        "/boot/x",
        "/dev/shm",
        "/proc/1",
        "/run/user/1000",
        "/Library/LaunchDaemons",
        "/opt/homebrew/bin",
        "/nix/store/x",
    ),
)
PROGRAMS = (
    *(
        "/home/u/.ssh",
        "/home/u/.SSH",
        "/home/u/.ssh/deep/er",
        "/home/u/.config",
        "/home/u/.config/nvim",
        "/home/u/.aws",
    ),
    *(
        "/home/u/.config/autostart",
        "/home/u/.config/systemd/user",
        "/home/u/.local/bin",
        "/home/u/.gnupg",
        "/home/u/bin",
    ),
    *("/home/u/.dotfiles", "/home/u/.oh-my-zsh", "/home/u/.pyenv", "/home/u/.cache/pre-commit/repo", "/home/u/go/bin"),
    *("/home/u/go", "/home/other/.ssh", "/root/.config/x", "/Users/x/Library/LaunchAgents", "/mnt/c/Users/x/AppData/x"),
    *("/home/u/.claude", "/home/u/.claude/worktrees", "/home/u/.claude/x/y", "/home/u/.local/share/opencode"),
)
DECIDING = ("/work/p/.git", "/work/p/.git/hooks", "/work/p/.vscode/x", "/work/p/.github/workflows", "/work/p/.husky")
SECRET = ("/work/p/secrets", "/data/.ssh", "/data/.aws/x", "/work/p/.env.d")
ASSENTS = ("/srv/assent", "/srv/assent/log")
PROJECTS = (
    *("/home/u/project", "/home/u/code/a/b", "/home/u/dotfiles", "/home/other/p", "/root/p", "/srv/app", "/opt/app"),
    *("/tmp/x", "/var/www/site", "/usr/src/app", "/usr/local/src/x", "/work", "/workspaces/p", "/mnt/c/Users/x/code"),
    *("/home/u/.claude/worktrees/one", "/home/u/p/.claude/worktrees/one/src", "/home/u/.codex/worktrees/ab/p"),
    *("/home/u/go/src/p", "/home/u2/p", "/etcetera", "/home/u/binary"),
)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (EVERYTHING, "contains everything else"),
        (SYSTEM, "belongs to the system"),
        (PROGRAMS, "programs keep their settings, keys and code in ~/"),
        (DECIDING, "can make code run later"),
        (SECRET, "secrets are kept"),
        (ASSENTS, "Assent's own files"),
    ],
)
def test_a_protected_place_is_no_workspace_and_it_is_said_why(places, said):
    for place in places:
        assert said in (refuse_root((place,), (HOME,), OWN) or ""), place


@pytest.mark.parametrize("place", PROJECTS)
def test_an_ordinary_project_is_a_workspace(place):
    assert refuse_root((place,), (HOME,), OWN[:1]) is None


def test_one_bad_name_is_enough():
    assert refuse_root(("/home/u/project", "/home/u/.ssh"), (HOME,)) is not None
    assert refuse_root(("/home/u/project", "/data/project"), (HOME,)) is None


def test_what_holds_assents_own_folder_is_no_workspace():
    assert "Assent's own" in refuse_root(("/srv/app",), (HOME,), ("/srv/app/state",))


def test_a_home_may_be_anywhere_and_go_by_several_names():
    for homes in (("/data/people/u",), ("/x", "/data/people/u")):
        assert refuse_root(("/data/people/u/.ssh",), homes) is not None
        assert refuse_root(("/data/people",), homes) is not None
        assert refuse_root(("/data/people/u/p",), homes) is None


def test_a_service_whose_home_is_a_folder_of_the_system_has_its_projects_there():
    assert refuse_root(("/var/lib/ci/jobs/p",), ("/var/lib/ci",)) is None
    assert refuse_root(("/var/lib/ci/.ssh",), ("/var/lib/ci",)) is not None
    assert refuse_root(("/var/lib/other",), ("/var/lib/ci",)) is not None


def test_where_home_is_the_root_directory_the_system_is_still_the_systems():
    assert refuse_root(("/etc",), ("/",)) is not None
    assert refuse_root(("/.ssh",), ("/",)) is not None
    assert refuse_root(("/app",), ("/",)) is None


@pytest.mark.parametrize(
    ("place", "guessed"),
    [("/home/u/notes", True), ("/tmp/x", True), ("/srv/app", False), ("/home/other/notes", False), ("/opt/x", False)],
)
def test_what_nobody_named_is_a_workspace_only_in_ones_own_home_or_away_from_the_system(place, guessed):
    assert refuse_root((place,), (HOME,)) is None
    assert (refuse_root((place,), (HOME,), named=False) is None) == guessed


def test_a_profile_of_ones_own_may_name_caches_but_no_keys_and_nothing_of_the_system():
    assert refuse_write(("/home/u/.cache/pip",), (HOME,)) is None
    assert refuse_write(("/work/p/.git/hooks",), (HOME,)) is None
    assert refuse_write(("/home/u/p/.envrc",), (HOME,)) is None
    for place in ("/home/u/.ssh", "/home/u/.aws/x", "/etc/cron.d", "/home/u", "/"):
        assert refuse_write((place,), (HOME,)) is not None, place

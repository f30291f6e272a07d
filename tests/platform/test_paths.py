"""Homes, files, projects and workspaces are where they should be, and nowhere an agent could put them."""

import os
import pwd

import pytest

from assent.model import ConfigError, Workspace
from assent.platform import paths
from assent.platform.paths import (
    MANAGED_FILE,
    ancestors,
    assent_home,
    find_managed,
    find_places,
    project_root,
    user_file,
    user_home,
    workspace_of,
)

HOME = {"HOME": "/home/u"}


@pytest.mark.parametrize(
    ("environ", "platform", "home"),
    [
        (HOME, "linux", "/home/u/.local/share/assent"),
        (HOME | {"XDG_DATA_HOME": "/data"}, "linux", "/data/assent"),
        (HOME | {"XDG_DATA_HOME": "data"}, "linux", "/home/u/.local/share/assent"),
        (HOME | {"XDG_DATA_HOME": ""}, "linux", "/home/u/.local/share/assent"),
        (HOME | {"XDG_DATA_HOME": "/data"}, "darwin", "/home/u/Library/Application Support/assent"),
        (HOME | {"ASSENT_HOME": "/var/assent/"}, "linux", "/var/assent"),
        (HOME | {"ASSENT_HOME": "/var/assent"}, "darwin", "/var/assent"),
        (HOME | {"ASSENT_HOME": ""}, "linux", "/home/u/.local/share/assent"),
        ({"ASSENT_HOME": "/a/../b"}, "linux", "/b"),
    ],
)
def test_the_state_lives_in_one_folder(environ, platform, home):
    assert assent_home(environ, platform=platform) == home


@pytest.mark.parametrize("relative", ["x", "./x", "~/x", "../x"])
def test_a_relative_home_is_refused(relative):
    with pytest.raises(ConfigError, match="ASSENT_HOME must be an absolute path"):
        assent_home({"ASSENT_HOME": relative})


@pytest.mark.parametrize(
    ("environ", "file"),
    [
        (HOME, "/home/u/.config/assent/assent.yaml"),
        (HOME | {"XDG_CONFIG_HOME": "/c/"}, "/c/assent/assent.yaml"),
        (HOME | {"XDG_CONFIG_HOME": "c"}, "/home/u/.config/assent/assent.yaml"),
    ],
)
def test_the_users_file_follows_the_base_directories(environ, file):
    assert user_file(environ) == file


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_usable_variable_the_user_database_knows_the_home(environ):
    assert user_home(environ) == pwd.getpwuid(os.geteuid()).pw_dir


def unknown_user(uid):
    raise KeyError(uid)


def homeless_user(uid):
    return pwd.struct_passwd(("u", "x", uid, uid, "", "", "/bin/sh"))


@pytest.mark.parametrize("lookup", [unknown_user, homeless_user])
def test_no_home_at_all_is_an_error_where_one_is_needed(monkeypatch, lookup):
    monkeypatch.setattr(paths.pwd, "getpwuid", lookup)
    assert user_home({}) is None
    for find in (assent_home, user_file):
        with pytest.raises(ConfigError, match="home directory unknown"):
            find({})


@pytest.fixture
def tree(tmp_path):
    """A home with a project two levels below it."""
    (tmp_path / "home" / "work" / "project" / "src" / "deep").mkdir(parents=True)
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("marker", "start", "root"),
    [
        ("work/project/.git/HEAD", "work/project/src/deep", "work/project"),
        ("work/project/assent.yaml", "work/project/src", "work/project"),
        ("work/project/.git/HEAD", "work/project", "work/project"),
        ("work/project/src/assent.yaml", "work/project/src/deep", "work/project/src"),
        ("elsewhere/.git", "work/project/src", "work/project/src"),
    ],
)
def test_the_root_is_the_nearest_marked_folder_upward_or_the_cwd(tree, marker, start, root):
    (tree / marker).parent.mkdir(parents=True, exist_ok=True)
    (tree / marker).write_text("")
    assert project_root(str(tree / start)) == str(tree / root)
    assert workspace_of(str(tree / start), {"HOME": str(tree)}).roots == (str(tree / root),)


def test_a_file_for_git_marks_a_project_like_a_folder(tree):
    (tree / "work/project/.git").write_text("gitdir: elsewhere")
    assert project_root(str(tree / "work/project/src")) == str(tree / "work/project")


def test_a_configuration_that_links_to_nothing_still_marks_its_project(tree):
    (tree / "work/project/assent.yaml").symlink_to("nowhere")
    assert project_root(str(tree / "work/project/src")) == str(tree / "work/project")


@pytest.mark.parametrize("start", [".", "work/.."])
def test_the_home_directory_is_no_workspace(tree, start):
    assert workspace_of(f"{tree}/{start}", {"HOME": str(tree)}).roots == ()


def test_a_project_marked_at_home_is_no_workspace(tree):
    (tree / ".git").mkdir()
    assert project_root(str(tree / "work")) == str(tree)
    # What was started there is only guessed to be about that folder.
    assert workspace_of(str(tree / "work"), {"HOME": str(tree)}) == Workspace((str(tree / "work"),), guessed=True)


def test_a_home_that_is_a_link_is_still_no_workspace(tree):
    link = tree.parent / "link"
    link.symlink_to(tree)
    assert workspace_of(str(tree), {"HOME": str(link)}).roots == ()
    assert workspace_of(str(link), {"HOME": str(tree)}).roots == ()


def test_the_root_directory_is_no_workspace():
    assert workspace_of("/", HOME).roots == ()


@pytest.mark.parametrize("cwd", ["/no/such/folder", "", "/etc/passwd", "a\0b", "/" + "x/" * 5000, "/\ud800"])
def test_what_is_no_folder_is_no_workspace(cwd):
    assert project_root(cwd) is None
    assert workspace_of(cwd, HOME).roots == ()


def test_a_chain_of_links_without_end_is_no_workspace(tmp_path):
    for index in range(1500):
        (tmp_path / f"l{index}").symlink_to(f"l{index + 1}")
    assert workspace_of(str(tmp_path / "l0"), HOME).roots == ()


def test_a_workspace_reached_through_a_link_has_both_names(tree):
    (tree / "work/project/.git").mkdir()
    link = tree.parent / "link"
    link.symlink_to(tree / "work" / "project")
    assert workspace_of(str(link / "src"), {"HOME": str(tree)}).roots == (str(tree / "work/project"), str(link))


def test_a_link_out_of_a_project_leads_out_of_its_workspace(tree):
    (tree / "work/project/.git").mkdir()
    (tree / "work/project/out").symlink_to(tree.parent / "other")
    (tree.parent / "other").mkdir()
    found = workspace_of(str(tree / "work/project/out"), {"HOME": str(tree)}).roots
    assert found == (str(tree.parent / "other"), str(tree / "work/project/out"))


def test_a_relative_cwd_is_that_of_the_process(tree, monkeypatch):
    monkeypatch.chdir(tree / "work/project")
    assert workspace_of("src", {"HOME": str(tree)}).roots == (str(tree / "work/project/src"),)


def test_without_a_known_home_a_project_is_a_workspace(tree, monkeypatch):
    monkeypatch.setattr(paths.pwd, "getpwuid", unknown_user)
    assert workspace_of(str(tree), {}).roots == (str(tree),)


def test_all_folders_above_are_visited_once():
    assert list(ancestors("/a/b/c")) == ["/a/b/c", "/a/b", "/a", "/"]


def test_nothing_in_the_environment_moves_the_managed_file(tree):
    environ = {"HOME": str(tree), "ASSENT_MANAGED_FILE": "/x", "ASSENT_CONFIG": "/x", "XDG_CONFIG_DIRS": "/x"}
    assert MANAGED_FILE == "/etc/assent/assent.yaml"
    assert find_places("/", environ=environ).managed_file == MANAGED_FILE


@pytest.fixture
def managed(tmp_path):
    path = tmp_path / "etc" / "assent.yaml"
    path.parent.mkdir(mode=0o755)
    path.write_text("permissions: {}")
    path.chmod(0o644)
    return path


def test_a_managed_file_in_good_hands_is_read(managed):
    content = find_managed(str(managed), os.geteuid())
    assert content is not None
    assert content.data == b"permissions: {}"


def test_no_managed_file_is_none(tmp_path):
    assert find_managed(str(tmp_path / "none")) is None


@pytest.mark.parametrize(("part", "mode"), [("file", 0o666), ("file", 0o664), ("folder", 0o777), ("folder", 0o775)])
def test_a_managed_file_that_others_could_write_is_refused(managed, part, mode):
    (managed if part == "file" else managed.parent).chmod(mode)
    with pytest.raises(ConfigError, match="writable by other users"):
        find_managed(str(managed), os.geteuid())


def test_a_managed_file_of_another_owner_is_refused(managed):
    with pytest.raises(ConfigError, match="must be owned by"):
        find_managed(str(managed), os.geteuid() + 1)


def test_a_managed_file_that_links_into_an_open_folder_is_refused(managed, tmp_path):
    target = tmp_path / "open" / "assent.yaml"
    target.parent.mkdir()
    target.write_text("permissions: {}")
    target.parent.chmod(0o777)
    managed.unlink()
    managed.symlink_to(target)
    with pytest.raises(ConfigError, match="writable by other users"):
        find_managed(str(managed), os.geteuid())


def test_a_file_of_another_layer_is_no_project_file(tree):
    (tree / ".config" / "assent").mkdir(parents=True)
    mine = tree / ".config" / "assent" / "assent.yaml"
    mine.write_text("permissions: {}")
    environ = {"HOME": str(tree)}
    assert find_places(str(mine.parent), environ=environ).project_file is None
    assert find_places(str(tree / "work"), environ=environ).project_file == str(tree / "work" / "assent.yaml")
    assert find_places("/no/such", environ=environ).project_file is None

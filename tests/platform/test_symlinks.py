"""Links are followed as the kernel follows them, and the control plane is found by all its names."""

import os

import pytest

from assent.platform import symlinks
from assent.platform.symlinks import find_control_links, follow_links


@pytest.mark.parametrize("path", ["relative", "", "/a\0b", "/" + "x" * 5000, "/" + "é" * 2100, "/\ud800"])
def test_a_path_the_kernel_would_refuse_has_no_end(path):
    assert follow_links(path) is None


def test_a_chain_of_links_too_long_to_follow_has_no_end(tmp_path):
    for index in range(1500):
        (tmp_path / f"l{index}").symlink_to(f"l{index + 1}")
    assert follow_links(str(tmp_path / "l0")) is None
    assert follow_links(str(tmp_path / f"l{1500 - 41}" / "new")) is None
    assert follow_links(str(tmp_path / f"l{1500 - 40}")) == str(tmp_path / "l1500")
    (tmp_path / "l1500").symlink_to("l0")
    assert follow_links(str(tmp_path / "l0")) is None


def test_a_disk_that_fails_gives_no_end(monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    for name in ("open", "readlink"):
        monkeypatch.setattr(symlinks.os, name, fail)
    monkeypatch.setattr(symlinks.os.path, "realpath", fail)
    assert follow_links("/a") is None


@pytest.mark.parametrize(
    "name",
    [
        "dir/file",
        "dir/new",
        "link/file",
        "link/new",
        "dangling",
        "dangling/x",
        "no/such",
        "no/such/a/b/c/d",
        "link/no/such",
        "link/no/../such",
        "dangling/x/y",
        "dir/file/x/y",
        "dir/../link/file",
        "dir/file/",
        "link/../new",
        "dir/..",
        "dir/new/..",
        "dir/.",
        "dir//file",
        "gone (deleted)",
    ],
)
def test_the_quick_way_to_follow_links_agrees_with_the_slow_one(name, tmp_path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir/file").touch()
    (tmp_path / "gone (deleted)").touch()
    (tmp_path / "link").symlink_to("dir")
    (tmp_path / "dangling").symlink_to("nowhere/else")
    path = f"{tmp_path}/{name}"
    assert follow_links(path) == os.path.realpath(path)


def test_without_proc_links_are_followed_the_slow_way(monkeypatch, tmp_path):
    def fail(*_):
        raise OSError(2, "No such file or directory")

    (tmp_path / "link").symlink_to("dir")
    (tmp_path / "dir").mkdir()
    monkeypatch.setattr(symlinks, "_NAME_ONLY", 0)
    monkeypatch.setattr(symlinks.os, "open", fail)
    assert follow_links(str(tmp_path / "link")) == str(tmp_path / "dir")


def test_the_control_plane_is_found_where_its_links_lead(tmp_path):
    ws, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    for folder in ("ws/rules", "ws/.git/hooks", "ws/scripts", "ws/.github", "ws/.venv/bin", "ws/docs", "elsewhere/ci"):
        (tmp_path / folder).mkdir(parents=True)
    for name, target in {
        "assent.yaml": "rules/one.yaml",
        "rules/one.yaml": "two.yaml",
        "agentrail.yaml": "rules/not-there-yet.yaml",
        ".claude": "../elsewhere",
        ".git/hooks/pre-commit": "../../scripts/check",
        ".github/workflows": "../../elsewhere/ci",
        ".venv/bin/python": "/usr/bin/python3",
        "docs/assent.yaml": "../notes.yaml",
        "plain.yaml": "rules/two.yaml",
        "CLAUDE.md": "CLAUDE.md",
    }.items():
        (ws / name).symlink_to(target)
    (elsewhere / "settings.json").symlink_to("../kept.json")
    found = {os.path.relpath(path, tmp_path) for path in find_control_links(str(ws))}
    led = {"ws/rules/two.yaml", "ws/rules/not-there-yet.yaml", "ws/scripts/check"}
    assert found == led | {"elsewhere", "elsewhere/ci", "kept.json"}
    # A name below a folder that is plain is looked for from there.
    assert find_control_links(str(ws / "docs")) == (str(ws / "notes.yaml"),)


def test_links_that_lead_in_circles_end_the_search(tmp_path):
    (tmp_path / ".claude").mkdir()
    (tmp_path / b"caf\xe9".decode("utf-8", "surrogateescape")).symlink_to(".claude")
    (tmp_path / ".claude/self").symlink_to(".")
    assert find_control_links(str(tmp_path)) == (str(tmp_path / ".claude"),)


def test_of_a_folder_with_more_names_than_are_looked_through_all_counts(tmp_path, monkeypatch):
    for index in range(3):
        (tmp_path / str(index)).touch()
    monkeypatch.setattr(symlinks, "MOST_NAMES", 3)
    assert find_control_links(str(tmp_path)) == ()
    monkeypatch.setattr(symlinks, "MOST_NAMES", 2)
    assert find_control_links(str(tmp_path)) == (str(tmp_path),)


@pytest.mark.parametrize("folder", ["/no/such/folder", "/dev/null", "/a\0b"])
def test_a_folder_that_can_not_be_looked_into_leads_nowhere(folder):
    assert find_control_links(folder) == ()


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({".cargo": "d"}, {"d/config", "d/config.toml"}),
        ({".cargo": "m", "m": "d"}, {"d/config", "d/config.toml"}),
        ({".CARGO": "d"}, {"d/config", "d/config.toml"}),
        ({"d/config.toml": "../other", ".cargo": "d"}, {"d/config", "d/config.toml", "other"}),
        ({"cargo": "d"}, set()),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_a_link_on_the_way_leads_to_what_tools_would_obey_there_already_or_not(tmp_path, made, found, there):
    if there or "d/config.toml" in made:
        (tmp_path / "d").mkdir()
    for link, target in made.items():
        (tmp_path / link).symlink_to(target)
    assert {os.path.relpath(path, tmp_path) for path in find_control_links(str(tmp_path))} == found

"""The facts are those of the machine, looked up cheaply, and Assent's own places are always among them."""

import json
import time
from pathlib import Path

import pytest

from assent.model import ConfigError
from assent.platform import facts
from assent.platform.facts import ENDPOINTS, Observer, list_names, observe


@pytest.fixture
def environ(tmp_path):
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "ASSENT_HOME": str(tmp_path / "state")}


def write_hooks(environ, content):
    path = Path(environ["ASSENT_HOME"], "hooks.json")
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(content)
    return path


def test_the_world_is_described(environ, monkeypatch):
    monkeypatch.setattr(facts, "CASE_INSENSITIVE", True)
    seen = observe(environ, now=lambda: 12.5, managed_file="/m/assent.yaml")
    assert (seen.now, seen.home, seen.disk, seen.sandbox) == (12.5, environ["HOME"], "known", False)
    assert seen.case_insensitive
    assert seen.assent_paths == (environ["ASSENT_HOME"],)
    written = ("/m/assent.yaml", f"{environ['HOME']}/.config/assent/assent.yaml")
    assert seen.assent_files[:2] == written
    # Where strategies come from, and the program itself, where it is installed.
    assert {name.rpartition("/")[2] for name in seen.assent_files[2:]} <= {"assent", "strategies"}
    assert seen.assent_endpoints == ENDPOINTS == ("127.0.0.1:7422", "localhost:7422", "[::1]:7422")


def test_the_clock_is_read_for_each_decision(environ):
    before = time.time()
    assert before <= observe(environ).now <= time.time()


def test_what_is_protected_is_protected_under_its_real_name_too(environ, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "state").symlink_to("real")
    config = tmp_path / "home" / ".config" / "assent"
    config.mkdir(parents=True)
    (tmp_path / "dotfiles.yaml").write_text("")
    (config / "assent.yaml").symlink_to(tmp_path / "dotfiles.yaml")
    seen = observe(environ)
    assert seen.assent_paths == (environ["ASSENT_HOME"], str(tmp_path / "real"))
    assert {str(config / "assent.yaml"), str(tmp_path / "dotfiles.yaml")} < set(seen.assent_files)


def test_the_links_on_the_way_to_what_is_protected_are_protected(environ, tmp_path):
    kept = tmp_path / "dotfiles" / "assent"
    kept.mkdir(parents=True)
    (kept / "real.yaml").write_text("permissions: {}")
    (kept / "assent.yaml").symlink_to("real.yaml")
    (tmp_path / "home" / ".config").mkdir()
    (tmp_path / "home" / ".config" / "assent").symlink_to("../../dotfiles/assent")
    (tmp_path / "loop").symlink_to("loop")
    ways = {tmp_path / "home/.config/assent", kept / "assent.yaml", kept / "real.yaml"}
    assert {str(way) for way in ways} < set(observe(environ).assent_files)
    assert str(tmp_path / "loop") in observe({**environ, "XDG_CONFIG_HOME": str(tmp_path / "loop")}).assent_files


def test_a_link_that_comes_to_lead_elsewhere_is_noticed(environ, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "state").symlink_to("one")
    assert str(tmp_path / "one") in observe(environ).assent_paths
    (tmp_path / "state").unlink()
    (tmp_path / "state").symlink_to("two")
    assert str(tmp_path / "two") in observe(environ).assent_paths


def test_the_hook_entries_are_protected_files(environ):
    assert "/a/settings.json" not in observe(environ).assent_files
    write_hooks(environ, json.dumps(["/a/settings.json"]))
    assert "/a/settings.json" in observe(environ).assent_files
    write_hooks(environ, json.dumps(["/a/settings.json", "/b/hooks.json"]))
    assert "/b/hooks.json" in observe(environ).assent_files


@pytest.mark.parametrize("content", ["", "{}", "[1]", '["relative"]', '[""]', "[" * 100_000, '["/a"] x', "null"])
def test_a_damaged_list_of_hooks_is_an_error_each_time(environ, content):
    path = write_hooks(environ, content)
    for _ in range(2):
        with pytest.raises(ConfigError, match="the file is damaged") as caught:
            observe(environ)
        assert caught.value.file == str(path)


def test_a_list_of_hooks_that_others_could_write_is_an_error(environ):
    write_hooks(environ, "[]").chmod(0o666)
    with pytest.raises(ConfigError, match="writable by other users"):
        observe(environ)


def test_links_are_followed_to_their_end(environ, tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("target")
    seen = observe(environ)
    assert seen.resolve(str(tmp_path / "a" / "new" / "file")) == str(tmp_path / "target" / "new" / "file")
    assert seen.resolve(str(tmp_path / "target" / ".." / "b")) == str(tmp_path / "target")


def test_a_link_that_is_changed_is_seen_at_once(environ, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("one")
    seen = observe(environ)
    assert seen.resolve(str(link)) == str(tmp_path / "one")
    link.unlink()
    link.symlink_to("two")
    assert seen.resolve(str(link)) == str(tmp_path / "two")


def test_an_observer_looks_again_every_second(environ):
    clock = iter([10.0, 10.9, 11.0])
    look = Observer(environ, now=lambda: next(clock))
    first, second, third = look(), look(), look()
    assert first is second
    assert (first.now, third.now) == (10.0, 11.0)


def test_a_home_that_can_be_no_path_is_an_error(environ):
    with pytest.raises(ConfigError, match="File name too long"):
        observe(environ | {"ASSENT_HOME": "/x" * 3000})


def test_a_folder_tells_whether_a_name_in_it_starts_with_a_dash(tmp_path, monkeypatch):
    assert facts.has_dashes(str(tmp_path)) is False
    (tmp_path / "a-b").write_text("")
    assert facts.has_dashes(str(tmp_path)) is False
    (tmp_path / "-o").write_text("")
    assert facts.has_dashes(str(tmp_path)) is True
    assert facts.has_dashes(str(tmp_path / "x")) is None
    assert facts.has_dashes("a\0b") is None
    (tmp_path / "-o").unlink()
    monkeypatch.setattr(facts, "MOST_NAMES", 0)
    assert facts.has_dashes(str(tmp_path)) is None


def test_a_file_is_there_if_opening_it_makes_nothing_new(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "gone").symlink_to(tmp_path / "b")
    assert facts.exists(str(tmp_path / "a"))
    assert not facts.exists(str(tmp_path / "b"))
    assert not facts.exists(str(tmp_path / "gone"))
    assert not facts.exists("a\0b")


def test_a_folder_is_listed_with_what_is_a_folder_in_it(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").touch()
    (tmp_path / "door").symlink_to(tmp_path / "sub")
    assert sorted(list_names(str(tmp_path)) or ()) == [("a.txt", False), ("door", False), ("sub", True)]
    assert list_names(str(tmp_path / "a.txt")) == list_names(str(tmp_path / "nowhere")) == []
    assert list_names("\0") is None
    monkeypatch.setattr(facts, "MOST_LISTED", 2)
    assert list_names(str(tmp_path)) is None

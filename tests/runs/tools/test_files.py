"""Guarded files: what was decided about is what is opened, and a write is whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import struct
import threading

import pytest

from assent.runs.tools import files
from assent.runs.tools.files import ToolError


@pytest.fixture
def folder(tmp_path):
    return tmp_path.resolve()


def yes(_path):
    return True


def test_a_file_is_read_and_cut_at_the_limit(folder):
    (folder / "a").write_text("hello")
    assert files.read_text(str(folder / "a")) == files.FileText("hello")
    assert files.read_text(str(folder / "a"), 4) == files.FileText("hell", cut=True)


def test_a_link_put_in_the_place_of_a_file_is_not_followed(folder):
    secret = folder / "secret"
    secret.write_text("s")
    (folder / "a").symlink_to(secret)
    for attempt in (
        lambda: files.read_text(str(folder / "a")),
        lambda: files.write_text(str(folder / "a"), "x"),
        lambda: files.edit_text(str(folder / "a"), "s", "x"),
        lambda: files.list_names(str(folder / "a")),
    ):
        with pytest.raises(ToolError, match="is not what was decided about"):
            attempt()
    assert secret.read_text() == "s"


def test_a_link_put_in_the_place_of_a_folder_is_not_followed(folder):
    real = folder / "real"
    real.mkdir()
    (real / "f").write_text("s")
    (folder / "link").symlink_to(real)
    for attempt in (
        lambda: files.read_text(str(folder / "link" / "f")),
        lambda: files.write_text(str(folder / "link" / "f"), "x"),
        lambda: files.write_text(str(folder / "link" / "new" / "f"), "x"),
        lambda: files.list_names(str(folder / "link")),
        lambda: files.search_text(str(folder / "link"), "s", yes),
    ):
        with pytest.raises(ToolError, match="is not what was decided about"):
            attempt()
    assert [p.name for p in real.iterdir()] == ["f"]
    assert (real / "f").read_text() == "s"


def test_a_folder_swapped_for_a_link_all_the_time_never_lets_a_write_out(folder):
    inside, outside = folder / "in", folder / "out"
    for place in (inside / "d", outside / "d"):
        place.mkdir(parents=True)
    done = threading.Event()

    def swap():
        while not done.is_set():
            shutil.rmtree(inside / "kept", ignore_errors=True)
            (inside / "d").mkdir(exist_ok=True)
            (inside / "d").rename(inside / "kept")
            with contextlib.suppress(FileExistsError):  # the writer may make the folder that it misses
                (inside / "d").symlink_to(outside / "d")
                (inside / "d").unlink()
            shutil.rmtree(inside / "d", ignore_errors=True)
            with contextlib.suppress(OSError):
                (inside / "kept").rename(inside / "d")

    thread = threading.Thread(target=swap)
    thread.start()
    written = 0
    try:
        for number in range(3000):
            try:
                files.write_text(str(inside / "d" / f"f{number % 7}"), "x")
                written += 1
            except ToolError:
                continue
    finally:
        done.set()
        thread.join()
    assert not list((outside / "d").iterdir())
    assert written


def test_a_write_replaces_the_file_keeps_its_mode_and_makes_folders(folder):
    path = folder / "new" / "deep" / "a"
    assert files.write_text(str(path), "one") == 3
    path.chmod(0o750)
    before = path.stat().st_ino
    files.write_text(str(path), "two")
    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o750
    assert path.stat().st_ino != before
    assert [p.name for p in path.parent.iterdir()] == ["a"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(folder, monkeypatch):
    path = folder / "a"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(ToolError, match="No space left on device"):
        files.write_text(str(path), "new")
    assert path.read_text() == "old"
    assert [p.name for p in folder.iterdir()] == ["a"]


def test_an_edit_needs_its_text_exactly_once(folder):
    path = folder / "a"
    path.write_text("one two two")
    files.edit_text(str(path), "one", "1")
    assert path.read_text() == "1 two two"
    for old, count in (("two", 2), ("three", 0)):
        with pytest.raises(ToolError, match=f"is in .* {count} times"):
            files.edit_text(str(path), old, "x")
    assert path.read_text() == "1 two two"


def test_an_edit_of_a_file_that_somebody_else_changes_meanwhile_is_given_up(folder, monkeypatch):
    path = folder / "a"
    path.write_text("old")
    real = files._write_new

    def change_first(*arguments):
        real(*arguments)
        path.write_text("theirs, and longer")

    monkeypatch.setattr(files, "_write_new", change_first)
    with pytest.raises(ToolError, match="was changed by somebody else"):
        files.edit_text(str(path), "old", "new")
    assert path.read_text() == "theirs, and longer"


def test_who_may_do_what_with_a_file_stays_as_it_is_when_it_is_written_anew(folder):
    path = folder / "a"
    path.write_text("old")
    path.chmod(0o4660)
    # user::rw-, user:12345:rw-, group::---, mask::rw-, other::---, as the kernel keeps it
    entries = ((1, 6, -1), (2, 6, 12345), (4, 0, -1), (16, 6, -1), (32, 0, -1))
    kept = b"\x02\0\0\0" + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    has_lists = True
    try:
        os.setxattr(path, "system.posix_acl_access", kept)
    except OSError:  # not every disk keeps such lists
        has_lists = False
    files.edit_text(str(path), "old", "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o660, "and what it held may no longer run as its owner"
    if has_lists:
        assert os.getxattr(path, "system.posix_acl_access") == kept


def test_a_new_copy_of_a_private_file_is_private_from_its_first_moment(folder, monkeypatch):
    path, modes = folder / "a", []
    path.write_text("old")
    path.chmod(0o600)
    real = files._liken

    def look_first(descriptor, *more):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        real(descriptor, *more)

    monkeypatch.setattr(files, "_liken", look_first)
    files.write_text(str(path), "new")
    assert modes == [0o600]


def test_what_is_no_plain_file_is_not_even_opened(folder):
    os.mkfifo(folder / "pipe")
    writer = threading.Thread(target=lambda: os.close(os.open(folder / "pipe", os.O_WRONLY)), daemon=True)
    writer.start()  # waits until somebody opens the other end
    for attempt in (
        lambda: files.read_text(str(folder / "pipe")),
        lambda: files.edit_text(str(folder / "pipe"), "a", "b"),
        lambda: files.search_text(str(folder), "x", yes),
    ):
        with contextlib.suppress(ToolError):
            attempt()
    assert writer.is_alive()
    os.close(os.open(folder / "pipe", os.O_RDONLY))
    writer.join(30)
    assert not writer.is_alive()


def test_what_is_no_plain_file_is_refused_without_waiting(folder):
    os.mkfifo(folder / "pipe")
    for attempt in (
        lambda: files.read_text(str(folder / "pipe")),
        lambda: files.write_text(str(folder / "pipe"), "x"),
        lambda: files.read_text(str(folder)),
    ):
        with pytest.raises(ToolError, match="is not a plain file"):
            attempt()


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/1/mem", "/sys/kernel/x", "/dev/zero", "/dev/null"])
def test_windows_into_the_kernel_are_no_files(path):
    for attempt in (lambda: files.read_text(path), lambda: files.write_text(path, "x"), lambda: files.list_names(path)):
        with pytest.raises(ToolError, match="is no file on a disk"):
            attempt()


def test_what_is_not_there_is_said_to_be_missing(folder):
    with pytest.raises(ToolError, match="No such file"):
        files.read_text(str(folder / "no"))
    with pytest.raises(ToolError, match="No such file"):
        files.list_names(str(folder / "no"))


def test_names_are_listed_with_what_they_are(folder):
    (folder / "f").touch()
    (folder / "d").mkdir()
    (folder / "l").symlink_to("f")
    os.mkfifo(folder / "p")
    assert files.list_names(str(folder)).text == "d/\nf\nl@\np="


def test_a_name_is_one_line_whatever_is_in_it(folder):
    (folder / "a\nsecret.txt").write_text("x")
    (folder / "é x").write_text("x")
    (folder / os.fsdecode(b"\xff")).write_text("x")
    assert files.list_names(str(folder)).text == "'a\\nsecret.txt'\né x\n'\\udcff'"
    assert files.search_text(str(folder), "x", yes).text == "'a\\nsecret.txt':1: x\né x:1: x\n'\\udcff':1: x"


@pytest.mark.parametrize("place", [0, 8000, 8190, 100_000, 199_990])
def test_a_search_finds_what_is_anywhere_in_a_very_long_line(folder, place):
    (folder / "a").write_text("x" * place + "needle" + "x" * (200_000 - place))
    assert files.search_text(str(folder), "ne+dle", yes).text.startswith("a:1: ")


def test_a_search_can_be_ended_within_a_line(folder):
    """A pattern may take minutes for a mebibyte."""
    (folder / "a").write_text("x" * 1_000_000)
    looks = []

    def check():
        looks.append(None)
        if len(looks) > 10:
            raise ToolError("given up")

    with pytest.raises(ToolError, match="given up"):
        files.search_text(str(folder), "needle", yes, check)


def test_a_search_finds_lines_follows_no_link_and_opens_nothing_it_may_not(folder, tmp_path_factory):
    away = tmp_path_factory.mktemp("away").resolve()
    (away / "x").write_text("needle away")
    (folder / "sub").mkdir()
    (folder / "sub" / "a").write_text("one\na needle here\n")
    (folder / "b").write_text("needle")
    (folder / "hidden").write_text("needle")
    (folder / "link").symlink_to(away)
    (folder / "file-link").symlink_to(away / "x")
    (folder / "binary").write_bytes(b"\0needle")
    found = files.search_text(str(folder), "ne+dle", lambda path: not path.endswith("hidden"))
    assert found.text.splitlines() == ["b:1: needle", "sub/a:2: a needle here"]
    assert files.search_text(str(folder / "b"), "needle", yes).text == "b:1: needle"
    with pytest.raises(ToolError, match="the pattern cannot be read"):
        files.search_text(str(folder), "(", yes)


def test_a_search_that_finds_too_much_is_cut(folder):
    (folder / "a").write_text("x\n" * 600)
    found = files.search_text(str(folder), "x", yes)
    assert (len(found.text.splitlines()), found.cut) == (files.MOST_MATCHES, True)


def test_a_pattern_that_is_none_is_said_so_and_nothing_is_written_about_it(folder, capfd):
    with pytest.raises(ToolError, match=r"^the pattern cannot be read: missing \): \(secret$"):
        files.search_text(str(folder), "(secret", yes)
    assert capfd.readouterr() == ("", "")


def test_a_search_among_very_many_folders_comes_to_an_end(folder, monkeypatch):
    monkeypatch.setattr(files, "MOST_LOOKED_AT", 20)
    for number in range(30):
        (folder / str(number)).mkdir()
    assert files.search_text(str(folder), "x", yes) == files.FileText("", cut=True)

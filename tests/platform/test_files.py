"""Reads are bounded and never wait; writes are whole or not at all."""

import os
import stat
import subprocess
import sys

import pytest

from assent.model import ConfigError
from assent.platform import files
from assent.platform.files import (
    LARGEST_FILE,
    check_owner,
    find_file,
    find_private,
    make_private_folder,
    read_file,
    write_private,
)


def test_a_file_is_read_whole(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x" * LARGEST_FILE)
    content = read_file(str(path))
    assert content.data == b"x" * LARGEST_FILE
    assert content.status.st_ino == path.stat().st_ino


@pytest.mark.parametrize("name", ["none", "none/below", "file/below"])
def test_a_file_that_is_not_there_is_none_or_an_error(tmp_path, name):
    (tmp_path / "file").write_text("")
    assert find_file(str(tmp_path / name)) is None
    with pytest.raises(ConfigError, match="file not found"):
        read_file(str(tmp_path / name))


def make_fifo(path):
    os.mkfifo(path)


def make_big(path):
    path.write_bytes(b"x" * (LARGEST_FILE + 1))


def make_loop(path):
    path.symlink_to(path)


def make_dangling(path):
    path.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkdir, "not a regular file"),
        (make_fifo, "not a regular file"),
        (make_big, "the file is larger than 4 MiB"),
        (make_loop, "the file is a symbolic link, which Assent does not follow here"),
        (make_dangling, "dangling symbolic link"),
    ],
)
def test_anything_else_in_a_files_place_is_an_error(tmp_path, make, message):
    path = tmp_path / "f"
    make(path)
    with pytest.raises(ConfigError) as caught:
        find_file(str(path))
    assert (caught.value.message, caught.value.file) == (message, str(path))


def test_a_name_no_file_can_have_is_an_error():
    with pytest.raises(ConfigError, match=r"cannot read the file: .*embedded null"):
        find_file("/tmp/a\0b")


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_file_the_disk_refuses_is_an_error(tmp_path, monkeypatch, call):
    path = tmp_path / "f"
    path.write_text("x")

    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files.os, call, refuse)
    with pytest.raises(ConfigError, match="cannot read the file: Permission denied"):
        find_file(str(path))


def test_a_link_is_followed_only_where_that_is_meant(tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to("f")
    assert read_file(str(tmp_path / "link")).data == b"x"
    with pytest.raises(ConfigError, match="symbolic link"):
        find_file(str(tmp_path / "link"), follow=False)


@pytest.mark.parametrize(
    ("owners", "mode", "message"),
    [
        ((0,), 0o600, "must be owned by root"),
        ((1000, 0), 0o600, "must be owned by user 1000 or root"),
        ((1234,), 0o620, "writable by other users"),
        ((0, 1234), 0o602, "writable by other users"),
    ],
)
def test_a_file_in_other_hands_is_refused(owners, mode, message):
    status = os.stat_result((mode, 0, 0, 1, 1234, 0, 0, 0, 0, 0))
    with pytest.raises(ConfigError) as caught:
        check_owner("f", status, owners, suggestion="mend it")
    assert (caught.value.message, caught.value.suggestion) == (message, "mend it")


def test_a_file_that_others_may_read_is_in_good_hands(tmp_path):
    path = tmp_path / "f"
    path.write_text("x")
    path.chmod(0o644)
    check_owner(str(path), path.stat(), (os.geteuid(),), suggestion="")


def test_a_private_folder_is_made_and_closed(tmp_path):
    folder = tmp_path / "a" / "b"
    make_private_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder.chmod(0o755)
    make_private_folder(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_others_could_put_something_into_is_not_used(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(0o777)
    make_private_folder(str(folder))  # nobody has
    (folder / "planted").write_text("x")
    folder.chmod(0o770)
    with pytest.raises(ConfigError, match="writable by other users"):
        make_private_folder(str(folder))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_secret_that_others_may_read_is_refused(tmp_path, mode):
    path = tmp_path / "token"
    path.write_text("x")
    path.chmod(0o600)
    assert files.find_secret(str(path)) == b"x"
    assert files.find_secret(str(tmp_path / "none")) is None
    path.chmod(mode)
    with pytest.raises(ConfigError, match="readable by other users"):
        files.find_secret(str(path))


def test_a_folder_of_someone_else_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(files.os, "geteuid", lambda: 987654)
    with pytest.raises(ConfigError, match="belongs to another user"):
        make_private_folder(str(tmp_path))


def test_a_file_where_the_folder_should_be_is_an_error(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(ConfigError, match="cannot use this folder"):
        make_private_folder(str(tmp_path / "f"))


def test_a_written_file_is_private_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "f"
    write_private(str(path), b"one")
    write_private(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_writing_over_a_link_leaves_its_target_alone(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "f").symlink_to("target")
    write_private(str(tmp_path / "f"), b"new")
    assert (tmp_path / "target").read_text() == "old"
    assert not (tmp_path / "f").is_symlink()


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, call):
    path = tmp_path / "f"
    write_private(str(path), b"old")

    def fail(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, fail)
        with pytest.raises(ConfigError, match="cannot write the file: No space left on device"):
            write_private(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_between_write_and_rename_leaves_the_old_file(tmp_path):
    path = tmp_path / "f"
    write_private(str(path), b"old")
    crash = (
        "import os, sys; from assent.platform.files import write_private;"
        "os.replace = lambda *args: os._exit(9); write_private(sys.argv[1], b'new')"
    )
    assert subprocess.run([sys.executable, "-c", crash, str(path)], check=False, timeout=60).returncode == 9
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 2
    write_private(str(path), b"newer")
    assert path.read_bytes() == b"newer"


def test_a_private_file_is_read_unless_another_hand_was_on_it(tmp_path):
    path = tmp_path / "f"
    assert find_private(str(path), suggestion="") is None
    write_private(str(path), b"x")
    assert find_private(str(path), suggestion="") == b"x"
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="writable by other users"):
        find_private(str(path), suggestion="")


def test_a_private_file_in_an_open_folder_is_refused(tmp_path):
    write_private(str(tmp_path / "f"), b"x")
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="writable by other users"):
        find_private(str(tmp_path / "f"), suggestion="")

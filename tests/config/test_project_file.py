"""A project's file is small, lies in the project, and is a file; what is not is refused, and nothing of it is told."""

from __future__ import annotations

import os
import socket
import time

import pytest

from assent.config.layers import load_layers
from assent.config.trust import trust
from assent.model import ConfigError
from assent.platform.paths import LARGEST_PROJECT_FILE

SECRET = "hunter2-tr0ub4dor"


@pytest.fixture
def world(tmp_path):
    """A project, and beside it what is none of its business."""
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "secret").write_text(f"permissions:\n  allow: {SECRET}\n{SECRET}: {SECRET}\n")
    (tmp_path / "private" / "assent.yaml").write_text(f"{SECRET}: 1\n")
    return tmp_path


def link(world, file):
    file.symlink_to(world / "private" / "secret")


def link_through_a_folder(world, file):
    (world / "project" / "sub").symlink_to(world / "private")
    file.symlink_to("sub/secret")


def link_by_many(world, file):
    (world / "project" / "a").symlink_to("../private/secret")
    file.symlink_to("a")


def link_hard(world, file):
    os.link(world / "private" / "secret", file)


def link_to_the_process(world, file):
    file.symlink_to("/proc/self/environ")


def link_to_a_device(_world, file):
    file.symlink_to("/dev/zero")


def fifo(_world, file):
    os.mkfifo(file)


def listening(_world, file):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(file))


def folder(_world, file):
    file.mkdir()


def sparse(_world, file):
    with file.open("wb") as made:
        made.write(f"{SECRET}: 1\n".encode())
        made.truncate(1 << 40)


def large(_world, file):
    file.write_bytes(f"# {SECRET}\n".encode() * (LARGEST_PROJECT_FILE // 8))


def many(_world, file):
    file.write_text("permissions:\n  deny: [" + "a," * 6000 + "]\n")


def to_nothing(_world, file):
    file.symlink_to("nothing")


def loop(_world, file):
    file.symlink_to("assent.yaml")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (link, "a link out of the project"),
        (link_through_a_folder, "a link out of the project"),
        (link_by_many, "a link out of the project"),
        (link_hard, "has another hard link"),
        (link_to_the_process, "a link out of the project"),
        (link_to_a_device, "not a regular file"),
        (fifo, "not a regular file"),
        (listening, "not a regular file"),
        (folder, "not a regular file"),
        (sparse, "larger than 256 KiB"),
        (large, "larger than 256 KiB"),
        (many, "more than 5000 values"),
        (to_nothing, "dangling symbolic link"),
        (loop, "a symbolic link, which Assent does not follow here"),
    ],
)
def test_what_is_no_small_file_of_the_project_is_refused_and_not_quoted(world, make, why):
    project = world / "project"
    make(world, project / "assent.yaml")
    environ = {"HOME": str(world / "home"), "ASSENT_HOME": str(world / "state")}
    started = time.process_time()
    for read in (
        lambda: load_layers(str(project), environ=environ, managed_file=str(world / "none")),
        lambda: trust(str(project / "assent.yaml"), home=str(world / "state")),
    ):
        with pytest.raises(ConfigError) as error:
            read()
        assert why in str(error.value)
        assert SECRET not in str(error.value)
    assert time.process_time() - started < 2


def test_a_link_inside_the_project_is_followed(world):
    project = world / "project"
    (project / "conf").mkdir()
    (project / "conf" / "rules.yaml").write_text("permissions:\n  deny: [Bash(x)]\n")
    (project / "assent.yaml").symlink_to("conf/rules.yaml")
    environ = {"HOME": str(world / "home"), "ASSENT_HOME": str(world / "state")}
    (policy,) = load_layers(str(project), environ=environ, managed_file=str(world / "none")).policies
    assert [rule.text for rule in policy.deny] == ["Bash(x)"]


def test_a_project_that_is_reached_through_a_link_has_its_own_file(world):
    (world / "project" / "assent.yaml").write_text("permissions:\n  deny: [Bash(x)]\n")
    (world / "shortcut").symlink_to("project")
    environ = {"HOME": str(world / "home"), "ASSENT_HOME": str(world / "state")}
    (policy,) = load_layers(str(world / "shortcut"), environ=environ, managed_file=str(world / "none")).policies
    assert policy.deny


def test_a_file_that_cannot_be_opened_is_an_error(world, monkeypatch):
    from assent.platform import files

    project = world / "project"
    (project / "assent.yaml").write_text("permissions: {}\n")
    real = os.open

    def fail(path, *rest, **more):
        if str(path).startswith("/proc/self/fd/"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **more)

    monkeypatch.setattr(files.os, "open", fail)
    with pytest.raises(ConfigError, match="Permission denied"):
        files.find_inside(str(project), "assent.yaml", largest=100)
    monkeypatch.undo()
    assert files.find_inside(str(project / "none"), "assent.yaml", largest=10) is None
    with pytest.raises(ConfigError, match="larger than 0 KiB"):
        files.find_inside(str(project), "assent.yaml", largest=10)

"""What another command in the same workspace replaces while a sandbox is set up is neither shown nor left unhidden."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox, Unavailable, sandbox
from assent.sandbox.linux.mountinfo import Disks, parse

SECRET = "the-secret-text"


@pytest.fixture
def swapping(own_world, monkeypatch):
    """Let somebody exchange two names just before bubblewrap starts, and back once it is done."""
    own_world.write(own_world.home / ".ssh/id_rsa", SECRET)
    own_world.write("a/.env", "mine")
    left = []

    def exchange(one, other):
        spare = one.with_name("spare")
        one.rename(spare)
        other.rename(one)
        spare.rename(other)

    def swap(one, other, times):
        left.extend([(one, other)] * times)

    real_launch, real_hear = sandbox.launch, sandbox._wait_for_report

    def launch(*words):
        if left:
            exchange(*left[0])
        return real_launch(*words)

    async def hear(started):
        try:
            await real_hear(started)
        finally:
            if left and "begin" not in started.fds:  # the first report
                exchange(*left.pop())

    monkeypatch.setattr(sandbox, "launch", launch)
    monkeypatch.setattr(sandbox, "_wait_for_report", hear)
    return swap


def look(world, root, script):
    wanted = profile("workspace-write", Place(Facts(), str(root), (str(root),)))

    async def main():
        async with Sandbox(wanted, environ=world.environ) as inside:
            process = await inside.start(["sh", "-c", script])
            return (await process.stdout.read_all()).decode()

    return asyncio.run(main())


def test_a_folder_that_becomes_a_link_shows_nothing(own_world, swapping):
    link = own_world.workspace / "l"
    link.symlink_to("../home")
    script = f"cat {own_world.home}/.ssh/id_rsa a/.ssh/id_rsa; echo ran"
    swapping(own_world.workspace / "a", link, 1)
    assert look(own_world, own_world.workspace, script) == "ran\n"
    swapping(own_world.workspace / "a", link, 100)
    with pytest.raises(Unavailable):
        look(own_world, own_world.workspace, script)


def test_nor_does_a_workspace_that_becomes_one(own_world, swapping):
    inner = own_world.workspace / "inner"
    inner.mkdir()
    link = own_world.workspace / "l"
    link.symlink_to("../outside")
    swapping(inner, link, 100)
    with pytest.raises(Unavailable):
        look(own_world, inner, f"echo evil > {own_world.outside}/made; echo evil > {inner}/made")
    assert not [path for path in own_world.outside.rglob("*") if path.is_file()]


def test_nor_does_another_folder_in_the_place_of_a_protected_one(own_world, swapping):
    other = own_world.workspace / "other"
    other.mkdir()
    (own_world.workspace / ".vscode").mkdir()
    swapping(own_world.workspace / ".vscode", other, 1)
    look(own_world, own_world.workspace, "echo evil > .vscode/tasks.json; echo x > other/made")
    assert list((own_world.workspace / ".vscode").iterdir()) == []


TABLE = rb"""
20 1 8:1 / / rw - ext4 /dev/a rw
21 20 8:2 /@home /home rw - btrfs /dev/b rw
22 20 8:1 /srv/a\040b /mnt rw - ext4 /dev/a rw
23 21 8:3 / /home/u/disk rw - ext4 /dev/c rw
24 21 8:4 / /home rw - ext4 /dev/d rw
""".strip()


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        ("/", ("8:1", "/")),
        ("/etc/x", ("8:1", "/etc/x")),
        ("/mnt", ("8:1", "/srv/a b")),
        ("/mnt/c", ("8:1", "/srv/a b/c")),
        ("/homely", ("8:1", "/homely")),
        ("/home", ("8:4", "/")),
        ("/home/u/disk/x", ("8:4", "/u/disk/x")),
    ],
)
def test_a_path_is_found_on_its_disk(path, origin):
    assert Disks(parse(TABLE)).find(path) == origin


def test_where_no_root_is_mounted_nothing_is_known():
    with pytest.raises(Unavailable):
        Disks(parse(b"21 20 8:2 / /home rw - ext4 /dev/b rw"))


def test_this_machine_s_own_paths_are_found_as_the_kernel_has_them():
    rows = parse(Path("/proc/self/mountinfo").read_bytes())
    ids = {row.id: row for row in rows}
    for path in {row.point for row in rows if os.access(row.point, os.R_OK)} | {"/usr/bin", str(Path.cwd())}:
        opened = os.open(path, os.O_PATH)
        said = dict(line.split(":\t") for line in Path(f"/proc/self/fdinfo/{opened}").read_text().splitlines())
        os.close(opened)
        mount = ids[said["mnt_id"]]
        below = path[len(mount.point.rstrip("/")) :] if path != mount.point else ""
        assert Disks(rows).find(path) == (mount.origin[0], (mount.origin[1].rstrip("/") + below) or "/")


def test_very_many_hidden_files_are_hidden(own_world):
    names = [own_world.write(own_world.workspace / f"{number}{'x' * 240}", SECRET) for number in range(300)]
    wanted = profile("workspace-write", Place(Facts(), str(own_world.workspace), (str(own_world.workspace),)))
    wanted = msgspec.structs.replace(wanted, masked=tuple(map(str, names)))

    async def main():
        async with Sandbox(wanted, environ=own_world.environ) as inside:
            process = await inside.start(["sh", "-c", "cat *x 2> /dev/null; echo ran"])
            return (await process.stdout.read_all()).decode()

    assert asyncio.run(main()) == "ran\n"

"""What is said about the sandbox is what was seen: one is really set up before it is said that it can be."""

import json
import os
import socket
import time

import pytest
from driver import NOBODY, as_user, make_repository

from assent.model import Facts
from assent.sandbox import trial_run
from assent.sandbox.capabilities import SandboxCapabilities
from assent.sandbox.mounts.reachable import Reach
from assent.sandbox.profiles.user import User

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can have folders of others")


@pytest.fixture
def broken(own_world):
    """A workspace in which a protected name is a link, so that no sandbox can write there."""
    make_repository(own_world)
    (own_world.workspace / "evil").mkdir()
    (own_world.workspace / ".vscode").symlink_to("evil")
    return own_world


def assent(world, *words):
    argv = [world.python, "-m", "assent", *words]
    argv = as_user(argv) if world.launcher == "user" else argv
    return world.run(argv=argv)


def listen(folder, owner, mode):
    folder.mkdir()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "sock"))
    listener.listen()
    os.chown(folder / "sock", owner, owner)
    os.chown(folder, owner, owner)
    folder.chmod(mode)
    return listener


@only_root
@pytest.mark.parametrize("mode", [0o700, 0o711, 0o750, 0o755])
@pytest.mark.parametrize("owner", [0, 1234, NOBODY])
def test_somebody_s_socket_in_any_folder_keeps_no_sandbox_from_being_set_up(world, owner, mode):
    place = world.base / "theirs"
    with listen(place, owner, mode):
        script = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{place}/sock'); print('reached')"
        world.configure("profiles: {mine: {extends: workspace-write, unix_sockets: yes}}")
        done = world.run(world.inner_python, "-c", script, options=["--profile", "mine"])
    assert done.returncode == 1, done.stderr
    assert "PermissionError" in done.stderr or "ConnectionRefusedError" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("target", ["/etc", "/etc/hostname", "/usr", "workspace"])
def test_what_somebody_puts_in_the_place_of_their_socket_hides_nothing(own_world, target):
    place = own_world.outside / "theirs"
    with listen(place, os.geteuid(), 0o755):
        (place / "sock").unlink()
        (place / "sock").symlink_to(own_world.workspace if target == "workspace" else target)
        own_world.write("file", "text")
        done = own_world.sh("cat file && ls /etc /usr > /dev/null && cat /etc/hostname > /dev/null && echo works")
    assert done.stdout == "textworks\n", done.stderr


@only_root
def test_nor_does_a_secret_or_a_store_in_a_closed_folder_of_somebody(own_world):
    for name in (".git", "theirs"):
        own_world.write(f"{name}/config", "[core]\n")
        own_world.write(f"{name}/HEAD", "ref: refs/heads/main\n")
        own_world.write(f"{name}/.env", "TOKEN=x")
        os.chown(own_world.workspace / name, 1234, 1234)
        (own_world.workspace / name).chmod(0o700)
    done = own_world.sh("echo ran; cat .git/config theirs/.env; echo x > .git/config")
    assert (done.returncode, done.stdout) == (2, "ran\n")
    assert (own_world.workspace / ".git/config").read_text() == "[core]\n"


@only_root
@pytest.mark.parametrize(
    ("mode", "owner", "group", "reached"),
    [
        (0o700, 1, 1, False),
        (0o700, 7, 1, True),
        (0o000, 7, 1, True),  # whose it is can open it
        (0o701, 1, 1, True),
        (0o710, 1, 1, False),
        (0o710, 1, 8, True),
        (0o670, 1, 8, True),
    ],
)
def test_what_a_user_reaches_is_told_by_the_folders_above(tmp_path, mode, owner, group, reached):
    for above in list(tmp_path.parents)[:-2]:
        if above.stat().st_mode & 0o001 == 0:
            above.chmod(0o711)
    tmp_path.chmod(0o711)
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, owner, group)
    folder.chmod(mode)
    reach = Reach(User(7, 8, "/", (), dropped=True))
    assert reach(str(folder / "inner/file")) is reached
    assert reach(str(folder)) is True


@only_root
def test_a_list_of_others_counts_where_a_folder_has_one(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, 1, 1)
    folder.chmod(0o710)
    listed = b"\x02\0\0\0" + b"".join(
        tag.to_bytes(2, "little") + right.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, right, who in ((1, 7, 2**32 - 1), (2, 1, 7), (4, 0, 2**32 - 1), (16, 1, 2**32 - 1), (32, 0, 2**32 - 1))
    )
    try:
        os.setxattr(folder, "system.posix_acl_access", listed)
    except OSError:
        pytest.skip("this disk keeps no such lists")
    reach = Reach(User(7, 8, "/", (), dropped=True))
    assert reach._enters(str(folder)) is True


def decide(world, line="make"):
    done = assent(world, "check", "--mode", "auto", "--json", line)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)["decision"]


def test_check_and_doctor_say_what_a_run_does(world):
    make_repository(world)
    said = assent(world, "doctor").stdout
    assert f"sandbox: a test command ran in {world.workspace} in " in said
    assert "Assent's home and the network were out of reach" in said
    assert decide(world) == "sandboxed"
    assert world.sh("true").returncode == 0


def test_check_and_doctor_say_so_where_nothing_can_run(broken):
    done = assent(broken, "doctor")
    assert f"no sandbox in {broken.workspace}: {broken.workspace}/.vscode is a symbolic link" in done.stdout
    assert done.returncode != 0
    assert decide(broken) == "ask"
    assert broken.sh("true").returncode == 4


def test_what_worked_is_believed_until_a_run_failed_and_what_failed_is_tried_again(own_world):
    make_repository(own_world)
    assert decide(own_world) == "sandboxed"
    (own_world.workspace / ".vscode").symlink_to("evil")
    assert decide(own_world) == "sandboxed"
    assert own_world.sh("true").returncode == 4
    assert decide(own_world) == "ask"
    (own_world.workspace / ".vscode").unlink()
    assert decide(own_world) == "sandboxed"


def test_a_profile_that_writes_nothing_is_still_held_where_none_can_write(broken):
    broken.configure("permissions: {profile: read-only}\n")
    done = assent(broken, "check", "--json", "ls")
    assert json.loads(done.stdout)["decision"] == "sandboxed"
    broken.configure("permissions: {profile: workspace-write}\n")
    done = assent(broken, "check", "--json", "ls")
    assert json.loads(done.stdout)["decision"] == "unavailable"


def test_a_long_running_process_hears_of_it_without_waiting(own_world):
    clock = [0.0]
    environ = own_world.environ | {"HOME": str(own_world.home)}
    own_world.workspace.chmod(0o755)
    outlook = SandboxCapabilities((str(own_world.workspace),), environ, tried=True, clock=lambda: clock[0])

    def can():
        found = outlook(Facts())
        return found.sandbox, found.sandbox_writes

    def comes(wanted):
        deadline = time.monotonic() + 30
        while can() != wanted and time.monotonic() < deadline:
            clock[0] += 11
            time.sleep(0.05)
        return can() == wanted

    assert can() == (True, True)
    link = own_world.workspace / ".vscode"
    link.symlink_to("evil")
    clock[0] += 11
    assert can() == (True, True)
    trial_run.forget((str(own_world.workspace),), environ)
    assert comes((True, False))
    link.unlink()
    assert comes((True, True))


def test_what_another_start_of_the_machine_said_or_said_long_ago_is_not_believed(own_world):
    roots, environ = (str(own_world.workspace),), own_world.environ
    assert trial_run.find_fault(roots, environ) is None
    assert trial_run.is_trusted(roots, environ)
    (file,) = (own_world.assent_home / "sandbox/trials").iterdir()
    for seconds in (-trial_run.TRUSTED_SECONDS - 1, 60):
        os.utime(file, (time.time() + seconds,) * 2)
        assert not trial_run.is_trusted(roots, environ)
    os.utime(file)
    assert trial_run.is_trusted(roots, environ)
    file.write_bytes(b"[]")
    assert not trial_run.is_trusted(roots, environ)


def test_a_command_that_fails_inside_is_told(own_world):
    roots, environ = (str(own_world.workspace),), own_world.environ
    assert trial_run.attempt(roots, ["false"], environ).fault == "`false` ended with 1 inside"
    assert "No such file" in trial_run.attempt(roots, ["no-such-program"], environ).fault
    assert trial_run.attempt(roots, ["echo", "hi"], environ).said == "hi\n"

"""Sandboxes do not nest, they narrow; and without bubblewrap what can be held by less is held, the rest not run."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from driver import LAUNCHERS, PACKAGES, SOURCE, World, as_user

from assent.model import SandboxProfile
from assent.sandbox import Unavailable, find_machine
from assent.sandbox.launch.without_namespaces import carve, lock_alone
from daemons import until

BARELY = Path(__file__).with_name("barely.py")


@pytest.fixture(scope="module", autouse=True)
def source():
    """The code under test where it is seen inside: not in /tmp, which is the sandbox's own."""
    folder = Path(tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home()))
    shutil.copytree(SOURCE, folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    folder.chmod(0o755)
    yield folder / "src"
    shutil.rmtree(folder)


@pytest.fixture
def nested(source):
    def run(world, script, *options, outer=()):
        inner = [world.inner_python, "-m", "assent", "run", *options, "--", "sh", "-c", script]
        return world.sh(shlex.join(inner), options=outer, environ={"PYTHONPATH": f"{source}:{PACKAGES}"})

    return run


def test_inside_a_sandbox_another_one_only_narrows(nested, world):
    done = nested(world, "echo x > made && cat made", "--json")
    assert done.stdout == "x\n", done.stderr
    first = json.loads(next(line for line in done.stderr.splitlines() if line.startswith("{")))
    in_force = {m["name"]: m["version"] for m in first["sandboxProfile"]["mechanisms"] if m["enforced"]}
    assert {"landlock", "seccomp", "sandbox around it"} <= set(in_force)
    assert "bubblewrap" not in in_force


@pytest.mark.parametrize(
    "script",
    [
        "echo x > there",
        "echo x >> there",
        "rm there",
        "mv there elsewhere",
        "chmod 777 there",
        "touch -d 2001-01-01 there",
        "mkdir new",
        "ln there link",
    ],
)
def test_read_only_inside_a_writable_sandbox_changes_nothing(nested, own_world, script):
    file = own_world.write("there", "text", mode=0o644)
    before = file.stat()
    done = nested(own_world, script, "--profile", "read-only")
    assert done.returncode not in (0, 4), done.stderr
    after = file.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, before.st_nlink)
    assert own_world.left_over() == ["there"]


def test_what_the_outer_one_holds_stays_held(nested, own_world):
    (own_world.outside / "file").write_text("x")
    script = f"cat {own_world.assent_home}/x; echo y > {own_world.outside}/file; echo end"
    done = nested(own_world, script)
    assert done.stdout == "end\n"
    assert (own_world.outside / "file").read_text() == "x"


WIDER = {
    "off": ["--profile", "off"],
    "write": ["--profile", "wide"],
    "network": ["--profile", "open"],
    "hosts": ["--allow-host", "127.0.0.1"],
    "sockets": ["--profile", "sockets"],
    "agent": ["--profile", "agent"],
    "read-only": ["--profile", "read-only"],
}


@pytest.mark.parametrize("wider", WIDER)
def test_whatever_is_demanded_inside_the_outer_one_holds(nested, world, probe, wider):
    world.configure(
        f"profiles: {{wide: {{write: [., {world.outside}]}}, open: {{network: full}}, sockets: {{unix_sockets: yes}}}}"
    )
    world.write(world.home / ".ssh/id_rsa", "PRIVATE KEY\n")
    world.write(world.assent_home / "token", "PRIVATE TOKEN\n")
    world.write(".envrc", "old\n")
    if world.launcher == "user":
        world.give(world.assent_home)
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(world.base / "daemon.sock"))
        unix.listen()
        tries = [
            f"tcp {tcp.getsockname()[1]}",
            f"unix {world.base}/daemon.sock",
            "unshare",
            "mount",
            "ptrace",
            "io_uring",
        ]
        script = "; ".join(
            (
                *(f"./probe {each}" for each in tries),
                f"echo evil > {world.outside}/made; echo evil > .envrc; echo evil >> {world.assent_home}/token",
                f"cat {world.home}/.ssh/id_rsa {world.assent_home}/token; echo evil > /run/assent/profile.json",
                "mv /run/assent /run/other; mkdir -p /run/assent; cat /proc/1/environ",
            )
        )
        done = nested(world, script, *WIDER[wider])
    assert "GOT THROUGH" not in done.stdout
    assert "PRIVATE" not in done.stdout
    assert done.returncode == 4 or done.stdout.count("blocked: ") == len(tries), done.stderr
    assert (list(world.outside.iterdir()), (world.workspace / ".envrc").read_text()) == ([], "old\n")
    assert (world.assent_home / "token").read_text() == "PRIVATE TOKEN\n"


def test_what_one_is_inside_of_can_not_be_made_up(world):
    script = (
        "mv /run/assent /run/other; mkdir /run/assent; cd /run/assent; echo {} > profile.json; rm -f profile.json; "
    )
    done = world.sh(script + "cat /run/assent/profile.json")
    assert json.loads(done.stdout)["name"] == "workspace-write"


def test_offline_inside_one_that_reaches_hosts_reaches_nothing(nested, own_world):
    connect = "import socket; socket.socket(socket.AF_INET)"
    done = nested(own_world, f"{own_world.python} -c {shlex.quote(connect)}", "--profile", "read-only")
    assert "PermissionError" in done.stderr


def test_what_can_not_be_narrowed_is_not_run(nested, own_world):
    own_world.configure("profiles: {near: {network: {hosts: [a.test, b.test]}}, far: {network: {hosts: [a.test]}}}\n")
    outer = ["--profile", "near"]
    assert nested(own_world, "echo ran", "--profile", "near", outer=outer).stdout == "ran\n"
    done = nested(own_world, "echo ran", "--profile", "far", outer=outer)
    assert (done.returncode, done.stdout) == (4, "")
    assert "can reach the hosts of that sandbox, or none" in done.stderr
    done = nested(own_world, "echo ran", "--profile", "workspace-write", outer=["--profile", "read-only"])
    assert (done.returncode, done.stdout) == (4, "")


@pytest.fixture(scope="module")
def user_world():
    made = World(LAUNCHERS[-1])
    yield made
    made.remove()


def barely(world, *words, profile="read-only"):
    done = subprocess.run(
        as_user([world.python, str(BARELY), profile, *words]),
        env=world.environ,
        cwd=world.workspace,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_without_bubblewrap_a_look_is_held_by_landlock_and_seccomp(user_world):
    user_world.write("file", "text\n")
    found = barely(user_world, "cat", "file")
    assert (found["out"], found["code"]) == ("text\n", 0)
    assert {"landlock", "seccomp"} <= set(found["in force"])
    assert "bubblewrap" not in found["in force"]


ATTEMPTS = {
    "write": "echo x > new",
    "write outside": "echo x > {outside}/new",
    "write in tmp": "echo x > /tmp/assent-bare-{pid}",
    "append": "echo x >> file",
    "remove": "rm file",
    "rename": "mv file other",
    "chmod": "chmod 777 file",
    "touch": "touch file",
    "secret": "cat {home}/.ssh/id_rsa",
    "by proc": "cat /proc/self/root{home}/.ssh/id_rsa",
    "by link": "cat link",
    "assent": "ls {assent}",
    "environment of others": "cat /proc/{pid}/environ",
    "command line of others": "cat /proc/{pid}/cmdline",
    "terminals": "ls /dev/pts",
    "signal": "kill -0 {pid}",
    "session": "setsid true",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_without_bubblewrap_nothing_else_goes(user_world, attempt):
    world = user_world
    world.write("file", "text\n", mode=0o644)
    world.write(world.home / ".ssh/id_rsa", "PRIVATE KEY\n")
    if not (world.workspace / "link").is_symlink():
        (world.workspace / "link").symlink_to(world.home / ".ssh/id_rsa")
    other = subprocess.Popen(as_user(["sleep", "600"]), env={"TOKEN": "x"})
    try:
        names = {"outside": world.outside, "home": world.home, "assent": world.assent_home, "pid": other.pid}
        found = barely(world, "sh", "-c", ATTEMPTS[attempt].format(**names))
    finally:
        other.kill()
        other.wait()
    assert found.get("code"), found
    assert "PRIVATE" not in found["out"]
    assert world.left_over() == ["file", "link"]
    assert (world.workspace / "file").read_text() == "text\n"


def test_without_bubblewrap_no_socket_leads_anywhere(user_world):
    words = "import socket\nfor family in (1, 2, 10, 16):\n    try: socket.socket(family)\n"
    script = words + "    except OSError as error: print(error.errno)"
    assert barely(user_world, user_world.python, "-c", script)["out"] == "13\n" * 4


@pytest.mark.parametrize("profile", ["workspace-write", "agent"])
def test_without_bubblewrap_what_writes_or_reaches_is_unavailable(user_world, profile):
    assert "unavailable" in barely(user_world, "true", profile=profile)


def test_without_bubblewrap_root_is_not_held(monkeypatch, tmp_path):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path))
    with pytest.raises(Unavailable, match="no boundary can be enforced for root"):
        lock_alone(SandboxProfile(name="read-only", mode="read-only", cwd=str(tmp_path)), find_machine(), {})


def processes(mark):
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if mark in line and "barely" not in line]


def test_without_bubblewrap_what_a_command_leaves_running_ends_with_it(user_world):
    sleep = f"sleep 77.125{os.getpid()}"  # of this process alone: others on the machine may run these tests too
    found = barely(user_world, "sh", "-c", f"{sleep} >/dev/null 2>&1 & ({sleep} >/dev/null 2>&1 &); echo done")
    assert (found["out"], found["code"]) == ("done\n", 0)
    assert processes(sleep) == []


def test_without_bubblewrap_everything_ends_with_a_launcher_that_is_killed(user_world):
    sleep = f"sleep 78.125{os.getpid()}"
    words = ["sh", "-c", f"{sleep} & ({sleep} &); {sleep}"]
    launcher = subprocess.Popen(
        as_user([user_world.python, str(BARELY), "read-only", *words]),
        env=user_world.environ,
        cwd=user_world.workspace,
        stdout=subprocess.DEVNULL,
    )
    until(lambda: len([p for p in processes(sleep) if not p.startswith("sh")]) == 3)
    launcher.kill()
    launcher.wait()
    until(lambda: processes(sleep) == [])


def test_everything_but_the_hidden_is_carved_out(tmp_path):
    for name in ("a/b/secret/x", "a/b/open", "a/c", "d"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a/b/secret")
    root = str(tmp_path)
    assert list(carve(root, [f"{root}/a/b/secret"])) == [f"{root}/a/b/open", f"{root}/a/c", f"{root}/d"]
    assert list(carve(root, [])) == [root]
    assert list(carve(root, [root])) == []

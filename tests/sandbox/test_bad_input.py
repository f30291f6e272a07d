"""Workspaces, profiles and machines that cannot be: a clear error, and nothing runs."""

import os
import shutil

import pytest
from driver import World

STARTED = "echo started"


def refused(done, *, code, text):
    assert "started" not in done.stdout
    assert done.returncode == code
    assert text in done.stderr


@pytest.mark.parametrize("cwd", ["/", "home"])
def test_no_workspace_holds_everything_else(world, cwd):
    refused(world.sh(STARTED, cwd="/" if cwd == "/" else world.home), code=2, text="cannot be a workspace")


@pytest.mark.parametrize("root", ["/", "/etc", "/usr", "/proc/self", "/tmp", "~", "/home"])
def test_nor_does_a_profile_s_write_list(own_world, root):
    own_world.configure(f"profiles: {{mine: {{write: ['{root}']}}}}")
    refused(own_world.sh(STARTED, options=["--profile", "mine"]), code=4, text="cannot be a workspace")


def test_a_workspace_in_assent_s_home_is_refused(world):
    inside = world.assent_home / "ws"
    inside.mkdir()
    world.give(inside)
    refused(world.sh(STARTED, cwd=inside), code=2, text="Assent's own files are there")


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone can start something for somebody else")
def test_an_agent_that_would_have_nobody_to_ask_is_not_started():
    world = World("root-for-user")
    try:
        refused(world.sh(STARTED, options=["--profile", "agent"]), code=4, text="let that user start it")
    finally:
        world.remove()


def test_a_folder_that_is_gone_is_refused(own_world):
    own_world.configure("profiles: {mine: {write: [/no/such/folder]}}")
    refused(own_world.sh(STARTED, options=["--profile", "mine"]), code=4, text="does not exist")


def test_a_workspace_reached_by_a_symbolic_link_is_the_real_one(world):
    link = world.base / "link"
    link.symlink_to(world.workspace)
    done = world.sh("echo x > made && pwd -P", cwd=link)
    assert done.stdout.strip() == str(world.workspace)
    assert (world.workspace / "made").exists()


@pytest.mark.parametrize(
    "text",
    [
        "profiles: {mine: {wriet: [.]}}",
        "profiles: {mine: {network: {hosts: ['*']}}}",
        "profiles: {mine: {network: {hosts: ['*.a.test']}}}",
    ],
)
def test_a_profile_that_can_not_be_meant_runs_nothing(own_world, text):
    own_world.configure(text)
    refused(own_world.sh(STARTED, options=["--profile", "mine"]), code=2, text="assent.yaml:1")


@pytest.mark.parametrize("host", ["*", "*.a.test", "a.test/x", "http://a.test", "a b", ""])
def test_a_host_that_is_none_runs_nothing(own_world, host):
    refused(own_world.sh(STARTED, options=["--allow-host", host]), code=2, text="assent: ")


def test_a_profile_nobody_knows_runs_nothing(own_world):
    refused(own_world.sh(STARTED, options=["--profile", "mine"]), code=2, text='no sandbox profile is called "mine"')


def test_a_full_or_foreign_home_of_assent_s_runs_nothing(own_world):
    shutil.rmtree(own_world.assent_home)
    own_world.assent_home.write_text("")
    refused(own_world.sh(STARTED), code=4, text="unavailable")


def test_a_command_that_is_too_long_is_an_error(own_world):
    done = own_world.run("sh", "-c", STARTED, options=[], environ={"PATH": os.environ["PATH"]})
    assert done.returncode == 0
    many = own_world.run("true", *(["x" * 100_000] * 15))
    assert many.returncode in (0, 4, 126)


@pytest.mark.parametrize("name", [".npmrc", "key.pem", ".env", ".git/config", "assent.yaml"])
def test_a_pipe_in_a_file_s_place_makes_nobody_wait(own_world, name):
    path = own_world.workspace / name
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    done = own_world.sh("echo ran", timeout=30)
    assert done.stdout in ("ran\n", "")
    assert done.returncode in ((0,) if done.stdout else (2, 4))


def test_a_secret_in_a_crowd_is_hidden_too(own_world):
    for number in range(6000):
        (own_world.workspace / f"f{number}").touch()
    own_world.write(".env", "SECRET=1")
    done = own_world.sh("cat .env; ls | grep -c ^f")
    assert "SECRET" not in done.stdout
    assert done.stdout.strip() == "6000"


@pytest.mark.parametrize("mode", [0, 0o300])
def test_a_protected_folder_that_can_not_be_looked_through_is_a_clear_error(world, mode):
    folder = world.workspace / ".vscode"
    folder.mkdir()
    world.give(folder)
    folder.chmod(mode)
    done = world.sh("echo ran")
    if world.launcher == "user":
        assert (done.returncode, done.stdout) == (4, "")
        assert "cannot be searched for hard links" in done.stderr
    else:
        assert done.stdout == "ran\n"

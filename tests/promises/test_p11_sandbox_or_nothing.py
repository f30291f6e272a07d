"""P11: if the boundary that was asked for cannot be set up, the command does not run, and the answer says why."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from assent.analysis.resources.paths import Place
from assent.model import Facts, SandboxProfile
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox, Unavailable, probe
from assent.sandbox.launch import start as launching
from assent.sandbox.linux import mechanisms
from daemons import Running, until
from runners import Runner, write_strategy


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "ws").mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("ASSENT_HOME", str(tmp_path / "assent"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Place(Facts(), str(tmp_path / "ws"), (str(tmp_path / "ws"),))


def attempt(place, **options):
    """Try to make a file; return whether it is there, and what was said."""
    marker = f"{place.workspace[0]}/marker"

    async def run():
        async with Sandbox(profile("workspace-write", place), **options) as box:
            process = await box.start(["touch", marker])
            await process.wait()

    try:
        asyncio.run(run())
    except Exception as error:  # noqa: BLE001 - whatever it is, it must have kept the command from running
        return Path(marker).exists(), error
    return Path(marker).exists(), None


def test_with_everything_there_the_command_runs(place):
    assert attempt(place) == (True, None)


MACHINE = probe()


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (msgspec.structs.replace(MACHINE, bubblewrap=None), "bubblewrap is missing"),
        (msgspec.structs.replace(MACHINE, missing=("the kernel's Landlock is too old",)), "Landlock is too old"),
        (msgspec.structs.replace(MACHINE, missing=("namespaces cannot be made",)), "namespaces cannot be made"),
    ],
)
def test_without_a_mechanism_nothing_runs(place, machine, said):
    ran, error = attempt(place, machine=machine)
    assert not ran
    assert isinstance(error, Unavailable)
    assert said in str(error)


@pytest.fixture
def fresh_probe():
    return probe


def test_a_machine_without_bubblewrap_is_found_out(fresh_probe, tmp_path):
    found = fresh_probe(str(tmp_path))
    assert found.bubblewrap is None
    assert "not installed" in found.missing[0]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\necho bubblewrap 0.3.1\n", "too old"),
        (
            "#!/bin/sh\ncase $1 in --version) echo 0.9.0;; --help) ;; *) echo no userns >&2; exit 1;; esac\n",
            "no userns",
        ),
        ("#!/bin/sh\nexit 1\n", "does not run"),
        ("not a program", "does not run"),
    ],
)
def test_a_bubblewrap_that_does_not_do_is_found_out(fresh_probe, tmp_path, place, script, said):
    (tmp_path / "bwrap").write_text(script)
    (tmp_path / "bwrap").chmod(0o755)
    found = fresh_probe(str(tmp_path))
    assert found.bubblewrap is None
    assert said in " ".join(found.missing)
    assert attempt(place, machine=found)[0] is False


def test_an_old_landlock_is_found_out(fresh_probe, monkeypatch, place):
    monkeypatch.setattr(mechanisms.landlock, "version", lambda: 2)
    found = fresh_probe()
    assert "Landlock is too old" in " ".join(found.missing)
    assert attempt(place, machine=found)[0] is False


def test_another_system_is_found_out(fresh_probe, monkeypatch):
    monkeypatch.setattr(mechanisms.sys, "platform", "darwin")
    assert "not supported" in fresh_probe().missing[0]


@pytest.mark.parametrize("part", ["landlock", "filter"])
def test_a_lock_that_the_kernel_refuses_keeps_the_command_from_running(place, monkeypatch, part):
    real = launching._plan

    def broken(*args):
        plan = real(*args)
        plan[part] = {"landlock": (1 << 40, 0, 0, ()), "filter": b"\xff" * 8}[part]
        return plan

    monkeypatch.setattr(launching, "_plan", broken)
    ran, error = attempt(place)
    assert not ran
    assert isinstance(error, Unavailable)
    assert {"landlock": "Landlock", "filter": "seccomp"}[part] in str(error)


def test_a_first_program_that_breaks_keeps_the_command_from_running(place, monkeypatch):
    monkeypatch.setattr(launching, "compile_inner_program", lambda: b"nonsense")
    ran, error = attempt(place)
    assert not ran
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize("fault", [OSError("disk full"), RuntimeError("no record")])
def test_a_boundary_that_can_not_be_recorded_keeps_the_command_from_running(place, fault):
    def fail(_profile):
        raise fault

    ran, error = attempt(place, on_applied=fail)
    assert (ran, error) == (False, fault)


def test_the_command_begins_after_the_record_is_made(place):
    marker = f"{place.workspace[0]}/marker"
    seen = []

    async def record(applied):
        await asyncio.sleep(0.2)
        seen.append((Path(marker).exists(), applied.mechanisms))  # noqa: ASYNC240 - nothing else runs here

    assert attempt(place, on_applied=record) == (True, None)
    ((there, mechanisms_named),) = seen
    assert not there
    assert mechanisms_named[:3] == MACHINE.mechanisms()
    assert all(m.enforced and m.version for m in mechanisms_named[:3])


def test_off_is_never_taken_for_a_boundary(place):
    async def run():
        async with Sandbox(SandboxProfile(name="off", mode="off")):
            pass

    with pytest.raises(Unavailable, match="no boundary"):
        asyncio.run(run())


OUTSIDE = (
    ("read_file", "{path: ../outside.txt}"),
    ("write_file", "{path: ../outside.txt, content: changed}"),
    ("edit_file", "{path: ../outside.txt, old: secret, new: changed}"),
    ("list_dir", "{path: ..}"),
    ("search_files", "{pattern: secret, path: ..}"),
    ("run_command", "{command: 'cat ../outside.txt'}"),
    ("run_command", "{command: 'echo changed > ../outside.txt'}"),
)
KEPT = "secret 4711"
ENDS = ("strategy_completed", "strategy_error")
HIDDEN = 'python3 -c \'open("../outside.txt", "w").write("changed")\''


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("p11")
    (root / "shared").mkdir()
    with Running(root, "--rate", "0", "--strategies", str(root / "shared")) as running:
        (running.home / "outside.txt").write_text(KEPT)
        yield running


@pytest.mark.parametrize(("tool", "given"), OUTSIDE)
def test_no_tool_of_a_run_leaves_its_workspace_by_the_word_of_whoever_started_it(served, tool, given):
    step = f"- {{agent: a, tool: {tool}, input: {given}}}"
    path = write_strategy(served.root / "shared", step, "leaving")
    with Runner(served, served.mint("user", user="ursula")) as user:
        run = user.launch(path)
        asked = user.hear("request_permission", runId=run)
        user.decide(run, asked, "allow")
        assert user.hear("error")["code"] == "FORBIDDEN"
        user.decide(run, asked, "deny")
        user.hear("strategy_error", runId=run)
        assert "4711" not in str([m for m in user.heard if m["type"] != "request_permission"])
    assert (served.home / "outside.txt").read_text() == KEPT


def test_what_nobody_can_read_from_a_command_of_a_run_the_sandbox_keeps_inside(served):
    path = write_strategy(
        served.root / "shared", f"- agent: a\n  tool: run_command\n  input: {json.dumps({'command': HIDDEN})}"
    )
    with Runner(served, served.mint("user", user="ursula")) as user:
        run = user.launch(path)
        user.decide(run, user.hear("request_permission", runId=run), "allow")
        until(lambda: user.quiet() is not None and any(kind in ENDS for kind in user.kinds()))
    assert (served.home / "outside.txt").read_text() == KEPT

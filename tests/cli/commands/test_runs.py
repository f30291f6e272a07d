"""`assent runs`: a strategy shown live, its questions answered in the terminal or beforehand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from types import SimpleNamespace

import pytest

from assent.cli.live_run import LiveRun
from assent.cli.options.yes_to import YesTo
from assent.runs.protocol.messages import FlowNode, RequestPermission, StrategyCompleted
from assent.sdk.client.runs import RunClient, RunProtocolError
from daemons import Running, until
from runners import write_strategy


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("daemon"), "--rate", "0") as running:
        yield running


@pytest.mark.parametrize(
    ("name", "shown"), [("note", "remember the milk"), ("look-around", "how many files"), ("script", "3")]
)
def test_bundled_strategies_really_run(daemon, name, shown):
    done = daemon.run("runs", "start", name, "--input", "remember the milk")
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown in done.stdout


def test_what_was_said_yes_to_beforehand_is_not_asked(daemon):
    done = daemon.run("runs", "start", "two-at-once", "--yes-to", "write_file:../*.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (daemon.home / "left.txt").read_text() == "left\n"
    assert (daemon.home / "right.txt").read_text() == "right\n"


def test_where_nobody_can_be_asked_it_fails_with_the_reason(daemon, tmp_path):
    step = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}"
    done = daemon.run("runs", "start", str(write_strategy(tmp_path, step)), "--no-ask")
    assert done.returncode == 1
    assert "nobody can be asked here" in done.stderr


def test_every_message_can_be_had_as_json(daemon):
    done = daemon.run("runs", "start", "note", "--input", "x", "--json")
    kinds = [json.loads(line)["type"] for line in done.stdout.splitlines()]
    assert kinds[0] == "strategy_started"
    assert kinds[-1] == "strategy_completed"
    listed = json.loads(daemon.run("runs", "list", "--json").stdout)
    assert listed[0]["strategyName"] == "note"
    assert "completed" in daemon.run("runs", "list").stdout


def test_mistakes_are_named(daemon):
    assert "; strategies: " in daemon.run("runs", "start", "nope").stderr
    assert "unknown tool `fly`" in daemon.run("runs", "start", "note", "--yes-to", "fly").stderr
    assert "No active run found for runId x" in daemon.run("runs", "stop", "x").stderr


@pytest.mark.parametrize(("keys", "written"), [([b"y\n"], True), ([b"stop\n", b"y y\n", b"no\n"], False)])
def test_a_question_is_answered_at_the_terminal_by_its_own_words_alone(daemon, tmp_path, keys, written):
    step = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}, on_error: continue}}"
    strategy = write_strategy(tmp_path, step)
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        daemon.command("runs", "start", str(strategy)),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=daemon.environ,
        cwd=daemon.project,
    )
    os.close(theirs)
    try:
        for key in keys:
            seen = _read_until(ours, b"no, for this run: ")
            assert f"wants fs.write {tmp_path}/x".encode() in seen
            os.write(ours, key)
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert (tmp_path / "x").exists() == written


def test_a_run_that_is_interrupted_at_its_question_is_stopped_and_asks_no_more(daemon, tmp_path):
    step = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/x, content: x}}}}"
    ours, child = _at_a_terminal(daemon, write_strategy(tmp_path, step))
    try:
        _read_until(ours, b"no, for this run: ")
        os.write(ours, b"\x03")
        seen = _read_until(ours, b"stopped: run_")
        assert child.wait(60) == 130
        with contextlib.suppress(OSError):  # the terminal has gone
            seen += os.read(ours, 65536)
        assert b"for this run: " not in seen
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert not (tmp_path / "x").exists()


def _at_a_terminal(daemon, strategy):
    ours, theirs = pty.openpty()
    words = daemon.command("runs", "start", str(strategy))
    sitting = {"stdin": theirs, "stdout": theirs, "stderr": theirs, "env": daemon.environ, "cwd": daemon.project}
    listen = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731 - who runs the tests may ignore it
    child = subprocess.Popen(["setsid", "--ctty", *words], **sitting, preexec_fn=listen)  # noqa: PLW1509 - as above
    os.close(theirs)
    return ours, child


def test_what_was_typed_before_a_question_was_there_is_no_answer_to_it(daemon, tmp_path):
    """Two questions, and two answers typed at once: the second question is still asked."""
    steps = "".join(
        f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/{name}, content: x}}, on_error: continue}}\n"
        for name in ("x", "y")
    )
    ours, theirs = pty.openpty()
    words = daemon.command("runs", "start", str(write_strategy(tmp_path, steps)))
    child = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=daemon.environ, cwd=daemon.project)
    os.close(theirs)
    try:
        _read_until(ours, b"no, for this run: ")
        os.write(ours, b"y\ny\n")
        _read_until(ours, b"no, for this run: ", after=f"wants fs.write {tmp_path}/y".encode())
        os.write(ours, b"n\n")
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    assert (tmp_path / "x").exists()
    assert not (tmp_path / "y").exists()


def test_what_was_typed_and_let_go_before_it_was_read_is_not_waited_for(monkeypatch):
    ours, theirs = pty.openpty()
    with open(theirs) as sitting, contextlib.closing(os.fdopen(ours, "wb", buffering=0)) as fingers:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", sitting)
        live = LiveRun(
            None, SimpleNamespace(run_id="r", agents=("a",), flow_tree=FlowNode("p", "step")), (), as_json=False
        )
        fingers.write(b"y\n")
        until(lambda: select.select([theirs], [], [], 0)[0])
        termios.tcflush(theirs, termios.TCIFLUSH)
        hearing = threading.Thread(target=live._read_typed, daemon=True)
        hearing.start()
        hearing.join(30)
        assert not hearing.is_alive()


def _question(tool, resource, **details):
    return RequestPermission(
        ts="",
        run_id="r",
        agent_name="a",
        tool_name=tool,
        operation="command.execute" if tool == "run_command" else "fs.write",
        resource=resource,
        reason="policy-ask",
        details=details,
        expires_at="",
    )


@pytest.mark.parametrize(
    ("said", "line", "covered"),
    [
        ("run_command", "rm x", True),
        ("run_command:npm test:*", "npm test --all", True),
        ("run_command:npm test:*", "npm test && npm test x", True),
        ("run_command:npm test*", "npm test", True),
        ("run_command:npm test:*", "npm test; rm -rf x", False),
        ("run_command:npm test:*", "npm testing", False),
        ("run_command:npm test:*", "npm test > out", False),
        ("run_command:npm test:*", "npm test $(rm x)", False),
        ("run_command:npm test:*", "npm test $X", False),
        ("run_command:npm test:*", "PATH=. npm test", False),
        ("run_command:npm test", "npm test x", False),
        ("write_file", "rm x", False),
    ],
)
def test_a_yes_beforehand_to_commands_is_about_what_runs(said, line, covered):
    assert YesTo.read(said, "/w").covers(_question("run_command", line, command=line)) is covered


def test_a_yes_beforehand_to_paths_is_about_those_below_the_folder():
    inside, outside = _question("write_file", "/w/dist/a/b"), _question("write_file", "/w/other")
    said = YesTo.read("write_file:dist/**", "/w")
    assert (said.covers(inside), said.covers(outside)) == (True, False)


def _read_until(terminal: int, wanted: bytes, after: bytes = b"") -> bytes:
    seen, end = b"", time.monotonic() + 60
    while wanted not in seen[seen.find(after) if after in seen else len(seen) :]:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)
    return seen


def test_the_python_client_prepares_answers_and_hears(daemon, tmp_path):
    steps = f"- {{agent: a, tool: write_file, input: {{path: {tmp_path}/y, content: x}}}}\n"
    strategy = write_strategy(tmp_path, steps)

    async def use(**where) -> list[str]:
        heard = []
        async with RunClient.open(token=daemon.owner, **where) as client:
            await client.ping()
            run = await client.prepare(str(strategy), cwd=str(daemon.project))
            await client.update_policy(run.run_id, "write", tool="write_file", deny=("never/**",))
            await client.start(run.run_id, "hello")
            async for message in client:
                heard.append(type(message).__name__)
                if isinstance(message, RequestPermission):
                    await client.decide(message, "allow-session")
                if isinstance(message, StrategyCompleted):
                    break
            assert run.run_id in [r.run_id for r in await client.list_runs()]
            assert len(await client.list_strategies()) >= 4
            for wrong, code in (
                (client.stop(run.run_id), "RUN_NOT_FOUND"),
                (client.start("nope"), "START_FAILED"),
                (client.subscribe("nope"), "SUBSCRIBE_ERROR"),
                (client.give_input("nope", "a", "x"), "NO_PENDING_INPUT"),
                (client.prepare("/nope.yaml"), "PREPARE_FAILED"),
            ):
                with pytest.raises(RunProtocolError) as error:
                    await wrong
                assert error.value.code == code
            await client.unsubscribe(run.run_id)
        return heard

    for where in ({"url": daemon.url}, {"home": str(daemon.state)}):
        heard = asyncio.run(use(**where))
        assert heard.index("RequestPermission") < heard.index("StrategyCompleted")
        assert heard.count("PolicyUpdated") == 2
    assert (tmp_path / "y").read_text() == "x"

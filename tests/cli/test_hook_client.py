"""The client that an agent's hook runs: a real process, a real socket. Nothing but a clear answer is an allow."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import assent.cli

CLIENT = Path(assent.cli.__file__).parent / "hook_client.py"
CALL = json.dumps({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}).encode()
ASKED = json.dumps({"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": {}}).encode()


def answer(body: bytes = b'{"ok":1}', code: str = "0", status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nX-Assent-Exit: {code}\r\nContent-Length: {size}\r\n\r\n".encode() + body


class Daemon:
    """Answers each connection with the next of the given texts, and keeps what it was asked."""

    def __init__(self, home: Path, *answers: bytes) -> None:
        (home / "agents").mkdir(parents=True)
        (home / "agents" / "claude-code.token").write_text("secret\n")
        self.home, self.asked = home, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(home / "assent.sock"))
        self.socket.listen()
        self.thread = threading.Thread(target=self.serve, args=(answers,), daemon=True)
        self.thread.start()

    def serve(self, answers: tuple[bytes, ...]) -> None:
        for text in answers:
            line, _ = self.socket.accept()
            with line:
                self.asked.append(self.read(line))
                with contextlib.suppress(OSError):  # a client that has heard enough hangs up
                    line.sendall(text)

    def read(self, line: socket.socket) -> bytes:
        data = b""
        while b"\r\n\r\n" not in data or len(data.partition(b"\r\n\r\n")[2]) < len(CALL):
            if not (piece := line.recv(65536)):
                break
            data += piece
        return data

    def close(self) -> None:
        self.thread.join(20)
        self.socket.close()


@pytest.fixture
def daemon(tmp_path):
    made = []

    def make(*answers: bytes) -> Daemon:
        made.append(Daemon(tmp_path / "home", *answers))
        return made[-1]

    yield make
    for each in made:
        each.close()


def run(home: Path, given: bytes = CALL, agent: str = "claude-code", seconds: str = "30", *flags: str):
    return subprocess.run(
        [sys.executable, "-I", "-S", CLIENT, agent, str(home), agent, seconds, *flags],
        input=given,
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"},
        timeout=60,
    )


def test_an_answer_is_handed_on_with_its_code(daemon):
    there = daemon(answer(b'{"hookSpecificOutput":{}}'))
    done = run(there.home)
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"hookSpecificOutput":{}}', b"")


def test_the_daemon_hears_the_call_the_token_and_where_programs_are_found(daemon):
    there = daemon(answer())
    run(there.home)
    there.close()
    head, _, body = there.asked[0].partition(b"\r\n\r\n")
    assert body == CALL
    assert head.startswith(b"POST /api/hooks/claude-code?wait=2")
    for line in (b"Authorization: Bearer secret", b"X-Assent-Path: /usr/bin:/bin", b"X-Assent-Shell: /bin/bash"):
        assert line in head.split(b"\r\n")


def test_a_refusal_ends_with_2(daemon):
    assert run(daemon(answer(b'{"allow":false}', "2")).home).returncode == 2


@pytest.mark.parametrize(
    "text",
    [
        answer(status="401 Unauthorized"),
        answer(status="500 Internal Server Error"),
        answer(code="1"),
        answer(code=""),
        answer(code="00"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"garbage\r\n\r\n",
        b"\x00\r\n\r\n",
        answer(b"x" * (2 << 20)),
    ],
)
def test_what_is_no_clear_answer_is_a_denial(daemon, text):
    done = run(daemon(text).home, seconds="3")
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"Assent could not decide, so it is not allowed: ")


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200", answer(length=500), answer(status="503 Service Unavailable")])
def test_a_daemon_that_goes_away_is_asked_again(daemon, first):
    there = daemon(first, answer(b'{"second":1}'))
    done = run(there.home)
    assert (done.returncode, done.stdout) == (0, b'{"second":1}')
    assert len(there.asked) == 2


def test_without_a_daemon_the_call_is_denied(tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "claude-code.token").write_text("secret")
    done = run(tmp_path)
    assert done.returncode == 2
    assert b"the daemon does not answer; start it with `assent serve`" in done.stderr


def test_without_a_token_the_call_is_denied(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 2
    assert b"run `assent init claude-code` again" in done.stderr


def test_a_token_behind_a_link_is_not_read(daemon):
    there = daemon()
    token = there.home / "agents" / "claude-code.token"
    token.rename(there.home / "elsewhere")
    token.symlink_to(there.home / "elsewhere")
    assert run(there.home).returncode == 2


def test_a_call_that_is_too_long_is_denied(daemon):
    done = run(daemon().home, b"x" * (6 << 20))
    assert done.returncode == 2
    assert b"larger than 5 MB" in done.stderr


def test_a_permission_request_is_denied_in_words_since_its_code_is_not_heard(tmp_path):
    done = run(tmp_path, ASKED)
    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["decision"]["behavior"] == "deny"


@pytest.mark.parametrize("given", [b"", b"[", b"[1]", b"\xff", b"[" * 100_000])
def test_a_call_that_can_not_be_read_is_denied(tmp_path, given):
    assert run(tmp_path, given).returncode == 2


def test_gemini_is_refused_in_its_own_words(tmp_path):
    done = run(tmp_path, agent="gemini")
    assert done.returncode == 2
    assert json.loads(done.stdout)["decision"] == "deny"


def test_when_its_time_is_up_the_call_is_denied(daemon):
    done = run(daemon().home, seconds="0")
    assert done.returncode == 2
    assert b"no answer in time; repeat the same call" in done.stderr

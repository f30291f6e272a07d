"""The client that an agent's hook runs: a real process, a real socket. Nothing but a clear answer is an allow."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import assent.cli
from assent.catalog import environment_variables
from assent.catalog.inherited_environment import tables
from assent.catalog.secret_names import is_secret_variable
from assent.cli import hook_client
from assent.cli.hook_client import RefusedError, _check_owner

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


def run(
    home: Path, given: bytes = CALL, agent: str = "claude-code", seconds: str = "30", *flags: str, cwd=None, **environ
):
    return subprocess.run(
        [sys.executable, "-I", "-S", CLIENT, agent, str(home), agent, seconds, *flags],
        input=given,
        capture_output=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", **environ},
        cwd=cwd,
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
    assert b"Authorization: Bearer secret" in head.split(b"\r\n")
    assert told(there).items() >= {"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"}.items()


def told(there, at: int = 0) -> dict[str, str | None]:
    """Return the environment that the daemon heard of; None for a value that was not told."""
    head = there.asked[at].partition(b"\r\n\r\n")[0].split(b"\r\n")
    (line,) = [each for each in head if each.startswith(b"X-Assent-Environment: ")]
    pairs = [part.partition(b"=") for part in line.partition(b": ")[2].split(b"&")]
    return {unquote(n.decode()): unquote(v.decode()) if equals else None for n, equals, v in pairs}


@pytest.mark.parametrize(
    "path", ["/opt/café/bin:/bin", "", "/bin:" * 4000, "/bin\r\nX-Assent-Project: /", "/bin:\x7f&A=b"]
)
def test_the_daemon_hears_of_every_path_there_is(daemon, path):
    there = daemon(answer())
    assert run(there.home, PATH=path).returncode == 0
    there.close()
    assert told(there)["PATH"] == path


@pytest.mark.parametrize(
    ("environ", "why"), [({"PATH": "/bin:" * 8000}, b"PATH is too long"), ({"A" * 70_000: ""}, b"too large")]
)
def test_an_environment_that_can_not_be_told_is_a_denial(daemon, environ, why):
    done = run(daemon(b"").home, **environ)
    assert done.returncode == 2
    assert why in done.stderr


def test_the_daemon_hears_the_values_of_what_programs_act_on_and_the_names_of_the_rest(daemon):
    there = daemon(answer())
    said = {"GIT_PAGER": "a b\nc", "FOO_CONFIG_DIR": "/x", "BASH_FUNC_ls%%": "() { x; }", "LESSOPEN": "x" * 9_000}
    hidden = {"EDITION": "1", "GITHUB_TOKEN": "s3cret", "AWS_SECRET_ACCESS_KEY": "s3cret", "PGPASSWORD": "s3cret"}
    assert run(there.home, **said, **hidden).returncode == 0
    there.close()
    assert b"s3cret" not in there.asked[0]
    assert told(there).items() >= {**said, "LESSOPEN": None, **dict.fromkeys(hidden)}.items()


def test_the_hook_knows_the_variables_that_the_catalog_judges():
    known = {*tables().more, *environment_variables.tables().perilous}
    assert sorted(known) == [glob.decode() for glob in hook_client._JUDGED]


WORDS = st.sampled_from(
    ["API", "KEY", "TOKEN", "PASS", "PWD", "AUTH", "URL", "DATABASE", "GIT", "CONN", "STRING", "PAT"]
)


@given(st.lists(WORDS, min_size=1, max_size=4).map("_".join))
def test_no_value_of_a_secret_is_told(name):
    if is_secret_variable(name):
        assert hook_client._is_secret(name.encode()), name
        assert hook_client._is_secret(name.lower().encode())


def test_what_the_catalog_judges_by_its_value_is_no_secret_to_the_hook():
    written = {glob for glob in (*tables().values, *tables().paths) if "*" not in glob}
    assert [name for name in written if hook_client._is_secret(name.encode())] == []


def test_no_variable_that_the_agent_does_not_set_itself_says_where_it_works(daemon, tmp_path):
    there = daemon(answer(), answer())
    (there.home / "agents" / "codex.token").write_text("secret")
    for agent in ("codex", "claude-code"):
        assert run(there.home, CALL, agent, CLAUDE_PROJECT_DIR="/other").returncode == 0
    there.close()
    assert [b"X-Assent-Project: /other" in asked.split(b"\r\n") for asked in there.asked] == [False, True]


@pytest.mark.parametrize(
    "variable",
    ["BASH_ENV", "ZDOTDIR", "SHELL", "LD_PRELOAD", "CLAUDE_CODE_SHELL", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_ENV_FILE"],
)
def test_a_project_that_has_the_shell_run_its_own_file_first_is_refused(daemon, tmp_path, variable):
    there = daemon(answer())
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "link").symlink_to(project)
    for value in (
        project / "x",
        project,
        "x",
        tmp_path / "link" / "x",
        tmp_path / "y" / ".." / "project" / "x",
        "$X/x",
        f"/usr/bin/env {project}/x",
        f"/usr/lib/x.so:{project}/x",
    ):
        done = run(there.home, cwd=project, **{variable: str(value)})
        assert done.returncode == 2, value
        assert f"{variable} makes the shell run a file of the project".encode() in done.stderr
        assert run(there.home, cwd=project, CLAUDE_PROJECT_DIR="/other", **{variable: str(value)}).returncode == 2
    assert run(there.home, cwd=project, **{variable: "/usr/share/modules/init"}).returncode == 0


def test_where_no_folder_is_the_project_every_shell_will_do(daemon):
    there = daemon(answer())
    assert run(there.home, cwd="/", SHELL="/usr/local/bin/fish").returncode == 0


@pytest.mark.parametrize(
    ("agent", "environ", "told"),
    [
        ("gemini", {"BASH_ENV": "/etc/motd.sh"}, True),
        ("codex", {"SHELLOPTS": "xtrace"}, True),
        ("gemini", {"BASH_ENV": ""}, False),
        ("codex", {}, False),
        ("claude-code", {"BASH_ENV": "/etc/motd.sh"}, False),  # its hooks are run by sh, which does not heed that
    ],
)
def test_the_daemon_hears_where_something_may_speak_before_the_hook(daemon, agent, environ, told):
    there = daemon(answer())
    (there.home / "agents" / f"{agent}.token").write_text("secret")
    assert run(there.home, CALL, agent, **environ).returncode == 0
    there.close()
    assert (b"X-Assent-Heard: code" in there.asked[0].split(b"\r\n")) is told


@pytest.mark.parametrize("token", ["x\r\nX-Assent-Path: /", "a b", "\x01"])
def test_a_token_that_can_not_be_one_reaches_nobody(daemon, token):
    done = run(daemon().home, ASSENT_RUN_TOKEN=token)
    assert done.returncode == 2
    assert b"the token file is invalid" in done.stderr


@pytest.mark.parametrize(("other", "heard"), [(0, True), (1, False)])
def test_a_daemon_that_somebody_else_started_is_not_heard(monkeypatch, other, heard):
    class Line:
        def getsockopt(self, *_):
            return struct.pack("3i", 1, 4242 + other, 4242)

    monkeypatch.setattr("posix.geteuid", lambda: 4242)
    with contextlib.nullcontext() if heard else pytest.raises(RefusedError, match="another user"):
        _check_owner(Line())


TRANSCRIPT = """{"type": "session_meta", "payload": {"text": "CommandExecution"}}
{"payload": {"item": {"type": "CommandExecution", "id": "call_1", "exit_code": 7}}}
{"payload": {"item": {"type": "CommandExecution", "id": "call_2", "exit_code": 0}}}
"""


@pytest.mark.parametrize(("call", "code"), [("call_1", 7), ("call_2", 0)])
def test_what_codex_only_tells_its_transcript_is_reported(daemon, tmp_path, call, code):
    there = daemon(answer(b""))
    (there.home / "agents" / "codex.token").write_text("secret")
    (tmp_path / "transcript").write_text(TRANSCRIPT)
    told = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "x" * 100}}
    told |= {"tool_use_id": call, "transcript_path": str(tmp_path / "transcript")}
    assert run(there.home, json.dumps(told).encode(), "codex", "30", "report").returncode == 0
    there.close()
    assert json.loads(there.asked[0].partition(b"\r\n\r\n")[2]) == told | {"exit_code": code}


@pytest.mark.parametrize("path", [None, "/nonexistent", "/dev/null", 3])
def test_without_a_transcript_a_report_goes_out_all_the_same(daemon, path):
    there = daemon(answer(b""))
    (there.home / "agents" / "codex.token").write_text("secret")
    told = {"hook_event_name": "PostToolUse", "tool_name": "apply_patch" if path == "/dev/null" else "Bash"}
    data = json.dumps(told | {"tool_use_id": "x" * 99, "transcript_path": path}).encode()
    assert run(there.home, data, "codex", "30", "report").returncode == 0
    there.close()
    assert there.asked[0].endswith(data)


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
        answer(code="2\r\nX-Assent-Exit: 0"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"garbage\r\n\r\n",
        b"\x00\r\n\r\n",
        answer(b"x" * (2 << 20)),
    ],
)
def test_what_is_no_clear_answer_is_a_denial(daemon, text):
    done = run(daemon(text).home, seconds="3")
    assert done.returncode == 2
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"
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
    assert b"the daemon is not running; start it with `assent serve`" in done.stderr


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
    assert done.stdout == b""  # who does not know what was asked says nothing that could be read as something else


def test_a_call_that_is_too_long_is_read_to_its_end(daemon):
    # An agent that cannot hand over all of it may take that for a broken hook, and go on.
    argv = [sys.executable, "-I", "-S", CLIENT, "codex", str(daemon().home), "codex", "30"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as started:
        for _ in range(16):
            started.stdin.write(b"x" * (1 << 20))  # nobody breaks the pipe
        started.stdin.close()
        assert started.wait(60) == 2


def test_a_permission_request_is_denied_in_words_since_its_code_is_not_heard(tmp_path):
    done = run(tmp_path, ASKED)
    assert done.returncode == 0
    assert json.loads(done.stdout)["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert run(tmp_path, ASKED, agent="codex").returncode == 2  # Codex hears it


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


STARTED = json.dumps({"hook_event_name": "SessionStart", "transcript_path": "x" * len(CALL)}).encode()


def test_a_session_in_a_project_that_turns_programs_is_ended_by_whoever_knows_why(daemon, tmp_path):
    told = b'{"continue":false,"stopReason":"x:1 sets BASH_ENV"}'
    there = daemon(answer(told), answer(b""))
    project = tmp_path / "project"
    project.mkdir()
    hostile = {"BASH_ENV": str(project / "x")}
    assert run(there.home, STARTED, cwd=project, **hostile).stdout == told
    silent = run(there.home, STARTED, cwd=project, **hostile)
    said = json.loads(silent.stdout)
    assert (silent.returncode, said["continue"]) == (0, False)
    assert "BASH_ENV makes the shell run a file of the project" in said["stopReason"]


def test_a_session_without_a_daemon_begins_and_says_so(tmp_path):
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "claude-code.token").write_text("secret")
    done = run(tmp_path, STARTED)
    said = json.loads(done.stdout)
    assert (done.returncode, list(said)) == (0, ["systemMessage"])
    assert "the daemon is not running" in said["systemMessage"]


def test_what_the_shell_took_away_is_refused_by_name(daemon):
    there = daemon(answer())
    argv = [sys.executable, "-I", "-S", str(CLIENT), "claude-code", str(there.home), "claude-code", "30"]
    around = ["/bin/sh", "-c", 'unset PYTHONEXECUTABLE; "$@"; exit $?', "x", *argv]
    for value, code in (("/x/python", 2), ("", 0)):
        environ = {"PATH": "/usr/bin:/bin", "PYTHONEXECUTABLE": value}
        done = subprocess.run(around, input=CALL, capture_output=True, check=False, env=environ, timeout=60)
        assert done.returncode == code, done
        assert (b"PYTHONEXECUTABLE makes every Python" in done.stderr) is (code == 2)

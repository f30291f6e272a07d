"""The hook for containers: whatever goes wrong, it prints a denial that is JSON and ends with 2."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from urllib.parse import unquote

import pytest

from assent.cli import hook_client
from assent.cli.commands.hook_script import script

SHELLS = [["dash"], ["busybox", "sh"], ["bash", "--posix"]]
CALL = b'{"tool_name": "shell", "tool_input": {"cmd": "ls"}}'
TOKEN = "assent_agent_ABCdef-123_456"
ALLOW = b'{"hook_specific_output":{"hook_event_name":"pre_tool_use","permission_decision":"allow"}}'


@pytest.fixture(params=SHELLS, ids=lambda s: s[0])
def hook(request, tmp_path):
    """The script under one shell, with curl and nothing else on the path."""
    file = tmp_path / "hook.sh"
    file.write_text(script())
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "curl").symlink_to(shutil.which("curl"))
    shell = [shutil.which(request.param[0]), *request.param[1:]]

    def run(address: str, stdin: bytes = CALL, *, with_curl: bool = True, out=subprocess.PIPE, **environ: str):
        known = {"ASSENT_URL": address, "ASSENT_TOKEN": TOKEN, "ASSENT_WAIT": "0", "ASSENT_MARGIN": "40"}
        path = str(tools) if with_curl else str(tmp_path / "empty")
        given = {k: v for k, v in {**known, "PATH": path, "HOME": str(tmp_path), **environ}.items() if v != "unset"}
        words, err = [*shell, str(file)], subprocess.PIPE
        return subprocess.run(words, input=stdin, stdout=out, stderr=err, check=False, env=given, timeout=60)

    run.home = tmp_path
    return run


@contextlib.contextmanager
def answering(respond):
    """A server that does to a connection what it is told."""
    seen: list[tuple[str, dict, bytes]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            seen.append((self.path, dict(self.headers), body))
            respond(self)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def replying(status=200, body=ALLOW, headers=(("X-Assent-Exit", "0"),), length=None):
    def respond(handler):
        handler.send_response(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        handler.end_headers()
        handler.wfile.write(body)

    return respond


def raw(data: bytes):
    def respond(handler):
        handler.wfile.write(data)
        handler.close_connection = True

    return respond


def assert_denied(done):
    assert done.returncode == 2, done
    said = json.loads(done.stdout)
    assert said["allow"] is False
    assert said["decision"] == "block"
    assert said["reason"].startswith("Blocked: ")
    assert said["hook_specific_output"]["permission_decision"] == "deny"
    assert said["hook_specific_output"]["hook_event_name"] == "pre_tool_use"


def test_a_clear_allow_is_passed_on_and_ends_with_0(hook):
    with answering(replying()) as (url, seen):
        done = hook(url)
    assert (done.returncode, done.stdout) == (0, ALLOW + b"\n")
    path, headers, body = seen[0]
    assert path == "/api/hooks/docker-agent?wait=0"
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert body == CALL


def test_a_denial_of_the_daemon_is_passed_on_and_ends_with_2(hook):
    body = b'{"decision":"block","reason":"a \\"quote\\", a \\\\ and \\u001b[31m"}'
    with answering(replying(body=body, headers=[("x-assent-exit", "2")])) as (url, _):
        done = hook(url)
    assert (done.returncode, done.stdout) == (2, body + b"\n")


def test_an_answer_that_can_not_be_handed_on_is_a_denial(hook):
    with answering(replying()) as (url, _), Path("/dev/full").open("wb") as full:
        assert hook(url, out=full).returncode == 2


def test_a_large_call_arrives_byte_by_byte(hook):
    call = json.dumps({"tool_name": "write", "tool_input": {"content": "ü\\\n$(x) `y` '" * 100_000}}).encode()
    with answering(replying()) as (url, seen):
        done = hook(url, call)
    assert done.returncode == 0
    assert seen[0][2] == call


def test_the_agent_the_wait_and_a_token_file_are_taken_from_the_environment(hook):
    (hook.home / "token").write_text(TOKEN)
    with answering(replying()) as (url, seen):
        done = hook(
            url + "/",
            ASSENT_TOKEN="unset",
            ASSENT_TOKEN_FILE=str(hook.home / "token"),
            ASSENT_AGENT="generic",
            ASSENT_WAIT="7",
        )
    assert done.returncode == 0
    assert seen[0][0] == "/api/hooks/generic?wait=7"
    assert seen[0][1]["Authorization"] == f"Bearer {TOKEN}"


FAULTS = {
    "401": replying(401),
    "403": replying(403),
    "404": replying(404),
    "429": replying(429),
    "500": replying(500),
    "302": replying(302, headers=[("Location", "/"), ("X-Assent-Exit", "0")]),
    "204": replying(204, b""),
    "no header": replying(headers=()),
    "exit 1": replying(headers=[("X-Assent-Exit", "1")]),
    "exit 00": replying(headers=[("X-Assent-Exit", "00")]),
    "empty exit": replying(headers=[("X-Assent-Exit", "")]),
    "two exits": replying(headers=[("X-Assent-Exit", "2"), ("X-Assent-Exit", "0")]),
    "a header in the body only": replying(body=b"X-Assent-Exit: 0\r\n\r\n{}", headers=()),
    "no body": replying(body=b""),
    "not json": replying(body=b"<html>ok</html>"),
    "half a body": replying(length=10_000),
    "half an object": replying(body=b'{"allow":true'),
    "not http": raw(b"SSH-2.0-hello\r\n"),
    "closed at once": raw(b""),
    "only headers": raw(b"HTTP/1.1 200 OK\r\nX-Assent-Exit: 0\r\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_other_answer_is_a_denial(hook, fault):
    with answering(FAULTS[fault]) as (url, _):
        assert_denied(hook(url))


def test_an_answer_that_does_not_come_in_time_is_a_denial(hook):
    waiting = threading.Event()
    with answering(lambda _: waiting.wait(30)) as (url, _):
        try:
            assert_denied(hook(url, ASSENT_MARGIN="1"))
        finally:
            waiting.set()


def test_nobody_listening_is_a_denial(hook):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert_denied(hook(f"http://127.0.0.1:{port}"))


@pytest.mark.parametrize(
    "environ",
    [
        {"ASSENT_URL": "unset"},
        {"ASSENT_URL": "file:///etc/passwd"},
        {"ASSENT_URL": "http://127.0.0.1:1/$(id)"},
        {"ASSENT_URL": "http://127.0.0.1:1/ x"},
        {"ASSENT_TOKEN": "unset"},
        {"ASSENT_TOKEN": 'x" \noutput = "/code/y'},
        {"ASSENT_TOKEN": "unset", "ASSENT_TOKEN_FILE": "/nonexistent"},
        {"ASSENT_AGENT": "../tokens"},
        {"ASSENT_AGENT": "a b"},
        {"ASSENT_WAIT": "soon"},
        {"ASSENT_WAIT": "-1"},
        {"ASSENT_WAIT": "99999999999"},
        {"ASSENT_MARGIN": "x"},
    ],
    ids=str,
)
def test_wrong_settings_are_a_denial_and_reach_nobody(hook, environ):
    with answering(replying()) as (url, seen):
        assert_denied(hook(url, **environ))
    assert seen == []


def test_without_curl_it_is_a_denial(hook):
    assert_denied(hook("http://127.0.0.1:1", with_curl=False))


def test_no_settings_file_of_curl_and_no_proxy_have_a_say(hook):
    with answering(replying()) as (other, seen_there), answering(replying(body=b"{}")) as (url, seen_here):
        (hook.home / ".curlrc").write_text(f'url = "{other}/steal"\nproxy = "{other}"\n')
        done = hook(url, http_proxy=other, ALL_PROXY=other)
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert len(seen_here) == 1
    assert seen_there == []


def test_the_token_is_not_among_the_arguments_of_any_process(hook, tmp_path):
    spy = tmp_path / "spy"
    spy.mkdir()
    (spy / "curl").write_text('#!/bin/sh\nprintf \'%s\\n\' "$@" > "$HOME/arguments"\nexit 7\n')
    (spy / "curl").chmod(0o755)
    assert_denied(hook("http://127.0.0.1:1", PATH=f"{spy}:/usr/bin:/bin"))
    assert TOKEN not in (tmp_path / "arguments").read_text()


def told(seen) -> dict[str, str | None]:
    pairs = [part.partition("=") for part in seen[0][1]["X-Assent-Environment"].split("&")]
    return {unquote(name): unquote(value) if equals else None for name, equals, value in pairs}


def test_the_environment_is_told_without_its_secrets(hook):
    said = {
        "GIT_PAGER": "less -R",
        "PYTHONPATH": "/ws:src",
        "LESSOPEN": "|./x %s;&",
        "EDITOR": "",
        "npm_config_x": "a=b",
    }
    hidden = {"FOO": "1", "GITHUB_TOKEN": "s3cret", "PGPASSWORD": "s3cret", "AWS_SECRET_ACCESS_KEY": "s3cret"}
    unsure = {
        "GIT_EXTERNAL_DIFF": "cat\n./evil",
        "PAGER": "less'x'",
        "MANPAGER": "x" * 600 + " y",
        "GIT_DIR": "a'b\nc='",
    }
    with answering(replying()) as (url, seen):
        assert hook(url, **said, **hidden, **unsure).returncode == 0
    found = told(seen)
    assert "s3cret" not in str(found)
    assert found.items() >= {**said, **dict.fromkeys(hidden), "ASSENT_TOKEN": None}.items()
    for name, value in unsure.items():
        assert found[name] in (None, value)  # never a part of it


def test_no_line_of_a_value_hides_another_variable(hook):
    """What stands in one variable may look like another: then that one is named twice, which the daemon refuses."""
    with answering(replying()) as (url, seen):
        hook(url, A="\nexport GIT_DIR='/dev/null'\nexport GIT_DIR=\"x\"", GIT_DIR="./evil")
    names = [part.partition("=")[0] for part in seen[0][1]["X-Assent-Environment"].split("&")]
    assert names.count("GIT_DIR") > 1 or told(seen)["GIT_DIR"] == "./evil"


def test_functions_of_the_environment_are_named_where_they_can_be_listed(hook, tmp_path):
    (tmp_path / "bin" / "tr").symlink_to(shutil.which("tr"))
    with answering(replying()) as (url, seen):
        hook(url, **{"BASH_FUNC_ls%%": "() { ./evil; }"})
    assert told(seen)["BASH_FUNC_ls%%"] is None


def test_an_environment_that_is_too_large_is_a_denial(hook):
    with answering(replying()) as (url, seen):
        done = hook(url, **{"A" * 50_000: "1"})
    assert_denied(done)
    assert seen == []


def test_the_script_knows_the_variables_that_the_catalog_judges():
    listed = script().partition("# JUDGED\n")[2].partition("# END")[0]
    globs = listed.partition("case $1 in")[2].partition(")")[0].replace("\\\n", " ").split("|")
    assert [glob.strip() for glob in globs] == [glob.decode() for glob in hook_client._JUDGED]

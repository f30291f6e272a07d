"""Carrying a decision out heeds no variable: the boundary is the daemon's own, and no code of a project runs before it.

Every attack is one that an agent's environment, its working directory or another user can really make.
"""

import contextlib
import http.server
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from assent.sandbox.redeem.launcher import LAUNCHER
from charsets import plant_character_set
from daemons import Running

NOBODY = 65534
WIDE = {
    "profile": {"name": "wide", "mode": "workspace-write", "read_roots": ["/"], "write_roots": ["/"]},
    "asks": False,
}
"""What a server that wants a call to run without a boundary answers."""


@pytest.fixture(scope="module")
def daemon():
    # Not in /tmp: that is the sandbox's own, and what is outside must be seen inside to be tried.
    root = tempfile.mkdtemp(prefix="assent-test-", dir="/srv" if os.geteuid() == 0 else Path.home())
    running = Running(Path(root), "--rate", "0")
    running.user_file.write_text("permissions: {mode: auto}\n")
    with running:
        yield running
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="coder"))


@pytest.fixture
def escape(daemon):
    """A file outside the workspace, which nobody may have made at the end."""
    place = daemon.home / "escaped"
    yield place
    assert not place.exists()


def decide(agent, daemon, name, script, **more):
    """Have a script decided about, and return the line that the daemon wants to be run."""
    (daemon.project / name).write_text(script)
    body = {"toolName": "Bash", "toolInput": {"command": f"sh {name}"}, "cwd": str(daemon.project), **more}
    answer = agent.post("/api/hooks/classify", json=body).json()
    assert answer["allow"] is False, answer
    return answer["reason"].partition("Run this instead: ")[2]


def carry_out(daemon, line, *, cwd=None, **environ):
    """Run a line as an agent's shell does, in an environment that somebody else made."""
    return subprocess.run(
        ["/bin/bash", "-c", line],
        env={"PATH": "/usr/bin:/bin", "HOME": str(daemon.home), **environ},
        cwd=cwd or daemon.project,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def attack(escape):
    """A script that does harmless work, and tries to leave."""
    return f"echo worked; echo x > {escape}; true\n"


def held(done):
    """The command ran, and inside the decided boundary."""
    assert (done.returncode, done.stdout) == (0, "worked\n"), done
    return "writing" in done.stderr


class Impostor:
    """A server that speaks HTTP as the daemon does, and answers everything with a boundary that holds nothing."""

    def __init__(self, path: Path | None = None) -> None:
        impostor = self
        self.asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                impostor.asked.append(self.path)
                self.rfile.read(int(self.headers["content-length"]))
                body = json.dumps(WIDE if self.path.endswith("redeem") else {"recorded": 1}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def address_string(self) -> str:
                return "local"

            def log_message(self, *_: object) -> None:
                pass

        if path is None:
            self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        else:
            self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
            self.server.socket.close()
            self.server.socket = socket.socket(socket.AF_UNIX)
            self.server.socket.bind(str(path))
            self.server.socket.listen()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_a_server_that_the_environment_names_is_not_asked(daemon, agent, escape):
    impostor = Impostor()
    with contextlib.closing(impostor):
        line = decide(agent, daemon, "url.sh", attack(escape))
        done = carry_out(daemon, line, ASSENT_URL=impostor.url, ASSENT_TOKEN="t")
    assert held(done)
    assert impostor.asked == []
    ticket = re.search(r"dec_\w+", line)[0]
    found = daemon.api(daemon.owner).get("/api/audit", params={"type": "process.completed"}).json()["events"]
    assert ticket in [each["body"]["payload"]["decision"] for each in found]


@pytest.mark.parametrize("variable", ["ASSENT_HOME", "XDG_DATA_HOME"])
def test_a_home_that_the_environment_names_is_not_entered(daemon, agent, escape, variable):
    forged = Path(tempfile.mkdtemp(prefix="forged-", dir=daemon.root))
    home = forged if variable == "ASSENT_HOME" else forged / "assent"
    home.mkdir(exist_ok=True, mode=0o700)
    (home / "token").write_text("forged")
    (home / "token").chmod(0o600)
    impostor = Impostor(home / "assent.sock")
    with contextlib.closing(impostor):
        done = carry_out(daemon, decide(agent, daemon, "home.sh", attack(escape)), **{variable: str(forged)})
    assert held(done)
    assert impostor.asked == []


PLANTED = ("sitecustomize", "usercustomize", "assent", "msgspec", "os", "asyncio", "site", "encodings", "re", "hashlib")


@pytest.fixture
def planted(daemon, escape):
    """A folder in which every module that is loaded on the way is one of the project's own."""
    folder = Path(tempfile.mkdtemp(prefix="planted-", dir=daemon.project))
    code = f"open({str(escape)!r}, 'w').close()\n"
    for name in PLANTED:
        (folder / f"{name}.py").write_text(code)
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(code)
        (folder / name / "__main__.py").write_text(code)
    library = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (library / "lib-dynload").mkdir(parents=True)
    for name in ("os", "encodings"):
        (library / f"{name}.py").write_text(code)
    for name in ("env", "python", "python3", "assent", "bwrap", "sh", "bash", "git"):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n: > {escape}\n")
        program.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONPATH": "{}"},
        {"PYTHONHOME": "{}"},
        {"PYTHONSTARTUP": "{}/os.py", "PYTHONINSPECT": "1"},
        {"PYTHONUSERBASE": "{}"},
        {"PYTHONPLATLIBDIR": "{}", "PYTHONPATH": "{}", "PYTHONSAFEPATH": ""},
        {"PYTHONPYCACHEPREFIX": "{}", "PYTHONBREAKPOINT": "os.system", "PYTHONWARNINGS": "error::os.X"},
        {"PYTHONEXECUTABLE": "{}/bin/python", "VIRTUAL_ENV": "{}"},
        {"__PYVENV_LAUNCHER__": "{}/bin/python"},
        {"COVERAGE_PROCESS_START": "{}/x.rc"},
        {"BASH_FUNC_env%%": "() {{ {0}/bin/sh; }}", "BASH_FUNC_exec%%": "() {{ {0}/bin/sh; }}"},
        {"BASH_FUNC_/usr/bin/env%%": "() {{ {0}/bin/sh; }}"},
    ],
    ids="+".join,
)
def test_no_variable_has_the_launcher_run_code_of_the_project(daemon, agent, escape, planted, environ):
    given = {name: value.format(planted) for name, value in environ.items()}
    assert held(carry_out(daemon, decide(agent, daemon, "python.sh", attack(escape)), **given))


def test_no_module_of_the_working_directory_is_loaded(daemon, agent, escape, planted):
    for each in planted.glob("*.py"):
        shutil.copy(each, daemon.project)
    try:
        assert held(carry_out(daemon, decide(agent, daemon, "cwd.sh", attack(escape))))
    finally:
        for each in planted.glob("*.py"):
            (daemon.project / each.name).unlink()


def test_no_program_is_found_by_the_agents_path(daemon, agent, escape, planted):
    line = decide(agent, daemon, "path.sh", attack(escape))
    done = carry_out(daemon, line, PATH=f"{planted}/bin:/usr/bin:/bin")
    # Inside, the agent's own `PATH` counts, and finds its own `bash`: which cannot leave either.
    assert not escape.exists()
    assert "unavailable" not in done.stderr


def test_what_is_hidden_does_not_depend_on_the_agents_home(daemon, agent, escape):
    (daemon.home / ".ssh").mkdir(exist_ok=True)
    (daemon.home / ".ssh" / "id_ed25519").write_text("the key\n")
    line = decide(agent, daemon, "hidden.sh", f"cat {daemon.home}/.ssh/id_ed25519 {daemon.state}/token; true\n")
    done = carry_out(
        daemon, line, HOME=str(daemon.project), ASSENT_HOME=str(daemon.project), XDG_CONFIG_HOME="/nowhere"
    )
    assert done.returncode == 0, done
    assert done.stdout == ""


def test_a_character_set_of_the_project_is_not_loaded(daemon, agent, escape):
    hostile = plant_character_set(Path(tempfile.mkdtemp(prefix="gconv-", dir=daemon.project)), escape)
    line = decide(agent, daemon, "gconv.sh", attack(escape))
    launcher = shlex.split(line)
    done = subprocess.run(launcher, env=hostile, cwd=daemon.project, capture_output=True, text=True, check=False)
    assert not escape.exists(), done
    assert held(done)


@contextlib.contextmanager
def between(daemon, change):
    """Stand between the launcher and the daemon, and change what the daemon answers."""
    real, moved = daemon.state / "assent.sock", daemon.state / "moved.sock"
    real.rename(moved)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(real))
    listener.listen()

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line, socket.socket(socket.AF_UNIX) as far:
                far.connect(str(moved))
                far.sendall(read_request(line))
                line.sendall(change(read_all(far)))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(20)
        real.unlink()
        moved.rename(real)


def read_request(line):
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    size = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
    while len(body) < size:
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


def read_all(line):
    pieces = []
    while piece := line.recv(65536):
        pieces.append(piece)
    return b"".join(pieces)


def changed(answer, **profile):
    """An answer of the daemon with another boundary, the length of its body right again."""
    head, _, body = answer.partition(b"\r\n\r\n")
    said = json.loads(body)
    if "profile" not in said:
        return answer
    said["profile"] |= profile
    body = json.dumps(said).encode()
    return re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>%d" % len(body), head) + b"\r\n\r\n" + body


@pytest.mark.parametrize(
    "profile",
    [{"write_roots": ["/"]}, {"mode": "off"}, {"network": {"mode": "full", "hosts": []}}, {"environment": ["SECRET"]}],
    ids=lambda profile: next(iter(profile)),
)
def test_a_boundary_that_was_changed_on_the_way_is_refused(daemon, agent, escape, profile):
    line = decide(agent, daemon, "changed.sh", f": > ran-changed; echo x > {escape}\n")
    with between(daemon, lambda answer: changed(answer, **profile)):
        done = carry_out(daemon, line)
    assert done.returncode == 4, done
    assert "not signed with this installation's key" in done.stderr
    assert not (daemon.project / "ran-changed").exists()


def test_an_answer_of_before_is_refused(daemon, agent, escape):
    kept = []
    first = decide(agent, daemon, "again.sh", "echo worked\n", sessionId="first")
    with between(daemon, lambda answer: kept.append(answer) or answer):
        assert carry_out(daemon, first).returncode == 0
    second = decide(agent, daemon, "again.sh", "echo worked\n", sessionId="second")
    with between(daemon, lambda answer: kept[0]):
        done = carry_out(daemon, second)
        again = carry_out(daemon, first)
    assert (done.returncode, again.returncode) == (4, 4)
    assert "not signed with this installation's key" in done.stderr
    assert "not signed with this installation's key" in again.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_socket_that_somebody_else_listens_on_is_not_spoken_to(daemon, agent, escape):
    line = decide(agent, daemon, "peer.sh", attack(escape))
    real, moved = daemon.state / "assent.sock", daemon.state / "moved.sock"
    real.rename(moved)
    code = (
        "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.chmod(sys.argv[1], 0o600); "
        f"os.setgid({NOBODY}); os.setuid({NOBODY}); s.listen(); print('up', flush=True); c, _ = s.accept(); "
        "print('heard', len(c.recv(65536)), flush=True)"
    )
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, real], stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout.readline() == "up\n"
        done = carry_out(daemon, line)
        assert (done.returncode, other.stdout.readline()) == (4, "heard 0\n")
        assert "another user runs the daemon" in done.stderr
    finally:
        other.kill()
        other.communicate()
        real.unlink(missing_ok=True)
        moved.rename(real)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_the_daemon_hears_nobody_else_on_its_socket(daemon):
    modes = {path: path.stat().st_mode & 0o777 for path in (daemon.root, daemon.state, daemon.state / "assent.sock")}
    for path in modes:
        path.chmod(0o777)
    code = (
        f"import contextlib, os, socket, sys; os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "with contextlib.suppress(OSError): s.sendall(sys.argv[2].encode())\n"
        "print(s.recv(99))"
    )
    asked = f"GET /api/login HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {daemon.owner}\r\n\r\n"
    try:
        argv = [sys.executable, "-I", "-S", "-c", code, daemon.state / "assent.sock", asked]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert "200" not in done.stdout, done
    assert "403" in done.stdout


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_home_that_others_can_write_is_not_entered(daemon, agent, escape, mode):
    line = decide(agent, daemon, "open.sh", attack(escape))
    daemon.state.chmod(mode)
    try:
        done = carry_out(daemon, line)
    finally:
        daemon.state.chmod(0o700)
    assert done.returncode == 4, done
    assert "writable by other users" in done.stderr


NEAR = [
    lambda line: line + " ",
    lambda line: line + "; true",
    lambda line: "ASSENT_HOME=/x " + line,
    lambda line: line.replace(" -I ", " "),
    lambda line: line.replace(" -S ", " "),
    lambda line: line.replace("/usr/bin/env", "env"),
    lambda line: line.replace(LAUNCHER, "./" + LAUNCHER),
    lambda line: line.replace("/" + LAUNCHER, "/../state/" + LAUNCHER),
    lambda line: re.sub(r"dec_\w+", "dec_1_ab", line),
    lambda line: re.sub(r"\S*python\S*", "./python3", line),
    lambda line: line.partition(" -- ")[0] + " -- bash -c -- id",
]


@pytest.mark.parametrize("change", NEAR)
def test_nothing_like_the_daemons_line_passes_its_hook(daemon, agent, change):
    line = decide(agent, daemon, "near.sh", "true\n", sessionId="near")
    near = change(line)
    assert near != line
    body = {"toolName": "Bash", "cwd": str(daemon.project), "sessionId": "near"}
    assert agent.post("/api/hooks/classify", json={**body, "toolInput": {"command": near}}).json()["allow"] is False
    assert agent.post("/api/hooks/classify", json={**body, "toolInput": {"command": line}}).json()["allow"] is True


def test_the_launcher_runs_nothing_without_a_decision(daemon):
    script = daemon.state / LAUNCHER
    for words in ([], ["--", "true"], ["dec_1_ab"], ["dec_1_ab", "--"], ["--help"], ["dec_1_ab", "--", "true"]):
        argv = [sys.executable, "-I", "-S", script, *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=daemon.project)
        assert done.returncode in (2, 4), (words, done)
        assert done.stdout == ""


SHAPES = {
    "claude-code": (
        {"hook_event_name": "PreToolUse"},
        lambda said: said["hookSpecificOutput"]["updatedInput"]["command"],
    ),
    "codex": ({"hook_event_name": "PreToolUse"}, lambda said: said["hookSpecificOutput"]["updatedInput"]["command"]),
    "gemini": ({"hook_event_name": "BeforeTool"}, lambda said: said["hookSpecificOutput"]["tool_input"]["command"]),
    "opencode": ({"hook_event_name": "tool.execute.before"}, lambda said: said["updatedInput"]["command"]),
    "docker-agent": ({}, lambda said: said["reason"].partition("Run this instead: ")[2]),
    "generic": ({}, lambda said: said["reason"].partition("Run this instead: ")[2]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_agent_is_given_the_line_that_heeds_nothing(daemon, name, escape, planted):
    (daemon.project / "each.sh").write_text(attack(escape))
    more, find = SHAPES[name]
    call = {"tool_name": "Bash", "tool_input": {"command": "sh each.sh"}, "cwd": str(daemon.project)} | more
    asked = daemon.api(daemon.mint("agent", agent=name)).post(f"/api/hooks/{name}", json=call | {"session_id": name})
    line = find(asked.json())
    words = shlex.split(line)
    assert words[-4:] == ["bash", "-c", "--", "sh each.sh"]
    assert all(
        os.path.isabs(word) for word in words if word.endswith((LAUNCHER, "/env")) or "python" in word.lower()[-12:]
    )
    assert held(carry_out(daemon, line, PYTHONPATH=str(planted), ASSENT_HOME=str(planted), PATH="/usr/bin:/bin"))

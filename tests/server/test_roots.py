"""Where an agent says it stands never becomes a place to write by itself: by every route that decides, in mode auto."""

from __future__ import annotations

import json
import subprocess

import pytest
from websockets.sync.client import connect

from daemons import PATIENT, Running

PLACES = (".ssh", ".config/autostart", ".local/bin", ".config/nvim", ".aws", ".oh-my-zsh", "bin")
CODE = 'python3 -c \'open("authorized_keys", "w").write("x")\''


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("roots"), "--rate", "0")
    running.user_file.write_text("permissions: {mode: auto}\n")
    for name in PLACES:
        (running.home / name).mkdir(parents=True, exist_ok=True)
    # What an agent could have put there to have it taken for a project.
    (running.home / ".config/autostart/.git").mkdir()
    (running.home / ".oh-my-zsh/assent.yaml").write_text("")
    (running.home / "notes").mkdir()
    (running.project / "out").symlink_to(running.home / ".ssh")
    (running.project / ".vscode/.git").mkdir(parents=True)
    with running:
        yield running


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="here"))


def spelled(daemon):
    """Name every protected place in several ways."""
    home = str(daemon.home)
    for name in PLACES:
        yield from (f"{home}/{name}", f"{home}/{name}/", f"{home}//{name}", f"{home}/project/../{name}/.")
    yield from (home, "/", "/etc", str(daemon.project / "out"), f"/proc/self/root{home}/.ssh", str(daemon.state))


def by_classify(agent, cwd, **more):
    body = {"toolName": "bash", "toolInput": {"command": CODE}, "cwd": cwd, **more}
    return agent.post("/api/hooks/classify", json=body)


def by_claude(agent, cwd, **more):
    body = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": CODE}, "cwd": cwd, **more}
    return agent.post("/api/hooks/claude-code?wait=0", json=body)


def by_codex(agent, cwd, **more):
    body = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": CODE}, "cwd": cwd, **more}
    return agent.post("/api/hooks/codex?wait=0", json=body)


def by_gemini(agent, cwd, **more):
    given = {"tool_name": "run_shell_command", "tool_input": {"command": CODE}}
    return agent.post("/api/hooks/gemini?wait=0", json={"hook_event_name": "BeforeTool", "cwd": cwd, **given, **more})


def by_runtime(agent, cwd, **more):
    body = {"toolName": "bash", "toolInput": {"command": CODE}, "cwd": cwd, **more}
    return agent.post("/api/runtime/evaluate_permission", json=body)


ROUTES = (by_classify, by_claude, by_codex, by_gemini, by_runtime)


def is_let(answer):
    """Tell whether a call may run, as it is or in a sandbox."""
    text = answer.text
    assert answer.status_code in (200, 400), text
    said = ('"allow":true', '"permissionDecision":"allow"', " dec_", '"decision":"sandboxed"')
    return answer.status_code == 200 and any(word in text for word in (*said, '"decision":"allow"'))


@pytest.mark.parametrize("route", ROUTES)
def test_in_a_project_it_runs_in_the_sandbox(daemon, agent, route):
    answer = route(agent, str(daemon.project))
    assert is_let(answer), answer.text
    # Somebody who may write in `.vscode` cannot make a workspace of it: it is the project that counts.
    assert is_let(route(agent, str(daemon.project / ".vscode")))


@pytest.mark.parametrize("route", ROUTES)
def test_no_folder_that_an_agent_names_is_written_in_unasked(daemon, agent, route):
    for cwd in spelled(daemon):
        assert not is_let(route(agent, cwd)), cwd
    assert not is_let(route(agent, str(daemon.home / "notes")))


@pytest.mark.parametrize("route", ROUTES[:4])
def test_no_session_that_an_agent_names_opens_one_either(daemon, agent, route):
    for number, cwd in enumerate(spelled(daemon)):
        agent.headers["x-assent-project"] = cwd
        try:
            answer = route(agent, cwd, session_id=f"{route.__name__}-{number}", sessionId=f"{route.__name__}-{number}")
        finally:
            del agent.headers["x-assent-project"]
        assert not is_let(answer), cwd


def test_no_token_is_made_for_such_a_workspace(daemon):
    for place in spelled(daemon):
        made = daemon.api(daemon.owner).post("/api/tokens", json={"role": "agent", "workspace": [place]})
        assert (made.status_code, "cannot be a workspace" in made.text) == (400, True), place
    done = daemon.run("token", "create", "--role", "agent", "--workspace", str(daemon.home / ".ssh"))
    assert (done.returncode != 0, "cannot be a workspace" in done.stderr) == (True, True)


def test_no_run_is_prepared_there(daemon):
    headers = {"Authorization": f"Bearer {daemon.owner}"}
    with connect(f"ws://127.0.0.1:{daemon.port}/ws", additional_headers=headers, **PATIENT) as ws:
        ws.send(json.dumps({"type": "list_strategies"}))
        ready = json.loads(ws.recv())["strategies"][0]["path"]
        for place in spelled(daemon):
            ws.send(json.dumps({"type": "prepare_run", "strategyPath": ready, "cwd": place}))
            told = json.loads(ws.recv())
            assert (told["type"], told.get("code")) == ("error", "PREPARE_FAILED"), (place, told)
            assert "cannot be a workspace" in told["message"]


def test_the_command_line_neither_runs_nor_wires_up_anything_there(daemon):
    def run(folder, *words):
        return subprocess.run(
            daemon.command(*words), cwd=folder, env=daemon.environ, capture_output=True, text=True, check=False
        )

    for name in (".ssh", ".config/autostart", "."):
        folder = daemon.home / name
        for words in (("run", "--", "touch", "here"), ("init", "claude-code", "--project", "--yes")):
            done = run(folder, *words)
            assert (done.returncode != 0, "cannot be a workspace" in done.stderr) == (True, True), (words, done)
        checked = run(folder, "check", "--json", CODE)
        assert json.loads(checked.stdout)["decision"] == "ask"
        assert not (folder / "here").exists()
    # A person who stands in a folder of their own, project or not, has chosen it.
    assert run(daemon.home / "notes", "run", "--", "touch", "here").returncode == 0
    assert (daemon.home / "notes/here").exists()
    assert json.loads(run(daemon.home / "notes", "check", "--json", CODE).stdout)["decision"] == "ask"


def test_nothing_was_written_in_any_of_them(daemon):
    assert not [place for place in PLACES if (daemon.home / place / "authorized_keys").exists()]


def test_where_the_project_is_elsewhere_a_protected_folder_is_only_stood_in(daemon, agent):
    written = []
    for cwd in (daemon.project, daemon.home / ".ssh", daemon.home, daemon.project / "out"):
        agent.headers["x-assent-project"] = str(daemon.project)
        try:
            answer = by_claude(agent, str(cwd), session_id="moved", workspace=str(cwd)).json()
        finally:
            del agent.headers["x-assent-project"]
        line = answer["hookSpecificOutput"]["updatedInput"]["command"]
        subprocess.run(["bash", "-c", line], cwd=cwd, check=False, timeout=60, capture_output=True)
        written += [cwd] if (cwd / "authorized_keys").exists() else []
    assert written == [daemon.project]

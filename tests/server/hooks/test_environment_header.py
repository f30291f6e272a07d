"""The environment that an agent's commands start in is judged with every call: the real hook, a real repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from assent.agents.specs import MARK, HookClient
from assent.agents.wiring.hook_files import HOOK_SCRIPT, place_hook
from assent.cli import hook_client
from assent.model import CallError
from assent.server.hooks.environment_header import LARGEST, read_environment
from daemons import until

AGENT = "import subprocess, sys; sys.exit(subprocess.run(['/bin/sh', '-c', sys.argv[1]]).returncode)"
"""As agents run their hooks."""


@pytest.fixture(scope="module")
def project(daemon):
    """A repository with a change in it, and a program that leaves a mark where it is run."""
    folder = daemon.project
    (folder / ".git").rmdir()
    init = "git init -q . && printf 1 > a.txt && git add a.txt && git -c user.name=u -c user.email=u@h commit -qm a"
    subprocess.run(["/bin/sh", "-c", init], cwd=folder, check=True, env={"PATH": os.environ["PATH"], "HOME": "/"})
    (folder / "a.txt").write_text("2")
    (folder / "evil").write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    (folder / "evil").chmod(0o755)
    (daemon.state / "agents").mkdir(mode=0o700, exist_ok=True)
    for agent in ("claude-code", "codex", "gemini", "opencode"):
        file = daemon.state / "agents" / f"{agent}.token"
        file.write_text(daemon.mint("agent", agent=agent))
        file.chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def hook(daemon, project):
    """Run the hook as an agent does that was started with these variables, and tell whether the line may run."""

    place_hook(str(daemon.state / "hook"))
    script = str(daemon.state / "hook" / HOOK_SCRIPT)

    def client(agent):
        return HookClient(python=sys.executable, script=script, agent=agent, home=str(daemon.state), key=agent)

    def run(line, agent="claude-code", **environ):
        events = {"gemini": "BeforeTool", "opencode": "tool.execute.before"}
        tool = {"gemini": "run_shell_command", "opencode": "bash"}.get(agent, "Bash")
        call = {"hook_event_name": events.get(agent, "PreToolUse"), "tool_name": tool, "session_id": "s"}
        call |= {"tool_input": {"command": line}, "cwd": str(project)}
        usual = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(daemon.home), "SHELL": "/bin/bash"}
        done = subprocess.run(
            [sys.executable, "-c", AGENT, client(agent).line(2)],
            input=json.dumps(call).encode(),
            capture_output=True,
            check=False,
            env={**usual, **environ},
            cwd=project,
            timeout=60,
        )
        assert done.returncode in (0, 2), done
        run.said = (done.stdout + done.stderr).decode()
        return done.returncode == 0

    return run


#: a variable, what it is set to in the project `P`, and a line that is allowed without it
ATTACKS = [
    ("GIT_EXTERNAL_DIFF", "P/evil", "git diff"),
    ("GIT_CONFIG_KEY_0", "diff.external", "git diff"),
    ("GIT_CONFIG_PARAMETERS", "'diff.external=./evil'", "git diff"),
    ("GIT_CONFIG_GLOBAL", "P/config", "git diff"),
    ("GIT_DIR", "P/other", "git diff"),
    ("GIT_EXEC_PATH", "P", "git diff"),
    ("GIT_PAGER", "./evil", "git log"),
    ("GIT_SSH_COMMAND", "./evil", "git ls-remote origin"),
    ("GIT_PROXY_COMMAND", "./evil", "git ls-remote origin"),
    ("XDG_CONFIG_HOME", "P", "git diff"),
    ("HOME", "P", "git diff"),
    ("HOME", "P", "ls"),
    ("LC_ALL", "../../P", "ls"),
    ("LD_AUDIT", "P/evil.so", "ls"),
    ("LD_LIBRARY_PATH", "P", "ls"),
    ("LD_LIBRARY_PATH", "/usr/lib:", "ls"),
    ("BASH_FUNC_ls%%", "() { ./evil; }", "ls"),
    ("BASH_FUNC_eval%%", "() { ./evil; }", "git diff"),
    ("BASH_FUNC_command_not_found_handle%%", "() { ./evil; }", "rg x"),
    ("ENV", "P/evil", "ls"),
    ("SHELLOPTS", "keyword", "ls"),
    ("PS4", "$(./evil)", "ls"),
    ("NODE_OPTIONS", "--require ./evil.js", "node --version"),
    ("NODE_OPTIONS", "--import=file://P/evil.js", "npm ls"),
    ("PYTHONPATH", "P", "python3 --version"),
    ("PYTHONPATH", "src", "pip list"),
    ("PYTHONSTARTUP", "P/evil.py", "python3 --version"),
    ("PERL5OPT", "-Mevil", "git diff"),
    ("RUBYOPT", "-revil", "ruby --version"),
    ("TAR_OPTIONS", "--to-command=./evil", "tar tf a.tar"),
    ("RIPGREP_CONFIG_PATH", "P/rc", "rg x"),
    ("OPENSSL_CONF", "P/openssl.cnf", "curl https://example.com/"),
    ("LESSOPEN", "|./evil %s", "less a.txt"),
    ("PAGER", "P/evil", "git log"),
    ("EDITOR", "P/evil", "git log"),
    ("MANPAGER", "P/evil", "man ls"),
    ("JAVA_TOOL_OPTIONS", "-javaagent:evil.jar", "java -version"),
    ("KUBECONFIG", "P/kubeconfig", "kubectl get pods"),
    ("AWS_CONFIG_FILE", "config", "aws s3 ls"),
    ("CARGO_HOME", "P", "cargo metadata"),
    ("npm_config_userconfig", "P/.npmrc", "npm view x"),
    ("CDPATH", "P", "cd src"),
    ("PATH", "P/bin:/usr/bin", "ls"),
]


@pytest.mark.parametrize(("name", "value", "line"), ATTACKS, ids=[f"{n} {v} {i}" for n, v, i in ATTACKS])
def test_a_variable_that_leads_into_the_project_makes_no_line_run_unasked(hook, project, name, value, line):
    (project / "bin").mkdir(exist_ok=True)
    if name == "PATH" and not (project / "bin" / "ls").exists():
        (project / "bin" / "ls").symlink_to("../evil")
    assert hook(line), hook.said
    assert not hook(line, **{name: value.replace("P", str(project)) if value != "PATH" else value})
    if name != "PATH":
        assert name in hook.said


#: refused by the hook itself, before anything is asked
@pytest.mark.parametrize("name", ["BASH_ENV", "LD_PRELOAD", "SHELL", "ZDOTDIR"])
def test_what_is_run_before_every_line_is_refused_by_the_hook_itself(hook, project, name):
    assert not hook("ls", **{name: f"{project}/evil"})
    assert name in hook.said


def test_the_hook_knows_the_shell_that_its_line_starts():
    assert hook_client._MARK.decode() == MARK


def test_what_the_attack_would_have_done(project):
    """What is judged is real: git runs the project's program by a variable alone."""
    subprocess.run(
        ["git", "diff"], cwd=project, env={"PATH": os.environ["PATH"], "GIT_EXTERNAL_DIFF": "./evil"}, check=False
    )
    assert (project / "ran").exists()


USUAL = {
    "PAGER": "less",
    "LESS": "-R",
    "GIT_PAGER": "cat",
    "EDITOR": "vim",
    "VISUAL": "code --wait",
    "NODE_OPTIONS": "--max-old-space-size=4096",
    "PYTHONUNBUFFERED": "1",
    "LD_LIBRARY_PATH": "/usr/local/lib",
    "GIT_EDITOR": "true",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "GEMINI_CLI": "1",
    "CODEX_SANDBOX": "seatbelt",
    "OPENCODE": "1",
    "LESSOPEN": "| /usr/bin/lesspipe %s",
    "LESSCLOSE": "/usr/bin/lesspipe %s %s",
    "XDG_DATA_DIRS": "/usr/local/share:/usr/share",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "XDG_SESSION_TYPE": "tty",
    "SSH_AUTH_SOCK": "/tmp/ssh-abc/agent.1",
    "SSH_CONNECTION": "10.0.0.1 22 10.0.0.2 22",
    "GIT_ASKPASS": "/usr/share/code/resources/app/extensions/git/dist/askpass.sh",
    "BROWSER": "/usr/bin/firefox",
    "LS_COLORS": "rs=0:di=01;34",
    "LC_ALL": "C.UTF-8",
    "JAVA_HOME": "/usr/lib/jvm/default",
    "GOPATH": "/home/u/go",
    "HTTP_PROXY": "http://proxy.example:3128",
    "HISTSIZE": "1000",
    "PS1": "\\u@\\h $(x)",
    "npm_package_json": "package.json",
    "npm_config_userconfig": "/etc/npmrc",
    "VSCODE_GIT_IPC_HANDLE": "/run/user/1000/vscode-git.sock",
    "DIRENV_DIFF": "eJx" * 1000,
    "GITHUB_TOKEN": "x",
    "PYTHON_VERSION": "3.12.1",
    "OLDPWD": "/",
}


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "opencode"])
@pytest.mark.parametrize("line", ["git diff", "rg x", "ls", "python3 --version", "npm ls", "git log"])
def test_what_users_and_agents_set_themselves_changes_nothing(hook, project, agent, line):
    here = {"PWD": str(project), "VIRTUAL_ENV": f"{project}/.venv"} if line.startswith(("git", "rg", "ls")) else {}
    assert hook(line, agent, **USUAL, **here), hook.said


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "opencode"])
def test_every_wired_agent_tells_its_environment(hook, agent):
    assert not hook("git diff", agent, GIT_EXTERNAL_DIFF="./evil")
    assert "GIT_EXTERNAL_DIFF" in hook.said


def test_a_yes_in_one_environment_is_none_in_another(daemon, hook, person):
    line = "git diff --stat HEAD"
    assert not hook(line, GIT_EXTERNAL_DIFF="./evil")
    (asked,) = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == line])
    person.post("/api/permissions", json={"requestId": asked["id"], "decision": "approve"})
    assert not hook(line, GIT_EXTERNAL_DIFF="./other")
    assert not hook(line, GIT_EXTERNAL_DIFF="./evil", GIT_DIR="/x")
    assert hook(line, GIT_EXTERNAL_DIFF="./evil", HISTSIZE="5", GITHUB_TOKEN="y")
    assert not hook(line, GIT_EXTERNAL_DIFF="./evil")  # it was used
    assert hook(line)


def test_a_yes_for_always_in_one_environment_is_none_in_another(daemon, hook, person):
    line = "git diff --numstat HEAD"
    assert not hook(line, GIT_EXTERNAL_DIFF="./evil")
    (asked,) = until(lambda: [p for p in person.get("/api/permissions").json()["pending"] if p["command"] == line])
    person.post("/api/permissions", json={"requestId": asked["id"], "decision": "approve_always"})
    assert hook(line, GIT_EXTERNAL_DIFF="./evil")
    assert hook(line, GIT_EXTERNAL_DIFF="./evil")
    assert not hook(line, GIT_EXTERNAL_DIFF="./other")


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (b"A=1&A=2", "twice"),
        (b"=x", "cannot be read"),
        (b"%FF=x", "cannot be read"),
        (b"A" * 600, "cannot be read"),
        (b"PATH=%FF", "PATH is not text"),
        (b"PATH", "PATH is not text"),
        (b"A&" * LARGEST, "too large"),
        (b"&".join(b"A%d" % i for i in range(2_001)), "too many"),
    ],
)
def test_an_environment_that_can_not_be_read_is_refused(header, why):
    with pytest.raises(CallError, match=why):
        read_environment(header)


def test_an_environment_is_read_once_and_holds_no_more_than_has_to_be_judged():
    header = b"PATH=/bin&HOME=/home/u&GIT_PAGER=cat&FOO=1&GITHUB_TOKEN&HTTP_PROXY=http://u:p%40@h&GIT_DIR=%FF&PWD=/x"
    found = read_environment(header)
    assert found is read_environment(bytes(bytearray(header)))
    told = {"PATH": "/bin", "HOME": "/home/u", "HTTP_PROXY": "http://h", "GIT_DIR": None}
    assert dict(found.variables) == told


def test_a_malformed_environment_is_a_denial(daemon, project):
    local = daemon.api(daemon.mint("agent", agent="here"))
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "cwd": str(project)}
    for header in (b"A=1&A=2", b"A&" * (25 << 10)):
        answer = local.post("/api/hooks/claude-code", json=call, headers={b"x-assent-environment": header})
        assert answer.headers["x-assent-exit"] == "2"

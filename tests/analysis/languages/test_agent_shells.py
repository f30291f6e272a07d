"""The shell that runs an agent's lines: what it reads otherwise than bash is not taken for what bash would do."""

from __future__ import annotations

import pytest

from assent.agents.shells import shell_of
from assent.analysis.languages.shell_dialects import misread
from assent.model import Facts, Session, ToolCall
from assent.policy.engine import Engine

EVERYDAY = (
    "ls -la src && git status",
    "git log --oneline | head -5",
    "grep -rn 'foo(bar)' src/*.py",
    'echo "$HOME/x" > notes.txt',
    "for f in a b; do echo $f; done",
    "ls | while read f; do echo $f; done",
    "cat a.txt || cd .. && ls",
    "python -c 'print(1)' 2>&1 | tail -3",
    "export PATH=$PATH:/usr/bin; ls",
    "x=$(git rev-parse HEAD); echo $((1 + 2)) ${x:0:7}",
    "f() { ls; }; f",
    "[ -f a ] && [ x = y ]",
    "git commit -m \"$(cat <<'EOF'\nMend foo(bar) and $name[1]\nEOF\n)\"",
)
ZSH_ALONE = (
    "echo x >! ~/.zshrc",
    "ls *(e:'touch x':)",
    "cat =(touch x)",
    "=touch x",
    "echo ${(e)X}",
    "a=(rm ls); $a[1] x",
    "a=(rm ls); ${a[1]} x",
    "X=ls; echo rm | read X; $X y",
    "X=ls; echo rm | while read X; do break; done; $X y",
    "X=ls; true | X=rm; $X y",
    "for x (a b) touch $x",
    "ls &! touch x",
    "ls file<1-20>",
    "ls ~[x]",
    "scp $HOST:file .",
    "echo \"$(cat <<'EOF'\n';cat =(id);'\nEOF\n)\"",
)


@pytest.mark.parametrize("line", EVERYDAY)
@pytest.mark.parametrize("shell", ["", "bash", "zsh"])
def test_what_both_read_alike_is_read(line, shell):
    assert misread(line, shell) is None


@pytest.mark.parametrize("line", ZSH_ALONE)
def test_what_zsh_reads_otherwise_is_not_known(line):
    assert misread(line, "bash") is None
    assert "which reads `" in misread(line, "zsh")


@pytest.mark.parametrize("line", ["ls <(id)", "[[ -f x ]] && ls", "ls {a,b}", "export X=$Y"])
def test_what_a_plain_shell_reads_otherwise_is_not_known(line):
    assert misread(line, "dash") == misread(line, "sh").replace("shell is sh", "shell is dash")


@pytest.mark.parametrize("shell", ["pwsh", "nu", "fish", "csh", "xonsh", "x" * 500])
def test_lines_of_a_shell_that_is_not_known_are_not_read(shell):
    assert misread("ls", shell) == f"the agent's shell is {shell[:40]}, which Assent does not analyse"


@pytest.mark.parametrize(
    ("agent", "told", "shell"),
    [
        ("claude-code", "/usr/bin/bash", "bash"),
        ("claude-code", "/bin/zsh", "zsh"),
        ("claude-code", "/usr/bin/fish", "zsh"),
        ("claude-code", "/usr/bin/pwsh", "zsh"),
        ("codex", "/usr/bin/pwsh", "pwsh"),
        # Its model names the shell of each call, which the hook does not hear.
        ("codex", "/usr/bin/fish", "zsh,sh"),
        ("codex", "/bin/bash", "zsh,sh"),
        ("codex", "", "zsh,sh"),
        ("gemini", "/usr/bin/fish", "bash"),
        ("opencode", "/usr/bin/nu", "zsh"),
        ("opencode", "/usr/bin/xonsh", "xonsh"),
        ("generic", "/usr/bin/fish", "fish"),
        ("docker-agent", "C:/x/PWSH.EXE", "pwsh"),
        ("generic", "-zsh", "zsh"),
        ("claude-code", "", ""),
        ("generic", "/", ""),
    ],
)
def test_an_agent_runs_lines_by_its_users_shell_or_the_one_it_falls_back_to(agent, told, shell):
    assert shell_of(agent, told) == shell


@pytest.mark.parametrize(
    ("line", "shell", "decision"),
    [
        ("ls", "bash", "allow"),
        ("ls", "zsh", "allow"),
        ("ls", "fish", "ask"),
        ("ls | head", "zsh,sh", "allow"),
        ("echo $'a'", "bash", "allow"),
        ("echo $'a'", "zsh", "allow"),
        ("echo $'a'", "zsh,sh", "ask"),
        ("x=a; echo $x[1]", "zsh,sh", "ask"),
        ("x=a; echo $x[1]", "bash", "allow"),
        ("x=a; echo $x[1]", "zsh", "ask"),
        ("noglob ls", "zsh", "ask"),
        ("repeat 3 ls", "zsh", "ask"),
        ("- ls", "zsh", "ask"),
    ],
)
def test_the_decision_goes_by_the_shell(line, shell, decision):
    engine = Engine(facts=lambda: Facts(home="/home/me", now=1.8e9))
    session = Session(workspace=("/home/me/project",), shell=shell)
    call = ToolCall(tool="Bash", input={"command": line}, cwd="/home/me/project")
    found = [engine.decide(call, session).decision for _ in range(3)]  # the third is from memory
    assert found == [decision] * 3

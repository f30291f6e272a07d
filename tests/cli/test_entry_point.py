from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import assent
from assent.cli import entry_point, exit_codes, main
from assent.cli.entry_point import COMMANDS


@pytest.mark.parametrize("words", [["--version"], ["-V"]])
def test_the_version_is_the_packages(capsys, words):
    assert main(words) == exit_codes.OK
    assert capsys.readouterr().out == f"assent {assent.__version__}\n"


def test_help_names_every_command(capsys):
    assert main(["--help"]) == exit_codes.OK
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("words", [[name] for name in COMMANDS] + [["policy", a] for a in ("show", "lint", "test")])
def test_every_command_has_help_with_examples(capsys, words):
    assert main([*words, "--help"]) == exit_codes.OK
    out = capsys.readouterr().out
    assert out.startswith(f"usage: assent {' '.join(words)}")
    assert f"\nexamples:\n  assent {words[0]}" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["chek", "ls"], "unknown command `chek`\n  hint: did you mean `check`?"),
        (["--versoin"], "unknown option `--versoin`\n  hint: did you mean `--version`?"),
        (["xyzzy"], "unknown command `xyzzy`\n  hint: see `assent --help`"),
        (["\x1b[2J"], "unknown command `\\x1b[2J`"),
        ([], "usage: assent COMMAND"),
        (["policy"], "show|lint|test"),
        (["policy", "--", "show"], "pass an action"),
        (["policy", "shw"], "invalid choice: 'shw'"),
        (["schema", "Nonsense"], "unknown record `Nonsense`"),
    ],
)
def test_an_unknown_word_is_exit_2_with_the_nearest_one(capsys, words, complaint):
    assert main(words) == exit_codes.USAGE
    shown = capsys.readouterr()
    assert complaint in shown.err
    assert shown.out == ""


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), RecursionError("deep"), MemoryError(), OSError(24, "too many files")]
)
def test_a_fault_is_exit_4_without_a_traceback(monkeypatch, capsys, error):
    monkeypatch.setattr(entry_point, "_run", lambda _: (_ for _ in ()).throw(error))
    monkeypatch.setattr(entry_point, "_leave_pipe", lambda: None)
    assert main(["check", "ls"]) == exit_codes.DENY
    err = capsys.readouterr().err
    assert err.startswith(f"assent: internal error: {type(error).__name__}")
    assert "Traceback" not in err


def test_a_developer_sees_the_traceback(monkeypatch, capsys):
    monkeypatch.setattr(entry_point, "_run", lambda _: 1 // 0)
    monkeypatch.setenv("ASSENT_DEBUG", "1")
    assert main(["check", "ls"]) == exit_codes.DENY
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_exit_130(monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(entry_point, "_run", interrupt)
    assert main(["check", "ls"]) == exit_codes.INTERRUPTED
    assert capsys.readouterr() == ("", "")


def test_an_output_that_can_not_be_written_is_no_allow(world):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            world.command("check", "ls"),
            stdout=full,
            stderr=subprocess.PIPE,
            env=world.environ,
            cwd=world.project,
            check=False,
        )
    assert done.returncode == exit_codes.DENY
    assert done.stderr == b"assent: writing failed: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        (("check", "ls"), ">&-", exit_codes.DENY, b"assent: writing failed: Bad file descriptor\n"),
        (("schema",), ">&-", exit_codes.DENY, b"assent: writing failed: Bad file descriptor\n"),
        (("policy", "show"), ">&-", exit_codes.DENY, b"assent: writing failed: Bad file descriptor\n"),
        (("check", "--batch"), ">&-", exit_codes.DENY, b"assent: writing failed: Bad file descriptor\n"),
        (("audit", "verify"), "2>&-", exit_codes.USAGE, b""),  # there is no log yet
        (("check", "ls"), "2>&-", exit_codes.OK, b""),
        (("nonsense",), ">&- 2>&-", exit_codes.USAGE, b""),
        # An agent takes any other code for a yes.
        (("hook", "claude-code"), ">&- 2>&-", exit_codes.USAGE, b""),
    ],
)
def test_a_closed_stream_is_no_fault_of_ours_and_no_allow(world, words, closed, code, said):
    line = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *world.command(*words)]
    given = b'{"command": "ls"}\n'
    done = subprocess.run(line, input=given, capture_output=True, env=world.environ, cwd=world.project, check=False)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("words", [("schema",), ("check", "ls"), ("--help",)])
def test_a_closed_pipe_ends_quietly_and_is_no_allow(world, words):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        world.command(*words), stdout=writer, stderr=subprocess.PIPE, env=world.environ, cwd=world.project, check=False
    )
    os.close(writer)
    assert done.returncode == exit_codes.PIPE_CLOSED
    assert done.stderr == b""


def test_a_terminal_without_unicode_gets_escapes(world):
    done = world.run("explain", "ls", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == exit_codes.OK
    assert "what it would do" in done.out


def test_python_m_assent_and_the_script_are_the_same(world):
    assert world.run("--version").out == f"assent {assent.__version__}\n"


def modules_after(world, code):
    """Return which heavy modules a fresh process has loaded after running some code."""
    heavy = (
        "{'yaml', 'rich', 'tree_sitter', 're2', 'msgspec', 'argparse', 'typing_extensions', 'inspect', 'dataclasses',"
        " 'pathlib', 'shutil', 'secrets', 'ipaddress', 'difflib'}"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(sorted({heavy} & set(sys.modules)))"],
        capture_output=True,
        text=True,
        env=world.environ,
        cwd=world.project,
        check=True,
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("words", [["check", "--tool", "Write", "a.txt"], ["check", "git", "status"]])
def test_a_single_check_starts_without_what_it_does_not_need(world, words):
    loaded = modules_after(world, f"from assent.cli import main; main({words})")
    assert loaded == "['argparse', 'msgspec']"


def test_what_msgspec_does_without_can_still_be_loaded(world):
    code = "import assent.cli, typing_extensions, msgspec; print(msgspec.json.decode(b'[1]', type=list[int]))"
    assert "typing_extensions" in modules_after(world, code)


@pytest.mark.parametrize(
    ("words", "code"), [(["ls"], exit_codes.OK), (["npm", "i"], exit_codes.ASK), (["rm -rf /"], exit_codes.DENY)]
)
def test_a_process_that_ends_at_once_has_said_all(world, words, code):
    done = world.run("check", "--json", *words)
    assert done.code == code
    assert msgspec.json.decode(done.out)["operations"]


def test_importing_the_package_pulls_in_little(world):
    assert modules_after(world, "import assent") == "[]"


def test_the_public_names_decide_a_call():
    engine = assent.Engine([assent.Policy(deny=assent.parse_rules(["Write"]))])
    decision = engine.decide(assent.ToolCall(tool="Write", input={"file_path": "/w/x"}, cwd="/w"))
    assert decision.verdict is assent.Verdict.DENY


def test_a_package_that_is_not_installed_has_a_version_too(monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert assent._version() == "0+unknown"

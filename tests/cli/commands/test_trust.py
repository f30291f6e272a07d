from __future__ import annotations

import os
import pty
import subprocess

import pytest

from assent.cli import exit_codes, main

PROJECT_FILE = """
permissions:
  allow:
    - Bash(npm test)
    - {rule: "Bash(git clean:*)", destructive: true}
  write: {allow: [/srv/**]}
"""


@pytest.fixture
def project(here):
    (here.project / "assent.yaml").write_text(PROJECT_FILE)
    return here


def test_trusting_makes_allow_rules_count_until_a_byte_changes(project, capsys):
    assert main(["check", "npm test"]) == exit_codes.ASK
    assert main(["trust", "--yes"]) == exit_codes.OK
    assert main(["check", "npm test"]) == exit_codes.OK
    (project.project / "assent.yaml").write_text(PROJECT_FILE + " ")
    assert main(["check", "npm test"]) == exit_codes.ASK


def test_what_would_be_allowed_is_shown_first(project, capsys):
    main(["trust", "--yes"])
    shown, trusted = capsys.readouterr().out.split("trusted: ")
    assert "Bash(npm test)  line 4" in shown
    assert "Bash(git clean:*) (destructive calls too)  line 5" in shown
    assert "write /srv/**" in shown
    assert trusted.startswith(str(project.project / "assent.yaml"))


def test_a_file_that_allows_nothing_says_so(here, capsys):
    (here.project / "assent.yaml").write_text("permissions: {deny: [Bash]}")
    assert main(["trust", "--yes"]) == exit_codes.OK
    assert "has no allow rules" in capsys.readouterr().out


def test_trust_is_listed_and_forgotten(project, capsys):
    main(["trust", "--yes"])
    assert main(["trust", "--yes"]) == exit_codes.OK
    assert "already trusted" in capsys.readouterr().out
    main(["trust", "--list"])
    assert str(project.project / "assent.yaml") in capsys.readouterr().out
    assert main(["trust", "--forget"]) == exit_codes.OK
    assert "no longer trusted" in capsys.readouterr().out
    assert main(["trust", "--forget"]) == exit_codes.OK
    assert "was not trusted" in capsys.readouterr().out
    main(["trust", "--list"])
    assert capsys.readouterr().out == ""
    assert main(["check", "npm test"]) == exit_codes.ASK


@pytest.mark.parametrize("answer", ["y\n", ""])
def test_without_a_terminal_nothing_is_trusted(world, answer):
    (world.project / "assent.yaml").write_text(PROJECT_FILE)
    done = world.run("trust", stdin=answer)
    assert done.code == exit_codes.USAGE
    assert "no terminal to confirm at" in done.err
    assert world.run("check", "npm test").code == exit_codes.ASK


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("y", exit_codes.OK),
        ("YES", exit_codes.OK),
        ("n", exit_codes.FOUND),
        ("", exit_codes.FOUND),
        ("sure", exit_codes.FOUND),
    ],
)
def test_at_a_terminal_only_a_yes_is_a_yes(world, answer, code):
    (world.project / "assent.yaml").write_text(PROJECT_FILE)
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer.encode() + b"\n")
        done = subprocess.run(
            world.command("trust"), stdin=theirs, capture_output=True, env=world.environ, cwd=world.project, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code
    assert b"Trust these rules? [y/N] " in done.stdout
    assert world.run("check", "npm test").code == (exit_codes.OK if code == exit_codes.OK else exit_codes.ASK)


def test_a_folder_can_be_named(project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["trust", str(project.project), "--yes"]) == exit_codes.OK
    assert main(["check", "--cwd", str(project.project), "npm test"]) == exit_codes.OK


def test_a_project_without_a_file_can_not_be_trusted(here, capsys):
    assert main(["trust", "--yes"]) == exit_codes.USAGE
    assert f"no assent.yaml in `{here.project}`" in capsys.readouterr().err


def test_the_users_own_file_is_no_project(here, capsys):
    here.user_file.write_text("permissions: {}")
    assert main(["trust", str(here.user_file.parent), "--yes"]) == exit_codes.USAGE
    assert "is not a project" in capsys.readouterr().err


def test_a_broken_file_can_not_be_trusted(here, capsys):
    (here.project / "assent.yaml").write_text("permissions: [")
    assert main(["trust", "--yes"]) == exit_codes.USAGE
    assert not (here.state / "trust.json").exists()

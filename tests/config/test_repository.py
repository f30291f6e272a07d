"""Settings in a repository that would make a look run code are found, and harmless ones are not."""

from __future__ import annotations

import os
import subprocess

import pytest

from assent.config import repository
from assent.config.repository import find_trap


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    subprocess.run(
        ["git", "init", "-q", str(folder)], check=True, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    )
    (folder / "src").mkdir()
    return folder


def configure(project, text, name="config"):
    with (project / ".git" / name).open("a") as file:
        file.write(text)


def test_a_plain_repository_has_no_trap(project):
    assert find_trap("git", str(project / "src")) is None


def test_outside_a_repository_there_is_no_trap(tmp_path):
    assert find_trap("git", str(tmp_path)) is None
    assert find_trap("something else", str(tmp_path)) is None


#: what is written into the config, the setting that is named
TRAPS = [
    ("[core]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core] fsmonitor = ./x\n", "core.fsmonitor"),
    ("[CORE]\nFSMonitor=.git/x\n", "core.fsmonitor"),
    ("[core]\n\tfsmonitor = \\\n  ./x\n", "core.fsmonitor"),
    ("[core]\n\thooksPath = /dev/null\n", "core.hookspath"),
    ("[diff]\n\texternal = x\n", "diff.external"),
    ('[diff "d"]\n\ttextconv = x\n', "diff.d.textconv"),
    ('[filter "f"]\n\tclean = x\n', "filter.f.clean"),
    ("[include]\n\tpath = ../x\n", "include.path"),
    ('[includeIf "gitdir:x"]\n\tpath = ../x\n', "includeif.gitdir:x.path"),
    ("[alias]\n\tst = !sh x\n", "alias.st"),
    ("[gpg]\n\tprogram = x\n", "gpg.program"),
    ('[url "ext::sh -c x"]\n\tinsteadOf = https://a\n', "url.ext::sh -c x.insteadof"),
    ('[submodule "a"]\n\tupdate = !x\n', "submodule.a.update"),
]


@pytest.mark.parametrize(("text", "setting"), TRAPS)
def test_a_setting_that_runs_a_program_is_a_trap(project, text, setting):
    configure(project, text)
    assert find_trap("git", str(project)) == f"the repository's setting {setting} runs code"


HARMLESS = [
    "[core]\n\tfsmonitor = true\n",
    "[core]\n\tfsmonitor = false\n\tautocrlf = input\n",
    "[core]\n\tpager = cat\n",
    "[alias]\n\tst = status -sb\n",
    '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n',
    '[submodule "a"]\n\tupdate = rebase\n',
    "# core.fsmonitor = x\n; a comment\n\n",
    '[remote "origin"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
    "[user]\n\tname\n",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_everyday_settings_are_no_trap(project, text):
    configure(project, text)
    assert find_trap("git", str(project)) is None


def test_a_changed_setting_is_seen_at_once(project):
    assert find_trap("git", str(project)) is None
    configure(project, "[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(project)) is not None


def test_what_can_not_be_read_is_a_trap(project):
    configure(project, "what is this\x00")
    assert find_trap("git", str(project)) == "the repository's git config can not be read"
    (project / ".git/config").unlink()
    os.mkfifo(project / ".git/config")
    assert "can not be read" in find_trap("git", str(project))


def test_the_settings_of_a_worktree_count(project):
    configure(project, "[core]\n\tfsmonitor = ./x\n", "config.worktree")
    assert find_trap("git", str(project)) is not None


def test_a_linked_worktree_leads_to_the_shared_settings(project, tmp_path):
    tree = tmp_path / "tree"
    store = project / ".git/worktrees/tree"
    store.mkdir(parents=True)
    tree.mkdir()
    (store / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {store}\n")
    assert find_trap("git", str(tree)) is None
    configure(project, "[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(tree)) is not None


def test_the_settings_of_submodules_count(project, monkeypatch):
    module = project / ".git/modules/sub"
    module.mkdir(parents=True)
    assert find_trap("git", str(project)) is None
    (module / "config").write_text("[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(project)) is not None
    monkeypatch.setattr(repository, "MOST_MODULES", 0)
    assert find_trap("git", str(project)) == "the repository has more submodules than are looked at"


def test_the_hook_that_a_look_starts_is_a_trap_and_others_are_not(project):
    hooks = project / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (hooks / "pre-commit").chmod(0o755)
    assert find_trap("git", str(project)) is None
    (hooks / "post-index-change").write_text("#!/bin/sh\n")
    (hooks / "post-index-change").chmod(0o755)
    assert find_trap("git", str(project)) == "the repository's hook post-index-change runs code"


def test_a_folder_made_to_look_like_a_store_is_a_trap(project):
    (project / "src/HEAD").write_text("ref: refs/heads/main\n")
    (project / "src/objects").mkdir()
    assert find_trap("git", str(project / "src")) == "this folder is itself a repository's store"


def test_a_search_upward_ends(project, monkeypatch):
    monkeypatch.setattr(repository, "MOST_FOLDERS", 1)
    assert find_trap("git", str(project / "src")) is None
    assert find_trap("cargo", str(project / "src")) is None


#: file, content, whether cargo then runs something else
CARGO = [
    (".cargo/config.toml", '[build]\nrustc-wrapper = "./x"\n', True),
    (".cargo/config", '[alias]\nb = "build"\n', True),
    (".cargo/config.toml", "[net]\nretry = 2\n", False),
    ("rust-toolchain.toml", '[toolchain]\npath = "./x"\n', True),
    ("rust-toolchain.toml", '[toolchain]\nchannel = "1.80"\n', False),
]


@pytest.mark.parametrize(("name", "text", "runs"), CARGO)
def test_a_project_that_names_programs_for_cargo_is_a_trap(project, name, text, runs):
    file = project / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert (find_trap("cargo", str(project / "src")) is not None) is runs


def test_a_disk_that_fails_is_a_trap(project, monkeypatch):
    def fail(_path):
        raise OSError(5, "Input/output error")

    (project / ".git/modules").mkdir()
    monkeypatch.setattr(repository.os, "listdir", fail)
    assert "can not be read" in find_trap("git", str(project))

"""Settings in a repository that would make a look run code are found, and harmless ones are not."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from assent.model import UNKNOWN
from assent.platform import repository_settings
from assent.platform.repository_settings import find_trap


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
    ('[alias]\n\tst = "!sh x"\n', "alias.st"),
    ("[alias]\n\tlfs = -c core.fsmonitor=x status\n", "alias.lfs"),
    ("[alias]\n\tLast-Modified = clean -fdx\n", "alias.last-modified"),
    ('[alias "refs"]\n\tcommand = clean -fdx\n', "alias.refs.command"),
    ("[gpg]\n\tprogram = x\n", "gpg.program"),
    ('[url "ext::sh -c x"]\n\tinsteadOf = https://a\n', "url.ext::sh -c x.insteadof"),
    ('[submodule "a"]\n\tupdate = !x\n', "submodule.a.update"),
    ('[hook "a"]\n\tcommand = x\n', "hook.a.command"),
    ("[protocol]\n\tallow = always\n", "protocol.allow"),
    ("[core]\n\tx = a\x0b[user]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core]\n\tx = a\x0c[user]\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core]\n\t# a \\\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core]\n\t; a \\\r\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core]\n\tx = a # b \\\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ('[core]\n\tx = "a" ; "b \\\n\tfsmonitor = ./x\n', "core.fsmonitor"),
    ("[core]\n\tx = a\\\\\n\tfsmonitor = ./x\n", "core.fsmonitor"),
    ("[core]\n\tfsmonitor = ./x\\", "core.fsmonitor"),
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
    assert find_trap("git", str(project)) == "the repository's git config cannot be read"
    (project / ".git/config").unlink()
    os.mkfifo(project / ".git/config")
    assert "cannot be read" in find_trap("git", str(project))


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


@pytest.mark.parametrize("name", ["sub", "vendor/sub", "sub/modules/inner"])
def test_the_settings_of_submodules_count(project, monkeypatch, name):
    module = project / ".git/modules" / name
    module.mkdir(parents=True)
    assert find_trap("git", str(project)) is None
    (module / "config").write_text("[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(project)) is not None
    monkeypatch.setattr(repository_settings, "MOST_MODULES", 0)
    assert find_trap("git", str(project)) == "the repository has more submodules than are looked at"


def embed(project, name="inner"):
    """Add a repository that keeps its own store as a submodule."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(project)}
    inner = project / name
    subprocess.run(["git", "init", "-q", str(inner)], check=True, env=environment)
    settings = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "advice.addEmbeddedRepo=false"]
    subprocess.run(
        ["git", *settings, "commit", "-q", "--allow-empty", "-m", "x"], cwd=inner, check=True, env=environment
    )
    subprocess.run(["git", *settings, "add", name], cwd=project, check=True, env=environment)
    return inner


def test_the_settings_of_a_submodule_with_a_store_of_its_own_count(project, monkeypatch):
    inner = embed(project)
    assert find_trap("git", str(project / "src")) is None
    configure(inner, "[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(project / "src")) == "the repository's setting core.fsmonitor runs code"
    monkeypatch.setattr(repository_settings, "MOST_MODULES", 0)
    assert find_trap("git", str(project)) == "the repository's submodules cannot be read"


def test_a_submodule_that_is_not_there_is_no_trap(project):
    inner = embed(project)
    shutil.rmtree(inner)
    assert find_trap("git", str(project)) is None


def test_submodules_count_that_only_a_shared_index_has(project):
    inner = embed(project)
    subprocess.run(["git", "update-index", "--split-index"], cwd=project, check=True)
    assert list((project / ".git").glob("sharedindex.*"))
    assert b"inner" not in (project / ".git/index").read_bytes()
    assert find_trap("git", str(project)) is None
    configure(inner, "[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", str(project)) == "the repository's setting core.fsmonitor runs code"
    shared = next((project / ".git").glob("sharedindex.*"))
    shared.write_bytes(b"DIRC\x00\x00\x00\x04" + shared.read_bytes()[8:])
    assert find_trap("git", str(project)) == "the repository's submodules cannot be read"


def test_an_index_that_can_not_be_read_is_a_trap_if_it_may_have_submodules(project, monkeypatch):
    embed(project)
    subprocess.run(["git", "update-index", "--index-version", "4"], cwd=project, check=True)
    assert find_trap("git", str(project)) == "the repository's submodules cannot be read"
    (project / ".git/index").write_bytes(b"DIRC\x00\x00\x00\x02" + b"\x00\x00\xe0\x00" * 2)
    assert find_trap("git", str(project)) is None
    monkeypatch.setattr(repository_settings, "LARGEST_INDEX", 3)
    (project / ".git/index").write_bytes(b"DIRC-")
    assert find_trap("git", str(project)) == "the repository's submodules cannot be read"


def test_a_folder_of_which_one_name_is_not_known_is_any_of_them(project, monkeypatch):
    folder = f"{project}/{UNKNOWN}"
    assert find_trap("git", folder) is None
    inner = project / "vendor" / "x"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    configure(inner, "[core]\n\tfsmonitor = ./x\n")
    assert find_trap("git", folder) is None
    for either in (f"{project}/{UNKNOWN}/x", f"{project}/vendor/{UNKNOWN}", f"{project}/vendor/{UNKNOWN}/y"):
        assert find_trap("git", either) == "the repository's setting core.fsmonitor runs code"
    for anywhere in (UNKNOWN, f"/{UNKNOWN}", f"{project}/{UNKNOWN}/{UNKNOWN}", f"{project}/none/{UNKNOWN}"):
        assert find_trap("git", anywhere) is not None
    monkeypatch.setattr(repository_settings, "MOST_PLACES", 0)
    assert find_trap("git", folder) == "it may run in more folders than are looked at"


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


@pytest.mark.parametrize("parts", [(".git/objects",), (".git/objects", ".git/refs"), ("objects", "refs"), (".git",)])
@pytest.mark.parametrize("head", ["", "junk"])
def test_what_only_looks_like_a_store_does_not_hide_the_real_one(project, parts, head):
    for part in parts:
        (project / "src" / part).mkdir(parents=True, exist_ok=True)
    if head:
        (project / "src" / parts[0]).with_name("HEAD").write_text(head)
    (project / "src" / "inner").mkdir()
    configure(project, "[core]\n\tfsmonitor = ./x\n")
    assert "core.fsmonitor" in find_trap("git", str(project / "src" / "inner"))


def test_a_store_that_shares_all_but_its_head_is_one(project, tmp_path):
    (tmp_path / "other" / "inner").mkdir(parents=True)
    (tmp_path / "other" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "other" / "commondir").write_text("../project/.git\n")
    configure(project, "[core]\n\tfsmonitor = ./x\n")
    assert "core.fsmonitor" in find_trap("git", str(tmp_path / "other" / "inner"))
    assert "store" in find_trap("git", str(tmp_path / "other"))


def test_a_store_beside_the_real_one_does_not_hide_it(project):
    shutil.copytree(project / ".git", project, dirs_exist_ok=True)
    assert find_trap("git", str(project / "src")) is None
    configure(project, "[core]\n\tfsmonitor = ./x\n")
    assert "core.fsmonitor" in find_trap("git", str(project / "src"))


def test_a_search_upward_ends(project, monkeypatch):
    monkeypatch.setattr(repository_settings, "MOST_FOLDERS", 1)
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
    monkeypatch.setattr(repository_settings.os, "scandir", fail)
    assert "cannot be read" in find_trap("git", str(project))


def git(project, *words):
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a"}
    env = {"PATH": os.environ["PATH"], "HOME": str(project.parent), **names}
    subprocess.run(["git", "-C", str(project), *words], check=True, env=env, capture_output=True)


@pytest.fixture
def history(project):
    git(project, "commit", "--allow-empty", "-m", "x")
    git(project, "tag", "v1")
    return project


def test_names_of_branches_and_tags_are_no_options(history):
    assert find_trap("git-refs", str(history / "src")) is None
    git(history, "pack-refs", "--all")
    assert find_trap("git-refs", str(history)) is None


def test_outside_a_repository_no_name_is_an_option(tmp_path):
    assert find_trap("git-refs", str(tmp_path)) is None


@pytest.mark.parametrize("name", ["refs/tags/--output=x", "refs/heads/-x", "refs/remotes/origin/-x"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_name_that_starts_with_a_dash_is_a_trap(history, name, packed):
    git(history, "update-ref", name, "HEAD")
    if packed:
        git(history, "pack-refs", "--all")
    assert find_trap("git-refs", str(history)) is not None


def test_the_current_branch_may_start_with_a_dash(history):
    git(history, "symbolic-ref", "HEAD", "refs/heads/-x")
    assert find_trap("git-refs", str(history)) is not None


def test_names_are_found_from_another_working_tree(history):
    git(history, "worktree", "add", "../other")
    assert find_trap("git-refs", str(history.parent / "other")) is None
    git(history, "update-ref", "refs/tags/-x", "HEAD")
    assert find_trap("git-refs", str(history.parent / "other")) is not None


def test_names_that_can_not_be_read_or_are_too_many_are_a_trap(history, monkeypatch):
    (history / ".git" / "reftable").mkdir()
    assert find_trap("git-refs", str(history)) is not None
    (history / ".git" / "reftable").rmdir()
    monkeypatch.setattr(repository_settings, "MOST_REFS", 1)
    assert find_trap("git-refs", str(history)) is not None


def test_a_submodule_as_git_sets_it_up_is_no_trap_and_one_that_leads_elsewhere_is(history, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "--allow-empty", "-m", "x")
    git(history, "-c", "protocol.file.allow=always", "submodule", "add", str(inner), "vendor/lib")
    assert find_trap("git", str(history)) is None
    assert find_trap("git", str(history / "vendor/lib")) is None
    for elsewhere in ("/etc", "../../../..", "../../..", "../../../../.."):
        git(history, "config", "-f", ".git/modules/vendor/lib/config", "core.worktree", elsewhere)
        assert "core.worktree" in find_trap("git", str(history)), elsewhere

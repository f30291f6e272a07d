"""What a sandboxed command leaves in a repository's store: git outside does not run it, or it was named.

Each way is first tried without a sandbox, with the git of this machine: a way that leads nowhere proves nothing.
"""

import json
import os
import subprocess
from typing import NamedTuple

import pytest
from driver import make_repository


class Way(NamedTuple):
    """How code is left behind, and how it comes to run. `$RUN` is a command that leaves a mark."""

    prepare: str
    """What the repository is like, by its owner's doing."""
    leave: str
    """What the command inside does."""
    later: str
    """What its owner does outside, sooner or later."""
    named: str = ""
    """What is named afterwards; nothing, if the kernel holds it."""


EVIL = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = %s\\n' \"$RUN\""
STORE = "mkdir -p {0}/objects {0}/refs; echo 'ref: refs/heads/main' > {0}/HEAD; "
SUBMODULE = (
    "mkdir -p .git/modules; git init -q sub --separate-git-dir .git/modules/sub;"
    "git -C sub commit -q --allow-empty -m one; git add sub"
)

WAYS = {
    "settings included that are not there": Way(
        "git config include.path ../local.cfg", f"{EVIL} > local.cfg", "git status"
    ),
    "settings included that are not there, in the store": Way(
        "git config include.path extra.cfg", f"{EVIL} > .git/extra.cfg", "git status"
    ),
    "settings included in a folder that is not there": Way(
        "git config include.path ../conf/git.cfg", f"mkdir conf; {EVIL} > conf/git.cfg", "git status"
    ),
    "settings that included settings include": Way(
        "git config include.path ../a.cfg; printf '[include]\\n\\tpath = b.cfg\\n' > a.cfg",
        f"{EVIL} > b.cfg",
        "git status",
    ),
    "hooks that included settings name": Way(
        "git config include.path ../a.cfg; printf '[core]\\n\\thooksPath = tools\\n' > a.cfg",
        "mkdir tools; printf '#!/bin/sh\\n%s' \"$RUN\" > tools/pre-commit; chmod +x tools/pre-commit",
        "git commit -q --allow-empty -m more",
    ),
    "hooks in the workspace itself": Way(
        'git config core.hooksPath "$PWD"',
        "printf '#!/bin/sh\\n%s' \"$RUN\" > pre-commit; chmod +x pre-commit",
        "git commit -q --allow-empty -m more",
    ),
    "a hook in the workspace itself that is there": Way(
        "git config core.hooksPath \"$PWD\"; printf '#!/bin/sh\\n' > pre-commit; chmod +x pre-commit",
        'echo "$RUN" >> pre-commit',
        "git commit -q --allow-empty -m more",
    ),
    "a template of repositories": Way(
        'git config --file "$HOME/.gitconfig" init.templateDir "$PWD/template"',
        "mkdir -p template/hooks; printf '#!/bin/sh\\n%s' \"$RUN\" > template/hooks/post-checkout;"
        "chmod +x template/hooks/post-checkout",
        "git clone -q . ../clone",
    ),
    "another worktree's common folder": Way(
        "git worktree add -q ../other",
        STORE.format("evil") + f"{EVIL} > evil/config; echo ../../../evil > .git/worktrees/other/commondir",
        "git -C ../other status",
    ),
    "another worktree's own settings": Way(
        "git worktree add -q ../other; git config extensions.worktreeConfig true",
        f"{EVIL} > .git/worktrees/other/config.worktree",
        "git -C ../other status",
    ),
    "a submodule's common folder": Way(
        SUBMODULE,
        STORE.format("evil") + f"{EVIL} > evil/config; echo ../../../evil > .git/modules/sub/commondir",
        "git status",
    ),
    "a new submodule's settings": Way(
        "true",
        f"{SUBMODULE}; {EVIL} > .git/modules/sub/config",
        "git status",
        ".git/modules/sub/config",
    ),
    "a rebase to go on with": Way(
        "true",
        'echo break > todo; echo "exec $RUN" >> todo; GIT_SEQUENCE_EDITOR="cp $PWD/todo" git rebase -q -i HEAD~1',
        "git rebase --continue",
        ".git/rebase-merge",
    ),
    "a store without a name": Way(
        "true",
        STORE.format("docs") + f"{EVIL} > docs/config; git --git-dir docs config core.worktree .",
        "git -C docs status",
        "docs/config",
    ),
    "the workspace as a store": Way(
        "true",
        STORE.format(".") + f"{EVIL} > config; git --git-dir . config core.worktree .; rm .git/HEAD",
        "git status",
        "config",
    ),
}


def carry_out(script, world, mark):
    """Run a script of git's outside, as whoever works in the workspace."""
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    return subprocess.run(
        ["sh", "-c", script],
        env=world.environ | {"RUN": f"touch {mark};:"} | dict.fromkeys(names, "nobody"),
        cwd=world.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def set_up(world, way):
    make_repository(world)
    done = carry_out(f"git commit -q --allow-empty -m a; git commit -q --allow-empty -m b; {way.prepare}", world, "")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", WAYS)
def test_without_a_sandbox_each_way_leads_to_code_that_runs(own_world, name):
    way, mark = WAYS[name], own_world.base / "mark"
    set_up(own_world, way)
    carry_out(way.leave, own_world, mark)
    assert not mark.exists()
    carry_out(way.later, own_world, mark)
    assert mark.exists()


@pytest.mark.parametrize("name", WAYS)
def test_git_outside_runs_nothing_that_was_left_inside_or_it_was_named(own_world, name):
    way, mark = WAYS[name], own_world.base / "mark"
    set_up(own_world, way)
    before = {path for path in own_world.left_over() if path.startswith(".git/")}
    own_world.configure("profiles: {mine: {environment: [RUN, GIT_AUTHOR_NAME, GIT_AUTHOR_EMAIL]}}")
    said = {"RUN": f"touch {mark};:", "GIT_AUTHOR_NAME": "nobody", "GIT_AUTHOR_EMAIL": "nobody"}
    said |= {"GIT_COMMITTER_NAME": "nobody", "GIT_COMMITTER_EMAIL": "nobody"}
    done = own_world.sh(way.leave, environ=said, options=["--profile", "mine", "--json"])
    last = json.loads([line for line in done.stderr.splitlines() if line.startswith("{")][-1])
    named = last["payload"].get("programs", {"paths": []})["paths"]
    carry_out(way.later, own_world, mark)
    if way.named:
        assert str(own_world.workspace / way.named) in named
    else:
        assert not mark.exists()
        # Nothing of ours stays where it would be in anybody's way.
        assert not any(os.path.lexists(own_world.workspace / name) for name in ("local.cfg", "conf", "b.cfg", "tools"))
        assert not (own_world.workspace / ".git/extra.cfg").exists()
        made = {path for path in own_world.left_over() if path.startswith(".git/")} - before
        assert not [path for path in made if path.endswith(("config.worktree", "commondir", "attributes"))]


EVERYDAY = """
set -e
git checkout -q -b side; echo a > a; git add a; git commit -q -m a
git checkout -q -; echo b > b; git add -A; git commit -q -m b
git rebase -q side; git merge -q --no-ff --no-edit side || true
git cherry-pick --allow-empty --keep-redundant-commits -x side >/dev/null
git stash list; git tag t; git worktree add -q inner; git worktree remove inner
git -C sub commit -q --allow-empty -m more; git add -A; git commit -q -m c; git gc -q; git status --porcelain
"""


def test_and_everyday_work_goes_on_with_all_of_that_protected(own_world):
    set_up(own_world, WAYS["a submodule's common folder"])
    done = carry_out("git worktree add -q ../other; git config include.path extra.cfg; git commit -qm s", own_world, "")
    assert done.returncode == 0, done.stderr
    own_world.configure("profiles: {mine: {environment: [GIT_AUTHOR_NAME]}}")
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    done = own_world.sh(EVERYDAY, environ=dict.fromkeys(names, "nobody"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "may run later" not in done.stderr

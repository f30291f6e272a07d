"""The layers of a folder: all of them or an error, a project's only as far as trusted, always current."""

import os
import time
from pathlib import Path

import pytest

from assent.config import layers
from assent.config.layers import Layers, LivePolicies, load_layers
from assent.config.trust import trust, trust_file
from assent.model import ConfigError, Layer, Mode, Workspace


class World:
    """A home, a managed file and a project on a real disk."""

    def __init__(self, base):
        self.home = base / "home"
        self.project = base / "project"
        self.managed = base / "etc" / "assent.yaml"
        self.user = self.home / ".config" / "assent" / "assent.yaml"
        self.assent_home = str(base / "state")
        for folder in (self.user.parent, self.project / ".git", self.project / "src", self.managed.parent):
            folder.mkdir(parents=True)
        self.file = self.project / "assent.yaml"
        self.options = {
            "environ": {"HOME": str(self.home), "ASSENT_HOME": self.assent_home},
            "managed_file": str(self.managed),
            "managed_owner": os.geteuid(),
        }

    def load(self, cwd=None):
        return load_layers(str(cwd or self.project / "src"), **self.options)

    def live(self):
        return LivePolicies(str(self.project / "src"), **self.options)


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_no_files_are_no_policies_in_the_projects_workspace(world):
    assert world.load() == Layers(workspace=Workspace((str(world.project),)))


def test_all_layers_are_found_the_most_trusted_first(world):
    world.managed.write_text("permissions: {mode: strict}")
    world.user.write_text("permissions: {mode: auto}")
    world.file.write_text("permissions: {mode: plan}")
    found = world.load().policies
    assert [(p.layer, p.mode, p.file) for p in found] == [
        (Layer.MANAGED, Mode.STRICT, str(world.managed)),
        (Layer.USER, Mode.AUTO, str(world.user)),
        (Layer.PROJECT, Mode.PLAN, str(world.file)),
    ]


@pytest.mark.parametrize("layer", ["managed", "user", "file"])
@pytest.mark.parametrize("text", ["permissions: [", "", "permissions: {allow: [Bash(]}", "\0"])
def test_one_broken_file_is_an_error_and_no_layers(world, layer, text):
    world.user.write_text("permissions: {mode: auto}")
    getattr(world, layer).write_text(text)
    with pytest.raises(ConfigError) as caught:
        world.load()
    assert caught.value.file == str(getattr(world, layer))


@pytest.mark.parametrize("layer", ["managed", "user", "file"])
def test_a_link_to_nothing_is_no_absent_file(world, layer):
    getattr(world, layer).symlink_to("nowhere")
    with pytest.raises(ConfigError, match="dangling symbolic link"):
        world.load()


def test_a_managed_file_that_everyone_may_write_is_an_error(world):
    world.managed.write_text("permissions: {}")
    world.managed.chmod(0o666)
    with pytest.raises(ConfigError, match="writable by other users"):
        world.load()


def test_damaged_trust_is_an_error_once_a_project_has_rules(world):
    damaged = Path(trust_file(world.assent_home))
    damaged.parent.mkdir(mode=0o700)
    damaged.write_text("{")
    assert world.load().policies == ()
    world.file.write_text("permissions: {}")
    with pytest.raises(ConfigError, match="damaged"):
        world.load()


@pytest.mark.parametrize(
    ("text", "notices"),
    [
        ("permissions: {deny: [Bash]}", ()),
        (
            "permissions: {allow: [Read]}",
            ("project rules are not trusted: 1 allow rule ignored; run `assent trust`",),
        ),
        (
            "permissions: {allow: [Read, Bash], write: {allow: [/x]}, read: {allow: [/y]}}",
            ("project rules are not trusted: 4 allow rules ignored; run `assent trust`",),
        ),
        (
            "permissions: {mode: bypass, classifier: off}",
            (
                "a project cannot loosen the mode: bypassPermissions ignored",
                "a project cannot disable the classifier: ignored",
            ),
        ),
    ],
)
def test_what_does_not_count_is_said(world, text, notices):
    world.file.write_text(text)
    found = world.load()
    assert found.notices == notices
    assert found.policies[0].trusted is False


def test_the_user_may_say_what_a_project_may_not(world):
    world.user.write_text("permissions: {mode: bypass, classifier: off, allow: [Read]}")
    found = world.load()
    assert found.notices == ()
    assert found.policies[0].mode is Mode.BYPASS


def test_a_trusted_projects_allow_rules_count_until_a_byte_changes(world):
    world.file.write_text("permissions: {allow: [Read]}")
    trust(str(world.file), home=world.assent_home)
    found = world.load()
    assert found.policies[0].trusted
    assert found.notices == ()
    world.file.write_text("permissions: {allow: [Read]}\n")
    assert not world.load().policies[0].trusted


def test_a_project_can_not_move_the_workspace(world):
    world.file.write_text("workspace: [/srv]")
    with pytest.raises(ConfigError, match="cannot define the workspace"):
        world.load()


def test_the_users_roots_join_the_workspace_under_all_their_names(world, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    world.user.write_text(f"workspace: [{tmp_path}/link, ~/notes, {world.project}]")
    assert world.load().workspace.roots == (
        str(world.project),
        f"{tmp_path}/link",
        f"{tmp_path}/data",
        f"{world.home}/notes",
    )


def test_at_home_there_is_no_workspace_but_the_layers_hold(world):
    world.user.write_text("permissions: {mode: plan}")
    found = world.load(world.home)
    assert found.workspace.roots == ()
    assert found.policies[0].mode is Mode.PLAN


def test_a_folder_that_is_not_there_has_the_users_layers_alone(world):
    world.user.write_text("permissions: {mode: plan}")
    world.file.write_text("permissions: {mode: strict}")
    found = world.load(world.project / "none")
    assert [p.layer for p in found.policies] == [Layer.USER]
    assert found.workspace.roots == ()


def mode_of(live):
    return live.current().policies[0].mode


def test_a_change_is_seen_and_no_change_reads_nothing(world, monkeypatch):
    world.user.write_text("permissions: {mode: plan}")
    live = world.live()
    assert mode_of(live) is Mode.PLAN
    world.user.write_text("permissions: {mode: auto}")
    assert mode_of(live) is Mode.AUTO
    monkeypatch.setattr(layers, "_SETTLED_AFTER", -(10**18))
    live.current()
    monkeypatch.setattr(layers, "_load", None)
    assert mode_of(live) is Mode.AUTO


def test_a_file_that_appears_or_goes_is_seen(world):
    live = world.live()
    assert live.current().policies == ()
    world.file.write_text("permissions: {mode: plan}")
    assert [p.layer for p in live.current().policies] == [Layer.PROJECT]
    world.file.unlink()
    assert live.current().policies == ()


def test_trust_given_while_running_is_seen(world):
    world.file.write_text("permissions: {allow: [Read]}")
    live = world.live()
    assert not live.current().policies[0].trusted
    trust(str(world.file), home=world.assent_home)
    assert live.current().policies[0].trusted
    assert live.notices == ()


def test_a_change_of_content_alone_with_the_time_set_back_is_seen(world, monkeypatch):
    world.user.write_text("permissions: {mode: plan}")
    live = world.live()
    live._settled = True
    before = world.user.stat()
    time.sleep(0.02)
    with world.user.open("r+") as file:
        file.write("permissions: {mode: auto}")
    os.utime(world.user, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert mode_of(live) is Mode.AUTO


def test_two_changes_within_one_tick_are_both_seen(world, monkeypatch):
    world.user.write_text("permissions: {mode: plan}")
    monkeypatch.setattr(layers, "_stamp", lambda path: (1, time.time_ns() // 10**12 * 10**12 + 10**12))
    live = world.live()
    world.user.write_text("permissions: {mode: auto}")
    assert mode_of(live) is Mode.AUTO


def test_while_a_file_is_broken_the_last_good_layers_hold(world):
    world.user.write_text("permissions: {deny: [Bash]}")
    live = world.live()
    assert live.fault is None
    world.user.write_text("permissions: {deny: [Bash(]}")
    found = live.current()
    assert [rule.text for rule in found.policies[0].deny] == ["Bash"]
    assert live.fault is not None
    assert f"{world.user}:1: permissions.deny: Permission rule at index 0 is invalid" in live.fault
    assert live.notices == found.notices == (f"the previous rules stay in force: {live.fault}",)
    assert live.current() == found
    world.user.write_text("permissions: {deny: [Write]}")
    assert [rule.text for rule in live.current().policies[0].deny] == ["Write"]
    assert (live.fault, live.notices) == (None, ())


def test_an_emptied_file_takes_no_deny_away(world):
    world.user.write_text("permissions: {deny: [Bash]}")
    live = world.live()
    world.user.write_text("")
    assert len(live.current().policies[0].deny) == 1
    assert live.fault is not None


def test_a_first_load_that_fails_raises(world):
    world.user.write_text("permissions: [")
    with pytest.raises(ConfigError):
        world.live()


def test_the_project_of_the_start_stays_the_project(world):
    world.file.write_text("permissions: {deny: [Bash]}")
    live = world.live()
    (world.project / "src" / "assent.yaml").write_text("permissions: {}")
    found = live.current()
    assert found.workspace.roots == (str(world.project),)
    assert len(found.policies[0].deny) == 1

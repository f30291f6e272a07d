"""Which boundary `assent run` sets: what a user asks for, and never more than the organisation lets through."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from assent.cli.options import sandbox_profile
from assent.config.layers import load_layers
from assent.model import Layer, Network, Policy


@pytest.fixture
def project(here, monkeypatch):
    monkeypatch.chdir(here.project)
    return str(here.project)


def find(project, *hosts, name="agent", command=("claude",)):
    return sandbox_profile.find_boundary(project, name, hosts, command, ask=False)


def test_a_known_agent_reaches_its_model_and_what_the_user_names(project, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    found = find(project, "docs.test")
    assert {"docs.test", "api.anthropic.com"} <= set(found.network.hosts)
    assert "ANTHROPIC_API_KEY" in found.environment
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://gateway.test/v1")
    assert find(project).network == Network("hosts", ("gateway.test",))


@pytest.mark.parametrize(("name", "command"), [("agent", ("sh",)), ("workspace-write", ("claude",))])
def test_no_other_command_and_no_other_profile_gets_what_is_an_agents_own(project, name, command):
    found = find(project, name=name, command=command)
    assert "api.anthropic.com" not in found.network.hosts
    assert found.environment == ()
    assert sandbox_profile.find_state(found, command) is None


def test_nobody_reaches_more_than_the_organisation_lets_through(project, monkeypatch):
    managed = Policy(layer=Layer.MANAGED, profile="read-only")
    real = load_layers(project)
    monkeypatch.setattr(
        sandbox_profile, "load_layers", lambda _: msgspec.structs.replace(real, policies=(*real.policies, managed))
    )
    found = find(project, "docs.test")
    assert found.network.mode == "off"
    assert found.write_roots == ()
    assert found.environment == ()


def test_what_an_agent_planted_where_settings_would_be_is_gone_the_next_time(project, here):
    found = find(project)
    state = sandbox_profile.find_state(found, ("claude",))
    own = next(source for source, place in state.written if place.endswith("/.claude"))
    for name in ("settings.json", "hooks"):
        (Path(own) / name).mkdir()
    sandbox_profile.find_state(found, ("claude",))
    assert not [name for name in ("settings.json", "hooks") if (Path(own) / name).exists()]


@pytest.mark.parametrize("name", ["off", "agent", "read-only"])
def test_a_project_can_not_open_the_box(project, here, name):
    (here.project / "assent.yaml").write_text(f"permissions: {{profile: {name}}}")
    found = find(project, name=None, command=("make",))
    assert found is not None
    assert not found.unix_sockets
    assert set(found.write_roots) <= {project}


def test_the_user_may_ask_for_no_box(project, here):
    here.user_file.write_text("permissions: {profile: off}")
    assert find(project, name=None, command=("make",)) is None
    (here.project / "assent.yaml").write_text("permissions: {profile: read-only}")
    assert find(project, name=None, command=("make",)).write_roots == ()

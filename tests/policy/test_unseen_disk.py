"""`unknown_repository`: no look that obeys project settings passes where Assent cannot see the project."""

from __future__ import annotations

import pytest

from assent.catalog import entries, parse_entry
from assent.model import CommandEntry, Facts, Layer, Policy, Session, ToolCall, Verdict
from assent.policy.engine import Engine
from scenes import policy

SESSION = Session(user="u", agent="a", id="s", workspace=("/code/app",))


def levels(entry):
    yield entry
    for child in entry.subcommands.values():
        yield from levels(child)


class Unseen:
    """Decides lines of an agent whose disk cannot be seen, and notes whose settings each would obey."""

    def __init__(self, *policies):
        self.obeyed: set[str] = set()
        facts = Facts(home="/home/u", trap=self.trap)
        self.engine = Engine(policies, facts=lambda: facts)

    def trap(self, tool, _folder):
        self.obeyed.add(tool)

    def decide(self, line):
        self.obeyed.clear()
        return self.engine.decide(ToolCall(tool="Bash", input={"command": line}, cwd="/code/app"), SESSION)


@pytest.fixture(scope="module")
def obedient():
    """Give every safe example of the catalog that obeys project settings."""
    unseen = Unseen()
    lines = [line for part in entries() for level in levels(parse_entry(part)) for line in level.examples.safe]
    return [line for line in lines if unseen.decide(line).verdict is Verdict.ALLOW and unseen.obeyed]


def test_many_examples_obey_project_settings(obedient):
    assert len(obedient) > 500


@pytest.mark.parametrize("verdict", [Verdict.ASK, Verdict.DENY])
def test_no_example_that_obeys_project_settings_passes_on_an_unseen_disk(obedient, verdict):
    careful = Unseen(policy(unknown_repository=verdict))
    assert [line for line in obedient if careful.decide(line).verdict is not verdict] == []


@pytest.mark.parametrize("line", ["gh pr list", "hub browse", "glab mr list", "svn log", "svn status"])
def test_a_checkout_that_names_its_server_is_asked_about(line):
    assert Unseen(policy(unknown_repository=Verdict.ASK)).decide(line).verdict is Verdict.ASK


@pytest.mark.parametrize("line", ["ls", "cat a.py", "rg x", "find . -name a", "echo git"])
def test_what_obeys_no_project_settings_passes(line):
    assert Unseen(policy(unknown_repository=Verdict.ASK)).decide(line).verdict is Verdict.ALLOW


def test_what_a_command_found_inside_another_obeys_counts():
    careful = Unseen(policy(unknown_repository=Verdict.ASK))
    for line in ("timeout 5 cargo metadata", "find . -exec git log {} +", "ls; (cd x && npm ls)"):
        decision = careful.decide(line)
        assert decision.verdict is Verdict.ASK, line


@pytest.mark.parametrize("layer", [Layer.USER, Layer.PROJECT])
@pytest.mark.parametrize(("name", "asked"), [("lookup", True), ("ls", True), ("git", True)])
def test_what_a_policy_says_that_a_command_obeys_counts_too(name, asked, layer):
    entry = {"does": "looks", "tier": "safe", "obeys": "node", "args": "text*"}
    said = CommandEntry(names=(name,), entry=entry)
    careful = Unseen(Policy(commands=(said,), layer=layer), policy(unknown_repository=Verdict.ASK))
    assert (careful.decide(f"{name} x").verdict is Verdict.ASK) is asked

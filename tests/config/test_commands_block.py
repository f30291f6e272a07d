"""Entries for commands in `assent.yaml`: the user's count instead of the catalog, a project's only where stricter."""

from __future__ import annotations

import pytest

from assent.config import commands_block
from assent.config.assent_yaml import parse_assentfile
from assent.model import ConfigError, Layer, Policy, Session, ToolCall
from assent.policy.engine import Engine

SESSION = Session(workspace=("/code",))


def load(text: str, layer: Layer = Layer.USER) -> Policy:
    return parse_assentfile(text.encode(), "assent.yaml", layer=layer).policy


def decide(line: str, *policies: Policy) -> str:
    return Engine(policies).decide(ToolCall(tool="Bash", input={"command": line}, cwd="/code"), SESSION).decision


TOOL = """
commands:
  tool, tool2:
    does: changes things
    tier: dangerous
    subcommands:
      show: {does: shows things, tier: safe, args: read*}
    examples: {safe: [tool show x], not_safe: [tool x, tool2]}
"""


def test_an_entry_of_the_user_makes_a_command_known():
    policy = load(TOOL)
    assert decide("tool show a", policy) == "allow"
    assert decide("tool2 show a | head", policy) == "allow"
    assert decide("tool set a", policy) == "ask"
    assert decide("tool show .env", policy) == "ask"
    assert decide("tool show a") == "ask"


def test_an_entry_speaks_for_no_path():
    assert decide("./tool show a", load(TOOL)) == "ask"


def test_an_entry_of_a_project_makes_nothing_safe():
    assert decide("tool show a", load(TOOL, Layer.PROJECT)) == "ask"
    loose = "commands: {rm: {does: removes, tier: safe, flags: '-[rf]', args: 'text*'}}"
    for line in ("rm x", "rm -rf /", "sh -c 'rm x'"):
        assert decide(line, load(loose, Layer.PROJECT)) == decide(line)


STRICT = """
commands:
  git: {does: is not used here, tier: dangerous}
  ship: {does: ships, tier: destructive, args: text*, impact: "ships {args}", rollback: none}
  find: {does: walks for hours, tier: dangerous, args: text*, options: any}
  f: {does: is dangerous, tier: dangerous}
  python: {does: is old, tier: destructive, versioned: true, options: any, args: text*, impact: x, rollback: x}
"""


@pytest.mark.parametrize("layer", [Layer.PROJECT, Layer.USER, Layer.MANAGED])
def test_an_entry_of_anybody_may_be_stricter(layer):
    policy = load(STRICT, layer)
    assert decide("git status", policy) == "ask"
    assert decide("ls && env git status", policy) == "ask"
    assert decide("ship x", policy) == "deny"
    assert decide("find . -name x", policy) == "ask"
    assert decide("python3.12 -V -V", policy) == "deny"
    assert decide("ls", policy) == "allow"


def test_the_strictest_of_all_layers_counts():
    user = load("commands: {git: {does: is fine, tier: safe, options: any, args: 'text*'}}")
    project = load("commands: {git: {does: is not, tier: dangerous, options: any, args: 'text*'}}", Layer.PROJECT)
    assert decide("git push", user) == "allow"
    assert decide("git push", user, project) == "ask"
    assert decide("git push", project, user) == "ask"


def test_the_organisation_has_the_last_word():
    user = load("commands: {ship: {does: ships, tier: safe}}")
    managed = load("commands: {ship: {does: ships, tier: dangerous}}", Layer.MANAGED)
    assert decide("ship", user) == "allow"
    assert decide("ship", user, managed) == "ask"
    assert decide("ship", managed, user) == "ask"


def test_what_the_catalog_knows_that_a_command_touches_and_runs_still_counts():
    policy = load(
        "commands: {tee: {does: copies, tier: safe, args: 'text*'}, "
        "env: {does: runs, tier: safe, options: any, args: 'text*'}}"
    )
    assert decide("echo x | tee out.txt", policy) == "allow"
    assert decide("echo x | tee /etc/hosts", policy) == "ask"
    assert decide("env rm -rf /", policy) == "deny"


def test_what_an_entry_says_that_a_command_touches_counts_as_well():
    assert decide("echo .env", load("commands: {echo: {does: reads, tier: safe, args: 'read*'}}")) == "ask"


def test_a_program_of_the_workspace_stays_unknown():
    assert decide("$X show a", load(TOOL)) == "ask"


SAFE = "commands:\n  x:\n    does: a\n    tier: safe\n"

#: the block, the line at fault, what is said
FAULTS = [
    ("commands: []", 1, "Expected commands to be an object."),
    ("commands:\n  ./x: {does: a, tier: safe}", 2, "`./x` is not the name of a program"),
    ("commands:\n  a b: {does: a, tier: safe}", 2, "`a b` is not the name of a program"),
    ("commands:\n  x: {does: a, tier: safe}\n  y, x: {does: a, tier: safe}", 3, "`x` is given twice"),
    ("commands:\n  x:\n    does: a\n", 2, "commands.x: `tier` is missing"),
    ("commands:\n  x: 1", 2, "commands.x: expected `object`"),
    ("commands:\n  x: ~", 2, "commands.x: expected `object`"),
    ("commands:\n  x:\n    does: a\n    tire: safe\n", 4, "`tire` is no key here; did you mean `tier`?"),
    (
        "commands:\n  x:\n    does: a\n    tier: saef\n",
        4,
        "commands.x.tier: `saef` is no word for this; did you mean `safe`?",
    ),
    ("commands:\n  x:\n    does: a\n    tier:\n      saef\n", 5, "did you mean `safe`?"),
    ("commands:\n  x:\n    does: a\n    tier:\n    flags: -a\n", 4, "commands.x.tier: expected `str`, got `null`"),
    ("commands:\n  x:\n    tier: destructive\n    does: a\n", 3, "needs `impact` and `rollback` as well"),
    (SAFE + "    frob:\n      1\n", 5, "`frob` is no key here"),
    (SAFE + "    options: gunu\n", 5, "did you mean `gnu`?"),
    (SAFE + "    args: raed*\n", 5, "did you mean `read`?"),
    (
        SAFE + "    values:\n      -a: text\n      -o: wirte\n",
        7,
        "commands.x.values.-o: `wirte` is no word for this; did you",
    ),
    (SAFE + "    values:\n      --x/y:\n        text\n", 6, "`--x/y` is no option with a value"),
    (SAFE + "    subcommands:\n      y:\n        does: b\n        tier: saffe\n", 8, "did you mean `safe`?"),
    (SAFE + "    subcommands: {y: {tier: safe}}\n", 5, "commands.x.subcommands.y: `does` is missing"),
    (SAFE + "    skip: " + "9" * 5000, 5, "expected `int`"),
    (SAFE + "    when:\n      - {least: many}\n", 6, "commands.x.when[0].least: expected `int`"),
    (SAFE + "    when:\n      - least: 1\n        first: (\n", 7, "not an expression"),
    (SAFE + "    when:\n      - value:\n          -a: (?!x)\n", 7, "not an expression"),
    (
        SAFE + "    when:\n      - least: 1\n      - most: 1\n        tier: destructive\n",
        8,
        "commands.x.when[1].tier: what is",
    ),
    (
        SAFE + "    examples:\n      safe: [x]\n      not_safe:\n        - x -a\n        - x\n",
        9,
        "the example `x` is safe, though it is listed under `not_safe`",
    ),
    (
        (
            "commands:\n  x:\n    does: a\n    tier: safe\n"
            "    subcommands: {y: {does: b, tier: dangerous, examples: {safe: [x y]}}}"
        ),
        5,
        "the example `x y` is dangerous, though it is listed under `safe`: x y b",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), FAULTS)
def test_a_fault_is_named_with_its_line(text, line, message):
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert (caught.value.line, message in caught.value.message) == (line, True), caught.value


def test_a_fault_of_an_entry_is_told_on_one_line():
    with pytest.raises(ConfigError) as caught:
        load(SAFE + '    "frob\\n frob": 1\n')
    assert str(caught.value) == "assent.yaml:5: commands.x.frob frob: `frob frob` is no key here"


def test_there_is_a_bound_to_examples(monkeypatch):
    monkeypatch.setattr(commands_block, "MOST_EXAMPLES", 1)
    with pytest.raises(ConfigError, match="at most 1 examples"):
        load("commands: {x: {does: a, tier: safe, examples: {safe: [x, x]}}}")


def test_values_are_taken_as_they_are_meant():
    text = "commands: {x: {does: a, tier: dangerous, args: 'text*', when: [{most: 1, instead: yes, tier: safe}]}}"
    assert decide("x a", load(text)) == "allow"
    assert decide("x a b", load(text)) == "ask"


def test_an_expression_can_not_take_long():
    slow = "commands: {x: {does: a, tier: safe, args: 'text*', when: [{arg: '(a*)*b', tier: dangerous}]}}"
    assert decide("x " + "a" * 5000, load(slow)) == "allow"


def test_entries_are_part_of_the_version_of_a_policy():
    assert load(TOOL).version != load("permissions: {}").version

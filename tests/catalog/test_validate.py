"""An entry is written in words that are known: of those that nobody could mean the first is named."""

import pytest

from assent.catalog import entries, parse_entry
from assent.catalog.overlay import build_lexicon, convert_entry
from assent.catalog.validate import EntryError, check_wording, describe_path
from assent.model import CommandEntry, ConfigError, Origin, Policy

BELOW = {"does": "x", "tier": "safe"}

#: what is said besides, where in it the fault is, and what is told
FAULTS = [
    ({"args": "txt*"}, ".args", "`txt` in args is no role; did you mean `text`?"),
    ({"args": "qqqq"}, ".args", "`qqqq` in args is no role: it is one of `text`, `number`, `read`,"),
    ({"args": "text* read*"}, ".args", "one role may be repeated"),
    ({"flags": "-[abc"}, ".flags", "`-[abc` in flags is no option"),
    ({"flags": "a -b"}, ".flags", "`a` in flags is no option"),
    ({"values": {"--x/y": "text"}}, ".values.--x/y", "`--x/y` is no option with a value"),
    ({"optional": {"--x/0": "text"}}, ".optional.--x/0", "`--x/0` is no option with a value"),
    ({"when": [{"any": "-q"}]}, ".when[0].any", "`-q` in when is none of its options"),
    ({"flags": "-f", "when": [{"all": "-f|-q"}]}, ".when[0].all", "`-q` in when is none of its options"),
    ({"flags": "--quiet", "when": [{"unless": "--queit"}]}, ".when[0].unless", "did you mean `--quiet`?"),
    ({"when": [{}, {"value": {"-x": "a"}}]}, ".when[1].value.-x", "`-x` in when is none of its options"),
    ({"when": [{"every": {"-x": "("}}]}, ".when[0].every.-x", "`(` is not an expression that can be used"),
    ({"when": [{"args": "nothing"}]}, ".when[0].args", "`nothing` in args is no role"),
    ({"subcommands": {"b": BELOW | {"args": "raed"}}}, ".subcommands.b.args", "did you mean `read`?"),
    (
        {"flags": "-q", "subcommands": {"b": BELOW | {"when": [{"any": "-q"}]}}},
        ".subcommands.b.when[0].any",
        "`-q` in when",
    ),
    ({"subcommands": {"b": BELOW | {"when": [{"first": "("}]}}}, ".subcommands.b.when[0].first", "not an expression"),
]

SHAPES = [
    ({"tire": "safe"}, ".tire", "`tire` is no key here; did you mean `tier`?"),
    ({"when": [{"tier": "safe"}], "tire": "safe"}, ".tire", "`tire` is no key here; did you mean `tier`?"),
    ({"x" * 99: 1}, "." + "x" * 79 + "…", "x…` is no key here"),
    ({7: 1}, ".7", "`7` is no key here"),
    ({"tier": "saef"}, ".tier", "`saef` is no word for this; did you mean `safe`?"),
    ({"tier": "x"}, ".tier", "`x` is no word for this: it is one of `safe`, `dangerous`, `destructive`"),
    ({"tier": 1}, ".tier", "expected `str`, got `int`"),
    ({"options": "gunu"}, ".options", "did you mean `gnu`?"),
    ({"runs": "x"}, ".runs", "it is one of `words`, `line`,"),
    ({"values": {"-a": "text", "-o": "wirte"}}, ".values.-o", "`wirte` is no word for this; did you mean `write`?"),
    ({"values": "-o"}, ".values", "expected `object`, got `str`"),
    ({"values": {1: "text"}}, "", "expected `str`"),
    ({"informs": 1}, ".informs", "expected `str | null`, got `int`"),
    ({"when": [{}, {"runs": "wrods"}]}, ".when[1].runs", "did you mean `words`?"),
    ({"when": [{"roles": {"-o": "raed"}}]}, ".when[0].roles.-o", "did you mean `read`?"),
    ({"when": {}}, ".when", "expected `array`, got `object`"),
    ({"subcommands": {"b": {"tier": "safe"}}}, ".subcommands.b", "`does` is missing"),
    ({"subcommands": {"b": BELOW | {"tier": "saffe"}}}, ".subcommands.b.tier", "did you mean `safe`?"),
    ({"examples": {"safe": ["x", 1]}}, ".examples.safe[1]", "expected `str`, got `int`"),
]

DESTRUCTIVE = {"tier": "destructive"}
ONE_WAY = [
    (DESTRUCTIVE, ".tier", "needs `impact` and `rollback` as well"),
    (DESTRUCTIVE | {"impact": "removes it", "rollback": " "}, ".tier", "needs `rollback` as well"),
    ({"when": [DESTRUCTIVE | {"rollback": "none"}]}, ".when[0].tier", "needs `impact` as well"),
    ({"subcommands": {"b": BELOW | DESTRUCTIVE}}, ".subcommands.b.tier", "needs `impact` and `rollback` as well"),
]


@pytest.mark.parametrize(("said", "place", "reason"), FAULTS + SHAPES + ONE_WAY)
def test_what_nobody_could_mean_is_named(said, place, reason):
    with pytest.raises(EntryError) as fault:
        convert_entry({"does": "shows", "tier": "safe", **said})
    assert reason in fault.value.message
    assert describe_path(fault.value.path) == place


@pytest.mark.parametrize(
    ("said", "at_key"), [({"tire": "safe"}, True), ({"tier": "saef"}, False), ({"values": {"--x/y": "text"}}, True)]
)
def test_a_fault_is_that_of_a_key_or_of_what_stands_behind_it(said, at_key):
    with pytest.raises(EntryError) as fault:
        convert_entry({"does": "shows", "tier": "safe", **said})
    assert fault.value.at_key is at_key


def test_what_says_what_it_hits_and_how_to_go_back_may_be_destructive():
    whole = DESTRUCTIVE | {"impact": "removes it", "rollback": "none"}
    assert convert_entry({"does": "removes", **whole, "when": [whole]})


def test_an_entry_that_no_file_was_checked_for_is_named_with_where_it_comes_from():
    written = CommandEntry(
        names=("a", "b"), entry=BELOW | {"when": [{"tier": "saef"}]}, origin=Origin(file="f", line=3)
    )
    with pytest.raises(
        ConfigError, match=r"^f:3: commands\.a, b\.when\[0\]\.tier: `saef` is no word for this; did you"
    ):
        build_lexicon([Policy(commands=(written,))])


def test_options_of_the_level_above_are_known_where_they_are_inherited():
    below = {"b": {"does": "shows", "tier": "safe", "when": [{"any": "-q"}]}}
    assert convert_entry({"does": "x", "tier": "safe", "flags": "-q +", "inherit": True, "subcommands": below})


def test_the_catalog_itself_is_written_so():
    faults = {}
    for part in entries():
        try:
            check_wording(parse_entry(part))
        except ConfigError as fault:
            faults[part.names[0]] = fault.message
    assert faults == {}

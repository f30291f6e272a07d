"""An entry is written in words that are known: of those that nobody could mean the first is named."""

import pytest

from assent.catalog import entries, parse_entry
from assent.catalog.lexicon import convert_entry
from assent.catalog.wording import check_wording
from assent.model import ConfigError

FAULTS = [
    ({"args": "txt*"}, "`txt` in args is no role; did you mean `text`?"),
    ({"args": "text* read*"}, "one role may be repeated"),
    ({"flags": "-[abc"}, "`-[abc` in flags is no option"),
    ({"flags": "a -b"}, "`a` in flags is no option"),
    ({"values": {"--x/y": "text"}}, "`--x/y` is no option with a value"),
    ({"values": {"--x/0": "text"}}, "`--x/0` is no option with a value"),
    ({"when": [{"any": "-q"}]}, "`-q` in when is none of its options"),
    ({"flags": "--quiet", "when": [{"unless": "--queit"}]}, "did you mean `--quiet`?"),
    ({"when": [{"value": {"-x": "a"}}]}, "`-x` in when is none of its options"),
    ({"when": [{"args": "nothing"}]}, "`nothing` in args is no role"),
    ({"subcommands": {"b": {"does": "x", "tier": "safe", "args": "raed"}}}, "did you mean `read`?"),
    ({"flags": "-q", "subcommands": {"b": {"does": "x", "tier": "safe", "when": [{"any": "-q"}]}}}, "`-q` in when"),
]


@pytest.mark.parametrize(("said", "reason"), FAULTS)
def test_what_nobody_could_mean_is_named(said, reason):
    with pytest.raises(ConfigError) as fault:
        convert_entry({"does": "shows", "tier": "safe", **said})
    assert reason in fault.value.message


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

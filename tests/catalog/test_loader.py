"""Data files: found by line, parsed once, and refused with file and line where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import assent.catalog
from assent.catalog import loader, lookup, may_begin, names
from assent.catalog.loader import build_index, parse_entry, slices
from assent.model import ConfigError, Tier

DATA = Path(assent.catalog.__file__).parent / "data"
TEXT = """\
# a comment
cat, tac:
  does: shows files
  tier: safe

"[, test":
  does: compares
  tier: safe
"""


def test_entries_are_cut_out_with_their_lines() -> None:
    first, second = slices("a.yaml", TEXT)
    assert (first.names, first.line) == (("cat", "tac"), 2)
    assert (second.names, second.line) == (("[", "test"), 6)
    assert parse_entry(second).does == "compares"


def test_an_entry_is_parsed_once() -> None:
    assert lookup("cat") is lookup("gcat") is lookup("cat")
    assert lookup("no-such-command") is None
    assert {"cat", "git", "["} <= set(names())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x:\n  does: a\n  tier: safe\n  flag: -a\n", r"a\.yaml:1: entry `x`: .*unknown field `flag`"),
        ("x:\n  does: a\n  tier: harmless\n", r"a\.yaml:1: entry `x`: .*'harmless'"),
        ("# one\nx:\n  tier: safe\n", r"a\.yaml:2: entry `x`: .*missing required field `does`"),
        (
            "x:\n  does: a\n  tier: safe\n  when:\n    - {any: -a, tier: bad}\n",
            r"a\.yaml:1: entry `x`: .*when\[0\]\.tier",
        ),
        ("x:\n  does: [a\n  tier: safe\n", r"a\.yaml:3: "),
        ("x:\n", r"a\.yaml:1: entry `x`: .*got `null`"),
    ],
)
def test_a_wrong_entry_is_refused_with_file_and_line(text: str, message: str) -> None:
    (part,) = slices("a.yaml", text)
    with pytest.raises(ConfigError, match=message):
        parse_entry(part)


def test_a_name_given_twice_is_refused() -> None:
    one, two = "cat:\n  does: a\n  tier: safe\n", "# x\nls, cat:\n  does: a\n  tier: safe\n"
    with pytest.raises(ConfigError, match=r"b\.yaml:2: command `cat` is already in a\.yaml"):
        build_index({"a.yaml": one, "b.yaml": two})


def test_options_are_spelled_out_and_inherited() -> None:
    text = """\
x:
  does: a
  tier: safe
  inherit: true
  flags: -[ab] --long -NUM
  values: {-n --name: text}
  subcommands:
    one, uno:
      does: b
      tier: dangerous
      flags: -z
      optional: {--color: text}
"""
    entry = parse_entry(*slices("a.yaml", text))
    assert set(entry.table) == {"-a", "-b", "--long", "-NUM", "-n", "--name"}
    assert entry.numeric
    one = entry.children["one"]
    assert one is entry.children["uno"]
    assert set(one.table) == {*entry.table, "-z", "--color"}
    assert one.table["--color"].optional
    assert one.tier is Tier.DANGEROUS


def test_subcommands_stand_alone_unless_they_inherit() -> None:
    text = "x:\n  does: a\n  tier: safe\n  flags: -a\n  subcommands:\n    s: {does: b, tier: safe, flags: -z}\n"
    entry = parse_entry(*slices("a.yaml", text))
    assert set(entry.children["s"].table) == {"-z"}
    assert not entry.numeric


def test_all_entries_can_be_made_ready_at_once():
    loader._parsed.clear()
    loader.load()
    assert loader._parsed.keys() == set(loader.names())


BEGINNINGS = [
    ("@.*", "src/", False),
    ("@.*", "@", True),
    ("@.*", "", True),
    (r"[A-Za-z][\w.+-]*:.*", "certs/", False),
    (r"[A-Za-z][\w.+-]*:.*", "certs", True),
    (r"[A-Za-z][\w.+-]*:.*", "engine:x/", True),
    ("ab", "abc", False),
    ("ab", "ab", True),
    ("ab", "a", True),
    ("a+b", "aa", True),
    (r"\.env.*", "x", False),
    ("(?i)x.*", "src/", True),
    ("a|b", "src/", True),
    ("\0x.*", "src/", True),
]


@pytest.mark.parametrize(("text", "beginning", "may"), BEGINNINGS)
def test_a_text_of_which_only_the_beginning_is_known_may_match_unless_that_is_plainly_not_so(text, beginning, may):
    assert may_begin(text, beginning) is may


@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.name)
def test_the_data_is_the_same_to_a_loader_that_is_written_in_python(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert yaml.load(text, Loader=yaml.SafeLoader) == yaml.load(text, Loader=yaml.CSafeLoader)

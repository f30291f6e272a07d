"""Plain YAML, read without the library: never otherwise than the library reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assent import catalog
from assent.catalog import entries
from assent.catalog.plain_yaml import NotPlainError, read_plain

FILES = sorted((Path(catalog.__file__).parent).glob("*/*.yaml"))

#: text, what it says
PLAIN: list[tuple[str, Any]] = [
    ("a: b", {"a": "b"}),
    ("a: b\n", {"a": "b"}),
    ("\n# one\na: b\n\n  # two\nc: d\n", {"a": "b", "c": "d"}),
    ("a:\n  b: c\n  d: e\nf: g", {"a": {"b": "c", "d": "e"}, "f": "g"}),
    ("a:", {"a": None}),
    ("a:\nb: c", {"a": None, "b": "c"}),
    ("- a\n- b", ["a", "b"]),
    ("a:\n  - b\n  -   c\n", {"a": ["b", "c"]}),
    ("a:\n  - b: c\n    d: e\n  - f: g", {"a": [{"b": "c", "d": "e"}, {"f": "g"}]}),
    ("a:\n  - b:\n      c: d\n", {"a": [{"b": {"c": "d"}}]}),
    ("a: [b, c d, 'e, f', \"g\\\\h\"]", {"a": ["b", "c d", "e, f", "g\\h"]}),
    ("a: {b c: d, 'e': f, g: [h, {i: j}], }", {"a": {"b c": "d", "e": "f", "g": ["h", {"i": "j"}]}}),
    ("a: []\nb: {}\nc: [d, ]", {"a": [], "b": {}, "c": ["d"]}),
    ("a: -[xy] --long --opt=val -NUM", {"a": "-[xy] --long --opt=val -NUM"}),
    ("-C: cwd\n--git-dir --x: text", {"-C": "cwd", "--git-dir --x": "text"}),
    ('"[, test": b', {"[, test": "b"}),
    ("a: b:c #d", None),
    ("a: b:c#d", {"a": "b:c#d"}),
    ("a: [HEAD:x, http://b/#c]", {"a": ["HEAD:x", "http://b/#c"]}),
    ("a: 'it''s'\nb: \"say \\\"x\\\"\"", {"a": "it's", "b": 'say "x"'}),
    ("a: >-\n  one\n  # two\n  three\n\nb: c", {"a": "one # two three", "b": "c"}),
    ("a: >-\n  one\n  two", {"a": "one two"}),
    ("a: >-\n  one\n# a comment\nb: c", {"a": "one", "b": "c"}),
    ("a: true\nb: false\nc: 0\nd: 12", {"a": True, "b": False, "c": 0, "d": 12}),
    ("a: &x\n  b: c\nd: *x", {"a": {"b": "c"}, "d": {"b": "c"}}),
    ("a: &x b\nc: *x", {"a": "b", "c": "b"}),
    ("- &x\n  a: b\n- *x", [{"a": "b"}, {"a": "b"}]),
    ("- &x {a: b}\n- *x", [{"a": "b"}, {"a": "b"}]),
    ("a: {b: &x c, d: *x, e: [*x, &y 'f: g', *y]}", {"a": {"b": "c", "d": "c", "e": ["c", "f: g", "f: g"]}}),
    ('a: [{b: &x ".*", c: *x}, {d: &y {e: f}}, *y]', {"a": [{"b": ".*", "c": ".*"}, {"d": {"e": "f"}}, {"e": "f"}]}),
]

NOT_PLAIN = [
    "",
    "# nothing",
    "a",
    "a: b\n c: d",
    "  a: b\nc: d",
    "a:\n    b: c\n  d: e",
    "a: b\n  c",
    "a:\n- b",
    "- a\nb: c",
    "- - a",
    "-\n  a: b",
    "- >-\n  a",
    "a: &x *y",
    "a: &x &y b",
    "a: &x >-\n  b",
    "a: &x b\nc: *x d",
    "a: {b: *x}",
    "a: {b: &x c, d: &x e}",
    "a: {b: &x , c: d}",
    "a: [&x]",
    "a: {&x b: c, d: *x}",
    "a: {*x: b}",
    "a: b: c",
    "a: b # c",
    "a: |\n  b",
    "a: >\n  b",
    "a: >-\nb: c",
    "a: >-\n  b\n\n  c",
    "a: >-\n  b\n    c",
    "a: >-\n  b \n  c",
    "a: >-\n\n  b",
    "a: >-\n  b\n\n  # c",
    "a: >-\n  b\n    ",
    "a: >-\n# b\n  c",
    "a: yes",
    "a: 007",
    "a: 1.5",
    "a: 100",
    "a: 1:30",
    "a: 2001-01-01 10:00:00",
    "a: .inf",
    "a: ~",
    "1: a",
    "true: a",
    "a: [b, c",
    "a: [b] c",
    "a: [b: c]",
    "a: [b,c d?]",
    "a: [, b]",
    "a: {b, c}",
    "a: {b: }",
    "a: {b: c, b: d}",
    "a: {1: b}",
    "a: b\na: c",
    "a: 'b",
    'a: "b" c',
    'a: "\\x41"',
    'a: "\\u0041"',
    "a: @b",
    "a: :b",
    "a: [::b]",
    "a: !!str b",
    "a: *x",
    "a: &x\n  b: *x",
    "a: &x\n  b: &x\n    c: d",
    "a: &x!\n  b: c",
    "--- a: b",
    "...",
    "%YAML 1.1",
    "a:\tb",
    "a: \u2028b",
    "? a",
]


@pytest.mark.parametrize(("text", "value"), PLAIN)
def test_what_is_plain_is_read(text, value):
    if value is None:
        with pytest.raises(NotPlainError):
            read_plain(text)
    else:
        assert read_plain(text) == value == yaml.safe_load(text)


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_library(text):
    with pytest.raises(NotPlainError):
        read_plain(text)


def agrees(text: str) -> bool:
    """Tell whether a text was read at all; if so, it was read as by the library."""
    try:
        value = read_plain(text)
    except NotPlainError:
        return False
    assert repr(value) == repr(yaml.load(text, yaml.CSafeLoader))
    return True


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_a_data_file_is_read_as_the_library_reads_it(file):
    agrees(file.read_text("utf-8"))


def test_nearly_all_entries_are_plain():
    read = [agrees(part.body) for part in entries()]
    assert sum(read) > 0.95 * len(read)


_PIECES = ["a", "b c", "-", "- ", ": ", ":", "\n", "\n  ", "\n    ", "[", "]", "{", "}", ", ", ",", "'", '"', "\\", " "]
_PIECES += ["#", " #", ">-", "&x", "*x", "?", "|", "1", "true", "no", "é", "%", "\t", "~", ".", "=", "!", "@", "0x1"]


@settings(max_examples=2000)
@given(st.lists(st.sampled_from(_PIECES), max_size=14).map("".join))
def test_whatever_is_read_is_read_as_by_the_library(text):
    agrees(text)


_WORDS = st.sampled_from(
    ["a", "--b", "c d", "e:f", "-[xy]", "g#h", "i,j", "k, l", "'m", 'n"', "7", "on", "2.0", "[o", "é"]
)
_VALUES = st.recursive(_WORDS, lambda v: st.lists(v, max_size=3) | st.dictionaries(_WORDS, v, max_size=3), max_leaves=8)


@settings(max_examples=1000)
@given(st.dictionaries(_WORDS, _VALUES, min_size=1, max_size=4), st.sampled_from([None, True, False]))
def test_whatever_the_library_writes_is_read_back_or_left_to_it(value, flow):
    agrees(yaml.safe_dump(value, default_flow_style=flow, width=10_000, allow_unicode=True))

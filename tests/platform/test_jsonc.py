from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.model import ConfigError
from assent.platform.jsonc import append, parse, remove

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)

COMMENTED = """{
  // my theme
  "theme": "dark", /* really */
  "hooks": {
    "PreToolUse": [
      {"matcher": "Write"} // mine
    ],
  },
}
"""


@given(VALUES, st.sampled_from([None, 2]))
def test_whatever_json_writes_is_read_the_same(value, indent):
    assert parse(json.dumps(value, indent=indent)).value == value


@given(OBJECTS, st.sampled_from([None, 2]), st.lists(VALUES, max_size=2))
def test_an_item_is_added_and_everything_else_stays(settings, indent, there):
    if isinstance(settings.get("hooks"), dict) or "hooks" not in settings:
        settings = {**settings, "hooks": {"Event": there}}
        changed = append(json.dumps(settings, indent=indent), ("hooks", "Event"), {"new": 1})
        assert parse(changed).value == {**settings, "hooks": {"Event": [*there, {"new": 1}]}}


@given(OBJECTS, st.sampled_from([None, 2]))
def test_missing_objects_are_made(settings, indent):
    settings.pop("hooks", None)
    changed = append(json.dumps(settings, indent=indent), ("hooks", "Event"), {"new": 1})
    assert parse(changed).value == {**settings, "hooks": {"Event": [{"new": 1}]}}


@given(OBJECTS, st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_an_item_is_taken_out_and_everything_else_stays(settings, items, data):
    settings = {**settings, "hooks": items}
    index = data.draw(st.integers(0, len(items) - 1))
    changed = remove(json.dumps(settings, indent=2), ("hooks",), index)
    assert parse(changed).value == {**settings, "hooks": items[:index] + items[index + 1 :]}


def test_comments_and_layout_stay():
    changed = append(COMMENTED, ("hooks", "PreToolUse"), {"matcher": "*"})
    assert parse(changed).value == {
        "theme": "dark",
        "hooks": {"PreToolUse": [{"matcher": "Write"}, {"matcher": "*"}]},
    }
    kept = [line.strip() for line in COMMENTED.splitlines() if "Write" not in line]
    left = changed.splitlines()
    assert all(any(line in other for other in left) for line in kept)
    assert "// mine" in changed


@pytest.mark.parametrize("text", ["", "\n", "  // nothing yet\n"])
def test_an_empty_file_becomes_a_whole_one(text):
    assert json.loads(append(text, ("hooks", "E"), 1)) == {"hooks": {"E": [1]}}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", ":1: not valid JSON: expected a name in quotes"),
        ('{"a": 1\n"b": 2}', ":2: not valid JSON: expected a comma or `}`"),
        ('{"a" 1}', "expected a colon"),
        ('{"a": 1, "a": 2}', 'duplicate name "a"'),
        ('{"a": x}', "expected a value"),
        ('{"a": "x}', "unterminated string"),
        ('{"a": "\\q"}', "invalid escape in a string"),
        ("{} {}", "unexpected text after the value"),
        ("[" * 1000, "nested too deeply"),
        ("[1, 2", "expected a comma or `]`"),
    ],
)
def test_a_broken_file_is_an_error_that_names_the_line(text, says):
    with pytest.raises(ConfigError) as caught:
        append(text, ("hooks",), 1, file="settings.json")
    assert "settings.json" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "expected the file to be an object"),
        ('{"hooks": []}', "expected hooks to be an object"),
        ('{"hooks": {"E": {}}}', "expected hooks.E to be a list"),
    ],
)
def test_a_file_of_another_shape_is_left_alone(text, says):
    with pytest.raises(ConfigError, match=says):
        append(text, ("hooks", "E"), 1)

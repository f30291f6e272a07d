"""Whatever the bytes are, the answer is a policy or a `ConfigError`, and never anything else."""

import contextlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from assent.config.assent_yaml import Assentfile, parse_assentfile
from assent.model import ConfigError, Layer

BASE = """\
permissions:
  mode: plan
  allow: [Read, {rule: "mcp__a__*", reason: x, expires: 2030-01-02}]
  deny:
    - Bash(rm:*)
    - {rule: Write(/etc/**), except: /etc/motd, reason: 'no'}
  classifier: off
  read: {allow: [a/**], default: ask}
  forbidden: ["**/*.pem"]
workspace: [/srv]
"""
PIECES = [
    "\t",
    "[",
    "]",
    "{",
    "}",
    ":",
    " ",
    "\n",
    "&a ",
    "*a",
    "!!x ",
    "'",
    '"',
    "#",
    "|",
    "- ",
    "\0",
    "%",
    "~",
    "é",
    "1",
]


def attempt(data, layer=Layer.USER):
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_assentfile(data, "f", layer=layer), Assentfile)


@given(st.binary(max_size=200))
def test_any_bytes(data):
    attempt(data)


@given(st.text(max_size=200))
def test_any_text(text):
    attempt(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=400)
@given(
    st.lists(
        st.tuples(st.integers(0, len(BASE)), st.integers(0, 3), st.sampled_from(PIECES)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(list(Layer)),
)
def test_any_damage_to_a_good_file(edits, layer):
    text = BASE
    for place, cut, piece in edits:
        text = text[:place] + piece + text[place + cut :]
    attempt(text.encode(), layer)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["permissions", "allow", "rule", "read", "mode", "match", "expires"]), inner
            )
        ),
    )
)
def test_any_shape_of_values(value):
    attempt(json.dumps({"permissions": value}).encode())
    attempt(json.dumps(value).encode())

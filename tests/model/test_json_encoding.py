"""A record is written whatever text is in it."""

from __future__ import annotations

import json

from assent.model import encode


def test_what_is_no_text_comes_out_escaped_wherever_it_stands():
    record = {"a\udcff": ["b\udcfe", 1, None, {"c": ("d\udcfd",)}]}
    assert json.loads(encode(record)) == {"a\\udcff": ["b\\udcfe", 1, None, {"c": ["d\\udcfd"]}]}


def test_text_stays_as_it_is():
    assert json.loads(encode({"a": "ü\n"})) == {"a": "ü\n"}

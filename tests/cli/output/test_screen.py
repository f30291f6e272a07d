from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.cli.output.screen import has_colour, paint, visible
from assent.model import UNKNOWN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, with ~ and \\", "plain text, with ~ and \\"),
        ("ünïcödé 漢字 is text", "ünïcödé 漢字 is text"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("nul\0", "nul\\x00"),
        ("next\x85line", "next\\x85line"),
        ("abc\u202etxt", "abc\\u202etxt"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\u2066isolate\u2069", "\\u2066isolate\\u2069"),
        ("soft\u00adhyphen", "soft\\xadhyphen"),
        ("no\u00a0break", "no\\xa0break"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("filler\u3164", "filler\\u3164"),
        ("selector\ufe0f", "selector\\ufe0f"),
        ("lone\udc80", "lone\\udc80"),
        (f"rm {UNKNOWN}", "rm …"),
    ],
)
def test_what_hides_is_shown(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_nothing_invisible_or_moving_is_left(text):
    shown = visible(text)
    assert all(
        c == " " or unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"} for c in shown
    )
    assert visible(shown) == shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "coloured"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), {}, False),
        (io.StringIO(), {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_is_for_terminals_unless_the_user_says_otherwise(stream, environ, coloured):
    assert has_colour(stream, environ) is coloured


def test_paint_without_colour_changes_nothing():
    assert paint("deny", "bold red", colour=False) == "deny"
    assert paint("deny", "bold red", colour=True) == "\x1b[1;31mdeny\x1b[0m"
    assert paint("", "red", colour=True) == ""

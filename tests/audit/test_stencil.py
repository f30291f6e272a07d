"""A record that was filled in is the record that would have been made."""

from __future__ import annotations

import pytest

from assent.audit.entry import make_entry
from assent.audit.masking import Mask
from assent.audit.stencil import HOLE, TIME, VALUE, Stencil, encode_plain, fits
from assent.decisions.audit_events import begun, happened
from assent.model import SandboxProfile, Session, ToolCall

MASK = Mask(b"salt")
SESSION = Session(id="s \u202e", user="ann", agent="token=assent_0123456789abcdef", workspace=("/code",))
PROFILE = SandboxProfile(name="off", mode="off")


def events(call_id, time):
    call = ToolCall(tool="100%", call_id=call_id)
    return (*begun(call, SESSION, PROFILE), happened("tool.result", call, SESSION, {"durationMs": time}))


@pytest.mark.parametrize(
    ("value", "plain"),
    [({}, True), ({"b": 1, "a": ["x", None]}, True), ({"token": "abc"}, False), ({"a": "ü"}, False),
     ({"a": "\x7f"}, False), ({"a": "x" * 5000}, False), ({"a": "curl -u me:secret"}, False)],
    ids=str,
)  # fmt: skip
def test_a_value_is_filled_in_as_it_would_have_been_written_or_not_at_all(value, plain):
    def make(args):
        return happened("tool.started", ToolCall(tool="t", call_id=HOLE), SESSION, {"args": args})

    data = encode_plain(value)
    assert (data is not None) == plain
    if data is not None:
        assert Stencil(make(VALUE), MASK).fill(HOLE, value=data) == make_entry(make(value), MASK)


def test_what_is_filled_in_is_what_would_have_been_made():
    stencils = [Stencil(event, MASK) for event in events(HOLE, TIME)]
    for number in range(50):
        call_id, time = f"call_{number:x}".ljust(21, "a"), number / 8
        assert fits(call_id)
        for stencil, event in zip(stencils, events(call_id, time), strict=True):
            assert stencil.fill(call_id, time) == make_entry(event, MASK)


@pytest.mark.parametrize(
    "call_id",
    [None, "", "call_1", "toolu_0123456789abcdef", "call_0123456789abcdeF", "call_0123456789abcdef\n"],
    ids=repr,
)
def test_no_other_id_is_filled_in(call_id):
    assert not fits(call_id)

"""Whatever happens, a record of it can be written: bounded, and readable again."""

from __future__ import annotations

import msgspec
import pytest

from assent import Engine, Session, ToolCall
from assent.audit.entry import LARGEST_BODY, make_entry, read_event, restore_reading
from assent.audit.masking import Mask
from assent.decisions.audit_events import evaluated
from assent.model import UNKNOWN, Event, OperationKind, Policy, Source, Verdict
from assent.model.sandbox import SandboxProfile, Violation

MASK = Mask(b"s" * 32)
SESSION = Session(id="s", user="ann", agent="coder")


def entry_of(call, summary="x"):
    return make_entry(evaluated(call, SESSION, Engine().decide(call, SESSION), summary), MASK)


def test_an_event_is_read_back_with_its_place_in_the_log():
    call = ToolCall(tool="Bash", input={"command": "git status"}, cwd="/code", call_id="c")
    decision = Engine().decide(call, SESSION)
    entry = make_entry(evaluated(call, SESSION, decision, "git status"), MASK)
    event = read_event(7, "w", 3, 0.25, entry.columns[-1])
    assert (event.sequence, event.event_id, event.timestamp) == (7, "evt_w_3", "1970-01-01T00:00:00.250Z")
    assert event.permission_decision == decision
    assert entry.columns[:6] == ("permission.evaluated", "s", "ann", "coder", "Bash", "safe")
    assert entry.columns[6:9] == ("allow", "classifier", decision.digest)


def test_what_a_sandbox_stopped_is_found_by_its_name():
    violation = Violation(OperationKind.FS_WRITE, "/etc/n\u202eever", "landlock", command_line="touch x")
    event = Event(type="sandbox.violation", event_id="", timestamp="", session_id="s", sequence=0, violation=violation)
    assert make_entry(event, MASK).columns[10] == "writing /etc/n\\u202eever by touch x"
    told = msgspec.structs.replace(
        event, payload={"summary": "touch x"}, violation=None, sandbox_profile=SandboxProfile("read-only", "read-only")
    )
    assert make_entry(told, MASK).columns[10] == "touch x · read-only"


def test_a_hostile_line_does_not_flood_the_log():
    entry = entry_of(ToolCall(tool="Bash", input={"command": "echo " + "$(a; b) " * 7000}, cwd="/code"), "y" * 10**6)
    assert len(entry.columns[-1]) <= LARGEST_BODY
    event = read_event(1, "w", 1, 0.0, entry.columns[-1])
    assert event.payload["shortened"] is True
    assert event.permission_decision.reading.operations


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_text_that_has_no_encoding_is_recorded_as_what_it_is(text):
    call = ToolCall(tool=text, input={"x": text}, cwd=text, call_id=text)
    entry = entry_of(call, text)
    event = read_event(1, "w", 1, 0.0, entry.columns[-1])
    assert event.payload["unreadable"] == "UnicodeEncodeError"
    assert event.permission_decision.verdict.value == "deny"
    assert "\\ud" in event.payload["summary"]


def test_hidden_characters_are_written_out_and_nothing_is_lost():
    call = ToolCall(tool="Bash", input={"command": "echo a\u202eb \U000e0041 \u00e9"}, cwd="/code")
    entry = entry_of(call, call.input["command"])
    assert "\u202e" not in entry.columns[-1].decode()
    assert "\u00e9" in entry.columns[-1].decode()
    assert msgspec.json.decode(entry.columns[-1])["payload"]["summary"] == call.input["command"]
    assert "\\u202e" in entry.columns[10]


@pytest.mark.parametrize(
    "line", ["cat .env", "cp $X/a ../b", "echo x > .claude/settings.json", "rm -rf $Y", "git status"]
)
def test_what_is_not_known_is_shown_as_such_in_reasons_and_in_the_log(line):
    call = ToolCall(tool="Bash", input={"command": line})
    decision = Engine([Policy(unknown_repository=Verdict.ASK)]).decide(call)
    assert decision.decision_source is not Source.ERROR
    assert UNKNOWN not in "".join([decision.decision_reason, *(o.reason for o in decision.opinions)])
    body = make_entry(evaluated(call, SESSION, decision, "x"), MASK).columns[-1]
    assert b"\\ufdd0" not in body
    recorded = read_event(1, "w", 1, 0.0, body).permission_decision
    assert restore_reading(recorded.reading).operations == decision.reading.operations

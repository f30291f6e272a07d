"""Records: what they say of themselves, and that nobody changes them."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from assent.model import (
    ConfigError,
    Decision,
    Event,
    Facts,
    Grant,
    Operation,
    OperationKind,
    Origin,
    Policy,
    Reading,
    Rule,
    SandboxProfile,
    Session,
    Source,
    Tier,
    ToolCall,
    Verdict,
    canonical,
    digest,
    read_trace,
)
from scenes import DESTRUCTIVE, SAFE, run, writes


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, None, True]}, b'{"a":[1,null,true],"b":1}'),
        ({"a": {"z": 1, "y": 2}}, b'{"a":{"y":2,"z":1}}'),
        ("\u00e4", '"\u00e4"'.encode()),
        ([], b"[]"),
    ],
)
def test_the_same_value_is_always_the_same_bytes(value, text):
    assert canonical(value) == text
    assert digest(value) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    "record",
    [ToolCall(tool="x"), Session(), Rule(tool="x"), Policy(), run("x"), SandboxProfile(name="x", mode="off")],
)
def test_a_record_can_not_be_changed(record):
    name = record.__struct_fields__[0]
    with pytest.raises((AttributeError, TypeError)):
        setattr(record, name, "other")


def reading(*operations):
    return Reading(tool="Bash", operations=operations, tier=max(o.tier for o in operations), reason="")


def test_a_reading_tells_what_a_destructive_call_would_hit_and_how_to_undo_it():
    mild = run("a", impact="none", rollback="none")
    worst = run("b", DESTRUCTIVE, impact="everything", rollback="a backup")
    assert not reading(mild).destructive
    assert (reading(mild).impact_scope, reading(mild).rollback_advice) == (None, None)
    found = reading(mild, run("c", DESTRUCTIVE), worst)
    assert found.destructive
    assert (found.impact_scope, found.rollback_advice) == ("everything", "a backup")


def test_a_resource_is_known_if_no_part_of_it_is_missing():
    assert writes("/a").known
    assert not writes("/a/\ufdd0").known


def decision(verdict, boundary=None, *, available=True):
    return Decision(
        verdict=verdict,
        boundary=boundary,
        available=available,
        decision_source=Source.MODE,
        decision_reason="",
        reading=reading(run("x")),
    )


BOUNDARY = SandboxProfile(name="x", mode="read-only")


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (decision(Verdict.ALLOW), "allow"),
        (decision(Verdict.ALLOW, BOUNDARY), "sandboxed"),
        (decision(Verdict.ALLOW, BOUNDARY, available=False), "unavailable"),
        (decision(Verdict.ASK, BOUNDARY, available=False), "ask"),
        (decision(Verdict.DENY, BOUNDARY), "deny"),
    ],
)
def test_a_decision_has_one_word_on_the_wire(made, word):
    assert made.decision == word


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigError("no"), "no"),
        (ConfigError("no", file="a.yaml"), "a.yaml: no"),
        (ConfigError("no", file="a.yaml", line=3), "a.yaml:3: no"),
        (ConfigError("no", line=3, suggestion="did you mean yes?"), "no (did you mean yes?)"),
    ],
)
def test_a_configuration_error_names_file_line_and_a_way_out(error, text):
    assert str(error) == text


def test_a_policy_s_version_is_its_content():
    assert Policy().version == Policy().version
    assert Policy(mode="plan").version != Policy().version
    assert len(Policy().version) == 16


def test_a_rule_is_written_as_it_was_read():
    assert Rule(tool="Bash").text == "Bash"
    assert Rule(tool="Bash", pattern="ls:*", origin=Origin(file="a", line=2)).ref == "Bash(ls:*) @ user a:2"
    assert msgspec.json.encode(Rule(tool="Bash", exceptions=("x",))) == b'{"tool":"Bash","except":["x"]}'


def test_facts_know_nothing_by_default():
    assert Facts().disk == "unknown"
    assert (Facts().resolve("/a"), Facts().names("/a")) == (None, None)
    assert Facts(resolve=str).disk == "known"


def test_an_event_is_spelled_in_camel_case_and_leaves_out_what_is_not_there():
    event = Event(type="tool.started", event_id="e", timestamp="t", session_id="s", sequence=1, tool_call_id="c")
    assert msgspec.json.decode(msgspec.json.encode(event)) == {
        "type": "tool.started",
        "eventId": "e",
        "timestamp": "t",
        "sessionId": "s",
        "sequence": 1,
        "toolCallId": "c",
    }


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("kind", OperationKind)
def test_only_what_looks_reads(kind, tier):
    operation = Operation(kind=kind, resource="x", tier=tier, reason="")
    by_tier = kind.value in ("command.execute", "net.connect", "tool.call") and tier is SAFE
    assert operation.reads is (kind.value == "fs.read" or by_tier)


ZEROS = "0" * 32
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (f"00-{TRACE}-00f067aa0ba902b7-01", (TRACE, "00f067aa0ba902b7")),
        (f"00-{ZEROS}-00f067aa0ba902b7-01", None),
        (f"00-{TRACE}-{ZEROS[:16]}-01", None),
        (f"00-{TRACE}-00f067aa0ba902b7", None),
        (None, None),
    ],
)
def test_a_trace_is_read_from_what_the_host_says_of_it(said, found):
    trace = read_trace(said)
    assert (trace and (trace.trace_id, trace.span_id)) == found


@pytest.mark.parametrize(
    ("verdict", "ends", "now", "alive"),
    [
        (Verdict.ALLOW, None, 0.0, True),
        (Verdict.ALLOW, 200.0, 150.0, True),
        (Verdict.ALLOW, 200.0, 96.0, True),
        (Verdict.ALLOW, 200.0, 90.0, False),
        (Verdict.ALLOW, 200.0, 200.0, False),
        (Verdict.DENY, 200.0, 90.0, True),
        (Verdict.DENY, 200.0, 200.0, False),
    ],
)
def test_a_yes_for_a_time_counts_neither_after_it_nor_before_it_was_given(verdict, ends, now, alive):
    assert Grant(id="g", verdict=verdict, expires_at=ends, created_at=100.0).is_alive(now) is alive

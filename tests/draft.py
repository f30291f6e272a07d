"""JSON Schemas of the published draft of runtime facts and events, written from its sentences and tables alone."""

from __future__ import annotations

import jsonschema

TEXT = {"type": "string", "minLength": 1}
MAYBE_TEXT = {"type": ["string", "null"]}
TEXTS = {"type": "array", "items": TEXT}
ROOTS = {"anyOf": [TEXTS, {"const": "unknown"}]}

DECISION = {
    "type": "object",
    "required": [
        "decision", "decision_source", "decision_reason", "rule_refs", "updated_input_ref", "approval_action_id",
        "expires_at", "scope", "destructive", "impact_scope", "rollback_advice",
    ],
    "properties": {
        "decision": {"enum": ["allow", "deny", "ask", "unavailable", "sandboxed"]},
        "decision_source": TEXT,
        "decision_reason": TEXT,
        "rule_refs": TEXTS,
        "updated_input_ref": MAYBE_TEXT,
        "approval_action_id": MAYBE_TEXT,
        "expires_at": MAYBE_TEXT,
        "scope": MAYBE_TEXT,
        "destructive": {"type": "boolean"},
    },
    "if": {"properties": {"destructive": {"const": True}}},
    "then": {"properties": {"impact_scope": TEXT, "rollback_advice": TEXT}},
}  # fmt: skip

PROFILE = {
    "type": "object",
    "required": [
        "mode", "cwd", "read_roots", "write_roots", "network", "environment_ref", "process_limits", "violation_refs",
    ],
    "properties": {
        "mode": TEXT,
        "cwd": MAYBE_TEXT,
        "read_roots": ROOTS,
        "write_roots": ROOTS,
        "environment_ref": MAYBE_TEXT,
        "violation_refs": TEXTS,
    },
}  # fmt: skip

STATE = {
    "type": "object",
    "required": ["mode", "rules", "policy_sources", "interactive"],
    "properties": {
        "mode": TEXT,
        "rules": TEXTS,
        "policy_sources": {**TEXTS, "minItems": 1},
        "interactive": {"type": "boolean"},
    },
}

FACTS = ["permissionDecision", "permissionState", "sandboxProfile"]
#: The boundary that was in force, and not one that was wished for.
IN_FORCE = {**PROFILE, "properties": {**PROFILE["properties"], "mode": {"not": {"const": "unknown"}}}}


def _when(pattern, then):
    return {"if": {"properties": {"type": {"pattern": pattern}}}, "then": then}


EVENT = {
    "type": "object",
    "required": ["type", "eventId", "timestamp", "sessionId", "threadId", "turnId", "sequence", "payload"],
    "properties": {
        "type": {"type": "string", "pattern": r"^[a-z]+\.[a-z_]+$"},
        "eventId": TEXT,
        "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
        "sequence": {"type": "integer", "minimum": 0},
        "payload": {"type": "object"},
        "refs": {"type": "object"},
        "permissionDecision": DECISION,
        "sandboxProfile": PROFILE,
        "permissionState": STATE,
    },
    "allOf": [
        _when(r"^(permission|sandbox|tool|process|action)\.", {"required": FACTS}),
        _when(r"^tool\.", {"required": ["stepId", "toolCallId"]}),
        _when(r"^(action\.|permission\.re)", {"required": ["actionId"]}),
        _when(r"^sandbox\.", {"properties": {"sandboxProfile": IN_FORCE}}),
        _when(r"^sandbox\.violation$", {"properties": {"payload": {"required": ["violation"]}}}),
    ],
}
_check = jsonschema.Draft202012Validator(EVENT)


def hold_to_draft(events: list[dict]) -> None:
    """Check all events of a session, each by itself and as a whole."""
    for event in events:
        _check.validate(event)
    assert [e["sequence"] for e in events] == list(range(len(events)))
    known = {e["eventId"] for e in events}
    assert len(known) == len(events)
    for event in events:
        _hold_refs(event, known)
    _hold_boundaries(events)


def _hold_refs(event: dict, known: set[str]) -> None:
    """Whatever the facts refer to is among the event's refs, and what was stopped is told in the session."""
    decision, profile = event.get("permissionDecision", {}), event.get("sandboxProfile", {})
    refs = event.get("refs", {})
    assert refs.get("rules", []) == decision.get("rule_refs", [])
    assert refs.get("updatedInput") == decision.get("updated_input_ref")
    assert refs.get("violations", []) == profile.get("violation_refs", [])
    assert set(profile.get("violation_refs", ())) <= known


def _hold_boundaries(events: list[dict]) -> None:
    """A call that is shown as sandboxed shows its boundary too, and what that stopped is no mere failure."""
    stopped: dict[str, str] = {}
    decided: set[str] = set()
    for event in events:
        call, kind = event.get("toolCallId"), event["type"]
        if kind == "permission.evaluated":
            decided.add(call)
        if kind.startswith(("tool.", "process.", "sandbox.")):
            assert call in decided, f"{kind} before any decision"
            if event["permissionDecision"]["decision"] == "sandboxed":
                assert event["sandboxProfile"]["mode"] != "unknown", event
        if kind == "sandbox.violation":
            assert event["eventId"] in event["sandboxProfile"]["violation_refs"]
            stopped[call] = event["eventId"]
        if kind == "tool.failed" and call in stopped:
            cause = event["payload"]["cause"]
            assert (cause["type"], cause["ref"]) == ("sandbox.violation", stopped[call])

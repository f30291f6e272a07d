"""Two logs. One holds events whose every word is fixed here: its bytes, hashes, seals and bundle never change.

The other is written by deciding and answering; of it the structure is frozen, since its hashes are over texts too.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from typing import Any

from golden import adapter
from golden.parts import DECISION_TEXTS, Group, cut, make

_BOUNDARY = {"name": "workspace-write", "mode": "workspace-write", "cwd": "/code", "write_roots": ["/code"]}
_DECISION = {
    "verdict": "ask",
    "decision_source": "classifier",
    "decision_reason": "a fixed reason",
    "rule_refs": ["Bash(rm:*) @ user"],
    "reading": {
        "tool": "Bash",
        "operations": [
            {"kind": "command.execute", "resource": "rm -rf é", "tier": "destructive", "reason": "r", "argv": ["rm"]}
        ],
        "tier": "destructive",
        "reason": "a fixed reason",
    },
    "opinions": [{"verdict": "ask", "source": "classifier", "policy": "defaults", "reason": "r", "operation": 0}],
    "stakes": ["cannot be undone"],
    "digest": "d" * 64,
}
_PAYLOAD = {"user": "u", "agent": "a", "tool": "Bash", "summary": "rm -rf é"}
_SECRET = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"
EVENTS: tuple[dict[str, Any], ...] = (
    {"type": "daemon.started", "payload": {"summary": "started"}},
    {"type": "permission.evaluated", "permissionDecision": _DECISION, "payload": _PAYLOAD, "toolCallId": "call-1"},
    {"type": "permission.requested", "permissionDecision": _DECISION, "payload": _PAYLOAD, "actionId": "perm_1_a"},
    {"type": "permission.resolved", "actionId": "perm_1_a", "payload": _PAYLOAD | {"by": "root", "verdict": "deny"}},
    {"type": "sandbox.applied", "sandboxProfile": _BOUNDARY, "payload": _PAYLOAD},
    {
        "type": "sandbox.violation",
        "violation": {"operation": "net.connect", "resource": "evil.example", "mechanism": "proxy", "pid": 7},
        "payload": _PAYLOAD,
    },
    {"type": "tool.result", "payload": _PAYLOAD | {"output": f"token={_SECRET} \u202e\x7f\n"}, "traceId": "t" * 32},
    {"type": "evidence.changed", "evidenceId": "evidence_s_7", "payload": _PAYLOAD},
)
LINES: tuple[tuple[str, str | None], ...] = (
    ("ls -la", None),
    ("cat /home/u/.local/share/assent/node", None),
    ("npm test", "allow once"),
    ("node build.js", "deny once"),
    ("make all", "allow session"),
    ("make all", None),
    ("git push --force origin main", None),
)
"""What is decided, and how it is answered where it is asked about."""
_LIVED_TEXTS = DECISION_TEXTS | {"summary", "text", "title", "message", "description", "label", "question"}
_RANDOM = re.compile(r"\b(perm|hook|grant|enable|dec)_(?:\d+_)?[0-9a-f]{10,32}\b")
_HASHED = frozenset(("hash", "previous", "signature", "signatures", "key"))


def fixed() -> Group:
    """Return every row, seal and anchor of the fixed log, and the bytes of its bundle."""
    with tempfile.TemporaryDirectory() as folder:
        installation = adapter.Installation(folder)
        try:
            for event in EVENTS:
                installation.record({"eventId": "", "timestamp": "", "sessionId": "s", "sequence": 0} | event)
            bundle, verifies = installation.bundle("s")
            tables = installation.tables()
        finally:
            installation.close()
    found = [
        make(f"{table} {number}", f"{table} {number}", row, {})
        for table, rows in tables.items()
        for number, row in enumerate(rows)
    ]
    about = {"sha256": hashlib.sha256(bundle).hexdigest(), "verifies": verifies, "content": bundle.decode()}
    return [*found, make("bundle", "bundle", about, {})]


def lived() -> Group:
    """Return the evidence of a session that was decided and answered, part by part."""
    with tempfile.TemporaryDirectory() as folder:
        installation = adapter.Installation(folder)
        try:
            bundle = installation.live(list(LINES), "lived")
        finally:
            installation.close()
    bundle = _without_hashes(_number_ids(bundle))
    parts = {name: value for name, value in bundle.items() if not isinstance(value, list)}
    parts |= {
        f"{name} {i}": each for name, value in bundle.items() if isinstance(value, list) for i, each in enumerate(value)
    }
    chain = parts.pop("chain")
    parts |= {f"chain.records {i}": each for i, each in enumerate(chain.pop("records"))} | {"chain": chain}
    return [cut(name, name, value, _LIVED_TEXTS) for name, value in sorted(parts.items())]


def _number_ids(value: Any) -> Any:
    """Give ids that are drawn at random a number each, in the order in which they come."""
    known: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"{match[1]}_#{len(known) + 1}")

    return json.loads(_RANDOM.sub(number, json.dumps(value)))


def _without_hashes(value: Any) -> Any:
    """Leave out what is computed over texts and random ids; a record's body is looked into."""
    if isinstance(value, list):
        return [_without_hashes(each) for each in value]
    if not isinstance(value, dict):
        return value
    opened = {name: json.loads(each) if name == "body" else each for name, each in value.items()}
    return {name: "…" if name in _HASHED else _without_hashes(each) for name, each in opened.items()}

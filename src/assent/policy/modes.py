"""The modes, as a table: what happens to the uncovered, to the covered, and to the asks that are still open."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assent.model import Mode

Cell: TypeAlias = Literal["allow", "ask", "deny", "looks-else-ask", "looks-else-deny", "held-else-ask", "sandbox"]
OpenAsk: TypeAlias = Literal["ask", "allow", "deny", "allow-edits", "deny-built-in"]


class ModeRow(msgspec.Struct, frozen=True):
    """One mode."""

    mode: Mode
    safe: Cell
    dangerous: Cell
    covered: Literal["allow", "looks-else-deny"] = "allow"
    open_ask: OpenAsk = "ask"
    destructive: Literal["deny", "allow"] = "deny"


TABLE: dict[Mode, ModeRow] = {
    Mode.DEFAULT: ModeRow(Mode.DEFAULT, "allow", "ask"),
    Mode.UNTRUSTED: ModeRow(Mode.UNTRUSTED, "looks-else-ask", "ask"),
    Mode.ACCEPT_EDITS: ModeRow(Mode.ACCEPT_EDITS, "allow", "ask", open_ask="allow-edits"),
    Mode.AUTO: ModeRow(Mode.AUTO, "allow", "held-else-ask"),
    Mode.ON_FAILURE: ModeRow(Mode.ON_FAILURE, "allow", "sandbox"),
    Mode.PLAN: ModeRow(Mode.PLAN, "looks-else-deny", "deny", covered="looks-else-deny", open_ask="deny"),
    Mode.STRICT: ModeRow(Mode.STRICT, "deny", "deny", open_ask="deny-built-in"),
    Mode.DONT_ASK: ModeRow(Mode.DONT_ASK, "allow", "deny", open_ask="deny"),
    Mode.BYPASS: ModeRow(Mode.BYPASS, "allow", "allow", open_ask="allow", destructive="allow"),
}

"""What a person refused for longer than one call, and whether a call is about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assent.analysis.resources.globs import escape_glob
from assent.budget import TookTooLongError
from assent.model import (
    ASK,
    DENY,
    FS_READ,
    FS_WRITE,
    MAYBE,
    NO,
    YES,
    Certainty,
    Consent,
    Grant,
    Opinion,
    Reading,
    Rule,
    Scope,
    Source,
    ToolCall,
    digest,
)
from assent.policy.call_view import View
from assent.policy.coverage import is_in_force
from assent.policy.guard import command_texts
from assent.policy.rules.match import compile_rule


def refused_thing(call: ToolCall, reading: Reading) -> Rule | str:
    """Return what a refusal without a pattern is about: the one file that is touched, or else the call's digest."""
    if len(reading.operations) == 1 and reading.tool != "Bash":
        operation = reading.operations[0]
        if operation.kind in (FS_READ, FS_WRITE) and operation.known and operation.resource.startswith("/"):
            tool = "Read" if operation.kind is FS_READ else "Write"
            return Rule(tool=tool, pattern=escape_glob(operation.resource))
    return refusal_digest(call, reading.tool)


def refusal_digest(call: ToolCall, tool: str) -> str:
    """Identify a call for a refusal: a line of shell by its text alone, wherever and however it is to run."""
    what = command_texts(call) if tool == "Bash" else call.input
    return digest(["assent.refusal.v1", tool, what])


def hear_refusals(view: View, consent: Consent) -> list[Opinion]:
    """Return what earlier refusals say about a call. One that asks to override them asks once more."""
    found = []
    for grant in consent.grants:
        if grant.verdict is not DENY or not is_in_force(grant, view):
            continue
        answer = _touches(grant, view)
        if answer is not NO:
            found.append(_opinion(grant, answer, override=view.call.override))
    return found


def _opinion(grant: Grant, answer: Certainty, *, override: bool) -> Opinion:
    asks = override or answer is MAYBE
    session = grant.scope is Scope.SESSION
    subject = grant.rule.text if grant.rule is not None else "call"
    return Opinion(
        verdict=ASK if asks else DENY,
        source=Source.SESSION if session else Source.GRANT,
        policy=f"{'session' if session else 'standing'}-deny-" + re.sub(r"[^A-Za-z0-9]+", "-", subject).strip("-"),
        reason="".join(
            (
                "refused earlier",
                " in this session" if session else "",
                f": {grant.feedback}" if grant.feedback else "",
                ", requested again" if override else "",
            )
        ),
        firm=asks,
        certainty=answer,
    )


def _touches(grant: Grant, view: View) -> Certainty:
    if grant.rule is None:
        return YES if grant.digest == refusal_digest(view.call, view.reading.tool) else NO
    try:
        return _match(grant.rule, view)
    except TookTooLongError:
        raise
    except Exception:  # noqa: BLE001 - a refusal that cannot be evaluated is about everything
        return YES


def _match(rule: Rule, view: View) -> Certainty:
    matcher = compile_rule(rule, single=True)
    answers: Sequence[Certainty] = [matcher.match(o, view, broad=True) for o in view.reading.operations]
    return max(answers, default=NO)

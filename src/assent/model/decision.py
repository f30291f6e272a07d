"""The decision: a verdict and a boundary, and everything that led to them."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from assent.model.enums import Certainty, Mode, Scope, Source, Verdict
from assent.model.reading import Reading
from assent.model.rule import Rule
from assent.model.sandbox import SandboxProfile

Stake: TypeAlias = Literal["cannot be undone", "secrets", "production", "network", "runs code", "outside workspace"]
"""What a person should know about a call before they answer, besides its tier."""
Outcome: TypeAlias = Literal["allow", "ask", "deny", "sandboxed", "unavailable"]

CLOCK_SLACK = 5.0
"""By how much a clock may step back before what was said seems to come from the future, and does not count."""


class Opinion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source says about one operation, or about the whole call (`operation` is None)."""

    verdict: Verdict
    source: Source
    policy: str
    """The named policy it comes from: `deny-rules`, `self-protection`, `session-…`, `mode`, …"""
    reason: str
    operation: int | None = None
    firm: bool = False
    """A firm ask is asked in every mode and under every grant."""
    built_in: bool = False
    opens: bool = False
    """An ask that opens a question in a mode which would otherwise deny: the user's own, or a hook's."""
    destructive: bool = False
    """An allow that covers destructive operations too."""
    certainty: Certainty = Certainty.YES
    rule: str | None = None
    """The rule, with file and line."""
    overruled: str | None = None
    """What took it out of the count: a grant, a mode, a person's yes."""


class Grant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person said for more than one call. An allow answers soft asks; never a deny, never a firm ask.

    A deny refuses what it is about, by any name; a call that says `override` asks once more instead.
    """

    id: str
    verdict: Verdict = Verdict.ALLOW
    rule: Rule | None = None
    """Covers what this pattern surely covers …"""
    digest: str | None = None
    """… or exactly this call."""
    places: str = ""
    """Where the paths of that call led, as a hash: it holds while they lead there."""
    files: tuple[tuple[str, str], ...] = ()
    """Files that it runs, each with the SHA-256 it had: it holds while they are unchanged."""
    scope: Scope = Scope.ALWAYS
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    run: bool | None = None
    """Whether it was given in a run: a strategy names its agents as it likes, and one is not the other."""
    workspace: tuple[str, ...] | None = None
    outside: bool = False
    """An admin gave it: in a run it covers what lies outside the workspace too."""
    boundary: SandboxProfile | None = None
    destructive: bool = False
    expires_at: float | None = None
    created_at: float = 0.0
    by: str = ""
    feedback: str | None = None
    """What a person had to say with a refusal."""
    approval: str | None = None
    """The question it was the answer to."""
    revoked_at: float | None = None

    def is_alive(self, now: float) -> bool:
        """Tell whether it has not ended. A yes for a time counts from when it was given, wherever the clock goes."""
        if self.expires_at is None:
            return True
        begun = self.verdict is not Verdict.ALLOW or self.created_at <= now + CLOCK_SLACK
        return begun and now < self.expires_at


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """Everything people have said that may bear on one call."""

    grants: tuple[Grant, ...] = ()
    """Standing answers, allows and denies alike; those that do not concern the call do nothing."""
    yes: bool = False
    """A person said yes to exactly this call (its digest)."""
    destructive: bool = False
    """A person turned "blocked" into "ask" for this call."""
    stopped: str = ""
    """What this very call was kept from when it ran in its sandbox: reason to ask whether it may run outside."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one call, with its reasons. Nothing is left out, also not what lost."""

    verdict: Verdict
    boundary: SandboxProfile | None = None
    available: bool = True
    """Whether the boundary can be set up; if not, nothing runs."""
    decision_source: Source
    decision_reason: str
    rule_refs: tuple[str, ...] = ()
    updated_input_ref: str | None = None
    approval_action_id: str | None = None
    expires_at: float | None = None
    scope: Scope | None = None
    reading: Reading
    opinions: tuple[Opinion, ...] = ()
    stakes: tuple[Stake, ...] = ()
    """What is at stake, where it is asked about or denied; of what is allowed nothing is said."""
    proposal: str = ""
    """Of a question: the pattern that a wider yes could name, which surely covers the repeat; empty if none does."""
    mode: Mode = Mode.DEFAULT
    interactive: bool = True
    policy_version: str = ""
    policy_sources: tuple[str, ...] = ()
    digest: str = ""

    @property
    def decision(self) -> Outcome:
        """Return the word that goes on the wire."""
        if self.verdict is not Verdict.ALLOW:
            return "ask" if self.verdict is Verdict.ASK else "deny"
        if not self.available:
            return "unavailable"
        return "allow" if self.boundary is None else "sandboxed"

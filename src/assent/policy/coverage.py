"""What speaks for an operation: allows cover it against defaults, grants answer its soft asks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assent.model import (
    ALLOW,
    DESTRUCTIVE,
    YES,
    Consent,
    Grant,
    Operation,
    Opinion,
    Reading,
    SandboxProfile,
    Source,
    ToolCall,
    digest,
)
from assent.policy.call_view import View
from assent.policy.guard import Guard
from assent.policy.rules.match import compile_rule

_SPEAK_FOR_THE_CALL = (Source.HOOK, Source.HOST_POLICY)
"""Whose allow covers a whole call. A tool's own check is not among them: it can only be stricter."""


class Coverage(msgspec.Struct, frozen=True):
    """The allows and grants that bear on one call."""

    view: View
    guard: Guard
    consent: Consent
    heard: Sequence[Sequence[Opinion]]
    """What was said about each operation …"""
    call_opinions: Sequence[Opinion]
    """… and about the call as a whole."""
    boundary: SandboxProfile | None = None

    def is_covered(self, index: int) -> bool:
        """Tell whether an allow surely speaks for an operation."""
        operation, opinions = self.view.reading.operations[index], self.heard[index]
        destructive = operation.tier is DESTRUCTIVE
        if not destructive and self._is_allowed_by_name():
            return True
        if not destructive and any(o.verdict is ALLOW and o.source in _SPEAK_FOR_THE_CALL for o in self.call_opinions):
            return True
        if operation.owner is not None and not operation.own_cover:
            opinions = [*opinions, *self.heard[operation.owner]]
        return any(o.verdict is ALLOW and (o.destructive or not destructive) for o in opinions)

    def _is_allowed_by_name(self) -> bool:
        """Tell whether an embedded policy allows every call of this tool, as its bare name means in that format."""
        reading = self.view.reading
        return self.guard.merged.embedded and reading.unreadable is None and reading.tool in self.guard.allowed_tools

    def granted_by(self, index: int) -> str | None:
        """Name what a person said earlier that surely covers an operation."""
        operation = self.view.reading.operations[index]
        destructive = operation.tier is DESTRUCTIVE
        if not destructive:
            for decision in self.guard.session:
                if decision.verdict == "allow" and decision.covers(operation, self.view):
                    return decision.name(self.guard.cwd)
            for opinion in self.heard[index]:
                if opinion.verdict is ALLOW and opinion.source is Source.SESSION:
                    return opinion.policy
        for grant in self.consent.grants:
            if not grant.outside and self.view.session.run and self.view.is_outside(operation):
                continue
            if (grant.destructive or not destructive) and self._is_meant(grant) and self._covers(grant, operation):
                return f"grant {grant.id}"
        return None

    def _is_meant(self, grant: Grant) -> bool:
        """Tell whether a person allowed something with it, here, now and inside this boundary."""
        return grant.verdict is ALLOW and grant.boundary in (None, self.boundary) and is_in_force(grant, self.view)

    def _covers(self, grant: Grant, operation: Operation) -> bool:
        if grant.digest is not None:
            return grant.digest == exact_digest(self.view.call, self.view.reading)
        if grant.rule is None:
            return False
        matcher = compile_rule(grant.rule)
        owners = [self.view.reading.operations[i] for i in self._owner(operation)]
        return any(matcher.match(o, self.view, broad=False) is YES for o in (operation, *owners))

    def _owner(self, operation: Operation) -> tuple[int, ...]:
        """Return the command whose allow reaches this operation."""
        return () if operation.owner is None or operation.own_cover else (operation.owner,)


def exact_digest(call: ToolCall, reading: Reading) -> str:
    """Identify a call for a grant without a pattern: exactly this tool, input and cwd, in the same environment."""
    told = [reading.environment] if reading.environment else []
    return digest(["assent.grant.v1", reading.tool, call.input, call.cwd, *told])


def is_in_force(grant: Grant, view: View) -> bool:
    """Tell whether a standing answer was given to this session, and has not ended."""
    session = view.session
    if view.facts.is_over(grant.expires_at, allows=grant.verdict is ALLOW):
        return False
    if view.facts.now and not grant.is_alive(view.facts.now):
        return False
    bound = (
        (grant.user, session.user),
        (grant.agent, session.agent),
        (grant.session, session.id),
        (grant.run, session.run),
        (grant.workspace, session.workspace),
    )
    return all(ours is None or ours == theirs for ours, theirs in bound)

"""A second opinion: how a decision comes about, written once more from the documentation, small and slow.

It judges the toy world only, and shares nothing with the product but the vocabulary. Where the two disagree,
one of them (or the documentation) is wrong.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from assent.model import (
    UNKNOWN,
    Certainty,
    Grant,
    Layer,
    Mode,
    Operation,
    PathPolicy,
    Policy,
    Rule,
    Verdict,
    within,
)
from toyworld import (
    ASSENT,
    CALL,
    CONTROL,
    DESTRUCTIVE,
    EXEC,
    NET,
    NOW,
    READ,
    RUN,
    SAFE,
    SENSITIVE,
    WRITE,
    Case,
    beyond_edge,
    inside,
    read,
)

ALLOW, ASK, DENY = Verdict
NO, MAYBE, YES = Certainty
NAMED = ("Edit", "WebFetch")  # without a pattern, the name of a tool and nothing more
ABOUT = {"Bash": RUN, "Read": READ, "Write": WRITE, "Edit": WRITE, "WebFetch": NET}


@dataclass(frozen=True)
class Ask:
    """One open question: does it hold in every mode, and did Assent itself think of it?"""

    firm: bool = False
    built_in: bool = False


def judge(case: Case) -> tuple[Verdict, bool]:
    """Say what may happen to the call, and whether it must stay inside a boundary."""
    operations = read(case)
    answers = [settle(case, operations, *each) for each in itertools.product(operations, modes(case), voices(case))]
    return max(verdict for verdict, _ in answers), any(boxed for _, boxed in answers)


def modes(case: Case) -> list[Mode]:
    """Return every mode that applies; without one of the user or the organisation, the default is one."""
    own = [p.mode for p in case.policies if p.layer >= Layer.USER and p.mode]
    others = [p.mode for p in case.policies if p.layer < Layer.USER and p.mode]
    return [*(own or [Mode.DEFAULT]), *others, *case.session.modes]


def voices(case: Case) -> set[bool]:
    """Say whether tiers vote; both ways where somebody who may only tighten switched them on."""
    own = {p.classifier for p in case.policies if p.layer >= Layer.USER and p.classifier is not None}
    others = {True for p in case.policies if p.classifier}
    return (own or {not case.embedded}) | others


def settle(case: Case, operations: list[Operation], op: Operation, mode: Mode, votes: bool) -> tuple[Verdict, bool]:
    """Hear everybody about one operation, as one mode sees it."""
    if op.kind in (READ, WRITE, EXEC) and (within(op.resource, ASSENT) or goes_with(ASSENT, op)):
        return DENY, False
    asks = [Ask(firm=True, built_in=True)] if op.kind is WRITE and op.resource in CONTROL else []
    asks += [Ask(firm=True, built_in=True)] if case.session.confined and leaves(case, op) else []
    boxed = False
    if not (case.embedded and mode is Mode.BYPASS):
        if denied(case, op):
            return DENY, False
        own = [*(Ask() for answer in heard(case) if answer == "ask"), *asked(case, op, own=True)]
        asks += [*own, *asked(case, op, own=False), *perhaps_denied(case, op)]
        if op.kind in (READ, RUN) and op.secret and not case.embedded:
            asks.append(Ask(built_in=True))
        if not covered(case, operations, op):
            default, built_in = path_default(case, op)
            answer, boxed = cell(case, operations, op, mode, votes, asked_about=bool(own))
            if DENY in (default, answer):
                return DENY, boxed
            asks += [Ask(built_in=built_in)] if default is ASK else []
            enabled = votes and op.tier is DESTRUCTIVE
            asks += [Ask(firm=enabled, built_in=True)] if answer is ASK else []
        elif mode is Mode.PLAN and not op.reads:
            return DENY, False
    if case.consent.yes:
        asks = []
    if granted(case, operations, op) or loosened(case, op, mode):
        asks = [a for a in asks if a.firm]
    nobody = not case.session.interactive or any(p.interactive is False for p in case.policies)
    refused = mode in (Mode.PLAN, Mode.DONT_ASK) or (mode is Mode.STRICT and any(a.built_in for a in asks))
    return (ALLOW if not asks else DENY if refused or nobody else ASK), boxed


def cell(
    case: Case, operations: list[Operation], op: Operation, mode: Mode, votes: bool, *, asked_about: bool
) -> tuple[Verdict, bool]:
    """Return the mode's word on what nobody allowed, and whether that is for the sandbox only."""
    tier = op.tier if votes else SAFE
    least = ASK if tier is DESTRUCTIVE else ALLOW
    if mode is Mode.BYPASS:
        return ALLOW, False
    if tier is DESTRUCTIVE and not case.consent.destructive:
        return DENY, False
    if mode is Mode.STRICT:
        return (least if asked_about else DENY), False
    if mode is Mode.PLAN:
        return (ALLOW if tier is SAFE and op.reads else DENY), False
    if mode is Mode.UNTRUSTED:
        return (ALLOW if votes and tier is SAFE and op.reads else ASK), False
    if tier is SAFE:
        return ALLOW, False
    boxable = mode is Mode.ON_FAILURE or (mode is Mode.AUTO and holds(case, operations))
    if boxable and case.call.tool == "Bash":
        nowhere = case.sandbox and (case.session.guessed or not case.session.workspace)
        return (ASK if nowhere else least), True
    return (DENY if mode is Mode.DONT_ASK else ASK), False


def holds(case: Case, operations: list[Operation]) -> bool:
    """Tell whether a sandbox, offline and writing only the workspace, holds all that is known."""
    writes = [o.resource for o in operations if o.kind is WRITE]
    contained = all(case.session.workspace and inside(case, path) for path in writes)
    return case.sandbox and contained and not case.unreadable and not any(o.kind is NET for o in operations)


def loosened(case: Case, op: Operation, mode: Mode) -> bool:
    """Tell whether the mode takes away soft asks."""
    if mode is not Mode.ACCEPT_EDITS or case.call.tool not in ("Write", "Edit"):
        return mode is Mode.BYPASS
    return case.embedded or (inside(case, op.resource) and op.resource not in SENSITIVE)


def heard(case: Case) -> list[str | None]:
    return [*case.hooks, *case.checks, *case.hosts]


def denied(case: Case, op: Operation) -> bool:
    if "deny" in heard(case) or "raise" in heard(case):
        return True
    globs = (g for p in case.policies for g in (*p.forbidden, *paths(p, op).deny))
    rules = (r for p in case.policies for r in p.deny)
    file = op.kind in (READ, WRITE, EXEC) and any(glob_touches(g, op.resource) or goes_with(g, op) for g in globs)
    return file or any(speaks(case, r, op, "deny") is YES for r in rules)


def perhaps_denied(case: Case, op: Operation) -> list[Ask]:
    rules = [r for p in case.policies for r in p.deny if speaks(case, r, op, "deny") is MAYBE]
    globs = [g for p in case.policies for g in (*p.forbidden, *p.read.deny, *p.write.deny) if case.unreadable]
    return [Ask(firm=True) for _ in (*rules, *globs)]


def asked(case: Case, op: Operation, *, own: bool) -> list[Ask]:
    """Return the questions of ask rules; only the user's and the organisation's own open one in `strict`."""
    rules = [(p, r) for p in case.policies if (p.layer >= Layer.USER) is own for r in p.ask]
    firm = [p.layer is Layer.MANAGED or r.every_time for p, r in rules if speaks(case, r, op, "ask") is not NO]
    return [Ask(firm=f) for f in firm]


def paths(policy: Policy, op: Operation) -> PathPolicy:
    return {READ: policy.read, EXEC: policy.read, WRITE: policy.write}.get(op.kind, PathPolicy())


def path_default(case: Case, op: Operation) -> tuple[Verdict, bool]:
    """Return the strictest default set, and the built-in one where neither user nor organisation set one."""
    if op.kind is EXEC or listed(case, op):
        return ALLOW, False
    own = [d for p in case.policies if p.layer >= Layer.USER and (d := paths(p, op).default)]
    others = [d for p in case.policies if p.layer < Layer.USER and (d := paths(p, op).default)]
    edge = not own and beyond_edge(case, op.kind, op.resource) and not case.embedded
    return max([ALLOW, *own, *others, *([ASK] if edge else [])]), edge


def covered(case: Case, operations: list[Operation], op: Operation) -> bool:
    """Tell whether an allow surely speaks for the operation."""
    rules = [r for p in counted(case) for r in p.allow]
    named = any(r.tool == case.call.tool and r.pattern is None and r.expires is None for r in rules)
    if case.embedded and named and op.tier is not DESTRUCTIVE and not case.unreadable:
        return True  # in that format a bare name is about the whole call
    if any(reaches(case, r, operations, op, destructive=r.destructive) for r in rules):
        return True
    allowed = "allow" in (*case.hooks, *case.hosts) or (op.kind is not EXEC and listed(case, op))
    return (allowed or by_name(case)) and op.tier is not DESTRUCTIVE


def by_name(case: Case) -> bool:
    """Tell whether an embedded policy allows the tool by its bare name, and so the whole of a call that can be read."""
    bare = {r.tool for p in counted(case) for r in p.allow if r.pattern is None and r.expires is None}
    return case.embedded and not case.unreadable and case.call.tool in bare


def counted(case: Case) -> list[Policy]:
    return [p for p in case.policies if p.layer >= Layer.USER or (p.layer is Layer.PROJECT and p.trusted)]


def listed(case: Case, op: Operation) -> bool:
    """Tell whether a path policy's allow list names the file; to be read is not yet to be run."""
    return any(glob_matches(g, op.resource) for p in counted(case) for g in paths(p, op).allow)


def granted(case: Case, operations: list[Operation], op: Operation) -> bool:
    kept = case.session.run and leaves(case, op)
    grants = [(g, g.rule) for g in case.consent.grants if g.rule and binds(case, g) and (g.outside or not kept)]
    return any(reaches(case, rule, operations, op, destructive=g.destructive) for g, rule in grants)


def leaves(case: Case, op: Operation) -> bool:
    """Tell whether a path lies outside the workspace, which no folder at all holds."""
    return op.kind in (READ, WRITE, EXEC) and not (case.session.workspace and inside(case, op.resource))


def binds(case: Case, grant: Grant) -> bool:
    who = case.session
    pairs = ((grant.user, who.user), (grant.agent, who.agent), (grant.session, who.id))
    return all(a in (None, b) for a, b in pairs) and (grant.expires_at is None or grant.expires_at > NOW)


def reaches(case: Case, rule: Rule, operations: list[Operation], op: Operation, *, destructive: bool) -> bool:
    """Tell whether an allow covers the operation: by itself, or through the command that makes it."""
    if op.tier is DESTRUCTIVE and not destructive:
        return False
    seen = [op] if op.owner is None or op.own_cover else [op, operations[op.owner]]
    return any(speaks(case, rule, o, "allow") is YES for o in seen)


def speaks(case: Case, rule: Rule, op: Operation, effect: str) -> Certainty:
    """Say how surely a rule is about an operation. A line that cannot be read may hold anything."""
    if rule.expires is not None and rule.expires <= NOW:
        return NO
    if effect == "allow":
        return matches(case, rule.tool, rule.pattern, op, effect)
    if rule.exceptions and any(
        reaches(case, except_for(rule, e), read(case), op, destructive=True) for e in rule.exceptions
    ):
        return NO
    found = matches(case, rule.tool, rule.pattern, op, effect)
    files = rule.pattern is not None or rule.tool not in NAMED
    return max(found, MAYBE) if case.unreadable and rule.tool in ABOUT and files else found


def except_for(rule: Rule, pattern: str) -> Rule:
    return Rule(tool=rule.tool, pattern=pattern)


def matches(case: Case, tool: str, pattern: str | None, op: Operation, effect: str) -> Certainty:
    kind = ABOUT.get(tool, CALL)
    if kind is CALL:
        return YES if fnmatchcase(case.call.tool, tool) else NO
    if (tool, pattern) == ("Bash", None) and effect != "allow":  # about the tool, and so about all it does
        return YES if case.call.tool == "Bash" and (op.owner is None or op.own_cover) else NO
    if effect == "allow" and (op.resource == UNKNOWN or tool not in (case.call.tool, "Bash", "Read", "Write")):
        return NO
    if pattern is None and tool in NAMED and case.call.tool != tool:
        return NO
    executed = op.kind is EXEC and kind is READ and effect != "allow"  # who runs a file reads it
    if op.kind is not kind and not executed:
        return NO
    if pattern is None:
        return YES
    if kind is RUN:
        return command_matches(pattern, op.resource, exact=effect == "allow")
    if kind is NET:
        found = fnmatchcase(op.resource, pattern.removeprefix("domain:"))
        return MAYBE if op.resource == UNKNOWN else YES if found else NO
    bases = {case.call.cwd or "/", *case.session.workspace}
    if effect == "allow":  # the agent says where it stands: from outside, a relative pattern vouches for nothing
        bases = {case.call.cwd or "/"} if inside(case, case.call.cwd or "/") or pattern[0] == "/" else set()
    globs = [posixpath.join(b, pattern) for b in bases]
    if effect == "allow":
        return YES if any(glob_matches(g, op.resource) for g in globs) else NO
    return YES if any(glob_touches(g, op.resource) or goes_with(g, op) for g in globs) else NO


@functools.cache
def command_matches(pattern: str, text: str, *, exact: bool) -> Certainty:
    """Compare words. An unknown program may be anything that the pattern could begin with."""
    head, star = re.subn(r"(:\*\*?| \*)$", "", pattern)
    wanted = ".*".join(map(re.escape, head.split("*"))) + ("( .*)?" if star or not exact else "")
    guesses = [text.replace(UNKNOWN, guess) for guess in (head, head.split()[0], "x")]
    found = any(re.fullmatch(wanted, guess) for guess in guesses)
    return NO if not found else MAYBE if UNKNOWN in text else YES


def goes_with(glob: str, op: Operation) -> bool:
    """Tell whether what a pattern literally names is inside a folder that is removed."""
    named = "/".join(itertools.takewhile(lambda part: "*" not in part, glob.split("/")))
    return op.kind is WRITE and op.sweep and named not in ("", op.resource) and within(named, op.resource)


def glob_touches(glob: str, path: str) -> bool:
    """Tell whether a pattern matches a path, names a folder above it, or is about all that is in that folder."""
    return (
        glob_matches(glob, path)
        or ("*" not in glob and within(path, glob))
        or (glob.endswith("*") and (re.sub(r"/\*\*?$", "", glob) or "/") == path)
    )


@functools.cache
def glob_matches(glob: str, path: str) -> bool:
    parts = ("[^/]*".join(map(re.escape, part.split("*"))) for part in glob.split("**"))
    return re.fullmatch(".*".join(parts), path) is not None

"""Scenes for tests of policy: operations made by hand, and a decision on them without reading any call."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any

from assent.analysis.read import read
from assent.analysis.resources.paths import Place, place_of
from assent.model import (
    Consent,
    Decision,
    Facts,
    Mode,
    Operation,
    OperationKind,
    Policy,
    Reading,
    Rule,
    Session,
    Tier,
    ToolCall,
)
from assent.policy.call_view import View
from assent.policy.decide import decide
from assent.policy.guard import Guard
from assent.policy.layers import merge
from assent.policy.rules.match import compile_rule
from assent.policy.rules.parse import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assent.model import Certainty, Opinion

SAFE, DANGEROUS, DESTRUCTIVE = Tier
WS = "/ws"
HOME = "/home/dev"
SESSION = Session(id="s", user="ann", agent="bot", workspace=(WS,))
NOBODY = Session(id="s", user="ann", agent="bot", workspace=(WS,), interactive=False)


def world(*, links: dict[str, str] | None = None, **known: Any) -> Facts:
    """Return a world whose disk has these symbolic links, and empty folders; without any it cannot be asked."""
    if links is not None:
        known["resolve"] = following(links)
        known.setdefault("names", lambda _folder: ())
    return Facts(**{"home": HOME, "now": 1000.0, **known})


def following(links: dict[str, str]) -> Callable[[str], str | None]:
    """Follow links at the beginning of a path, as a disk would."""

    def resolve(path: str) -> str:
        path = posixpath.normpath(path)
        for link, target in links.items():
            if path == link or path.startswith(link + "/"):
                return resolve(target + path[len(link) :])
        return path

    return resolve


def run(line: str, tier: Tier = SAFE, **more: Any) -> Operation:
    words = tuple(line.split())
    return Operation(kind=OperationKind.COMMAND_EXECUTE, resource=line, argv=words, tier=tier, reason="runs", **more)


def reads(path: str, tier: Tier = SAFE, **more: Any) -> Operation:
    return Operation(kind=OperationKind.FS_READ, resource=path, tier=tier, reason="reads a file", **more)


def writes(path: str, tier: Tier = SAFE, **more: Any) -> Operation:
    return Operation(kind=OperationKind.FS_WRITE, resource=path, tier=tier, reason="writes a file", **more)


def connects(host: str, tier: Tier = SAFE, **more: Any) -> Operation:
    return Operation(kind=OperationKind.NET_CONNECT, resource=host, tier=tier, reason="contacts", **more)


def executes(path: str, **more: Any) -> Operation:
    return Operation(kind=OperationKind.FS_EXEC, resource=path, tier=DANGEROUS, reason="runs a file", **more)


def calls(tool: str, tier: Tier = DANGEROUS) -> Operation:
    return Operation(kind=OperationKind.TOOL_CALL, resource=tool, tier=tier, reason="unknown")


def look(
    *operations: Operation,
    tool: str = "Bash",
    called: str | None = None,
    given: dict[str, Any] | None = None,
    cwd: str | None = WS,
    session: Session = SESSION,
    facts: Facts | None = None,
    unreadable: str | None = None,
    override: bool = False,
) -> View:
    """Return the view of a call that would do exactly these operations."""
    if given is None:
        given = {"command": operations[0].resource} if tool == "Bash" else {}
    call = ToolCall(tool=called or tool, input=given, cwd=cwd, override=override)
    worst = max(operations, key=lambda o: o.tier.rank)
    reading = Reading(tool=tool, operations=operations, tier=worst.tier, reason=worst.reason, unreadable=unreadable)
    return View(call, session, reading, place_of(call, session, facts or world()))


def view_of(tool: str, given: dict[str, Any], **scene: Any) -> View:
    """Return the view of a call that is really read."""
    facts = scene.get("facts") or world()
    session = scene.get("session", SESSION)
    call = ToolCall(tool=tool, input=given, cwd=scene.get("cwd", WS))
    place = place_of(call, session, facts)
    return View(call, session, read(call, place), place)


def rules(*texts: str) -> tuple[Rule, ...]:
    return tuple(parse_rule(t) for t in texts)


def policy(**fields: Any) -> Policy:
    """Return a policy whose rules and mode are written as text."""
    if "mode" in fields:
        fields["mode"] = Mode(fields["mode"])
    for name in ("allow", "ask", "deny"):
        if name in fields:
            fields[name] = tuple(parse_rule(r) if isinstance(r, str) else r for r in fields[name])
    return Policy(**fields)


def judge(
    view: View,
    *policies: Policy,
    consent: Consent | None = None,
    heard: Sequence[Opinion] = (),
    guard: Guard | None = None,
) -> Decision:
    return decide(view, guard or Guard(merge(policies)), consent or Consent(), heard)


def match(rule: str | Rule, view: View, index: int = 0, *, broad: bool) -> Certainty:
    matcher = compile_rule(parse_rule(rule) if isinstance(rule, str) else rule)
    return matcher.match(view.reading.operations[index], view, broad=broad)


def place(*, cwd: str | None = WS, workspace: tuple[str, ...] = (WS,), facts: Facts | None = None) -> Place:
    return place_of(ToolCall(tool="x", cwd=cwd), Session(workspace=workspace), facts or world())

"""`/api/policy/try`: evaluate a draft rule against the recorded calls of the last days. It changes nothing.

The result is an estimate: the log has the analysis of a call, not the call itself, and the rule is compared with
today's policy.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.entry import read_event, restore_reading
from assent.decisions.grants.from_answer import make_grant, matches_files, read_pattern
from assent.decisions.grants.reliance import relied_on
from assent.model import (
    ALLOW,
    Answer,
    Approval,
    AssentError,
    Consent,
    Decision,
    Event,
    Grant,
    Layer,
    Policy,
    Rule,
    Session,
    ToolCall,
    Workspace,
    within,
)
from assent.model.principal import Role
from assent.policy.engine import Engine
from assent.server.api.permissions import may_see
from assent.server.http.messages import Request, reply
from assent.store.cursor import Row
from assent.wire.policy import Change, Trial, TryBody
from assent.wire.refusal import Refusal
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from starlette.responses import Response

    from assent.server.daemon import Daemon

_RECENT = 100_000
"""How many of the latest records are looked through."""
MOST_CALLS = 2000
"""How many different calls are looked at, the latest first."""
MOST_EXAMPLES = 50
_AT_ONCE = 500
_OLDER = "SELECT 1 FROM events WHERE position = :first AND at >= :since"


class _Seen(msgspec.Struct, frozen=True):
    """A recorded call, and how often it was made."""

    event: Event
    count: int
    at: float

    @property
    def command(self) -> str:
        return str(self.event.payload.get("summary", ""))

    @property
    def agent(self) -> str:
        return str(self.event.payload.get("agent", ""))


_BODY = msgspec.json.Decoder(TryBody)


async def try_rule(daemon: Daemon, request: Request) -> Response:
    """Evaluate a draft rule against recorded calls."""
    body, who = request.decode(_BODY), request.who
    if not 0 < body.days <= 366:
        raise Refusal(400, "Invalid days: expected a number up to 366")
    if not body.rule.strip():
        raise Refusal(400, "Missing rule")
    try:
        rule = read_pattern(body.rule, body.tool)
    except AssentError as error:
        raise Refusal(400, str(error)) from None
    asked = None if body.request_id is None else await _find_question(daemon, body.request_id, request)
    since = time.time() - body.days * 86400
    user = None if who.role is Role.ADMIN else who.user
    first = await daemon.audit_position() - _RECENT
    seen = await _look_back(daemon, since, first, user, body.agent_id)
    older = await daemon.store.query(_OLDER, {"first": first, "since": since})
    return reply(await asyncio.to_thread(_try, _Draft(daemon, rule, body, asked), seen, whole=not older))


async def _find_question(daemon: Daemon, request_id: str, request: Request) -> Approval:
    found = await daemon.approvals.get(request_id)
    if found is None or not may_see(request.who, found):
        raise Refusal(404, "Request not found")
    return found


async def _look_back(daemon: Daemon, since: float, first: int, user: str | None, agent: str | None) -> list[_Seen]:
    """Find the latest calls, each once; a released call was already counted when it was asked about."""
    where = ["position > :first", "type = 'permission.evaluated'", "at >= :since", "source <> 'person'"]
    where += ["user_id = :user"] * (user is not None) + ["agent_id = :agent"] * (agent is not None)
    sql = (
        "SELECT max(position), count(*) FROM events "  # noqa: S608 - constants
        f"WHERE {' AND '.join(where)} GROUP BY agent_id, tool, text ORDER BY 1 DESC LIMIT :limit"
    )
    given = {"since": since, "first": first, "user": user, "agent": agent, "limit": MOST_CALLS + 1}
    found = await daemon.store.query(sql, {k: v for k, v in given.items() if f":{k}" in sql})
    counts = {int(position): int(count) for position, count in found}
    return [seen async for seen in _read(daemon, counts)]


async def _read(daemon: Daemon, counts: dict[int, int]) -> Any:
    positions = list(counts)
    for start in range(0, len(positions), _AT_ONCE):
        part = positions[start : start + _AT_ONCE]
        names = {f"p{n}": position for n, position in enumerate(part)}
        listed = ", ".join(f":{name}" for name in names)
        sql = f"SELECT position, writer, seq, at, body FROM events WHERE position IN ({listed})"  # noqa: S608 - names of ours
        for row in sorted(await daemon.store.query(sql, names), reverse=True):
            yield _seen(row, counts)


def _seen(row: Row, counts: dict[int, int]) -> _Seen:
    position, writer, seq, at, body = row
    return _Seen(read_event(position, writer, seq, at, bytes(body)), counts[position], at)


def _try(draft: _Draft, seen: Sequence[_Seen], *, whole: bool) -> Trial:
    looked = seen[:MOST_CALLS]
    compared = [(s, b.decision, a.decision) for s, b, a in draft.compare(looked)]
    asked = sum(s.count for s, before, _ in compared if before == "ask")
    changes = [
        Change(s.command, s.count, before, after, millis(s.at), s.agent)
        for s, before, after in compared
        if before != after
    ]
    return Trial(
        draft.rule.text,
        sum(s.count for s in looked),
        asked,
        sum(c.count for c in changes),
        whole and len(seen) <= MOST_CALLS,
        tuple(changes[:MOST_EXAMPLES]),
    )


class _Draft:
    """A draft of a rule or of a grant."""

    def __init__(self, daemon: Daemon, rule: Rule, body: TryBody, asked: Approval | None) -> None:
        self._daemon = daemon
        self.rule = rule
        self._body = body
        self._asked = asked
        self._engines: dict[int, tuple[Engine, Engine]] = {}

    def compare(self, seen: Sequence[_Seen]) -> Iterator[tuple[_Seen, Decision, Decision]]:
        """Decide every call with today's policy, and with the rule added."""
        grant = self._grant() if self._body.effect == "grant" else None
        for each in seen:
            recorded = each.event.permission_decision
            if recorded is None:
                continue
            call, session, engine = self._place(each.event, recorded)
            reading = restore_reading(recorded.reading)
            before = engine.decide_read(reading, call, session)
            if grant is None:
                after = self._drafted(engine).decide_read(reading, call, session)
            else:
                after = engine.decide_read(reading, call, session, Consent(grants=(grant,)))
                after = after if _is_good_for(grant, after, session) else before
            yield each, before, after

    def _grant(self) -> Grant:
        """Make the grant that an answer would store; without a question it is bound to nothing."""
        body, made = self._body, None
        if self._asked is not None:
            answer = Answer(verdict=ALLOW, scope=body.scope, pattern=body.rule, destructive=body.destructive)
            made = make_grant(self._asked, answer, "")
        return made or Grant(id="draft", rule=self.rule, destructive=body.destructive)

    def _drafted(self, engine: Engine) -> Engine:
        if id(engine) not in self._engines:
            written = msgspec.structs.replace(self.rule, destructive=self._body.destructive)
            policy = Policy(layer=Layer.USER, file="(draft)")
            policy = msgspec.structs.replace(policy, **{self._body.effect: (written,)})
            self._engines[id(engine)] = (engine, engine.with_policy(policy))
        return self._engines[id(engine)][1]

    def _place(self, event: Event, recorded: Decision) -> tuple[ToolCall, Session, Engine]:
        """Rebuild a recorded call with its session, as far as the log has them."""
        said = event.payload
        cwd = said.get("cwd")
        folder = cwd if isinstance(cwd, str) else None
        call = ToolCall(tool=recorded.reading.tool, input={"command": said.get("summary", "")}, cwd=folder)
        user, agent = str(said.get("user", "")), str(said.get("agent", ""))
        found, remote = self._disk(folder, agent, event.session_id)
        session = Session(
            id=event.session_id,
            user=user,
            agent=agent,
            workspace=found.roots,
            guessed=found.guessed,
            remote=remote,
        )
        return call, session, self._daemon.projects(call, session)

    def _disk(self, folder: str | None, agent: str, session: str) -> tuple[Workspace, bool]:
        """Return an agent's workspace and whether it is remote: by the question's session, else by the disk."""
        asking = None if self._asked is None else self._asked.session
        if asking is not None and asking.agent == agent:
            inside = folder is not None and any(within(folder, root) for root in asking.workspace)
            if inside or session == asking.id or asking.remote or not asking.workspace:
                return Workspace(asking.workspace, asking.guessed), asking.remote
        workspace = self._daemon.projects.look(folder) if folder is not None else None
        return workspace or Workspace(), workspace is None


def _is_good_for(grant: Grant, decision: Decision, session: Session) -> bool:
    """Tell whether a grant that a decision relies on was given for the files that the call runs."""
    return grant.id not in relied_on(decision) or matches_files(grant, decision, session)

"""Records of the log told as events, each with its number in its session and the facts behind it."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from assent.audit.search import Query, Record, find, read_record
from assent.model import Event
from assent.server.runtime.correlation import Correlation
from assent.server.runtime.envelope import DOUBLED, QUESTIONS, tell
from assent.store.store import Store
from assent.wire.refusal import Refusal
from assent.wire.runtime_events import Envelope

_BEFORE = (
    "SELECT count(*), "  # noqa: S608 - constants
    f"count(CASE WHEN type IN ({', '.join(map(repr, DOUBLED))}) THEN 1 END) "
    "FROM events WHERE session_id = :session AND user_id = :user AND position < :position"
)
_PLACE = re.compile(r"(\d{1,18})(\.0)?")
_MOST_REMEMBERED = 1024
_event = msgspec.json.Decoder(Event)


class Told(msgspec.Struct, frozen=True):
    """An event, and the place that a reader names who has seen it."""

    place: str
    envelope: Envelope


class Narrator:
    """Tells records in their order. It must be given all records of a session from where it begins."""

    def __init__(self, store: Store, runtime: str) -> None:
        self._store = store
        self._runtime = runtime
        self._next: dict[tuple[str, str], int] = {}
        self._asked: OrderedDict[str, Event | None] = OrderedDict()
        self._calls = Correlation(store)

    async def tell(self, records: Sequence[Record]) -> list[Told]:
        """Tell some records."""
        return [told for record in records for told in await self._tell(record)]

    async def _tell(self, record: Record) -> list[Told]:
        key = (record.user, record.session)
        if key not in self._next:
            self._next[key] = await self._count(record)
        event = _event.decode(record.body)
        asked = await self._find_asked(record.approval) if record.type in QUESTIONS and record.approval else None
        facts = await self._calls.find(record, event)
        envelopes = tell(record, event, self._runtime, self._next[key], asked=asked, facts=facts)
        self._next[key] += len(envelopes)
        if len(envelopes) == 1:
            return [Told(str(record.position), envelopes[0])]
        return [Told(f"{record.position}.0", envelopes[0]), Told(str(record.position), envelopes[1])]

    async def _count(self, record: Record) -> int:
        given = {"session": record.session, "user": record.user, "position": record.position}
        ((rows, doubled),) = await self._store.query(_BEFORE, given)
        return int(rows) + int(doubled)

    async def _find_asked(self, approval: str) -> Event | None:
        """Return the event of the decision that a question came from."""
        if approval not in self._asked:
            query = Query(type="permission.evaluated", approval=approval)
            rows = await self._store.query(find(query, after=0, limit=1))
            body = read_record(rows[0]).body if rows else None
            self._asked[approval] = None if body is None else _event.decode(body)
            if len(self._asked) > _MOST_REMEMBERED:
                self._asked.popitem(last=False)
        return self._asked[approval]


def read_place(place: str | None) -> tuple[int, str]:
    """Read where a reader was: after which position to begin, and which event there it has seen; or refuse it."""
    if not place:
        return 0, ""
    found = _PLACE.fullmatch(place)
    if found is None:
        raise Refusal(400, "Invalid Last-Event-ID: expected an id of this stream")
    position = int(found[1])
    return (position - 1, place) if found[2] else (position, place)

"""Everyone who listens: the open sockets of each user, with a bounded queue each. Nobody is ever waited for."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from assent.model import State
from assent.server.approval_command import command_of
from assent.wire.tier_prefix import tiered_reason
from assent.wire.timestamps import millis

if TYPE_CHECKING:
    from assent.model import Approval
    from assent.server.metrics import Metrics

MOST_REMEMBERED = 20_000
LARGEST_QUEUE = 4 << 20
"""How many characters are kept for a client that reads slowly."""
ALL_USERS = ""
"""Stands for every user, where an admin listens; no user has this name."""
_WORDS = {State.APPROVED: "approve", State.REJECTED: "reject"}


class Member:
    """One socket: what is to be sent to it, and how to cut it off."""

    def __init__(self, user: str, size: int, abort: Callable[[], None], largest: int = LARGEST_QUEUE) -> None:
        self.user = user
        self._queue: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue(size)
        self._abort = abort
        self._largest = largest
        self._held = 0
        self._roomy = asyncio.Event()
        self._roomy.set()
        self.known: set[str] = set()
        """The questions it was told of when it connected."""

    def push(self, message: str, announces: str | None = None) -> bool:
        """Queue a message, saying which question it announces, if any; one who does not read is cut off."""
        if self._queue.full() or (self._held and self._held + len(message) > self._largest):
            self._abort()
            return False
        self._queue.put_nowait((announces, message))
        self._held += len(message)
        self._note_room()
        return True

    async def room(self) -> None:
        """Wait until most of what is queued was sent."""
        await self._roomy.wait()

    def _note_room(self) -> None:
        half_full = 2 * self._queue.qsize() > self._queue.maxsize or 2 * self._held > self._largest
        (self._roomy.clear if half_full else self._roomy.set)()

    async def next(self) -> str:
        """Wait for the next message that says something new."""
        while True:
            announces, message = await self._queue.get()
            self._held -= len(message)
            self._note_room()
            if announces is None or announces not in self.known:
                return message


class Hub:
    """The sockets by user, and what they were told."""

    def __init__(self, metrics: Metrics, *, queue: int) -> None:
        self._metrics = metrics
        self._size = queue
        self._members: defaultdict[str, set[Member]] = defaultdict(set)
        self.open: dict[str, str] = {}
        """The questions that were announced and not yet acknowledged, with their users."""
        self._ended: OrderedDict[str, None] = OrderedDict()

    @property
    def count(self) -> int:
        """How many sockets are open."""
        return sum(map(len, self._members.values()))

    def has(self, user: str) -> bool:
        """Tell whether a user listens."""
        return user in self._members

    def join(self, user: str, abort: Callable[[], None]) -> Member:
        """Add a socket."""
        member = Member(user, self._size, abort)
        self._members[user].add(member)
        return member

    def leave(self, member: Member) -> None:
        """Remove a socket."""
        members = self._members.get(member.user, set())
        members.discard(member)
        if not members:
            self._members.pop(member.user, None)

    def hear(self, approval: Approval) -> bool:
        """Tell a user's sockets what became of a question, each thing once; true if it ended just now."""
        if approval.state is State.PENDING:
            if approval.id not in self.open and approval.id not in self._ended:
                self.open[approval.id] = approval.user
                self._tell(approval.user, request_message(approval), approval.id)
            return False
        self.open.pop(approval.id, None)
        if approval.id in self._ended:
            return False
        self._ended[approval.id] = None
        if len(self._ended) > MOST_REMEMBERED:
            self._ended.popitem(last=False)
        self._tell(approval.user, ack_message(approval))
        return True

    def beat(self) -> None:
        """Send everyone a sign of life."""
        message = write_message("heartbeat", timestamp=now())
        for user in tuple(self._members):
            self._push(user, message)

    def _tell(self, user: str, message: str, announces: str | None = None) -> None:
        for listeners in (user, ALL_USERS):
            self._push(listeners, message, announces)

    def _push(self, listeners: str, message: str, announces: str | None = None) -> None:
        for member in tuple(self._members.get(listeners, ())):
            if not member.push(message, announces):
                self._metrics.dropped += 1
                self.leave(member)


def now() -> int:
    """Return the time in milliseconds."""
    return millis(time.time())


def write_message(kind: str, **data: Any) -> str:
    """Write one message."""
    return msgspec.json.encode({"type": kind, "data": data}).decode()


def request_message(approval: Approval) -> str:
    """Announce a question."""
    proposal = approval.decision.proposal if approval.decision is not None else ""
    return write_message(
        "permission_request",
        id=approval.id,
        command=command_of(approval),
        tier=approval.tier,
        reason=tiered_reason(approval),
        agentId=approval.agent,
        expiresAt=millis(approval.expires_at),
        **({"proposedPattern": proposal} if proposal else {}),
    )


def ack_message(approval: Approval) -> str:
    """Say how a question ended."""
    return write_message(
        "decision_ack",
        requestId=approval.id,
        decision=_WORDS.get(approval.state, approval.state.value),
        timestamp=millis(approval.resolved_at or time.time()),
        by=approval.by,
    )

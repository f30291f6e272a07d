"""Everything the daemon holds, and its own small chores: following questions, telling listeners, letting go."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect

from assent.audit.follow import last_position
from assent.model import AssentError, State
from assent.server.api.audit_verify import Verification
from assent.server.api.hourly_counts import HourlyCounts
from assent.server.auth.rate_limits import Rates
from assent.server.hooks.calls import Desks
from assent.server.hooks.decision_index import Rulings
from assent.server.hooks.dedup import Twins
from assent.server.http.messages import Refusal, StoppingError
from assent.server.live.connections import Visits
from assent.server.live.listeners import Hub
from assent.server.metrics import Metrics
from assent.server.notifications import Notifier

if TYPE_CHECKING:
    from assent.audit.log import Log
    from assent.config.settings import ServerSettings
    from assent.decisions.approvals.repository import Approvals
    from assent.decisions.ruling import Ruling
    from assent.decisions.service import Decisions
    from assent.model import Approval, Session, ToolCall
    from assent.model.principal import Principal
    from assent.runs.registry import RunRegistry
    from assent.server.auth.principals import Identities
    from assent.server.http.messages import Request
    from assent.server.http.origin import Door
    from assent.server.http.route import Route
    from assent.server.live.run_socket import RunSocket
    from assent.server.operator_log import Journal
    from assent.server.project_engines import Projects
    from assent.store.store import Store

T = TypeVar("T")

LOOK_EVERY = 2.0
"""How often to look for what no hint told of, in seconds."""


class Daemon:
    """The parts, put together. One for a process."""

    def __init__(  # noqa: PLR0913 - it is the sum of its parts
        self,
        *,
        settings: ServerSettings,
        door: Door,
        store: Store,
        log: Log,
        approvals: Approvals,
        decisions: Decisions,
        runs: RunRegistry,
        keys: Identities,
        projects: Projects,
        journal: Journal,
        routes: tuple[Route, ...],
        version: str,
        link: str = "",
    ) -> None:
        self.settings = settings
        self.door = door
        self.store = store
        self.log = log
        self.approvals = approvals
        self.decisions = decisions
        self.runs = runs
        self.run_clients: set[RunSocket] = set()
        """The sockets that speak the run protocol."""
        self.keys = keys
        self.visits = Visits(keys)
        self.projects = projects
        self.journal = journal
        self.routes = routes
        self.version = version
        self.metrics = Metrics()
        self.hub = Hub(self.metrics, queue=settings.queue)
        self.rates = Rates(settings.rate)
        self.notifier = Notifier(settings, journal, link)
        self.verification = Verification()
        self.desks = Desks(projects)
        self.rulings = Rulings()
        self.tally = HourlyCounts(store)
        self.twins = Twins()
        self.closing: asyncio.Future[None]
        self._loop: asyncio.AbstractEventLoop
        self._started = time.monotonic()
        self._heard: dict[str, None] = {}
        self._news = asyncio.Event()
        self._chores: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin the chores, on the loop that serves."""
        self._loop = asyncio.get_running_loop()
        self.closing = self._loop.create_future()
        await self.runs.recover()
        await self.refresh_tokens()
        self.store.subscribe(self.runs.on_change)
        self.store.subscribe(self.keys.hear)
        self.store.subscribe(self._hear)
        self._chores = [asyncio.create_task(chore()) for chore in self._chores_to_do()]

    def _chores_to_do(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        return self._follow, self._look_around, self._beat, self.notifier.work

    def let_go(self) -> None:
        """Tell everyone who waits that the daemon stops."""
        if not self.closing.done():
            self.closing.set_result(None)

    async def stop(self) -> None:
        """End the chores. What is pending stays pending, in the store."""
        self.let_go()
        await self.runs.close()
        self.store.unsubscribe(self.runs.on_change)
        await self.verification.stop()
        self.store.unsubscribe(self._hear)
        self.store.unsubscribe(self.keys.hear)
        for chore in self._chores:
            chore.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)
        self.projects.close()

    @property
    def uptime(self) -> int:
        """Return the milliseconds since the start."""
        return int((time.monotonic() - self._started) * 1000)

    async def hold(self, request: Request, work: Awaitable[T]) -> T:
        """Do work for a caller while the caller waits: else raise `ClientDisconnect`, or `StoppingError`."""
        task = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(request.left())
        try:
            await asyncio.wait((task, leaving, self.closing), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                if request.principal is not None and not self.keys.is_good(request.principal):
                    raise Refusal(401, "Unauthorized")  # its token was revoked meanwhile
                return task.result()
            raise ClientDisconnect if leaving.done() else StoppingError
        finally:
            for other in (task, leaving):
                if not other.done():
                    other.cancel()
                    with contextlib.suppress(asyncio.CancelledError, AssentError):
                        await other

    async def settle(self, request: Request, call: ToolCall, session: Session, wait: float) -> Ruling:
        """Have a call decided, waiting for a person; when the daemon stops, say what it waits for.

        A caller who said that it comes again is told nothing but that: raises `StoppingError`.
        """
        try:
            return await self.hold(request, self.decisions.decide(call, session, wait=wait, prefix="hook"))
        except StoppingError:
            if "again" in request.query:
                raise
            return await self.decisions.decide(call, session, prefix="hook")

    def note_answer(self, approval: Approval, who: Principal) -> None:
        """Write down that a person answered."""
        self.journal.note("info", "question.answered", id=approval.id, state=approval.state, by=who.user)

    def bake(self, secret: str, seconds: int) -> bytes:
        """Make the header that sets the session's cookie, or with no time left, clears it."""
        secure = "; Secure" if self.settings.public_url.startswith("https://") else ""
        text = f"{self.keys.cookie}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        return text.encode()

    async def refresh_tokens(self) -> None:
        """Have every token that is in force, and none that is not, count from now on."""
        await asyncio.wrap_future(self.keys.look())
        self.visits.check()

    async def count_pending(self) -> int:
        """Return how many questions are pending."""
        return int((await self.store.query("SELECT count(*) FROM approvals WHERE state = 'pending'"))[0][0])

    async def audit_position(self) -> int:
        """Return where the log ends."""
        return await last_position(self.store)

    async def gauges(self) -> dict[str, tuple[str, float]]:
        """Read off what changes by itself."""
        figures = self.store.figures
        batch = figures.jobs / figures.batches if figures.batches else 0.0
        return {
            "assent_pending": ("Questions that wait for a person.", await self.count_pending()),
            "assent_sockets": ("WebSockets that are open.", self.listeners),
            "assent_runs_active": ("Runs that are not over.", self.runs.active),
            "assent_commits_total": ("Commits of the store.", figures.batches),
            "assent_commit_batch": ("Writes that shared a commit, on average.", batch),
            "assent_commit_batch_largest": ("The most writes that shared a commit.", figures.largest_batch),
            "assent_store_failures_total": ("Transactions that could not be written.", figures.failures),
            "assent_audit_lag_seconds": ("How long the last batch took to become durable.", figures.oldest_wait),
            "assent_audit_queue": ("Writes that wait for the next commit.", self.store.queued),
            "assent_audit_position": ("Where the log ends.", await self.audit_position()),
            "assent_policy_broken": ("Whether a policy file is broken.", self.projects.bench().fault is not None),
            "assent_uptime_seconds": ("Time since the start.", self.uptime / 1000),
        }

    def _hear(self, topic: str, ref: str, value: Any) -> None:
        if topic == "approvals":
            # The loop may be gone already, and then nobody listens.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._take_hint, ref, value)

    def _take_hint(self, ref: str, value: Any) -> None:
        if value is not None:
            self._tell(value)
            if value.state is State.PENDING:  # asked here, and not at another node
                self.notifier.tell(value)
        else:
            self._heard[ref] = None
            self._news.set()

    @property
    def listeners(self) -> int:
        """Return how many sockets are open."""
        return self.hub.count + len(self.run_clients)

    def _tell(self, approval: Approval) -> None:
        self.runs.tell(approval)
        if self.hub.hear(approval):
            self.metrics.count_answer(approval.state, (approval.resolved_at or 0.0) - approval.created_at)

    async def _follow(self) -> None:
        """Look up the questions that a hint named."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._heard:
                ref = next(iter(self._heard))
                del self._heard[ref]
                await self._try(self._look_up(ref))

    async def _look_up(self, ref: str) -> None:
        approval = await self.approvals.get(ref)
        if approval is not None:
            self._tell(approval)

    async def _look_around(self) -> None:
        """Find what no hint told of: a hint may be lost, the table is the truth."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self._try(self._compare())
            await self._try(self.refresh_tokens())
            await self._try(asyncio.to_thread(self.log.take_in))

    async def _compare(self) -> None:
        """Look up what is pending and was not announced, and what was announced and is not pending: mostly nothing."""
        pending = await self.approvals.list_pending()
        for ref in pending.symmetric_difference(tuple(self.hub.open)):
            await self._look_up(ref)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat)
            self.hub.beat()

    async def _try(self, chore: Awaitable[None]) -> None:
        try:
            await chore
        except Exception as error:  # noqa: BLE001 - a chore that fails is done again, and nothing depends on it
            self.journal.fault("chore.failed", error)

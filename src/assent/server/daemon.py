"""The daemon: its parts, and the tasks that run in the background."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import ClientDisconnect

from assent.audit.follow import last_position
from assent.model import AssentError
from assent.server.auth.rate_limits import Rates
from assent.server.http.messages import StoppingError
from assent.server.metrics import Metrics
from assent.server.notifications import Notifier
from assent.server.question_events import QuestionEvents
from assent.server.state.announced_calls import AnnouncedCalls
from assent.server.state.hourly_counts import HourlyCounts
from assent.server.state.listeners import Hub
from assent.server.state.open_connections import OpenConnections
from assent.server.state.recent_decisions import RecentDecisions
from assent.server.state.session_workspaces import SessionWorkspaces
from assent.server.state.verification import Verification
from assent.wire.refusal import Refusal

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
    from assent.server.http.origin import AllowedOrigins
    from assent.server.http.route import Route
    from assent.server.operator_log import Journal
    from assent.server.project_engines import Projects
    from assent.store.store import Store

T = TypeVar("T")

_PENDING = "SELECT count(*) FROM approvals WHERE state = 'pending'"
LOOK_EVERY = 2.0
"""How often to look for changes that no notification announced, in seconds."""


class Daemon:
    """The parts of the daemon. There is one for each process."""

    def __init__(  # noqa: PLR0913 - one parameter for each part
        self,
        *,
        settings: ServerSettings,
        origins: AllowedOrigins,
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
        self.origins = origins
        self.store = store
        self.log = log
        self.approvals = approvals
        self.decisions = decisions
        self.runs = runs
        self.run_clients: set[object] = set()
        """The sockets that speak the run protocol."""
        self.keys = keys
        self.connections = OpenConnections(keys)
        self.projects = projects
        self.journal = journal
        self.routes = routes
        self.version = version
        self.metrics = Metrics()
        self.hub = Hub(self.metrics, queue=settings.queue)
        self.rates = Rates(settings.rate)
        self.notifier = Notifier(settings, journal, link)
        self.verification = Verification()
        self.session_workspaces = SessionWorkspaces(projects)
        self.recent_decisions = RecentDecisions()
        self.hourly_counts = HourlyCounts(store)
        self.announced_calls = AnnouncedCalls()
        self.question_events = QuestionEvents(approvals, runs, self.hub, self.metrics, self.notifier, journal)
        self.closing: asyncio.Future[None]
        self._started = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the background tasks, on the loop that serves."""
        self.closing = asyncio.get_running_loop().create_future()
        self.question_events.start()
        await self.runs.recover()
        await self.refresh_tokens()
        self.store.subscribe(self.runs.on_change)
        self.store.subscribe(self.keys.hear)
        self.store.subscribe(self.question_events.hear)
        self._tasks = [asyncio.create_task(work()) for work in self._background_work()]

    def _background_work(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        return self.question_events.follow, self._look_around, self._beat, self.notifier.work

    def let_go(self) -> None:
        """Tell every waiting caller that the daemon stops."""
        if not self.closing.done():
            self.closing.set_result(None)

    async def stop(self) -> None:
        """Stop the background tasks. What is pending stays pending, in the store."""
        self.let_go()
        await self.runs.close()
        self.store.unsubscribe(self.runs.on_change)
        await self.verification.stop()
        self.store.unsubscribe(self.question_events.hear)
        self.store.unsubscribe(self.keys.hear)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.projects.close()

    @property
    def uptime(self) -> int:
        """Return the milliseconds since the start."""
        return int((time.monotonic() - self._started) * 1000)

    async def hold(self, request: Request, work: Awaitable[T]) -> T:
        """Await work while its caller stays connected; else raise `ClientDisconnect`, or `StoppingError`."""
        task = asyncio.ensure_future(work)
        leaving = asyncio.ensure_future(request.left())
        try:
            await asyncio.wait((task, leaving, self.closing), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                if request.principal is not None and not self.keys.is_good(request.principal):
                    raise Refusal(401, "Unauthorized")  # its token has been revoked since
                return task.result()
            raise ClientDisconnect if leaving.done() else StoppingError
        finally:
            for other in (task, leaving):
                if not other.done():
                    other.cancel()
                    with contextlib.suppress(asyncio.CancelledError, AssentError):
                        await other

    async def settle(self, request: Request, call: ToolCall, session: Session, wait: float) -> Ruling:
        """Decide a call and wait for a person; when the daemon stops, return the pending decision.

        For a caller that retries (`again`), raise `StoppingError` instead.
        """
        try:
            return await self.hold(request, self.decisions.decide(call, session, wait=wait, prefix="hook"))
        except StoppingError:
            if "again" in request.query:
                raise
            return await self.decisions.decide(call, session, prefix="hook")

    def note_answer(self, approval: Approval, who: Principal) -> None:
        """Log that a person answered."""
        self.journal.note("info", "question.answered", id=approval.id, state=approval.state, by=who.user)

    def bake(self, secret: str, seconds: int) -> bytes:
        """Return the header that sets the session's cookie; 0 seconds clear it."""
        secure = "; Secure" if self.settings.public_url.startswith("https://") else ""
        text = f"{self.keys.cookie}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        return text.encode()

    async def refresh_tokens(self) -> None:
        """Read the tokens in force again, and close connections whose token is no longer valid."""
        await asyncio.wrap_future(self.keys.look())
        self.connections.check()

    async def count_pending(self, user: str | None = None) -> int:
        """Return how many questions are pending: everybody's, or those of one user."""
        mine = "" if user is None else " AND user_id = :user"
        found = await self.store.query(_PENDING + mine, {} if user is None else {"user": user})
        return int(found[0][0])

    async def audit_position(self) -> int:
        """Return the position of the last record in the log."""
        return await last_position(self.store)

    async def gauges(self) -> dict[str, tuple[str, float]]:
        """Return the gauges for Prometheus, each with its help text."""
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
            "assent_policy_broken": ("Whether a policy file is broken.", self.projects.policy_of().fault is not None),
            "assent_uptime_seconds": ("Time since the start.", self.uptime / 1000),
        }

    @property
    def listeners(self) -> int:
        """Return how many sockets are open."""
        return self.hub.count + len(self.run_clients)

    async def _look_around(self) -> None:
        """Look for changes that no notification announced: one may be lost, and the tables are the truth."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self._try(self.question_events.compare())
            await self._try(self.refresh_tokens())
            await self._try(asyncio.to_thread(self.log.take_in))

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat)
            self.hub.beat()

    async def _try(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - work that fails is done again, and nothing depends on it
            self.journal.fault("chore.failed", error)

"""Construct the daemon; on a first start, create the owner's admin token and a login link."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shlex
import shutil
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from assent.agents.specs import WIRINGS, HookClient, Pointing
from assent.agents.wiring.hook_files import HOOK_SCRIPT
from assent.agents.wiring.hook_python import find_python
from assent.audit.log import Log
from assent.decisions.approvals.limits import PendingLimits
from assent.decisions.approvals.repository import Approvals
from assent.decisions.evaluate import Decider
from assent.decisions.service import Decisions
from assent.model import Event, EventType, NotFoundError, Session, ToolCall
from assent.model.principal import Role
from assent.platform.daemon_address import ASK_FOLDER, SOCKET_NAME, TOKEN_FILE
from assent.platform.files import find_secret, make_private_folder, write_private
from assent.platform.paths import assent_home, user_file
from assent.platform.user import user_name
from assent.platform.version import find_version
from assent.runs.context import RunContext
from assent.runs.registry import RunRegistry, find_decider
from assent.runs.run import Run
from assent.runs.strategies.library import open_library
from assent.sandbox.environment.variables import places_of
from assent.sandbox.redeem.launcher import place_launcher
from assent.server.auth.principals import Identities
from assent.server.auth.tokens import (
    LINK_SECONDS,
    SELECT_TOKENS,
    TokenRequest,
    hash_secret,
    is_valid,
    issue,
    make_link,
    revoke,
    revoke_of_run,
    token_of,
)
from assent.server.daemon import Daemon
from assent.server.http.origin import allowed_origins
from assent.server.project_engines import Projects
from assent.store.store import Store, open_store

if TYPE_CHECKING:
    from assent.config.settings import ServerSettings
    from assent.server.http.route import Route
    from assent.server.operator_log import Journal

_TRY = (
    (
        "curl --unix-socket {path} http://localhost/api/hooks/classify -H 'content-type: application/json'"
        """ -d '{{"toolName":"bash","toolInput":{{"command":"node script.js"}}}}'"""
    ),
    'curl --unix-socket {path} http://localhost/api/permissions -H "Authorization: Bearer $(cat {home}/token)"',
)


@contextlib.contextmanager
def assemble(
    settings: ServerSettings,
    home: str,
    *,
    port: int,
    journal: Journal,
    routes: tuple[Route, ...],
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Daemon]:
    """Open the parts of the daemon, yield it, and close the parts in order."""
    endpoints = tuple(f"{host}:{port}" for host in ("127.0.0.1", "localhost", "[::1]"))
    own_files = tuple(name for folder in settings.strategies for name in (folder, os.path.realpath(folder)))
    projects = Projects(journal, endpoints=(*endpoints, *settings.names), own_files=own_files, environ=environ)
    library = open_library(os.path.dirname(user_file(environ)), settings.strategies)
    with open_store(settings.store or None, home=home) as store:
        log = Log(store, home)
        _place_launchers(home, log, environ)
        approvals = Approvals(store, log)
        active: dict[str, Run] = {}
        limits = PendingLimits(settings.pending, settings.pending_size)
        engines = functools.partial(_find_decider, projects, active)
        decisions = Decisions(engines, store, log, approvals, expiry=settings.expiry, home=home, limits=limits)
        keys = Identities(store, cookie=cookie_name(settings, port))
        context = _run_context(decisions, store, log, projects, journal, keys, environ)
        runs = RunRegistry(context, node=log.writer, lease=settings.lease, library=library, runs=active)
        daemon = Daemon(
            settings=settings,
            origins=allowed_origins(settings, port),
            store=store,
            log=log,
            approvals=approvals,
            decisions=decisions,
            runs=runs,
            keys=keys,
            projects=projects,
            journal=journal,
            routes=routes,
            version=find_version(),
            link=_shown_address(settings, port),
        )
        try:
            yield daemon
        finally:
            log.close()


def _place_launchers(home: str, log: Log, environ: Mapping[str, str]) -> None:
    """Write the launchers that run decided calls: one in Assent's home, one in the folder that sandboxes see."""
    asking = os.path.join(home, ASK_FOLDER)
    make_private_folder(asking)
    for folder in (home, asking):
        place_launcher(folder, home, log.public_key, places_of(environ, home))


def _find_decider(projects: Projects, active: Mapping[str, Run], call: ToolCall, session: Session) -> Decider:
    """Return what decides a call: its run, or the engine of its project."""
    return find_decider(active, session) if session.run else projects(call, session)


def _run_context(
    decisions: Decisions,
    store: Store,
    log: Log,
    projects: Projects,
    journal: Journal,
    keys: Identities,
    environ: Mapping[str, str],
) -> RunContext:
    return RunContext(
        decisions=decisions,
        store=store,
        log=log,
        engines=projects.run_engine,
        facts=projects.seen,
        threads=ThreadPoolExecutor(16, thread_name_prefix="assent-files"),
        environ=dict(environ),
        find_workspace=projects.look,
        report=journal.fault,
        lend_token=lambda run: _lend_token(store, log, keys, run),
        end_tokens=lambda cursor, run: revoke_of_run(cursor, run, log),
        point_hooks=lambda agent: point_hooks(assent_home(environ), agent),
    )


def point_hooks(home: str, agent: str | None) -> Pointing:
    """Write the settings that make an agent call its hook where the sandboxed agent can read but not change them.

    Returns the options and variables that point the agent at them.
    """
    asking, inside = os.path.join(home, ASK_FOLDER), os.path.realpath(home)
    if agent is None:
        return Pointing()
    make_private_folder(asking)
    script = os.path.join(inside, HOOK_SCRIPT)
    client = HookClient(python=find_python(), script=script, agent=agent, home=inside, key=agent)
    name = f"{agent}.json"
    pointing = WIRINGS[agent].point(client, os.path.join(inside, name))
    write_private(os.path.join(asking, name), pointing.settings)
    return pointing


@contextlib.asynccontextmanager
async def _lend_token(store: Store, log: Log, keys: Identities, run: Run) -> AsyncIterator[str]:
    """Issue a token for a run's program, which may only ask, and revoke it at the end of the program."""
    plan = run.strategy.process
    request = TokenRequest(
        role=Role.AGENT,
        user=run.record.user,
        agent=plan.agent if plan is not None else "",
        label=f"run {run.id}",
        run=run.id,
        workspace=(run.setting.cwd,),
        interactive=run.interactive,
        seconds=plan.timeout + 60 if plan is not None else 60,
    )
    issued = await store.commit(issue(request, run.record.user, log))
    await asyncio.wrap_future(keys.look())
    try:
        yield issued.secret
    finally:
        with contextlib.suppress(NotFoundError):  # another daemon took this one for dead, and has revoked it already
            await store.commit(revoke(issued.token.id, run.record.user, log))
        await asyncio.wrap_future(keys.look())


def cookie_name(settings: ServerSettings, port: int) -> str:
    """Return the cookie's name. It contains the port, because browsers send cookies to every port of a host."""
    return "__Host-assent" if settings.public_url.startswith("https://") else f"assent-{port}"


def greet(daemon: Daemon, home: str, port: int, *, link: bool) -> str:
    """Create the owner's admin token if there is none, and return the text for the terminal: address and login link."""
    first = ensure_owner(daemon.store, daemon.log, home)
    path = os.path.join(home, SOCKET_NAME)
    where = _shown_address(daemon.settings, port)
    lines = [f"Assent listens on {where}"]
    if first or link:
        secret = make_link(daemon.store, daemon.log, user_name(), Role.ADMIN)
        lines.append(f"Log in once, within {LINK_SECONDS / 60:.0f} minutes:  {where}/login#{secret}")
        if daemon.settings.socket:
            lines += ["Try it:", *(f"  {line.format(path=shlex.quote(path), home=shlex.quote(home))}" for line in _TRY)]
        lines.append(f"Connect an agent:  {_own_command()} init claude-code  (or codex, gemini, opencode)")
    started = _own_event(daemon, "daemon.started")
    daemon.store.write(lambda cursor: daemon.log.append(cursor, [daemon.log.prepare(started)])).result()
    return "\n".join(lines)


def take_leave(daemon: Daemon) -> None:
    """Record that the daemon stops, before the log is closed; a killed daemon leaves no such record."""
    daemon.log.note(_own_event(daemon, "daemon.stopped"))


def _own_event(daemon: Daemon, kind: EventType) -> Event:
    return Event(type=kind, event_id="", timestamp="", session_id="", sequence=0, payload={"version": daemon.version})


def _own_command() -> str:
    """Return the command line name of this installation."""
    own = os.path.join(sys.prefix, "bin", "assent")
    return "assent" if shutil.which("assent") == own or not os.access(own, os.X_OK) else shlex.quote(own)


def ensure_owner(store: Store, log: Log, home: str) -> bool:
    """Make sure that the owner's command line has a valid token; return whether there was no token at all before."""
    path = os.path.join(home, TOKEN_FILE)
    held = find_secret(path)
    first = not store.read("SELECT id FROM tokens LIMIT 1").result()
    if held is not None and _is_good(store, held.decode("ascii", "replace").strip()):
        return first
    request = TokenRequest(role=Role.ADMIN, user=user_name(), label="command line")
    issued = store.write(issue(request, "start", log)).result()
    write_private(path, issued.secret.encode() + b"\n")
    return first


def _is_good(store: Store, secret: str) -> bool:
    query = SELECT_TOKENS + " WHERE hash = :hash AND kind = 'bearer'"
    rows = store.read(query, {"hash": hash_secret(secret)}).result()
    return bool(rows) and token_of(rows[0]).role is Role.ADMIN and is_valid(token_of(rows[0]), time.time())


def _shown_address(settings: ServerSettings, port: int) -> str:
    return settings.public_url or f"http://{_shown_host(settings.host)}:{port}"


def _shown_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return "localhost"
    return f"[{host}]" if ":" in host else host

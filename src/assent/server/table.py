"""Every route of the daemon, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.dashboard import PAGES
from assent.server import (
    classify,
    destructive,
    grants,
    history,
    hooks,
    login,
    pages,
    permissions,
    policies,
    similar,
    status,
    tokens,
    trials,
)
from assent.server.messages import Reply, Request, reply
from assent.server.openapi import make_document
from assent.server.routes import ADMINS, AGENTS, ANYONE, EVERYONE, PEOPLE, Parameter, Route

if TYPE_CHECKING:
    from assent.server.daemon import Daemon

_WAIT = Parameter("wait", "how many seconds to wait for a person", "number")
_LIMIT = Parameter("limit", "how many at most", "integer")
_CURSOR = Parameter("cursor", "where to go on, as the last page said")


async def _show_openapi(daemon: Daemon, _request: Request) -> Reply:
    return reply(make_document(daemon.routes, daemon.version))


ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/api/hooks/classify",
        roles=AGENTS,
        handler=classify.classify,
        summary="May this call run? With `wait`, held until a person has said.",
        takes=classify.ClassifyBody,
        gives=classify.Classified,
        query=(_WAIT,),
        hook=True,
        refuse=classify.refuse_call,
    ),
    Route(
        method="POST",
        path="/api/hooks/{agent}",
        roles=AGENTS,
        handler=hooks.ask_as_agent,
        summary="The same for an agent's own hook, in its own words; `X-Assent-Exit` is the code to end with.",
        query=(_WAIT,),
        hook=True,
        refuse=hooks.refuse_hook,
    ),
    Route(
        method="GET",
        path="/api/permissions",
        roles=ANYONE,
        handler=permissions.list_permissions,
        summary="The questions you may see: the pending ones, or by status.",
        gives=permissions.PermissionList,
        query=(
            Parameter("agentId", "only this agent's"),
            Parameter("status", "pending (default), approved, rejected, expired, cancelled or all"),
            Parameter("details", "true adds what each call would do", "boolean"),
            _LIMIT,
            _CURSOR,
        ),
    ),
    Route(
        method="POST",
        path="/api/permissions",
        roles=PEOPLE,
        handler=permissions.decide_permission,
        summary="Answer a question, for good: approve, reject or approve_always.",
        takes=permissions.DecisionBody,
        gives=permissions.DecisionResult,
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/api/permissions/{id}",
        roles=ANYONE,
        handler=permissions.get_permission,
        summary="One question with its outcome; with `wait`, once there is one.",
        gives=permissions.Permission,
        query=(_WAIT,),
    ),
    Route(
        method="GET",
        path="/api/permissions/{id}/similar",
        roles=PEOPLE,
        handler=similar.list_similar,
        summary="How earlier questions about the same program, or the same tool, ended.",
        gives=similar.EarlierAnswers,
    ),
    Route(
        method="GET",
        path="/api/grants",
        roles=PEOPLE,
        handler=grants.list_grants,
        summary="Standing answers in force.",
        gives=grants.GrantList,
    ),
    Route(
        method="DELETE",
        path="/api/grants/{id}",
        roles=PEOPLE,
        handler=grants.revoke_grant,
        summary="End a standing answer.",
        gives=grants.Ended,
    ),
    Route(
        method="GET",
        path="/api/destructive",
        roles=PEOPLE,
        handler=destructive.list_enablements,
        summary="Where destructive calls are asked about instead of blocked.",
        gives=destructive.EnablementList,
    ),
    Route(
        method="POST",
        path="/api/destructive",
        roles=PEOPLE,
        handler=destructive.enable,
        summary="Have destructive calls of an agent, a session, or one call by its digest, asked about for a while.",
        takes=destructive.EnableBody,
        gives=destructive.Enabled,
    ),
    Route(
        method="DELETE",
        path="/api/destructive/{id}",
        roles=PEOPLE,
        handler=destructive.disable,
        summary="Block them again before the time is up.",
        gives=grants.Ended,
    ),
    Route(
        method="GET",
        path="/api/audit",
        roles=PEOPLE,
        handler=history.search,
        summary="Search the log, the newest first.",
        gives=history.EventPage,
        query=(
            Parameter("type", "of this type"),
            Parameter("session", "of this session"),
            Parameter("user", "this user's; for an admin"),
            Parameter("agent", "this agent's"),
            Parameter("tool", "of this tool"),
            Parameter("tier", "safe, dangerous or destructive"),
            Parameter("verdict", "allow, ask or deny"),
            Parameter("source", "who decided"),
            Parameter("digest", "about this very call"),
            Parameter("approval", "about this question"),
            Parameter("since", "not before this time, in seconds since 1970", "number"),
            Parameter("until", "before this time", "number"),
            Parameter("text", "with this text in it"),
            _LIMIT,
            _CURSOR,
        ),
    ),
    Route(
        method="GET",
        path="/api/policy",
        roles=PEOPLE,
        handler=policies.show_policy,
        summary="The policy in force, and what is wrong with its files.",
        gives=policies.PolicyView,
        query=(Parameter("cwd", "the folder whose project counts"),),
    ),
    Route(
        method="POST",
        path="/api/policy/try",
        roles=PEOPLE,
        handler=trials.try_rule,
        summary="What a rule, or a standing answer, would have changed in the calls of the last days.",
        takes=trials.TryBody,
        gives=trials.Trial,
    ),
    Route(
        method="POST",
        path="/api/decide",
        roles=PEOPLE,
        handler=policies.preview,
        summary="What would be decided about a call, and why; nothing is recorded or asked.",
        takes=policies.DecideBody,
        gives=policies.Preview,
    ),
    Route(
        method="GET",
        path="/api/stats",
        roles=PEOPLE,
        handler=status.stats,
        summary="What happened since the start.",
        gives=status.Stats,
    ),
    Route(
        method="GET",
        path="/api/tokens",
        roles=ADMINS,
        handler=tokens.list_tokens,
        summary="Every token in force, without its secret.",
        gives=tokens.TokenList,
    ),
    Route(
        method="POST",
        path="/api/tokens",
        roles=ADMINS,
        handler=tokens.create_token,
        summary="Make a token; its secret is shown this once.",
        takes=tokens.TokenBody,
        gives=tokens.NewToken,
    ),
    Route(
        method="DELETE",
        path="/api/tokens/{id}",
        roles=ADMINS,
        handler=tokens.revoke_token,
        summary="Revoke a token.",
        gives=grants.Ended,
    ),
    Route(
        method="GET",
        path="/api/login",
        roles=PEOPLE,
        handler=login.who_is_it,
        summary="Who you are.",
        gives=login.Who,
    ),
    Route(
        method="POST",
        path="/api/login",
        roles=EVERYONE,
        handler=login.log_in,
        summary="Trade the code of a one-time link, or a token, for a session cookie.",
        takes=login.LoginBody,
        gives=login.Who,
        errors=(401,),
    ),
    Route(
        method="DELETE",
        path="/api/login",
        roles=PEOPLE,
        handler=login.log_out,
        summary="Log out here, or with `everywhere=true` on every browser.",
        gives=login.LoggedOut,
        query=(Parameter("everywhere", "true ends every session of yours", "boolean"),),
    ),
    Route(
        method="GET",
        path="/health",
        roles=EVERYONE,
        handler=status.health,
        summary="That the daemon is there.",
        gives=status.Health,
    ),
    Route(
        method="GET",
        path="/metrics",
        roles=PEOPLE,
        handler=status.metrics,
        summary="Counts for Prometheus.",
    ),
    Route(
        method="GET",
        path="/openapi.json",
        roles=EVERYONE,
        handler=_show_openapi,
        summary="This description.",
    ),
    *(
        Route(method="GET", path=path, roles=EVERYONE, handler=pages.shell, summary="The dashboard.", page=True)
        for path in PAGES
    ),
    Route(method="GET", path="/docs", roles=EVERYONE, handler=pages.documentation, summary="The API.", page=True),
    Route(method="GET", path="/assets/{name}", roles=EVERYONE, handler=pages.asset, summary="Our files.", page=True),
)

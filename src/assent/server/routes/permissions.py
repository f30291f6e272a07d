"""Routes of questions, standing answers and sandboxed calls."""

from __future__ import annotations

from assent.server.api import destructive, grants, permissions, sandbox, similar_questions
from assent.server.http.route import ANYONE, PEOPLE, QueryParameter, Route
from assent.server.routes.parameters import CURSOR, LIMIT, WAIT
from assent.wire.grants import EnableBody, Enabled, EnablementList, Ended, GrantList
from assent.wire.permissions import DecisionBody, DecisionResult, EarlierAnswers, Permission, PermissionList
from assent.wire.sandbox import Answered, AskBody, Recorded, RedeemBody, Redeemed, ReportBody

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/permissions",
        roles=ANYONE,
        handler=permissions.list_permissions,
        summary="The questions you may see: the pending ones, or by status.",
        gives=PermissionList,
        query=(
            QueryParameter("agentId", "only this agent's"),
            QueryParameter("status", "pending (default), approved, rejected, expired, cancelled or all"),
            QueryParameter("details", "true adds what each call would do", "boolean"),
            LIMIT,
            CURSOR,
        ),
    ),
    Route(
        method="POST",
        path="/api/permissions",
        roles=PEOPLE,
        handler=permissions.decide_permission,
        summary="Answer a question, for good: approve, reject or approve_always.",
        takes=DecisionBody,
        gives=DecisionResult,
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/api/permissions/{id}",
        roles=ANYONE,
        handler=permissions.get_permission,
        summary="One question with its outcome; with `wait`, once there is one.",
        gives=Permission,
        query=(WAIT,),
    ),
    Route(
        method="GET",
        path="/api/permissions/{id}/similar",
        roles=PEOPLE,
        handler=similar_questions.list_similar,
        summary="How earlier questions about the same program, or the same tool, ended.",
        gives=EarlierAnswers,
    ),
    Route(
        method="GET",
        path="/api/grants",
        roles=PEOPLE,
        handler=grants.list_grants,
        summary="Standing answers in force.",
        gives=GrantList,
    ),
    Route(
        method="DELETE",
        path="/api/grants/{id}",
        roles=PEOPLE,
        handler=grants.revoke_grant,
        summary="End a standing answer.",
        gives=Ended,
    ),
    Route(
        method="GET",
        path="/api/destructive",
        roles=PEOPLE,
        handler=destructive.list_enablements,
        summary="Where destructive calls are asked about instead of blocked.",
        gives=EnablementList,
    ),
    Route(
        method="POST",
        path="/api/destructive",
        roles=PEOPLE,
        handler=destructive.enable,
        summary="Have destructive calls of an agent, a session, or one call by its digest, asked about for a while.",
        takes=EnableBody,
        gives=Enabled,
    ),
    Route(
        method="DELETE",
        path="/api/destructive/{id}",
        roles=PEOPLE,
        handler=destructive.disable,
        summary="Block them again before the time is up.",
        gives=Ended,
    ),
    Route(
        method="POST",
        path="/api/sandbox/redeem",
        roles=ANYONE,
        handler=sandbox.redeem,
        summary="Trade a sandboxed decision in for its boundary, once, for exactly the decided words and folder.",
        takes=RedeemBody,
        gives=Redeemed,
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path="/api/sandbox/ask",
        roles=ANYONE,
        handler=sandbox.ask,
        summary="Ask about what lies outside the boundary of a decision being run; held until a person has said.",
        takes=AskBody,
        gives=Answered,
        errors=(404,),
    ),
    Route(
        method="POST",
        path="/api/sandbox/events",
        roles=ANYONE,
        handler=sandbox.report,
        summary="Record what happened in a sandbox; an agent can do so for a decision that is being run.",
        takes=ReportBody,
        gives=Recorded,
        errors=(404,),
    ),
)

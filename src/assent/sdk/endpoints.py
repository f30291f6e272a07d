"""What the daemon can be asked, each said once: its arguments, and the record it gives. Both clients have them all."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, cast, overload
from urllib.parse import quote, urlencode

import msgspec

if TYPE_CHECKING:
    from assent.sdk.client import AsyncClient, Client
    from assent.server.classify import Classified
    from assent.server.conditions import PermissionState
    from assent.server.destructive import Enabled, EnablementList
    from assent.server.grants import Ended, GrantList
    from assent.server.history import EventPage
    from assent.server.login import Who
    from assent.server.permissions import DecisionResult, Permission, PermissionList
    from assent.server.policies import PolicyView, Preview
    from assent.server.refs import Ref
    from assent.server.runtime import ActionResolved, Evaluated
    from assent.server.sessions import Responded
    from assent.server.similar import EarlierAnswers
    from assent.server.status import Health, Stats
    from assent.server.tokens import NewToken, TokenList

P = ParamSpec("P")
T = TypeVar("T")


class Ask(Generic[T]):
    """One request, and where the record is that it gives: `module:Name` below `assent.server`; else plain JSON."""

    def __init__(self, method: str, path: str, gives: str = "", *, body: Any = None, query: Any = None) -> None:
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        self.method = method
        self.path = f"{path}?{urlencode(given)}" if given else path
        self.body = None if body is None else msgspec.json.encode({k: v for k, v in body.items() if v is not None})
        self._gives = gives

    def read(self, data: bytes) -> T:
        """Read the answer."""
        kind: Any = _find(self._gives) if self._gives else Any
        return cast("T", msgspec.json.decode(data, type=kind))


class Endpoint(Generic[P, T]):
    """An `Ask` as a method: of `Client` it gives the record, of `AsyncClient` an awaitable of it."""

    def __init__(self, make: Callable[P, Ask[T]]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: Client, kind: Any = None) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, kind: Any = None) -> Callable[P, Awaitable[T]]: ...
    @overload
    def __get__(self, client: None, kind: Any = None) -> Endpoint[P, T]: ...
    def __get__(self, client: Any, kind: Any = None) -> Any:
        """Bind it to a client."""
        if client is None:
            return self

        @functools.wraps(self.make)
        def send(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.send(self.make(*args, **kwargs))

        return send


@functools.lru_cache(maxsize=64)
def _find(name: str) -> Any:
    module, _, kind = name.partition(":")
    return getattr(importlib.import_module(f"assent.server.{module}"), kind)


def _text(value: Any) -> Any:
    return ("true" if value else "false") if isinstance(value, bool) else value


def quoted(part: str) -> str:
    """Write a piece of a path so that it stays one piece."""
    return quote(part, safe="")


class Endpoints:
    """Everything the daemon offers to a program."""

    @Endpoint
    @staticmethod
    def permissions(
        *, agent: str | None = None, status: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> Ask[PermissionList]:
        """List questions: the pending ones, or by status."""
        query = {"agentId": agent, "status": status, "limit": limit, "cursor": cursor}
        return Ask("GET", "/api/permissions", "permissions:PermissionList", query=query)

    @Endpoint
    @staticmethod
    def permission(request_id: str, *, wait: float | None = None) -> Ask[Permission]:
        """Show one question; with `wait`, once it is answered or the time is up."""
        path = f"/api/permissions/{quoted(request_id)}"
        return Ask("GET", path, "permissions:Permission", query={"wait": wait})

    @Endpoint
    @staticmethod
    def answer(  # noqa: PLR0913 - as many as the route takes
        request_id: str,
        decision: Literal["approve", "reject", "approve_always"],
        *,
        feedback: str | None = None,
        modified_input: str | dict[str, Any] | None = None,
        scope: str | None = None,
        pattern: str | None = None,
        expires_in: float | None = None,
        destructive: bool | None = None,
    ) -> Ask[DecisionResult]:
        """Answer a question, for good."""
        body = {
            "requestId": request_id,
            "decision": decision,
            "feedback": feedback,
            "modifiedInput": modified_input,
            "scope": scope,
            "pattern": pattern,
            "expiresIn": expires_in,
            "destructive": destructive,
        }
        return Ask("POST", "/api/permissions", "permissions:DecisionResult", body=body)

    @Endpoint
    @staticmethod
    def similar(request_id: str) -> Ask[EarlierAnswers]:
        """Show how earlier questions like this one ended."""
        return Ask("GET", f"/api/permissions/{quoted(request_id)}/similar", "similar:EarlierAnswers")

    @Endpoint
    @staticmethod
    def classify(
        tool: str,
        given: dict[str, Any],
        *,
        cwd: str | None = None,
        session: str | None = None,
        call_id: str | None = None,
        mode: str | None = None,
        wait: float | None = None,
    ) -> Ask[Classified]:
        """Ask, as an agent, whether a call may run."""
        body = {"toolName": tool, "toolInput": given, "cwd": cwd, "sessionId": session, "toolCallId": call_id}
        query = {"wait": wait}
        return Ask("POST", "/api/hooks/classify", "classify:Classified", body={**body, "mode": mode}, query=query)

    @Endpoint
    @staticmethod
    def evaluate_permission(  # noqa: PLR0913 - as many as the route takes
        tool: str,
        given: dict[str, Any],
        *,
        cwd: str | None = None,
        session: str | None = None,
        call_id: str | None = None,
        mode: str | None = None,
        opinion: dict[str, str] | None = None,
        wait: float | None = None,
    ) -> Ask[Evaluated]:
        """Have an action decided, as an agent, with the facts behind it; `opinion` can only tighten."""
        body = {"toolName": tool, "toolInput": given, "cwd": cwd, "sessionId": session, "toolCallId": call_id}
        body |= {"mode": mode, "hostOpinion": opinion}
        return Ask("POST", "/api/runtime/evaluate_permission", "runtime:Evaluated", body=body, query={"wait": wait})

    @Endpoint
    @staticmethod
    def respond_action(action_id: str, decision: Literal["allow", "deny"], **payload: Any) -> Ask[ActionResolved]:
        """Resolve an action that is required."""
        body = {"actionId": action_id, "decision": decision, "payload": payload}
        return Ask("POST", "/api/runtime/respond_action", "runtime:ActionResolved", body=body)

    @Endpoint
    @staticmethod
    def permission_state(*, session: str | None = None, cwd: str | None = None) -> Ask[PermissionState]:
        """Show what holds now."""
        query = {"sessionId": session, "cwd": cwd}
        return Ask("GET", "/api/runtime/permission_state", "conditions:PermissionState", query=query)

    @Endpoint
    @staticmethod
    def evidence(session: str) -> Ask[dict[str, Any]]:
        """Export all that is on record of a session, signed."""
        return Ask("GET", f"/api/runtime/evidence/{quoted(session)}")

    @Endpoint
    @staticmethod
    def ref(ref: str) -> Ask[Ref]:
        """Show what a ref in an event stands for."""
        return Ask("GET", f"/api/refs/{quoted(ref)}", "refs:Ref")

    @Endpoint
    @staticmethod
    def respond(
        session: str,
        decision: Literal["approved", "rejected"],
        *,
        call_id: str | None = None,
        feedback: str | None = None,
    ) -> Ask[Responded]:
        """Answer a session's question: that of a call, or the oldest."""
        body = {"kind": "permission", "decision": decision, "toolCallId": call_id, "feedback": feedback}
        return Ask("POST", f"/api/sessions/{quoted(session)}/respond", "sessions:Responded", body=body)

    @Endpoint
    @staticmethod
    def grants() -> Ask[GrantList]:
        """List the standing answers in force."""
        return Ask("GET", "/api/grants", "grants:GrantList")

    @Endpoint
    @staticmethod
    def revoke_grant(grant_id: str) -> Ask[Ended]:
        """End a standing answer."""
        return Ask("DELETE", f"/api/grants/{quoted(grant_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def enablements() -> Ask[EnablementList]:
        """List where destructive calls are asked about."""
        return Ask("GET", "/api/destructive", "destructive:EnablementList")

    @Endpoint
    @staticmethod
    def enable_destructive(
        minutes: float, *, agent: str | None = None, session: str | None = None, digest: str | None = None
    ) -> Ask[Enabled]:
        """Have destructive calls asked about for a while."""
        body = {"minutes": minutes, "agentId": agent, "sessionId": session, "digest": digest}
        return Ask("POST", "/api/destructive", "destructive:Enabled", body=body)

    @Endpoint
    @staticmethod
    def disable_destructive(enablement_id: str) -> Ask[Ended]:
        """Block them again."""
        return Ask("DELETE", f"/api/destructive/{quoted(enablement_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def audit(*, limit: int | None = None, cursor: str | None = None, **filters: str | float) -> Ask[EventPage]:
        """Search the log, the newest first."""
        query = {"limit": limit, "cursor": cursor, **filters}
        return Ask("GET", "/api/audit", "history:EventPage", query=query)

    @Endpoint
    @staticmethod
    def policy(*, cwd: str | None = None) -> Ask[PolicyView]:
        """Show the policy in force."""
        return Ask("GET", "/api/policy", "policies:PolicyView", query={"cwd": cwd})

    @Endpoint
    @staticmethod
    def decide(
        tool: str,
        given: dict[str, Any],
        *,
        cwd: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> Ask[Preview]:
        """Show what would be decided; nothing is recorded or asked."""
        body = {"toolName": tool, "toolInput": given, "cwd": cwd, "agentId": agent, "sessionId": session}
        return Ask("POST", "/api/decide", "policies:Preview", body=body)

    @Endpoint
    @staticmethod
    def stats() -> Ask[Stats]:
        """Sum up what happened since the start."""
        return Ask("GET", "/api/stats", "status:Stats")

    @Endpoint
    @staticmethod
    def tokens() -> Ask[TokenList]:
        """List the tokens in force."""
        return Ask("GET", "/api/tokens", "tokens:TokenList")

    @Endpoint
    @staticmethod
    def create_token(  # noqa: PLR0913 - as many as the route takes
        role: Literal["agent", "user", "admin"],
        *,
        user: str | None = None,
        agent: str | None = None,
        label: str | None = None,
        remote: bool | None = None,
        interactive: bool | None = None,
        workspace: list[str] | None = None,
        expires_in: float | None = None,
    ) -> Ask[NewToken]:
        """Make a token; its secret is shown this once."""
        body: dict[str, Any] = {"role": role, "user": user, "agent": agent, "label": label, "remote": remote}
        body |= {"interactive": interactive, "workspace": workspace, "expiresIn": expires_in}
        return Ask("POST", "/api/tokens", "tokens:NewToken", body=body)

    @Endpoint
    @staticmethod
    def revoke_token(token_id: str) -> Ask[Ended]:
        """Revoke a token."""
        return Ask("DELETE", f"/api/tokens/{quoted(token_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def who() -> Ask[Who]:
        """Show who you are."""
        return Ask("GET", "/api/login", "login:Who")

    @Endpoint
    @staticmethod
    def health() -> Ask[Health]:
        """Tell whether the daemon is there."""
        return Ask("GET", "/health", "status:Health")

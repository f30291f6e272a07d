"""Endpoints for people: the log, the policy, statistics, runs, tokens and login."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assent.sdk.client.requests import Ask, Endpoint, quoted

if TYPE_CHECKING:
    from assent.wire.audit import EventPage, Place, Progress
    from assent.wire.grants import Ended
    from assent.wire.policy import PolicyView, Preview, Trial
    from assent.wire.runs import GuardedRun, Runs
    from assent.wire.statistics import Health, History, SessionList, Stats
    from assent.wire.tokens import LoggedOut, NewToken, SocketTicket, TokenList, Who


class AdminEndpoints:
    """Endpoints for people; `Endpoints` adds those for agents."""

    @Endpoint
    @staticmethod
    def audit(
        *, brief: bool | None = None, limit: int | None = None, cursor: str | None = None, **filters: Any
    ) -> Ask[EventPage]:
        """Search the log, the newest first; `brief` leaves the bodies out."""
        query = {"brief": brief, "limit": limit, "cursor": cursor, **filters}
        return Ask("GET", "/api/audit", "audit:EventPage", query=query)

    @Endpoint
    @staticmethod
    def policy(*, cwd: str | None = None) -> Ask[PolicyView]:
        """Show the policy in force."""
        return Ask("GET", "/api/policy", "policy:PolicyView", query={"cwd": cwd})

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
        """Preview a decision; nothing is recorded or asked."""
        body = {"toolName": tool, "toolInput": given, "cwd": cwd, "agentId": agent, "sessionId": session}
        return Ask("POST", "/api/decide", "policy:Preview", body=body)

    @Endpoint
    @staticmethod
    def stats() -> Ask[Stats]:
        """Return the counters since the start."""
        return Ask("GET", "/api/stats", "statistics:Stats")

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
        """Return the user of the token."""
        return Ask("GET", "/api/login", "tokens:Who")

    @Endpoint
    @staticmethod
    def health() -> Ask[Health]:
        """Return the health of the daemon."""
        return Ask("GET", "/health", "statistics:Health")

    @Endpoint
    @staticmethod
    def record(position: int) -> Ask[Place]:
        """Show one record of the log, with its place in the chain."""
        return Ask("GET", f"/api/audit/{position}", "audit:Place")

    @Endpoint
    @staticmethod
    def verification() -> Ask[Progress]:
        """Return the progress and result of the log's verification."""
        return Ask("GET", "/api/audit/verify", "audit:Progress")

    @Endpoint
    @staticmethod
    def verify() -> Ask[Progress]:
        """Verify the whole log."""
        return Ask("POST", "/api/audit/verify", "audit:Progress", body={})

    @Endpoint
    @staticmethod
    def try_rule(  # noqa: PLR0913 - what the route takes
        rule: str,
        *,
        effect: Literal["grant", "allow", "ask", "deny"] | None = None,
        days: float | None = None,
        tool: str | None = None,
        agent: str | None = None,
        destructive: bool | None = None,
        request_id: str | None = None,
        scope: Literal["session", "always"] | None = None,
    ) -> Ask[Trial]:
        """Show what a draft rule or grant would have changed in the calls of the last days."""
        body = {"rule": rule, "effect": effect, "days": days, "tool": tool, "agentId": agent}
        more = {"destructive": destructive, "requestId": request_id, "scope": scope}
        return Ask("POST", "/api/policy/try", "policy:Trial", body=body | more)

    @Endpoint
    @staticmethod
    def history(*, days: int | None = None) -> Ask[History]:
        """Return the statistics of the last days."""
        return Ask("GET", "/api/stats/history", "statistics:History", query={"days": days})

    @Endpoint
    @staticmethod
    def sessions(*, days: int | None = None) -> Ask[SessionList]:
        """List the sessions of the last days."""
        return Ask("GET", "/api/sessions", "statistics:SessionList", query={"days": days})

    @Endpoint
    @staticmethod
    def list_runs() -> Ask[Runs]:
        """List the daemon's own runs, the newest first."""
        return Ask("GET", "/api/runs", "runs:Runs")

    @Endpoint
    @staticmethod
    def run(run_id: str) -> Ask[GuardedRun]:
        """Show one run, and what guards each of its tools."""
        return Ask("GET", f"/api/runs/{quoted(run_id)}", "runs:GuardedRun")

    @Endpoint
    @staticmethod
    def stop_run(run_id: str) -> Ask[Ended]:
        """Stop a run."""
        return Ask("DELETE", f"/api/runs/{quoted(run_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def log_in(*, code: str | None = None, token: str | None = None) -> Ask[Who]:
        """Exchange the code of a one-time link, or a token, for a browser session."""
        return Ask("POST", "/api/login", "tokens:Who", body={"code": code, "token": token})

    @Endpoint
    @staticmethod
    def log_out(*, everywhere: bool | None = None) -> Ask[LoggedOut]:
        """End the user's browser sessions."""
        return Ask("DELETE", "/api/login", "tokens:LoggedOut", query={"everywhere": everywhere})

    @Endpoint
    @staticmethod
    def socket_ticket() -> Ask[SocketTicket]:
        """Get a ticket that opens one WebSocket, once and soon."""
        return Ask("POST", "/api/login/ticket", "tokens:SocketTicket", body={})

    @Endpoint
    @staticmethod
    def metrics() -> Ask[str]:
        """Return the counters in the format of Prometheus."""
        return Ask("GET", "/metrics", "text")

    @Endpoint
    @staticmethod
    def openapi() -> Ask[dict[str, Any]]:
        """Return the OpenAPI document."""
        return Ask("GET", "/openapi.json")

"""The endpoints of the daemon: arguments and answer record of each. Both clients have them as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from assent.sdk.client.admin_endpoints import AdminEndpoints
from assent.sdk.client.requests import Ask, Endpoint, HookAsk, Hooked, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.model import SandboxProfile
    from assent.wire.grants import Enabled, EnablementList, Ended, GrantList
    from assent.wire.hooks import Classified
    from assent.wire.permissions import DecisionResult, EarlierAnswers, Permission, PermissionList
    from assent.wire.runtime import ActionResolved, Evaluated, PermissionState, Ref
    from assent.wire.runtime_reports import EventsRecorded
    from assent.wire.sandbox import Answered, Recorded, Redeemed
    from assent.wire.sessions import Responded


class Endpoints(AdminEndpoints):
    """Every endpoint of the daemon."""

    @Endpoint
    @staticmethod
    def permissions(
        *,
        agent: str | None = None,
        status: str | None = None,
        details: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Ask[PermissionList]:
        """List questions: the pending ones, or by status; with `details`, what each call would do."""
        query = {"agentId": agent, "status": status, "details": details, "limit": limit, "cursor": cursor}
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
        return Ask("GET", f"/api/permissions/{quoted(request_id)}/similar", "permissions:EarlierAnswers")

    @Endpoint
    @staticmethod
    def classify(  # noqa: PLR0913 - as many as the route takes
        tool: str,
        given: dict[str, Any],
        *,
        cwd: str | None = None,
        session: str | None = None,
        call_id: str | None = None,
        mode: str | None = None,
        honours_updated_input: bool | None = None,
        wait: float | None = None,
    ) -> Ask[Classified]:
        """Ask, as an agent, whether a call may run; with `honours_updated_input`, the caller runs a changed input."""
        body: dict[str, Any] = {"toolName": tool, "toolInput": given, "cwd": cwd, "sessionId": session}
        body |= {"toolCallId": call_id, "mode": mode, "honoursUpdatedInput": honours_updated_input}
        query = {"wait": wait}
        return Ask("POST", "/api/hooks/classify", "hooks:Classified", body=body, query=query)

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
        interactive: bool | None = None,
        runs_in: SandboxProfile | None = None,
        secrets: Sequence[str] | None = None,
        honours_updated_input: bool | None = None,
        traceparent: str | None = None,
        wait: float | None = None,
    ) -> Ask[Evaluated]:
        """Decide an action, as an agent, and return the facts behind it; `opinion` can only tighten.

        `runs_in` is the boundary in which the caller runs an allowed action at once; it is recorded with the decision.
        `secrets` names fields that the log masks. `honours_updated_input` says that the caller runs a changed input.
        """
        body: dict[str, Any] = {"toolName": tool, "toolInput": given, "cwd": cwd, "sessionId": session}
        body |= {"toolCallId": call_id, "mode": mode, "hostOpinion": opinion, "interactive": interactive}
        body |= {"honoursUpdatedInput": honours_updated_input}
        return Ask(
            "POST",
            "/api/runtime/evaluate_permission",
            "runtime:Evaluated",
            body=body | {"runsIn": runs_in, "secretFields": secrets},
            query={"wait": wait},
            headers={"Traceparent": traceparent},
        )

    @Endpoint
    @staticmethod
    def report_events(
        session: str, events: Sequence[Any], *, cwd: str | None = None, again: bool | None = None
    ) -> Ask[EventsRecorded]:
        """Report, as an agent, the outcome of decided calls; `again` marks a retry of unanswered reports."""
        body = {"sessionId": session, "events": events, "cwd": cwd, "again": again}
        return Ask("POST", "/api/runtime/report_events", "runtime_reports:EventsRecorded", body=body)

    @Endpoint
    @staticmethod
    def respond_action(action_id: str, decision: Literal["allow", "deny"], **payload: Any) -> Ask[ActionResolved]:
        """Resolve an action that is required."""
        body = {"actionId": action_id, "decision": decision, "payload": payload}
        return Ask("POST", "/api/runtime/respond_action", "runtime:ActionResolved", body=body)

    @Endpoint
    @staticmethod
    def permission_state(*, session: str | None = None, cwd: str | None = None) -> Ask[PermissionState]:
        """Return the mode, the rules and the pending actions in force now."""
        query = {"sessionId": session, "cwd": cwd}
        return Ask("GET", "/api/runtime/permission_state", "runtime:PermissionState", query=query)

    @Endpoint
    @staticmethod
    def evidence(session: str) -> Ask[dict[str, Any]]:
        """Export the records of a session as a signed bundle."""
        return Ask("GET", f"/api/runtime/evidence/{quoted(session)}")

    @Endpoint
    @staticmethod
    def ref(ref: str) -> Ask[Ref]:
        """Show what a ref in an event stands for."""
        return Ask("GET", f"/api/refs/{quoted(ref)}", "runtime:Ref")

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
        """List the grants in force."""
        return Ask("GET", "/api/grants", "grants:GrantList")

    @Endpoint
    @staticmethod
    def revoke_grant(grant_id: str) -> Ask[Ended]:
        """Revoke a grant."""
        return Ask("DELETE", f"/api/grants/{quoted(grant_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def enablements() -> Ask[EnablementList]:
        """List the enablements of destructive calls."""
        return Ask("GET", "/api/destructive", "grants:EnablementList")

    @Endpoint
    @staticmethod
    def enable_destructive(
        minutes: float, *, agent: str | None = None, session: str | None = None, digest: str | None = None
    ) -> Ask[Enabled]:
        """Ask about destructive calls for a limited time."""
        body = {"minutes": minutes, "agentId": agent, "sessionId": session, "digest": digest}
        return Ask("POST", "/api/destructive", "grants:Enabled", body=body)

    @Endpoint
    @staticmethod
    def disable_destructive(enablement_id: str) -> Ask[Ended]:
        """Deny destructive calls again."""
        return Ask("DELETE", f"/api/destructive/{quoted(enablement_id)}", "grants:Ended")

    @Endpoint
    @staticmethod
    def hook(
        agent: str,
        given: dict[str, Any],
        *,
        wait: float | None = None,
        observe: bool | None = None,
        again: bool | None = None,
        shell: str | None = None,
    ) -> Ask[Hooked]:
        """Ask as an agent's hook, in the agent's format; a body of None means that the hook prints nothing.

        `observe` only records what would be decided; `shell` is the shell that runs the agent's commands.
        """
        path, headers = f"/api/hooks/{quoted(agent)}", {"X-Assent-Shell": shell}
        return HookAsk(
            "POST",
            path,
            body=given,
            query={"wait": wait, "observe": observe or None, "again": again or None},
            headers=headers,
        )

    @Endpoint
    @staticmethod
    def redeem(decision_id: str, argv: Sequence[str], cwd: str, *, nonce: str = "") -> Ask[Redeemed]:
        """Redeem a sandboxed decision for its boundary, once. The seal covers the nonce."""
        body = {"decisionId": decision_id, "argv": argv, "cwd": cwd, "nonce": nonce}
        return Ask("POST", "/api/sandbox/redeem", "sandbox:Redeemed", body=body)

    @Endpoint
    @staticmethod
    def ask_outside(decision_id: str, violation: Any) -> Ask[Answered]:
        """Ask about an operation outside the boundary of a running call; wait for a person's answer."""
        body = {"decisionId": decision_id, "violation": violation}
        return Ask("POST", "/api/sandbox/ask", "sandbox:Answered", body=body)

    @Endpoint
    @staticmethod
    def report_sandbox(run_id: str, events: Sequence[Any], *, decision_id: str | None = None) -> Ask[Recorded]:
        """Record what happened in a sandbox."""
        body = {"runId": run_id, "events": events, "decisionId": decision_id}
        return Ask("POST", "/api/sandbox/events", "sandbox:Recorded", body=body)

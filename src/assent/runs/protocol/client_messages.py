"""The run protocol: the messages that clients send."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Decision: TypeAlias = Literal["allow", "deny", "allow-session", "deny-session"]


class ClientMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """What a client says. Keys that are not known are passed over."""

    request_id: str | None = None
    """Comes back on whatever is a direct reply to this."""


class PrepareRun(ClientMessage, frozen=True, kw_only=True, tag="prepare_run"):
    """Read a strategy and make its run, or attach to a run that is not over."""

    run_id: str | None = None
    strategy_path: str | None = None
    cwd: str | None = None
    interactive: bool = True
    """Whether somebody can be asked; if not, what would be asked is denied."""
    profile: str | None = None
    """The sandbox profile of a `process`, instead of `agent`."""


class StartRun(ClientMessage, frozen=True, kw_only=True, tag="start_run"):
    """Begin a run that was prepared."""

    run_id: str
    input: str | None = None


class StopRun(ClientMessage, frozen=True, kw_only=True, tag="stop_run"):
    """End a run before its time."""

    run_id: str


class Subscribe(ClientMessage, frozen=True, kw_only=True, tag="subscribe"):
    """Hear of a run from now on, and of what is still pending in it."""

    run_id: str


class Unsubscribe(ClientMessage, frozen=True, kw_only=True, tag="unsubscribe"):
    """Hear no more of a run."""

    run_id: str


class PermissionDecision(ClientMessage, frozen=True, kw_only=True, tag="permission_decision"):
    """Answer a `request_permission`."""

    run_id: str
    permission_request_id: str
    decision: Decision


class UpdatePolicy(ClientMessage, frozen=True, kw_only=True, tag="update_policy"):
    """Add to the path policy of one tool's guard, or of every one; only the default is replaced."""

    run_id: str
    tool: str | None = None
    mode: Literal["read", "write"]
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default: Literal["allow", "deny", "ask"] | None = None


class UserInput(ClientMessage, frozen=True, kw_only=True, tag="user_input"):
    """Write a line to the program of a `process` run."""

    run_id: str
    agent_name: str
    text: str


class ListRuns(ClientMessage, frozen=True, kw_only=True, tag="list_runs"):
    """Ask which runs there are."""


class ListStrategies(ClientMessage, frozen=True, kw_only=True, tag="list_strategies"):
    """Ask which strategies lie ready."""


class ContinueRun(ClientMessage, frozen=True, kw_only=True, tag="continue_run"):
    """Give the program of a `process` run its next line."""

    run_id: str
    input: str


class SteerRun(ClientMessage, frozen=True, kw_only=True, tag="steer_run"):
    """Tell the program of a `process` run something while it works."""

    run_id: str
    text: str


class ListMcpServers(ClientMessage, frozen=True, kw_only=True, tag="list_mcp_servers"):
    """Ask which MCP servers the daemon starts: none."""


class ListProviders(ClientMessage, frozen=True, kw_only=True, tag="list_providers"):
    """Ask which model providers the daemon knows: none."""


class GetAvailableModels(ClientMessage, frozen=True, kw_only=True, tag="get_available_models"):
    """Ask which models the daemon can use: none."""


class HubList(ClientMessage, frozen=True, kw_only=True, tag="hub_list"):
    """Ask which packages the daemon has installed: none."""


class TrashList(ClientMessage, frozen=True, kw_only=True, tag="trash_list"):
    """Ask which deleted files the daemon keeps: none."""


class TrashClear(ClientMessage, frozen=True, kw_only=True, tag="trash_clear"):
    """Delete for good which deleted files the daemon keeps: none."""


class QuestionResponse(ClientMessage, frozen=True, kw_only=True, tag="question_response"):
    """Answer a question that an agent put in words: no agent of a run does."""

    run_id: str
    question_request_id: str
    response: str


class Ping(ClientMessage, frozen=True, kw_only=True, tag="ping"):
    """Ask for a sign of life."""


CLIENT_MESSAGES: tuple[type[ClientMessage], ...] = (
    PrepareRun,
    StartRun,
    StopRun,
    Subscribe,
    Unsubscribe,
    PermissionDecision,
    UpdatePolicy,
    UserInput,
    ListRuns,
    ListStrategies,
    ContinueRun,
    SteerRun,
    ListMcpServers,
    ListProviders,
    GetAvailableModels,
    HubList,
    TrashList,
    TrashClear,
    QuestionResponse,
    Ping,
)

"""The run protocol: the messages that the daemon sends."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from assent.audit.entry import format_time

Outcome: TypeAlias = Literal["allow", "deny", "allow-session", "deny-session", "expired", "cancelled"]
Status: TypeAlias = Literal["pending", "running", "completed", "error", "cancelled"]
ErrorCode: TypeAlias = Literal[
    "PARSE_ERROR",
    "VALIDATION_ERROR",
    "NO_PENDING_PERMISSION",
    "RUN_NOT_FOUND",
    "PREPARE_FAILED",
    "START_FAILED",
    "SUBSCRIBE_ERROR",
    "NO_PENDING_INPUT",
    "NO_PENDING_QUESTION",
    "RUN_NOT_STEERABLE",
    "FORBIDDEN",
    "INTERNAL_ERROR",
]
SubjectKind: TypeAlias = Literal["fs.read", "fs.write", "fs.exec", "command.execute"]
Failure: TypeAlias = Literal["EXECUTION_ERROR", "CANCELLED"]


class DaemonMessage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True):
    """What the daemon says."""

    ts: str
    """When, in UTC, to the millisecond."""
    request_id: str | None = None
    """On a direct reply to a message that had one."""


class FlowNode(msgspec.Struct, frozen=True):
    """A strategy as a tree."""

    name: str
    kind: Literal["sequence", "parallel", "step", "process"]
    children: tuple[FlowNode, ...] = ()


class Usage(msgspec.Struct, frozen=True, rename="camel"):
    """Tokens that models were given and gave, as far as it is known here: guarded tools ask none."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class GivenInput(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something that a person gave to a run, and before which record."""

    agent_name: str
    text: str
    ts: str
    before_record_id: str | None = None


class ModelMessage(msgspec.Struct, frozen=True):
    """One message of a call: a text, or parts such as a tool's call and its result."""

    role: Literal["user", "assistant", "tool"]
    content: str | list[dict[str, Any]]


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A step, or an agent's program, that is done: what it was told, what it did, and what it came to."""

    id: str
    agent_name: str
    created_at: str
    user_message: ModelMessage
    response_messages: tuple[ModelMessage, ...]
    text: str
    usage: Usage = Usage()
    finish_reason: Literal["stop", "error"] = "stop"


class Conversation(msgspec.Struct, frozen=True, rename="camel"):
    """What was said in a run so far, the oldest dropped first; `messages` are those that clients were sent."""

    records: tuple[CallRecord, ...] = ()
    retention_events: tuple[msgspec.Raw, ...] = ()
    inputs: tuple[GivenInput, ...] = ()
    messages: tuple[msgspec.Raw, ...] = ()


class RunPrepared(DaemonMessage, frozen=True, kw_only=True, tag="run_prepared"):
    """A run is there, with all its guards."""

    run_id: str
    strategy_name: str
    agents: tuple[str, ...]
    flow_tree: FlowNode
    conversation: Conversation
    mcp_servers: list[str]


class StrategyStarted(DaemonMessage, frozen=True, kw_only=True, tag="strategy_started"):
    """A run begins."""

    run_id: str
    strategy_name: str
    agents: tuple[str, ...]
    flow_tree: FlowNode


class StepStarted(DaemonMessage, frozen=True, kw_only=True, tag="step_started"):
    """A step begins."""

    run_id: str
    step_name: str
    message: str


class CallResult(msgspec.Struct, frozen=True, rename="camel"):
    """What a step, or an agent's program, came to."""

    text: str
    usage: Usage = Usage()
    finish_reason: Literal["stop", "error"] = "stop"


class StepCompleted(DaemonMessage, frozen=True, kw_only=True, tag="step_completed"):
    """A step is done, or failed in a run that goes on."""

    run_id: str
    step_name: str
    result: CallResult


class AgentOutput(DaemonMessage, frozen=True, kw_only=True, tag="agent_output"):
    """What an agent's step, or its whole program, came to."""

    run_id: str
    agent_name: str
    text: str
    usage: Usage


class TextPiece(msgspec.Struct, frozen=True, tag="text", tag_field="type"):
    """A piece of output as it comes."""

    text: str


class ToolCalled(msgspec.Struct, frozen=True, rename="camel", tag="tool-call", tag_field="type"):
    """A tool is called; `args` is its input as JSON text."""

    tool_call_id: str
    tool_name: str
    args: str


class ToolReturned(
    msgspec.Struct, frozen=True, rename="camel", tag="tool-result", tag_field="type", omit_defaults=True
):
    """A tool returned, failed, or was not allowed to run."""

    tool_call_id: str
    tool_name: str
    output: str
    status: Literal["completed", "error"]
    error: str | None = None


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="type"):
    """Nothing more comes of this."""

    result: CallResult


StreamEvent: TypeAlias = TextPiece | ToolCalled | ToolReturned | Done


class AgentStreaming(DaemonMessage, frozen=True, kw_only=True, tag="agent_streaming"):
    """What happens inside a step, as it happens."""

    run_id: str
    agent_name: str
    event: StreamEvent


class RequestPermission(DaemonMessage, frozen=True, kw_only=True, tag="request_permission"):
    """A tool waits for a person. `request_id` names the question."""

    run_id: str
    agent_name: str
    tool_name: str
    tool_call_id: str | None = None
    operation: SubjectKind
    resource: str
    reason: Literal["policy-ask", "policy-deny-override"]
    details: dict[str, Any]
    expires_at: str


class PermissionResolved(DaemonMessage, frozen=True, kw_only=True, tag="permission_resolved"):
    """A question is over: somebody else answered, or it expired, or its run ended. `request_id` names it."""

    run_id: str
    decision: Outcome
    by: str


class PolicyName(msgspec.Struct, frozen=True):
    """One policy of a chain."""

    name: str


class GuardChain(msgspec.Struct, frozen=True):
    """What guards one tool of a run: the policies that have something to say to it, in their fixed order."""

    tool: str
    policies: tuple[PolicyName, ...]


class PolicyUpdated(DaemonMessage, frozen=True, kw_only=True, tag="policy_updated"):
    """The chain of one tool's guard changed, and is now this."""

    run_id: str
    tool: str
    policies: tuple[PolicyName, ...]


class StrategyCompleted(DaemonMessage, frozen=True, kw_only=True, tag="strategy_completed"):
    """A run came to its end."""

    run_id: str
    result: str
    usage: Usage


class RunError(msgspec.Struct, frozen=True):
    """Why a run did not come to its end."""

    code: Failure
    message: str


class StrategyError(DaemonMessage, frozen=True, kw_only=True, tag="strategy_error"):
    """A run failed, or was stopped."""

    run_id: str
    error: RunError


class RunSummary(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One run in a list."""

    run_id: str
    status: Status
    strategy_name: str
    strategy_path: str
    cwd: str
    created_at: str
    started_at: str
    """When it began; while it waits to be started, when it was prepared."""
    completed_at: str | None
    ended_at: str | None = None
    error: str | None = None


class RunBrief(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """One run beside the strategies."""

    run_id: str
    status: Status
    strategy_name: str
    started_at: str
    completed_at: str | None = None


class RunList(DaemonMessage, frozen=True, kw_only=True, tag="run_list"):
    """The runs that the client may see, the newest first."""

    runs: tuple[RunSummary, ...]


class StrategySummary(msgspec.Struct, frozen=True):
    """One strategy that lies ready."""

    name: str
    path: str
    kind: Literal["steps", "process"]
    description: str


class StrategyList(DaemonMessage, frozen=True, kw_only=True, tag="strategy_list"):
    """The strategies that come with Assent and the user's own, and the runs of them, the newest first."""

    strategies: tuple[StrategySummary, ...]
    runs: tuple[RunBrief, ...]


class SteerQueued(DaemonMessage, frozen=True, kw_only=True, tag="steer_queued"):
    """A run was told something; all who follow it hear of it."""

    run_id: str
    text: str


class McpServerList(DaemonMessage, frozen=True, kw_only=True, tag="mcp_server_list"):
    """The MCP servers that the daemon starts: it starts none."""

    servers: tuple[()]


class ProviderList(DaemonMessage, frozen=True, kw_only=True, tag="provider_list"):
    """The model providers that the daemon knows: it asks no model."""

    providers: tuple[()]


class AvailableModels(DaemonMessage, frozen=True, kw_only=True, tag="available_models"):
    """The models that the daemon can use: none."""

    models: tuple[()]


class HubPackages(DaemonMessage, frozen=True, kw_only=True, tag="hub_packages"):
    """The packages that the daemon has installed: none."""

    operation: Literal["list"]
    available: tuple[()]
    installed: tuple[()]


class TrashListResult(DaemonMessage, frozen=True, kw_only=True, tag="trash_list_result"):
    """The deleted files that the daemon keeps: none."""

    workspaces: tuple[()]
    total_entries: int
    total_bytes: int


class TrashClearResult(DaemonMessage, frozen=True, kw_only=True, tag="trash_clear_result"):
    """What was deleted for good: nothing."""

    cleared: int
    bytes_freed: int


class Pong(DaemonMessage, frozen=True, kw_only=True, tag="pong"):
    """A sign of life."""


class ErrorMessage(DaemonMessage, frozen=True, kw_only=True, tag="error"):
    """A message was not obeyed, and nothing changed."""

    code: ErrorCode
    message: str


DAEMON_MESSAGES: tuple[type[DaemonMessage], ...] = (
    RunPrepared,
    StrategyStarted,
    StepStarted,
    StepCompleted,
    AgentOutput,
    AgentStreaming,
    RequestPermission,
    PermissionResolved,
    PolicyUpdated,
    StrategyCompleted,
    StrategyError,
    RunList,
    StrategyList,
    SteerQueued,
    McpServerList,
    ProviderList,
    AvailableModels,
    HubPackages,
    TrashListResult,
    TrashClearResult,
    Pong,
    ErrorMessage,
)


def stamp(at: float) -> str:
    """Write a time as the protocol does."""
    return format_time(at)

"""Assent: permission for AI agents. The names below are loaded when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without loading that
if TYPE_CHECKING:
    from typing import Any

    from assent.config.agentrail import config_permissions_to_policy, load_agentrail_config
    from assent.engine import Engine
    from assent.model import (
        Consent,
        Decision,
        Facts,
        Grant,
        Mode,
        Policy,
        Rule,
        Session,
        Tier,
        ToolCall,
        Verdict,
    )
    from assent.policy.rules import parse_rule, parse_rules
    from assent.sdk.apps import AgentApp, create_agent_app
    from assent.sdk.asking import queue_approvals
    from assent.sdk.client import ApiError, AsyncClient, Client, UnreachableError
    from assent.sdk.sessions import AgentSession, PermissionDeniedError, ToolFailedError, ToolResult
    from assent.sdk.streams import create_stream_route
    from assent.sdk.tools import Tool, define_tool, tool

    __version__: str

__all__ = [
    "AgentApp",
    "AgentSession",
    "ApiError",
    "AsyncClient",
    "Client",
    "Consent",
    "Decision",
    "Engine",
    "Facts",
    "Grant",
    "Mode",
    "PermissionDeniedError",
    "Policy",
    "Rule",
    "Session",
    "Tier",
    "Tool",
    "ToolCall",
    "ToolFailedError",
    "ToolResult",
    "UnreachableError",
    "Verdict",
    "__version__",
    "config_permissions_to_policy",
    "create_agent_app",
    "create_stream_route",
    "define_tool",
    "load_agentrail_config",
    "parse_rule",
    "parse_rules",
    "queue_approvals",
    "tool",
]

_HOMES = {
    "Engine": "assent.engine",
    "config_permissions_to_policy": "assent.config.agentrail",
    "load_agentrail_config": "assent.config.agentrail",
    "parse_rule": "assent.policy.rules",
    "parse_rules": "assent.policy.rules",
    "AgentApp": "assent.sdk.apps",
    "create_agent_app": "assent.sdk.apps",
    "ApiError": "assent.sdk.client",
    "AsyncClient": "assent.sdk.client",
    "Client": "assent.sdk.client",
    "UnreachableError": "assent.sdk.client",
    "AgentSession": "assent.sdk.sessions",
    "PermissionDeniedError": "assent.sdk.sessions",
    "ToolFailedError": "assent.sdk.sessions",
    "ToolResult": "assent.sdk.sessions",
    "create_stream_route": "assent.sdk.streams",
    "queue_approvals": "assent.sdk.asking",
    "Tool": "assent.sdk.tools",
    "define_tool": "assent.sdk.tools",
    "tool": "assent.sdk.tools",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'assent' has no attribute '{name}'")
    value = _version() if name == "__version__" else _load(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _load(name: str) -> Any:
    import importlib  # noqa: PLC0415 - needed for the first name that is used

    return getattr(importlib.import_module(_HOMES.get(name, "assent.model")), name)


def _version() -> str:
    from assent.config.version import find_version  # noqa: PLC0415 - rarely asked for

    return find_version()

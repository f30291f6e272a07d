"""Assent: permission for AI agents. The names below are loaded when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without loading that
if TYPE_CHECKING:  # the table below, for type checkers; a test compares the two
    from typing import Any

    from assent.config.agentrail import (
        config_permissions_to_policy as config_permissions_to_policy,
        load_agentrail_config as load_agentrail_config,
    )
    from assent.config.extras import MissingExtraError as MissingExtraError
    from assent.engine import Engine as Engine
    from assent.model import (
        AssentError as AssentError,
        CallError as CallError,
        Certainty as Certainty,
        CommandEntry as CommandEntry,
        ConfigError as ConfigError,
        Consent as Consent,
        Decision as Decision,
        Environment as Environment,
        Facts as Facts,
        ForbiddenError as ForbiddenError,
        Grant as Grant,
        Layer as Layer,
        Limits as Limits,
        Mechanism as Mechanism,
        Mode as Mode,
        Network as Network,
        NotFoundError as NotFoundError,
        Operation as Operation,
        OperationKind as OperationKind,
        Opinion as Opinion,
        Origin as Origin,
        PathPolicy as PathPolicy,
        Policy as Policy,
        ProfileSpec as ProfileSpec,
        Reading as Reading,
        Rule as Rule,
        RuleError as RuleError,
        SandboxProfile as SandboxProfile,
        Scope as Scope,
        Session as Session,
        Source as Source,
        StoreError as StoreError,
        Tier as Tier,
        ToolCall as ToolCall,
        Trace as Trace,
        Verdict as Verdict,
    )
    from assent.policy.rules import parse_rule as parse_rule, parse_rules as parse_rules
    from assent.sdk.apps import AgentApp as AgentApp, create_agent_app as create_agent_app
    from assent.sdk.asking import queue_approvals as queue_approvals
    from assent.sdk.client import (
        ApiError as ApiError,
        AsyncClient as AsyncClient,
        Client as Client,
        UnreachableError as UnreachableError,
    )
    from assent.sdk.runs import RunClient as RunClient, RunProtocolError as RunProtocolError
    from assent.sdk.schemas import InputError as InputError, SchemaError as SchemaError
    from assent.sdk.sessions import (
        AgentSession as AgentSession,
        PermissionDeniedError as PermissionDeniedError,
        ToolFailedError as ToolFailedError,
        ToolResult as ToolResult,
    )
    from assent.sdk.streams import create_stream_route as create_stream_route
    from assent.sdk.tools import Tool as Tool, ToolError as ToolError, define_tool as define_tool, tool as tool

    __version__: str

_NAMES = {
    "assent.engine": "Engine",
    "assent.model": (
        "AssentError CallError Certainty CommandEntry ConfigError Consent Decision Environment Facts"
        " ForbiddenError Grant Layer Limits Mechanism Mode Network NotFoundError Operation OperationKind Opinion"
        " Origin PathPolicy Policy ProfileSpec Reading Rule RuleError SandboxProfile Scope Session Source"
        " StoreError Tier ToolCall Trace Verdict"
    ),
    "assent.policy.rules": "parse_rule parse_rules",
    "assent.config.agentrail": "config_permissions_to_policy load_agentrail_config",
    "assent.config.extras": "MissingExtraError",
    "assent.sdk.apps": "AgentApp create_agent_app",
    "assent.sdk.asking": "queue_approvals",
    "assent.sdk.client": "ApiError AsyncClient Client UnreachableError",
    "assent.sdk.runs": "RunClient RunProtocolError",
    "assent.sdk.schemas": "InputError SchemaError",
    "assent.sdk.sessions": "AgentSession PermissionDeniedError ToolFailedError ToolResult",
    "assent.sdk.streams": "create_stream_route",
    "assent.sdk.tools": "Tool ToolError define_tool tool",
}
"""Every public name, by the module that has it. `__all__` and the loading of names follow from this table."""

_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - strings


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

    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        from assent.config.extras import explain_missing  # noqa: PLC0415 - only an incomplete installation needs it

        raise explain_missing(error, f"assent.{name}") from error


def _version() -> str:
    from assent.config.version import find_version  # noqa: PLC0415 - rarely asked for

    return find_version()

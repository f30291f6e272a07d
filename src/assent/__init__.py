"""Assent: permission for AI agents. The names below are loaded when they are first used."""

from __future__ import annotations

TYPE_CHECKING = False  # as `typing` has it, without loading that
if TYPE_CHECKING:  # the table below, for type checkers; a test compares the two
    from typing import Any

    from assent.config.agentrail_yaml import (
        config_permissions_to_policy as config_permissions_to_policy,
        load_agentrail_config as load_agentrail_config,
    )
    from assent.config.extras import MissingExtraError as MissingExtraError
    from assent.policy.engine import Engine as Engine
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
    from assent.policy.rules.parse import parse_rule as parse_rule, parse_rules as parse_rules
    from assent.sdk.sessions.app import AgentApp as AgentApp, create_agent_app as create_agent_app
    from assent.sdk.sessions.approval_handlers import queue_approvals as queue_approvals
    from assent.sdk.client.clients import (
        ApiError as ApiError,
        AsyncClient as AsyncClient,
        Client as Client,
        UnreachableError as UnreachableError,
    )
    from assent.sdk.client.runs import RunClient as RunClient, RunProtocolError as RunProtocolError
    from assent.sdk.tools.json_schema import InputError as InputError, SchemaError as SchemaError
    from assent.sdk.sessions.session import AgentSession as AgentSession
    from assent.sdk.sessions.results import (
        PermissionDeniedError as PermissionDeniedError,
        ToolFailedError as ToolFailedError,
        ToolResult as ToolResult,
    )
    from assent.sdk.sessions.stream_route import create_stream_route as create_stream_route
    from assent.sdk.tools.tool import Tool as Tool, ToolError as ToolError, define_tool as define_tool, tool as tool

    __version__: str

_NAMES = {
    "assent.policy.engine": "Engine",
    "assent.model": (
        "AssentError CallError Certainty CommandEntry ConfigError Consent Decision Environment Facts"
        " ForbiddenError Grant Layer Limits Mechanism Mode Network NotFoundError Operation OperationKind Opinion"
        " Origin PathPolicy Policy ProfileSpec Reading Rule RuleError SandboxProfile Scope Session Source"
        " StoreError Tier ToolCall Trace Verdict"
    ),
    "assent.policy.rules.parse": "parse_rule parse_rules",
    "assent.config.agentrail_yaml": "config_permissions_to_policy load_agentrail_config",
    "assent.config.extras": "MissingExtraError",
    "assent.sdk.sessions.app": "AgentApp create_agent_app",
    "assent.sdk.sessions.approval_handlers": "queue_approvals",
    "assent.sdk.client.clients": "ApiError AsyncClient Client UnreachableError",
    "assent.sdk.client.runs": "RunClient RunProtocolError",
    "assent.sdk.tools.json_schema": "InputError SchemaError",
    "assent.sdk.sessions.results": "PermissionDeniedError ToolFailedError ToolResult",
    "assent.sdk.sessions.session": "AgentSession",
    "assent.sdk.sessions.stream_route": "create_stream_route",
    "assent.sdk.tools.tool": "Tool ToolError define_tool tool",
}
"""Every public name, by the module that has it. `__all__` and the loading of names follow from this table."""

_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 - strings


if not TYPE_CHECKING:  # for which a name that is not imported above is an error

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
    from assent.platform.version import find_version  # noqa: PLC0415 - rarely asked for

    return find_version()

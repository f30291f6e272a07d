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

    __version__: str

__all__ = [
    "Consent",
    "Decision",
    "Engine",
    "Facts",
    "Grant",
    "Mode",
    "Policy",
    "Rule",
    "Session",
    "Tier",
    "ToolCall",
    "Verdict",
    "__version__",
    "config_permissions_to_policy",
    "load_agentrail_config",
    "parse_rule",
    "parse_rules",
]

_HOMES = {
    "Engine": "assent.engine",
    "config_permissions_to_policy": "assent.config.agentrail",
    "load_agentrail_config": "assent.config.agentrail",
    "parse_rule": "assent.policy.rules",
    "parse_rules": "assent.policy.rules",
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
    from importlib import metadata  # noqa: PLC0415 - slow to load, and rarely asked for

    try:
        return metadata.version("assent")
    except metadata.PackageNotFoundError:
        return "0+unknown"

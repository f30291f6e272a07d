"""`agentrail.yaml`, for programs that load it: a smaller file, with the messages of its format."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH100, PTH118

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from assent.config.typed_fields import ConfigField, root_field
from assent.config.yaml_document import read_document
from assent.model import ConfigError, Mode, Policy
from assent.platform.paths import ancestors
from assent.policy.rules.parse import parse_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

MODES = ("default", "acceptEdits", "bypassPermissions", "dontAsk", "strict")
_OTHERS = ("version", "llm", "search", "paths", "auth", "sandbox", "orchestration", "apps")
"""Fields of the format that are not about permissions."""
_NAMES = (os.path.join("config", "agentrail.yaml"), "agentrail.yaml")


class PermissionsConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The `permissions` block, as written."""

    mode: str = "default"
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class AgentrailConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A whole `agentrail.yaml`; no `permissions` block is no policy."""

    permissions: PermissionsConfig | None = None
    file: str = ""
    ignored: tuple[str, ...] = ()
    """Unknown top-level fields, which are ignored."""


def load_agentrail_config(
    path: str | os.PathLike[str] | None = None,
    *,
    start: str | os.PathLike[str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AgentrailConfig:
    """Read the file named here, else by `AGENTRAIL_CONFIG_PATH`, else the nearest one upward from `start`."""
    file = os.fspath(path) if path is not None else environ.get("AGENTRAIL_CONFIG_PATH") or _find(start)
    root = root_field(read_document(file))
    top = {} if root is None else root.open_fields("permissions", others=_OTHERS)
    permissions = _read_permissions(top["permissions"]) if "permissions" in top else None
    ignored = tuple(key for key in top if key != "permissions" and key not in _OTHERS)
    return AgentrailConfig(permissions=permissions, file=file, ignored=ignored)


def config_permissions_to_policy(permissions: PermissionsConfig) -> Policy:
    """Return the block as a policy, or raise `RuleError` for an invalid rule."""
    if permissions.mode not in MODES:
        raise ConfigError(f'Invalid permissions.mode "{permissions.mode}". Must be one of: {", ".join(MODES)}.')
    return Policy(
        mode=Mode(permissions.mode),
        allow=parse_rules(permissions.allow),
        ask=parse_rules(permissions.ask),
        deny=parse_rules(permissions.deny),
        embedded=True,
    )


def _find(start: str | os.PathLike[str] | None) -> str:
    folder = os.path.abspath(start if start is not None else os.curdir)
    for above in ancestors(folder):
        for name in _NAMES:
            path = os.path.join(above, name)
            if os.path.lexists(path):
                return path
    raise ConfigError(f"There is no agentrail.yaml in '{folder}' or above.", suggestion="name it, or create one")


def _read_permissions(field: ConfigField) -> PermissionsConfig:
    fields = field.fields(("mode", "allow", "ask", "deny"))
    return PermissionsConfig(
        mode=fields["mode"].choice(MODES) if "mode" in fields else "default",
        **{
            key: tuple(entry.string() for entry in fields[key].entries())
            for key in ("allow", "ask", "deny")
            if key in fields
        },
    )

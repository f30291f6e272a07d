"""Parse `assent.yaml` into one layer's policy and settings. One error rejects the whole file."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH117

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import assent.lazy_regex as re
from assent.analysis.resources.globs import compile_glob
from assent.catalog.workspace_roots import refuse_root
from assent.config.commands_block import read_commands
from assent.config.profiles_block import profile_names, read_profiles
from assent.config.settings import read_block
from assent.config.typed_fields import ConfigField, root_field, shorten
from assent.config.yaml_document import MOST_NODES, Mapping, Scalar, decode_document
from assent.model import (
    MODE_ALIASES,
    CallError,
    ConfigError,
    Effect,
    Layer,
    Mode,
    Origin,
    PathPolicy,
    Policy,
    ProfileSpec,
    Rule,
    RuleError,
    Verdict,
)
from assent.platform.files import read_file
from assent.platform.paths import user_home
from assent.policy.rules.examples import check_examples
from assent.policy.rules.parse import check_pattern, parse_rule
from assent.policy.rules.patterns import compile_command

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

MODES: dict[str, Mode] = {mode.value: mode for mode in Mode} | MODE_ALIASES

# Each example is a call to analyse: a file must not be able to make loading slow.
MOST_EXAMPLES = 1000

_TOP_KEYS = ("permissions", "workspace", "commands", "profiles", "server")
_PERMISSION_KEYS = (
    "mode",
    "allow",
    "ask",
    "deny",
    "classifier",
    "read",
    "write",
    "forbidden",
    "deny_commands",
    "approve_commands",
    "profile",
    "interactive",
    "unknown_repository",
)
_RULE_KEYS = ("rule", "reason", "except", "match", "not_match", "destructive", "every_time", "expires")
# A key without effect is an error: its author expects it to do something.
_UNHEEDED: dict[Effect, tuple[str, ...]] = {
    "allow": ("except", "every_time"),
    "ask": ("destructive",),
    "deny": ("destructive", "every_time"),
}
_WILD = re.compile(r"[*?\[{]")
_ONE_SERVER = re.compile(r"mcp__[^_].*?__")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?P<offset>[Zz]|[+-][0-9]{2}:[0-9]{2}))?"
)


class Settings(msgspec.Struct, frozen=True):
    """The settings of a file besides its policy."""

    workspace: tuple[str, ...] = ()
    """Folders that belong to the workspace beside the project's root: absolute and normalised."""


class Assentfile(msgspec.Struct, frozen=True):
    """The content of one `assent.yaml`."""

    policy: Policy
    settings: Settings
    server: dict[str, Any] = {}
    """Settings of the daemon."""


def load_policy(path: str | os.PathLike[str], *, layer: Layer, trusted: bool = False) -> Policy:
    """Load a policy file, or raise `ConfigError` with the line of the error."""
    file = os.fspath(path)
    return parse_assentfile(read_file(file).data, file, layer=layer, trusted=trusted, home=user_home()).policy


MOST_PROJECT_VALUES = 5000
"""The most values in a project's file, whose author is not trusted."""


def parse_assentfile(
    data: bytes, file: str, *, layer: Layer, trusted: bool = False, home: str | None = None
) -> Assentfile:
    """Parse the bytes of a file; `home` replaces `~` in it."""
    if not data.strip():
        # An empty file is probably an accident, and its deny rules would be lost.
        raise ConfigError("the file is empty", file=file, suggestion="for no rules, write `permissions: {}`")
    most = MOST_PROJECT_VALUES if layer is Layer.PROJECT else MOST_NODES
    root = root_field(decode_document(data, file, most=most))
    top = {} if root is None else root.fields(_TOP_KEYS)
    permissions = top["permissions"].fields(_PERMISSION_KEYS) if "permissions" in top else {}
    profiles = read_profiles(top["profiles"], layer, home) if "profiles" in top else ()
    policy = _read_policy(permissions, profiles, layer, file, trusted=trusted)
    if "commands" in top:
        policy = msgspec.structs.replace(policy, commands=read_commands(top["commands"], layer))
    roots = _read_workspace(top["workspace"], layer, home) if "workspace" in top else ()
    server = read_block(top["server"], layer) if "server" in top else {}
    return Assentfile(policy, Settings(roots), server)


def _take(fields: dict[str, ConfigField], key: str, read: Callable[[ConfigField], T], default: T) -> T:
    return read(fields[key]) if key in fields else default


def _read_policy(
    fields: dict[str, ConfigField], profiles: tuple[ProfileSpec, ...], layer: Layer, file: str, *, trusted: bool
) -> Policy:
    def rules(effect: Effect) -> tuple[Rule, ...]:
        return _take(fields, effect, lambda field: _read_rules(field, effect, layer), ())

    return Policy(
        mode=_take(fields, "mode", lambda field: MODES[field.choice(MODES)], None),
        allow=rules("allow"),
        ask=rules("ask"),
        deny=rules("deny"),
        read=_take(fields, "read", _read_paths, PathPolicy()),
        write=_take(fields, "write", _read_paths, PathPolicy()),
        forbidden=_take(fields, "forbidden", _read_globs, ()),
        deny_commands=_take(fields, "deny_commands", _read_commands, ()),
        approve_commands=_take(fields, "approve_commands", _read_commands, ()),
        classifier=_take(fields, "classifier", _read_switch, None),
        profile=_take(fields, "profile", profile_names(profiles), None),
        profiles=profiles,
        interactive=_take(fields, "interactive", ConfigField.boolean, None),
        unknown_repository=_take(fields, "unknown_repository", _read_verdict, None),
        layer=layer,
        file=file,
        trusted=trusted,
    )


def _read_verdict(field: ConfigField) -> Verdict:
    return Verdict(field.choice([verdict.value for verdict in Verdict]))


def _read_switch(field: ConfigField) -> bool:
    if isinstance(field.node, Scalar) and field.node.kind == "str":
        return field.choice(("on", "off")) == "on"
    return field.boolean()


def _read_paths(field: ConfigField) -> PathPolicy:
    fields = field.fields(("allow", "deny", "default"))
    return PathPolicy(
        allow=_take(fields, "allow", _read_globs, ()),
        deny=_take(fields, "deny", _read_globs, ()),
        default=_take(fields, "default", _read_verdict, None),
    )


def _read_globs(field: ConfigField) -> tuple[str, ...]:
    return tuple(_checked(entry, compile_glob) for entry in field.entries())


def _read_commands(field: ConfigField) -> tuple[str, ...]:
    return tuple(_checked(entry, compile_command) for entry in field.entries())


def _checked(entry: ConfigField, compile_pattern: Callable[[str], object]) -> str:
    text = entry.text()
    try:
        check_pattern(text)
        compile_pattern(text)
    except RuleError as error:
        raise entry.error(f'Invalid {entry.name} "{shorten(text)}": {error}') from None
    return text


def _read_rules(field: ConfigField, effect: Effect, layer: Layer) -> tuple[Rule, ...]:
    entries = [(entry, f"{field.name}: Permission rule at index {i}") for i, entry in enumerate(field.entries())]
    rules = tuple(_read_rule(entry, place, effect, layer) for entry, place in entries)
    if sum(len(rule.match) + len(rule.not_match) for rule in rules) > MOST_EXAMPLES:
        raise field.error(f"Expected {field.name} to have at most {MOST_EXAMPLES} examples.")
    for rule, (entry, place) in zip(rules, entries, strict=True):
        try:
            check_examples(rule, effect)
        except (RuleError, CallError) as error:
            raise entry.error(f"{place} is invalid: {error}") from None
    return rules


def _read_rule(entry: ConfigField, place: str, effect: Effect, layer: Layer) -> Rule:
    fields = _rule_fields(entry, effect) if isinstance(entry.node, Mapping) else {}
    written = fields.get("rule")
    text = entry.string("a string or an object") if written is None else written.string()
    origin = Origin(layer, entry.file, (written or entry).node.line)
    try:
        rule = parse_rule(text, origin)
    except RuleError as error:
        hint = "a rule with ` #` or `: ` in it needs quotes" if "(" in text and not text.endswith(")") else ""
        raise entry.error(f"{place} is invalid: {error}", suggestion=hint) from None
    if effect == "allow":
        _refuse_wide_tool(entry, rule, place)
    return _add_details(rule, fields) if len(fields) > 1 else rule


def _rule_fields(entry: ConfigField, effect: Effect) -> dict[str, ConfigField]:
    keys = list(entry.node.items) if isinstance(entry.node, Mapping) else []
    if len(keys) == 1 and "(" in keys[0]:
        raise entry.expected("a string or an object", suggestion="a rule with `: ` in it needs quotes")
    fields = entry.fields(_RULE_KEYS)
    if "rule" not in fields:
        raise entry.error(f"Expected {entry.name}.rule to be a string.")
    for key in _UNHEEDED[effect]:
        if key in fields:
            raise fields[key].error(f"{entry.name}.{key} has no effect in a rule of the {effect} list")
    return fields


def _refuse_wide_tool(entry: ConfigField, rule: Rule, place: str) -> None:
    found = _WILD.search(rule.tool)
    if found and not _ONE_SERVER.match(rule.tool[: found.start()]):
        message = f'{place} is invalid: "{shorten(rule.tool)}" would allow tools that are not named'
        raise entry.error(message, suggestion="name the tool, or all of one server: mcp__server__*")


def _add_details(rule: Rule, fields: dict[str, ConfigField]) -> Rule:
    return Rule(
        tool=rule.tool,
        pattern=rule.pattern,
        reason=_take(fields, "reason", ConfigField.text, None),
        exceptions=_take(fields, "except", ConfigField.one_or_more, ()),
        match=_take(fields, "match", ConfigField.one_or_more, ()),
        not_match=_take(fields, "not_match", ConfigField.one_or_more, ()),
        destructive=_take(fields, "destructive", ConfigField.boolean, default=False),
        every_time=_take(fields, "every_time", ConfigField.boolean, default=False),
        expires=_take(fields, "expires", _read_time, None),
        origin=rule.origin,
    )


def _read_time(field: ConfigField) -> float:
    """Parse a point in time; a date means its first second, UTC."""
    text = field.node.text if isinstance(field.node, Scalar) else ""
    found = _TIME.fullmatch(text)
    try:
        moment = datetime.fromisoformat(text.upper()) if found else None
    except ValueError:
        moment = None
    if moment is None:
        message = f'Invalid {field.name} "{shorten(text)}". Must be a date or a time with its offset.'
        raise field.error(message, suggestion="for example 2030-12-31 or 2030-12-31T18:00:00Z")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _read_workspace(field: ConfigField, layer: Layer, home: str | None) -> tuple[str, ...]:
    if layer not in (Layer.MANAGED, Layer.USER):
        raise field.error("a project cannot define the workspace", suggestion="put it in the user's file")
    return tuple(_read_root(entry, home) for entry in field.entries())


def _read_root(entry: ConfigField, home: str | None) -> str:
    text = entry.text()
    if home is not None and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    if not os.path.isabs(text):
        raise entry.expected("an absolute path", suggestion="begin it with `/` or `~/`")
    root = "/" + os.path.normpath(text).lstrip("/")
    reason = refuse_root((root,), () if home is None else (home,))
    if reason is not None:
        raise entry.error(f"{entry.name} cannot be a workspace: '{root}': {reason}.")
    return root

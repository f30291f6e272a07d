"""Add rules to an `assent.yaml`, keeping everything else, comments included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from assent.config.assent_yaml import parse_assentfile
from assent.model import ConfigError, Effect, Layer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ORDER: tuple[Effect, ...] = ("allow", "ask", "deny")


def add_rules(text: str, rules: Mapping[Effect, Sequence[str]], *, file: str, layer: Layer, note: str) -> str:
    """Return the text with these rules added, or raise `ConfigError` if its structure does not allow it."""
    new = {effect: list(dict.fromkeys(rules.get(effect, ()))) for effect in _ORDER}
    try:
        changed = _insert(text, {effect: found for effect, found in new.items() if found}, note)
        parse_assentfile(changed.encode(), file, layer=layer, home="/")
    except (yaml.YAMLError, ConfigError, ValueError) as error:
        hint = "add the rules yourself; they are listed above"
        raise ConfigError(f"cannot add the rules: {error}", file=file, suggestion=hint) from None
    return changed


def _insert(text: str, rules: dict[Effect, list[str]], note: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader) if text.strip() else None
    permissions = _member(root, "permissions")
    if permissions is None:
        body = "".join(_block(effect, found, 2, note) for effect, found in rules.items())
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}permissions:\n{body}"
    if not isinstance(permissions, yaml.MappingNode) or permissions.flow_style or not permissions.value:
        raise ValueError("`permissions` is not written as a block")
    lines = text.splitlines(keepends=True)
    inserts: list[tuple[int, str]] = []
    column = permissions.start_mark.column
    for effect, found in rules.items():
        there = _member(permissions, effect)
        if there is None:
            inserts.append((permissions.start_mark.line, _block(effect, found, column, note)))
        elif isinstance(there, yaml.SequenceNode) and not there.flow_style and there.value:
            held = {item.value for item in there.value if isinstance(item, yaml.ScalarNode)}
            new = [rule for rule in found if rule not in held]
            inserts.append((there.start_mark.line, _items(new, there.start_mark.column, note)))
        else:
            raise ValueError(f"`{effect}` is not written as a block")
    for line, block in sorted(inserts, reverse=True):
        lines.insert(line, block)
    return "".join(lines)


def _member(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _block(effect: str, rules: list[str], column: int, note: str) -> str:
    return f"{' ' * column}{effect}:\n{_items(rules, column + 2, note)}"


def _items(rules: list[str], column: int, note: str) -> str:
    return "".join(f"{' ' * column}- {_scalar(rule)}  # {note}\n" for rule in rules)


def _scalar(rule: str) -> str:
    """Return a rule as a YAML scalar that parses to the same text."""
    plain = f"- {rule}\n"
    try:
        if yaml.safe_load(plain) == [rule] and " #" not in rule and ": " not in rule:
            return rule
    except yaml.YAMLError:
        pass
    return "'" + rule.replace("'", "''") + "'"

"""Parse the `profiles:` block of `assent.yaml` into sandbox profiles."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH117

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, get_args

from assent.analysis.resources.hosts import parse_host
from assent.config.typed_fields import ConfigField, shorten
from assent.config.yaml_document import Mapping, Scalar
from assent.model import AssentError, Extensible, Layer, Limits, Network, ProfileSpec
from assent.policy.sandbox_profiles import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYS = ("extends", "read", "write", "masked", "network", "environment", "limits", "unix_sockets", "ask")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"([1-9][0-9]{0,14})\s*([A-Za-z]*)")
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_COUNT = {"": 1}
# Name in the file, name in the record, and accepted units.
_LIMITS: dict[str, tuple[str, dict[str, int]]] = {
    "processes": ("processes", _COUNT),
    "memory": ("memory_bytes", _BYTES),
    "file_size": ("file_bytes", _BYTES),
    "cpu": ("cpu_seconds", _SECONDS),
    "wall": ("wall_seconds", _SECONDS),
    "output": ("output_bytes", _BYTES),
}


def read_profiles(field: ConfigField, layer: Layer, home: str | None) -> tuple[ProfileSpec, ...]:
    """Parse all profiles, or raise `ConfigError` with the line of the error."""
    if layer not in (Layer.MANAGED, Layer.USER):
        raise field.error("a project cannot define sandbox profiles", suggestion="put them in the user's file")
    if not isinstance(field.node, Mapping):
        raise field.expected("an object")
    return tuple(_read_profile(name, entry, home) for name, entry in field.fields(tuple(field.node.items)).items())


def _read_profile(name: str, field: ConfigField, home: str | None) -> ProfileSpec:
    if not _NAME.fullmatch(name) or name in NAMES:
        hint = "lower-case letters, digits and `-`, and none of: " + ", ".join(NAMES)
        raise field.error(f'Invalid profile name "{shorten(name)}".', suggestion=hint)
    fields = field.fields(_KEYS)

    def paths(key: str) -> tuple[str, ...] | None:
        return tuple(_read_path(entry, home) for entry in fields[key].entries()) if key in fields else None

    return ProfileSpec(
        name=name,
        extends=_read_extends(fields["extends"]) if "extends" in fields else "workspace-write",
        read=paths("read"),
        write=paths("write"),
        masked=paths("masked") or (),
        network=_read_network(fields["network"]) if "network" in fields else None,
        environment=tuple(map(_read_variable, fields["environment"].entries())) if "environment" in fields else (),
        limits=_read_limits(fields["limits"]) if "limits" in fields else Limits(),
        unix_sockets=fields["unix_sockets"].boolean() if "unix_sockets" in fields else None,
        ask=fields["ask"].boolean() if "ask" in fields else False,
    )


def _read_extends(field: ConfigField) -> Extensible:
    words: tuple[Extensible, ...] = get_args(Extensible)
    return words[words.index(field.choice(words))]


def _read_path(entry: ConfigField, home: str | None) -> str:
    text = entry.text()
    if home is not None and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    if text.startswith("~"):
        raise entry.expected("a path", suggestion="begin it with `/`, `~/`, or a name in the workspace")
    if any(char in text for char in "*?[{"):
        raise entry.expected("a path without wildcards", suggestion="name the folder; everything in it is included")
    path = os.path.normpath(text)
    if path == ".." or path.startswith("../"):
        raise entry.error(f"{entry.name} is outside of the workspace.", suggestion="write the absolute path")
    return "/" + path.lstrip("/") if os.path.isabs(path) else path


def _read_network(field: ConfigField) -> Network:
    if isinstance(field.node, Scalar):
        return Network("full") if field.choice(("off", "full")) == "full" else Network("off")
    fields = field.fields(("hosts",))
    if "hosts" not in fields:
        raise field.expected("`off`, `full`, or an object with `hosts`")
    return Network("hosts", tuple(dict.fromkeys(map(_read_host, fields["hosts"].entries()))))


def _read_host(entry: ConfigField) -> str:
    text = entry.text()
    try:
        return str(parse_host(text))
    except AssentError as error:
        hint = "write `network: full` for all hosts" if "*" in text else ""
        raise entry.error(f'Invalid {entry.name} "{shorten(text)}": {error}', suggestion=hint) from None


def _read_variable(entry: ConfigField) -> str:
    text = entry.text()
    if not _VARIABLE.fullmatch(text):
        raise entry.error(f'Invalid {entry.name} "{shorten(text)}".', suggestion="use the full name of a variable")
    return text


def _read_limits(field: ConfigField) -> Limits:
    said = field.fields(tuple(_LIMITS)).items()
    return Limits(**{_LIMITS[key][0]: _read_amount(value, _LIMITS[key][1]) for key, value in said})


def _read_amount(field: ConfigField, units: dict[str, int]) -> int:
    text = field.node.text if isinstance(field.node, Scalar) else ""
    found = _NUMBER.fullmatch(text)
    unit = units.get(found[2].lower()) if found else None
    if found is None or unit is None:
        shown = ", ".join(name for name in units if name)
        raise field.expected("a whole number above 0" + (f", with or without a unit ({shown})" if shown else ""))
    return int(found[1]) * unit


def profile_names(specs: tuple[ProfileSpec, ...]) -> Callable[[ConfigField], str]:
    """Return a parser for profile names: built-in ones or these."""
    return lambda field: field.choice((*NAMES, *(spec.name for spec in specs)))

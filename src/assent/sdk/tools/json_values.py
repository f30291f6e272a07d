"""A validated value as JSON has it, exactly as it is: what a tool gets is what is decided about.

How a type shows itself (fields left out, secrets masked, serializers of its own) is for showing: it counts for nothing.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from assent.sdk.tools.json_schema import InputError

DEEPEST = 200
_LISTS = (list, tuple, set, frozenset)
_PLAIN = (str, int, float, bool, type(None))


class EncodedValue(msgspec.Struct, frozen=True):
    """A value as JSON, and the names of the fields whose types call them secret."""

    plain: Any
    secrets: tuple[str, ...] = ()


def write_out(value: Any, leaf: Callable[[Any], Any] = msgspec.to_builtins) -> EncodedValue:
    """Write a value out, or raise `InputError`; `leaf` writes what has no parts, such as a date."""
    writer = _Writer(leaf)
    try:
        plain = writer.write(value, "", DEEPEST)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - what cannot be written cannot be decided about
        raise InputError(f"it cannot be written down: {type(error).__name__}: {error}") from None
    return EncodedValue(plain, tuple(sorted(writer.secrets)))


_Form: TypeAlias = Literal["mapping", "list", "stream", "secret", "struct", "root", "model", "dataclass", "leaf"]


@functools.lru_cache(maxsize=1000)
def _form_of(kind: type[Any]) -> _Form:
    """Say what a kind of value is to be taken for."""
    if issubclass(kind, Mapping):
        return "mapping"
    if issubclass(kind, _LISTS):
        return "list"
    if issubclass(kind, Iterator):
        return "stream"
    if callable(getattr(kind, "get_secret_value", None)):
        return "secret"
    if issubclass(kind, msgspec.Struct):
        return "struct"
    if hasattr(kind, "model_fields"):
        return "root" if getattr(kind, "__pydantic_root_model__", False) is True else "model"
    return "dataclass" if dataclasses.is_dataclass(kind) else "leaf"


class _Writer:
    def __init__(self, leaf: Callable[[Any], Any]) -> None:
        self._leaf = leaf
        self.secrets: set[str] = set()

    def write(self, value: Any, name: str, depth: int) -> Any:  # noqa: C901 - a table of forms
        """Write one value that stands under a name."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if depth == 0:
            raise InputError("it is nested too deeply")
        match _form_of(kind):  # type: ignore[arg-type] # a type can be hashed, whatever its values can
            case "mapping":
                return self._object(value.items(), depth, len(value))
            case "list":
                return [self.write(each, name, depth - 1) for each in value]
            case "stream":
                raise InputError(f"`{name}` is read once, and then gone")
            case "secret":
                self.secrets.add(name)
                return self.write(value.get_secret_value(), name, depth - 1)
            case "struct":
                return self._object(_struct_fields(value), depth)
            case "root":
                return self.write(value.root, name, depth - 1)
            case "model":
                return self._object(_model_fields(value), depth)
            case "dataclass":
                return self._object(((f.name, getattr(value, f.name)) for f in dataclasses.fields(value)), depth)
            case _:
                return self._leaf(value)

    def _object(self, items: Iterable[tuple[Any, Any]], depth: int, count: int | None = None) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for key, each in items:
            name = key if isinstance(key, str) else str(self._leaf(key))
            written[name] = self.write(each, name, depth - 1)
        if count is not None and len(written) != count:
            raise InputError("two of its fields have the same name")
        return written


def _struct_fields(value: msgspec.Struct) -> Iterable[tuple[str, Any]]:
    tag, spelled = _spelled(type(value))
    return (*tag, *[(written, getattr(value, name)) for written, name in spelled])


def _model_fields(value: Any) -> Iterable[tuple[str, Any]]:
    """Return the parts of a model of pydantic's with their names."""
    kind = type(value)
    names = (*kind.model_fields, *kind.model_computed_fields)
    extra = getattr(value, "__pydantic_extra__", None) or {}
    return (*((name, getattr(value, name)) for name in names), *extra.items())


@functools.lru_cache(maxsize=1000)
def _spelled(kind: type[msgspec.Struct]) -> tuple[tuple[tuple[str, Any], ...], tuple[tuple[str, str], ...]]:
    """Return the tag of a kind of record, and how its fields are written."""
    config = kind.__struct_config__
    tag = ((config.tag_field, config.tag),) if config.tag_field is not None else ()
    return tag, tuple((field.encode_name, field.name) for field in msgspec.structs.fields(kind))

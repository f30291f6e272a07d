"""The part of JSON Schema that tools use. What a schema says and this does not know is refused when a tool is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import re2

from assent.model import AssentError, canonical

Check: TypeAlias = Callable[[Any, str], None]
DEEPEST = 64
_ABOUT = frozenset({
    "$schema", "$id", "$comment", "title", "description", "default", "examples", "example", "deprecated",
    "readOnly", "writeOnly", "format", "$defs", "definitions", "discriminator",
})  # fmt: skip
_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "integer": lambda v: not isinstance(v, bool) and (isinstance(v, int) or (isinstance(v, float) and v.is_integer())),
}
_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", lambda v, b: v >= b, "at least"),
    "maximum": ("number", lambda v, b: v <= b, "at most"),
    "exclusiveMinimum": ("number", lambda v, b: v > b, "more than"),
    "exclusiveMaximum": ("number", lambda v, b: v < b, "less than"),
    "multipleOf": ("number", lambda v, b: math.isclose(v / b, round(v / b), abs_tol=1e-9), "a multiple of"),
    "minLength": ("string", lambda v, b: len(v) >= b, "of at least this length:"),
    "maxLength": ("string", lambda v, b: len(v) <= b, "of at most this length:"),
    "minItems": ("array", lambda v, b: len(v) >= b, "of at least this many items:"),
    "maxItems": ("array", lambda v, b: len(v) <= b, "of at most this many items:"),
    "minProperties": ("object", lambda v, b: len(v) >= b, "of at least this many fields:"),
    "maxProperties": ("object", lambda v, b: len(v) <= b, "of at most this many fields:"),
}


class SchemaError(AssentError):
    """A tool's schema cannot be used."""


class InputError(AssentError):
    """A tool's input is not what its schema says."""


def compile_schema(schema: Mapping[str, Any]) -> Check:
    """Return what checks a value, raising `InputError` with the place at fault; or raise `SchemaError`."""
    return _Compiler(schema).compile(schema)


class _Compiler:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._refs: dict[str, Check] = {}

    def compile(self, schema: Any) -> Check:
        if schema is True or schema == {}:
            return _anything
        if schema is False:
            return _nothing
        if not isinstance(schema, Mapping):
            raise SchemaError(f"a schema must be an object, not {type(schema).__name__}")
        checks = [self._compile_word(word, schema) for word in schema if word not in _ABOUT]
        return _all([check for check in checks if check is not None])

    def _compile_word(self, word: str, schema: Mapping[str, Any]) -> Check | None:  # noqa: C901 - a table of words
        value = schema[word]
        if word in _BOUNDS:
            return _bound(word, value)
        match word:
            case "type":
                return _type([value] if isinstance(value, str) else list(value))
            case "enum":
                return _enum(list(value))
            case "const":
                return _enum([value])
            case "pattern":
                return _pattern(value)
            case "uniqueItems":
                return _unique if value else None
            case "properties" | "required" | "additionalProperties":
                # The three are one check, made where the first of them stands.
                first = next(w for w in schema if w in ("properties", "required", "additionalProperties"))
                return self._object(schema) if word == first else None
            case "items":
                return _items(self.compile(value))
            case "anyOf" | "oneOf":
                return _any([self.compile(option) for option in value], exactly_one=word == "oneOf")
            case "allOf":
                return _all([self.compile(option) for option in value])
            case "$ref":
                return self._ref(value)
            case _:
                raise SchemaError(f"`{word}` in a schema is not understood")

    def _object(self, schema: Mapping[str, Any]) -> Check:
        fields = {name: self.compile(inner) for name, inner in schema.get("properties", {}).items()}
        required = tuple(schema.get("required", ()))
        rest = self.compile(schema.get("additionalProperties", True))

        def check(value: Any, path: str) -> None:
            if not isinstance(value, dict):
                return
            for name in required:
                if name not in value:
                    raise InputError(f"{path}: `{name}` is missing")
            for name, inner in value.items():
                fields.get(name, rest)(inner, f"{path}.{name}")

        return check

    def _ref(self, ref: Any) -> Check:
        if not isinstance(ref, str) or not ref.startswith("#"):
            raise SchemaError("a `$ref` must point into the schema itself")
        if ref not in self._refs:
            found: Any = self._root
            for step in ref[1:].split("/")[1:]:
                try:
                    found = found[step.replace("~1", "/").replace("~0", "~")]
                except (KeyError, TypeError, IndexError):
                    raise SchemaError(f"`{ref}` points nowhere") from None
            # Known before it is compiled, since a schema may hold itself.
            self._refs[ref] = lambda value, path: compiled(value, _deeper(path))
            compiled = self.compile(found)
        return self._refs[ref]


def _deeper(path: str) -> str:
    if path.count(".") + path.count("[") > DEEPEST:
        raise InputError("it is nested too deeply")
    return path


def _anything(_value: Any, _path: str) -> None:
    pass


def _nothing(_value: Any, path: str) -> None:
    raise InputError(f"{path} is not expected")


def _all(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]

    def check(value: Any, path: str) -> None:
        for each in checks:
            each(value, path)

    return check


def _any(checks: list[Check], *, exactly_one: bool) -> Check:
    def check(value: Any, path: str) -> None:
        fits = sum(_fits(each, value, path) for each in checks)
        if fits == 0 or (exactly_one and fits > 1):
            raise InputError(f"{path} fits {'none' if fits == 0 else 'more than one'} of its forms")

    return check


def _fits(check: Check, value: Any, path: str) -> bool:
    try:
        check(value, path)
    except InputError:
        return False
    return True


def _type(names: list[str]) -> Check:
    if unknown := [name for name in names if name not in _TYPES]:
        raise SchemaError(f"there is no type `{unknown[0]}`")

    def check(value: Any, path: str) -> None:
        if not any(_TYPES[name](value) for name in names):
            raise InputError(f"{path}: expected {' or '.join(names)}")

    return check


def _enum(values: list[Any]) -> Check:
    known = {canonical(value) for value in values}

    def check(value: Any, path: str) -> None:
        if canonical(value) not in known:
            raise InputError(f"{path}: expected one of {', '.join(map(repr, values))}")

    return check


def _pattern(pattern: Any) -> Check:
    try:
        compiled = re2.compile(pattern)
    except Exception:  # noqa: BLE001 - however it is wrong
        raise SchemaError(f"the pattern {pattern!r} cannot be read") from None

    def check(value: Any, path: str) -> None:
        if isinstance(value, str) and not compiled.search(value):
            raise InputError(f"{path} does not match {pattern}")

    return check


def _bound(word: str, bound: Any) -> Check:
    kind, holds, words = _BOUNDS[word]
    if not _TYPES["number"](bound):
        raise SchemaError(f"`{word}` must be a number")

    def check(value: Any, path: str) -> None:
        if _TYPES[kind](value) and not holds(value, bound):
            raise InputError(f"{path}: expected {words} {bound}")

    return check


def _items(inner: Check) -> Check:
    def check(value: Any, path: str) -> None:
        if isinstance(value, list):
            for index, item in enumerate(value):
                inner(item, f"{path}[{index}]")

    return check


def _unique(value: Any, path: str) -> None:
    if isinstance(value, list) and len({canonical(item) for item in value}) < len(value):
        raise InputError(f"{path} holds something twice")

"""A tool: what the model may call, what its input must be, what it says about its own use, and what it does."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, overload

import msgspec

from assent.model import AssentError
from assent.sdk.schemas import InputError, compile_schema
from assent.sdk.values import write_out

Check: TypeAlias = Callable[[Any], Any]
"""Takes the input and says "allow", "ask" or "deny", perhaps as `{"decision": …, "reason": …}`; sync or async."""


LONGEST_NAME = 200
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder().decode


class ToolError(AssentError):
    """A tool can not be made as it is described."""


class Input(msgspec.Struct, frozen=True):
    """An input that fits: as it is decided about, and as the tool takes it. The two say the same."""

    plain: dict[str, Any]
    params: Any
    secrets: tuple[str, ...] = ()
    """Names of fields whose types call them secret."""


class Tool:
    """Made by `@tool` or `define_tool`; call it directly to run it unguarded, as the function that it is."""

    def __init__(  # noqa: PLR0913 - it is the sum of its parts
        self,
        *,
        name: str,
        description: str,
        parameters: dict[str, Any],
        read: Callable[[Any], Input],
        execute: Callable[[Any], Any],
        check_permissions: Check | None = None,
        timeout: float | None = None,
        plain: Callable[..., Any] | None = None,
    ) -> None:
        if not name.strip() or len(name) > LONGEST_NAME:
            raise ToolError("a tool needs a name")
        self.name = name
        self.description = description
        self.parameters = parameters
        """The JSON Schema of the input, for the model."""
        self.check_permissions = check_permissions
        self.timeout = timeout
        self.execute = execute
        self.blocking = not inspect.iscoroutinefunction(plain or execute)
        """Whether it runs in a thread, so that it holds up nobody else."""
        self.read = read
        """Checks an input against the schema, or raises `InputError`."""
        self.plain: Callable[..., Any] = plain or execute
        """What it was made of."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it as it is, without asking anyone."""
        return self.plain(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


def define_tool(
    *,
    name: str,
    description: str = "",
    parameters: Mapping[str, Any] | type[Any],
    execute: Callable[[Any], Any],
    check_permissions: Check | None = None,
    timeout: float | None = None,
) -> Tool:
    """Make a tool of its parts. `parameters` is a JSON Schema, or a type: a struct, dataclass, TypedDict or model.

    `execute` and `check_permissions` take the input as one value: a dict, or an instance of the type.
    """
    if isinstance(parameters, Mapping):
        schema, read = dict(parameters), _schema_reader(parameters)
    else:
        schema, read = _describe(parameters), _type_reader(parameters)
    if not callable(execute):
        raise ToolError(f"`{name}` has nothing to execute")
    _refuse_generator(execute, name)
    return Tool(
        name=name,
        description=description,
        parameters=schema,
        read=read,
        execute=execute,
        check_permissions=check_permissions,
        timeout=timeout,
    )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    check_permissions: Check | None = None,
    timeout: float | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    check_permissions: Check | None = None,
    timeout: float | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a function: its name, its docstring and its type hints say the rest."""

    def make(function: Callable[..., Any]) -> Tool:
        _refuse_generator(function, name or function.__name__)
        record = _record_of(function)
        return Tool(
            name=name or function.__name__,
            description=description if description is not None else inspect.getdoc(function) or "",
            parameters=_describe(record),
            read=_type_reader(record),
            execute=lambda params: function(**msgspec.structs.asdict(params)),
            check_permissions=check_permissions,
            timeout=timeout,
            plain=function,
        )

    return make if function is None else make(function)


def _refuse_generator(function: Callable[..., Any], name: str) -> None:
    """Refuse what has not run when it returns: the log would say that it ended before it began."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolError(f"`{name}` gives its result in pieces; a tool returns it whole")


def _record_of(function: Callable[..., Any]) -> type[msgspec.Struct]:
    """Make a record whose fields are a function's parameters."""
    hints = typing.get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise ToolError(f"`{function.__name__}` takes `{each}`; a tool's parameters all have names")
        if each.name not in hints:
            raise ToolError(f"`{each.name}` of `{function.__name__}` has no type hint")
        fields.append(
            (each.name, hints[each.name])
            if each.default is each.empty
            else (each.name, hints[each.name], _default(each.default))
        )
    return msgspec.defstruct(function.__name__, fields, kw_only=True, forbid_unknown_fields=True)


def _default(value: Any) -> Any:
    mutable = isinstance(value, list | dict | set)
    return msgspec.field(default_factory=lambda: type(value)(value)) if mutable else value


def _describe(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type, with its parts beside it."""
    if hasattr(kind, "model_json_schema"):
        found: dict[str, Any] = kind.model_json_schema()
        return found
    try:
        (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise ToolError(f"there is no schema for {kind!r}: {error}") from None
    own = parts.pop(str(schema.get("$ref", "")).rpartition("/")[2], None)
    described = dict(schema) if own is None else dict(own)
    described.pop("title", None)
    return described | {"$defs": parts} if parts else described


def _as_object(given: Any) -> dict[str, Any]:
    """Copy an input as JSON: what is decided about can not be changed by whoever still holds it."""
    try:
        copied = _decode(_encode(given))
    except Exception as error:  # noqa: BLE001 - however it can not be written, it is no input
        raise InputError(f"the input is not JSON: {error}") from None
    if not isinstance(copied, dict):
        raise InputError("the input must be an object")
    return copied


def read_object(given: Any, secrets: tuple[str, ...] = ()) -> Input:
    """Take any object for an input: for tools whose schema somebody else checks."""
    plain = _as_object(given)
    return Input(plain, plain, secrets)


def _schema_reader(schema: Mapping[str, Any]) -> Callable[[Any], Input]:
    check = compile_schema(schema)

    def read(given: Any) -> Input:
        plain = _as_object(given)
        check(plain, "input")
        return Input(plain, plain)

    return read


def _leaf_of(kind: type[Any]) -> Callable[[Any], Any]:
    """Return what writes the smallest parts of a type."""
    if not hasattr(kind, "model_validate"):
        return msgspec.to_builtins
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - whose models are used has it

    return to_jsonable_python


def complain(error: ValueError) -> str:
    """Say what is wrong with an input without repeating it: it may be a secret."""
    faults = getattr(error, "errors", None)
    if not callable(faults):
        return str(error)
    found = faults(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'input'}: {each['msg']}" for each in found)


def _type_reader(kind: type[Any]) -> Callable[[Any], Input]:
    """Read into a type. What is decided about is the whole value, with what was left out filled in."""
    validate, leaf = getattr(kind, "model_validate", None), _leaf_of(kind)

    def read(given: Any) -> Input:
        plain = _as_object(given)
        try:
            params = msgspec.convert(plain, kind) if validate is None else validate(plain)
            written = write_out(params, leaf)
        except InputError:
            raise
        except ValueError as error:  # pydantic's, and msgspec's
            raise InputError(complain(error)) from None
        except Exception as error:  # noqa: BLE001 - a validator may raise what it likes
            raise InputError(f"{type(error).__name__}: {error}") from None
        if not isinstance(written.plain, dict):
            raise InputError("the input must be an object")
        return Input(written.plain, params, written.secrets)

    return read

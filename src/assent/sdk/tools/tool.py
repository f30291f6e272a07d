"""A tool: what the model may call, what its input must be, what it says about its own use, and what it does."""

from __future__ import annotations

import copy
import dataclasses
import enum
import functools
import inspect
import math
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, overload

import msgspec

from assent.model import AssentError
from assent.sdk.tools.json_schema import InputError, compile_schema
from assent.sdk.tools.json_values import write_out

Check: TypeAlias = Callable[[Any], Any]
"""Takes the input and says "allow", "ask" or "deny", perhaps as `{"decision": …, "reason": …}`; sync or async."""


LONGEST_NAME = 200
_UNCHANGING = (str, bytes, int, float, bool, type(None), enum.Enum)
_PYDANTICS = {"pydantic", "pydantic_core", "annotated_types"}


def _write_model(value: Any) -> Any:
    """Write out a model that a guarded function was called with."""
    if not hasattr(type(value), "__get_pydantic_core_schema__"):
        raise NotImplementedError(f"a {type(value).__name__} is no JSON")
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - whose models are used has it

    return write_out(value, to_jsonable_python).plain


_encode, _decode = msgspec.json.Encoder(enc_hook=_write_model).encode, msgspec.json.Decoder().decode


class ToolError(AssentError):
    """A tool cannot be made as it is described."""


class ToolInput(msgspec.Struct, frozen=True):
    """An input that fits: as it is decided about, and as the tool takes it. The two say the same, and share nothing."""

    plain: dict[str, Any]
    params: Any
    secrets: tuple[str, ...] = ()
    """Names of fields whose types call them secret."""


class Tool:
    """Made by `@tool` or `define_tool`; call it directly to run it unguarded, as the function that it is."""

    def __init__(  # noqa: PLR0913 - one parameter for each part
        self,
        *,
        name: str,
        description: str,
        parameters: dict[str, Any],
        read: Callable[[Any], ToolInput],
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
        record, names = _record_of(function)
        return Tool(
            name=name or function.__name__,
            description=description if description is not None else inspect.getdoc(function) or "",
            parameters=_describe(record),
            read=_type_reader(record),
            execute=lambda params: function(**{name: getattr(params, name) for name in names}),
            check_permissions=check_permissions,
            timeout=timeout,
            plain=function,
        )

    return make if function is None else make(function)


def _refuse_generator(function: Callable[..., Any], name: str) -> None:
    """Refuse what has not run when it returns: the log would say that it ended before it began."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolError(f"`{name}` gives its result in pieces; a tool returns it whole")


def _record_of(function: Callable[..., Any]) -> tuple[type[Any], tuple[str, ...]]:
    """Make a record whose fields are a function's parameters, and return it with their names."""
    fields = _parameters_of(function)
    names, title = tuple(name for name, *_ in fields), function.__name__
    if any(_is_pydantics(kind) for _, kind, *_ in fields):
        own = [(name, kind, *(_fresh(default, dataclasses.field) for default in more)) for name, kind, *more in fields]
        closed = {"__pydantic_config__": {"extra": "forbid"}}
        return dataclasses.make_dataclass(title, own, kw_only=True, namespace=closed), names
    own = [(name, kind, *(_fresh(default, msgspec.field) for default in more)) for name, kind, *more in fields]
    return msgspec.defstruct(title, own, kw_only=True, forbid_unknown_fields=True), names


def _fresh(default: Any, field: Callable[..., Any]) -> Any:
    """Return a default that no call shares with another: what one does to it, nobody was asked about for the next."""
    if isinstance(default, _UNCHANGING):
        return default
    return field(default_factory=functools.partial(copy.deepcopy, default))


def _parameters_of(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    """Return each parameter's name, its type, and its default if it has one."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ToolError(f"a type hint of `{function.__name__}` means nothing: {error}") from None
    found: list[tuple[Any, ...]] = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
            raise ToolError(f"`{function.__name__}` takes `{each}`; a tool's parameters all have names")
        if each.name not in hints:
            raise ToolError(f"`{each.name}` of `{function.__name__}` has no type hint")
        default = () if each.default is each.empty else (each.default,)
        found.append((each.name, hints[each.name], *default))
    return found


def _is_pydantics(hint: Any, seen: frozenset[int] = frozenset()) -> bool:
    """Tell whether a type, or a part of it, says what only Pydantic holds an input to."""
    said = getattr(hint, "__metadata__", ())
    makers = {type(each).__module__.partition(".")[0] for each in said}
    if makers & _PYDANTICS or hasattr(hint, "__get_pydantic_core_schema__"):
        return True
    if id(hint) in seen:
        return False
    own = _fields_of(hint) if isinstance(hint, type) else ()
    parts = [part for part in typing.get_args(hint) if not any(part is each for each in said)]
    return any(_is_pydantics(part, seen | {id(hint)}) for part in (*parts, *own))


def _fields_of(kind: type[Any]) -> tuple[Any, ...]:
    if not (dataclasses.is_dataclass(kind) or typing.is_typeddict(kind) or issubclass(kind, msgspec.Struct | tuple)):
        return ()
    try:
        return tuple(typing.get_type_hints(kind, include_extras=True).values())
    except (NameError, TypeError):
        return ()  # whoever makes a schema of it says what is wrong


def _describe(kind: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type, with its parts beside it."""
    if _is_pydantics(kind):
        found: dict[str, Any] = _adapt(kind).json_schema()
        return found
    try:
        (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise ToolError(f"there is no schema for {kind!r}: {str(error).splitlines()[-1]}") from None
    own = parts.pop(str(schema.get("$ref", "")).rpartition("/")[2], None)
    described = dict(schema) if own is None else dict(own)
    described.pop("title", None)
    return described | {"$defs": parts} if parts else described


def _as_object(given: Any) -> dict[str, Any]:
    """Copy an input as JSON: what is decided about cannot be changed by whoever still holds it."""
    try:
        data = _encode(given)
        if b"null" in data and _holds_no_number(msgspec.to_builtins(given, enc_hook=_write_model)):
            raise ValueError("it holds a number that is none")  # noqa: TRY301 - msgspec writes it as null
        copied = _decode(data)
    except Exception as error:  # noqa: BLE001 - however it cannot be written, it is no input
        raise InputError(f"the input is not JSON: {error}") from None
    if not isinstance(copied, dict):
        raise InputError("the input must be an object")
    return copied


def _holds_no_number(value: Any) -> bool:
    """Tell whether there is an infinity, or what is no number, in a value."""
    if isinstance(value, dict):
        return any(map(_holds_no_number, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_holds_no_number, value))
    return isinstance(value, float) and not math.isfinite(value)


def read_object(given: Any, secrets: tuple[str, ...] = ()) -> ToolInput:
    """Take any object for an input: for tools whose schema somebody else checks."""
    plain = _as_object(given)
    return ToolInput(plain, _as_object(plain), secrets)


def _schema_reader(schema: Mapping[str, Any]) -> Callable[[Any], ToolInput]:
    check = compile_schema(schema)

    def read(given: Any) -> ToolInput:
        plain = _as_object(given)
        check(plain, "input")
        return ToolInput(plain, _as_object(plain))

    return read


def _adapt(kind: type[Any]) -> Any:
    """Return what reads a type of Pydantic's."""
    try:
        from pydantic import TypeAdapter  # noqa: PLC0415 - whose types are used has it

        return TypeAdapter(kind)
    except Exception as error:  # noqa: BLE001 - however it cannot be read
        raise ToolError(f"there is no schema for {kind!r}: {error}") from None


def _converter(kind: type[Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Return what makes a value of a type, and what writes its smallest parts."""
    if not _is_pydantics(kind):
        return functools.partial(msgspec.convert, type=kind), msgspec.to_builtins
    from pydantic_core import to_jsonable_python  # noqa: PLC0415 - as above

    return _adapt(kind).validate_python, to_jsonable_python


def complain(error: ValueError) -> str:
    """Say what is wrong with an input without repeating it: it may be a secret."""
    faults = getattr(error, "errors", None)
    if not callable(faults):
        return str(error)
    found = faults(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or 'input'}: {each['msg']}" for each in found)


def _type_reader(kind: type[Any]) -> Callable[[Any], ToolInput]:
    """Read into a type. What is decided about is the whole value, with what was left out filled in."""
    convert, leaf = _converter(kind)

    def read(given: Any) -> ToolInput:
        plain = _as_object(given)
        try:
            params = convert(plain)
            written = write_out(params, leaf)
        except InputError:
            raise
        except ValueError as error:  # pydantic's, and msgspec's
            raise InputError(complain(error)) from None
        except Exception as error:  # noqa: BLE001 - a validator may raise what it likes
            raise InputError(f"{type(error).__name__}: {error}") from None
        if not isinstance(written.plain, dict):
            raise InputError("the input must be an object")
        return ToolInput(written.plain, params, written.secrets)

    return read

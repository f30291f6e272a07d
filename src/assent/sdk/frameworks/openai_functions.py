"""A function tool of the OpenAI Agents SDK as its function sees it: what its parameters' types make of a call."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from agents.function_schema import function_schema
from pydantic_core import to_jsonable_python

from agents import FunctionTool, function_tool
from assent.model import ConfigError
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.json_values import EncodedValue, write_out
from assent.sdk.tools.tool import complain

Parts: TypeAlias = tuple[list[Any], dict[str, Any]]
"""What a function is called with, by place and by name, beside the framework's own context."""


class ToolFunction:
    """What a tool is made of."""

    @classmethod
    def of(cls, tool: FunctionTool) -> ToolFunction | None:
        """Return the function behind a tool; None for a tool that takes a call as the model sent it."""
        made_of = getattr(tool, "__wrapped__", None)
        return None if made_of is None else cls(tool, made_of)

    def __init__(self, tool: FunctionTool, made_of: Any) -> None:
        self._tool = tool
        self._call: Callable[..., Any] = made_of if inspect.isroutine(made_of) else made_of.__call__
        try:
            self._schema = function_schema(
                self._call,
                name_override=tool.name,
                use_docstring_info=False,
                strict_json_schema=tool.strict_json_schema,
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, its calls could not be read
            raise ConfigError(f"the function of `{tool.name}` cannot be read: {error}") from None
        if _names(self._schema.params_json_schema) != _names(tool.params_json_schema):
            raise ConfigError(f"the parameters of `{tool.name}` are not those of its function")
        self.takes_context: bool = self._schema.takes_context

    def read(self, given: dict[str, Any]) -> Parts:
        """Have the types of its parameters read a call, or raise `InputError`."""
        try:
            return self._schema.to_call_args(self._schema.params_pydantic_model(**given))
        except ValueError as error:
            raise InputError(complain(error)) from None
        except Exception as error:  # noqa: BLE001 - a validator may raise what it likes
            raise InputError(f"{type(error).__name__}: {error}") from None

    def write(self, parts: Parts) -> EncodedValue:
        """Write out, by the names of its parameters, what it is called with."""
        args, named = parts
        context = (None,) if self.takes_context else ()
        bound = self._schema.signature.bind(*context, *args, **named)
        bound.apply_defaults()
        shown = list(bound.arguments.items())[len(context) :]
        return write_out(dict(shown), to_jsonable_python)

    async def call(self, *args: Any, **named: Any) -> Any:
        """Call it, in a thread if it may block."""
        if inspect.iscoroutinefunction(self._call):
            return await self._call(*args, **named)
        return await asyncio.to_thread(self._call, *args, **named)

    def rebuild(self, run: Callable[..., Awaitable[Any]]) -> FunctionTool:
        """Make the tool anew, with the framework calling `run` where it would call the function."""

        @functools.wraps(self._call)
        async def stand_in(*args: Any, **named: Any) -> Any:
            return await run(*args, **named)

        tool = self._tool
        made = function_tool(
            stand_in, name_override=tool.name, use_docstring_info=False, strict_mode=tool.strict_json_schema
        )
        # What the tool says of its own failures stays as it is.
        rebuilt = tool.__copy__()
        rebuilt.on_invoke_tool = made.on_invoke_tool
        return rebuilt.__copy__()


def _names(schema: dict[str, Any]) -> frozenset[str]:
    return frozenset(schema.get("properties", ()))

"""A tool is made of a function or of its parts; what is decided about is exactly what it will run with."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
import typing
from typing import Annotated, Any

import annotated_types
import msgspec
import pydantic
import pytest
from pydantic import BaseModel

from assent import PermissionDeniedError, ToolFailedError, create_agent_app, define_tool, tool
from assent.sdk.tools.json_schema import InputError, SchemaError
from assent.sdk.tools.tool import ToolError

FRAMEWORKS = {"langchain", "langchain_core", "langgraph", "agents", "openai", "pydantic_ai", "mcp", "fastapi"}


def test_importing_assent_and_all_its_names_loads_none_of_the_frameworks():
    code = (
        f"import sys, assent\nfor name in assent.__all__: getattr(assent, name)\nprint({FRAMEWORKS} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@tool
def copy(source: str, target: str = "/tmp/x", tags: list[str] = ["a"]) -> str:  # noqa: B006 - as people write it
    """Copy a file."""
    return f"{source} {target} {tags}"


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclasses.dataclass
class Spot:
    x: int


class Place(typing.TypedDict):
    x: int


class Model(BaseModel):
    x: int


def test_a_function_says_its_name_its_purpose_and_its_schema():
    assert copy.name == "copy"
    assert copy.description == "Copy a file."
    assert copy.parameters["required"] == ["source"]
    assert copy.parameters["properties"]["source"] == {"type": "string"}
    assert copy.parameters["additionalProperties"] is False


def test_a_tool_called_directly_is_the_function_that_it_is():
    assert copy("a", tags=["b"]) == "a /tmp/x ['b']"


def test_what_was_left_out_is_filled_in_before_it_is_decided_about():
    taken = copy.read({"source": "a"})
    assert taken.plain == {"source": "a", "target": "/tmp/x", "tags": ["a"]}
    assert copy.execute(taken.params) == "a /tmp/x ['a']"


def test_whoever_holds_the_input_can_not_change_it_afterwards():
    given = {"source": "a", "tags": ["x"]}
    taken = copy.read(given)
    given["tags"].append("y")
    assert taken.plain["tags"] == ["x"]
    assert copy.execute(taken.params).endswith("['x']")


@pytest.mark.parametrize("kind", [Point, Spot, Place, Model], ids=lambda k: k.__name__)
def test_parameters_may_be_a_type(kind):
    made = define_tool(name="t", parameters=kind, execute=lambda p: p["x"] if isinstance(p, dict) else p.x)
    assert made.parameters["properties"]["x"]["type"] == "integer"
    taken = made.read({"x": 3})
    assert taken.plain["x"] == made.execute(taken.params) == 3
    with pytest.raises(InputError):
        made.read({"x": "nonsense"})


@pytest.mark.parametrize(
    "given", [[], "text", 3, None, {"source": 1}, {}, {"source": "a", "more": 1}, {"source": {1}}], ids=str
)
def test_an_input_that_does_not_fit_is_refused(given):
    with pytest.raises(InputError):
        copy.read(given)


def test_a_schema_is_held_to():
    made = define_tool(name="t", parameters={"type": "object", "required": ["a"]}, execute=lambda p: p)
    with pytest.raises(InputError, match="`a` is missing"):
        made.read({})


def starred(*args: int) -> None: ...
def unhinted(a) -> None: ...


@pytest.mark.parametrize(
    ("function", "why"), [(starred, "all have names"), (unhinted, "no type hint")], ids=["starred", "unhinted"]
)
def test_a_function_whose_input_can_not_be_described_is_no_tool(function, why):
    with pytest.raises(ToolError, match=why):
        tool(function)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"name": " ", "parameters": {}, "execute": print}, ToolError),
        ({"name": "t", "parameters": {}, "execute": None}, ToolError),
        ({"name": "t", "parameters": {"frobnicate": 1}, "execute": print}, SchemaError),
        ({"name": "t", "parameters": object, "execute": print}, ToolError),
    ],
    ids=["no name", "nothing to do", "unknown word", "no schema"],
)  # fmt: skip
def test_a_tool_of_bad_parts_is_not_made(parts, error):
    with pytest.raises(error):
        define_tool(**parts)


class Place(pydantic.BaseModel):
    path: str
    count: int = 1


Short = Annotated[str, pydantic.Field(max_length=3)]


@dataclasses.dataclass
class Named:
    name: Short


@pytest.mark.parametrize(
    ("kind", "fits", "does_not"),
    [
        (Place, {"path": "/a"}, {"path": 1}),
        (list[Place], [{"path": "/a"}], [{}]),
        (Place | None, None, {"path": None}),
        (Short, "abc", "abcd"),
        (list[Short], ["abc"], ["abcd"]),
        (Named, {"name": "abc"}, {"name": "abcd"}),
        (Annotated[int, annotated_types.Gt(3)], 4, 3),
    ],
    ids=str,
)
def test_a_functions_parameters_are_held_to_what_pydantics_types_say(kind, fits, does_not):
    def run(given, *, more: int = 2):
        return given, more

    run.__annotations__["given"] = kind
    made = tool(run)
    assert made.parameters["required"] == ["given"]
    read = made.read({"given": fits})
    assert read.plain["more"] == 2
    assert made.execute(read.params)[1] == 2
    for wrong in ({"given": does_not}, {"given": fits, "other": 1}, {}):
        with pytest.raises(InputError):
            made.read(wrong)


def test_parameters_of_a_record_are_held_to_what_pydantic_says_of_its_fields():
    made = define_tool(name="named", parameters=Named, execute=lambda named: named.name)
    assert made.execute(made.read({"name": "abc"}).params) == "abc"
    with pytest.raises(InputError):
        made.read({"name": "abcd"})


def test_a_guarded_function_may_be_called_with_a_model():
    hook = lambda _, given: "deny" if given["place"]["path"] == "/etc/passwd" else None  # noqa: E731
    with create_agent_app(permission_policy={}, hooks=[hook]) as app:

        @app.guard
        def remove(place: Place) -> str:
            return f"{place.path} {place.count}"

        assert remove(Place(path="/a", count=3)) == "/a 3"
        with pytest.raises(PermissionDeniedError):
            remove(Place(path="/etc/passwd"))


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("wrap", [lambda n: n, lambda n: [n], lambda n: {"a": (n,)}], ids=["plain", "list", "dict"])
def test_what_is_no_number_is_no_input(number, wrap):
    with create_agent_app(permission_policy={}) as app:

        @app.guard
        def pay(amount: Any, note: str | None = None) -> Any:
            return amount

        assert pay(None) is None
        with pytest.raises(ToolFailedError, match="not JSON"):
            pay(wrap(number))


def test_a_type_hint_that_means_nothing_makes_no_tool():
    def run(given: "Nothing") -> str:  # noqa: F821, UP037
        return ""

    with pytest.raises(ToolError, match="means nothing"):
        tool(run)

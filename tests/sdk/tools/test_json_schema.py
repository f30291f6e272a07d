"""A tool's schema holds its input to what it says, and a schema with unknown words makes no tool."""

from __future__ import annotations

import pytest

from assent.sdk.tools.json_schema import InputError, SchemaError, compile_schema

NODE = {
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}},
    "$ref": "#/$defs/node",
}
FITS = [
    ({}, 1),
    (True, "x"),
    ({"type": "object"}, {"a": 1}),
    ({"type": ["string", "null"]}, None),
    ({"type": "integer"}, 3.0),
    ({"type": "number"}, 3),
    ({"enum": ["a", 1]}, 1),
    ({"const": {"a": [1]}}, {"a": [1]}),
    ({"type": "string", "pattern": "^a+$", "minLength": 1, "maxLength": 3}, "aa"),
    ({"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}, {"a": "x"}),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, {"x": 1}),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2, "uniqueItems": True}, [1, 2]),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, 1),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "x"),
    ({"allOf": [{"type": "integer"}, {"minimum": 1}]}, 1),
    ({"multipleOf": 0.1}, 0.3),
    (NODE, {"n": 1, "next": {"n": 2, "next": {}}}),
    ({"minimum": 5}, "not a number, so not its business"),
]  # fmt: skip
FAILS = [
    (False, 1, "is not expected"),
    ({"type": "object"}, [], "expected object"),
    ({"type": "integer"}, True, "expected integer"),
    ({"type": "number"}, "1", "expected number"),
    ({"enum": ["a"]}, "b", "expected one of"),
    ({"const": 1}, 1.5, "expected one of"),
    ({"pattern": "^a$"}, "b", "does not match"),
    ({"minLength": 2}, "a", "at least"),
    ({"maxLength": 0}, "a", "at most"),
    ({"minimum": 2}, 1, "at least 2"),
    ({"exclusiveMaximum": 2}, 2, "less than 2"),
    ({"multipleOf": 2}, 3, "multiple"),
    ({"type": "object", "required": ["a"]}, {}, "`a` is missing"),
    ({"properties": {"a": {"type": "string"}}}, {"a": 1}, r"x\.a: expected string"),
    ({"additionalProperties": False}, {"b": 1}, "not expected"),
    ({"items": {"type": "string"}}, ["a", 1], r"x\[1\]: expected string"),
    ({"uniqueItems": True}, [{"a": 1}, {"a": 1}], "twice"),
    ({"maxItems": 1}, [1, 2], "at most"),
    ({"minProperties": 1}, {}, "at least"),
    ({"anyOf": [{"type": "string"}]}, 1, "none of its forms"),
    ({"oneOf": [{}, {"type": "integer"}]}, 1, "more than one"),
    (NODE, {"next": {"n": "x"}}, r"x\.next\.n: expected integer"),
]
REFUSED = [
    ({"if": {}}, "`if` in a schema is not understood"),
    ({"not": {}}, "`not`"),
    ({"type": "strange"}, "no type `strange`"),
    ({"pattern": "("}, "cannot be read"),
    ({"minimum": "1"}, "must be a number"),
    ({"$ref": "https://x.test/y"}, "into the schema itself"),
    ({"$ref": "#/$defs/none"}, "points nowhere"),
    ({"items": 3}, "must be an object"),
]


@pytest.mark.parametrize(("schema", "value"), FITS, ids=str)
def test_what_fits_passes(schema, value):
    compile_schema(schema)(value, "x")


@pytest.mark.parametrize(("schema", "value", "why"), FAILS, ids=str)
def test_what_does_not_fit_is_refused_with_its_place(schema, value, why):
    with pytest.raises(InputError, match=why):
        compile_schema(schema)(value, "x")


@pytest.mark.parametrize(("schema", "why"), REFUSED, ids=str)
def test_a_schema_that_is_not_understood_makes_no_tool(schema, why):
    with pytest.raises(SchemaError, match=why):
        compile_schema(schema)


def test_an_input_nested_too_deeply_is_refused_and_not_followed_for_ever():
    deep: dict = {}
    for _ in range(500):
        deep = {"next": deep}
    with pytest.raises(InputError, match="nested too deeply"):
        compile_schema(NODE)(deep, "x")


def test_a_pattern_that_would_take_for_ever_takes_no_time():
    with pytest.raises(InputError):
        compile_schema({"pattern": "^(a+)+$"})("a" * 60 + "b", "x")

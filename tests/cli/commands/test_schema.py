from __future__ import annotations

import json

import pytest

from assent.cli import exit_codes, main
from assent.cli.commands.schema import RECORDS, all_schemas, schema_of

PROMISED = [
    "ToolCall",
    "Session",
    "Reading",
    "Operation",
    "Decision",
    "Opinion",
    "Rule",
    "Policy",
    "Mode",
    "Grant",
    "SandboxProfile",
    "Violation",
    "Event",
    "Tier",
]


def references(value):
    match value:
        case dict():
            if isinstance(value.get("$ref"), str):
                yield value["$ref"]
            for inner in value.values():
                yield from references(inner)
        case list():
            for inner in value:
                yield from references(inner)


@pytest.mark.parametrize("name", RECORDS)
def test_each_schema_stands_alone(capsys, name):
    assert main(["schema", name]) == exit_codes.OK
    schema = json.loads(capsys.readouterr().out)
    assert schema == json.loads(json.dumps(schema_of(name)))
    assert schema["$schema"].endswith("/draft/2020-12/schema")
    assert schema["$id"] == f"urn:assent:schema:{name}"
    assert schema["$ref"] == f"#/$defs/{name}"
    assert all(ref.removeprefix("#/$defs/") in schema["$defs"] for ref in references(schema))


def test_one_document_defines_all_records(capsys):
    assert main(["schema"]) == exit_codes.OK
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(json.dumps(all_schemas()))
    assert set(RECORDS) <= set(document["$defs"])
    assert all(ref.removeprefix("#/$defs/") in document["$defs"] for ref in references(document))


def test_everything_promised_is_listed(capsys):
    assert main(["schema", "--list"]) == exit_codes.OK
    assert set(PROMISED) <= set(capsys.readouterr().out.split())


def test_the_schema_has_the_keys_that_are_written(here, capsys):
    main(["check", "--json", "ls"])
    answer = json.loads(capsys.readouterr().out)
    properties = all_schemas()["$defs"]
    assert list(answer) == list(properties["Answer"]["properties"])
    assert set(answer["operations"][0]) <= set(properties["Step"]["properties"])
    assert set(properties["Tier"]["enum"]) == {"safe", "dangerous", "destructive"}


def test_a_mistyped_name_gets_the_nearest_one(capsys):
    assert main(["schema", "Desision"]) == exit_codes.USAGE
    assert "did you mean `Decision`?" in capsys.readouterr().err

"""`assent schema`: the JSON Schemas of all records."""

from __future__ import annotations

from typing import Any

import msgspec

from assent import model
from assent.cli import exit_codes
from assent.cli.options.arguments import make_parser
from assent.cli.output.decision_json import Answer
from assent.cli.output.screen import say
from assent.model import AssentError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
RECORDS: dict[str, Any] = {
    record.__name__: record
    for record in (
        Answer,
        model.Certainty,
        model.Consent,
        model.Decision,
        model.Event,
        model.Grant,
        model.Layer,
        model.Limits,
        model.Mechanism,
        model.Mode,
        model.Network,
        model.Operation,
        model.OperationKind,
        model.Opinion,
        model.Origin,
        model.PathPolicy,
        model.Policy,
        model.Reading,
        model.Rule,
        model.SandboxProfile,
        model.Scope,
        model.Session,
        model.Source,
        model.Tier,
        model.ToolCall,
        model.Verdict,
        model.Violation,
    )
}
_EXAMPLES = (
    "assent schema                 all records in one document",
    "assent schema Decision        one record, with the definitions it refers to",
    "assent schema --list          the names",
)


def run(argv: list[str]) -> int:
    """Run the command."""
    parser = make_parser("schema", "Print the JSON Schemas (draft 2020-12) of the records.", _EXAMPLES)
    parser.add_argument("name", metavar="NAME", nargs="?", help="one record")
    parser.add_argument("--list", action="store_true", help="list the names")
    given = parser.parse_args(argv)
    if given.list:
        say("\n".join(RECORDS))
        return exit_codes.OK
    schema = schema_of(given.name) if given.name else all_schemas()
    say(msgspec.json.format(msgspec.json.encode(schema)).decode())
    return exit_codes.OK


def all_schemas() -> dict[str, Any]:
    """Return one document that defines every record."""
    _, parts = msgspec.json.schema_components(RECORDS.values(), ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "$id": "urn:assent:schema", "$defs": dict(sorted(parts.items()))}


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of one record, with the definitions it refers to."""
    if name not in RECORDS:
        raise _unknown(name)
    (schema,), parts = msgspec.json.schema_components([RECORDS[name]], ref_template="#/$defs/{name}")
    head = {"$schema": DIALECT, "$id": f"urn:assent:schema:{name}"}
    return {**head, **schema, "$defs": dict(sorted(parts.items()))}


def _unknown(name: str) -> AssentError:
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistyped name needs it

    close = get_close_matches(name, RECORDS, n=1, cutoff=0.5)
    hint = f"did you mean `{close[0]}`?" if close else "see `assent schema --list`"
    return AssentError(f"unknown record `{name}`; {hint}")

"""What is decided about is what a tool gets, however its type would show itself; its secrets are not in the log."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from pydantic import BaseModel, Field, PlainSerializer, RootModel, SecretStr, computed_field, field_serializer
from pydantic_core import to_jsonable_python

from assent import create_agent_app, define_tool, parse_rules
from assent.sdk.tools.json_schema import InputError
from assent.sdk.tools.json_values import write_out


class Inner(BaseModel):
    pin: SecretStr
    note: str = Field("", exclude=True)


class Names(RootModel[list[str]]):
    pass


@dataclasses.dataclass
class Corner:
    x: int


class Brief(msgspec.Struct, omit_defaults=True, tag="brief", rename="camel"):
    how_far: int = 3


class Shy(BaseModel):
    """Shows nothing of what it holds."""

    model_config = {"extra": "allow"}
    path: Path = Field(exclude=True)
    inner: Inner
    names: Names
    day: dt.date
    loud: Annotated[str, PlainSerializer(lambda _: "something else")]
    quiet: str

    @field_serializer("quiet")
    def hush(self, _: str) -> str:
        return "…"

    @computed_field
    @property
    def file(self) -> str:
        return f"{self.path}/file"


GIVEN: dict[str, Any] = {
    "path": "/etc", "inner": {"pin": "1234", "note": "n"}, "names": ["a"], "day": "2026-01-02", "loud": "l",
    "quiet": "q", "more": {"b": 1},
}  # fmt: skip


def test_a_model_is_written_as_it_is_and_not_as_it_shows_itself():
    written = write_out(Shy(**GIVEN), to_jsonable_python)
    assert written.plain == GIVEN | {"file": "/etc/file"}
    assert written.secrets == ("pin",)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Brief(), {"type": "brief", "howFar": 3}),
        ({"at": Corner(1), "all": (1, 2.5, None, True)}, {"at": {"x": 1}, "all": [1, 2.5, None, True]}),
        ({1: "a"}, {"1": "a"}),
    ],
    ids=["struct", "dataclass", "number as a name"],
)
def test_records_of_all_makers_are_written_whole(value, plain):
    assert write_out(value).plain == plain


@pytest.mark.parametrize(
    "value",
    [{1: "a", "1": "b"}, {"a": iter([1])}, {"a": object()}, {"a": {1: object()}}],
    ids=["two of a name", "read once", "unknown", "unknown inside"],
)
def test_what_can_not_be_written_exactly_is_no_input(value):
    with pytest.raises(InputError):
        write_out(value, to_jsonable_python)


def test_what_holds_itself_is_no_input():
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InputError, match="nested too deeply"):
        write_out(value)


class Login(BaseModel):
    password: SecretStr
    pin: SecretStr
    path: str = Field(exclude=True)


class Person:
    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    async def request_approval(self, **_):
        (question,) = await self.app.session().pending()
        self.seen.append(question.input)
        return "approved"


def test_hidden_fields_are_decided_about_and_secrets_stay_out_of_the_log():
    got: list[Any] = []
    log_in = define_tool(name="log_in", parameters=Login, execute=lambda p: got.append(p.pin.get_secret_value()))
    person = Person()
    rules = {"deny": parse_rules(["log_in(/etc/**)"]), "ask": parse_rules(["log_in(/srv/**)"])}
    with create_agent_app(permission_policy=rules, tools=[log_in], approval_handler=person) as app:
        person.app = app
        given = {"password": "hunter2hunter2", "pin": "ab97531", "path": "/srv/a"}
        assert app.run_tool("log_in", given | {"path": "/etc/x"}).is_error
        assert not app.run_tool("log_in", given).is_error
        assert app.run_tool("log_in", given | {"pin": ["ab97531"]}).is_error
        app.judge._log._store.write(app.judge._log._write_notes).result()
        log = b"".join(bytes(row[0]) for row in app.judge.store.fetch("SELECT body FROM events")).decode()
        fed = json.dumps([event for _, event in app.session().feed._events if event["type"] == "tool.before"])
    assert got == ["ab97531"]
    assert person.seen == [given]
    for place in (log, fed):
        assert "/srv/a" in place
        assert "hunter2" not in place
        assert "ab97531" not in place
    assert '"pin":"[masked:secret]"' in log


class Stream(BaseModel):
    names: Iterable[str]


def test_what_can_be_read_only_once_is_refused_before_anybody_reads_it():
    made = define_tool(name="t", parameters=Stream, execute=lambda p: list(p.names))
    with pytest.raises(InputError, match="read once"):
        made.read({"names": ["a"]})

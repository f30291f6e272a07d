"""What `import assent` offers: each name once, loaded when it is first used, with its types."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import typing
from importlib import metadata, resources
from pathlib import Path

import msgspec
import pytest

import assent
import assent.model

RECORDS = (assent.Decision, assent.Policy, assent.Session, assent.ToolCall, assent.Facts, assent.Grant, assent.Consent)


def test_every_public_name_is_there_and_no_other():
    for name in assent.__all__:
        assert getattr(assent, name) is not None
    assert len(assent.__all__) == len(set(assent.__all__))
    assert set(assent.__all__) <= set(dir(assent))
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = assent.Nothing


def test_a_type_checker_sees_the_names_that_the_table_has():
    tree = ast.parse(Path(assent.__file__).read_text())
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        name.name: node.module
        for node in checked.body
        if isinstance(node, ast.ImportFrom) and node.module != "typing"
        for name in node.names
        if name.asname == name.name
    }
    assert imported == assent._HOMES


def test_a_public_name_is_a_record_function_or_error_of_its_own_module():
    for name, home in assent._HOMES.items():
        found = getattr(assent, name)
        assert found is getattr(importlib.import_module(home), name)
        assert found.__module__ == home or found.__module__.startswith(f"{home}."), name


def held(kind, seen):
    """Collect the records and enums of ours that a type is made of."""
    for part in typing.get_args(kind):
        held(part, seen)
    if isinstance(kind, type) and kind.__module__.startswith("assent.") and kind not in seen:
        seen.add(kind)
        for part in typing.get_type_hints(kind).values() if issubclass(kind, msgspec.Struct) else ():
            held(part, seen)
    return seen


@pytest.mark.parametrize("record", RECORDS)
def test_whatever_a_public_record_holds_is_public(record):
    assert {kind.__name__ for kind in held(record, set())} <= set(assent.__all__)


@pytest.mark.parametrize("home", sorted(set(assent._HOMES.values())))
def test_the_errors_that_a_public_module_defines_are_public(home):
    found = [each for each in vars(importlib.import_module(home)).values() if isinstance(each, type)]
    errors = {each for each in found if issubclass(each, assent.AssentError) and each.__module__.startswith(home)}
    assert {each.__name__ for each in errors} <= set(assent.__all__)
    assert home != "assent.model" or assent.AssentError in errors


def test_the_package_says_that_it_is_typed():
    assert resources.files("assent").joinpath("py.typed").is_file()
    assert "Typing :: Typed" in metadata.metadata("assent").get_all("Classifier")


def test_engine_names_load_nothing_of_the_sdk():
    code = (
        "import sys, assent; assent.Engine, assent.Reading, assent.AssentError, assent.parse_rules\n"
        "assert not any(name.startswith(('assent.sdk', 'assent.server', 'assent.store')) for name in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""OpenAPI and the JSON Schemas. Definitions are numbered as they are used, and their names are one record of their own.

So a definition that gets another name shows as that alone.
"""

from __future__ import annotations

import json
from typing import Any

from golden import adapter
from golden.parts import Group, cut, make

TEXTS = frozenset(("summary", "description"))


def openapi() -> Group:
    """Return one record for every operation, with the definitions that it refers to."""
    document = adapter.openapi()
    schemas = document["components"]["schemas"]
    operations = [
        (f"{method.upper()} {path}", about)
        for path, some in document["paths"].items()
        for method, about in some.items()
    ]
    rest = {name: value for name, value in document.items() if name != "paths"} | {"components": None}
    rest["components"] = {name: value for name, value in document["components"].items() if name != "schemas"}
    found = [cut(key, key, unname(about, schemas), TEXTS) for key, about in sorted(operations)]
    return [*found, cut("document", "document", rest, TEXTS), _names(schemas)]


def schemas(documents: dict[str, str]) -> Group:
    """Return one record for every schema that `assent schema` prints."""
    found, known = [], set()
    for name, text in documents.items():
        document = json.loads(text)
        parts = document.pop("$defs", {})
        known |= parts.keys()
        found.append(cut(name, name, unname(document, parts), TEXTS))
    return [*found, _names(sorted(known))]


def _names(names: Any) -> Any:
    return make("names of definitions", "names of definitions", sorted(names), {})


def unname(value: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Number the definitions that a value refers to in the order in which it does, and leave their names out."""
    numbers: dict[str, int] = {}
    waiting: list[str] = []

    def renamed(each: Any) -> Any:
        if isinstance(each, list):
            return [renamed(item) for item in each]
        if not isinstance(each, dict):
            return each
        kept = {}
        for name, item in each.items():
            if name == "$ref" and isinstance(item, str):
                target = item.rpartition("/")[2]
                if target not in numbers:
                    numbers[target] = len(numbers) + 1
                    waiting.append(target)
                kept[name] = f"#{numbers[target]}"
            elif not (name == "title" and item in definitions):
                kept[name] = renamed(item)
        return kept

    whole = {"": renamed(value)}
    while waiting:
        target = waiting.pop(0)
        whole[f"#{numbers[target]}"] = renamed(definitions[target])
    return whole

"""What a tool of an MCP server said of itself when it was first seen; one that says something else is asked about."""

# Paths are strings here, as in `assent.model`.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from assent.model import ConfigError
from assent.model.canonical_json import digest
from assent.platform.files import find_private, make_private_folder, write_private
from assent.platform.paths import assent_home

_PART_OF_IT = ("name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution")


_BESIDE_IT = ("icons", "_meta")


class Pin(msgspec.Struct, frozen=True):
    """A tool as it was accepted."""

    hash: str
    definition: dict[str, Any]


class Pins:
    """The accepted tools of one server, kept in Assent's home."""

    def __init__(self, server: str, identity: Any, *, home: str | None = None) -> None:
        folder = os.path.join(home or assent_home(os.environ), "mcp")
        make_private_folder(os.path.dirname(folder))
        make_private_folder(folder)
        self._file = os.path.join(folder, f"{digest(['assent.mcp.v1', server, identity])[:24]}.json")
        self._pins = self._load()
        self._seen: dict[str, dict[str, Any]] = {}
        self._first = self._pins is None

    def list(self, tools: list[Any], *, more: bool = False) -> list[dict[str, Any]]:
        """Take in what a server lists, and return what the model may read: of a changed tool, what was accepted.

        `more` says that there is another page. What is listed first is accepted as it is, to its last page.
        """
        known = [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        self._seen |= {tool["name"]: tool for tool in known}
        if self._first:
            self.accept(*(tool["name"] for tool in known))
            self._first = more
        return [self._shown(tool) for tool in known]

    def list_all(self, tools: Sequence[Any]) -> None:
        """Take in everything that a server has; what was there before and no longer is was never listed."""
        self._seen = {}
        self.list([*tools])

    def begin(self) -> None:
        """Hear that somebody lists from the beginning: what was accepted first has ended."""
        self._first = self._first and not self._pins

    def mark(self, name: str) -> str | None:
        """Identify a tool as it is now."""
        seen = self._seen.get(name)
        return None if seen is None else fingerprint(seen)

    def fields(self, name: str) -> tuple[str, ...]:
        """Return what the fields of a tool's input are called, as far as it says."""
        schema = self._seen.get(name, {}).get("inputSchema")
        known = schema.get("properties") if isinstance(schema, dict) else None
        return tuple(known) if isinstance(known, dict) else ()

    def objection(self, name: str) -> str | None:
        """Say why a tool is to be asked about; None if it is as it was accepted."""
        seen, pin = self._seen.get(name), (self._pins or {}).get(name)
        if seen is None:
            return f"the tool {name} was never listed"
        if pin is None:
            return f"the tool {name} is new since the tools of this server were accepted"
        if pin.hash != fingerprint(seen):
            return f"what the tool {name} says of itself has changed since it was accepted"
        return None

    def accept(self, *names: str) -> None:
        """Accept tools as they are now, durably."""
        pins = dict(self._pins or {})
        pins |= {name: Pin(fingerprint(tool), tool) for name in names if (tool := self._seen.get(name)) is not None}
        self._pins = pins
        write_private(self._file, msgspec.json.encode(pins))

    def _shown(self, tool: dict[str, Any]) -> dict[str, Any]:
        pin = (self._pins or {}).get(tool["name"])
        if pin is not None:
            shown = tool if pin.hash == fingerprint(tool) else pin.definition
            # Anything else in it was never held against what was accepted.
            return {part: shown[part] for part in (*_PART_OF_IT, *_BESIDE_IT) if part in shown}
        # Its own words may be meant for the model, and nobody has read them.
        return {"name": tool["name"], "description": "New, not accepted yet.", "inputSchema": {"type": "object"}}

    def _load(self) -> dict[str, Pin] | None:
        data = find_private(self._file, suggestion="make its mode 0600")
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=dict[str, Pin])
        except (msgspec.MsgspecError, UnicodeError):
            raise ConfigError("This file is damaged.", file=self._file, suggestion="delete it to accept anew") from None


def fingerprint(tool: dict[str, Any]) -> str:
    """Identify what a tool says of itself."""
    return digest({name: tool[name] for name in _PART_OF_IT if name in tool})

"""Strategy files of the published run protocol: read as far as they map, and refused with all that does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from assent.config.yaml_document import Mapping, Scalar
from assent.config.yaml_document import YamlSequence as SequenceNode
from assent.runs.tools.inputs import TOOLS

if TYPE_CHECKING:
    from assent.config.typed_fields import ConfigField
    from assent.config.yaml_document import Node
    from assent.model import ConfigError

_TOP = ("name", "version", "description", "mcpServers", "agents", "flow")
_MAPPED = frozenset({"type", "description"})
_MOST_SHOWN = 20


class _Agent(msgspec.Struct, frozen=True):
    """An agent of such a file, by its type: a guarded tool, a program, or who gives a run its input."""

    name: str
    node: Node
    kind: str
    config: Node

    @property
    def is_user(self) -> bool:
        return self.kind == "user" and "presetMessage" not in _items(self.config)

    @property
    def is_known(self) -> bool:
        return self.is_user or self.kind == "process" or self.kind in TOOLS


def is_foreign(root: ConfigField) -> bool:
    """Tell whether a file is one of theirs: a registry of agents, and a flow of these."""
    node = root.node
    ours = {"steps", "process"}
    return isinstance(node, Mapping) and {"agents", "flow"} <= node.items.keys() and ours.isdisjoint(node.items)


def translate(root: ConfigField) -> ConfigField:
    """Write such a file as one of ours, each value with its own line; raises `ConfigError` naming what does not map.

    An agent whose type is a guarded tool is a step with `config` as its input, one of type `process` is the program,
    and a `user` is who gives the run its input.
    """
    top = root.fields(_TOP)
    agents = {name: _agent(name, node) for name, node in _items(top["agents"].node).items()}
    wanting = [_unmapped(agent) for agent in agents.values() if not agent.is_known]
    steps = list(_steps(top["flow"].node, agents, wanting)) if agents and not wanting else []
    wanting += ["mcpServers"] if "mcpServers" in top else []
    programs = [step for step in steps if "command" in _items(step) and "tool" not in _items(step)]
    if len(programs) > 1 or (programs and len(steps) > 1):
        wanting.append("a program beside other steps")
    if wanting or not steps:
        raise _refusal(top, wanting)
    ours: dict[str, Node] = {key: top[key].node for key in ("name", "description") if key in top}
    if programs:
        ours["process"] = programs[0]
    else:
        ours["steps"] = SequenceNode(tuple(steps), top["flow"].node.line)
    return msgspec.structs.replace(root, node=_mapping(ours, root.node.line))


def _refusal(top: dict[str, ConfigField], wanting: list[str]) -> ConfigError:
    named = ", ".join(wanting[:_MOST_SHOWN]) or "agents"
    flow = ", ".join(list(_names(top["flow"].node))[:_MOST_SHOWN])
    message = f"Assent runs tools and programs and asks no models, so it has nothing for: {named}."
    kinds = f"{', '.join(TOOLS)} or process"
    suggestion = f"name, description and the flow ({flow}) map; agents may be of type {kinds}, with a config"
    return top["agents"].error(message, suggestion=suggestion)


def _agent(name: str, node: Node) -> _Agent:
    items = _items(node)
    kind = items.get("type")
    empty = _mapping({}, node.line)
    return _Agent(name, node, kind.text if isinstance(kind, Scalar) else "llm", items.get("config", empty))


def _unmapped(agent: _Agent) -> str:
    """Name an agent, its kind, and the fields of it that mean nothing here."""
    lost = [key for key in _items(agent.node) if key not in _MAPPED]
    return f"'{agent.name}' ({agent.kind}{': ' if lost else ''}{', '.join(lost)})"


def _steps(node: Node, agents: dict[str, _Agent], wanting: list[str]) -> Iterator[Node]:
    """Write a flow as steps, through the flows inside it; what cannot be is added to `wanting`."""
    items = _items(node)
    said, steps = items.get("agent"), items.get("steps")
    inner = steps.items if isinstance(steps, SequenceNode) else ()
    if isinstance(said, Scalar):
        yield from _step(said, node, agents, wanting)
        return
    kind = items.get("type")
    if isinstance(kind, Scalar) and kind.text == "sequential":
        for step in inner:
            yield from _steps(step, agents, wanting)
    elif isinstance(kind, Scalar) and kind.text == "broadcast" and all("agent" in _items(step) for step in inner):
        parts = SequenceNode(tuple(part for step in inner for part in _steps(step, agents, wanting)), node.line)
        name = {"name": items["name"]} if "name" in items else {}
        yield _mapping({**name, "parallel": parts}, node.line)
    else:
        wanting.append(f"a flow of type {kind.text if isinstance(kind, Scalar) else 'none'} in line {node.line}")


def _step(said: Scalar, node: Node, agents: dict[str, _Agent], wanting: list[str]) -> Iterator[Node]:
    agent = agents.get(said.text)
    if agent is None:
        wanting.append(f"an agent '{said.text}'")
        return
    if agent.is_user:
        return
    described = _items(node).get("description", _items(agent.node).get("description"))
    about = {"agent": said, **({} if described is None else {"message": described})}
    if agent.kind == "process":
        yield _mapping({**about, **_items(agent.config)}, agent.node.line)
        return
    tool = msgspec.structs.replace(said, text=agent.kind)
    yield _mapping({**about, "tool": tool, "input": agent.config}, agent.node.line)


def _names(node: Node | None) -> Iterator[str]:
    """Name the agents of a flow in their order, through the flows inside it."""
    items = _items(node)
    agent, steps = items.get("agent"), items.get("steps")
    if isinstance(agent, Scalar):
        yield agent.text
    for step in steps.items if isinstance(steps, SequenceNode) else ():
        yield from _names(step)


def _items(node: Node | None) -> dict[str, Node]:
    return node.items if isinstance(node, Mapping) else {}


def _mapping(items: dict[str, Node], line: int) -> Mapping:
    return Mapping(items, {key: node.line for key, node in items.items()}, line)

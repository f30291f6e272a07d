"""Strategy files of the published run protocol: read as far as they map, and refused with all that does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assent.config.document import Mapping, Scalar
from assent.config.document import Sequence as SequenceNode

if TYPE_CHECKING:
    from assent.config.document import Node
    from assent.config.fields import Field
    from assent.model import ConfigError

_TOP = ("name", "version", "description", "mcpServers", "agents", "flow")
_MAPPED = frozenset({"type", "description"})
_MOST_SHOWN = 20


def is_foreign(root: Field) -> bool:
    """Tell whether a file is one of theirs: a registry of agents, and a flow of these."""
    node = root.node
    ours = {"steps", "process"}
    return isinstance(node, Mapping) and {"agents", "flow"} <= node.items.keys() and ours.isdisjoint(node.items)


def refuse_foreign(root: Field) -> ConfigError:
    """Say what of such a file has a counterpart here, and name what has none."""
    top = root.fields(_TOP)
    agents = top["agents"].node
    found = agents.items if isinstance(agents, Mapping) else {}
    wanting = [_unmapped(name, node) for name, node in found.items()]
    more = ["mcpServers"] if "mcpServers" in top else []
    named = ", ".join([*wanting, *more][:_MOST_SHOWN]) or "agents"
    flow = ", ".join(list(_steps(top["flow"].node))[:_MOST_SHOWN])
    message = f"Assent runs tools and programs and asks no models, so it has nothing for: {named}."
    suggestion = f"name, description and the flow ({flow}) map; write `process:` with a program for each agent"
    return top["agents"].error(message, suggestion=suggestion)


def _unmapped(name: str, node: Node) -> str:
    """Name an agent, its kind, and the fields of it that mean nothing here."""
    items = node.items if isinstance(node, Mapping) else {}
    kind = items.get("type")
    shown = kind.text if isinstance(kind, Scalar) else "llm"
    lost = [key for key in items if key not in _MAPPED]
    return f"'{name}' ({shown}{': ' if lost else ''}{', '.join(lost)})"


def _steps(node: Node | None) -> Iterator[str]:
    """Name the agents of a flow in their order, through the flows inside it."""
    items = node.items if isinstance(node, Mapping) else {}
    agent, steps = items.get("agent"), items.get("steps")
    if isinstance(agent, Scalar):
        yield agent.text
    for step in steps.items if isinstance(steps, SequenceNode) else ():
        yield from _steps(step)

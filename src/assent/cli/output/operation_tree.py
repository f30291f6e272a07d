"""Arrange the operations of a call as a tree: each below its command, or below the layer that contains it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.model import COMMAND_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.model import Operation


class OperationNode:
    """An operation, or a layer such as a loop, with its children."""

    def __init__(self, layer: str = "", index: int | None = None) -> None:
        self.layer = layer
        self.index = index
        self.inner: list[OperationNode] = []


def nest(operations: Sequence[Operation]) -> list[OperationNode]:
    """Arrange operations by owner and layer; each appears exactly once, in order."""
    nodes = [OperationNode(index=i) for i in range(len(operations))]
    root = OperationNode()
    layers: dict[tuple[str, ...], OperationNode] = {(): root}
    for index, (operation, node) in enumerate(zip(operations, nodes, strict=True)):
        owner = operation.owner
        if owner is not None and owner < index:
            nodes[owner].inner.append(node)
            continue
        _layer_of(operation.through, layers).inner.append(node)
        if operation.kind is COMMAND_EXECUTE:
            _open_layers(operation, node, layers)
    return root.inner


def _layer_of(through: tuple[str, ...], layers: dict[tuple[str, ...], OperationNode]) -> OperationNode:
    if through not in layers:
        above = _layer_of(through[:-1], layers)
        opener = layers.get((*through[:-1], _program(through[-1]), ""))
        layers[through] = opener or OperationNode(through[-1])
        if opener is None:
            above.inner.append(layers[through])
    return layers[through]


def _open_layers(operation: Operation, node: OperationNode, layers: dict[tuple[str, ...], OperationNode]) -> None:
    """Put later operations inside this command below its node."""
    program, depth = _program(operation.resource), len(operation.through)
    stale = [k for k in layers if k[:depth] == operation.through and k[depth:] and _program(k[depth]) == program]
    for key in stale:
        del layers[key]
    layers[(*operation.through, program, "")] = node


def _program(text: str) -> str:
    words = text.split(maxsplit=1)
    return words[0].rpartition("/")[2] if words else ""

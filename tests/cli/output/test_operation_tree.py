from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assent.cli.output.operation_tree import OperationNode, nest
from assent.model import COMMAND_EXECUTE, FS_READ, SAFE, Operation

LAYERS = st.lists(st.sampled_from(["for", "timeout", "bash -c", "$(…)", ""]), max_size=3).map(tuple)
NAMES = st.sampled_from(["timeout 5 x", "bash -c x", "/usr/bin/bash -c y", "ls", ""])


def command(resource: str, *through: str) -> Operation:
    return Operation(kind=COMMAND_EXECUTE, resource=resource, tier=SAFE, reason="", through=through)


def shown(nodes: list[OperationNode]) -> list[object]:
    return [[n.layer if n.index is None else n.index, *shown(n.inner)] for n in nodes]


def test_what_a_command_touches_stands_below_it():
    read = Operation(kind=FS_READ, resource="/f", tier=SAFE, reason="", owner=0)
    assert shown(nest([command("cat f"), read])) == [[0, [1]]]


def test_a_layer_that_is_no_command_gets_a_line_of_its_own():
    assert shown(nest([command("ls", "if"), command("pwd", "if")])) == [["if", [0], [1]]]


def test_the_second_command_of_a_name_starts_a_new_branch():
    found = [command("bash -c x"), command("x", "bash -c"), command("bash -c y"), command("y", "bash -c")]
    assert shown(nest(found)) == [[0, [1]], [2, [3]]]


def numbers(nodes: list[OperationNode]) -> list[int]:
    return [i for n in nodes for i in ([] if n.index is None else [n.index]) + numbers(n.inner)]


@given(st.lists(st.builds(lambda r, t, o: (r, t, o), NAMES, LAYERS, st.none() | st.integers(0, 12)), max_size=12))
def test_every_operation_stands_in_the_tree_exactly_once(rows):
    operations = [
        Operation(kind=COMMAND_EXECUTE, resource=r, tier=SAFE, reason="", through=t, owner=o) for r, t, o in rows
    ]
    assert sorted(numbers(nest(operations))) == list(range(len(rows)))

"""What can be told of statements and redirections by their shape alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.shell.syntax import Case, Count, For, Group, If, Simple, Statement, While

if TYPE_CHECKING:
    from assent.shell.tree import Redirect


def may_fail(redirects: tuple[Redirect, ...]) -> bool:
    """Tell whether a file may not open: then nothing of the command happens."""
    return any(each.direction not in {"descriptor", "here"} and each.target.text != "/dev/null" for each in redirects)


def leaves(node: Statement) -> bool:
    """Tell whether a statement ends what is being read: nothing after it runs."""
    if isinstance(node, Group) and node.kind == "{…}" and node.body.items:
        return leaves(node.body.items[-1][0])
    return isinstance(node, Simple) and bool(node.words) and node.words[0] in ("exit", "return", "break", "continue")


def layer_of(node: Statement) -> str:
    """Name the layer that a compound statement is."""
    if isinstance(node, (Group, While, For)):
        return node.kind
    return {If: "if", Case: "case", Count: "for"}.get(type(node), "{…}")

"""What can be told of statements and redirections by their shape alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.shell.syntax import Calculation, Case, Count, For, Group, If, Simple, Statement, While

if TYPE_CHECKING:
    from assent.shell.tree import Redirect

_ALWAYS = ((":",), ("true",), ("/bin/true",), ("/usr/bin/true",), ("[", "1", "]"), ("test", "1"))
_NEVER = (("false",), ("/bin/false",), ("/usr/bin/false",), ("[", "]"), ("test",))


def may_fail(redirects: tuple[Redirect, ...]) -> bool:
    """Tell whether a file may not open: then nothing of the command happens."""
    return any(each.direction not in {"descriptor", "here"} and each.target.text != "/dev/null" for each in redirects)


def leaves(node: Statement) -> bool:
    """Tell whether a statement ends what is being read: nothing after it runs."""
    if isinstance(node, Group) and node.kind == "{…}" and node.body.items:
        return leaves(node.body.items[-1][0])
    return isinstance(node, Simple) and bool(node.words) and node.words[0] in ("exit", "return", "break", "continue")


def never_ends(node: While | Count) -> bool:
    """Tell whether the condition of a loop holds for ever."""
    if isinstance(node, Count):
        parts = node.header.text.split(";")
        return len(parts) < 3 or parts[1].strip() in ("", "1")
    last = node.condition.items[-1][0] if node.condition.items else None
    if isinstance(last, Calculation):
        return node.kind == "while" and last.expression.text.strip() == "1"
    return isinstance(last, Simple) and (last.plain or last.words) in (_ALWAYS if node.kind == "while" else _NEVER)


def layer_of(node: Statement) -> str:
    """Name the layer that a compound statement is."""
    if isinstance(node, (Group, While, For)):
        return node.kind
    return {If: "if", Case: "case", Count: "for"}.get(type(node), "{…}")

"""What can be told of statements and redirections by their shape alone."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.bash.ast import Calculation, Case, Count, For, Group, If, Simple, Statement, While
from assent.analysis.bash.charset import is_decimal
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from assent.analysis.bash.ast import Redirection
    from assent.analysis.ir import Command, Redirect, Word
    from assent.analysis.values.scope import ShellScope

_ALWAYS = ((":",), ("true",), ("/bin/true",), ("/usr/bin/true",), ("[", "1", "]"), ("test", "1"))
_NOTHING = _ALWAYS[:2]
_NEVER = (("false",), ("/bin/false",), ("/usr/bin/false",), ("[", "]"), ("test",))
_VARYING = re.compile(rf"[*?\[\]{UNKNOWN}]")
"""What of a word is not the same in all that it becomes."""


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""What a function or a variable may be called."""


def does_nothing(node: Statement, functions: Container[str]) -> bool:
    """Tell whether a statement is `true`, which never fails."""
    if not isinstance(node, Simple) or node.redirections or node.assignments:
        return False
    return node.words in _NOTHING and node.words[0] not in functions


def executes_nothing(words: tuple[Word, ...]) -> bool:
    """Tell whether this is `exec` without a command, however it is called."""
    return [word.text for word in words if word.text not in ("command", "builtin", "--")] == ["exec"]


def gives_input(node: Redirection) -> bool:
    """Tell whether a redirection is of standard input."""
    return "<" in node.operator and not node.prefix.strip("0")


def called_only(commands: Sequence[Command], names: Iterable[str]) -> list[str]:
    """Give the functions that are called, and named nowhere but where a call of them was followed."""
    counted = {name: 0 for name in names if _NAME.fullmatch(name)}
    for command in commands if counted else ():
        words = command.words
        if command.calls and not command.latent and words[0].text in counted:
            counted[words[0].text] += 1
            words = words[1:]
        for name in _mentioned((*words, *(value for _, value in command.assignments))):
            counted.pop(name, None)
    return [name for name, count in counted.items() if count]


def _mentioned(words: Iterable[Word]) -> Iterator[str]:
    """Give every name that a word may hold."""
    for word in words:
        yield from _NAME.findall(word.text)
        for hint in word.hints:
            yield from _NAME.findall(hint)


def may_fail(redirects: tuple[Redirect, ...]) -> bool:
    """Tell whether a file may not open: then nothing of the command happens."""
    return any(each.direction not in {"descriptor", "here"} and each.target.text != "/dev/null" for each in redirects)


def leaves(node: Statement, functions: Container[str], *, calling: bool) -> bool:
    """Tell whether a statement ends what is being read, in a function that is called or not."""
    if isinstance(node, Group) and node.kind == "{…}" and node.body.items:
        last, background = node.body.items[-1]
        return not background and leaves(last, functions, calling=calling)
    if not isinstance(node, Simple) or not node.words or node.redirections or node.assignments:
        return False
    name, *others = node.words
    meant = name == "exit" or (name == "return" and calling)
    numbered = not others or (len(others) == 1 and isinstance(others[0], str) and is_decimal(others[0]))
    return meant and numbered and name not in functions


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


def framed(words: Sequence[Word]) -> str:
    """Give what is known of a text that is one of these words: how it begins and how it ends."""
    pieces = [_VARYING.split(word.text) if not _is_anything(word) else ["", ""] for word in words]
    begin = posixpath.commonprefix([each[0] for each in pieces])
    end = posixpath.commonprefix([each[-1][::-1] for each in pieces])[::-1]
    overlaps = any(len(each) == 1 and len(begin) + len(end) > len(each[0]) for each in pieces)
    return f"{begin}{UNKNOWN}{'' if overlaps else end}"


def _is_anything(word: Word) -> bool:
    """Tell whether a word may be cut at any place of it."""
    return word.splits and UNKNOWN in word.text


def named_in(words: Sequence[Word], scope: ShellScope) -> tuple[str, ...] | None:
    """Give the folders one of whose names decides how each of these words begins; None if that is not known."""
    if any(word.text[:1] in {"", "-", UNKNOWN} or _is_anything(word) for word in words):
        return None
    if not any(word.splits and word.text[0] in "*?[" for word in words):
        return ()
    return None if scope.cwd is None or scope.lost else scope.places

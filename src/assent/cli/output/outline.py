"""Print nested lines as a tree."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from assent.cli.output.screen import has_colour, say, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.tree import Tree


class StyledText(msgspec.Struct, frozen=True):
    """A piece of text in one style."""

    text: str
    style: str = ""


class Outline(msgspec.Struct, frozen=True):
    """One line and its children."""

    spans: tuple[StyledText, ...]
    below: tuple[Outline, ...] = ()


def line(*spans: StyledText | str, below: tuple[Outline, ...] = ()) -> Outline:
    """Return an outline; a plain string has no style. Invisible characters are escaped."""
    styled = (StyledText(visible(s)) if isinstance(s, str) else StyledText(visible(s.text), s.style) for s in spans)
    return Outline(tuple(styled), below)


def draw(outline: Outline) -> None:
    """Print a tree: coloured and wrapped in a terminal, one line each otherwise."""
    if has_colour(sys.stdout):
        _draw_coloured(outline)
        return
    for text in plain_lines(outline):
        say(text)


def plain_lines(outline: Outline, first: str = "", rest: str = "") -> Iterator[str]:
    """Yield the lines of a tree without colour."""
    yield (first + "".join(s.text for s in outline.spans)).rstrip()
    for index, child in enumerate(outline.below):
        last = index == len(outline.below) - 1
        yield from plain_lines(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


def _draw_coloured(outline: Outline) -> None:
    from rich.console import Console  # noqa: PLC0415 - only for colour

    console = Console(file=sys.stdout, force_terminal=True, highlight=False, emoji=False, markup=False)
    console.print(_tree(outline))


def _tree(outline: Outline) -> Tree:
    from rich.text import Text  # noqa: PLC0415 - as above
    from rich.tree import Tree  # noqa: PLC0415 - as above

    tree = Tree(Text.assemble(*((s.text, s.style) for s in outline.spans)), guide_style="dim")
    tree.children.extend(map(_tree, outline.below))
    return tree

"""What a question is about, whole and with nothing hidden: what a person must have seen before they say yes."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from assent.analysis.read import COMMAND_FIELDS
from assent.analysis.tools.names import find_tool
from assent.cli.output.screen import STYLE_OF, has_colour, paint, visible
from assent.model import UNKNOWN, AssentError, Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assent.model import Operation
    from assent.wire.permissions import Permission

MOST_LINES = 40
MOST_CHARACTERS = 4_000
"""What is longer than this is shown page by page, and is no answer in a script without its digest."""
_MOST_OPERATIONS = 12
_SHORTEST_DIGEST = 12


def input_lines(item: Permission) -> list[str]:
    """Return everything that a call is given, in lines in which nothing can hide."""
    given = dict(item.tool_input)
    lines: list[str] = []
    if find_tool(item.tool_name).shape == "command":
        commands = [name for name in COMMAND_FIELDS if isinstance(given.get(name), str)]
        if len(commands) == 1:
            lines += _lines_of(given.pop(commands[0]))
    for name, value in given.items():
        first, *more = _lines_of(value)
        lines += [f"{visible(name)}: {first}", *(f"  {line}" for line in more)]
    return lines


def _lines_of(value: Any) -> list[str]:
    text = value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return [visible(line) for line in text.split("\n")]


def is_long(lines: Sequence[str]) -> bool:
    """Tell whether this is more than a person takes in at a glance."""
    return len(lines) > MOST_LINES or sum(map(len, lines)) > MOST_CHARACTERS


def headed(item: Permission, lines: Sequence[str]) -> list[str]:
    """Return the beginning and the end of what is long, with what lies between counted; all of what is not."""
    if not is_long(lines):
        return list(lines)
    cut = [
        line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS // 4]} … {line[-MOST_CHARACTERS // 4 :]}"
        for line in lines
    ]
    half = MOST_LINES // 2
    left = max(0, len(cut) - 2 * half)
    between = f"… {left} more lines; `assent approve {item.id}` shows all of it (digest {item.digest}) …"
    return [*cut[:half], between, *(cut[-half:] if left else cut[half:])]


def stakes_of(item: Permission, *, colour: bool) -> str:
    """Say how grave a call is, and why. What is asked about is never called safe."""
    word = "asked" if item.tier is Tier.SAFE else item.tier.value
    style = "yellow" if item.tier is Tier.SAFE else STYLE_OF[item.tier]
    marks = f" [{', '.join(item.stakes)}]" if item.stakes else ""
    return f"{paint(word + marks, style, colour=colour)}: {visible(item.plain_reason)}"


def show_whole(item: Permission, stream: TextIO) -> bool:
    """Show all of a call, page by page in a terminal; tell whether it was seen to the end."""
    colour = has_colour(stream)
    head = [f"{item.id}  {visible(item.agent_id)}  {visible(item.tool_name)}", f"  {stakes_of(item, colour=colour)}"]
    head += [f"  ! {_told(o)}" for o in item.operations if o.tier is not Tier.SAFE or o.secret][:_MOST_OPERATIONS]
    head += [f"  in {visible(item.cwd)}"] if item.cwd else []
    lines = [*head, *(f"  | {line}" for line in input_lines(item))]
    if not _is_terminal(stream):
        stream.write("\n".join(lines) + "\n")
        return not is_long(lines)
    return _page(lines, stream)


def _told(operation: Operation) -> str:
    """Say what one operation does; what it is about comes along where the reason does not name it."""
    what = visible(operation.resource.replace(UNKNOWN, "…"))
    return f"{visible(operation.reason)}: {what[:200]}"


def _is_terminal(stream: TextIO) -> bool:
    return sys.stdin.isatty() and stream.isatty()


def _page(lines: Sequence[str], stream: TextIO) -> bool:
    """Write lines a screen at a time; tell whether the person went on to the end."""
    columns, rows = shutil.get_terminal_size()
    room = rows - 2
    for at, line in enumerate(lines):
        height = max(1, -(-len(line) // columns))
        if room < height and at:
            stream.write(f"-- {len(lines) - at} more lines: Enter goes on, q stops -- ")
            stream.flush()
            answer = sys.stdin.readline()
            if not answer or answer.strip().lower().startswith("q"):
                return False
            room = rows - 2
        stream.write(line + "\n")
        room -= height
    return True


def confirm(item: Permission, digest: str | None) -> bool:
    """Make sure that a call was seen whole by whoever says yes to it; tell whether they still say so.

    A digest stands for having seen it elsewhere. In a terminal all of it is shown and asked about; in a script it is
    shown too, and only what is short counts as seen.
    """
    if digest is not None:
        if len(digest) < _SHORTEST_DIGEST or not item.digest.startswith(digest):
            raise AssentError(f"`--digest {visible(digest)}` is not the digest of this call: it is {item.digest}")
        return True
    seen = show_whole(item, sys.stderr)
    if _is_terminal(sys.stderr):
        return seen and _asked()
    if not seen:
        raise AssentError(
            f"too long to approve unseen: {len(input_lines(item))} lines; "
            f"read it with `assent pending --json` and repeat with `--digest {item.digest}`, or answer in a terminal"
        )
    return True


def _asked() -> bool:
    sys.stderr.write("Allow it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

"""Show the whole call of a question, with nothing hidden, before a person approves it."""

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
"""A longer call is shown page by page; a script needs its digest to approve it."""
_MOST_OPERATIONS = 12
_SHORTEST_DIGEST = 12


def input_lines(item: Permission) -> list[str]:
    """Return the whole input of a call as lines, invisible characters escaped."""
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
    """Return whether this is more than a person reads at a glance."""
    return len(lines) > MOST_LINES or sum(map(len, lines)) > MOST_CHARACTERS


def shortened(item: Permission, lines: Sequence[str]) -> list[str]:
    """Return the lines; of a long call only the beginning and the end, with the number of lines between."""
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
    """Return tier, stakes and reason as text. A pending question is never called safe."""
    word = "asked" if item.tier is Tier.SAFE else item.tier.value
    style = "yellow" if item.tier is Tier.SAFE else STYLE_OF[item.tier]
    marks = f" [{', '.join(item.stakes)}]" if item.stakes else ""
    return f"{paint(word + marks, style, colour=colour)}: {visible(item.plain_reason)}"


def show_whole(item: Permission, stream: TextIO) -> bool:
    """Show all of a call, page by page in a terminal; return whether it was seen to the end."""
    colour = has_colour(stream)
    head = [f"{item.id}  {visible(item.agent_id)}  {visible(item.tool_name)}", f"  {stakes_of(item, colour=colour)}"]
    head += [f"  ! {_describe(o)}" for o in item.operations if o.tier is not Tier.SAFE or o.secret][:_MOST_OPERATIONS]
    head += [f"  in {visible(item.cwd)}"] if item.cwd else []
    lines = [*head, *(f"  | {line}" for line in input_lines(item))]
    if not _is_terminal(stream):
        stream.write("\n".join(lines) + "\n")
        return not is_long(lines)
    return _page(lines, stream)


def _describe(operation: Operation) -> str:
    """Return the reason and resource of an operation."""
    what = visible(operation.resource.replace(UNKNOWN, "…"))
    return f"{visible(operation.reason)}: {what[:200]}"


def _is_terminal(stream: TextIO) -> bool:
    return sys.stdin.isatty() and stream.isatty()


def _page(lines: Sequence[str], stream: TextIO) -> bool:
    """Write lines a screen at a time; return whether the person went on to the end."""
    columns, rows = shutil.get_terminal_size()
    room = rows - 2
    for at, line in enumerate(lines):
        height = max(1, -(-len(line) // columns))
        if room < height and at:
            stream.write(f"-- {len(lines) - at} more lines: Enter continues, q quits -- ")
            stream.flush()
            answer = sys.stdin.readline()
            if not answer or answer.strip().lower().startswith("q"):
                return False
            room = rows - 2
        stream.write(line + "\n")
        room -= height
    return True


def confirm(item: Permission, digest: str | None) -> bool:
    """Make sure that the whole call was seen before it is approved; return whether the person agrees.

    A digest proves that it was seen elsewhere. A terminal shows all of the call and asks; in a script only a short
    call counts as seen.
    """
    if digest is not None:
        if len(digest) < _SHORTEST_DIGEST or not item.digest.startswith(digest):
            raise AssentError(f"`--digest {visible(digest)}` does not match this call; its digest is {item.digest}")
        return True
    seen = show_whole(item, sys.stderr)
    if _is_terminal(sys.stderr):
        return seen and _agrees()
    if not seen:
        raise AssentError(
            f"too long to approve without reading: {len(input_lines(item))} lines; "
            f"read it with `assent pending --json`, then add `--digest {item.digest}`, or approve in a terminal"
        )
    return True


def _agrees() -> bool:
    sys.stderr.write("Allow? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

"""Reading the bodies of here-documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.bash.ast import HereText, Text
from assent.budget import step

if TYPE_CHECKING:
    from assent.analysis.bash.scan import Scanner

_TABS = re.compile(r"^\t+", re.MULTILINE)


def read_bodies(scanner: Scanner, pending: list[HereText]) -> None:
    """Read the bodies that follow the end of this line, in the order of their operators."""
    if "\n" in scanner.source[pending[0].start : scanner.at]:
        scanner.notes.blame("a here-document starts on a later line than its command ends")
    scanner.at += 1
    for here in pending:
        _read_body(scanner, here)


def _read_body(scanner: Scanner, here: HereText) -> None:
    step(4)
    begin = scanner.at
    end, scanner.at = _find_end(scanner, here)
    body = scanner.source[begin:end]
    if here.strips:
        body = _TABS.sub("", body)
    if not here.expands:
        here.body = (Text(body, quoted=True),)
    elif scanner.deeper():
        here.body = scanner.fresh(body).here_text()
    scanner.depth -= here.expands


def _find_end(scanner: Scanner, here: HereText) -> tuple[int, int]:
    """Find where the body ends, and where reading goes on."""
    tabs = r"\t*" if here.strips else ""
    line = re.compile_now(rf"^{tabs}{re.escape(here.delimiter)}([^\n]*)$", re.MULTILINE)
    for match in line.finditer(scanner.source, scanner.at):
        if here.expands and _continues(scanner.source, scanner.at, match.start()):
            # bash joins such lines before it looks for the delimiter
            scanner.notes.blame("a backslash joins the last lines of a here-document")
        elif not match[1]:
            return match.start(), match.end() + 1
        elif scanner.depth and ")" in match[1]:
            scanner.notes.blame("the delimiter of a here-document is followed by `)`")
    scanner.notes.blame("a here-document has no closing delimiter")
    return scanner.end, scanner.end


def _continues(source: str, begin: int, at: int) -> bool:
    last = at - 2
    while last >= begin and source[last] == "\\":
        last -= 1
    return (at - last) % 2 == 1

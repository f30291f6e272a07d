"""Commands that print numbers or times and nothing else, so that what is made of their output is known by its shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from assent.analysis.ir import Command

_PRINTING = (
    r"nproc(?: --all)?",
    r"getconf _NPROCESSORS_(?:ONLN|CONF)",
    r"tput (?:cols|lines)",
    r"wc -[clmw]",
    r"date(?: -u)? \+(?:%\d?[sNYmdHMSjy])+",
    rf"date(?: -u)? -d [^\s{UNKNOWN}]*{UNKNOWN}\S* \+(?:%[sYmdHMSjy])+",
    rf"date -j -f \S+ [^\s{UNKNOWN}]*{UNKNOWN}\S* \+(?:%[sYmdHMSjy])+",
    r"id -[ugG]",
    r"grep -[EFGiPqvwx]*c[EFGiPqvwx]* (?!-)\S*( (?!-)\S+)?",
    r"stat (?:-c|--format=?) ?%[sYXZ](?: \S+)?",
    r"seq( -?\d+){1,3}",
    r"git rev-list --count [\w@][\w./@^~-]*",
    r"git log -(?:n ?)?1 --format=%[ac]t(?: [\w@][\w./@^~-]*)?(?: -- [\w./][\w./-]*)?",
    r"docker (?:image )?inspect(?: -f| --format) \{\{\.Size\}\} [\w./:-]+",
    r"docker (?:image )?inspect [\w./:-]+(?: -f| --format) \{\{\.Size\}\}",
    r"jq(?: -r)? (?:\.[\w.]*·?\|·?)?length(?: [\w./][\w./-]*)?",
)
_NUMERIC = re.compile("|".join(f"(?:{each})" for each in _PRINTING))
_PASSING = re.compile(r"(?:head|tail)(?: -n ?\d+| -\d+)?|sort(?: -[nru]+)?|uniq|tr -d ·|xargs")
"""What prints of its input whole lines, or lines without blanks."""
_FIRST = re.compile(r"cut -d ?: -f ?1|awk -F ?: (?:NR==1)?\{·?print·?\$1·?(?:;·?exit·?)?\}")
_NUMBERED = re.compile(r"grep -[EFGPivwx]*n[EFGPivwx]*(?: -m ?\d+)? [^\s-]\S*(?: [\w./][\w./-]*)?")
"""Lines with their numbers before a colon; of one file, or the name would stand there."""
_COUNTED = re.compile(r"wc -[clmw] [\w./][\w./-]*")
_MEASURED = re.compile(r"du -(?:s|s[bkmx]|[bkmx]s) [\w./~][\w./-]*")
_LEADING = re.compile(r"awk \{·?print·?\$1·?\}")
_BEFORE_BLANK = re.compile(r"cut -d ?· -f ?1")
_BEFORE_TAB = re.compile(r"cut -f ?1")
_SEVERAL = re.compile(r"seq .*|id -G|jq .*")
"""What may print more numbers than one."""
_ONE = re.compile(r"(?:head|tail)(?: -n ?1| -1)")
_TIME = re.compile(r"date(?: -u| --utc| -j| -v ?[+-]?\d+[a-zA-Z]| (?:-d ?|--date[= ])[^\s/]+)* \+(\S+)")
_CODES = {
    **dict.fromkeys("dHMSmjVuUIk", "01"),
    "Y": "2024",
    "y": "24",
    "s": "1700000000",
    "N": "000",
    "F": "2024-01-01",
    "T": "00:00:00",
    "%": "%",
}
_CODE = re.compile(r"%-?(.)")
_PIPED = 8
MANY = 2
"""Commands of a pipe that are followed."""


def prints_number(feeds: Sequence[int], commands: Sequence[Command], functions: Container[str]) -> int:
    """Tell how many numbers a substitution of these commands gives, whatever they read: none, one, or more."""
    wanted: tuple[re.Pattern[str], ...] = (_NUMERIC,)
    one = False
    for _ in range(_PIPED):
        text, source = _said(feeds, commands, functions)
        if not text:
            return 0
        if any(each.fullmatch(text) for each in wanted):
            several = wanted == (_NUMBERED,) or _SEVERAL.fullmatch(text) is not None
            return MANY if several and not one else 1
        if not commands[feeds[0]].passes_on:
            return 0
        if wanted == (_NUMERIC,) and (begun := _begun(text)):
            wanted = begun
        elif not _PASSING.fullmatch(text):
            return 0
        one = one or _ONE.fullmatch(text) is not None
        feeds = source
    return 0


def _begun(text: str) -> tuple[re.Pattern[str], ...]:
    """Give what may stand before a command for it to print numbers: it gives how lines begin."""
    if _FIRST.fullmatch(text):
        return (_NUMBERED,)
    if _LEADING.fullmatch(text):
        return (_COUNTED, _MEASURED)
    if _BEFORE_BLANK.fullmatch(text):
        return (_COUNTED,)
    return (_MEASURED,) if _BEFORE_TAB.fullmatch(text) else ()


def _said(feeds: Sequence[int], commands: Sequence[Command], functions: Container[str]) -> tuple[str, tuple[int, ...]]:
    """Give the one command that is meant, as text with its blanks shown, and what feeds it."""
    command = commands[feeds[0]] if len(feeds) == 1 else None
    if command is None or not command.words or command.words[0].text in functions:
        return "", ()
    if any(word.splits for word in command.words) or command.assignments or _copies(command):
        return "", ()
    return " ".join(word.text.replace(" ", "·") for word in command.words), command.fed_by


def _copies(command: Command) -> bool:
    """Tell whether it may print what it complains about, too."""
    return any(each.joins for each in command.redirects)


def printed_time(feeds: Sequence[int], commands: Sequence[Command], functions: Container[str]) -> str:
    """Give an example of the time that a command prints, where that is digits and what its format says."""
    said = _TIME.fullmatch(_said(feeds, commands, functions)[0])
    if said is None or UNKNOWN in said[1] or any(code not in _CODES for code in _CODE.findall(said[1])):
        return ""
    return _CODE.sub(lambda code: _CODES[code[1]], said[1]).replace("·", " ")

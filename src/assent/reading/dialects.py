"""Other shells than bash: what they take to mean something else, so that a line for them is not read as bash."""

from __future__ import annotations

import assent.regex as re

_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:[^"\\$`]|\\.|\$(?!\())*\"""", re.DOTALL)
_MARK = "\x01"
_MISLEADING = re.compile(r"(?:^|[\s;&|()])#|<<|`")
"""What may hold a quote that opens nothing: a comment, a here-document, a nested line."""
_STARTS = r"(?:^|[;&|(){}!\n]|\b(?:then|do|else|elif|if|while|until|time)\b)[ \t]*"
_BASH_ALONE = (
    ("[[", re.compile(r"\[\[(?!:)")),
    ("((", re.compile(r"(?<!\$)\(\(")),
    ("$'…'", re.compile(rf"\$['\"{_MARK}]")),
    ("&>", re.compile(r"&>|>&(?!\s*[\d-])")),
    ("<(…)", re.compile(r"[<>]\(")),
    ("|&", re.compile(r"\|&")),
    ("{a,b}", re.compile(r"\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}")),
    ("function", re.compile(rf"{_STARTS}(?:function|select|coproc)\s")),
    ("<<<", re.compile(r"<<<")),
    (";&", re.compile(r";&")),
    ("name=(…)", re.compile(r"\w(?:\[[^\]]*\])?\+?=\(|\w\[[^\]]*\]\+?=|\w\+=")),
    # Where `export` is a plain command, an unquoted value becomes several words, and so several variables.
    ("export", re.compile(rf"{_STARTS}(?:export|readonly|local)\s[^;&|\n]*=[^\s;&|]*[$`]")),
)


_LONGEST = 4096
_PLAIN_WORD = r"(?:[A-Za-z0-9_./:@%+,-]|'[^']*'|\"[^\"$`\\\\!]*\")+"
_PLAIN_COMMAND = rf"{_PLAIN_WORD}(?:[ \t]+(?:2>&1|[12]?>[ \t]*/dev/null(?=\s|$)|{_PLAIN_WORD}))*"
_PLAIN = re.compile(rf"[ \t]*{_PLAIN_COMMAND}(?:[ \t]*(?:&&|\|\||[|;])[ \t]*{_PLAIN_COMMAND})*[ \t]*;?[ \t]*")


def is_plain(line: str) -> bool:
    """Tell whether a line is nothing but words, quotes and pipes, which every shell of this family reads alike."""
    return len(line) <= _LONGEST and _PLAIN.fullmatch(line) is not None


def bash_alone(line: str) -> str | None:
    """Name something in a line that bash reads differently than other shells do, or None.

    Quoted text counts too wherever it is not sure that every shell takes it for quoted.
    """
    bare = _QUOTED.sub(_MARK, line)
    if _MISLEADING.search(line) or any(quote in bare for quote in "'\""):
        bare = line
    return next((name for name, pattern in _BASH_ALONE if pattern.search(bare)), None)

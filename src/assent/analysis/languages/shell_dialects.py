"""Other shells than bash: what they take to mean something else, so that a line for them is not read as bash."""

from __future__ import annotations

import assent.lazy_regex as re
from assent.analysis.evaluate.script import parse


class _Each:
    """Expressions that are all to be found, wherever: one that spans what is between them would take long."""

    def __init__(self, *patterns: re.Pattern[str]) -> None:
        self._patterns = patterns

    def search(self, text: str) -> bool:
        """Tell whether all of them are there."""
        return all(pattern.search(text) for pattern in self._patterns)


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
    ("{a,b}", re.compile(r"\{(?=[^\s{}]*?(?:,|\.\.))[^\s{}]*+\}")),
    ("function", re.compile(rf"{_STARTS}(?:function|select|coproc)\s")),
    ("<<<", re.compile(r"<<<")),
    (";&", re.compile(r";&")),
    # To others these are words of the command, with what follows behind them.
    ("{name}>", re.compile(r"(?<!\$)\{\w[^\s{}]*+\}[<>]")),
    ("10>", re.compile(r"(?<![^\s;&|()<>])\d\d++[<>]")),
    ("name=(…)", re.compile(r"\w\+?=\(|\]\+?=|\w\+=")),
    # Where `export` is a plain command, an unquoted value becomes several words, and so several variables.
    ("export", _Each(re.compile(rf"{_STARTS}(?:export|readonly|local)\s"), re.compile(r"=[^\s;&|=$`]*+[$`]"))),
)


_LONGEST = 4096
_PLAIN_WORD = r"(?:[A-Za-z0-9_./:@%+,-]|'[^']*+'|\"[^\"$`\\\\!]*+\")++"
_PLAIN_COMMAND = rf"{_PLAIN_WORD}(?:[ \t]++(?:2>&1|[12]?>[ \t]*+/dev/null(?=\s|$)|{_PLAIN_WORD}))*+"
_PLAIN = re.compile(rf"[ \t]*+{_PLAIN_COMMAND}(?:[ \t]*+(?:&&|\|\||[|;])[ \t]*+{_PLAIN_COMMAND})*+[ \t]*+(?:;[ \t]*+)?")


_DOCUMENT = re.compile(r"\$\(cat\s+<<-?\s*'(\w+)'\n[^']*?\n[^\S\n]*+\1\n")
"""Text for a command, as agents write it. Without a quote in it, it is text to every shell, whatever stands around."""
_ENDS = r"\b(?:done|fi|esac)\b"
_FOLLOWED = re.compile(rf"{_ENDS}(?:(?!{_ENDS})[^;&\n])*+[;&\n]\s*+\S")
_PIPED = r"(?:^|[^|])\|&?[ \t\n]*"
_ZSH_ALONE = (
    (">!", re.compile(r">!|>>&|>>\|")),
    ("=(…)", re.compile(r"(?:^|[\s<>])=\(")),
    ("=name", re.compile(r"(?:^|[\s;&|(])=[\w./]")),
    ("pattern(…)", re.compile(rf"[\w*?\]}}~./@!+{_MARK}]\((?!\))")),
    ("${(…)}", re.compile(r"\$\{[(=~^+]|\$[=~^+]")),
    ("$name[…]", re.compile(r"\$\{?\w+\[|\$\w+:[A-Za-z&]")),
    ("<1-9>", re.compile(r"<\d*-\d*>")),
    ("~[…]", re.compile(r"~\[")),
    ("&!", re.compile(r"&[!|]")),
    ("for … (…)", re.compile(r"\b(?:for|foreach|select)\s+\w+\s*\(")),
    # The last part of a pipe runs in the shell itself there: what it sets is set for what follows.
    ("| read", re.compile(rf"{_PIPED}(?:(?:read|cd|eval|export|set|typeset|declare|local|source)\b|\.\s|\{{|\w+=)")),
    ("| while", _Each(re.compile(rf"{_PIPED}(?:while|until|for|if|case)\b"), _FOLLOWED)),
)
_ABSENT = frozenset({"declare", "typeset", "let", "builtin"})
"""Commands by which bash sets a variable, and which others do not have: there it stays what it was."""
_SPECIAL = frozenset(
    {
        ":",
        ".",
        "break",
        "continue",
        "eval",
        "exec",
        "exit",
        "export",
        "readonly",
        "return",
        "set",
        "shift",
        "source",
        "times",
        "trap",
        "unset",
    }
)
"""Commands after which a variable that was set for them alone stays set where rules are kept more strictly."""
_BOURNE = frozenset({"sh", "dash", "ash", "ksh", "mksh", "busybox"})


def misread(line: str, shells: str) -> str | None:
    """Say why a line that is read as bash may mean something else to one of the shells that may run it, or None."""
    return next((why for shell in shells.split(",") if (why := _misread(line, shell)) is not None), None)


def _misread(line: str, shell: str) -> str | None:
    if shell in ("", "bash") or ((shell in _BOURNE or shell == "zsh") and is_plain(line)):
        return None
    if shell in _BOURNE:
        found = bash_alone(line)
    elif shell == "zsh":
        found = _find(_ZSH_ALONE, _DOCUMENT.sub(_MARK, line))
    else:
        return f"the agent's shell is {shell[:40]}, which Assent does not analyse"
    return f"the agent's shell is {shell}, which reads `{found}` differently from bash" if found else None


def is_plain(line: str) -> bool:
    """Tell whether a line is nothing but words, quotes and pipes, which every shell of this family reads alike."""
    return len(line) <= _LONGEST and _PLAIN.fullmatch(line) is not None


def bash_alone(line: str) -> str | None:
    """Name something in a line that bash reads differently than other shells do, or None.

    Quoted text counts too wherever it is not sure that every shell takes it for quoted.
    """
    return _find(_BASH_ALONE, line) or (_sets_otherwise(line) if "$" in line else None)


def _sets_otherwise(line: str) -> str | None:
    """Name a command after which a variable is something else than in bash, however its name is spelled."""
    for command in parse(line).commands:
        names = [word.text for word in command.words]
        named = names if names[:1] == ["command"] else names[:1]
        if name := next((name for name in named if name in _ABSENT), None):
            return name
        if command.assignments and not _SPECIAL.isdisjoint(names[:1]):
            return f"name=value {names[0]}"
    return None


def _find(table: tuple[tuple[str, re.Pattern[str] | _Each], ...], line: str) -> str | None:
    bare = _QUOTED.sub(_MARK, line)
    if _MISLEADING.search(line) or any(quote in bare for quote in "'\""):
        bare = line
    return next((name for name, pattern in table if pattern.search(bare)), None)

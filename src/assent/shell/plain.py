"""Lines that need no grammar: words, patterns and quotes without anything in them that is expanded, in simple commands.

Most lines are so. What they are made of is told by one look each; whatever else is in a line is left to the parser,
and a line that is read here is read there with the same result.
"""

from __future__ import annotations

import assent.regex as re
from assent.shell.effects import EFFECTS
from assent.shell.parser import RESERVED
from assent.shell.tree import Command, Direction, Redirect, Script, Word

_MOST = 500
"""Words and operators of a line that is read here: few enough for each of the parser's bounds."""
_WORDS = re.compile(r"((?:[ \t]*+[\w./:@%+,=^-]++)++)[ \t]*+(?:(?<=[ \t])#[ -~]*+)?", re.ASCII)
_BEFORE = r"(?:(?<=\w)~\d*+)*+"
"""A tilde behind a letter is one: `HEAD~2`."""
_PLAIN = rf"[\w./:@%+,=^-]++{_BEFORE}"
_WORD = rf"""[\w./:@%+,=^*?-]++{_BEFORE}|'[ -&(-~]*+'|"[ !#%-\[\]-_a-~]*+\""""
_REDIRECT = r"[12]?+(?:>&[12]|(?:>>?+|<)[ \t]*+[\w./][\w./-]*+)"
_COMMAND = rf"{_PLAIN}(?:[ \t]++(?:{_REDIRECT}|{_WORD}))*+[ \t]*+"
_OPERATOR = r"\|\|?+|&&|;"
_LINE = re.compile(rf"[ \t]*+{_COMMAND}(?:(?:{_OPERATOR})[ \t]*+{_COMMAND})*+", re.ASCII)
_TOKEN = re.compile(rf"{_REDIRECT}|{_WORD}|{_OPERATOR}", re.ASCII)
_REDIRECTED = re.compile(r"[12]?(>&|>>?|<)[ \t]*(.*)")
_SPECIAL = RESERVED | EFFECTS.keys()
"""Words that, where a command is expected, are more than the name of one."""
_DIRECTIONS: dict[str, Direction] = {"<": "read", ">&": "descriptor"}


def read_plain(line: str, cwd: str | None, elsewhere: tuple[str, ...]) -> Script | None:
    """List the commands of a line that needs no grammar; None for every other line."""
    plain = _WORDS.fullmatch(line)
    if plain is not None:
        words = plain[1].split()
        if "=" in words[0] or words[0] in _SPECIAL:
            return None
        return Script((Command(tuple(map(Word, words)), cwd=cwd, elsewhere=elsewhere, constant=True),))
    if _LINE.fullmatch(line) is None:
        return None
    tokens = _TOKEN.findall(line)
    return _commands(tokens, cwd, elsewhere) if len(tokens) <= _MOST else None


def _commands(tokens: list[str], cwd: str | None, elsewhere: tuple[str, ...]) -> Script | None:
    """Make commands of the parts of a line."""
    commands: list[Command] = []
    fed: tuple[int, ...] = ()
    start = 0
    for end in [*(i for i, token in enumerate(tokens) if token[0] in "|&;"), len(tokens)]:
        name = tokens[start]
        if "=" in name or name in _SPECIAL:
            return None
        words, redirects = _parts(tokens[start:end])
        constant = not redirects and not any(word.splits for word in words)
        last = fed[-1] if fed else None
        commands.append(
            Command(words, (), redirects, cwd, last, fed, elsewhere=elsewhere, constant=constant),
        )
        fed = (len(commands) - 1,) if tokens[end : end + 1] == ["|"] else ()
        start = end + 1
    return Script(tuple(commands))


def _parts(tokens: list[str]) -> tuple[tuple[Word, ...], tuple[Redirect, ...]]:
    """Tell the words of a command from its redirections."""
    words: list[Word] = []
    redirects: list[Redirect] = []
    for token in tokens:
        if token[0] in "'\"":
            words.append(Word(token[1:-1]))
        elif ">" in token or "<" in token:
            redirects.append(_redirect(token))
        elif "*" in token or "?" in token:
            words.append(Word(token, splits=True))
        else:
            words.append(Word(token))
    return tuple(words), tuple(redirects)


def _redirect(token: str) -> Redirect:
    # it was told from a word by the same signs
    operator, target = _REDIRECTED.fullmatch(token).groups()  # type: ignore[union-attr]
    return Redirect(_DIRECTIONS.get(operator, "write"), Word(target))

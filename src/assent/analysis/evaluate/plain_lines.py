"""Lines that need no grammar: words, patterns and quotes without anything in them that is expanded, in simple commands.

Most lines are so. What they are made of is told by one look each; whatever else is in a line is left to the parser,
and a line that is read here is read there with the same result.
"""

from __future__ import annotations

import operator
import posixpath

import assent.lazy_regex as re
from assent.analysis.bash.parse import RESERVED
from assent.analysis.evaluate.builtins import EFFECTS
from assent.analysis.ir import Command, Direction, Redirect, Script, Word
from assent.analysis.values.printed_text import writes
from assent.analysis.values.scope import normalise

_MOST = 500
"""Words and operators of a line that is read here: few enough for each of the parser's bounds."""
_LETTERS = "0-9A-Za-z_./:@%+,=^"
_COMMENT = r"(?:(?<=[ \t])#[ -~]*+)?"
_WORDS = re.compile(rf"([{_LETTERS} \t-]*+){_COMMENT}")
_TILDE = r"(?:(?<=[0-9A-Za-z_])~[0-9]*+)*+"
"""Behind a letter it is one: `HEAD~2`."""
_PLAIN = rf"[{_LETTERS}-]++{_TILDE}"
_WORD = rf"""[{_LETTERS}*?-]++{_TILDE}|'[ -&(-~]*+'|"[ !#%-\[\]-_a-~]*+\""""
_REDIRECT = r"[12]?+(?:>&[12]|(?:>>?+|<)[ \t]*+[0-9A-Za-z_./][0-9A-Za-z_./-]*+)"
_COMMAND = rf"{_PLAIN}(?:[ \t]++(?:{_REDIRECT}|{_WORD}))*+[ \t]*+"
_OPERATOR = r"\|\|?+|&&|;"
_LINE = re.compile(rf"([ \t]*+{_COMMAND}(?:(?:{_OPERATOR})[ \t]*+{_COMMAND})*+){_COMMENT}")
_TOKEN = re.compile(rf"{_REDIRECT}|{_WORD}|{_OPERATOR}")
_REDIRECTED = re.compile(r"[12]?(>&|>>?|<)[ \t]*+(.*)")
_SPECIAL = RESERVED | EFFECTS.keys()
"""Words that, where a command is expected, are more than the name of one."""
_OPERATORS = frozenset({"|", "||", "&&", ";"})
_FOLDER = re.compile(r"[0-9A-Za-z_./][0-9A-Za-z_./@%+,-]*+")
"""A folder by its name: no option, no pattern, and none that only the shell knows."""
_BEHIND = frozenset({"||", ";"})
"""What runs even if the command before it fails."""
_splits = operator.attrgetter("splits")
_DIRECTIONS: dict[str, Direction] = {"<": "read", ">&": "descriptor"}


def read_plain(line: str, cwd: str | None, elsewhere: tuple[str, ...]) -> Script | None:
    """List the commands of a line that needs no grammar; None for every other line."""
    alone = _WORDS.fullmatch(line)
    if alone is not None:
        words = alone[1].split()
        if not words or "=" in words[0] or words[0] in _SPECIAL:
            return None
        command = Command(tuple(map(Word, words)), cwd=cwd, elsewhere=elsewhere, constant=True)
        return Script((command,), writes=words[0] == "tee")
    plain = _LINE.fullmatch(line)
    if plain is None:
        return None
    tokens = _TOKEN.findall(plain[1])
    if len(tokens) > _MOST:
        return None
    if tokens[0] == "cd" and cwd is not None and not elsewhere:
        return _entered(tokens, cwd)
    return _commands(tokens, cwd, elsewhere)


def _entered(tokens: list[str], cwd: str) -> Script | None:
    """Make commands of a line that goes to a folder first, if nothing of it runs where that fails."""
    if not (len(tokens) > 3 and tokens[2] == "&&" and _FOLDER.fullmatch(tokens[1]) and _BEHIND.isdisjoint(tokens)):
        return None
    entering = Command((Word("cd"), Word(tokens[1])), cwd=cwd, constant=True)
    return _commands(tokens, normalise(posixpath.join(cwd, tokens[1])), (), 3, entering)


def _commands(
    tokens: list[str], cwd: str | None, elsewhere: tuple[str, ...], start: int = 0, *before: Command
) -> Script | None:
    """Make commands of the parts of a line, from one of them on."""
    commands: list[Command] = [*before]
    fed: tuple[int, ...] = ()
    for end in [*[i for i, token in enumerate(tokens) if token in _OPERATORS and i >= start], len(tokens)]:
        name = tokens[start]
        if "=" in name or name in _SPECIAL:
            return None
        words, redirects = _parts(tokens[start:end])
        constant = not redirects and not any(map(_splits, words))
        last = fed[0] if fed else None
        commands.append(Command(words, (), redirects, cwd, last, fed, elsewhere=elsewhere, constant=constant))
        fed = (len(commands) - 1,) if tokens[end : end + 1] == ["|"] else ()
        start = end + 1
    wrote = any(writes(command.words, command.redirects) for command in commands)
    return Script(tuple(commands), writes=wrote)


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
    sign, target = _REDIRECTED.fullmatch(token).groups()  # type: ignore[union-attr]
    return Redirect(_DIRECTIONS.get(sign, "write"), Word(target))

"""What is refused before a line is parsed: what would be read, shown or run differently by somebody else."""

from __future__ import annotations

import unicodedata

import assent.lazy_regex as re
from assent.model import UNKNOWN

LONGEST = 65_536
"""Characters a line may have. Longer ones are not parsed at all."""
DEEPEST = 32
"""How many brackets, quotes, substitutions and compound commands may stand inside each other."""
MOST = 1_000
"""Commands a line may have."""
STEPS = 4_000
"""How much a line may be made of: four for a command, one for each part of a word that is not plain."""

_EMOJI = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINED_EMOJI = re.compile(f"(?<={_EMOJI})\ufe0f|(?:(?<={_EMOJI})|(?<=\ufe0f))\u200d(?={_EMOJI})")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]",
)
_RESERVED = re.compile("[\ufdd0\U00100000-\U0010ffff]")
_CYRILLIC = "авеѕіјкморсухһӏԁԛԝАВЕЅІЈКМНОРСТУХ"
_GREEK = "ονρυχκιτΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_FOREIGN = f"[{_CYRILLIC}{_GREEK}]"
_LOOKALIKE = re.compile(
    f"(?<=[A-Za-z]){_FOREIGN}|{_FOREIGN}(?=[A-Za-z])"
    "|[\u037e\u01c3\u2024\u2044\u2215\u2216\u29f8\uff04\uff06\uff0d-\uff0f\uff1b\uff1c\uff1e\uff21-\uff3a\uff41-\uff5a\uff5c]"
    "|[\U0001d400-\U0001d7ff]|^[\u2010-\u2015\u2212](?=\\w)|^[\u2018-\u201f]",
)
"""Letters that look like those of commands and paths, and signs that look like those of the shell."""
_ODD_SPACE = re.compile("[\u0085\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")


def is_decimal(text: str) -> bool:
    """Tell whether a text is a number to a shell: it knows no other digits than these ten."""
    return text.isdecimal() and text.isascii()


def too_long(line: str) -> str | None:
    """Say that a line is too long to be parsed, or None."""
    return f"the command is longer than {LONGEST} characters" if len(line) > LONGEST else None


def refuse(line: str) -> str | None:
    """Name a character that a line must not hold, or None."""
    hidden = _HIDDEN.search(line)
    if hidden is not None and not line.isascii():
        hidden = _HIDDEN.search(_JOINED_EMOJI.sub("", line))
    return None if hidden is None else _describe(hidden[0])


def cleaned(line: str) -> str:
    """Put a visible character in the place of each that is refused, so that commands are still found."""
    return _HIDDEN.sub("\ufffd", line)


def odd_letter(text: str) -> str | None:
    """Name a character of unquoted text that is not what it looks like: a space, a sign or a letter; or None."""
    if text.isascii():
        return None
    found = _ODD_SPACE.search(text)
    if found is not None:
        return _describe(found[0])
    found = _LOOKALIKE.search(text)
    return None if found is None else f"the command contains {_named(found[0])}, which looks like another character"


def reserved(text: str) -> bool:
    """Tell whether a text holds a character that only we may put into words."""
    return not text.isascii() and _RESERVED.search(text) is not None


def _describe(character: str) -> str:
    if character == UNKNOWN:
        return "the command contains a reserved character"
    return f"the command contains the invisible character {_named(character)}"


def _named(character: str) -> str:
    name = unicodedata.name(character, "").lower()
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")

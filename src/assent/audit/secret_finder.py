"""Finds the secrets of a record, once: in its words, in its fields, and in what its texts hold.

A secret is known by the name before it, by where it stands, or by how it looks. What is found is then masked wherever
it is in the record, in each form that it is written in.
"""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import re2

from assent.analysis.bash.escapes import decode
from assent.catalog.secret_names import SECRET_ANYWHERE, SECRET_PARTS, is_secret_name
from assent.model import visible

NAME = rf"(?:[\w.-]*(?:{SECRET_ANYWHERE}|[_.-]key)[\w.-]*|(?:[\w.-]*[_.-])?(?:{SECRET_PARTS})(?:[_.-][\w.-]*)?)"
HEADER = r"(?:authorization|proxy-authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|secret|auth))"
_HEADERS = re2.compile(rf"(?i){HEADER}")
_QUOTED = r"""\$?"(?:[^"\\]|\\.)*"|\$'(?:[^'\\]|\\.)*'|'[^']*'"""
_WORD = rf"(?:{_QUOTED}|\\.|[^\s\"'\\;&|()<>])+"
_WORDS = re2.compile(rf"(?s){_WORD}")
_PIECES = re2.compile(rf"(?s){_QUOTED}|\\.|[^\"'\\$]+|.")
_ESCAPED = re2.compile(r"""(?s)\\(["$`\\\n])""")
_MOST_WORDS = 1000
_LONGEST_WORD = 16_384
_MOST_SECRETS = 100
_MOST_FORMS = 400
"""A record with more secrets than this has each of them masked where it stands."""
_DEEPEST = 4
_SEPARATORS = re2.compile(r"[\s=;,]+")
_LONG = 8
"""From how many characters on a part of one, such as of a cookie, is a secret itself."""
_SHORTEST = 4
"""A shorter secret is masked where it stands, and nowhere else."""
_BEGINNINGS = ("\ufdd0", "[masked:", "…", "$(", "`")
"""What stands for a value that is only known later is no secret: what is not in the record, or a command prints, …"""
_REFERENCE = re2.compile(
    r"(?s)(?:\$(?:[A-Z0-9_]+|[A-Za-z_]+|[0-9@*#?!$-])|\$\{[^}]*\}?|\$\{\{.*|<[A-Za-z_ .-]*>?|\{\{.*|\{[A-Za-z_.]*\}?"
    r"|%[A-Za-z_]+%|%[a-zA-Z@]?|[:/@.,=_-])+"
)
"""… and the names of variables, and placeholders. A password can begin as one of them does."""
_GENERIC = frozenset({"value", "values", "data", "raw", "text", "plain", "content", "default", "literal"})
"""Fields that go by the name of what they are in, or by what stands beside them in one of …"""
_LABELS = ("name", "key", "header", "variable", "field")
_PASSWORDS = frozenset({"password", "passwd", "passphrase"})
_SETTING = re2.compile(r"[\w.:/@-]*(?:[_.:]|[a-z][A-Z])[\w.:/@-]*")
_FILE = re2.compile(
    r"(?i).*\.(?:ya?ml|json|txt|py|[jt]sx?|go|rs|md|sh|toml|ini|cfg|conf|env|pem|key|lock|sql|html?|css|xml)"
)
_MIXED = re2.compile(r"[^\s/-][^\s/]*(?:[0-9][^\s/]*[A-Za-z]|[A-Za-z][^\s/]*[0-9])[^\s/]*")


def is_reference(text: str) -> bool:
    """Tell whether a text stands for a value that is not in it."""
    return text.startswith(_BEGINNINGS) or _REFERENCE.fullmatch(text) is not None


@functools.lru_cache(maxsize=1024)
def names_secret(name: str) -> bool:
    """Tell whether a field or a header of this name holds a secret."""
    return is_secret_name(name) or _HEADERS.fullmatch(name) is not None


@functools.lru_cache(maxsize=1024)
def _is_setting(word: str) -> bool:
    """Tell whether a word names a setting that is a secret, rather than being one of a sentence, or a file."""
    if word.lower() in _PASSWORDS:
        return True
    return is_secret_name(word) and _SETTING.fullmatch(word) is not None and _FILE.fullmatch(word) is None


def _may_be_value(word: str) -> bool:
    """Tell whether a word is one that somebody gives a setting: it is quoted, or has letters and digits."""
    return word.startswith(("'", '"', "$'", '$"')) or (len(word) >= _LONG and _MIXED.fullmatch(word) is not None)


class Pattern(Protocol):
    """Where a secret stands, or how it looks."""

    def spans(self, text: str, most: int | None = None) -> list[tuple[int, int]]:
        """Return where the secrets are, or the first of them."""


class Finder:
    """Gathers the secrets of one record: each form that one is written in, and what it stands for."""

    def __init__(self, patterns: Iterable[Pattern], may_hold: Callable[[str], bool]) -> None:
        self._patterns = tuple(patterns)
        self._may_hold = may_hold
        self.forms: dict[str, str] = {}
        self._seen: set[str] = set()

    def look(self, value: Any, name: str = "", depth: int = _DEEPEST) -> None:
        """Look through a JSON value; `name` is what it goes under."""
        if isinstance(value, str):
            if value and name and names_secret(name) and not is_reference(value):
                self.add(value)
            self._look_at(value, depth)
        elif isinstance(value, dict):
            label = next((value[key] for key in _LABELS if isinstance(value.get(key), str)), "")
            label = label if names_secret(label) else name
            for key, each in value.items():
                self.look(each, label if str(key).lower() in _GENERIC else str(key), depth)
        elif isinstance(value, list | tuple):
            self._look_along(value, name, depth)

    def _look_along(self, words: list[Any] | tuple[Any, ...], name: str, depth: int) -> None:
        """Look through a list: in one of words, an option of a secret's name speaks for the next word."""
        option = ""
        for word in words:
            self.look(word, option or name, depth)
            speaks = isinstance(word, str) and "=" not in word and (word.startswith("-") or len(words) == 2)
            option = word.lstrip("-") if speaks else ""
        if words and all(isinstance(word, str) for word in words):
            self._look_at(" ".join(words), depth)

    def _look_at(self, text: str, depth: int) -> None:
        if depth <= 0 or len(text) < 3 or text in self._seen:
            return
        self._seen.add(text)
        if not self._may_hold(text):
            return
        for pattern in self._patterns:
            for start, stop in pattern.spans(text, _MOST_SECRETS):
                self.add(unquote(text[start:stop]), text[start:stop])
        self._look_for_words(text, depth)
        self._look_for_json(text, depth)

    def _look_for_words(self, text: str, depth: int) -> None:
        """Look at a text as a shell would."""
        option = setting = False
        for count, found in enumerate(_WORDS.finditer(text)):
            if count > _MOST_WORDS:
                return
            raw = found[0]
            plain = unquote(raw) if len(raw) <= _LONGEST_WORD else raw
            if (option or (setting and _may_be_value(raw))) and not is_reference(raw):
                self.add(plain, raw)
            self._look_for_assignment(raw, plain)
            if plain != raw:
                self._look_at(plain, depth - 1)
            option = plain.startswith("-") and "=" not in plain and is_secret_name(plain.lstrip("-"))
            setting = _is_setting(plain)

    def _look_for_assignment(self, raw: str, plain: str) -> None:
        name, assigned, value = plain.partition("=")
        if not assigned or not value or not is_secret_name(name.lstrip("-").rstrip("+")):
            return
        written = raw.partition("=")[2]
        if not is_reference(written):
            self.add(value, written)

    def _look_for_json(self, text: str, depth: int) -> None:
        begin = text.lstrip()[:1]
        if begin not in ("{", "[", '"'):
            return
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return
        self.look(value, depth=depth - 1)

    def add(self, secret: str, *written: str) -> None:
        """Remember a secret, in each form that a record may show it in."""
        if len(secret) < _SHORTEST or secret in self.forms or len(self.forms) > _MOST_FORMS or is_reference(secret):
            return
        if any(mark in secret for mark in "=;\n"):
            for part in _SEPARATORS.split(secret):
                if _LONG <= len(part) < len(secret):
                    self.add(part)
        escaped = json.dumps(secret)[1:-1]
        forms = (
            secret,
            *written,
            escaped,
            json.dumps(escaped)[1:-1],
            shlex.quote(secret),
            visible(secret),
            repr(secret),
        )
        for form in forms:
            if len(form) >= _SHORTEST:
                self.forms.setdefault(form, secret)


@functools.lru_cache(maxsize=256)
def unquote(word: str) -> str:
    """Return what a shell makes of a word."""
    if not any(mark in word for mark in "'\"\\"):
        return word
    return "".join(_unquote_pieces(word))


def _unquote_pieces(word: str) -> Iterator[str]:
    for found in _PIECES.finditer(word):
        piece = found[0]
        if piece.startswith("$'") and len(piece) > 2:
            yield decode(piece[2:-1]) or piece[2:-1]
        elif piece.startswith(('"', '$"')) and len(piece) > 1:
            yield _unescape(piece.lstrip("$")[1:-1])
        elif piece.startswith("'"):
            yield piece[1:-1]
        else:
            yield piece[1:] if piece.startswith("\\") and len(piece) > 1 else piece


def _unescape(text: str) -> str:
    return str(_ESCAPED.sub(r"\1", text))

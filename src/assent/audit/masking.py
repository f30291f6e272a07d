"""Secrets are masked before anything is hashed or written: as a tag that tells equal ones apart from others.

The tag is a keyed hash, so that it can be compared within one installation and says nothing of the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import string
from collections.abc import Iterable
from typing import Any, get_args

from assent.audit.secret_finder import Finder, is_reference, unquote
from assent.audit.secret_patterns import PATTERNS, may_hold_secrets
from assent.catalog.secret_names import is_secret_name
from assent.model import Mode, Scope, Source, Tier, Verdict
from assent.model.event import EventType

__all__ = ["Mask", "Veil", "cut", "may_hold_secrets"]

_CLOSED = frozenset(
    word for words in (Verdict, Tier, Source, Scope, Mode) for word in (*(each.value for each in words),)
) | frozenset(get_args(EventType))
"""Words of the record itself, which a secret of the same spelling does not hide."""
_WORDLIKE = 8
"""A shorter secret is masked only where it stands as a word of its own."""
_SHORTEST_TAIL = 4
_SHORTEST_CUT = 150
"""Texts are cut at 200 characters at the earliest, there or somewhat before."""
_IN_SECRETS = string.ascii_letters + string.digits + "_-.+/=~"
_SHORT = 200
_MOST_REMEMBERED = 4096


def cut(text: str, limit: int) -> str:
    """Return the beginning of a text, between two words if it can be: half a secret may not look like one."""
    if len(text) <= limit:
        return text
    kept = text[:limit]
    whole = kept.rstrip(_IN_SECRETS).rstrip()
    return whole if len(whole) > limit // 2 else kept


class Mask:
    """Masks secrets with one installation's salt."""

    def __init__(self, salt: bytes) -> None:
        self._salt = salt
        self._clean: set[str] = set()
        """Short texts that hold nothing to mask: most of a record is the same in the next one."""

    def tag(self, secret: str) -> str:
        """Return what stands in a secret's place: the same for the same secret."""
        seal = hmac.new(self._salt, secret.encode(errors="surrogatepass"), hashlib.sha256)
        return f"[masked:{seal.hexdigest()[:12]}]"

    def _remember(self, text: str) -> None:
        if len(self._clean) >= _MOST_REMEMBERED:
            self._clean = set()  # in one step: other threads look into it
        self._clean.add(text)

    def veil(self, *about: Any, names: Iterable[str] = ()) -> Veil:
        """Find the secrets in some values, once, and return what masks them wherever they are.

        `names` are what the record is found by: what is said in them stays.
        """
        finder = Finder(PATTERNS, self._may_hold)
        for each in about:
            finder.look(each)
        kept = tuple(filter(None, names))
        forms = {form: secret for form, secret in finder.forms.items() if not any(form in name for name in kept)}
        return Veil(self, forms)

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value with secrets masked, by their look or by the name they go under."""
        return self.veil({name: value} if name else value).value(value, name)

    def text(self, text: str) -> str:
        """Return the text with everything masked in it that looks like a secret."""
        return self.veil(text).text(text) if self._may_hold(text) else text

    def _may_hold(self, text: str) -> bool:
        """Tell whether a text has to be looked at closely. Most texts of a record are the same in the next one."""
        if text in self._clean:
            return False
        if may_hold_secrets(text.encode(errors="surrogatepass")):
            return True
        if len(text) <= _SHORT:
            self._remember(text)
        return False

    def by_look(self, text: str) -> str:
        """Return the text with every place masked in it that a pattern finds."""
        if self._may_hold(text):
            for pattern in PATTERNS:
                text = self._cut(text, pattern.spans(text))
        return text

    def across(self, words: list[str]) -> list[str]:
        """Mask what only the words together show, such as what follows `-u`."""
        text = " ".join(words)
        spans = sorted(span for pattern in PATTERNS for span in pattern.spans(text))
        masked, start = [], 0
        for word in words:
            inside = [(max(a - start, 0), b - start) for a, b in spans if a < start + len(word) and b > start]
            masked.append(self._cut(word, inside))
            start += len(word) + 1
        return masked

    def _cut(self, text: str, spans: list[tuple[int, int]]) -> str:
        """Put tags in the places of secrets, given in order; what overlaps is cut out once."""
        parts, end = [], 0
        for start, stop in spans:
            if stop > end:
                parts += [text[end : max(start, end)], self.tag(unquote(text[max(start, end) : stop]))]
                end = min(stop, len(text))
        return "".join((*parts, text[end:])) if parts else text


class Veil:
    """The secrets of one record, masked wherever they are in it."""

    def __init__(self, mask: Mask, forms: dict[str, str]) -> None:
        self._mask = mask
        self._forms = sorted(forms.items(), key=lambda each: -len(each[0]))
        self._shortest = len(self._forms[-1][0]) if self._forms else 0
        self._masked: dict[str, str] = {}
        """What was made of the record's texts: many are in it more than once."""
        self._looked: dict[str, str] = {}
        """The same of what is masked by its look alone."""

    def text(self, text: str) -> str:
        """Return a text of the record with secrets masked."""
        masked = self._masked.get(text)
        if masked is None:
            masked = self._masked[text] = text if text in _CLOSED else self._mask_text(text)
        return masked

    def _mask_text(self, text: str) -> str:
        for form, secret in self._forms if len(text) >= self._shortest else ():
            if form in text:
                text = _replace_word(text, form, self._mask.tag(secret))
        return self._by_look(self._end(text))

    def _by_look(self, text: str) -> str:
        looked = self._looked.get(text)
        if looked is None:
            looked = self._looked[text] = self._mask.by_look(text)
        return looked

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value of the record with secrets masked, also by the names they go under."""
        if isinstance(value, str):
            if value and name and is_secret_name(name) and not is_reference(value):
                return self._mask.tag(value)
            return self.text(value)
        if isinstance(value, list):
            return self._words(value, name)
        if isinstance(value, dict):
            return {self.text(k): self.value(v, k) for k, v in value.items()}
        return value

    def _words(self, words: list[Any], name: str) -> list[Any]:
        """Mask a list; in one of words, an option that says secret speaks for the next word."""
        masked: list[Any] = []
        option = ""
        for word in words:
            masked.append(self.value(word, option or name))
            is_option = isinstance(word, str) and word.startswith("-") and "=" not in word
            option = word.lstrip("-") if is_option else ""
        if not all(isinstance(word, str) for word in masked):
            return masked
        text = " ".join(masked)
        return masked if self._by_look(text) == text else self._mask.across(masked)

    def _end(self, text: str) -> str:
        """Mask the beginning of a secret at the end of a text that was cut in the middle of it."""
        if "…" not in text and len(text) < _SHORTEST_CUT:
            return text
        whole = text.removesuffix("…")
        for form, secret in self._forms:
            for length in range(min(len(form) - 1, len(whole)), _SHORTEST_TAIL - 1, -1):
                if whole.endswith(form[:length]):
                    return whole[:-length] + self._mask.tag(secret) + text[len(whole) :]
        return text


def _replace_word(text: str, form: str, tag: str) -> str:
    if len(form) >= _WORDLIKE:
        return text.replace(form, tag)
    parts, end = [], 0
    while (at := text.find(form, end)) >= 0:
        stop = at + len(form)
        alone = not text[at - 1 : at].isalnum() and not text[stop : stop + 1].isalnum()
        parts += [text[end:at], tag if alone else form]
        end = stop
    return "".join((*parts, text[end:]))

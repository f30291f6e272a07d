"""Secrets are masked before anything is hashed or written: as a tag that tells equal ones apart from others.

The tag is a keyed hash, so that it can be compared within one installation and says nothing of the secret.
"""

from __future__ import annotations

import hashlib
import hmac
import string
from collections.abc import Iterable
from itertools import islice
from typing import Any, get_args

import re2

from assent.audit.finding import HEADER, NAME, Finder, is_reference, unquote
from assent.catalog.secrets import KEY_FORMS, SECRET_ANYWHERE, SECRET_PARTS, is_secret_name
from assent.model import Mode, Scope, Source, Tier, Verdict
from assent.model.event import EventType

_SURE = rf"[\w.-]*(?:{SECRET_ANYWHERE}|[_.-]key)[\w.-]*"
_PART = rf"(?:[\w.-]*[_.-])?(?:{SECRET_PARTS})(?:[_.-][\w.-]*)?"
_VALUE = (
    r"""(?:\$?"(?P<{0}q>(?:[^"\\]|\\.)+)(?:"|$)|\$'(?P<{0}d>(?:[^'\\]|\\.)+)(?:'|$)|'(?P<{0}s>[^']+)(?:'|$)"""
    r"""|\\"(?P<{0}e>(?:[^"\\]|\\[^"])+)(?:\\"|$)|(?P<{0}>[^\s"'&;|,)}}\]]+))"""
)
_QUOTE = r"""(?:\\*["'])?"""


class _Pattern:
    """Where a secret stands, or how it looks; looked for only in texts that hold one of some words."""

    def __init__(self, pattern: str, *words: str) -> None:
        self._pattern = re2.compile(pattern)
        self._words = words
        self._groups = range(1, self._pattern.groups + 1)

    def spans(self, text: str, most: int | None = None) -> list[tuple[int, int]]:
        """Return where the secrets are, or the first of them; what stands for a value that is known later is none."""
        if self._words and not any(word in text for word in self._words):
            return []
        found = (
            match.span(i)
            for match in islice(self._pattern.finditer(text), most)
            for i in self._groups
            if match.start(i) >= 0
        )
        return [(start, stop) for start, stop in found if stop > start and not is_reference(text[start : start + 16])]


_PATTERNS = (
    # A name that says it, and what is assigned to it, also where each of both is quoted.
    _Pattern(rf"""(?is)\b{_SURE}{_QUOTE}\s*(?:=|:)(?:["']\s+)?\s*{_VALUE.format("a")}""", "=", ":"),
    # A name that says it in one of its parts: behind a colon only where it is quoted, unlike words of outputs.
    _Pattern(
        rf"""(?is)(?:^|[^\w.-]){_PART}(?:{_QUOTE}\s*=|\\*["']\s*:)(?:["']\s+)?\s*{_VALUE.format("b")}""", "=", ":"
    ),
    # An option that says it, and the next word.
    _Pattern(rf"(?is)(?:^|\s)--?{NAME}\s+{_VALUE.format('o')}", "-"),
    # The user and password of a program that fetches.
    _Pattern(r"""(?:^|\s)(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*["']?[^\s:"']+:(?P<u>[^\s"']+)""", "u"),
    # The short options of programs that take a password on the command line.
    _Pattern(r"""\bsshpass\s+-p\s*["']?(?P<w>[^\s"']+)""", "sshpass"),
    _Pattern(r"""\b(?:mysql|mariadb)[\w-]*\s(?:[^\n;|&]*\s)?-p["']?(?P<x>[^\s"']+)""", "mysql", "mariadb"),
    _Pattern(r"""\bredis-cli\s(?:[^\n;|&]*\s)?-a\s+["']?(?P<y>[^\s"']+)""", "redis-cli"),
    _Pattern(
        r"""\b(?:mongo\w*|(?:docker|podman)\s+login)\s(?:[^\n;|&]*\s)?-p\s+["']?(?P<z>[^\s"']+)""", "mongo", "login"
    ),
    _Pattern(r"""\bldap\w+\s(?:[^\n;|&]*\s)?-w\s*["']?(?P<l>[^\s"']+)""", "ldap"),
    _Pattern(r"""\b(?:un)?zip\s(?:[^\n;|&]*\s)?-P\s*["']?(?P<zp>[^\s"']+)""", "zip"),
    _Pattern(r"""\b7z\w?\s(?:[^\n;|&]*\s)?-p["']?(?P<sz>[^\s"']+)""", "7z"),
    _Pattern(r"""\bsmbclient\s(?:[^\n;|&]*\s)?-U\s*["']?[^\s%"']+%(?P<sm>[^\s"']+)""", "smbclient"),
    _Pattern(r"""\bpass:(?P<ps>[^\s"']+)""", "pass:"),
    # What precedes the host of an address.
    _Pattern(r"""://[^\s/:@"']*:(?P<p>[^\s/"']+)@""", "://"),
    _Pattern(r"""://(?P<t>[^\s/:@"']{8,})@""", "://"),
    # Headers.
    _Pattern(r"(?i)\b(?:bearer|basic|digest)\s+(?P<h>[A-Za-z0-9+/=._~-]{8,})"),
    _Pattern(rf"""(?i)\b{HEADER}\s*:\s*(?P<c>[^\s"'][^"'\r\n]*)""", ":"),
    # Keys that are known by how they begin.
    _Pattern(rf"(?P<k>{KEY_FORMS})"),
    # Keys that are known by their frame.
    _Pattern(r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?P<f>.*?)(?:-----END|$)", "-----BEGIN"),
)
# In text as it is encoded, what may stand between two words: white space, or the end of one string and the next one.
_GAP = r"""(?:\s|\\[nrtf]|",")"""
# The other case begins a part of a name: `dbPass`.
_CAMEL = "(?-i:[a-z0-9](?:Pass|PASS|Pat|PAT|Auth|Creds?|Cookie|Dsn|DSN|Jwt|JWT|Bearer|Webhook|Key))"
# Whatever one of the patterns finds in a text or across the strings of a list, one of these is found in its encoding.
_MAY_HOLD = re2.compile(
    (
        rf"""(?i)(?:{SECRET_ANYWHERE}|[_.-]key)[\w.-]*\\*["']?{_GAP}*[=:]|(?:{_CAMEL}|(?:^|[^a-z0-9])(?:{SECRET_PARTS}))"""
        rf"""(?:[_.-][\w.-]*)?(?:\\*["']?{_GAP}*=|\\*["']{_GAP}*:)|-{NAME}(?:{_GAP}|\\*["'])|{HEADER}{_GAP}*:"""
        rf"""|-(?:[a-z]*u|-user|-proxy-user)(?:=|{_GAP})*(?:\\?"|')?[^\s:"']+:|://[^/ ]*@|pass:"""
        rf"""|(?:bearer|basic|digest){_GAP}+[\w+/=.~-]{{8}}|sshpass|mysql|mariadb|redis-cli|mongo|login{_GAP}"""
        rf"""|\bldap\w+{_GAP}|zip{_GAP}|\b7z\w?{_GAP}|smbclient"""
        r"""|a[ks]ia[0-9a-z]{16}|gh[pousr]_\w{20}|github_pat_|gl[a-z]{2,4}-[\w-]{16}|xox[a-z]-|sk-[\w-]{16}"""
        r"""|[srp]k_(?:live|test)_|aiza|ya29\.|npm_\w{20}|pypi-[\w-]{20}|hf_\w{20}|sg\.[\w.-]{20}|dop_v1_"""
        r"""|assent_[\w-]{16}|age-secret-key|eyj[\w-]{8}|-----begin"""
    ).encode()
)
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


def may_hold_secrets(encoded: bytes) -> bool:
    """Tell whether encoded text has to be looked at closely; quick, and never wrong when it says no."""
    return _MAY_HOLD.search(encoded) is not None


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
        finder = Finder(_PATTERNS, self._may_hold)
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
            for pattern in _PATTERNS:
                text = self._cut(text, pattern.spans(text))
        return text

    def across(self, words: list[str]) -> list[str]:
        """Mask what only the words together show, such as what follows `-u`."""
        text = " ".join(words)
        if self.by_look(text) == text:
            return words
        spans = sorted(span for pattern in _PATTERNS for span in pattern.spans(text))
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

    def text(self, text: str) -> str:
        """Return a text of the record with secrets masked."""
        if text in _CLOSED:
            return text
        for form, secret in self._forms:
            if form in text:
                text = _replace_word(text, form, self._mask.tag(secret))
        return self._mask.by_look(self._end(text))

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
        return self._mask.across(masked) if all(isinstance(word, str) for word in masked) else masked

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

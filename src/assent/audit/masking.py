"""Secrets are masked before anything is hashed or written: as a tag that tells equal ones apart from others.

The tag is a keyed hash, so that it can be compared within one installation and says nothing of the secret.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import string
from typing import Any

import re2

_WORD = r"(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api[_.-]?key|[_.-]key|apikey|authkey)[\w.-]*"
_NAME = rf"[\w.-]*{_WORD}"
_HEADER = r"(?:authorization|cookie|x-[\w-]*(?:key|token|secret))"
_VALUE = r"""(?:"(?P<{0}q>[^"]+)"|'(?P<{0}s>[^']+)'|(?P<{0}>[^\s"'&;|,)}}\]]+))"""

_PATTERNS = tuple(
    re2.compile(pattern)
    for pattern in (
        # A name that says it, and what is assigned to it, also where each of both is quoted.
        rf"""(?i)\b{_NAME}["']?\s*(?:=|:)(?:["']\s+)?\s*{_VALUE.format("a")}""",
        # An option that says it, and the next word.
        rf"(?i)(?:^|\s)--?{_NAME}\s+{_VALUE.format('o')}",
        # The user and password of a program that fetches.
        r"""(?:^|\s)(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*["']?[^\s:"']+:(?P<u>[^\s"']+)""",
        # The short options of programs that take a password on the command line.
        r"""\bsshpass\s+-p\s*["']?(?P<w>[^\s"']+)""",
        r"""\b(?:mysql|mariadb)[\w-]*\s(?:[^\n;|&]*\s)?-p["']?(?P<x>[^\s"']+)""",
        r"""\bredis-cli\s(?:[^\n;|&]*\s)?-a\s+["']?(?P<y>[^\s"']+)""",
        r"""\b(?:mongo\w*|(?:docker|podman)\s+login)\s(?:[^\n;|&]*\s)?-p\s+["']?(?P<z>[^\s"']+)""",
        # What precedes the host of an address.
        r"""://[^\s/:@"']*:(?P<p>[^\s/@"']+)@""",
        r"""://(?P<t>[^\s/:@"']{16,})@""",
        # Headers.
        r"(?i)\b(?:bearer|basic|digest)\s+(?P<h>[A-Za-z0-9+/=._~-]{8,})",
        rf"""(?i)\b{_HEADER}\s*:\s*(?P<c>[^\s"'][^"'\r\n]*)""",
        # Keys that are known by how they begin.
        (
            r"(?P<k>\b(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl[a-z]{2,4}-[\w-]{16,}"
            r"|xox[a-z]-[\w-]{10,}|sk-[\w-]{16,}|[srp]k_(?:live|test)_\w{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
            r"|npm_\w{20,}|pypi-[\w-]{20,}|hf_\w{20,}|SG\.[\w.-]{20,}|dop_v1_\w{20,}|assent_[\w-]{16,}"
            r"|eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?))"
        ),
        # Keys that are known by their frame.
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?P<f>.*?)(?:-----END|$)",
    )
)
_SAYS_SECRET = re2.compile(rf"(?i)^{_NAME}$")
# In text as it is encoded, what may stand between two words: white space, or the end of one string and the next one.
_GAP = r"""(?:\s|\\[nrtf]|",")"""
# Whatever one of the patterns finds in a text or across the strings of a list, one of these is found in its encoding.
_MAY_HOLD = re2.compile(
    (
        rf"""(?i){_WORD}\\?["']?{_GAP}*[=:]|-{_NAME}(?:{_GAP}|\\?")|{_HEADER}{_GAP}*:"""
        rf"""|-(?:[a-z]*u|-user|-proxy-user)(?:=|{_GAP})*(?:\\?"|')?[^\s:"']+:|://[^/ ]*@"""
        rf"""|(?:bearer|basic|digest){_GAP}+[\w+/=.~-]{{8}}|sshpass|mysql|mariadb|redis-cli|mongo|login{_GAP}"""
        r"""|a[ks]ia[0-9a-z]{16}|gh[pousr]_\w{20}|github_pat_|gl[a-z]{2,4}-[\w-]{16}|xox[a-z]-|sk-[\w-]{16}"""
        r"""|[srp]k_(?:live|test)_|aiza|ya29\.|npm_\w{20}|pypi-[\w-]{20}|hf_\w{20}|sg\.[\w.-]{20}|dop_v1_"""
        r"""|assent_[\w-]{16}|eyj[\w-]{8}|-----begin"""
    ).encode()
)
# What stands for a value that is only known later is no secret.
_REFERENCES = ("$", "\ufdd0", "<", "{", "%", "`", "[masked:")
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

    def text(self, text: str) -> str:
        """Return the text with everything masked in it that looks like a secret."""
        if text in self._clean:
            return text
        masked = text
        if may_hold_secrets(text.encode(errors="surrogatepass")):
            for pattern in _PATTERNS:
                masked = self._replace(pattern, masked)
        if masked == text and len(text) <= _SHORT:
            self._remember(text)
        return masked

    def _remember(self, text: str) -> None:
        if len(self._clean) >= _MOST_REMEMBERED:
            self._clean = set()  # in one step: other threads look into it
        self._clean.add(text)

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value with secrets masked, by their look or by the name they go under."""
        if isinstance(value, str):
            return self.tag(value) if value and _says_secret(name, value) else self.text(value)
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
        return self._across(masked) if all(isinstance(word, str) for word in masked) else masked

    def _across(self, words: list[str]) -> list[str]:
        """Mask what only the words together show, such as what follows `-u`."""
        text = " ".join(words)
        if self.text(text) == text:
            return words
        spans = sorted(span for pattern in _PATTERNS for span in _secret_spans(pattern, text))
        masked, start = [], 0
        for word in words:
            inside = [(max(a - start, 0), b - start) for a, b in spans if a < start + len(word) and b > start]
            masked.append(self._cut(word, inside))
            start += len(word) + 1
        return masked

    def _replace(self, pattern: Any, text: str) -> str:
        return self._cut(text, _secret_spans(pattern, text))

    def _cut(self, text: str, spans: list[tuple[int, int]]) -> str:
        """Put tags in the places of secrets, given in order; what overlaps is cut out once."""
        parts, end = [], 0
        for start, stop in spans:
            if stop > end:
                parts += [text[end : max(start, end)], self.tag(text[max(start, end) : stop])]
                end = min(stop, len(text))
        return "".join((*parts, text[end:])) if parts else text


def _says_secret(name: str, value: str) -> bool:
    return bool(name) and not value.startswith(_REFERENCES) and _is_secrets_name(name)


@functools.lru_cache(maxsize=1024)
def _is_secrets_name(name: str) -> bool:
    return _SAYS_SECRET.search(name) is not None


def _secret_spans(pattern: Any, text: str) -> list[tuple[int, int]]:
    """Return where the secrets are that a pattern finds; what stands for a value that is known later is none."""
    groups = range(1, pattern.groups + 1)
    found = (match.span(i) for match in pattern.finditer(text) for i in groups if match.start(i) >= 0)
    return [(start, stop) for start, stop in found if not text.startswith(_REFERENCES, start)]

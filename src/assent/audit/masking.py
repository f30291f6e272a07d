"""Secrets are masked before anything is hashed or written: as a tag that tells equal ones apart from others.

The tag is a keyed hash, so that it can be compared within one installation and says nothing of the secret.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
from typing import Any

import re2

_NAME = r"[\w.-]*(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|api[_.-]?key|[_.-]key|apikey|authkey)[\w.-]*"
_VALUE = r"""(?:"(?P<{0}q>[^"]+)"|'(?P<{0}s>[^']+)'|(?P<{0}>[^\s"'&;|,)}}\]]+))"""

_PATTERNS = tuple(
    re2.compile(pattern)
    for pattern in (
        # A name that says it, and what is assigned to it.
        rf"""(?i)\b{_NAME}["']?\s*(?:=|:)\s*{_VALUE.format("a")}""",
        # An option that says it, and the next word.
        rf"(?i)(?:^|\s)--?{_NAME}\s+{_VALUE.format('o')}",
        # The user and password of a program that fetches.
        r"""(?:^|\s)(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*["']?[^\s:"']+:(?P<u>[^\s"']+)""",
        # What precedes the host of an address.
        r"""://[^\s/:@"']*:(?P<p>[^\s/@"']+)@""",
        r"""://(?P<t>[^\s/:@"']{16,})@""",
        # Headers.
        r"(?i)\b(?:bearer|basic|digest)\s+(?P<h>[A-Za-z0-9+/=._~-]{8,})",
        r"""(?i)\b(?:authorization|cookie|x-[\w-]*(?:key|token|secret))\s*:\s*(?P<c>[^\s"'][^"'\r\n]*)""",
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
# In text as it is encoded: whatever one of the patterns finds, one of these words is near it.
_MAY_HOLD = re2.compile(
    rb"(?i)passw|passphrase|pwd|secret|token|credential|key|bearer|basic|digest\s|\\[nrt]digest"
    rb"|digest\\|authorization|cookie|://[^/ ]*@|-[a-z]*u[^:]{0,80}:|--(?:proxy-)?user"
    rb"|akia|asia|gh[pousr]_|github_pat_|gl[a-z]{2,4}-|xox[a-z]-|sk-|[srp]k_(?:live|test)_|aiza|ya29\.|npm_|pypi-|hf_"
    rb"|sg\.|dop_v1_|assent_|eyj|-----begin"
)
# What stands for a value that is only known later is no secret.
_REFERENCES = ("$", "\ufdd0", "<", "{", "%", "`", "[masked:")
_SHORT = 200
_MOST_REMEMBERED = 4096


def may_hold_secrets(encoded: bytes) -> bool:
    """Tell whether encoded text has to be looked at closely; quick, and never wrong when it says no."""
    return _MAY_HOLD.search(encoded) is not None


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
        return masked

    def _replace(self, pattern: Any, text: str) -> str:
        parts, end = [], 0
        for match in pattern.finditer(text):
            start, stop = _secret_span(match)
            if start < 0 or text.startswith(_REFERENCES, start):
                continue
            parts += [text[end:start], self.tag(text[start:stop])]
            end = stop
        return "".join((*parts, text[end:])) if parts else text


def _says_secret(name: str, value: str) -> bool:
    return bool(name) and not value.startswith(_REFERENCES) and _is_secrets_name(name)


@functools.lru_cache(maxsize=1024)
def _is_secrets_name(name: str) -> bool:
    return _SAYS_SECRET.search(name) is not None


def _secret_span(match: Any) -> tuple[int, int]:
    return next((match.span(i) for i in range(1, match.re.groups + 1) if match.start(i) >= 0), (-1, -1))

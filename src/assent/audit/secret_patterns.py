"""Where secrets stand in a text and how they look; and the quick look that tells whether a close one is needed."""

from __future__ import annotations

from itertools import islice

import re2

from assent.audit.secret_finder import HEADER, NAME, is_reference
from assent.catalog.secret_names import KEY_FORMS, SECRET_ANYWHERE, SECRET_PARAMETERS, SECRET_PARTS

_SURE = rf"[\w.-]*(?:{SECRET_ANYWHERE}|[_.-]key)[\w.-]*"
_PART = rf"(?:[\w.-]*[_.-])?(?:{SECRET_PARTS})(?:[_.-][\w.-]*)?"
_VALUE = (
    r"""(?:\$?"(?P<{0}q>(?:[^"\\]|\\.)+)(?:"|$)|\$'(?P<{0}d>(?:[^'\\]|\\.)+)(?:'|$)|'(?P<{0}s>[^']+)(?:'|$)"""
    r"""|\\"(?P<{0}e>(?:[^"\\]|\\[^"])+)(?:\\"|$)|(?P<{0}>[^\s"'&;|,)}}\]]+))"""
)
_QUOTE = r"""(?:\\*["'])?"""
_OPTIONS = (
    ("sshpass", "-p", r"\s*", "sshpass"),
    (r"(?:mysql|mariadb)[\w-]*", "-p", "", "mysql", "mariadb"),
    ("redis-cli", "(?:-a|(?i:auth))", r"\s+", "redis-cli"),
    (
        r"(?:mongo\w*|(?:docker|podman|az)\s+login|twine|user(?:add|mod))",
        "-p",
        r"\s*",
        "mongo",
        "login",
        "twine",
        "user",
    ),
    (r"ldap\w+", "-w", r"\s*", "ldap"),
    (r"(?:(?:un)?zip|sqlcmd|ipmitool)", "-P", r"\s*", "zip", "sqlcmd", "ipmitool"),
    (r"7z\w?", "-p", "", "7z"),
    (r"openssl\s+enc", "-[kK]", r"\s+", "openssl"),
    ("smbclient", "-U", r"""\s*["']?[^\s%"']+%""", "smbclient"),
    ("lftp", "-u", r"""\s*["']?[^\s,"']+,""", "lftp"),
    ("htpasswd", r"-\w*b\w*", r"\s+(?:\S+\s+){1,2}", "htpasswd"),
    (r"gh\s+secret\s+set", "(?:-b|--body)", r"[\s=]*", "secret"),
    (r"(?:vault|cargo)\s+login", "", "", "login"),
    ("xfreerdp", "/p:", "", "freerdp"),
)
"""Programs that take a password on the command line: their name, the option, what stands before the password, and words
that a text must hold."""


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
        return [(start, stop) for start, stop in found if stop > start and not is_reference(text[start:stop])]


def _option(program: str, option: str, before: str, *words: str) -> _Pattern:
    return _Pattern(rf"""\b{program}\s(?:[^\n;|&]*\s)?{option}{before}["']?(?P<o>[^\s"']+)""", *words)


PATTERNS = (
    # A name that says it, and what is assigned to it, also where each of both is quoted.
    _Pattern(rf"""(?is)\b{_SURE}{_QUOTE}[\])]*\s*(?:\+?=|:)(?:["']\s+)?\s*{_VALUE.format("a")}""", "=", ":"),
    # A name that says it in one of its parts: behind a colon only where it is quoted, unlike words of outputs, …
    _Pattern(
        rf"""(?is)(?:^|[^\w.-]){_PART}(?:{_QUOTE}[\])]*\s*\+?=|\\*["']\s*:)(?:["']\s+)?\s*{_VALUE.format("b")}""",
        "=",
        ":",
    ),
    # … or where it begins a line, as settings are written.
    _Pattern(rf"""(?im)^[ \t-]*{_PART}[ \t]*:[ \t]+["']?(?P<bl>[^\s"']{{8,}})""", ":"),
    # Settings of several lines, and what stands between a name and its value there.
    _Pattern(rf"(?im){_SURE}[ \t]*:[ \t]*[|>][+-]?[0-9]?[ \t]*\n(?P<m>(?:[ \t]+[^\n]*(?:\n|$))+)", "|", ">"),
    _Pattern(rf"(?im){_SURE}[ \t]*:[ \t]*(?:[&!][\w!/:.-]*[ \t]+)+{_VALUE.format('n')}", "&", "!"),
    _Pattern(
        rf"""(?is){_SURE}\s*=\s*(?:\"{{3}}(?P<tq>.*?)(?:\"{{3}}|$)|'{{3}}(?P<ts>.*?)(?:'{{3}}|$))""", '"""', "'''"
    ),
    # A list of names, each with its value.
    _Pattern(
        rf"""(?is)\b(?:name|key)\\*["']?\s*[=:]\s*{_QUOTE}{NAME}{_QUOTE}[\s,;-]*\\*["']?value\\*["']?\s*[=:]\s*"""
        + _VALUE.format("v"),
        "alue",
        "ALUE",
    ),
    # An element of a secret's name.
    _Pattern(rf"(?is)<(?:\w+:)?{NAME}(?:\s[^<>]*)?>(?P<el>[^<]+)<", ">"),
    # An option that says it, and the next word.
    _Pattern(rf"(?is)(?:^|\s)--?{NAME}\s+{_VALUE.format('o')}", "-"),
    _Pattern(r"""(?i)\bidentified\s+by\s+["']?(?P<ib>[^\s"';]+)""", "dentified", "DENTIFIED"),
    _Pattern(r"""(?i)\bauth\s*=\s*\(\s*["'][^"']*["']\s*,\s*["'](?P<at>[^"']+)""", "auth"),
    # What is handed on to who reads a password.
    _Pattern(
        r"""\b(?:echo|printf)\s+(?:-[neE]+\s+)?(?:"(?P<eq>[^"]+)"|'(?P<es>[^']+)'|(?P<ee>[^\s"'|;&]+))\s*\|[^|\n]*"""
        r"""(?:-stdin\b|\bsudo\s+(?:-\w+\s+)*-\w*S\b|passwd\b)""",
        "|",
    ),
    # The user and password of a program that fetches, and its cookies.
    _Pattern(r"""(?:^|\s)(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*["']?[^\s:"']+:(?P<u>[^\s"']+)""", "u"),
    _Pattern(r"""\bcurl\s(?:[^\n;|&]*\s)?(?:-b|--cookie)[\s=]*["']?(?P<cb>[^\s"']*=[^"'\n]+)""", "curl"),
    *(_option(*row) for row in _OPTIONS),
    _Pattern(r"""\bpass:(?P<ps>[^\s"']+)""", "pass:"),
    # Parameters of an address, and addresses that are secrets themselves.
    _Pattern(rf"""(?i)[?&;](?:{SECRET_PARAMETERS})=(?P<ap>[^\s"'&;#]{{6,}})""", "?"),
    _Pattern(r"(?i)hooks\.slack\.com/services/(?P<hs>[^\s\"']+)|/api/webhooks/[0-9]+/(?P<hd>[\w-]+)", "ooks"),
    _Pattern(r"api\.telegram\.org/bot(?P<tg>[\w:-]+)", "telegram"),
    # What precedes the host of an address.
    _Pattern(r"""://[^\s/:@"']*:(?P<p>[^\s/"']+)@""", "://"),
    _Pattern(r"""://(?P<t>[^\s/:@"']{8,})(?::x-oauth-basic|:)?@""", "://"),
    # Headers.
    _Pattern(r"(?i)\b(?:bearer|basic|digest)\s+(?P<h>[A-Za-z0-9+/=._~-]{8,})"),
    _Pattern(rf"""(?i)\b{HEADER}{_QUOTE}\s*:\s*{_QUOTE}(?P<c>[^\s"'\\][^"'\r\n\\]*)""", ":"),
    # Keys that are known by how they begin.
    _Pattern(rf"(?P<k>{KEY_FORMS})"),
    # Keys that are known by their frame.
    _Pattern(r"(?s)---- ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?----(?P<f>.*?)(?:---- ?END|$)", "BEGIN "),
    _Pattern(r"(?s)\bPrivate-Lines: [0-9]+(?P<pl>.*?)(?:\bPrivate-|$)", "Private-Lines"),
    _Pattern(r"\bPrivate-(?:MAC|Hash): (?P<pm>\w+)", "Private-"),
)
# In text as it is encoded, what may stand between two words: white space, or the end of one string and the next one.
_GAP = r"""(?:\s|\\[nrtf]|\\*",\s*\\*")"""
_MARK = r"""\\*["']"""
# The other case begins a part of a name: `dbPass`.
_CAMEL = "(?-i:[a-z0-9](?:Pass|PASS|Pat|PAT|Auth|Creds?|Cookie|Dsn|DSN|Jwt|JWT|Bearer|Webhook|Key|Pw|PW))"
# Whatever one of the patterns finds in a text or across the strings of a list, one of these is found in its encoding.
_MAY_HOLD = re2.compile(
    (
        rf"""(?i)(?:{SECRET_ANYWHERE}|[_.-]key)[\w.-]*(?:{_MARK})?[\])]*{_GAP}*(?:\+?=|:)"""
        rf"""|(?:{SECRET_ANYWHERE}|[_.-](?:key|auth))[\w.-]*(?:{_MARK})?{_GAP}+(?:{_MARK}|[^\s"]*[0-9])"""
        rf"""|(?:{_CAMEL}|(?:^|[^a-z0-9])(?:{SECRET_PARTS}))(?:[_.-][\w.-]*)?"""
        rf"""(?:(?:{_MARK})?[\])]*{_GAP}*\+?=|{_MARK}{_GAP}*:|[ \t]*:(?:[ \t]|\\t))"""
        rf"""|-{NAME}(?:{_GAP}|{_MARK})|{HEADER}{_MARK}*{_GAP}*[:,]|<(?:\w+:)?{NAME}(?:{_GAP}[^<>]*)?>"""
        rf"""|(?:name|key|header|variable|field){_MARK}?{_GAP}*[=:]{_GAP}*(?:{_MARK})?[\w.-]*(?:{SECRET_ANYWHERE}"""
        rf"""|[_.-]key|{SECRET_PARTS})|\[{_GAP}*{_MARK}[\w.-]*(?:{SECRET_ANYWHERE}|[_.-]key|{SECRET_PARTS})[\w.-]*{_MARK},"""
        rf"""|-(?:[a-z]*u|-user|-proxy-user)(?:=|{_GAP})*(?:\\?"|')?[^\s:"']+:|://[^/ ]*@|pass:"""
        rf"""|(?:bearer|basic|digest){_GAP}+[\w+/=.~-]{{8}}|sshpass|mysql|mariadb|redis-cli|mongo|login{_GAP}"""
        rf"""|ldap\w+{_GAP}|zip{_GAP}|7z\w?{_GAP}|smbclient|twine|user(?:add|mod)|sqlcmd|ipmitool|openssl|lftp"""
        rf"""|htpasswd|secret{_GAP}+set|freerdp|-stdin\b|passwd\b|sudo{_GAP}|identified{_GAP}+by|curl{_GAP}"""
        rf"""|[?&;](?:{SECRET_PARAMETERS})=|hooks\.slack|webhooks/|telegram|private-"""
        r"""|a[ks]ia[0-9a-z]{16}|gh[pousr]_\w{20}|github_pat_|gl[a-z]{2,4}-[\w-]{16}|xox[a-z]-|sk-[\w-]{16}"""
        r"""|[srp]k_(?:live|test)_|aiza|ya29\.|npm_\w{20}|pypi-[\w-]{20}|hf_\w{20}|sg\.[\w.-]{20}|dop_v1_"""
        r"""|assent_[\w-]{16}|age-secret-key|eyj[\w-]{8}|---- ?begin"""
    ).encode()
)


def may_hold_secrets(encoded: bytes) -> bool:
    """Tell whether encoded text has to be looked at closely; quick, and never wrong when it says no."""
    return _MAY_HOLD.search(encoded) is not None

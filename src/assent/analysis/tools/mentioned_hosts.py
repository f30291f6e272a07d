"""The machines that strings may name, and above all where Assent itself listens, however that is spelled."""

from __future__ import annotations

import functools
from typing import Any

import assent.lazy_regex as re
from assent.analysis.resources.urls import decode, is_private, read_address
from assent.model import Facts

BLANK = re.compile(r"\s")
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*+)://")
_WEB = frozenset(("http", "https", "ws", "wss", "ftp", "ftps"))
_NO_HOST = re.compile(r"(?i)(?:file|sqlite\w*|unix|data|https?\+unix)")
_PORT = re.compile(r":0{0,8}(?P<port>[1-9][0-9]{1,4})(?![0-9])")
_BEFORE_HOST = re.compile(r"[/@\s'\"`(<,=]")
_LONGEST_HOST = 253
_PUBLIC = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)+")
_NUMERIC = re.compile(r"(?i)localhost|0x[0-9a-f]++|[0-9a-f:.\[\]]*+")
_HOST_AND_PORT = re.compile(r"(?i)(?P<host>localhost|\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\]):\d{1,5}(?:/\S*)?")
_HOST_FIELD = re.compile(r"(?i)(?:host|hostname|domain|server|endpoint|address|addr|ip)$")
_LONGEST_KEPT = 64
"""Letters of a field's name of which it is kept what it says: longer ones do not come again."""
_PORT_FIELD = re.compile(r"(?i)port")
_LONGEST_TOKEN = 4_096


class Talk:
    """Collects the machines that the strings and numbers of one input name."""

    def __init__(self, ports: frozenset[str]) -> None:
        self._ports = ports
        """Where Assent listens."""
        self._hosts: dict[str, None] = {}
        self._near: dict[str, None] = {}
        self._machines: dict[str, None] = {}
        """Names and numbers without a port, which may stand in another field …"""
        self._numbers: dict[str, bool] = {}
        """… where Assent's ports were seen, and whether the field says that it is one."""

    def hear(self, field: str, text: str, *, is_text: bool = False) -> bool:
        """Look for machines in a string; True if it is the address of a page, and so names no place."""
        plain = _plain(text)
        token = not is_text and len(plain) <= _LONGEST_TOKEN and not BLANK.search(plain)
        for port in self._ports:
            if port in plain:
                self._find_own(plain, is_text=is_text)
                break
        if not token:
            return False
        url = _URL.match(plain)
        if url is None:
            self.hear_name(field, plain)
            return False
        if not _NO_HOST.fullmatch(url["scheme"]):
            self._hosts[read_address(plain).host] = None
        return url["scheme"].lower() in _WEB

    def hear_name(self, field: str, word: str) -> None:
        """Look at a word, which may be a machine's name or number, or a port."""
        text = word.lower()
        if text.lstrip("0") in self._ports:
            self._numbers[text.lstrip("0")] = _PORT_FIELD.search(field) is not None
        elif ":" in text and (found := _HOST_AND_PORT.fullmatch(text)):
            self._hosts[read_address(text).host] = None
            self._machines[found["host"]] = None
        elif (_is_for_hosts if len(field) <= _LONGEST_KEPT else _find_use)(field):
            self._hear_host(text)
        elif _NUMERIC.fullmatch(text) and not text.isdigit():
            self._machines[text] = None

    def _hear_host(self, text: str) -> None:
        """Take a word for a machine; what is no name of the public network is this one, whatever it is."""
        is_public = _PUBLIC.fullmatch(text) is not None
        self._machines[text if is_public else "localhost"] = None
        if is_public:
            self._hosts[text] = None

    def hear_number(self, field: str, value: Any) -> None:
        """Look at a number, which may be a port."""
        if isinstance(value, int | float) and value == value // 1 and str(int(value)) in self._ports:
            self._numbers[str(int(value))] = _PORT_FIELD.search(field) is not None

    def finish(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the machines that are named, and those of Assent that texts mention."""
        public = [name for name in self._machines if not _is_ours(name)]
        for port, is_said in self._numbers.items():
            self._hosts.update(dict.fromkeys(f"{name}:{port}" for name in public))
            if len(public) < len(self._machines) or (is_said and not public):
                self._hosts[f"localhost:{port}"] = None
        return tuple(self._hosts), tuple(self._near)

    def _find_own(self, text: str, *, is_text: bool) -> None:
        """Find the ports of Assent behind anything that is not surely another machine."""
        for found in _PORT.finditer(text):
            before = text[max(0, found.start() - _LONGEST_HOST) : found.start()]
            name = _BEFORE_HOST.split(before)[-1].lower().strip("[].")
            if found["port"] in self._ports and _is_ours(name):
                whole = not any(map(str.isspace, text[: found.start()]))
                (self._hosts if whole and not is_text else self._near)[f"localhost:{found['port']}"] = None


def _find_use(field: str) -> bool:
    """Tell whether a field says by its own name that a machine stands in it."""
    return _HOST_FIELD.search(field) is not None


_is_for_hosts = functools.lru_cache(maxsize=1024)(_find_use)


def _is_ours(name: str) -> bool:
    """Tell whether a name may be this machine: whatever is not plainly a name of the public network."""
    return _PUBLIC.fullmatch(name) is None or is_private(name)


def _plain(text: str) -> str:
    """Undo what programs that read addresses undo: escapes, other ways to write a letter, backslashes."""
    if not text.isascii() and len(text) <= _LONGEST_TOKEN:
        from unicodedata import normalize  # noqa: PLC0415 - few strings need it

        text = normalize("NFKC", text).replace("\u3002", ".")
    if "%" in text:
        text = decode(text)
    return text.replace("\\", "/")


def own_ports(facts: Facts) -> frozenset[str]:
    """Return the ports on which Assent listens."""
    return _ports(facts.assent_endpoints)


@functools.lru_cache(maxsize=64)
def _ports(endpoints: tuple[str, ...]) -> frozenset[str]:
    return frozenset(e.rpartition(":")[2] for e in endpoints)

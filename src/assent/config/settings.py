"""What the daemon can be told: every setting with its kind and default, read from text the same way everywhere."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from assent.config.yaml_document import Scalar, YamlSequence
from assent.model import AssentError, Layer

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.config.typed_fields import ConfigField

AgentPrompt: TypeAlias = Literal["inbox", "defer"]
NotifyAs: TypeAlias = Literal["json", "ntfy"]
LogFormat: TypeAlias = Literal["json", "text"]
LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]

MIB = 1 << 20
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h|d)?")
_SIZE = re.compile(r"([0-9]+)(k|m)?", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NAME = re.compile(r"(\[[0-9a-f:]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:[0-9]{1,5})?")
_URL = re.compile(r"https?://(\[[0-9a-f:]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:[0-9]{1,5})?")

_ADDRESS = re.compile(r"https?://[!-~]+")


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon listens, keeps and limits. The defaults are for one person's machine."""

    host: str = "127.0.0.1"
    port: int = 7422
    expose: bool = False
    store: str = ""
    names: tuple[str, ...] = ()
    public_url: str = ""
    socket: bool = True
    expiry: float = 1800.0
    wait: float = 600.0
    rate: int = 1000
    body: int = MIB
    hook_body: int = 5 * MIB
    pending: int = 1000
    pending_size: int = 64 * MIB
    queue: int = 256
    heartbeat: float = 30.0
    grace: float = 10.0
    lease: float = 30.0
    strategies: tuple[str, ...] = ()
    agent_prompt: AgentPrompt = "inbox"
    notify_desktop: bool = True
    notify_url: str = ""
    notify_as: NotifyAs = "json"
    log_format: LogFormat = "json"
    log_level: LogLevel = "info"


class Setting(msgspec.Struct, frozen=True):
    """One setting: how it is read from text, and what it is for."""

    name: str
    read: Callable[[str], Any]
    shown: str
    """What stands for its value in help."""
    means: str

    @property
    def variable(self) -> str:
        """Name its environment variable."""
        return f"ASSENT_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """Name its option on the command line."""
        return f"--{self.name.replace('_', '-')}"


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("it must not be empty")
    return text.strip()


def _switch(text: str) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if text.lower() not in words:
        raise ValueError("it must be true or false")
    return words[text.lower()]


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"it must be a whole number from {low} to {high}")
        return int(text)

    return read


def read_duration(text: str) -> float:
    """Read seconds, or a number with `s`, `m`, `h` or `d` behind it."""
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2] or "s"] if found and len(text) < 20 else 0.0
    if not 0.01 <= seconds <= 366 * 86400:
        raise ValueError("it must be a time such as 90, 30m or 2h")
    return seconds


def _lease(text: str) -> float:
    seconds = read_duration(text)
    if seconds < 1:
        raise ValueError("it must be at least a second")
    return seconds


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * {"": 1, "k": 1 << 10, "m": MIB}[(found[2] or "").lower()] if found else 0
    if not 1024 <= size <= 64 * MIB:
        raise ValueError("it must be a size from 1k to 64m")
    return size


def _names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip().lower() for part in text.split(","))))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"`{name}` is not a host name, or one with a port")
    return names


def _folders(text: str) -> tuple[str, ...]:
    folders = tuple(filter(None, (part.strip() for part in text.split(","))))
    for folder in folders:
        if not os.path.isabs(folder):  # noqa: PTH117 - paths are strings here
            raise ValueError(f"`{folder}` is not an absolute path")
    return tuple(map(os.path.normpath, folders))


def _url(text: str) -> str:
    if not _URL.fullmatch(text.rstrip("/").lower()):
        raise ValueError("it must be a scheme, a host and perhaps a port: https://assent.example")
    return text.rstrip("/").lower()


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("it must be an address: https://ntfy.example/topic")
    return text


def _choice(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"it must be one of: {', '.join(words)}")
        return text

    return read


SETTINGS = (
    Setting("host", _text, "ADDRESS", "the address to listen on"),
    Setting("port", _whole(0, 65535), "PORT", "the port to listen on; 0 takes a free one"),
    Setting("expose", _switch, "YES", "listen on an address that others can reach"),
    Setting("store", _text, "URL", "`sqlite:///FILE` or `postgresql://…`; by default `assent.db` in Assent's home"),
    Setting("names", _names, "NAME,…", "further names, with their ports, by which browsers and agents may call it"),
    Setting(
        "public_url", _url, "URL", "how browsers reach it through a proxy; with https, cookies are for https alone"
    ),
    Setting("socket", _switch, "YES", "listen on `assent.sock` in Assent's home as well"),
    Setting("expiry", read_duration, "TIME", "how long a question stays open"),
    Setting("wait", read_duration, "TIME", "the longest a call is held by `?wait=`"),
    Setting("rate", _whole(0, 10**6), "N", "requests a second that one token may make; 0 sets no limit"),
    Setting("body", _size, "SIZE", "the largest body of a request"),
    Setting("hook_body", _size, "SIZE", "the largest body a hook may send"),
    Setting("pending", _whole(1, 10**6), "N", "questions of one agent that may wait at a time; more are denied"),
    Setting("pending_size", _size, "SIZE", "how large the calls of one agent that wait may be, all of them together"),
    Setting("queue", _whole(1, 10**5), "N", "messages kept for a WebSocket that reads slowly, before it is dropped"),
    Setting("heartbeat", read_duration, "TIME", "how often a WebSocket hears a heartbeat"),
    Setting("grace", read_duration, "TIME", "how long a stopping daemon waits for requests under way"),
    Setting("lease", _lease, "TIME", "how long a daemon may be silent before others on its store end its runs"),
    Setting("strategies", _folders, "DIR,…", "more folders whose strategies a user's token may run"),
    Setting(
        "agent_prompt",
        _choice("inbox", "defer"),
        "WORD",
        "who asks: `inbox` here, `defer` the agent's own prompt where the agent honours that",
    ),
    Setting("notify_desktop", _switch, "YES", "tell of each question on the desktop, where `notify-send` is there"),
    Setting("notify_url", _address, "URL", "an ntfy topic or a webhook that is told of each question"),
    Setting("notify_as", _choice("json", "ntfy"), "WORD", "how it is told: `json` for a webhook, or `ntfy`"),
    Setting("log_format", _choice("json", "text"), "WORD", "`json` or `text`"),
    Setting("log_level", _choice("debug", "info", "warning", "error"), "WORD", "the least that is logged"),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


def read_setting(name: str, text: str, place: str) -> Any:
    """Read one setting as it was written at `place`, or raise `AssentError`."""
    try:
        return BY_NAME[name].read(text)
    except ValueError as error:
        raise AssentError(f"{place}: {error}, not `{text[:80]}`") from None


def read_block(field: ConfigField, layer: Layer) -> dict[str, Any]:
    """Read the `server` block of a file. A project has no say in how the daemon runs."""
    if layer not in (Layer.MANAGED, Layer.USER):
        raise field.error("A project can not configure the daemon.", suggestion="put it in the user's file")
    return {name: _read_field(entry, name) for name, entry in field.fields(tuple(BY_NAME)).items()}


def _read_field(entry: ConfigField, name: str) -> Any:
    if isinstance(entry.node, YamlSequence):
        text = ",".join(entry.texts())
    elif isinstance(entry.node, Scalar) and not entry.is_null:
        text = entry.node.text
    else:
        raise entry.expected("a value")
    try:
        return BY_NAME[name].read(text)
    except ValueError as error:
        raise entry.error(f"Invalid {entry.name}: {error}.") from None

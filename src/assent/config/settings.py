"""The daemon's settings with types and defaults, parsed the same way from flags, environment and files."""

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
    """Network, store, limits and notifications of the daemon. The defaults suit one person's machine."""

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
    """One setting: its parser and its help text."""

    name: str
    read: Callable[[str], Any]
    shown: str
    """The placeholder of the value in help."""
    means: str

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"ASSENT_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The command-line option."""
        return f"--{self.name.replace('_', '-')}"


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _switch(text: str) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if text.lower() not in words:
        raise ValueError("must be true or false")
    return words[text.lower()]


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def read_duration(text: str) -> float:
    """Parse a duration: seconds, or a number with the unit `s`, `m`, `h` or `d`."""
    found = _DURATION.fullmatch(text.strip())
    seconds = float(found[1]) * _SECONDS[found[2] or "s"] if found and len(text) < 20 else 0.0
    if not 0.01 <= seconds <= 366 * 86400:
        raise ValueError("must be a time such as 90, 30m or 2h")
    return seconds


def _lease(text: str) -> float:
    seconds = read_duration(text)
    if seconds < 1:
        raise ValueError("must be at least a second")
    return seconds


def _size(text: str) -> int:
    found = _SIZE.fullmatch(text)
    size = int(found[1]) * {"": 1, "k": 1 << 10, "m": MIB}[(found[2] or "").lower()] if found else 0
    if not 1024 <= size <= 64 * MIB:
        raise ValueError("must be a size from 1k to 64m")
    return size


def _names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (part.strip().lower() for part in text.split(","))))
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"`{name}` is not a host name with an optional port")
    return names


def _folders(text: str) -> tuple[str, ...]:
    folders = tuple(filter(None, (part.strip() for part in text.split(","))))
    for folder in folders:
        if not os.path.isabs(folder):  # noqa: PTH117 - paths are strings here
            raise ValueError(f"`{folder}` is not an absolute path")
    return tuple(map(os.path.normpath, folders))


def _url(text: str) -> str:
    if not _URL.fullmatch(text.rstrip("/").lower()):
        raise ValueError("must be a scheme, a host and optionally a port: https://assent.example")
    return text.rstrip("/").lower()


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("must be a URL: https://ntfy.example/topic")
    return text


def _choice(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of: {', '.join(words)}")
        return text

    return read


SETTINGS = (
    Setting("host", _text, "ADDRESS", "the address to listen on"),
    Setting("port", _whole(0, 65535), "PORT", "the port to listen on; 0 takes a free one"),
    Setting("expose", _switch, "YES", "listen on an address that other machines can reach"),
    Setting("store", _text, "URL", "`sqlite:///FILE` or `postgresql://…`; by default `assent.db` in Assent's home"),
    Setting("names", _names, "NAME,…", "more accepted Host header values, with ports"),
    Setting(
        "public_url", _url, "URL", "the URL of the daemon behind a proxy; with https, cookies are sent over https only"
    ),
    Setting("socket", _switch, "YES", "listen on `assent.sock` in Assent's home as well"),
    Setting("expiry", read_duration, "TIME", "how long a question stays open"),
    Setting("wait", read_duration, "TIME", "the longest wait for an answer with `?wait=`"),
    Setting("rate", _whole(0, 10**6), "N", "requests per second of one token; 0 for no limit"),
    Setting("body", _size, "SIZE", "the largest request body"),
    Setting("hook_body", _size, "SIZE", "the largest request body of a hook"),
    Setting("pending", _whole(1, 10**6), "N", "pending questions of one agent; more are denied"),
    Setting("pending_size", _size, "SIZE", "total size of the pending calls of one agent"),
    Setting("queue", _whole(1, 10**5), "N", "messages queued for a slow WebSocket before it is closed"),
    Setting("heartbeat", read_duration, "TIME", "the interval of WebSocket heartbeats"),
    Setting("grace", read_duration, "TIME", "how long a stopping daemon waits for open requests"),
    Setting("lease", _lease, "TIME", "how long a daemon may be silent before others on the same store end its runs"),
    Setting("strategies", _folders, "DIR,…", "more folders of strategies that users may run"),
    Setting(
        "agent_prompt",
        _choice("inbox", "defer"),
        "WORD",
        "where questions appear: `inbox` in Assent, `defer` in the agent's own prompt if it supports that",
    ),
    Setting("notify_desktop", _switch, "YES", "desktop notification for each question, with `notify-send`"),
    Setting("notify_url", _address, "URL", "an ntfy topic or webhook that is notified of each question"),
    Setting("notify_as", _choice("json", "ntfy"), "WORD", "the notification format: `json` for a webhook, or `ntfy`"),
    Setting("log_format", _choice("json", "text"), "WORD", "`json` or `text`"),
    Setting("log_level", _choice("debug", "info", "warning", "error"), "WORD", "the lowest level that is logged"),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}


def read_setting(name: str, text: str, place: str) -> Any:
    """Parse one setting, or raise `AssentError` that names its `place`."""
    try:
        return BY_NAME[name].read(text)
    except ValueError as error:
        raise AssentError(f"{place}: {error}, not `{text[:80]}`") from None


def read_block(field: ConfigField, layer: Layer) -> dict[str, Any]:
    """Parse the `server` block of a file; a project's file must not have one."""
    if layer not in (Layer.MANAGED, Layer.USER):
        raise field.error("a project cannot configure the daemon", suggestion="put it in the user's file")
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

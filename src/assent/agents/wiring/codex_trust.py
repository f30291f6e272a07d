"""Trust hooks in Codex, which runs only hooks whose hash the user trusts and computes the hash itself."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import time
import tomllib
from typing import TYPE_CHECKING, Any

import msgspec

from assent.agents.wiring.settings_changes import SettingsChange, read_text
from assent.model import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIG_FILE = "config.toml"
_SECONDS = 20.0
_HINT = "start Codex and trust the hooks with /hooks"


class CodexHook(msgspec.Struct, frozen=True):
    """One of Assent's hooks as Codex lists it."""

    key: str
    hash: str
    trusted: bool
    enabled: bool


def list_hooks(program: str, cwd: str, environ: Mapping[str, str], lines: Sequence[str]) -> list[CodexHook]:
    """Return Codex's hooks that run exactly one of these lines, or raise `ConfigError`.

    A repository can contain hooks that only look like Assent's; those must not be trusted.
    """
    if not program:
        raise ConfigError("`codex` is not on the PATH", suggestion=_HINT)
    try:
        with subprocess.Popen(  # noqa: S603 - the user's own Codex
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=dict(environ),
        ) as process:
            try:
                answer = _converse(process, cwd)
            finally:
                process.kill()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"cannot list the hooks of Codex: {error}", suggestion=_HINT) from None
    return [
        CodexHook(hook["key"], hook["currentHash"], hook.get("trustStatus") == "trusted", bool(hook.get("enabled")))
        for entry in answer["data"]
        for hook in entry["hooks"]
        if hook.get("command") in lines
    ]


def _converse(process: subprocess.Popen[bytes], cwd: str) -> Any:
    client = {"clientInfo": {"name": "assent", "title": "Assent", "version": "0"}}
    _send(process, {"id": 0, "method": "initialize", "params": client})
    _receive(process, 0)
    _send(process, {"method": "initialized"})
    _send(process, {"id": 1, "method": "hooks/list", "params": {"cwds": [cwd]}})
    return _receive(process, 1)["result"]


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    if process.stdin is None:
        raise ValueError("no stdin")
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes], wanted: int) -> Any:
    if process.stdout is None:
        raise ValueError("no stdout")
    end, data, channel = time.monotonic() + _SECONDS, b"", process.stdout.fileno()
    while True:
        while b"\n" in data:
            line, _, data = data.partition(b"\n")
            message = json.loads(line)
            if message.get("id") == wanted and "method" not in message:
                return message
        ready, _, _ = select.select([channel], [], [], max(0.0, end - time.monotonic()))
        piece = os.read(channel, 1 << 16) if ready else b""
        if not piece:
            raise ValueError("no response")
        data += piece


def plan_trust(folder: str, hooks: Sequence[CodexHook]) -> SettingsChange:
    """Plan the change of Codex's settings that trusts these hooks."""
    if not hooks:
        raise ConfigError("Codex does not find the hooks in its settings", suggestion="see `assent doctor`")
    path = os.path.join(folder, CONFIG_FILE)
    before = read_text(path)
    text = before or ""
    for hook in hooks:
        text = _trust(text, hook)
    try:
        state = tomllib.loads(text)["hooks"]["state"]
        is_whole = all(state[hook.key]["trusted_hash"] == hook.hash for hook in hooks)
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        raise ConfigError("cannot trust the hooks in this file", file=path, suggestion=_HINT)
    return SettingsChange(path, None if before is None else before.encode(), text.encode())


def _trust(text: str, hook: CodexHook) -> str:
    header = f"[hooks.state.{json.dumps(hook.key)}]"
    said = f"trusted_hash = {json.dumps(hook.hash)}"
    if header not in text:
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{header}\n{said}\n"
    head, _, tail = text.partition(header)
    table, bracket, rest = (
        re.split(r"(?m)^(\[|\Z)", tail, maxsplit=1) if re.search(r"(?m)^\[", tail) else (tail, "", "")
    )
    changed, count = re.subn(r"(?m)^trusted_hash\s*=.*$", said, table, count=1)
    return f"{head}{header}{changed if count else f'{chr(10)}{said}{table}'}{bracket}{rest}"

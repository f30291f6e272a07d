"""Which shell runs an agent's lines: its user's, where the agent takes that one, or else the one it falls back to."""

from __future__ import annotations

from collections.abc import Callable

_FALLBACK = "zsh"
"""Agents fall back to zsh or to bash, as they find them: what both read alike is sure."""
_TAKEN: dict[str, Callable[[str], str]] = {
    "claude-code": lambda name: name if name in ("bash", "zsh") else _FALLBACK,
    "codex": lambda name: name if name in ("bash", "zsh", "sh", "pwsh", "powershell") else _FALLBACK,
    "gemini": lambda _: "bash",
    "opencode": lambda name: _FALLBACK if name in ("fish", "nu") else name,
}


def shell_of(agent: str, told: str) -> str:
    """Name the shell, by the agent and by what its `SHELL` says; nothing if it says nothing."""
    name = told.rpartition("/")[2].lower().removesuffix(".exe").lstrip("-")
    return _TAKEN.get(agent, str)(name) if name else ""

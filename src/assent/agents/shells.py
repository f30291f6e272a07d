"""Which shells may run an agent's lines: its user's, where the agent takes that one, or else what it falls back to."""

from __future__ import annotations

from collections.abc import Callable

_FALLBACK = "zsh"
"""Agents fall back to zsh or to bash, as they find them: what both read alike is sure."""
_MODELS_CHOICE = "zsh,sh"
"""In Codex the model names the shell of each call, and the hook does not hear which: what all read alike is sure."""
_TAKEN: dict[str, Callable[[str], str]] = {
    "claude-code": lambda name: name if name in ("bash", "zsh") else _FALLBACK,
    "codex": lambda name: name if name in ("pwsh", "powershell") else _MODELS_CHOICE,
    "gemini": lambda _: "bash",
    "opencode": lambda name: _FALLBACK if name in ("fish", "nu") else name,
}


def shell_of(agent: str, told: str) -> str:
    """Name the shells, by the agent and by what its `SHELL` says; where neither says anything, nothing."""
    name = told.rpartition("/")[2].lower().removesuffix(".exe").lstrip("-")
    return _TAKEN.get(agent, str)(name) if name or agent == "codex" else ""

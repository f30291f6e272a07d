"""The shells in which an agent may run commands: its user's, or the agent's fallback."""

from __future__ import annotations

from collections.abc import Callable

_FALLBACK = "zsh"
"""Agents fall back to zsh or bash: only what both parse alike is certain."""
_MODELS_CHOICE = "zsh,sh"
"""In Codex the model chooses the shell of each call unseen by the hook: only what all shells parse alike is certain."""
_TAKEN: dict[str, Callable[[str], str]] = {
    "claude-code": lambda name: name if name in ("bash", "zsh") else _FALLBACK,
    "codex": lambda name: name if name in ("pwsh", "powershell") else _MODELS_CHOICE,
    "gemini": lambda _: "bash",
    "opencode": lambda name: _FALLBACK if name in ("fish", "nu") else name,
}


def shell_of(agent: str, variable: str) -> str:
    """Return the shells of an agent, from its `SHELL` variable; empty if unknown."""
    name = variable.rpartition("/")[2].lower().removesuffix(".exe").lstrip("-")
    return _TAKEN.get(agent, str)(name) if name or agent == "codex" else ""

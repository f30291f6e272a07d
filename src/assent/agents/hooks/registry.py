"""The agents whose hooks are understood, by name."""

from __future__ import annotations

from types import ModuleType

from assent.agents.hooks import claude_code, codex, docker_agent, gemini, generic, opencode

AGENTS: dict[str, ModuleType] = {
    "claude-code": claude_code,
    "codex": codex,
    "docker-agent": docker_agent,
    "gemini": gemini,
    "generic": generic,
    "opencode": opencode,
}

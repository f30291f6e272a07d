"""What an agent needs inside a sandbox: folders for its state, its login and the hosts of its model."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Folder(msgspec.Struct, frozen=True, kw_only=True):
    """A folder with an agent's state. Inside the sandbox the agent has a separate one there."""

    default: str
    """Below the home directory."""
    variable: str = ""
    """The environment's name for it."""
    below: str = ""
    """What is appended where the variable names it."""
    shown: tuple[str, ...] = ()
    """Read inside as it is outside: settings, hooks, instructions. What an agent plants there never runs outside."""
    shared: tuple[str, ...] = ()
    """Logins, which agents renew: what is written inside counts outside."""
    copied: tuple[tuple[str, str], ...] = ()
    """Files of the home directory that have a copy in the folder, and its name there."""


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's needs."""

    folders: tuple[Folder, ...]
    variables: tuple[str, ...]
    """Variables that are passed on, secrets among them: the agent's own."""
    addresses: tuple[str, ...] = ()
    """Variables that name where the model is."""
    hosts: tuple[str, ...]

    def hosts_in(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the hosts to reach: where the user points the agent to, or else its maker's."""
        named = [host for name in self.addresses if (host := _host(environ.get(name, "")))]
        return tuple(dict.fromkeys(named)) or self.hosts


def _host(address: str) -> str:
    from urllib.parse import urlsplit  # noqa: PLC0415 - few commands are agents

    try:
        found = urlsplit(address)
        port = found.port or (80 if found.scheme == "http" else None)
    except ValueError:
        return ""
    name = found.hostname or ""
    name = f"[{name}]" if ":" in name else name
    return f"{name}:{port}" if name and port else name


NEEDS: dict[str, Needs] = {
    "claude": Needs(
        folders=(
            Folder(
                default=".claude",
                variable="CLAUDE_CONFIG_DIR",
                shown=(
                    *("settings.json", "settings.local.json", "CLAUDE.md", "agents", "commands", "hooks"),
                    *("keybindings.json", "output-styles", "plugins", "rules", "skills"),
                ),
                shared=(".credentials.json",),
                copied=((".claude.json", ".claude.json"),),
            ),
        ),
        variables=(
            *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
            *("ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
            *("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"),
        ),
        addresses=("ANTHROPIC_BASE_URL",),
        hosts=("api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"),
    ),
    "codex": Needs(
        folders=(
            Folder(
                default=".codex",
                variable="CODEX_HOME",
                shown=("config.toml", "hooks.json", "AGENTS.md", "rules", "prompts", "plugins", "skills"),
                shared=("auth.json",),
            ),
        ),
        variables=("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"),
        addresses=("OPENAI_BASE_URL",),
        hosts=("api.openai.com", "chatgpt.com", "auth.openai.com"),
    ),
    "gemini": Needs(
        folders=(
            Folder(
                default=".gemini",
                shown=(
                    *("settings.json", "GEMINI.md", "policies", "extensions", "commands", "skills", "agents"),
                    *("trustedFolders.json", "trusted_hooks.json", ".env"),
                ),
                shared=("oauth_creds.json", "google_accounts.json"),
            ),
        ),
        variables=(
            *("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_CLOUD_PROJECT", "GEMINI_MODEL"),
            *("GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_LOCATION", "GEMINI_CLI_NO_RELAUNCH"),
        ),
        addresses=("GOOGLE_GEMINI_BASE_URL",),
        hosts=(
            *("generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com", "oauth2.googleapis.com"),
            "aiplatform.googleapis.com",
        ),
    ),
    "opencode": Needs(
        folders=(
            Folder(default=".local/share/opencode", variable="XDG_DATA_HOME", below="opencode", shared=("auth.json",)),
            Folder(default=".local/state/opencode", variable="XDG_STATE_HOME", below="opencode"),
        ),
        variables=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "OPENCODE_CONFIG"),
        hosts=("opencode.ai", "models.dev", "api.anthropic.com", "api.openai.com", "openrouter.ai"),
    ),
}
"""Needs by the name of the program."""

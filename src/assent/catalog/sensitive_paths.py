"""Places that matter by their name: the control plane, and what else is sensitive to write.

Patterns are looked for anywhere in a path, without regard to case; a folder counts with all that is in it.
"""

from __future__ import annotations

import functools

from assent.catalog.name_matching import Names
from assent.catalog.secret_names import is_secret
from assent.model import fold

CONTROL_PLANE = (
    ".claude",
    ".claude.json",
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".codex",
    ".gemini",
    ".agents",
    ".cursor",
    ".cursorrules",
    ".clinerules",
    ".windsurf",
    ".continue",
    ".aider.conf.yml",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".crush.json",
    "crush.json",
    ".copilot",
    ".github/copilot",
    ".github/hooks",
    ".goose",
    ".goosehints",
    ".qwen",
    ".factory",
    ".grok",
    ".kimi",
    ".amp",
    ".roo",
    ".kilocode",
    ".mcp.json",
    "mcp.json",
    "assent.yaml",
    "agentrail.yaml",
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/objects/info/alternates",
    ".git/modules",
    ".git",
    ".gitattributes",
    ".gitmodules",
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    ".husky",
    ".lefthook.yml",
    "lefthook.yml",
    ".pre-commit-config.yaml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".inputrc",
    ".config/fish",
    ".xprofile",
    ".xinitrc",
    ".config/autostart",
    ".config/systemd",
    ".config/environment.d",
    "Library/LaunchAgents",
    "Library/LaunchDaemons",
    ".envrc",
    ".direnv",
    ".tool-versions",
    ".mise.toml",
    "mise.toml",
    ".vscode",
    ".idea",
    ".fleet",
    ".zed",
    ".devcontainer",
    ".devcontainer.json",
    "*.code-workspace",
    ".vim",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".config/nvim",
    ".emacs",
    ".emacs.d",
    ".dir-locals.el",
    ".github/workflows",
    ".github/actions",
    ".gitlab-ci.yml",
    ".circleci",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".drone.yml",
    ".woodpecker",
    ".woodpecker.yml",
    ".buildkite",
    "bitbucket-pipelines.yml",
    ".ci",
    "mise.local.toml",
    ".mise.local.toml",
    ".config/mise",
    ".rtx.toml",
    "CLAUDE.local.md",
    "AGENT.md",
    "AGENTS.override.md",
    "QWEN.md",
    "WARP.md",
    ".windsurfrules",
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".kiro",
    ".junie",
    ".amazonq",
    ".roomodes",
    ".trae",
    ".augment",
    ".gitea/workflows",
    ".forgejo/workflows",
    ".cirrus.yml",
    ".gitlab-ci.yaml",
    "azure-pipelines.yaml",
    "lefthook.yaml",
    ".lefthook.yaml",
    "lefthook-local.yml",
    ".pre-commit-config.yml",
    ".hg/hgrc",
    ".hgrc",
    ".jj",
    ".nvim.lua",
    ".ackrc",
    ".ripgreprc",
    "env/bin",
    ".tox",
    ".nox",
    "site-packages",
    ".Rprofile",
    ".irbrc",
    ".pryrc",
    ".ghci",
    ".psqlrc",
    ".sqliterc",
    "git~1",
    ".venv/bin",
    "venv/bin",
    ".venv/Scripts",
    "venv/Scripts",
    "node_modules/.bin",
    "pyvenv.cfg",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "*.beam",
    "*.ndll",
    ".pdbrc",
    ".pythonrc",
    ".pythonrc.py",
    ".pythonstartup",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases",
    ".yarn/plugins",
    ".npmrc",
    ".pnpmfile.cjs",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".lefthook.toml",
    "lefthook.toml",
    ".mise",
    ".terraform",
    ".gitpod.yml",
    ".cursorignore",
    ".lesskey",
    ".mvn",
    ".bundle",
    ".bazelrc",
    ".jvmopts",
    ".sbtopts",
    ".perldb",
    ".ocamlinit",
    ".jq",
    ".svn",
    ".bandit",
    ".codespellrc",
    "ansible.cfg",
    "appveyor.yml",
    ".appveyor.yml",
    "buildspec.yml",
    "cloudbuild.yaml",
    "cloudbuild.yml",
    ".cargo/config",
    ".cargo/config.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".gdbinit",
    ".lldbinit",
    ".tmux.conf",
    ".screenrc",
    ".curlrc",
    ".wgetrc",
    ".ssh",
)
"""Writing one decides later what runs: firm asks."""

PROTECTED = (
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/info/attributes",
    ".git/commondir",
    ".claude",
    ".mcp.json",
    ".codex",
    ".gemini",
    ".cursor",
    ".opencode",
    "opencode.json",
    ".agents",
    ".vscode",
    ".idea",
    ".zed",
    ".devcontainer",
    ".husky",
    ".envrc",
    ".mise.toml",
    "assent.yaml",
    "agentrail.yaml",
)
"""In the root of a workspace a sandboxed command may read these and not write them, whether they exist or not.

Fewer than the control plane: what builds and installs must write (`.venv/bin`, `conftest.py`) is left out.
"""

CONTROL_PATHS = (
    "/etc/assent",
    "/etc/cron*",
    "/var/spool/cron",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/bash.bashrc",
    "/etc/environment",
    "/etc/ld.so.*",
    "/etc/init.d",
    "/etc/systemd",
    "/etc/claude-code",
    "/etc/codex",
    "/etc/gemini-cli",
    "/etc/cursor",
    "/etc/github-copilot",
)

SENSITIVE_PATHS = (
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/proc",
    "/root",
    "/run",
    "/sbin",
    "/srv",
    "/sys",
    "/usr",
    "/var",
    "/Library",
    "/System",
    "/Applications",
    "/private/etc",
    "/private/var/db",
    "/Windows",
)
"""Writing there is dangerous even where no workspace is known."""

HARMLESS_DEVICES = frozenset(
    {"/dev/null", "/dev/zero", "/dev/full", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"}
)

ENDLESS = frozenset({"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
"""Whoever reads one of these to its end never comes there."""

_INSTALLED = frozenset(
    (
        *("env/bin", "venv/bin", ".venv/bin", "venv/scripts", ".venv/scripts", "node_modules/.bin", "site-packages"),
        "pyvenv.cfg",
    )
)
"""Of the control plane, what installers make anew: it may go, as whole environments and `node_modules` do."""

_FILLED = _INSTALLED | frozenset(
    (
        *(".tox", ".nox", ".direnv", ".mise", ".bundle", ".terraform"),
        *(".git/objects", ".git/refs", ".git/logs", ".git/lfs", ".git/modules", ".git/worktrees", ".svn", ".jj"),
    )
)
"""Of the control plane, what installers fill with links of their own and repositories with their history."""

_ON_THE_WAY = frozenset(
    name[:end].lower() for name in CONTROL_PLANE for end, letter in enumerate(name) if letter == "/"
)


_KEPT_IN = frozenset(
    name[:end].lower()
    for name in CONTROL_PLANE
    if name.lower() not in _INSTALLED
    for end, letter in enumerate(name)
    if letter == "/"
)

_LAST = tuple(name.lower().rpartition("/")[2] for name in (*CONTROL_PLANE, *CONTROL_PATHS))
_NAMED = frozenset(name for name in _LAST if "*" not in name)
_STARTS = tuple(name.rstrip("*") for name in _LAST if name.endswith("*"))
_ENDS = tuple(name.lstrip("*") for name in _LAST if name.startswith("*"))

_control = Names(CONTROL_PLANE, CONTROL_PATHS)
_system = Names((), SENSITIVE_PATHS)


@functools.lru_cache(maxsize=4096)
def is_control_plane(path: str) -> bool:
    """Tell whether a path decides later what runs."""
    return _control.find(path)


def holds_control_plane(path: str) -> bool:
    """Tell whether a folder, named from a project or a home, may hold what decides later what runs, by other names."""
    low = fold(path)
    return low not in _FILLED and (low in _ON_THE_WAY or is_control_plane(f"/{path}"))


def control_plane_below(path: str) -> tuple[str, ...]:
    """Return the names, from a folder on, that decide later what runs; nothing for a folder that is no way to any."""
    low = fold(path).rstrip("/")
    way = next((way for way in _ON_THE_WAY if low == way or low.endswith(f"/{way}")), None)
    return () if way is None else _names_below(way)


@functools.cache
def _names_below(way: str) -> tuple[str, ...]:
    return tuple(name[len(way) + 1 :] for name in CONTROL_PLANE if name.lower().startswith(f"{way}/"))


def may_begin_control_plane(name: str) -> bool:
    """Tell, quickly, whether a name in a project or a home may be the control plane, or hold some of it."""
    return may_end_control_plane(name) or name.lower() in _ON_THE_WAY


def may_end_control_plane(name: str) -> bool:
    """Tell, quickly, whether a path that ends in a name may be the control plane where what is above it is not."""
    low = name.lower()
    if low in _NAMED or low.startswith(_STARTS) or low.endswith(_ENDS):
        return True
    return not name.isascii() or name[-1:] in (".", " ")


def is_above_control_plane(path: str, *, goes: bool) -> bool:
    """Tell whether a folder's name says that what decides later what runs is in it; `goes`: what no installer makes."""
    low = fold(path).rstrip("/") + "/"
    above = any(low.endswith(f"/{name}/") for name in (_KEPT_IN if goes else _ON_THE_WAY))
    return above or any(name.startswith(low) for name in CONTROL_PATHS)


def is_installed(path: str) -> bool:
    """Tell whether what is found at a path is what installers put there."""
    low = fold(path)
    return any(low.endswith(f"/{name}") for name in _INSTALLED)


def is_sensitive(path: str) -> bool:
    """Tell whether writing there is more than writing a file of one's own."""
    return is_system(path) or is_secret(path) or is_control_plane(path)


@functools.lru_cache(maxsize=4096)
def is_system(path: str) -> bool:
    """Tell whether a path belongs to the system."""
    return _system.find(path) and path not in HARMLESS_DEVICES

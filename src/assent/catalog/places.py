"""Places that matter by their name: secrets, the control plane, and what else is sensitive to write.

Patterns are looked for anywhere in a path, without regard to case; a folder counts with all that is in it.
"""

from __future__ import annotations

import functools

import assent.regex as re
from assent.catalog.match import Names

SECRETS = (
    ".env",
    ".env.*",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.asc",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".ssh",
    ".gnupg",
    ".password-store",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/sops",
    ".config/git/credentials",
    ".terraform.d/credentials*",
    "terraform.tfstate*",
    "*.tfvars",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".s3cfg",
    ".boto",
    ".git-credentials",
    ".cargo/credentials*",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".vault-token",
    ".htpasswd",
    "credentials",
    "credentials.json",
    "credentials.y*ml",
    "credentials.toml",
    "service-account*.json",
    "client_secret*.json",
    "secrets",
    "secrets.json",
    "secrets.y*ml",
    "secrets.toml",
    "secrets.env",
    ".secrets",
    "master.key",
    ".*_history",
    ".zhistory",
    ".viminfo",
    ".lesshst",
    ".local/share/fish/fish_history",
    "Library/Keychains",
    "Library/Cookies",
    "login.keychain*",
    ".mozilla/firefox",
    ".config/google-chrome",
    ".config/chromium",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
)
"""Reading one by name asks."""

SECRET_PATHS = (
    "/etc/shadow*",
    "/etc/gshadow*",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_*",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/*/maps",
    "/proc/*/task/*/environ",
    "/proc/*/task/*/mem",
    "/proc/*/task/*/maps",
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/sd*",
    "/dev/nvme*",
    "/dev/disk",
    "/run/secrets",
    "/var/run/secrets",
)

SECRET_FILES = {
    "HISTFILE": "~/.bash_history",
    "KUBECONFIG": "~/.kube/config",
    "NETRC": "~/.netrc",
    "PGPASSFILE": "~/.pgpass",
    "AWS_CONFIG_FILE": "~/.aws/config",
    "DOCKER_CONFIG": "~/.docker/config.json",
    "NPM_CONFIG_USERCONFIG": "~/.npmrc",
}
"""Variables that hold the path of one."""

NOT_SECRET = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub", "*.pem.pub", "cacert.pem")
"""Made to be shown."""

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

_SECRET_NAME = re.compile(
    r"(?i)(^|_)(api_?key|access_?key|secret|token|passw(or)?d|passphrase|credentials?|private_?key|auth|cookie|dsn|pat)(_|$)"
    r"|_key$|_pwd$|apikey|secretkey|^pgpassword$|database_url$"
)
_PUBLIC_NAMES = frozenset({"SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZERS_PARALLELISM"})


_secret = Names(SECRETS, SECRET_PATHS)
_not_secret = Names(NOT_SECRET)
_control = Names(CONTROL_PLANE, CONTROL_PATHS)
_system = Names((), SENSITIVE_PATHS)


@functools.lru_cache(maxsize=4096)
def is_secret(path: str) -> bool:
    """Tell whether a path names a key, a credential or a history."""
    return _secret.find(path) and not _not_secret.find(path.rpartition("/")[2])


@functools.lru_cache(maxsize=4096)
def is_control_plane(path: str) -> bool:
    """Tell whether a path decides later what runs."""
    return _control.find(path)


def is_sensitive(path: str) -> bool:
    """Tell whether writing there is more than writing a file of one's own."""
    return is_system(path) or is_secret(path) or is_control_plane(path)


@functools.lru_cache(maxsize=4096)
def is_system(path: str) -> bool:
    """Tell whether a path belongs to the system."""
    return _system.find(path) and path not in HARMLESS_DEVICES


def is_secret_variable(name: str) -> bool:
    """Tell whether a variable by this name holds a secret."""
    return name not in _PUBLIC_NAMES and _SECRET_NAME.search(name) is not None

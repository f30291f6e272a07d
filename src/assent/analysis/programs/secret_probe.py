"""Expressions that names are searched with: whether one is after a secret, told by trying it on examples."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import assent.lazy_regex as re
from assent.analysis.resources.re2 import compile_expression
from assent.model import RuleError

_LONGEST = 200
_SECRET = (
    ".env",
    ".env.local",
    "prod.env",
    "server.pem",
    "private.key",
    "id_rsa",
    "id_ed25519",
    "keystore.jks",
    "vault.kdbx",
    "cert.p12",
    "cert.pfx",
    "key.ppk",
    "backup.gpg",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".htpasswd",
    ".bash_history",
    ".zsh_history",
    ".viminfo",
    ".vault-token",
    "credentials",
    "credentials.json",
    "secrets.yml",
    "secrets.json",
    "kubeconfig",
    "terraform.tfstate",
    "prod.tfvars",
    "wp-config.php",
    "master.key",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    "shadow",
    "sudoers",
    "environ",
    "ssh_host_rsa_key",
    "/etc/shadow",
    "/etc/sudoers",
    "/etc/ssh/ssh_host_rsa_key",
    "/proc/self/environ",
)
"""Names of secrets, some of each kind; of some only where they lie makes them one."""
_ORDINARY = (
    "main.py",
    "index.ts",
    "App.tsx",
    "README.md",
    "package.json",
    "config.yaml",
    "config.yml",
    "test_x.php",
    "Makefile",
    "/etc/nginx/nginx.conf",
    "src/main.py",
)
"""Names that are in every project: an expression that these fit is after more than secrets."""
_PLAIN = re.compile(r"\\([(){}|+?])|([(){}|+?])")


def fitting(expression: str) -> tuple[str, ...]:
    """Give the secrets that an expression finds, if it is after those; one that cannot be tried is after none."""
    return _fitting(expression) if len(expression) <= _LONGEST else ()


@functools.lru_cache(maxsize=1024)
def _fitting(expression: str) -> tuple[str, ...]:
    found = [_tried(expression), _tried(_PLAIN.sub(_swapped, expression))]
    if "(?" in expression and found[0] is _SECRET:
        return _SECRET
    known = [each for each in found if each is not _SECRET] or found[:1]
    return tuple(dict.fromkeys(name for each in known for name in each))


def _swapped(found: re.Match[str]) -> str:
    """Write a basic expression as an extended one: there the bare signs are the plain ones."""
    return found[1] or "\\" + found[2]


def _tried(expression: str) -> Sequence[str]:
    expression = expression.replace("\\<", "").replace("\\>", "")
    try:
        finds = compile_expression(f"(?i){expression}").search
    except RuleError:
        return _SECRET  # nobody knows what it finds
    return (
        () if any(map(finds, _ORDINARY)) else [n for n in _SECRET if finds(n) or finds(f"./{n}") or finds(f"./{n}/x")]
    )

"""The variables that a sandboxed command gets: those on a list, without the secrets in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assent.catalog.secrets import is_secret_variable
from assent.reading.hosts import parse_host

NAMES = frozenset(
    [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "COLORTERM",
        "TERM_PROGRAM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "COLUMNS",
        "LINES",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "LESS",
        "CI",
        "DEBIAN_FRONTEND",
        "SOURCE_DATE_EPOCH",
        "CC",
        "CXX",
        "CPP",
        "AR",
        "LD",
        "CFLAGS",
        "CXXFLAGS",
        "CPPFLAGS",
        "LDFLAGS",
        "MAKEFLAGS",
        "PKG_CONFIG_PATH",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CONDA_DEFAULT_ENV",
        "PYENV_ROOT",
        "PYENV_VERSION",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUNBUFFERED",
        "PYTHONHASHSEED",
        "PYTHONPATH",
        "PYTHONWARNINGS",
        "PYTHONUTF8",
        "NODE_ENV",
        "NODE_OPTIONS",
        "NODE_PATH",
        "NVM_DIR",
        "NVM_BIN",
        "VOLTA_HOME",
        "PNPM_HOME",
        "COREPACK_HOME",
        "GOPATH",
        "GOROOT",
        "GOFLAGS",
        "GOPROXY",
        "GONOSUMDB",
        "GOSUMDB",
        "GOPRIVATE",
        "GOTOOLCHAIN",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "RUSTUP_AUTO_INSTALL",
        "RUSTFLAGS",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "JAVA_HOME",
        "M2_HOME",
        "GRADLE_HOME",
        "GEM_HOME",
        "GEM_PATH",
        "BUNDLE_PATH",
        "RBENV_ROOT",
        "ASDF_DIR",
        "ASDF_DATA_DIR",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_SSL_CAINFO",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "CURL_CA_BUNDLE",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "NIX_SSL_CERT_FILE",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ]
)
"""What programs need to find each other, to speak the user's language, and to build."""
_PREFIXES = ("LC_", "PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "CARGO_", "YARN_")
_PLACES = frozenset(
    {"HOME", "USER", "LOGNAME", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "GOPROXY"}
)
_INDEXES = ("PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "CARGO_HOME", "YARN_NPM_REGISTRY_SERVER")
SOCKET_VARIABLES = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR")
"""What names a socket of the user's session, which is hidden inside."""
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*@")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def pass_on(environ: Mapping[str, str], allowed: Iterable[str]) -> dict[str, str]:
    """Return what of the environment goes inside. A secret does so only if the profile names that very variable."""
    named = set(allowed)
    found = {n: v for n, v in environ.items() if n in named}
    for name, value in environ.items():
        if name not in named and (name in NAMES or name.startswith(_PREFIXES)) and not is_secret_variable(name):
            found[name] = _CREDENTIALS.sub("", value)
    return found


def places_of(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the variables by which a daemon finds its user's places and indexes, for its launcher to go by.

    None of them holds a secret, and none says what a program loads.
    """
    kept = {name: value for name, value in pass_on(environ, ()).items() if name in _PLACES or name.startswith(_INDEXES)}
    return kept | {name: environ[name] for name in SOCKET_VARIABLES if name in environ} | {"ASSENT_HOME": home}


def proxy_variables(port: int, hosts: Iterable[str]) -> dict[str, str]:
    """Return the variables by which programs find the way out through the proxy."""
    url = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy")
    local = [n for n in _LOOPBACK if n not in {parse_host(h).name for h in hosts}]
    # Servers that the command itself starts are reached directly.
    direct = ",".join(local)
    return dict.fromkeys(names, url) | {
        "NO_PROXY": direct,
        "no_proxy": direct,
        "npm_config_noproxy": direct,
        "NODE_USE_ENV_PROXY": "1",
    }

"""The environment of a sandboxed command: the variables on a list, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from assent.analysis.resources.hosts import parse_host
from assent.catalog.secret_names import KEY_FORMS, SECRET_FILES, SECRET_FOLDERS, SECRET_PARAMETERS, is_secret_name
from assent.sandbox.environment.harmless_names import is_harmless

_PLACES = frozenset(
    {"HOME", "USER", "LOGNAME", "LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "GOPROXY"}
)
_INDEXES = ("PIP_", "UV_", "NPM_CONFIG_", "npm_config_", "CARGO_HOME", "YARN_NPM_REGISTRY_SERVER")
SOCKET_VARIABLES = ("SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR")
"""Variables that name a socket of the user's session, which is hidden inside."""
FILE_VARIABLES = (
    *SECRET_FILES,
    *("npm_config_userconfig", "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "BOTO_CONFIG"),
)
"""Variables that name a file with secrets, which is hidden inside."""
_KEPT = (*FILE_VARIABLES, *SECRET_FOLDERS)
_USER_INFO = re.compile(r"(?:(?<=://)|(?<![^\s=,;|])//)[^\s/?#\\]*@")
_SCHEMELESS = re.compile(r"(?<![^\s=,;|])[^\s/@:=,;|]+:[^\s/@,;|]*@(?=[\w.\[-])")
_ADDRESS = re.compile(r"//(?P<host>[^\s/?#\\,;|]*)(?P<rest>[^\s]*)")
_PLAIN_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]*\]|[\w.~-]*)(?::[0-9]*)?", re.ASCII)
_ODD_ADDRESS = re.compile(r"(?i)\b(?:https?|wss?|ftp):(?!//[^/\\])")
"""Malformed URLs that some clients accept, with user and password."""
_PARAMETER = re.compile(r"[?&#;]([^=&#;]+)=")
_SECRET_PARAMETER = re.compile(rf"(?i){SECRET_PARAMETERS}")
_KEY = re.compile(KEY_FORMS)
_ASSIGNED = re.compile(r"""([\w.-]+)=(?=["']?[^\s"'/]{6})""")
_OPTION = re.compile(r"""(?<!\S)--?([\w-]+)\s+(?=["']?[^\s"'/-][^\s"'/]{5})""")
_PASSED = "jobserver-auth"
"""Looks like the name of a secret, but is how make finds its job server."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def pass_on(environ: Mapping[str, str], allowed: Iterable[str]) -> dict[str, str]:
    """Return the variables that go inside. A secret does only if the profile names its variable."""
    named = set(allowed)
    found = {n: v for n, v in environ.items() if n in named}
    for name, value in environ.items():
        if name not in named and is_harmless(name) and (left := without_credentials(value)) is not None:
            found[name] = left
    return found


def without_credentials(value: str) -> str | None:
    """Remove users and passwords from the URLs in a value; None if the value may still hold a secret."""
    named = (*_ASSIGNED.findall(value), *_OPTION.findall(value))
    if any(map(_is_secret, named)) or _KEY.search(value) or _ODD_ADDRESS.search(value):
        return None
    if not any(mark in value for mark in "@?#;%") and value.isascii():
        return value
    left = _SCHEMELESS.sub("", _USER_INFO.sub(lambda m: "//" if m[0].startswith("//") else "", value))
    return left if all(map(_is_plain, _ADDRESS.finditer(left))) else None


def _is_secret(name: str) -> bool:
    """Tell whether the value of a variable, macro or option with this name is a secret."""
    return is_secret_name(name.lstrip("-")) and not name.endswith(_PASSED)


def _is_plain(address: re.Match[str]) -> bool:
    """Tell whether a URL surely has no password left, in its port or in its parameters."""
    if not _PLAIN_HOST.fullmatch(address["host"]):
        return False
    names = _PARAMETER.findall(address["rest"])
    return not any(is_secret_name(name) or _SECRET_PARAMETER.fullmatch(name) for name in names)


def places_of(environ: Mapping[str, str], home: str) -> dict[str, str]:
    """Return the variables that name the user's folders and package indexes, for the daemon's launcher.

    None of them holds a secret, and none makes a program load code.
    """
    kept = {name: value for name, value in pass_on(environ, ()).items() if name in _PLACES or name.startswith(_INDEXES)}
    places = {name: environ[name] for name in _KEPT if environ.get(name, "").startswith("/")}
    sockets = {name: environ[name] for name in SOCKET_VARIABLES if name in environ}
    return kept | places | sockets | {"ASSENT_HOME": home}


def proxy_variables(port: int, hosts: Iterable[str]) -> dict[str, str]:
    """Return the variables that make programs use the proxy."""
    url = f"http://127.0.0.1:{port}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy")
    local = [n for n in _LOOPBACK if n not in {parse_host(h).name for h in hosts}]
    # The command reaches servers that it starts itself without the proxy.
    direct = ",".join(local)
    return dict.fromkeys(names, url) | {
        "NO_PROXY": direct,
        "no_proxy": direct,
        "npm_config_noproxy": direct,
        "NODE_USE_ENV_PROXY": "1",
    }

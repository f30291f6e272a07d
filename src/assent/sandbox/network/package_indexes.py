"""The hosts that installing and fetching need: the user's configured package indexes and the repository's remotes.

Settings in the project do not count, because a repository must not widen a boundary.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from assent.analysis.resources.hosts import Host, parse_host
from assent.model import AssentError
from assent.platform.files import find_file
from assent.sandbox.environment.variables import without_credentials
from assent.sandbox.network.default_indexes import go_hosts, npm_hosts, pip_hosts

_PIP_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
_UV_VARIABLES = ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_FIND_LINKS")
_URL = re.compile(r"https?://[^\s\"',;]+")
_PIP_KEY = re.compile(r"\s*(index-url|extra-index-url|find-links|index_url|extra_index_url|find_links)\s*[=:](.*)")
_NPM_KEY = re.compile(r"\s*(?:@[\w.-]+:)?registry\s*=(.*)")
_REMOTE = re.compile(r"\s*(?:url|pushurl)\s*=\s*(https?://\S+)")


def package_hosts(environ: Mapping[str, str], home: str | None) -> tuple[str, ...]:
    """Return the hosts of the configured indexes, each with its port unless it is the default."""
    found = [*_python(environ, home), *_node(environ, home), *_rust(environ, home), *_go(environ)]
    return tuple(dict.fromkeys(found))


def remote_hosts(root: str) -> tuple[str, ...]:
    """Return the hosts of a repository's HTTP remotes."""
    store = os.path.join(root, ".git")
    pointer = _lines(store) if os.path.isfile(store) else []
    if pointer and pointer[0].startswith("gitdir:"):
        store = os.path.join(root, pointer[0].partition(":")[2].strip(), "..", "..")
    urls = (m[1] for line in _lines(os.path.join(store, "config")) if (m := _REMOTE.match(line)))
    return tuple(dict.fromkeys(_hosts(urls)))


def _python(environ: Mapping[str, str], home: str | None) -> list[str]:
    said = [v for n in (*_PIP_VARIABLES, *_UV_VARIABLES) if (v := environ.get(n))]
    index = [v for n in ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX") if (v := environ.get(n))]
    for file in _pip_files(environ, home):
        for key, value in _pip_settings(_lines(file)):
            said.append(value)
            if key.replace("_", "-") == "index-url":
                index.append(value)
    hosts = _hosts(u for text in said for u in _URL.findall(text))
    return [*hosts, *(() if index else _hosts(pip_hosts()))]


def _pip_files(environ: Mapping[str, str], home: str | None) -> list[str]:
    files = ["/etc/pip.conf", environ.get("PIP_CONFIG_FILE", "")]
    if home is not None:
        config = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        files += [os.path.join(config, "pip/pip.conf"), os.path.join(home, ".pip/pip.conf")]
    return [f for f in files if f and f != os.devnull]


def _pip_settings(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the settings that name indexes; a value may continue on indented lines."""
    key = ""
    for line in lines:
        if found := _PIP_KEY.match(line):
            key = found[1]
            yield key, found[2]
        elif key and line[:1] in (" ", "\t"):
            yield key, line
        else:
            key = ""


def pip_variables(environ: Mapping[str, str], home: str | None) -> dict[str, str]:
    """Return the user's indexes as variables: the files may hold passwords, and are hidden inside."""
    found: dict[str, list[str]] = {}
    for file in _pip_files(environ, home):
        for key, value in _pip_settings(_lines(file)):
            urls = [url for url in _URL.findall(value) if without_credentials(url) == url]
            found.setdefault("PIP_" + key.replace("-", "_").upper(), []).extend(urls)
    said = {name: urls for name, urls in found.items() if urls and name not in environ}
    return {name: urls[-1] if name == "PIP_INDEX_URL" else " ".join(urls) for name, urls in said.items()}


def _node(environ: Mapping[str, str], home: str | None) -> list[str]:
    files = ["/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc", environ.get("NPM_CONFIG_USERCONFIG", "")]
    files += [os.path.join(home, ".npmrc")] if home else []
    said = [m[1] for f in files if f for line in _lines(f) if (m := _NPM_KEY.match(line))]
    own = [
        v for n in ("npm_config_registry", "NPM_CONFIG_REGISTRY", "YARN_NPM_REGISTRY_SERVER") if (v := environ.get(n))
    ]
    hosts = _hosts(u for text in (*said, *own) for u in _URL.findall(text))
    return list(dict.fromkeys(hosts)) or _hosts(npm_hosts())


def npm_registry(environ: Mapping[str, str], home: str | None) -> str | None:
    """Return the registry of the user's `.npmrc`, without a password: the file is hidden inside."""
    if home is None or any(n in environ for n in ("npm_config_registry", "NPM_CONFIG_REGISTRY")):
        return None
    lines = _lines(environ.get("NPM_CONFIG_USERCONFIG") or os.path.join(home, ".npmrc"))
    said = [m[1] for line in lines if (m := re.match(r"\s*registry\s*=\s*(\S+)", line))]
    return without_credentials(said[-1].strip("\"'")) if said else None


def _rust(environ: Mapping[str, str], home: str | None) -> list[str]:
    place = environ.get("CARGO_HOME") or (os.path.join(home, ".cargo") if home else "")
    settings = _read_toml(_lines(os.path.join(place, "config.toml")) or _lines(os.path.join(place, "config")))
    tables = [t for k in ("source", "registries") for t in settings.get(k, {}).values() if isinstance(t, dict)]
    urls = [str(t[k]).removeprefix("sparse+") for t in tables for k in ("registry", "index") if k in t]
    return _hosts(urls)


def _read_toml(lines: list[str]) -> dict[str, Any]:
    if not lines:
        return {}
    import tomllib  # noqa: PLC0415 - slow to load, and few have such a file

    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return {}


def _go(environ: Mapping[str, str]) -> list[str]:
    said = environ.get("GOPROXY", "")
    return _hosts(_URL.findall(said) if said else go_hosts())


def _hosts(urls: Iterable[str]) -> list[str]:
    """Return the hosts of these URLs, without those that cannot be parsed."""
    found = []
    for url in urls:
        try:
            parts = urlsplit(url.strip().strip("\"'"))
            usual = {"http": 80, "https": 443}.get(parts.scheme)
            port = None if parts.port == usual else parts.port
            name = parts.hostname or ""
            found.append(str(parse_host(str(Host(name, port)))))
        except (ValueError, AssentError):
            continue
    return found


def _lines(path: str) -> list[str]:
    try:
        content = find_file(path)
    except AssentError:
        return []
    return [] if content is None else content.data.decode("utf-8", errors="replace").splitlines()

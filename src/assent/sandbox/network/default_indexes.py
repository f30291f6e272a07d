"""The default package indexes of pip, npm and Go, read from the files that they are installed with.

Only from the system, or from the Python that runs Assent: a copy in a project could name any host.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import sys

_SYSTEM = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_PIP_FILE = "pip/_internal/models/index.py"
_PIP = re.compile(
    r"^PyPI = PackageIndex\(\s*[\"'](https://[^\"']+)[\"'],\s*file_storage_domain=[\"']([\w.-]+)[\"']", re.MULTILINE
)
_NPM_FILE = "../../node_modules/@npmcli/config/lib/definitions/definitions.js"
_NPM = re.compile(r"Definition\('registry',\s*\{\s*default: '(https://[^']+)'")
_GO = re.compile(r"^GO(?:PROXY|SUMDB)=(.+)$", re.MULTILINE)


@functools.cache
def pip_hosts() -> tuple[str, ...]:
    """Return pip's index, and the host of its files."""
    own = os.path.join(sys.base_prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    places = [own, "/usr/lib/python3/dist-packages", *glob.glob("/usr/local/lib/python3*/*-packages")]
    for place in places:
        if found := _PIP.search(_text(os.path.join(place, _PIP_FILE))):
            return found[1], f"https://{found[2]}/"
    return ()


@functools.cache
def npm_hosts() -> tuple[str, ...]:
    """Return npm's registry."""
    program = _which("npm", _SYSTEM)
    found = _NPM.search(_text(os.path.join(os.path.realpath(program), _NPM_FILE))) if program else None
    return (found[1],) if found else ()


@functools.cache
def go_hosts() -> tuple[str, ...]:
    """Return Go's module proxy and checksum database."""
    program = _which("go", f"{_SYSTEM}:/usr/local/go/bin")
    said = _GO.findall(_text(os.path.join(os.path.realpath(program), "../../go.env"))) if program else []
    return tuple(part if "://" in part else f"https://{part}/" for text in said for part in re.split("[,|]", text))


def _text(path: str) -> str:
    try:
        with open(os.path.normpath(path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _which(name: str, path: str) -> str | None:
    names = (os.path.join(folder, name) for folder in path.split(":"))
    return next((n for n in names if os.path.isfile(n) and os.access(n, os.X_OK)), None)

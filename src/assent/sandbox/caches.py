"""Private caches of a workspace: what package managers may write, apart from everyone else's."""

from __future__ import annotations

import contextlib
import hashlib
import os

from assent.config.files import make_private_folder
from assent.sandbox.errors import Unavailable
from assent.sandbox.mounts import CACHE
from assent.sandbox.user import User

_LARGEST_SETTINGS = 1 << 20
_VARIABLES = {
    "XDG_CACHE_HOME": "",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "npm_config_cache": "npm",
    "npm_config_store_dir": "pnpm",
    "YARN_CACHE_FOLDER": "yarn",
    "YARN_GLOBAL_FOLDER": "yarn-global",
    "CARGO_HOME": "cargo",
    "GOMODCACHE": "go-modules",
    "GOCACHE": "go-build",
    "GRADLE_USER_HOME": "gradle",
    "NUGET_PACKAGES": "nuget",
    "BUNDLE_USER_HOME": "bundle",
    "COMPOSER_CACHE_DIR": "composer",
    "DENO_DIR": "deno",
    "npm_config_devdir": "node-gyp",
}


def open_cache(assent_home: str, roots: tuple[str, ...], user: User) -> str:
    """Return the folder that holds this workspace's caches, made if need be and owned by whoever runs there."""
    name = hashlib.sha256("\0".join(roots).encode(errors="surrogateescape")).hexdigest()[:24]
    above = os.path.join(assent_home, "sandbox", "caches")
    folder = os.path.join(above, name)
    make_private_folder(above)
    try:
        os.makedirs(os.path.join(folder, "cargo"), mode=0o700, exist_ok=True)
        _copy_settings(user.home, os.path.join(folder, "cargo"))
        if user.dropped:
            for place in (folder, os.path.join(folder, "cargo")):
                os.chown(place, user.uid, user.gid)
    except OSError as error:
        raise Unavailable(f"{folder} can not hold a cache: {error.strerror}") from None
    return folder


def _copy_settings(home: str, folder: str) -> None:
    """Give cargo its settings, which say where packages come from; they lie where its cache would be."""
    for name in ("config.toml", "config"):
        source, copy = os.path.join(home, ".cargo", name), os.path.join(folder, name)
        with contextlib.suppress(OSError):
            if os.path.lexists(copy):
                os.unlink(copy)
            if os.path.isfile(source):
                with open(source, "rb") as old, open(copy, "wb") as new:
                    new.write(old.read(_LARGEST_SETTINGS))
                os.chmod(copy, 0o444)


def cache_variables() -> dict[str, str]:
    """Return the variables by which package managers find their caches."""
    return {name: os.path.join(CACHE, place).rstrip("/") for name, place in _VARIABLES.items()}

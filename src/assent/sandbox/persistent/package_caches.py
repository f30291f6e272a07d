"""Caches that package managers may write inside, separate for each workspace."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from typing import Any

from assent.catalog.secret_names import is_secret_variable
from assent.platform.files import make_private_folder
from assent.sandbox import nofollow
from assent.sandbox.environment.variables import without_credentials
from assent.sandbox.errors import Unavailable
from assent.sandbox.mounts.plan import CACHE
from assent.sandbox.profiles.user import User

_LARGEST_SETTINGS = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
    """Return the folder of this workspace's caches; create it if needed, owned by the user of the command."""
    name = hashlib.sha256("\0".join(roots).encode(errors="surrogateescape")).hexdigest()[:24]
    above = os.path.join(assent_home, "sandbox", "caches")
    folder = os.path.join(above, name)
    make_private_folder(above)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.chmod(folder, 0o700)  # a command may have changed it
        with nofollow.open_folder(os.path.realpath(folder)) as cache, nofollow.make_folder(cache, "cargo") as cargo:
            _copy_settings(user, cargo)
            if user.dropped:
                os.chown("cargo", user.uid, user.gid, dir_fd=cache, follow_symlinks=False)
                os.chown(folder, user.uid, user.gid)
    except OSError as error:
        raise Unavailable(f"{folder} cannot hold a cache: {error.strerror}") from None
    return folder


def _copy_settings(user: User, folder: int) -> None:
    """Copy cargo's settings, which name its registries, into its cache, where cargo looks for them."""
    for name in ("config.toml", "config"):
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            settings = _read_own(os.path.join(user.home, ".cargo", name), user)
            copy = os.open(name, _NEW, 0o444, dir_fd=folder)
            with open(copy, "wb") as new:
                new.write(clean_settings(settings))
                os.fchmod(copy, 0o444)


def clean_settings(data: bytes) -> bytes:
    """Return TOML settings without secrets; empty if they cannot be parsed."""
    import tomllib  # noqa: PLC0415 - slow to load, and few have such a file

    try:
        found = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return b""
    return "".join(f"{_write(name)} = {_write(value)}\n" for name, value in _clean(found).items()).encode()


def _clean(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out keys with names of secrets, and remove passwords from URLs."""
    kept = {name: value for name, value in table.items() if not is_secret_variable(name.replace("-", "_"))}
    return {name: left for name, value in kept.items() if (left := _clean_value(value)) is not None}


def _clean_value(value: Any) -> Any:
    match value:
        case dict():
            return _clean(value)
        case list():
            return [left for each in value if (left := _clean_value(each)) is not None]
        case str():
            return without_credentials(value)
        case _:
            return value


def _write(value: Any) -> str:
    """Write a value as TOML on one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_write(name)} = {_write(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_write, value)) + "]"
        case bool():
            return "true" if value else "false"
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return str(value)


def _read_own(path: str, user: User) -> bytes:
    """Read a plain file; for another user only if they own it, because a link may lead to a file of others."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or (user.dropped and found.st_uid != user.uid):
            raise PermissionError
        return file.read(_LARGEST_SETTINGS)


def cache_variables() -> dict[str, str]:
    """Return the variables that name the caches for package managers."""
    return {name: os.path.join(CACHE, place).rstrip("/") for name, place in _VARIABLES.items()}

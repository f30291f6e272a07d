"""The daemon's effective settings: flags before environment variables, organisation's file, user's file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from assent.config.assent_yaml import parse_assentfile
from assent.config.settings import SETTINGS, ServerSettings, read_setting
from assent.model import Layer
from assent.platform.files import find_file
from assent.platform.paths import MANAGED_FILE, find_managed, user_file, user_home

if TYPE_CHECKING:
    from collections.abc import Mapping


def load_settings(
    flags: Mapping[str, str] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    managed_file: str = MANAGED_FILE,
    managed_owner: int = 0,
) -> ServerSettings:
    """Return the effective settings. An invalid value is an error, never replaced by a default."""
    found: dict[str, Any] = {}
    user = find_file(user_file(environ))
    if user is not None:
        home = user_home(environ)
        found |= parse_assentfile(user.data, user_file(environ), layer=Layer.USER, home=home).server
    managed = find_managed(managed_file, managed_owner)
    if managed is not None:
        found |= parse_assentfile(managed.data, managed_file, layer=Layer.MANAGED).server
    for setting in SETTINGS:
        if (text := environ.get(setting.variable)) is not None:
            found[setting.name] = read_setting(setting.name, text, setting.variable)
    for name, text in (flags or {}).items():
        found[name] = read_setting(name, text, f"--{name.replace('_', '-')}")
    return msgspec.convert(found, ServerSettings)


def dashboard_url() -> str:
    """Return the address at which this user's browser finds the dashboard."""
    settings = load_settings()
    return settings.public_url or f"http://127.0.0.1:{settings.port or 7422}"

"""The state of a contained agent, separate from its state outside, so that nothing it writes runs outside."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from assent.agents.sandbox_needs import Folder, Needs
from assent.agents.wiring.hook_files import place_hook
from assent.platform.daemon_address import ASK_FOLDER
from assent.platform.files import make_private_folder
from assent.sandbox.errors import Unavailable

_LARGEST = 16 << 20

Binds: TypeAlias = tuple[tuple[str, str], ...]


class AgentState(msgspec.Struct, frozen=True):
    """The agent's folders inside, and variables that name them."""

    written: Binds
    shown: Binds
    environment: tuple[tuple[str, str], ...]


def open_state(needs: Needs, assent_home: str, workspace: tuple[str, ...], environ: Mapping[str, str]) -> AgentState:
    """Make an agent's folders for this workspace, or raise `Unavailable`."""
    home = os.path.realpath(environ.get("HOME", "") or os.path.expanduser("~"))
    name = hashlib.sha256("\0".join(workspace).encode(errors="surrogateescape")).hexdigest()[:24]
    above = os.path.join(assent_home, "sandbox", "states", name)
    written: list[tuple[str, str]] = []
    shown: list[tuple[str, str]] = []
    told: list[tuple[str, str]] = []
    try:
        for folder in needs.folders:
            outside = _outside(folder, home, environ)
            own = os.path.join(above, folder.default.replace("/", "-"))
            os.makedirs(outside, mode=0o700, exist_ok=True)
            make_private_folder(own)
            written.append((own, os.path.realpath(outside)))
            written += _there(folder.shared, outside)
            shown += _there(folder.shown, outside)
            _forget(own, [name for name in folder.shown if not os.path.lexists(os.path.join(outside, name))])
            _forget(own, [name for name in (*folder.shown, *folder.shared) if os.path.islink(os.path.join(own, name))])
            _copy(folder, home, outside, own)
            if folder.variable and not folder.below:
                told.append((folder.variable, os.path.realpath(outside)))
    except OSError as error:
        raise Unavailable(f"the agent's folder cannot be made: {error}") from None
    return AgentState(tuple(written), tuple(shown), tuple(told))


def show_assent_home(home: str) -> Binds:
    """Return what a contained agent sees in place of Assent's home: the socket to ask on, the hook script, tokens."""
    asking, tokens = os.path.join(home, ASK_FOLDER), os.path.join(home, "agents")
    make_private_folder(asking)
    make_private_folder(os.path.join(asking, "agents"))
    place_hook(asking)
    real = os.path.realpath(home)
    return ((asking, real), *(((tokens, os.path.join(real, "agents")),) if os.path.isdir(tokens) else ()))


def _outside(folder: Folder, home: str, environ: Mapping[str, str]) -> str:
    chosen = environ.get(folder.variable, "") if folder.variable else ""
    if os.path.isabs(chosen):
        return os.path.join(chosen, folder.below).rstrip("/")
    return os.path.join(home, folder.default)


def _there(names: tuple[str, ...], folder: str) -> list[tuple[str, str]]:
    """Return the existing ones of these names: the real path, and the path inside."""
    paths = [os.path.join(folder, name) for name in names]
    inside = os.path.realpath(folder)
    return [
        (os.path.realpath(path), os.path.join(inside, name))
        for name, path in zip(names, paths, strict=True)
        if os.path.exists(path)
    ]


def _forget(own: str, names: list[str]) -> None:
    """Remove settings that an agent created inside where there are none outside."""
    for name in names:
        path = os.path.join(own, name)
        if os.path.isdir(path) and not os.path.islink(path):
            import shutil  # noqa: PLC0415 - slow to load, and seldom needed

            shutil.rmtree(path)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _copy(folder: Folder, home: str, outside: str, own: str) -> None:
    """Copy files that an agent keeps beside its folder, unless the folder has them; changes stay inside."""
    for source, name in folder.copied:
        found = next((p for p in (os.path.join(outside, name), os.path.join(home, source)) if os.path.isfile(p)), None)
        copy = os.path.join(own, name)
        _forget(own, [name])
        if found is not None:
            with open(found, "rb") as old, open(copy, "xb") as new:
                os.fchmod(new.fileno(), 0o600)
                new.write(old.read(_LARGEST))

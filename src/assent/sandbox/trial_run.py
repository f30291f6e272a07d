"""Whether a sandbox can really be set up in a workspace: found out by setting one up.

All processes of a user believe what worked for ten minutes. What failed is tried again whenever somebody asks, and a
sandbox that could not be set up for a real command takes the belief with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assent.analysis.resources.paths import Place
from assent.model import ConfigError, SandboxProfile
from assent.platform.facts import observe
from assent.platform.files import find_private, make_private_folder, write_private
from assent.platform.paths import assent_home
from assent.policy.sandbox_profiles import profile
from assent.sandbox.linux.mechanisms import stamp

BELIEVED = 600.0
"""For how many seconds what worked is believed."""
_SECONDS = 60


class SandboxTrial(msgspec.Struct, frozen=True):
    """How a sandbox was set up."""

    fault: str | None = None
    """Why it could not be; None if it could."""
    said: str = ""
    """What the command inside printed."""
    seconds: float = 0.0


def find_fault(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> str | None:
    """Return why no sandbox that writes in these folders can be set up, None if one can; no folders: one that reads."""
    roots = tuple(roots)
    if is_believed(roots, environ):
        return None
    fault = attempt(roots, ["true"], environ).fault
    if fault is None:
        _believe(roots, environ)
    return fault


def is_believed(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a sandbox was set up here lately."""
    try:
        file = _file(roots, environ)
        if not os.path.isfile(file) or find_private(file, suggestion="delete it") != _content():
            return False
        return 0 <= time.time() - os.stat(file).st_mtime < BELIEVED
    except (ConfigError, OSError):
        return False


def forget(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> None:
    """Believe no longer that a sandbox can be set up here."""
    with contextlib.suppress(ConfigError, OSError):
        os.unlink(_file(roots, environ))


def attempt(roots: Sequence[str], argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> SandboxTrial:
    """Set a sandbox up now, and run a command in it that prints little."""
    found: list[SandboxTrial] = []
    # In a thread of its own: whoever asks may be in the midst of an event loop.
    thread = threading.Thread(target=lambda: found.append(asyncio.run(_attempt(roots, argv, environ))), daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return found[0] if found else SandboxTrial(f"a sandbox was not set up within {_SECONDS} seconds")


async def _attempt(roots: Sequence[str], argv: Sequence[str], environ: Mapping[str, str]) -> SandboxTrial:
    from assent.sandbox.sandbox import Sandbox  # noqa: PLC0415 - slow to load, and it forgets what is known here

    began = time.perf_counter()
    try:
        async with Sandbox(_profile(roots, environ), environ=environ) as box:
            process = await box.start(argv)
            said = b"" if process.stdout is None else b"".join([piece async for piece in process.stdout])
            ended = await process.wait()
            seconds = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001 - whatever keeps a sandbox from being set up is the fault
        return SandboxTrial(str(error) or type(error).__name__)
    fault = f"`{argv[0]}` ended with {ended.code} inside" if ended.code else None
    return SandboxTrial(fault, said.decode(errors="replace"), seconds)


def _profile(roots: Sequence[str], environ: Mapping[str, str]) -> SandboxProfile:
    place = Place(observe(environ), roots[0] if roots else "/", tuple(roots))
    found = profile("workspace-write" if roots else "read-only", place)
    if found is None:
        raise ConfigError("there is no such profile")
    return found


def _believe(roots: Iterable[str], environ: Mapping[str, str]) -> None:
    with contextlib.suppress(ConfigError, OSError):
        file = _file(roots, environ)
        make_private_folder(os.path.dirname(file))
        write_private(file, _content())


def _content() -> bytes:
    """Say on what machine it worked, since which start of it."""
    return msgspec.json.encode(stamp())


def _file(roots: Iterable[str], environ: Mapping[str, str]) -> str:
    names = sorted({os.path.realpath(root) for root in roots})
    name = hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()[:24]
    return os.path.join(assent_home(environ), "sandbox", "trials", name)

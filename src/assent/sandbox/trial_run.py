"""Find out whether a sandbox can be set up in a workspace, by setting one up.

All processes of a user trust a success for ten minutes. A failure is retried on every request, and a sandbox that could
not be set up for a real command ends the trust.
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

TRUSTED_SECONDS = 600.0
"""For how many seconds a success is trusted."""
_SECONDS = 60


class SandboxTrial(msgspec.Struct, frozen=True):
    """The result of setting up a sandbox."""

    fault: str | None = None
    """Why it could not be set up; None if it was."""
    said: str = ""
    """What the command inside printed."""
    seconds: float = 0.0


def find_fault(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> str | None:
    """Return why no sandbox that writes in these folders can be set up; None if one can. No folders: read-only."""
    roots = tuple(roots)
    if is_trusted(roots, environ):
        return None
    fault = attempt(roots, ["true"], environ).fault
    if fault is None:
        _remember(roots, environ)
    return fault


def is_trusted(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a sandbox was set up here recently."""
    try:
        file = _file(roots, environ)
        if not os.path.isfile(file) or find_private(file, suggestion="delete it") != _content():
            return False
        return 0 <= time.time() - os.stat(file).st_mtime < TRUSTED_SECONDS
    except (ConfigError, OSError):
        return False


def forget(roots: Iterable[str], environ: Mapping[str, str] = os.environ) -> None:
    """No longer trust that a sandbox can be set up here."""
    with contextlib.suppress(ConfigError, OSError):
        os.unlink(_file(roots, environ))


def attempt(roots: Sequence[str], argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> SandboxTrial:
    """Set up a sandbox now, and run a command in it that prints little."""
    found: list[SandboxTrial] = []
    # In a thread, because the caller may be inside an event loop.
    thread = threading.Thread(target=lambda: found.append(asyncio.run(_attempt(roots, argv, environ))), daemon=True)
    thread.start()
    thread.join(_SECONDS)
    return found[0] if found else SandboxTrial(f"a sandbox was not set up within {_SECONDS} seconds")


async def _attempt(roots: Sequence[str], argv: Sequence[str], environ: Mapping[str, str]) -> SandboxTrial:
    from assent.sandbox.sandbox import Sandbox  # noqa: PLC0415 - slow to load, and it imports this module

    began = time.perf_counter()
    try:
        async with Sandbox(_profile(roots, environ), environ=environ) as box:
            process = await box.start(argv)
            said = b"" if process.stdout is None else b"".join([piece async for piece in process.stdout])
            ended = await process.wait()
            seconds = time.perf_counter() - began
    except Exception as error:  # noqa: BLE001 - every error of setting up is the result
        return SandboxTrial(str(error) or type(error).__name__)
    fault = f"`{argv[0]}` ended with {ended.code} inside" if ended.code else None
    return SandboxTrial(fault, said.decode(errors="replace"), seconds)


def _profile(roots: Sequence[str], environ: Mapping[str, str]) -> SandboxProfile:
    place = Place(observe(environ), roots[0] if roots else "/", tuple(roots))
    found = profile("workspace-write" if roots else "read-only", place)
    if found is None:
        raise ConfigError("there is no such profile")
    return found


def _remember(roots: Iterable[str], environ: Mapping[str, str]) -> None:
    with contextlib.suppress(ConfigError, OSError):
        file = _file(roots, environ)
        make_private_folder(os.path.dirname(file))
        write_private(file, _content())


def _content() -> bytes:
    """Identify the machine and its boot."""
    return msgspec.json.encode(stamp())


def _file(roots: Iterable[str], environ: Mapping[str, str]) -> str:
    names = sorted({os.path.realpath(root) for root in roots})
    name = hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()[:24]
    return os.path.join(assent_home(environ), "sandbox", "trials", name)

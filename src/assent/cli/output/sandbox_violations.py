"""What a sandbox stopped, in plain words, with what to allow and how."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING

from assent.cli.output.screen import visible
from assent.model import NET_CONNECT, within
from assent.platform.paths import user_home
from assent.sandbox.profiles.workspace_roots import can_be_written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assent.model import SandboxProfile, Violation
    from assent.sandbox.left_programs import Programs

_MOST_SHOWN = 10
_MOST_PROGRAMS = 5


def sum_up(violations: Sequence[Violation], boundary: SandboxProfile, *, asks: bool = False) -> Iterator[str]:
    """Say what was stopped, a line each, and how it could be allowed."""
    count = len(violations)
    yield f"the sandbox ({boundary.name}) stopped {'1 thing' if count == 1 else f'{count} things'}:"
    for violation in violations[:_MOST_SHOWN]:
        yield f"  {_describe(violation)}"
    if count > _MOST_SHOWN:
        yield f"  … and {count - _MOST_SHOWN} more (`--json` shows all)"
    if asks:
        yield "to have a person asked whether it may run outside: make the same call again"
        return
    hosts = [v.resource for v in violations if v.operation is NET_CONNECT and v.mechanism == "proxy"]
    if hosts:
        yield "to reach: assent run " + " ".join(f"--allow-host {h}" for h in hosts[:3]) + " -- …"
    if any(v.operation is NET_CONNECT and v.mechanism != "proxy" for v in violations):
        yield "a program that goes past the proxy (HTTPS_PROXY) reaches nothing: see `network: full` in docs/sandbox.md"
    yield from _to_write([v.resource for v in violations if v.operation is not NET_CONNECT], boundary)


def _to_write(paths: Sequence[str], boundary: SandboxProfile) -> Iterator[str]:
    """Say how these could be written, and where they can not be, that."""
    if not boundary.write_roots and any(within(path, boundary.cwd or "/") for path in paths):
        yield "to write here: assent run --profile workspace-write -- …"
        return
    places = [place for path in paths if (place := _place_to_name(path, boundary.write_roots)) is not None]
    if places:
        yield f"to write: a profile of your own in assent.yaml, with `write: [., {places[0]}]`"
    elif paths:
        yield "no profile lets that be written: home itself, the system, or a protected name that is not there yet"


def _place_to_name(path: str, roots: Sequence[str]) -> str | None:
    """Return what a profile would have to name for a path to be written, if it can."""
    folder = os.path.dirname(path)  # noqa: PTH120 - a string here
    if folder in roots:
        return path if os.path.lexists(path) else None
    homes = (os.path.realpath(user_home() or "/"),)
    return folder if can_be_written(folder, homes) else None


def tell_programs(programs: Programs, roots: Sequence[str]) -> str:
    """Say what was left that runs later: nobody has looked at it yet."""
    names = [
        next((p[len(r) + 1 :] for r in roots if p.startswith(r + "/")), p) for p in programs.paths[:_MOST_PROGRAMS]
    ]
    more = programs.count - len(names)
    shown = visible(", ".join(names)) + (f" and {more} more" if more else "")
    rest = "" if programs.complete else " (not all of the workspace could be looked through)"
    return f"it made or changed what runs later, outside too: {shown or 'nothing that was found'}{rest}"


def _describe(violation: Violation) -> str:
    return visible(violation.words)


async def questions(violation: Violation) -> bool:
    """Ask the person at the terminal, and wait for a line."""
    sys.stderr.write(f"\nassent: outside the sandbox: {_describe(violation)}\nallow it? [y/N] ")
    sys.stderr.flush()
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return line.strip().lower() in ("y", "yes")

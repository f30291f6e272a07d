"""Describe what a sandbox blocked and how to allow it."""

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


def summarise(violations: Sequence[Violation], boundary: SandboxProfile, *, asks: bool = False) -> Iterator[str]:
    """Yield one line per blocked operation, then how to allow them."""
    count = len(violations)
    yield f"the sandbox ({boundary.name}) blocked {'1 operation' if count == 1 else f'{count} operations'}:"
    for violation in violations[:_MOST_SHOWN]:
        yield f"  {_describe(violation)}"
    if count > _MOST_SHOWN:
        yield f"  … and {count - _MOST_SHOWN} more (`--json` shows all)"
    if asks:
        yield "to ask for approval to run it outside the sandbox, repeat the same call"
        return
    hosts = [v.resource for v in violations if v.operation is NET_CONNECT and v.mechanism == "proxy"]
    if hosts:
        yield "to reach: assent run " + " ".join(f"--allow-host {h}" for h in hosts[:3]) + " -- …"
    if any(v.operation is NET_CONNECT and v.mechanism != "proxy" for v in violations):
        yield "programs that ignore HTTPS_PROXY have no network; see `network: full` in docs/sandbox.md"
    yield from _to_write([v.resource for v in violations if v.operation is not NET_CONNECT], boundary)


def _to_write(paths: Sequence[str], boundary: SandboxProfile) -> Iterator[str]:
    """Yield how to make these paths writable, or that no profile can."""
    if not boundary.write_roots and any(within(path, boundary.cwd or "/") for path in paths):
        yield "to write here: assent run --profile workspace-write -- …"
        return
    places = [place for path in paths if (place := _place_to_name(path, boundary.write_roots)) is not None]
    if places:
        yield f"to write: define a profile in assent.yaml with `write: [., {places[0]}]`"
    elif paths:
        yield "no profile can allow that: a home directory, a system folder, or a protected file not yet there"


def _place_to_name(path: str, roots: Sequence[str]) -> str | None:
    """Return the path that a profile must name to make `path` writable; None if no profile can."""
    folder = os.path.dirname(path)  # noqa: PTH120 - a string here
    if folder in roots:
        return path if os.path.lexists(path) else None
    homes = (os.path.realpath(user_home() or "/"),)
    return folder if can_be_written(folder, homes) else None


def describe_programs(programs: Programs, roots: Sequence[str]) -> str:
    """Describe the programs that a command left behind and that may run outside the sandbox."""
    names = [
        next((p[len(r) + 1 :] for r in roots if p.startswith(r + "/")), p) for p in programs.paths[:_MOST_PROGRAMS]
    ]
    more = programs.count - len(names)
    shown = visible(", ".join(names)) + (f" and {more} more" if more else "")
    rest = "" if programs.complete else " (part of the workspace was not searched)"
    return f"the command changed files that may run later outside the sandbox: {shown or 'none found'}{rest}"


def _describe(violation: Violation) -> str:
    return visible(violation.words)


async def ask_at_terminal(violation: Violation) -> bool:
    """Ask at the terminal and wait for the answer."""
    sys.stderr.write(f"\nassent: outside the sandbox: {_describe(violation)}\nallow? [y/N] ")
    sys.stderr.flush()
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return line.strip().lower() in ("y", "yes")

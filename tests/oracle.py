"""Bash as the oracle: what the engine allows is really run, in a sandbox, and must leave nothing undeclared behind.

By hand, any number of random lines: `python tests/oracle.py --count 100000 --seed 7`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assent.catalog import is_builtin
from assent.model import COMMAND_EXECUTE, FS_WRITE, within
from corpus import decide, escape, rows
from grammar import Lines, options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assent.model import Decision

CELL = (Path(__file__).parent / "cell.py").read_text()
START = "import json, sys; exec(json.loads(sys.stdin.readline()))"
BATCH = 200
"""Lines that one sandbox runs."""
AT_ONCE = 3
"""Sandboxes at a time: most of the time goes by waiting for lines that do not end."""
HANGS = 500
"""Seconds after which a sandbox is given up: no line may take so long."""
WRITABLE = ("/code", "/marker", "/home", "/tmp", "/out")
HIDDEN = {"proc", "dev", "run", "sys", *(root[1:] for root in WRITABLE)}
STATE = (
    *("/code/.git/", "/home/u/.gnupg", "/home/u/.npm", "/home/u/.cache", "/home/u/.lesshst", "/home/u/.config"),
    *("/home/u/.gsutil", "/home/u/.terraform.d", "/home/u/.docker", "/home/u/.rpmdb"),
    *("/home/u/.local/share/gem", "/home/u/.w3m"),
    *("/tmp/v8-compile-cache", "/tmp/hsperfdata_", "/tmp/tmux-", "/tmp/pymp-", "/tmp/apt-key-gpghome."),
)
"""What programs keep for themselves: git its index, others their caches, and what they take away again unless they are
cut off, as on a busy machine. What decides about code is not among it."""
KEPT = (
    *("/code/.git/hooks", "/code/.git/config", "/code/.git/info/attributes"),
    *("/home/u/.docker/config.json", "/home/u/.docker/cli-plugins"),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a line that was run."""

    line: str
    changed: tuple[str, ...] = ()
    late: bool = False
    leaked: bool = False
    refused: bool = False
    said: str = ""
    died: bool = False
    """It took the sandbox down with it."""


@cache
def _mounts() -> tuple[str, ...]:
    """Show the machine's programs and libraries, read-only, and none of its own files."""
    shown: list[str] = []
    for name in sorted(set(os.listdir("/")) - HIDDEN):
        path = Path("/", name)
        shown += ["--symlink", os.readlink(path), str(path)] if path.is_symlink() else ["--ro-bind", *[str(path)] * 2]
    for root in WRITABLE:
        shown += ["--size", str(32 << 20), "--tmpfs", root]
    if any(within(sys.base_prefix, root) for root in WRITABLE):
        shown += ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return (*shown, "--dir", "/home/u", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/")


def _is_open(path: str) -> bool:
    """Tell whether everybody may run a program: its file, and the way to it."""
    file = Path(path)
    return all(folder.stat().st_mode & 0o001 for folder in (file, *file.parents))


def _python() -> str:
    """Find an interpreter that also somebody without rights can start; what runs in the cell suits any."""
    found = [os.path.realpath(sys.executable), *(shutil.which(f"python3{v}", path=os.defpath) for v in ("", ".11"))]
    return next(each for each in found if each and (os.geteuid() or _is_open(each)))


def _sandbox() -> subprocess.Popen[str]:
    """Start a sandbox: no network, nothing writable but its own memory, and nobody's rights where root starts it.

    Root's own files under `/proc/sys` would be writable to root also inside, so it must be somebody else.
    """
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap has to be installed"
    nobody = {"user": 65534, "group": 65534, "extra_groups": ()} if os.geteuid() == 0 else {}
    return subprocess.Popen(
        [
            *(bwrap, "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--new-session", "--clearenv"),
            *("--setenv", "PATH", "/usr/bin:/bin", *_mounts(), "--", _python(), "-IS", "-c", START),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **nobody,
    )


def run(lines: list[str]) -> Iterator[Outcome]:
    """Run lines for real, each in the same fresh place, where nothing of this machine can be written or reached."""
    rest = list(lines)
    while rest:
        given = rest[:BATCH]
        with _sandbox() as cell:
            try:
                said, _ = cell.communicate("".join(json.dumps(line) + "\n" for line in (CELL, *given)), timeout=HANGS)
            finally:
                cell.kill()
        ready, *heard = map(json.loads, said.splitlines())
        assert ready == "ready"
        yield from (
            Outcome(line, **{**each, "changed": tuple(each["changed"])})
            for line, each in zip(given, heard, strict=False)
        )
        if len(heard) < len(given):
            yield Outcome(given[len(heard)], died=True)
        rest = rest[len(heard) + (len(heard) < len(given)) :]


def _declared(path: str, decision: Decision) -> bool:
    if path.startswith(STATE) and not path.startswith(KEPT):
        return True
    written = [o.resource for o in decision.reading.operations if o.kind is FS_WRITE]
    return any(within(path, each) or within(each, path) for each in written)


def fault(outcome: Outcome, decision: Decision) -> str | None:
    """Say what an allowed line did that its decision does not tell, or None."""
    undeclared = [path for path in outcome.changed if not _declared(path, decision)]
    if undeclared:
        return f"changed {', '.join(undeclared)}"
    if outcome.died:
        return "ended what ran it"
    if outcome.refused:
        return "tried to write outside"
    if outcome.leaked and not any(o.sweep for o in decision.reading.operations):
        return "showed a secret"
    return None


def faults(lines: Iterable[str]) -> tuple[list[str], int]:
    """Decide lines, run what is allowed, and return what went wrong and how many were run."""
    allowed = {line: decision for line in lines if (decision := decide(line)).decision == "allow"}
    parts = [list(allowed)[share::AT_ONCE] for share in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(itertools.chain.from_iterable(pool.map(list, map(run, parts))))
    assert len(outcomes) == len(allowed)
    found = [
        f"{escape(outcome.line)}\n    {said}; {outcome.said!r}"
        for outcome in outcomes
        if (said := fault(outcome, allowed[outcome.line]))
    ]
    return found, len(allowed)


def can_run(line: str) -> bool:
    """Tell whether every program of a line is installed, so that running it says something."""
    names = {o.argv[0] for o in decide(line).reading.operations if o.kind is COMMAND_EXECUTE and o.argv}
    return bool(names) and all(is_builtin(n) or n == "[[" or shutil.which(n, path="/usr/bin:/bin") for n in names)


def allowed_rows() -> Iterator[str]:
    """Give every line of the corpora that is allowed and can be run."""
    plain = dict.fromkeys(row.line for row in rows() if row.verdict == "allow" and not row.rules)
    return (line for line in plain if can_run(line))


def batches(count: int, seed: int) -> Iterator[list[str]]:
    """Give random lines by the thousand."""
    lines = Lines(random.Random(seed))
    for begin in range(0, count, 1_000):
        yield list(dict.fromkeys(lines.line() for _ in range(min(1_000, count - begin))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--options", action="store_true", help="every option of every program instead of random lines")
    parser.add_argument("--corpora", action="store_true", help="every allowed line of the corpora instead")
    given = parser.parse_args()
    done = ran = wrong = 0
    fixed = options() if given.options else allowed_rows() if given.corpora else None
    for batch in batches(given.count, given.seed) if fixed is None else batched(fixed, 1_000):
        found, allowed = faults(batch)
        done, ran, wrong = done + len(batch), ran + allowed, wrong + len(found)
        for each in found:
            print(each)
        print(f"{done} lines, {ran} allowed and run, {wrong} wrong", flush=True)
    sys.exit(bool(wrong))


def batched(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    while batch := list(itertools.islice(lines, size)):
        yield list(dict.fromkeys(batch))


if __name__ == "__main__":
    main()

"""Install the agents that the tests drive, with the locked versions and hashes, from the configured npm registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent / "agents"
THERE = Path(__file__).parents[1] / ".venv" / "agents"
FILES = ("package.json", "package-lock.json")
BARE = {"opencode": "opencode-linux-x64-baseline/bin/opencode"}
"""Programs that npm does not link. OpenCode's binary is locked directly: the main package requires those of
all platforms, and not every registry has them."""


def main() -> None:
    """Install the agents, unless these versions are already installed."""
    done = THERE / ".installed"
    wanted = (HERE / "package-lock.json").read_bytes()
    if done.is_file() and done.read_bytes() == wanted:
        return
    if b"://" in wanted:
        sys.exit(f"{HERE / 'package-lock.json'} contains a URL")
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm not found; the tests need it to install real agents (Node 20 or newer)")
    THERE.mkdir(parents=True, exist_ok=True)
    done.unlink(missing_ok=True)
    for name in FILES:
        shutil.copyfile(HERE / name, THERE / name)
    subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--silent"], check=True, cwd=THERE)  # noqa: S603
    for name, program in BARE.items():
        (THERE / "node_modules" / ".bin" / name).symlink_to(Path("..") / program)
    done.write_bytes(wanted)


if __name__ == "__main__":
    main()

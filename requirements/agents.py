"""Install the agents that the tests drive, as locked: names, versions and hashes, from wherever npm is set to fetch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent / "agents"
THERE = Path(__file__).parents[1] / ".venv" / "agents"
FILES = ("package.json", "package-lock.json")
BARE = {"opencode": "opencode-linux-x64-baseline/bin/opencode"}
"""Programs of packages that npm links none of. OpenCode's is locked itself, since the package around it demands one for
every system that there is, and those can not all be had everywhere."""


def main() -> None:
    """Install them, unless exactly these are there already."""
    done = THERE / ".installed"
    wanted = (HERE / "package-lock.json").read_bytes()
    if done.is_file() and done.read_bytes() == wanted:
        return
    if b"://" in wanted:
        sys.exit(f"{HERE / 'package-lock.json'} records an address")
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("The tests drive real agents, which npm installs; it is not there (Node 20 or newer)")
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

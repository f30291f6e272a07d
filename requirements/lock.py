"""Update the lock files. They contain names, versions and hashes, but no URLs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOCKS = {
    "dev": ["pyproject.toml", "--all-extras", "--group", "dev", "--group", "build"],
    # Run with the tested versions.
    "run": ["pyproject.toml", "--extra", "all", "--constraints", "requirements/dev.lock"],
    "core": ["pyproject.toml", "--constraints", "requirements/dev.lock"],
    "build": ["--group", "build", "--constraints", "requirements/dev.lock"],
}
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet"]
OPTIONS += ["--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"]


def main() -> None:
    """Compile each lock with uv, which must be on the PATH."""
    for name, sources in LOCKS.items():
        lock = HERE / f"{name}.lock"
        subprocess.run(["uv", "pip", "compile", *OPTIONS, *sources, "-o", str(lock)], check=True, cwd=HERE.parent)  # noqa: S603, S607
        if "://" in lock.read_text():
            sys.exit(f"{lock} contains a URL")


if __name__ == "__main__":
    main()

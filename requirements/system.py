"""Install the system packages that tests and benchmarks need, or name the missing ones."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys

PACKAGES = {
    "bubblewrap": "bwrap",
    "busybox": "busybox",
    "chromium": "chromium",
    "dash": "dash",
    "gcc": "gcc",
    "git": "git",
    "libc6-dev": "/usr/include/fcntl.h",
    "locales": "/usr/share/i18n/locales/tr_TR",
    "npm": "npm",
    "python3-pip": "/usr/lib/python3/dist-packages/pip",
    "postgresql": "/usr/lib/postgresql/*/bin/initdb",
    "ripgrep": "rg",
    "socat": "socat",
    "strace": "strace",
}
"""Debian packages, each with a file that shows that it is installed. The sandbox of the benchmark needs ripgrep and
socat."""


def is_there(program: str) -> bool:
    """Return whether a program is on the PATH or a file matches the pattern."""
    return bool(shutil.which(program) or glob.glob(program))  # noqa: PTH207 - an absolute pattern


def main() -> None:
    """Install missing packages if permitted; otherwise exit and name them."""
    missing = [package for package, program in PACKAGES.items() if not is_there(program)]
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=quiet)  # noqa: S607
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, env=quiet)  # noqa: S603, S607
        missing = [package for package in missing if not is_there(PACKAGES[package])]
    if missing:
        sys.exit(f"missing system packages: {', '.join(missing)}")


if __name__ == "__main__":
    main()

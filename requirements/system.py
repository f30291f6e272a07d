"""Install the system packages that the tests and measurements need, or say exactly which are missing."""

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
"""Debian's packages, each with a program that shows it is there. The sandbox we are measured against needs ripgrep and
socat."""


def is_there(program: str) -> bool:
    """Tell whether a program is on the PATH, or a file of that pattern exists."""
    return bool(shutil.which(program) or glob.glob(program))  # noqa: PTH207 - an absolute pattern


def main() -> None:
    """Install what is missing where that is permitted; otherwise stop and name it."""
    missing = [package for package, program in PACKAGES.items() if not is_there(program)]
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=True, env=quiet)  # noqa: S607
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing], check=True, env=quiet)  # noqa: S603, S607
        missing = [package for package in missing if not is_there(PACKAGES[package])]
    if missing:
        sys.exit(f"These system packages are needed, and can not be installed: {', '.join(missing)}")


if __name__ == "__main__":
    main()

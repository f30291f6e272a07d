"""A person's terminal: a shell at a pseudo-terminal, with a home, a project and a network of its own."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

SECONDS = 120
"""How long a line may take, on a machine that is busy with other things too."""
ALONE = ("bwrap", "--unshare-net", "--dev-bind", "/", "/", "--die-with-parent", "bash", "--noprofile", "--norc")
PROMPT = re.compile(rb"(?:\[y/N\]|no, for this run:) ")
LISTENS = "listens on http"


@dataclass(frozen=True)
class Shown:
    """What came of a line: its exit code, and all that was written to the screen."""

    code: int
    text: str


class Terminal:
    """Lines are typed one after the other into the same shell; what asks there is told yes."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self._said = root / "daemon.out"
        self._daemon = 0
        self._serving = ""
        programs = root / "bin"
        for folder in (self.home, programs):
            folder.mkdir(parents=True)
        assent = programs / "assent"
        assent.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m assent "$@"\n')
        assent.chmod(0o755)
        kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ}
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self._environ = kept | {"HOME": str(self.home), "PATH": path, "TERM": "dumb", "EDITOR": "sed -i s/$/x/"}

    def __enter__(self) -> Self:
        self._screen, screen = pty.openpty()
        told = termios.tcgetattr(screen)
        told[3] &= ~termios.ECHO
        termios.tcsetattr(screen, termios.TCSANOW, told)
        orders, self._orders = os.pipe()
        self._codes, self._codes_there = os.pipe()
        self._shell = subprocess.Popen(
            [*ALONE, f"/dev/fd/{orders}"],
            stdin=screen,
            stdout=screen,
            stderr=screen,
            env=self._environ,
            cwd=self.home,
            pass_fds=(orders, self._codes_there),
            start_new_session=True,
        )
        for descriptor in (orders, screen):
            os.close(descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._shell.pid, signal.SIGKILL)  # whatever was started there is in its group
        self._shell.wait(SECONDS)
        for descriptor in (self._orders, self._screen, self._codes, self._codes_there):
            os.close(descriptor)

    def type(self, line: str) -> Shown:
        """Type a line, and wait until the shell is ready for the next."""
        os.write(self._orders, f"{line}\necho $? >&{self._codes_there}\n".encode())
        screen, answered, end = b"", 0, time.monotonic() + SECONDS
        while True:
            ready, _, _ = select.select([self._screen, self._codes], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"`{line}` does not end: {screen.decode()}"
            if self._screen in ready:
                screen += os.read(self._screen, 65536)
                if len(PROMPT.findall(screen)) > answered:
                    os.write(self._screen, b"y\n")
                    answered += 1
            else:
                return Shown(int(os.read(self._codes, 64)), screen.decode().replace("\r\n", "\n"))

    def serve(self, line: str = "assent serve") -> str:
        """Have a daemon by this line in another terminal, and return what it said; another one is stopped first."""
        if line == self._serving:
            return self._said.read_text()
        if self._daemon:
            self.type(f"kill {self._daemon}; wait {self._daemon}")
        self._said.write_text("")
        self._daemon, self._serving = int(self.type(f"{line} >{self._said} 2>&1 </dev/null & echo $!").text), line
        end = time.monotonic() + SECONDS
        while LISTENS not in (said := self._said.read_text()):
            assert time.monotonic() < end, said
            assert self.type(f"kill -0 {self._daemon}").code == 0, said
            time.sleep(0.02)
        return said

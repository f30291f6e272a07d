"""A real PostgreSQL server, started by the tests that need it, as a user that is not root."""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from assent.store.store import open_store
from ports import free_port

NAME = "postgres"


def find_programs() -> Path:
    """Return the folder of the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    assert on_path is not None, "the tests need a PostgreSQL server's programs"
    return Path(on_path).resolve().parent


def quick_folder() -> str | None:
    """Return a folder in memory if there is room: it outlives a server that is killed, and syncs in no time."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 6 << 30
    return str(memory) if roomy else None


class Postgres:
    """One server in a folder of its own, on a free port of the loopback."""

    def __init__(self, fsync: str = "on") -> None:
        self._programs = find_programs()
        self._folder = Path(tempfile.mkdtemp(prefix="assent-pg-", dir=quick_folder()))
        self._data = self._folder / "data"
        self.port = free_port()
        self._fsync = fsync
        if os.geteuid() == 0:
            user = pwd.getpwnam(NAME)
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        self._run(self._programs / "initdb", "-D", self._data, "-U", NAME, "-A", "trust", "--no-sync", "-E", "UTF8")
        self._server: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        end = time.monotonic() + 60
        while not self._is_up():
            assert time.monotonic() < end, (self._folder / "log").read_text()
            if self._server is None or self._server.poll() is not None:
                self._spawn()  # again, while children of a server that was killed are still about
            time.sleep(0.05)

    def _spawn(self) -> None:
        options = [
            "-D",
            self._data,
            "-p",
            self.port,
            "-h",
            "127.0.0.1",
            "-k",
            self._folder,
            "-c",
            f"fsync={self._fsync}",
        ]
        words = self._as_other([self._programs / "postgres", *options, "-c", "max_connections=200"])
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(words, stdout=log, stderr=log, cwd="/")

    def _is_up(self) -> bool:
        try:
            psycopg.connect(self.url("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """End it as a power cut would, with all its children, by their process ids."""
        assert self._server is not None
        pid = self._server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self._server.kill()
        self._server.wait()
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)

    def close(self) -> None:
        assert self._server is not None
        self._server.send_signal(signal.SIGQUIT)  # at once: nothing of it is wanted any more
        self._server.wait(60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        return f"postgresql://{NAME}@127.0.0.1:{self.port}/{database}"

    def new_database(self, like: str = "template1") -> str:
        """Make an empty database, or one that is like another, and return its address."""
        name = f"t{secrets.token_hex(6)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}")
        return self.url(name)

    def ready_database(self) -> str:
        """Make a database that has our tables, and nothing in them."""
        return self.new_database(self._ready)

    @functools.cached_property
    def _ready(self) -> str:
        url = self.new_database()
        with tempfile.TemporaryDirectory() as home:
            open_store(url, home=home).close()
        return url.rpartition("/")[2]

    def _run(self, *words: object) -> None:
        subprocess.run(self._as_other(words), check=True, capture_output=True, cwd="/")

    def _as_other(self, words) -> list[str]:
        text = [str(word) for word in words]
        if os.geteuid() != 0:
            return text
        user = pwd.getpwnam(NAME)
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *text]

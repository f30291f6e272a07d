"""What runs inside the sandbox of the oracle: one bash for each line, and a look at what it left behind.

Needs nothing but Python. Reads one JSON string a line from standard input, writes one JSON object a line.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

CANARY = "canary-3f9c"
MARKER = "/marker"
HIT = f'#!/bin/sh\necho "$0 $*" >> {MARKER}/hit\n'
WATCHED = ("/code", MARKER, "/home/u", "/tmp")
PATIENCE = 1.0
MANY = 120
"""Processes at which a line is ended."""
FILES = {
    "/code/a.txt": "alpha\nbeta\ngamma\n",
    "/code/b.txt": "one 1\ntwo 2\n",
    "/code/README.md": "# Read me\nhello world\n",
    "/code/data.json": '{"a": [1, 2], "b": {"c": "x"}}\n',
    "/code/f.csv": "n,v\na,1\nb,2\n",
    "/code/Makefile": f"all:\n\techo x >> {MARKER}/hit\n",
    "/code/conf.ini": "[a]\nb=c\n",
    "/code/src/main.py": "import os\nprint(1)\n",
    "/code/src/util.sh": f"echo x >> {MARKER}/hit\n",
    "/code/-ohit.txt": "x\n",
    "/code/--output=hit.txt": "x\n",
    "/code/.env": f"API_KEY={CANARY}\n",
    "/code/.gitignore": ".env\n",
    "/code/app.db": "",
    "/code/db": "",
    "/code/db.sqlite3": "",
    "/code/x.sed": f"1e echo x >> {MARKER}/hit\n",
    "/code/x.awk": f'BEGIN {{ system("echo x >> {MARKER}/hit") }}\n',
    "/code/marks": "/code/a.txt\n/code/b.txt\n",
    "/home/u/.bashrc": "# start\n",
    "/home/u/.ssh/id_rsa": f"{CANARY}\n",
    "/home/u/.local/share/assent/token": f"{CANARY}\n",
    "/tmp/t.txt": "t\n",
}
PROGRAMS = (f"{MARKER}/bin/marker", "/code/evil", "/code/run.sh", "/tmp/evil")
GIT = ("init -q -b main", "add -A", "-c user.name=u -c user.email=u@h commit -qm first")


def build() -> None:
    """Make the place as a line finds it."""
    for root in WATCHED:
        for name in os.listdir(root):
            path = os.path.join(root, name)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
    for path, text in {**FILES, **dict.fromkeys(PROGRAMS, HIT)}.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755 if path in PROGRAMS else 0o644)


def look() -> dict[str, tuple[object, ...]]:
    """Return everything that could have changed."""
    seen: dict[str, tuple[object, ...]] = {}
    waiting = list(WATCHED)
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(PermissionError), os.scandir(folder) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    seen[entry.path] = ("folder", info.st_mode)
                    waiting += [entry.path] * (entry.name != "objects")
                else:
                    seen[entry.path] = (info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, info.st_nlink)
    return seen


def limit() -> None:
    """Bound what one line can use."""
    resource.setrlimit(resource.RLIMIT_CPU, (2, 2))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_NPROC, (MANY * 2, MANY * 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def end_all() -> None:
    """End every process of the sandbox but this one and its first."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def processes() -> int:
    return sum(name.isdecimal() for name in os.listdir("/proc"))


def run(line: str, before: dict[str, tuple[object, ...]], alone: int) -> dict[str, object]:
    """Run one line, and report what is different afterwards."""
    with open("/out/stdout", "w+b") as out, open("/out/stderr", "w+b") as err:
        child = subprocess.Popen(
            ["bash", "--norc", "-c", line],
            cwd="/code",
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={
                "HOME": "/home/u",
                "PATH": f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{MARKER}/bin",
                "LC_ALL": "C.UTF-8",
                "TERM": "dumb",
                "USER": "u",
            },
            preexec_fn=limit,  # noqa: PLW1509 - one thread
        )
        ends, pause = time.monotonic() + PATIENCE, 0.001
        while child.poll() is None and time.monotonic() < ends and processes() < MANY:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)  # most lines end at once, and the others take all the time there is
        late = child.poll() is None
        # What runs on in the background gets a moment to leave its mark.
        while not late and processes() > alone and time.monotonic() < ends:
            time.sleep(0.002)
        end_all()
        child.wait()
        out.seek(0)
        err.seek(0)
        said = (out.read(1 << 18) + err.read(1 << 16)).decode(errors="replace")
    after = look()
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return {
        "changed": changed,
        "late": late,
        "leaked": CANARY in said,
        "refused": "Read-only file system" in said,
        "said": said[-300:],
    }


def build_all() -> dict[str, tuple[object, ...]]:
    """Make the place with its repository, and return what is there."""
    build()
    for words in GIT:
        subprocess.run(["git", *words.split()], cwd="/code", check=False, env={"HOME": "/out", "PATH": "/usr/bin:/bin"})
    return look()


def main() -> None:
    before, alone = build_all(), processes()
    print(json.dumps("ready"), flush=True)
    for raw in sys.stdin:
        found = run(json.loads(raw), before, alone)
        print(json.dumps(found), flush=True)
        if found["changed"]:
            before = build_all()


if __name__ == "__main__":
    main()

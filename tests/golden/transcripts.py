"""What the command line prints and how it ends: all help, and the errors that the documents speak of.

It runs in a process of its own, in an empty home: `collect` starts it. Machines read exit codes, the names of commands,
actions and options, and JSON; all else are texts for people.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from golden import adapter
from golden.parts import DECISION_TEXTS, Group, make, split

FILES = {
    "wrong.yaml": "permissions:\n  alow:\n    - Bash(ls)\n",
    "broken.yaml": "permissions: [\n",
    "rules.yaml": "permissions:\n  deny:\n    - Bash(rm:*)\n",
    "bundle.json": "{}",
}
ERRORS: tuple[tuple[str, ...], ...] = (
    (),
    ("chekc",),
    ("--zzz",),
    ("--version",),
    *((name, "--zzz") for name in ("doctor", "demo", "serve", "schema", "pending", "hook-script")),
    ("check",),
    ("check", "--mode", "zzz", "ls"),
    ("check", "--batch", "ls"),
    ("check", "--cwd", "nowhere", "ls"),
    ("check", "--tool", "Write", "{"),
    ("check", "--env", "=x", "ls"),
    *(("check", "--policy", file, "ls") for file in ("nothing.yaml", "wrong.yaml", "broken.yaml")),
    ("explain",),
    ("run",),
    ("runs", "list"),
    ("runs", "stop"),
    ("policy",),
    *(("policy", "lint", file) for file in ("nothing.yaml", "wrong.yaml", "broken.yaml", "rules.yaml")),
    ("policy", "test"),
    ("schema", "Decisoin"),
    ("trust",),
    ("pending",),
    ("approve",),
    ("approve", "perm_1"),
    ("deny", "perm_1"),
    ("token", "create"),
    ("token", "create", "--role", "king"),
    ("token", "revoke", "zzz"),
    ("init",),
    ("init", "zzz"),
    ("uninit", "zzz"),
    ("launch", "zzz"),
    ("hook",),
    ("audit",),
    ("audit", "zzz"),
    ("audit", "verify"),
    ("audit", "export"),
    ("audit", "verify", "--bundle", "nothing.json"),
    ("audit", "verify", "--bundle", "bundle.json"),
    ("mcp",),
)
DECIDED: tuple[tuple[str, ...], ...] = (
    ("check", "--json", "echo hi"),
    ("check", "echo hi"),
    ("check", "--json", "touch /etc/x"),
    ("check", "touch /etc/x"),
    ("check", "--json", "--mode", "strict", "touch /etc/x"),
    ("check", "--json", "--policy", "rules.yaml", "rm a.txt"),
    ("check", "--policy", "rules.yaml", "rm a.txt"),
    ("check", "--json", "--tool", "Write", "/etc/passwd"),
    ("check", "--json", "--tool", "WebFetch", '{"url": "https://example.com/"}'),
)
BATCH = '{"tool": "Bash", "input": {"command": "echo hi"}}\n{"tool": 1}\nnot json\n{"tool": "Bash", "input": {}}\n\n'
_TEXTS = DECISION_TEXTS | {"error"}
_VARIES = re.compile(r"\b[0-9a-f]{64}\b")
_INSIDE = "ASSENT_GOLDEN_INSIDE"


def collect() -> tuple[Group, dict[str, str]]:
    """Return the transcripts, and every JSON Schema by its name."""
    paths = (Path(__file__).resolve().parents[1], adapter.SOURCE)
    with tempfile.TemporaryDirectory() as root:
        home = Path(root).resolve() / "home"
        project = home / "project"
        (project / ".git").mkdir(parents=True)
        for name, content in FILES.items():
            (project / name).write_text(content)
        environ = {"HOME": str(home), "ASSENT_HOME": str(home / "state"), "PATH": "/nowhere", "COLUMNS": "80"}
        environ |= {
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONUTF8": "1",
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "TZ": "UTC",
        }
        done = subprocess.run(
            [sys.executable, "-m", "golden.transcripts"],
            cwd=project,
            env=environ | {_INSIDE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=True,
            timeout=200,
        )
        told = json.loads(done.stdout.decode().replace(str(home), "/home/u"))
    if told["product"] != str(adapter.SOURCE):
        raise RuntimeError(f"it ran another product: {told['product']}")
    return [_record(**turn) for turn in told["turns"]], told["schemas"]


def _record(words: list[str], given: str, code: int, out: str, err: str) -> Any:
    title = " ".join(("assent", *words)) + (" < batch" if given else "")
    out, err = _VARIES.sub("…hash…", out), _VARIES.sub("…hash…", err)
    machine: dict[str, Any] = {"exit": code, "out": bool(out), "err": bool(err)}
    text: dict[str, Any] = {"out": out, "err": err}
    if words[-1:] == ["--help"]:
        machine |= {"options": sorted(options_in(out)), "names": names_in(out)}
    elif code != 2 and out.startswith("{"):
        machine["json"], text["out"] = split([json.loads(line) for line in out.splitlines()], _TEXTS)
    return make(title, title, machine, text)


def options_in(text: str) -> set[str]:
    """Return the options that help is about: of its usage, and of the list below it."""
    usage = text.partition("\n\n")[0]
    listed = "\n".join(re.findall(r"^  (-.*)$", text, re.MULTILINE))
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-zA-Z-]*", f"{usage}\n{listed}"))


def names_in(text: str) -> list[str]:
    """Return the commands or actions that help lists."""
    if text.startswith("usage: assent COMMAND"):
        return re.findall(r"^  ([\w-]+)  ", text.partition("\n  assent ")[0], re.MULTILINE)
    said = text.partition("positional arguments:\n")[2].partition("\n\n")[0]
    alternatives = re.findall(r"^  (\w+(?:\|\w+)+)$", said, re.MULTILINE)
    return alternatives[0].split("|") if alternatives else re.findall(r"^    (\w+)  ", said, re.MULTILINE)


def _run(words: list[str], given: str = "") -> dict[str, Any]:
    shutil.rmtree(os.environ["ASSENT_HOME"], ignore_errors=True)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = adapter.command(list(words))
    said = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return {"words": list(words), "given": given, "code": code, "out": said[0], "err": said[1]}


def _tell() -> dict[str, Any]:
    turns = [_run(["--help"])]
    for name in names_in(turns[0]["out"]):
        turns.append(_run([name, "--help"]))
        turns += [_run([name, action, "--help"]) for action in names_in(turns[-1]["out"])]
    turns += [_run(words) for words in (*ERRORS, *DECIDED)]
    turns.append(_run(["check", "--batch", "--json"], BATCH))
    names = _run(["schema", "--list"])["out"].split()
    return {
        "product": str(adapter.SOURCE),
        "turns": turns,
        "schemas": {name: _run(["schema", name])["out"] for name in names},
    }


if __name__ == "__main__" and os.environ.get(_INSIDE):
    told = json.dumps(_tell())
    sys.__stdout__.write(told)

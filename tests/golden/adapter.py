"""The only file here that knows where things are in the product: when a module moves, this file follows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import msgspec

import assent
from assent import Engine, Facts, Policy, Session, ToolCall, parse_rule
from assent.audit.evidence_bundle import FORMAT, gather_chain, sign_bundle, verify_bundle
from assent.audit.log import Log
from assent.audit.search import Query, find, read_record
from assent.catalog import entries, parse_entry
from assent.cli import main
from assent.cli.output.decision_json import encode
from assent.decisions.approvals.repository import Approvals
from assent.decisions.service import Decisions
from assent.model import Answer, Event, Mode, Principal, Role, Scope, Verdict
from assent.server.http.openapi import make_document
from assent.server.routes import ROUTES
from assent.server.runtime.evidence import export_evidence
from assent.store.store import open_store

SOURCE = Path(assent.__file__).resolve().parents[1]
"""What is frozen is the product that this process has, also in the processes it starts."""
MODES = tuple(mode.value for mode in Mode)
HOME, WORKSPACE = "/home/u", "/code"
NOWHERE = "/nonexistent/code"
"""Where the session works whose questions are bound to files: these are looked for on the real disk."""
NOW = 1_800_000_000.0
_FILES = {
    "/code": (("a.txt", False), ("app.db", False), ("build.sh", False), ("link", False), ("src", True)),
    "/code/src": (("app.py", False),),
}
_KNOWN = frozenset(f"{folder}/{name}" for folder, names in _FILES.items() for name, _ in names) | {"/code", "/etc/x"}
_BLIND = {
    "now": NOW,
    "home": HOME,
    "exists": frozenset(("/code/app.db", "/code/db", "/code/db.sqlite3")).__contains__,
    "assent_paths": (f"{HOME}/.local/share/assent",),
    "assent_files": (f"{HOME}/.config/assent/assent.yaml",),
    "assent_endpoints": ("127.0.0.1:7422", "localhost:7422"),
    "sandbox": True,
    "sandbox_hosts": ("index.example",),
}


def _resolve(path: str) -> str:
    return "/etc/x" + path.removeprefix("/code/link") if (path + "/").startswith("/code/link/") else path


_SEEN = _BLIND | {
    "resolve": _resolve,
    "path": ("/usr/bin",),
    "is_program": lambda path: path in ("/usr/bin/git", "/usr/bin/node", "/code/build.sh"),
    "exists": _KNOWN.__contains__,
    "has_dashes": lambda _folder: False,
    "names": lambda folder: _FILES.get(folder, ()),
}
WORLDS = {"blind": Facts(**_BLIND), "seen": Facts(**_SEEN)}
"""Of one world nothing but names is known; of the other the disk is seen. Neither is this machine's."""
SESSION = Session(user="u", agent="a", id="s", workspace=(WORKSPACE,))


@cache
def _engine(rules: tuple[tuple[str, str], ...], mode: str, world: str) -> Engine:
    lists = {effect: tuple(parse_rule(rule) for name, rule in rules if name == effect) for effect, _ in rules}
    return Engine([Policy(mode=Mode(mode), **lists)], facts=lambda: WORLDS[world])


def _find_engine(_call: ToolCall, _session: Session) -> Engine:
    return _engine((), "default", "seen")


def decide(line: str, rules: tuple[tuple[str, str], ...], mode: str, world: str) -> dict[str, Any]:
    """Return the whole decision about a line of shell, as JSON has it."""
    call = ToolCall(tool="Bash", input={"command": line}, cwd=WORKSPACE)
    decision = _engine(rules, mode, world).decide(call, SESSION)
    return json.loads(encode(decision)) | {"decision": decision.decision}


def catalog_examples() -> list[tuple[str, str]]:
    """Return every example of the catalog: a command's name, and the line."""
    found = {}
    for part in entries():
        levels = [parse_entry(part)]
        for level in levels:
            levels += level.subcommands.values()
            for lines in (level.examples.safe, level.examples.not_safe, level.examples.destructive):
                found |= dict.fromkeys(lines, part.names[0])
    return [(name, line) for line, name in sorted(found.items())]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document."""
    return json.loads(msgspec.json.encode(make_document(ROUTES, "0")))


def command(words: list[str]) -> int:
    """Run `assent` with these words in this process, and return its exit code."""
    return main(words)


class Installation:
    """A store and its log, with an identity and a clock that are always the same."""

    def __init__(self, folder: str) -> None:
        self.home, self.now = folder, NOW
        _write_identity(folder)
        self.store = open_store(None, home=folder, clock=lambda: self.now)
        self.log = Log(self.store, folder)
        self.approvals = Approvals(self.store, self.log)
        self.decisions = Decisions(_find_engine, self.store, self.log, self.approvals)

    def close(self) -> None:
        self.approvals.close()
        self.log.close()
        self.store.close()

    def record(self, event: dict[str, Any]) -> None:
        """Write an event down, one second after the last."""
        self.now += 1
        asyncio.run(self.log.record([msgspec.convert(event, Event)]))

    def bundle(self, session: str) -> tuple[bytes, bool]:
        """Take a session out of the log with words that are fixed here; says whether it verifies."""
        return asyncio.run(self._bundle(session))

    async def _bundle(self, session: str) -> tuple[bytes, bool]:
        await self.log.seal()
        records = tuple(map(read_record, await self.store.query(find(Query(session=session), after=0, limit=100))))
        told = [{"eventId": f"evt_{record.writer}_{record.seq}"} for record in records]
        about = {"format": FORMAT, "sessionId": session, "runtime": {"runtimeId": self.log.writer}, "timeline": told}
        signed = sign_bundle(self.log, about | {"chain": await gather_chain(self.store, records)})
        data = msgspec.json.encode(signed, order="deterministic")
        return data, verify_bundle(data, expected=(self.log.writer, self.log.public_key)).ok

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Return the log as its database has it, and its anchors."""
        self.store.write(lambda _: None).result()
        found = {}
        for table in ("events", "checkpoints"):
            names = [row[1] for row in self.store.fetch(f"PRAGMA table_info({table})")]
            rows = self.store.fetch(f"SELECT {', '.join(names)} FROM {table} ORDER BY position, seq")
            found[table] = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
        anchors = sorted(path for path in Path(self.home).iterdir() if path.name.startswith("anchors"))
        found["anchors"] = [json.loads(line) for path in anchors for line in path.read_text().splitlines()]
        return found

    def live(self, lines: list[tuple[str, str | None]], session: str) -> dict[str, Any]:
        """Decide lines, answer what is asked about, and export the session as the daemon does."""
        return asyncio.run(self._live(lines, session))

    async def _live(self, lines: list[tuple[str, str | None]], session: str) -> dict[str, Any]:
        person = Principal(role=Role.ADMIN, user="root")
        at_work = msgspec.structs.replace(SESSION, id=session, workspace=(NOWHERE,))
        for number, (line, answer) in enumerate(lines, 1):
            self.now += 1
            call = ToolCall(tool="Bash", input={"command": line}, cwd=NOWHERE, call_id=f"call-{number}")
            ruling = await self.decisions.decide(call, at_work)
            if answer is None:
                continue
            verdict, _, scope = answer.partition(" ")
            said = Answer(verdict=Verdict(verdict), scope=Scope(scope or "once"))
            self.now += 1
            await self.decisions.answer(ruling.approval.id, said, person)
            self.now += 1
            await self.decisions.decide(call, at_work)
        daemon = SimpleNamespace(
            log=self.log,
            store=self.store,
            approvals=self.approvals,
            version="0",
            projects=None,
        )
        with mock.patch("time.time", return_value=self.now):
            reply = await export_evidence(daemon, SimpleNamespace(path_params={"sessionId": session}, who=person))
        return json.loads(reply.body)


def _write_identity(folder: str) -> None:
    keys = Path(folder) / "keys"
    keys.mkdir(mode=0o700)
    for path, content in (
        (Path(folder) / "node", b"00112233aabbccdd"),
        (keys / "mask.salt", bytes(range(32))),
        (keys / "log.ed25519", bytes(range(32, 64))),
    ):
        with contextlib.closing(os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")) as file:
            file.write(content)


def _plain(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    return value.decode() if value.startswith(b"{") else value.hex()

"""A closed world of calls: few tools, few files, few lines, each with what it does written beside it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field

from assent.model import (
    UNKNOWN,
    Consent,
    Operation,
    OperationKind,
    Policy,
    Session,
    Tier,
    ToolCall,
    within,
)

SAFE, DANGEROUS, DESTRUCTIVE = Tier
READ, WRITE, EXEC, RUN, NET, CALL = OperationKind

NOW = 1_000_000.0
HOME = "/home/dev"
ASSENT = f"{HOME}/.local/share/assent"
KEY = f"{HOME}/.ssh/id_rsa"
CONTROL = ("/ws/.git/hooks/pre-commit", "/ws/.claude/settings.json", KEY)
SECRETS = ("/ws/.env", KEY)
SENSITIVE = (*CONTROL, *SECRETS, "/etc/hosts")
FILES = (
    *("/ws/src/a.py", "/ws/src/deep/b.py", "/ws/README.md", "/ws-evil/x", "/etc/hosts", "/tmp/out"),
    *("src/a.py", f"{ASSENT}/tokens", *CONTROL, "/ws/.env"),
)
UNREADABLE = 'echo "hi'

LINES: dict[str, tuple[tuple[OperationKind, str, Tier], ...]] = {
    "git status": ((RUN, "git status", SAFE),),
    "ls -l": ((RUN, "ls -l", SAFE), (READ, ".", SAFE)),
    "cat README.md": ((RUN, "cat README.md", SAFE), (READ, "README.md", SAFE)),
    "cat /ws/.env": ((RUN, "cat /ws/.env", SAFE), (READ, "/ws/.env", SAFE)),
    "npm install": ((RUN, "npm install", DANGEROUS),),
    "git push": ((RUN, "git push", DANGEROUS), (NET, UNKNOWN, SAFE)),
    "rm -rf /": ((RUN, "rm -rf /", DESTRUCTIVE), (WRITE, "-/", DANGEROUS)),
    "sudo rm x": ((RUN, "sudo rm x", DESTRUCTIVE), (RUN, "rm x", DANGEROUS), (WRITE, "-x", SAFE)),
    "python x.py": ((RUN, "python x.py", DANGEROUS), (EXEC, "x.py", DANGEROUS)),
    "echo hi > out.txt": ((RUN, "echo hi", SAFE), (WRITE, ">out.txt", SAFE)),
    "echo hi > /etc/hosts": ((RUN, "echo hi", SAFE), (WRITE, ">/etc/hosts", SAFE)),
    "curl https://example.com": ((RUN, "curl https://example.com", SAFE), (NET, "example.com", SAFE)),
    "$X y": ((RUN, f"{UNKNOWN} y", DANGEROUS),),
    UNREADABLE: ((RUN, "echo hi", SAFE), (RUN, UNKNOWN, DANGEROUS)),
}
"""Per line: the commands in it (each owns what follows it), files and hosts. `>` is a redirection, `-` a removal."""


@dataclass(frozen=True)
class Case:
    """One call, and everything that may bear on it."""

    call: ToolCall
    policies: tuple[Policy, ...] = ()
    session: Session = field(default_factory=Session)
    consent: Consent = field(default_factory=Consent)
    sandbox: bool = False
    disk: bool = False
    hooks: tuple[str | None, ...] = ()
    checks: tuple[str | None, ...] = ()
    hosts: tuple[str | None, ...] = ()

    @property
    def embedded(self) -> bool:
        return any(p.embedded for p in self.policies)

    @property
    def unreadable(self) -> bool:
        return bool(self.call.input.get("command") == UNREADABLE)


def read(case: Case) -> list[Operation]:
    """Look the call up in the tables."""
    call = case.call
    match call.tool:
        case "Read" | "Write" | "Edit":
            return [_file(case, READ if call.tool == "Read" else WRITE, call.input["file_path"], SAFE)]
        case "WebFetch":
            return [Operation(kind=NET, resource=call.input["url"].split("/")[2], tier=SAFE, reason="")]
        case "Bash":
            return _line(case, call.input["command"])
    named = call.input["thing"]
    # Nobody knows where such a tool stands, nor what it does with a file.
    bases = dict.fromkeys((call.cwd or "/", *case.session.workspace)) if isinstance(named, str) else ()
    paths = dict.fromkeys(posixpath.join(base, named) for base in bases)
    touched = [_file(case, kind, path, SAFE) for path in paths for kind in (READ, WRITE)]
    return [Operation(kind=CALL, resource=call.tool, tier=DANGEROUS, reason=""), *touched]


def _line(case: Case, line: str) -> list[Operation]:
    found: list[Operation] = []
    for atom in re.split(r" && | ; | \| ", line):
        owner = None
        for kind, words, tier in LINES[atom]:
            if kind is RUN:
                owner = len(found)
                found.append(Operation(kind=RUN, resource=words, tier=tier, reason=""))
            elif kind is NET:
                found.append(Operation(kind=NET, resource=words, tier=tier, reason="", owner=owner))
            else:
                found.append(_file(case, kind, words.lstrip(">-"), tier, owner, sign=words[0]))
    return found


def _file(
    case: Case,
    kind: OperationKind,
    path: str,
    tier: Tier,
    owner: int | None = None,
    *,
    sign: str = "",
) -> Operation:
    path = posixpath.normpath(posixpath.join(case.call.cwd or "/", path))
    held = any(within(path, root) for root in case.session.workspace)
    by_tool = owner is None  # the write tools' own: only a sensitive path is more than a file
    plain = kind is not WRITE or ((held or by_tool) and path not in SENSITIVE)
    return Operation(
        kind=kind,
        resource=path,
        tier=tier if plain else max(tier, DANGEROUS),
        reason="",
        owner=owner,
        own_cover=sign == ">" or (kind is WRITE and not held),
        sweep=sign == "-",
        secret=path in SECRETS,
    )


def inside(case: Case, path: str) -> bool:
    """Tell whether a path lies in the workspace; where none is known there is no edge."""
    return not case.session.workspace or any(within(path, root) for root in case.session.workspace)


def beyond_edge(case: Case, kind: OperationKind, path: str) -> bool:
    """Tell whether it crosses the workspace's edge: a write, and in a run a read too."""
    return not inside(case, path) and (kind is WRITE or (kind is READ and case.session.run))

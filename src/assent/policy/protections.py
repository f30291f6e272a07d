"""What holds whatever is configured: Assent itself, the control plane, secrets."""

from __future__ import annotations

import functools

import msgspec

import assent.regex as re
from assent.model import (
    ASK,
    COMMAND_EXECUTE,
    DENY,
    FS_READ,
    FS_WRITE,
    NET_CONNECT,
    TOOL_CALL,
    UNKNOWN,
    Operation,
    Opinion,
    Source,
    Verdict,
    fold,
    within,
)
from assent.policy.patterns import basename
from assent.policy.view import View

OWN_COMMANDS = frozenset({"approve", "deny", "token", "policy", "trust", "init", "uninit", "launch", "serve"})
"""What only a person may say to Assent."""

COMMANDS = OWN_COMMANDS | {
    "audit",
    "check",
    "doctor",
    "explain",
    "hook",
    "hook-script",
    "mcp",
    "pending",
    "run",
    "runs",
    "schema",
}
"""The first of these among the words of a line is what Assent is told to do."""

_NEAR = "it may touch Assent's own files"
_LAUNCHERS = ("python", "pypy", "uv", "pipx", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda", "mamba")
_MANAGERS = frozenset(
    (
        *(
            "pip",
            "pipx",
            "uv",
            "poetry",
            "pdm",
            "hatch",
            "pipenv",
            "rye",
            "pixi",
            "conda",
            "mamba",
            "micromamba",
            "brew",
        ),
        *(
            "apt",
            "apt-get",
            "aptitude",
            "dpkg",
            "dnf",
            "yum",
            "rpm",
            "zypper",
            "pacman",
            "apk",
            "nix-env",
            "snap",
            "port",
        ),
    )
)
_VERBS = frozenset(
    (
        *("install", "uninstall", "add", "remove", "rm", "reinstall", "upgrade", "update", "inject", "autoremove"),
        *("purge", "erase", "delete", "downgrade", "-r", "-e", "-P", "-R", "-S", "-U", "-i"),
    )
)
_LONGEST_KEPT = 200
"""Characters of a command of which it is kept what it says: longer ones do not come again."""
_MODULE_OPTION = re.compile(r"^-[A-Za-z]*m")


def protect(index: int, operation: Operation, view: View, *, embedded: bool) -> list[Opinion]:
    """Return what the protections say about one operation."""
    found = []
    kind = operation.kind
    only_people, replaces = _about_assent(operation) if operation.argv else (None, False)
    if why := _self_harm(operation, view) or only_people:
        found.append(_opinion(DENY, "self-protection", why, index))
    elif replaces or ((operation.mentions or kind is FS_WRITE) and _is_in_doubt(operation, view)):
        found.append(_opinion(ASK, "self-protection", _NEAR, index, firm=True))
    elif kind is FS_WRITE and (why := _control(operation, view)):
        found.append(_opinion(ASK, "control-plane", why, index, firm=True))
    if operation.secret and not embedded and kind in (FS_READ, COMMAND_EXECUTE):
        why = f"{operation.shown} holds secrets" if kind is FS_READ else operation.reason
        found.append(_opinion(ASK, "secrets", why, index))
    return found


def _control(operation: Operation, view: View) -> str | None:
    """Say why a write may change what runs later."""
    shown = operation.shown
    if (operation.known or operation.globbed) and view.traits(operation).control_plane:
        return f"{shown} decides what runs later: a person must agree to each change"
    if operation.holds:
        return f"in {shown} may be what decides what runs later: a person must agree to each change"
    return None


def _opinion(verdict: Verdict, policy: str, reason: str, index: int, *, firm: bool = False) -> Opinion:
    return Opinion(
        verdict=verdict,
        source=Source.PROTECTION,
        policy=policy,
        reason=reason,
        operation=index,
        firm=firm,
        built_in=True,
    )


def _self_harm(operation: Operation, view: View) -> str | None:
    kind = operation.kind
    if kind is NET_CONNECT:
        return _own_endpoint(operation.resource, view)
    if kind is TOOL_CALL:
        return None
    facts = view.place.facts
    own = _own(facts.assent_paths, facts.assent_files)
    harm = own.harm(operation, operation.resource)
    if harm is None and operation.target is not None and operation.target != operation.resource:
        harm = own.harm(operation, operation.target)
    return harm


def _is_in_doubt(operation: Operation, view: View) -> bool:
    """Tell whether an operation may touch what is Assent's own, where that is not known before it runs."""
    own = _own(view.facts.assent_paths, view.facts.assent_files)
    if operation.mentions:
        return any(map(own.is_at, operation.mentions))
    return not operation.known and not operation.globbed and own.is_after(operation.resource.partition(UNKNOWN)[0])


class _Own(msgspec.Struct, frozen=True):
    """What belongs to Assent, its names folded."""

    paths: frozenset[str]
    below: tuple[str, ...]
    """What every path below these starts with."""
    files: frozenset[str]

    inside: tuple[str, ...]
    """What every path below one of the files starts with, which may be folders."""

    def harm(self, operation: Operation, name: str) -> str | None:
        """Find a touch of Assent's own files; a tree that is changed as a whole counts with all that is in it."""
        low = fold(name)
        if low in self.paths or low.startswith(self.below):
            return "it touches Assent's own files"
        if operation.kind is not FS_WRITE:
            return None
        if operation.sweep and _holds(low, self.paths):
            return "it touches Assent's own files"
        if low in self.files or low.startswith(self.inside):
            return "it changes how Assent is configured"
        if operation.sweep and _holds(low, self.files):
            return "it changes how Assent is configured"
        return None

    def is_at(self, path: str) -> bool:
        """Tell whether a path is Assent's own."""
        low = fold(path)
        return low in self.paths or low in self.files or low.startswith((*self.below, *self.inside))

    def is_after(self, known: str) -> bool:
        """Tell whether a path that starts so, and of which no more is known, may be Assent's own."""
        low = fold(known)
        return low.startswith("/") and any(p.startswith(low) for p in (*self.paths, *self.files))


def _holds(folder: str, paths: frozenset[str]) -> bool:
    return any(within(p, folder) for p in paths)


@functools.lru_cache(maxsize=64)
def _own(paths: tuple[str, ...], files: tuple[str, ...]) -> _Own:
    low, written = _folded(paths), _folded(files)
    return _Own(low, _below(low), written, _below(written))


def _below(paths: frozenset[str]) -> tuple[str, ...]:
    return tuple(p + "/" for p in sorted(paths))


def _folded(paths: tuple[str, ...]) -> frozenset[str]:
    return frozenset(fold(p).rstrip("/") for p in paths)


def _about_assent(operation: Operation) -> tuple[str | None, bool]:
    """Say why a person alone may run a command, if so, and tell whether it would replace Assent."""
    return (_known if len(operation.resource) <= _LONGEST_KEPT else _look_for_assent)(operation.argv)


def _look_for_assent(argv: tuple[str, ...]) -> tuple[str | None, bool]:
    return (_own_command(argv), _replaces_program(argv)) if "assent" in " ".join(argv).lower() else (None, False)


_known = functools.lru_cache(maxsize=1024)(_look_for_assent)


def _own_command(argv: tuple[str, ...]) -> str | None:
    words = _after_launcher(argv)
    if not words or not _is_assent(words[0]):
        return None
    said = next((w for w in words[1:] if w in COMMANDS or UNKNOWN in w), "")
    if said in OWN_COMMANDS or UNKNOWN in said:
        return f"only a person may run `assent {said.replace(UNKNOWN, '…')}`"
    return None


def _replaces_program(argv: tuple[str, ...]) -> bool:
    """Tell whether a package manager is told to put another Assent in place of this one, or none."""
    if _VERBS.isdisjoint(argv) or not any(map(_is_assent, argv)):
        return False
    return any(basename(w).lower().rstrip("0123456789.") in _MANAGERS for w in argv)


def _after_launcher(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Skip what starts Assent by another name: `python -m assent`, `uv run assent`."""
    program = basename(argv[0]).lower() if argv else ""
    if program.startswith(_LAUNCHERS):
        start = next((i for i, w in enumerate(argv[1:], 1) if _is_assent(w)), len(argv))
        return argv[start:]
    return argv


def _is_assent(word: str) -> bool:
    """Tell whether a word starts Assent: the program, the module, or the two with a `-m` before them."""
    name = basename(_MODULE_OPTION.sub("", word)).lower()
    return name == "assent" or name.startswith(("assent.", "assent@", "assent="))


def _own_endpoint(host: str, view: View) -> str | None:
    """Find a connection to the daemon, by whatever name this machine goes."""
    if not view.facts.assent_endpoints:
        return None
    from assent.reading.web import is_private  # noqa: PLC0415 - few calls contact anybody

    name, port = _split(host.lower())
    ports = {_split(e)[1] for e in view.facts.assent_endpoints}
    if host in view.facts.assent_endpoints or (is_private(name) and not ports.isdisjoint(port.split("|"))):
        return "it talks to Assent itself"
    return None


def _split(host: str) -> tuple[str, str]:
    """Return name and port; without one, those of the web."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit() or (":" in name and not name.endswith("]")):
        name, port = host, "80|443"
    return name.strip("[]").rstrip("."), port

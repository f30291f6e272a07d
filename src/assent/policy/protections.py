"""What holds whatever is configured: Assent itself, the control plane, secrets."""

from __future__ import annotations

import functools

import assent.lazy_regex as re
from assent.analysis.resources.assent_files import own_of
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
)
from assent.policy.call_view import View
from assent.policy.rules.patterns import basename

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

_NEAR = "may touch Assent's own files"
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
    elif operation.hosts and any(_own_endpoint(host, view) for host in operation.hosts):
        found.append(_opinion(ASK, "self-protection", "may contact Assent's own daemon", index, firm=True))
    elif kind is FS_WRITE and (why := _control(operation, view)):
        found.append(_opinion(ASK, "control-plane", why, index, firm=True))
    if view.session.confined and view.is_outside(operation):
        why = f"{operation.shown} is outside the run's workspace; only an admin may allow it"
        found.append(_opinion(ASK, "run-workspace", why, index, firm=True))
    if operation.secret and not embedded and kind in (FS_READ, COMMAND_EXECUTE):
        why = f"{operation.shown} holds secrets" if kind is FS_READ else operation.reason
        found.append(_opinion(ASK, "secrets", why, index))
    return found


def _control(operation: Operation, view: View) -> str | None:
    """Say why a write may change what runs later."""
    # Below whatever folder it lies, its name says what it is.
    named = operation.known or operation.globbed or operation.resource.rfind(UNKNOWN + "/") == 0
    shown = operation.shown
    if named and view.traits(operation).control_plane:
        return f"{shown} can make code run later, so every change is asked about"
    if operation.holds:
        return f"{shown} may contain files that make code run later, so every change is asked about"
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
    if kind is TOOL_CALL or (kind is COMMAND_EXECUTE and operation.resource[:1] != "/"):
        return None
    own = own_of(view.facts)
    harm = own.harm(operation, operation.resource)
    if harm is None and operation.target is not None and operation.target != operation.resource:
        harm = own.harm(operation, operation.target)
    return harm


def _is_in_doubt(operation: Operation, view: View) -> bool:
    """Tell whether an operation may touch what is Assent's own, where that is not known before it runs."""
    own = own_of(view.facts)
    if operation.mentions:
        return any(map(own.is_at, operation.mentions))
    return not operation.known and not operation.globbed and own.is_after(operation.resource.partition(UNKNOWN)[0])


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
    from assent.analysis.resources.urls import is_private  # noqa: PLC0415 - few calls contact anybody

    name, port = _split(host.lower())
    if host not in view.facts.assent_endpoints and not is_private(name):
        return None
    ports = {_split(e)[1] for e in view.facts.assent_endpoints}
    is_ours = host in view.facts.assent_endpoints or not ports.isdisjoint(port.split("|"))
    return "contacts Assent's own daemon" if is_ours else None


def _split(host: str) -> tuple[str, str]:
    """Return name and port; without one, those of the web."""
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit() or (":" in name and not name.endswith("]")):
        name, port = host, "80|443"
    return name.strip("[]").rstrip("."), port

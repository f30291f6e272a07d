"""What is at stake in a call that is asked about or denied: few plain marks, shown beside its tier."""

from __future__ import annotations

from collections.abc import Sequence

import assent.regex as re
from assent.model import (
    COMMAND_EXECUTE,
    DESTRUCTIVE,
    FS_EXEC,
    FS_WRITE,
    NET_CONNECT,
    SAFE,
    Operation,
    Opinion,
    Stake,
)
from assent.policy.view import View

_PRODUCTION = re.compile(r"(?i)(?<![a-z])prod(?:uction)?(?![a-z])")
_RUNS = re.compile(r"(?i)\b(?:runs?|code|scripts?|evaluates|program)\b")


def find_stakes(view: View, opinions: Sequence[Opinion]) -> tuple[Stake, ...]:
    """Return what is at stake, the gravest first."""
    operations = view.reading.operations
    # Who deletes everything deletes what decides what runs later, too: that is not the news.
    later = view.reading.tier is not DESTRUCTIVE and any(o.policy == "control-plane" for o in opinions)
    found: dict[Stake, bool] = {
        "cannot be undone": view.reading.tier is DESTRUCTIVE,
        "secrets": any(o.secret or o.sends for o in operations),
        "production": any(_names_production(o) for o in operations),
        "network": any(o.kind is NET_CONNECT or o.hosts for o in operations),
        "runs code": later or view.reading.unreadable is not None or any(map(_runs_code, operations)),
        "outside workspace": any(_is_outside(o, view) for o in operations),
    }
    return tuple(name for name, holds in found.items() if holds)


def _names_production(operation: Operation) -> bool:
    """Tell whether a command that is not safe names a production system, by an option or an argument."""
    if operation.kind is not COMMAND_EXECUTE or operation.tier is SAFE:
        return False
    return any(_PRODUCTION.search(word) for word in operation.argv[1:])


def _runs_code(operation: Operation) -> bool:
    told = operation.kind is COMMAND_EXECUTE and operation.tier is not SAFE and bool(_RUNS.search(operation.reason))
    return told or operation.kind is FS_EXEC


def _is_outside(operation: Operation, view: View) -> bool:
    """Tell whether something outside the workspace is changed, or a secret outside of it is read."""
    if not view.place.workspace or not (operation.kind is FS_WRITE or operation.secret or operation.own_cover):
        return False
    return operation.resource.startswith("/") and operation.known and not view.traits(operation).inside

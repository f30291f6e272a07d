"""What is at stake in a call that is asked about or denied: few plain marks, shown beside its tier."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

import assent.lazy_regex as re
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
from assent.policy.call_view import View

_STAKES: tuple[Stake, ...] = (
    *("cannot be undone", "secrets", "production"),
    *("network", "runs code", "outside workspace"),
)
"""The gravest first."""
_policy = operator.attrgetter("policy")
_PRODUCTION = re.compile(r"(?i)(?<![a-z])prod(?:uction)?(?![a-z])")
_RUNS = re.compile(r"(?i)\b(?:runs?|code|scripts?|evaluates|program|reads project settings)\b")


def find_stakes(view: View, opinions: Sequence[Opinion]) -> tuple[Stake, ...]:
    """Return what is at stake, the gravest first."""
    reading = view.reading
    undone = reading.tier is DESTRUCTIVE
    # Who deletes everything deletes what decides what runs later, too: that is not the news.
    code = reading.unreadable is not None or (not undone and "control-plane" in map(_policy, opinions))
    secret = production = network = outside = False
    for operation in reading.operations:
        kind = operation.kind
        secret = secret or operation.secret or operation.sends != ""
        network = network or kind is NET_CONNECT or operation.hosts != ()
        outside = outside or _is_outside(operation, view)
        code = code or kind is FS_EXEC
        if kind is COMMAND_EXECUTE and operation.tier is not SAFE:
            production = production or _names_production(operation)
            code = code or _RUNS.search(operation.reason) is not None
    return tuple(itertools.compress(_STAKES, (undone, secret, production, network, code, outside)))


def _names_production(operation: Operation) -> bool:
    """Tell whether a command names a production system, by an option or an argument."""
    return _PRODUCTION.search(" ".join(operation.argv[1:])) is not None


def _is_outside(operation: Operation, view: View) -> bool:
    """Tell whether something outside the workspace is changed, or a secret outside of it is read."""
    if not view.place.workspace or not (operation.kind is FS_WRITE or operation.secret or operation.own_cover):
        return False
    return operation.resource.startswith("/") and operation.known and not view.traits(operation).inside

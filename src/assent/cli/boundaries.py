"""Which boundary `assent run` sets: the profile asked for, never wider than the organisation's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from assent.config.facts import observe
from assent.config.layers import load_layers
from assent.model import AssentError, Layer, Network, SandboxProfile
from assent.policy.profiles import SANDBOX, intersect, named_profiles, profile, written_profiles
from assent.reading.hosts import parse_host
from assent.reading.paths import Place
from assent.sandbox.outlook import find_hosts

if TYPE_CHECKING:
    from collections.abc import Sequence


def find_boundary(cwd: str, name: str | None, hosts: Sequence[str], *, ask: bool) -> SandboxProfile | None:
    """Return the boundary for a command in this folder; None if it is `off`."""
    layers = load_layers(cwd)
    policies = layers.policies
    facts = observe()
    roots = tuple(dict.fromkeys(os.path.realpath(root) for root in layers.workspace))
    place = Place(msgspec.structs.replace(facts, sandbox_hosts=find_hosts(roots)), cwd, roots)
    names = [name] if name else list(named_profiles(policies)) or [SANDBOX]
    names += [p.profile for p in policies if p.layer is Layer.MANAGED and p.profile]
    specs = written_profiles(policies)
    found = intersect(profile(n, place, specs) for n in names)
    if found is None:
        return None
    if found.mode != "read-only" and not found.write_roots:
        raise AssentError(f"{cwd} is no workspace: go to a project, or use `--profile read-only`")
    network = _with_hosts(found.network, hosts)
    return msgspec.structs.replace(found, network=network, ask=found.ask or ask)


def _with_hosts(network: Network, hosts: Sequence[str]) -> Network:
    if not hosts or network.mode == "full":
        return network
    more = (str(parse_host(host)) for host in hosts)
    return Network("hosts", tuple(dict.fromkeys((*network.hosts, *more))))

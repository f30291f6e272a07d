"""The sandbox profile of `assent run`: the requested one, never wider than the organisation's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from assent.agents.sandbox_needs import NEEDS, Needs
from assent.analysis.resources.hosts import parse_host
from assent.analysis.resources.paths import Place
from assent.config.layers import load_layers
from assent.model import AssentError, Layer, Network, SandboxProfile
from assent.platform.facts import observe
from assent.platform.paths import assent_home, refuse_folder
from assent.policy.sandbox_profiles import SANDBOX, demands, intersect, profile
from assent.sandbox.capabilities import find_hosts
from assent.sandbox.persistent.agent_state import AgentState, open_state

if TYPE_CHECKING:
    from collections.abc import Sequence


def find_boundary(
    cwd: str, name: str | None, hosts: Sequence[str], command: Sequence[str] = (), *, ask: bool
) -> SandboxProfile | None:
    """Return the sandbox profile for a command in this folder; None if it is `off`."""
    layers = load_layers(cwd)
    policies = layers.policies
    facts = observe()
    roots = tuple(dict.fromkeys(os.path.realpath(root) for root in layers.workspace.roots or _here(cwd)))
    place = Place(msgspec.structs.replace(facts, sandbox_hosts=find_hosts(roots)), cwd, roots)
    demanded = demands(policies)
    # Only the user and the organisation can say `off`.
    least = None if demanded.own else SANDBOX
    wanted = profile(name, place, demanded.specs) if name else demanded.boundary(place, least)
    if wanted is not None:
        wanted = _fit(msgspec.structs.replace(wanted, network=_with_hosts(wanted.network, hosts)), command)
    managed = [p.profile for p in policies if p.layer is Layer.MANAGED and p.profile]
    found = intersect((wanted, *(profile(n, place, demanded.specs) for n in managed)))
    if found is None:
        return None
    if found.mode != "read-only" and not found.write_roots:
        reason = refuse_folder(cwd) or "the folder does not exist"
        raise AssentError(f"`{cwd}` cannot be a workspace: {reason}; change to a project, or use `--profile read-only`")
    return msgspec.structs.replace(found, ask=found.ask or ask)


def _here(cwd: str) -> tuple[str, ...]:
    """Return the working directory as workspace, if it can be one: the user chose it by running the command there."""
    return () if refuse_folder(cwd) is not None else (cwd,)


def find_state(boundary: SandboxProfile, command: Sequence[str]) -> AgentState | None:
    """Return the persistent state of a known agent in an agent profile; None for other commands."""
    needs = needs_of(boundary, command)
    return None if needs is None else open_state(needs, assent_home(), boundary.write_roots, os.environ)


def needs_of(boundary: SandboxProfile, command: Sequence[str]) -> Needs | None:
    """Return the sandbox needs of a known agent that starts in an agent profile; None for other commands."""
    return NEEDS.get(command[0].rpartition("/")[2]) if boundary.mode == "agent" and command else None


def _fit(boundary: SandboxProfile, command: Sequence[str]) -> SandboxProfile:
    """Add the hosts and environment variables that a known agent needs."""
    needs = needs_of(boundary, command)
    if needs is None:
        return boundary
    environment = tuple(dict.fromkeys((*boundary.environment, *needs.variables)))
    network = _with_hosts(boundary.network, needs.hosts_in(os.environ))
    return msgspec.structs.replace(boundary, environment=environment, network=network)


def _with_hosts(network: Network, hosts: Sequence[str]) -> Network:
    if not hosts or network.mode == "full":
        return network
    more = (str(parse_host(host)) for host in hosts)
    return Network("hosts", tuple(dict.fromkeys((*network.hosts, *more))))

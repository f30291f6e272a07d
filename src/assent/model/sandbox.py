"""The boundary a call must run in, and what happens when it is touched."""

from __future__ import annotations

from typing import Literal, TypeAlias, assert_never

import msgspec

from assent.model.enums import OperationKind, ProfileMode

Extensible: TypeAlias = Literal["read-only", "workspace-write", "agent"]

_LADDER: dict[str, int] = {"read-only": 0, "agent": 1, "workspace-write": 2, "off": 3}


class Network(msgspec.Struct, frozen=True):
    """What may be reached: nothing, the listed hosts (an empty list means none), or everything."""

    mode: Literal["off", "hosts", "full"] = "off"
    hosts: tuple[str, ...] = ()

    def admits(self, host: str) -> bool:
        """Tell whether a host may be reached."""
        return self.mode == "full" or (self.mode == "hosts" and host in self.hosts)

    def __and__(self, other: Network) -> Network:
        """Keep only what both allow."""
        if self.mode == "full":
            return other
        if other.mode == "full":
            return self
        shared = tuple(h for h in self.hosts if h in other.hosts)
        return Network("hosts", shared) if self.mode == other.mode == "hosts" else Network("off")


class Limits(msgspec.Struct, frozen=True):
    """Bounds on a sandboxed process tree; None is unlimited."""

    processes: int | None = None
    memory_bytes: int | None = None
    file_bytes: int | None = None
    cpu_seconds: int | None = None
    wall_seconds: int | None = None
    output_bytes: int | None = None

    def __and__(self, other: Limits) -> Limits:
        """Keep the tighter of each pair."""
        pairs = ((getattr(self, f), getattr(other, f)) for f in self.__struct_fields__)
        return Limits(*(min((v for v in pair if v is not None), default=None) for pair in pairs))


class Mechanism(msgspec.Struct, frozen=True):
    """One thing that enforces the boundary, as found on this machine."""

    name: str
    version: str
    enforced: bool


class SandboxProfile(msgspec.Struct, frozen=True):
    """A boundary: what may be read, written and reached. `mechanisms` says what is really in force."""

    name: str
    mode: ProfileMode
    cwd: str | None = None
    read_roots: tuple[str, ...] = ("/",)
    write_roots: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()
    """Not even seen inside."""
    protected: tuple[str, ...] = ()
    """Inside the write roots, and yet only read: what decides later what runs."""
    network: Network = Network()
    environment: tuple[str, ...] = ()
    """Variables passed on besides those that every program needs."""
    environment_ref: str | None = None
    unix_sockets: bool = False
    """Whether it may open Unix sockets, which reach whatever listens on a path it sees."""
    ask: bool = False
    """Whether what lies outside may be asked about while the command waits."""
    process_limits: Limits = Limits()
    violation_refs: tuple[str, ...] = ()
    mechanisms: tuple[Mechanism, ...] = ()

    def __and__(self, other: SandboxProfile) -> SandboxProfile:
        """Return the boundary that lets through only what both do."""
        low, high = sorted((self, other), key=lambda p: _LADDER[p.mode])
        return SandboxProfile(
            name=low.name if low.name == high.name else f"{low.name}&{high.name}",
            mode=low.mode,
            cwd=low.cwd or high.cwd,
            read_roots=_shared_roots(low.read_roots, high.read_roots),
            write_roots=_shared_roots(low.write_roots, high.write_roots),
            masked=tuple(sorted({*low.masked, *high.masked})),
            protected=tuple(sorted({*low.protected, *high.protected})),
            network=low.network & high.network,
            environment=tuple(n for n in low.environment if n in high.environment),
            unix_sockets=low.unix_sockets and high.unix_sockets,
            ask=low.ask and high.ask,
            environment_ref=low.environment_ref or high.environment_ref,
            process_limits=low.process_limits & high.process_limits,
            violation_refs=(*low.violation_refs, *high.violation_refs),
            mechanisms=tuple(m for m in low.mechanisms if m in high.mechanisms),
        )

    def holds(self, kind: OperationKind, resource: str) -> bool:
        """Tell whether an operation on this resource stays inside the boundary."""
        match kind:
            case OperationKind.FS_READ:
                return _among(resource, self.read_roots) and not _among(resource, self.masked)
            case OperationKind.FS_WRITE:
                outside = (*self.masked, *self.protected)
                return _among(resource, self.write_roots) and not _among(resource, outside)
            case OperationKind.NET_CONNECT:
                return self.network.admits(resource)
            case OperationKind.FS_EXEC | OperationKind.COMMAND_EXECUTE:
                return True
            case OperationKind.TOOL_CALL:
                return False
            case _:
                assert_never(kind)


class ProfileSpec(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A profile as somebody wrote it down: what it changes about the built-in one that it extends.

    Paths are absolute, or relative to the workspace. None leaves what the built-in profile says.
    """

    name: str
    extends: Extensible = "workspace-write"
    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    masked: tuple[str, ...] = ()
    network: Network | None = None
    environment: tuple[str, ...] = ()
    limits: Limits = Limits()
    unix_sockets: bool | None = None
    ask: bool = False


class Violation(msgspec.Struct, frozen=True):
    """Something a sandboxed process tried and was stopped from."""

    operation: OperationKind
    resource: str
    mechanism: str
    pid: int | None = None
    program: str | None = None
    command_line: str | None = None

    @property
    def words(self) -> str:
        """Say in plain words what was stopped, and whose it was."""
        verb = "connecting to" if self.operation is OperationKind.NET_CONNECT else "writing"
        who = f" by {self.command_line[:60]}" if self.command_line else ""
        return f"{verb} {self.resource}{who}"


def within(path: str, root: str) -> bool:
    """Tell whether a normalised absolute path is the root or lies below it; a name prefix is not enough."""
    return path == root or path.startswith(root if root.endswith("/") else root + "/")


def _among(path: str, roots: tuple[str, ...]) -> bool:
    return any(within(path, root) for root in roots)


def _shared_roots(ours: tuple[str, ...], theirs: tuple[str, ...]) -> tuple[str, ...]:
    inner = {a for a in ours for b in theirs if within(a, b)} | {b for b in theirs for a in ours if within(b, a)}
    return tuple(sorted(inner))

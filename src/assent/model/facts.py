"""What the pure part may know of the world: injected, so that reading and deciding do no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec


def _unknown(_path: str) -> str | None:
    return None


def _no_trap(_tool: str, _folder: str) -> str | None:
    return None


def _not_there(_path: str) -> bool:
    return False


def _not_seen(_folder: str) -> bool | None:
    return None


def _no_links(_folder: str) -> tuple[str, ...]:
    return ()


def _no_names(_folder: str) -> None:
    return None


class Facts(msgspec.Struct, frozen=True, eq=False):
    """The world as one decision sees it. The defaults know nothing. Each look at the world is equal to itself alone."""

    now: float = 0.0
    """Seconds since 1970, UTC; 0 where there is no clock."""
    home: str | None = None
    """The agent's home directory."""
    resolve: Callable[[str], str | None] = _unknown
    """Follow symbolic links in an absolute path; None where the disk cannot be asked."""
    trap: Callable[[str, str], str | None] = _no_trap
    """Say what in a folder's repository would make a look of this tool (`git`, `cargo`) run code."""
    path: tuple[str, ...] = ()
    """The folders in which programs are looked for."""
    is_program: Callable[[str], bool] = _not_there
    """Tell whether a file is a program."""
    exists: Callable[[str], bool] = _not_there
    """Tell whether a path is known to lead to something, so that opening it makes nothing new."""
    has_dashes: Callable[[str], bool | None] = _not_seen
    """Tell whether a folder holds a name that starts with a dash, so that a pattern there could become an option;
    None where the disk cannot be asked."""
    control_links: Callable[[str], tuple[str, ...]] = _no_links
    """List where the symbolic links lead by which a folder's control plane is found elsewhere."""
    names: Callable[[str], Sequence[tuple[str, bool]] | None] = _no_names
    """List what is in a folder, and of each name whether it is a folder too: nothing of what is no folder, None where
    that cannot be told."""
    case_insensitive: bool = False
    """Names that differ in case are one file."""
    assent_paths: tuple[str, ...] = ()
    """Assent's own home, sockets and tokens: nobody but Assent touches them."""
    assent_files: tuple[str, ...] = ()
    """Assent's own configuration and the hook entries it wrote: read, never written."""
    assent_endpoints: tuple[str, ...] = ()
    """Where the daemon listens, as `host:port`."""
    sandbox: bool = False
    """Whether a boundary can be set up on this machine …"""
    sandbox_writes: bool = True
    """… and then, whether also one inside of which the workspace is written."""
    sandbox_hosts: tuple[str, ...] = ()
    """What installing and fetching needs to reach: the configured package indexes, the repository's remotes."""
    clock: Callable[[], float] | None = None
    """How much processor time this thread has taken, in seconds; without it a decision may take what it takes."""

    def is_over(self, moment: float | None, *, allows: bool) -> bool:
        """Tell whether what ends at a moment has ended. Without a clock, what allows has, and what refuses has not."""
        if moment is None:
            return False
        return moment <= self.now if self.now else allows

    @property
    def disk(self) -> str:
        """Say whether the agent's disk can be seen."""
        return "unknown" if self.resolve is _unknown else "known"

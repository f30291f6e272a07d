"""The operations that a path, a machine or a variable stands for: reads, writes and connections, with their tiers."""

from __future__ import annotations

import functools
import posixpath

import msgspec

import assent.lazy_regex as re
from assent.analysis.budget import TOO_MUCH
from assent.analysis.ir import Word
from assent.analysis.resources.paths import INHERITED, LONGEST_KEPT, Located, Place, Traits, is_inside
from assent.analysis.resources.wildcards import blur, control_plane, leads_to, may_be_secret, segments
from assent.budget import step
from assent.catalog import secret_names
from assent.model import (
    DANGEROUS,
    DESTRUCTIVE,
    FS_READ,
    FS_WRITE,
    NET_CONNECT,
    SAFE,
    UNKNOWN,
    CallError,
    Operation,
    OperationKind,
    Tier,
    fold,
)

_DEVICE = re.compile(r"/dev/(?!null$|zero$|full$|std|tty|pts/|fd/|shm/|ptmx$|tcp/|udp/)")


class OperationContext(msgspec.Struct, frozen=True):
    """What gives a command's words their meaning, and the operation that owns what they touch."""

    place: Place
    cwd: str | None
    owner: int | None = None
    sweep: bool = False
    lists: bool = False
    """It looks at names only, not into files."""
    elsewhere: bool = False
    """It runs on another machine or in another root."""


def locate(word: Word, place: Place, cwd: str | None) -> Located:
    """Return where a word points; a word that can be no path is not known."""
    try:
        return place.locate(word.text, cwd or UNKNOWN)
    except CallError:
        return Located(UNKNOWN)


def connection(host: str, owner: int | None, tier: Tier = SAFE, reason: str = "contacts a host") -> Operation:
    """Return a connection; its tier is its own, the command that makes it has another."""
    return Operation(kind=NET_CONNECT, resource=host, tier=tier, reason=reason, owner=owner)


def secret_variable(name: str, owner: int | None) -> Operation:
    """Return the read of a variable with a secret's name."""
    return secret_read(f"${name}", owner, "reads a variable with a secret's name")


def secret_read(name: str, owner: int | None, reason: str) -> Operation:
    """Return the read of a secret that is no file."""
    return Operation(kind=FS_READ, resource=name, tier=SAFE, reason=reason, owner=owner, secret=True)


def working(located: Located, owner: int) -> Operation:
    """Return the use of a folder outside the workspace, which needs an allow of its own."""
    where = f"in {located.path}, outside" if located.known else "in a directory that may be outside"
    return Operation(
        kind=FS_READ,
        resource=located.path,
        target=located.target,
        tier=DANGEROUS,
        reason=f"works {where} the workspace",
        owner=owner,
        own_cover=True,
    )


def reading(located: Located, ground: OperationContext, *, glob: bool = False, own_cover: bool = False) -> Operation:
    """Return the read of a path; of a pattern that may find Assent's own files, the read of those."""
    path, place = located.path, ground.place
    secret = place.traits(path, located.target).secret
    secret = secret or (path.startswith(UNKNOWN) and secret_names.may_be_secret_name(path))
    if not (secret or glob or ground.sweep or UNKNOWN in path or INHERITED.match(path)):
        # One file, by its name.
        return Operation(
            kind=FS_READ,
            resource=path,
            target=located.target,
            tier=SAFE,
            reason="reads a file",
            owner=ground.owner,
            own_cover=own_cover,
        )
    if glob and not place.weigh(path):
        return unseen(FS_READ, ground)
    look = _look if len(path) <= LONGEST_KEPT else _find_look
    seen = look(located, glob, ground.sweep, ground.lists, place.facts.assent_paths, place.workspace)
    secret = secret or seen.secret
    return Operation(
        kind=FS_READ,
        resource=seen.resource,
        target=None if glob or seen.own else located.target,
        tier=DANGEROUS if seen.near else SAFE,
        reason="may read Assent's own files" if seen.near else "reads a secret" if secret else "reads a file",
        owner=ground.owner,
        own_cover=own_cover,
        globbed=glob and not seen.own,
        sweep=ground.sweep,
        secret=secret,
    )


class _Look(msgspec.Struct, frozen=True):
    """What is read by a pattern, a walk, or a path that is known in part."""

    resource: str
    own: bool
    """That is one of Assent's own paths."""
    secret: bool
    """It is after a secret, though it names none."""
    near: bool
    """It may end at Assent's own files."""


def _find_look(
    located: Located,
    glob: bool,  # noqa: FBT001 - this and what follows is a key
    sweep: bool,  # noqa: FBT001
    lists: bool,  # noqa: FBT001
    ours: tuple[str, ...],
    workspace: tuple[str, ...],
) -> _Look:
    step()
    path = located.path
    own = find_ours(located, ours, glob=glob, above=sweep and not lists)
    secret = not lists and (
        bool(INHERITED.match(path))
        or (glob and may_be_secret(path))
        # All files of a folder of the user's own are read, of which some are known to be secrets.
        or (sweep and secret_names.keeps_secrets(path) and not is_inside(located.names, workspace))
    )
    near = _is_near(path, ours) and (not glob or path.startswith(UNKNOWN))
    return _Look(own or (blur(path) if glob else path), own is not None, secret, near)


_look = functools.lru_cache(maxsize=1024)(_find_look)


def unseen(kind: OperationKind, ground: OperationContext) -> Operation:
    """Return the touch of what a pattern finds, where there are more of them than anybody looks at."""
    return Operation(kind=kind, resource=UNKNOWN, tier=DANGEROUS, reason=TOO_MUCH, owner=ground.owner)


def looking(found: Operation, located: Located, ground: OperationContext) -> Operation:
    """Return a read as the look at a name: that a project has a secret is none, what lies beside a person's keys is.

    What a disk is called says nothing of what is on it.
    """
    hidden = found.secret and not ground.place.inside(located) and not located.path.startswith("/dev/")
    return found if hidden or not found.secret else msgspec.structs.replace(found, secret=False)


def worse(operation: Operation, reason: str) -> Operation:
    """Return an operation as one that is at least dangerous, for this reason."""
    tier = max(operation.tier, DANGEROUS, key=lambda t: t.rank)
    return msgspec.structs.replace(operation, tier=tier, reason=reason)


def is_own(path: str, place: Place) -> bool:
    """Tell whether a path is one of Assent's own."""
    own = place.facts.assent_paths
    return bool(own) and (path in own or path.startswith(_below(own)))


@functools.lru_cache(maxsize=64)
def _below(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return what everything below these paths starts with."""
    return tuple(p if p.endswith("/") else p + "/" for p in paths)


def writing(
    located: Located, ground: OperationContext, *, glob: bool = False, own_cover: bool = False, tree: bool = False
) -> Operation:
    """Return the write of a path: safe for a plain file inside the workspace, dangerous elsewhere.

    `tree`: all that is in it goes with it.
    """
    place = ground.place
    if glob and not place.weigh(located.path):
        return unseen(FS_WRITE, ground)
    traits = place.traits(located.path, located.target)
    tier, reason = _write_tier(located, traits, glob=glob)
    device = tier is DESTRUCTIVE
    path = _written(located, ground, tree=tree) if glob else located.path
    return Operation(
        kind=FS_WRITE,
        resource=path,
        target=None if glob else located.target,
        tier=tier,
        reason=reason,
        owner=ground.owner,
        own_cover=own_cover or not traits.inside or (glob and not _is_about_a_folder(located.path)),
        globbed=glob,
        sweep=tree,
        secret=traits.secret or (glob and may_be_secret(located.path)),
        impact=f"overwrites {located.path}; on a disk, everything on it is lost" if device else None,
        rollback="restore the disk from a backup" if device else None,
    )


def _write_tier(located: Located, traits: Traits, *, glob: bool) -> tuple[Tier, str]:
    if _DEVICE.match(located.target or located.path):
        return DESTRUCTIVE, "overwrites a device"
    if not traits.inside:
        return DANGEROUS, "writes outside the workspace"
    if traits.sensitive:
        return DANGEROUS, "writes a sensitive file"
    if glob:
        return DANGEROUS, "writes every file that a glob matches"
    if posixpath.basename(located.path).startswith("-"):
        return DANGEROUS, "writes a file whose name may become an option"
    return SAFE, "writes a file in the workspace"


def _is_about_a_folder(pattern: str) -> bool:
    """Tell whether what a pattern finds lies in the folder that it names: it must be about that folder alone."""
    folder, _, name = pattern.rpartition("/")
    return blur(folder) == folder and not name.startswith(".")


def _written(located: Located, ground: OperationContext, *, tree: bool) -> str:
    """Return what a pattern stands for when it is written: of all that it may find, what matters most."""
    facts, path = ground.place.facts, located.path
    own = find_ours(located, (*facts.assent_paths, *facts.assent_files), glob=True, above=True, hidden=tree)
    if own or ground.place.is_control_plane(located):
        return own or path
    return control_plane(path) or blur(path)


def find_ours(located: Located, paths: tuple[str, ...], *, glob: bool, above: bool, hidden: bool = False) -> str | None:
    """Return which of Assent's own paths a pattern may find, or a walk come by."""
    if not glob and (not above or located.path.startswith(UNKNOWN)):
        return None
    names = [segments(fold(n)) for n in located.names]
    for path in paths:
        own = _folded(path)
        for name in names:
            if leads_to(name, own, above=above, hidden=hidden):
                return path
    return None


@functools.lru_cache(maxsize=256)
def _folded(path: str) -> tuple[str, ...]:
    """Return the names in one of Assent's own paths, as a disk may keep them."""
    return segments(fold(path))


def near_own(ground: OperationContext) -> Operation:
    """Return the read of something that may be one of Assent's own files."""
    reason = "may read Assent's own files"
    return Operation(kind=FS_READ, resource=UNKNOWN, tier=DANGEROUS, reason=reason, owner=ground.owner)


def _is_near(path: str, own: tuple[str, ...]) -> bool:
    """Tell whether a path that is known only in part may end at Assent's own files."""
    known, cut, rest = path.partition(UNKNOWN)
    if not cut or not own:
        return False
    return any(fold(p).startswith(fold(known)) for p in own) if known else _ends_like_own(rest, own)


def _ends_like_own(rest: str, own: tuple[str, ...]) -> bool:
    """Tell whether a path of which the beginning is not known spells out what Assent's own paths end with."""
    names = segments(fold(rest.rpartition(UNKNOWN)[2]))
    if not names:
        return False
    ends = (segments(fold(p))[-depth:] for p in own for depth in range(1, len(names) + 1))
    return names[-1] == "token" or names[-1].endswith(".token") or any(names[: len(end)] == end for end in ends)

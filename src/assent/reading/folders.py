"""Folders as a whole: what a copy, a move or an archive brings into them, and what goes with them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from assent.catalog import Role
from assent.model import FS_WRITE, UNKNOWN, Operation, fold, within
from assent.reading.paths import Located
from assent.reading.touching import Ground, find_ours, locate, reading, worse, writing
from assent.reading.web import REMOTE, URL
from assent.reading.wildcards import is_pattern
from assent.shell.tree import Word

ARRIVING: frozenset[Role] = frozenset({"dest", "trees", "to"})
"""Roles of a folder that other arguments come into by their names."""
COMING: frozenset[Role] = frozenset({"read", "move", "from", "link"})
"""Roles of what comes."""


def holds_own(located: Located, ground: Ground) -> bool:
    """Tell whether files of Assent's own are, or would be, in a folder."""
    names = [fold(name) for name in located.names]
    return any(within(fold(own), name) for own in _own(ground) for name in names)


def fill(located: Located, ground: Ground) -> Iterator[Operation]:
    """Yield the write of names below a folder that nobody knows, where Assent's own files could be among them."""
    if located.known and holds_own(located, ground):
        below = Located(f"{located.path.rstrip('/')}/{UNKNOWN}")
        yield worse(writing(below, ground), "may write over Assent's own files")


def arrive(
    role: Role, dest: Word, sources: Sequence[Word], before: Sequence[Operation], ground: Ground
) -> Iterator[Operation]:
    """Yield what is written in a folder by the names of what comes there; `before`: what the line did so far."""
    located = locate(dest, ground.place, ground.cwd)
    remote = role == "to" and (URL.match(dest.text) or REMOTE.fullmatch(dest.text))
    if not located.known or is_pattern(dest) or remote:
        return
    folder = _is_folder(located, ground)
    if not folder:
        yield from fill(located, ground)  # it becomes what comes, whatever is in that
    if folder is False and len(sources) == 1 and not dest.text.endswith("/") and not _is_made(located, before):
        return
    for source in sources:
        yield from _arrival(located, source, ground)


def _arrival(folder: Located, source: Word, ground: Ground) -> Iterator[Operation]:
    name = posixpath.basename(source.text.rpartition(":")[2])
    if name in ("", ".", "..") or UNKNOWN in name:
        yield from fill(folder, ground)
        return
    arrived, glob = locate(Word(f"{folder.path}/{name}"), ground.place, ground.cwd), is_pattern(source)
    if glob and find_ours(arrived, _own(ground), glob=True, above=True):
        yield from fill(folder, ground)
    else:
        yield writing(arrived, ground, glob=glob)
        yield from fill(arrived, ground)


def lead(target: Word, role: Role, dest: Word, ground: Ground) -> Iterator[Operation]:
    """Yield the read of what a symbolic link leads to, counted from every folder that the link may come to be in."""
    located = locate(dest, ground.place, ground.cwd)
    within_it = role == "dest" and _is_folder(located, ground) is not False
    folders = (*map(posixpath.dirname, located.names), *(located.names if within_it else ()))
    for folder in dict.fromkeys(folders):
        yield reading(locate(target, ground.place, folder), ground, glob=is_pattern(target))


def delete(root: Word, ground: Ground, *, tested: bool) -> Iterator[Operation]:
    """Yield what a walk deletes that starts at a folder: all of it, or what its tests let through."""
    located = locate(root, ground.place, ground.cwd)
    if not tested or not ground.place.inside(located):
        yield writing(located, ground, glob=is_pattern(root), tree=not tested)
    if tested:
        yield from fill(located, ground)


def lose(root: Word, found: Sequence[Operation], ground: Ground) -> Iterator[Operation]:
    """Yield the loss of a folder with Assent's own files, where a walk takes all away that it finds there."""
    located = locate(root, ground.place, ground.cwd)
    each = f"{located.path.rstrip('/')}/{UNKNOWN}"
    if holds_own(located, ground) and any(o.kind is FS_WRITE and o.sweep and o.resource == each for o in found):
        yield writing(located, ground, tree=True)


def _is_folder(located: Located, ground: Ground) -> bool | None:
    """Tell whether something is a folder; None where the disk can not be asked, or there is nothing by that name."""
    place, path = ground.place, located.path
    if any(known and within(known, path) for known in (ground.cwd, place.cwd, place.facts.home, *place.workspace)):
        return True
    if place.facts.disk == "unknown" or ground.elsewhere:
        return None
    return place.facts.exists(f"{path}/.")


def _is_made(located: Located, before: Sequence[Operation]) -> bool:
    """Tell whether the line itself may have made a folder."""
    return any(o.kind is FS_WRITE and within(o.resource, located.path) for o in before)


def _own(ground: Ground) -> tuple[str, ...]:
    facts = ground.place.facts
    return (*facts.assent_paths, *facts.assent_files)

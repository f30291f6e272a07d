"""Folders as a whole: what a copy, a move or an archive brings into them, and what goes with them.

What holds Assent's own files, or what decides later what runs, is as safe as they are.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
from collections import deque
from collections.abc import Iterator, Sequence

import msgspec

from assent.analysis.budget import CHECK, PATH, Meter
from assent.analysis.ir import Word
from assent.analysis.operations import OperationContext, find_ours, locate, reading, worse, writing
from assent.analysis.resources.paths import Located
from assent.analysis.resources.urls import REMOTE, URL
from assent.analysis.resources.wildcards import blur, is_pattern, leads_to, segments
from assent.budget import step
from assent.catalog import Role, sensitive_paths
from assent.model import FS_WRITE, UNKNOWN, Operation, fold, within

_BY_NAME: frozenset[Role] = frozenset({"dest", "trees", "to"})
ARRIVING: frozenset[Role] = _BY_NAME | {"into", "remove", "mirror"}
"""Roles of a folder that other arguments come into, or become: by their names, or what is in them."""
COMING: frozenset[Role] = frozenset({"read", "move", "from", "link"})
"""Roles of what comes."""
_STORE = ".git"
_PACKAGES = "/node_modules"


def holds_own(located: Located, ground: OperationContext) -> bool:
    """Tell whether files of Assent's own are, or would be, in a folder."""
    names = [fold(name) for name in located.names]
    return any(within(fold(own), name) for own in _own(ground) for name in names)


def fill(located: Located, ground: OperationContext) -> Iterator[Operation]:
    """Yield the write of names below a folder that nobody knows, where Assent's own files could be among them."""
    if located.known and holds_own(located, ground):
        below = Located(f"{located.path.rstrip('/')}/{UNKNOWN}")
        yield worse(writing(below, ground), "may overwrite Assent's own files")


def lose(
    located: Located, ground: OperationContext, *, glob: bool = False, pruned: bool = False
) -> Iterator[Operation]:
    """Yield the loss of what decides later what runs, where it lies in a folder that goes.

    `pruned`: the repository's store stays.
    """
    for look in _looks(located, glob=glob):
        goes = msgspec.structs.replace(look, spared=True, pruned=pruned)
        yield from _touch(goes, ground, "removes files that can make code run later", tree=True)


def overwrite(
    located: Located, ground: OperationContext, *, glob: bool = False, shallow: bool = False
) -> Iterator[Operation]:
    """Yield the write of what decides later what runs, where it lies in a folder that nobody knows what comes into.

    `shallow`: what a pattern finds is written, and not what is in that.
    """
    for look in _looks(located, glob=glob):
        filled = msgspec.structs.replace(look, shallow=shallow)
        yield from _touch(filled, ground, "may overwrite files that can make code run later")


def arrive(
    role: Role, dest: Word, coming: Sequence[tuple[Role, Word]], before: Sequence[Operation], ground: OperationContext
) -> Iterator[Operation]:
    """Yield what is written in a folder by the names of what comes there; `before`: what the line did so far."""
    located = locate(dest, ground.place, ground.cwd)
    remote = role in ("to", "mirror") and (URL.match(dest.text) or REMOTE.fullmatch(dest.text))
    if is_pattern(dest) and not remote:
        yield from _arrive_somewhere(role, dest, coming, ground)
    if not located.known or is_pattern(dest) or remote:
        return
    folder = role in _BY_NAME and _is_folder(located, ground)
    for kind, source in _within_reach(coming, ground) if not folder else ():
        yield from _bring(kind, source, located.path, _from_link(kind, posixpath.dirname(located.path), ground), role)
    if role in ("to", "into"):
        # It may come by all of its path.
        for _, source in _within_reach(coming, ground):
            yield from guess(Word(f"{located.path}/{source.text}", splits=source.splits), ground)
    if role not in _BY_NAME:
        return
    if not folder:
        yield from fill(located, ground)  # it becomes what comes, whatever is in that
    if folder is False and len(coming) == 1 and not dest.text.endswith("/") and not _is_made(located, before):
        return
    for kind, source in _within_reach(coming, ground):
        yield from _arrival(role, located, kind, source, _from_link(kind, located.path, ground))


def _within_reach(coming: Sequence[tuple[Role, Word]], ground: OperationContext) -> Iterator[tuple[Role, Word]]:
    """Yield what comes, as long as there is room to look at it."""
    return itertools.takewhile(lambda _: ground.place.spend(PATH), coming)


def _arrive_somewhere(
    role: Role, dest: Word, coming: Sequence[tuple[Role, Word]], ground: OperationContext
) -> Iterator[Operation]:
    """Yield what comes into the last of what a pattern finds: all the others come there too."""
    located = locate(dest, ground.place, ground.cwd)
    for kind, source in _within_reach((*coming, *((kind, dest) for kind, _ in coming[:1])), ground):
        if kind == "move" and source is dest:
            yield from lose(located, ground, glob=True)
        arrived = f"{located.path}/{posixpath.basename(source.text.rstrip('/'))}"
        if _comes_whole(role, kind):
            yield from overwrite(Located(arrived), ground, glob=True)
        yield from _bring(kind, source, blur(located.path if is_pattern(source) else arrived), ground, role)


def _arrival(role: Role, folder: Located, kind: Role, source: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield what comes into a folder by its name."""
    name = posixpath.basename(source.text.rpartition(":")[2])
    whole = _comes_whole(role, kind)
    if name in ("", ".", "..") or UNKNOWN in name:
        yield from fill(folder, ground)
        if whole and UNKNOWN not in name:
            yield from overwrite(folder, ground)
            yield from _bring(kind, source, folder.path, ground, role)
        return
    arrived, glob = locate(Word(f"{folder.path}/{name}"), ground.place, ground.cwd), is_pattern(source)
    if glob and find_ours(arrived, _own(ground), glob=True, above=True):
        yield from fill(folder, ground)
    else:
        yield writing(arrived, ground, glob=glob)
        yield from fill(arrived, ground)
    if whole:
        yield from overwrite(arrived, ground, glob=glob)
    yield from _bring(kind, source, folder.path if glob else arrived.path, ground, role)


def _comes_whole(role: Role, kind: Role) -> bool:
    """Tell whether folders come with all that is in them."""
    return kind == "move" or role in ("trees", "to", "into", "mirror")


def _from_link(kind: Role, folder: str, ground: OperationContext) -> OperationContext:
    """Return where a source is counted from: what a symbolic link leads to, from the folder of the link."""
    return msgspec.structs.replace(ground, cwd=folder) if kind == "link" else ground


def lead(target: Word, role: Role, dest: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the read of what a symbolic link leads to, counted from every folder that the link may come to be in."""
    located = locate(dest, ground.place, ground.cwd)
    within_it = role == "dest" and _is_folder(located, ground) is not False
    folders = (*map(posixpath.dirname, located.names), *(located.names if within_it else ()))
    for folder in dict.fromkeys(folders):
        yield reading(locate(target, ground.place, folder), ground, glob=is_pattern(target))


def _bring(kind: Role, source: Word, dest: str, ground: OperationContext, role: Role) -> Iterator[Operation]:
    """Yield the write of what decides later what runs, where it is among what comes; `dest`: what that becomes."""
    whole, glob = kind == "link" or _comes_whole(role, kind), is_pattern(source)
    if not _is_seen(ground) or REMOTE.fullmatch(source.text) or not (whole or glob):
        return
    for look in _looks(locate(source, ground.place, ground.cwd), glob=glob):
        # What a pattern finds comes by its last name.
        dropped = max(len(look.pattern) - len(segments(look.folder)) - 1, 0)
        named = msgspec.structs.replace(
            look, named=dest.rstrip("/"), dropped=dropped, spared=kind == "link", shallow=not whole
        )
        yield from _touch(named, ground, "brings in files that can make code run later")


def delete(root: Word, ground: OperationContext, names: Sequence[str] = (), *, tested: bool) -> Iterator[Operation]:
    """Yield what a walk deletes that starts at a folder: all of it, or what its tests let through, by these names."""
    located = locate(root, ground.place, ground.cwd)
    if not tested or not ground.place.inside(located):
        yield writing(located, ground, glob=is_pattern(root), tree=not tested)
    if not tested:
        yield from lose(located, ground, glob=is_pattern(root))
        return
    yield from fill(located, ground)
    for name in names:
        yield from guess(Word(f"{located.path}/{name}", splits=True), ground)


def guess(word: Word, ground: OperationContext) -> Iterator[Operation]:
    """Yield the write of what decides later what runs, where what a command takes away may be called so."""
    operation = writing(locate(word, ground.place, ground.cwd), ground, glob=is_pattern(word))
    if ground.place.is_control_plane(Located(operation.resource)):
        yield operation


def sweep_out(roots: Sequence[Word], found: Sequence[Operation], ground: OperationContext) -> Iterator[Operation]:
    """Yield the loss of folders, where a walk takes all away that it finds there."""
    located = [(locate(root, ground.place, ground.cwd), is_pattern(root)) for root in roots]
    each = {f"{root.path.rstrip('/')}/{UNKNOWN}" for root, _ in located}
    if not any(o.kind is FS_WRITE and o.sweep and o.resource in each for o in found):
        return
    for root, glob in located:
        if holds_own(root, ground):
            yield writing(root, ground, tree=True)
        yield from lose(root, ground, glob=glob)


class _Look(msgspec.Struct, frozen=True):
    """A look for what decides later what runs in a folder, or in what a pattern finds there."""

    folder: str
    named: str
    """What the folder is called, or will be."""
    pattern: tuple[str, ...] = ()
    dropped: int = 0
    """How many names below the folder are not among those that something comes to have."""
    spared: bool = False
    """What installers make anew does not count."""
    pruned: bool = False
    shallow: bool = False
    """Only what the pattern finds counts, and not what is in that."""

    def counts(self, inner: str) -> bool:
        """Tell whether a path below the folder, named from there, is of what is looked for."""
        parts = segments(fold(self.folder + inner))
        return len(parts) >= len([p for p in self.pattern if p != "**"]) and self.leads(inner)

    def leads(self, inner: str) -> bool:
        """Tell whether what is looked for may lie at a path below the folder, or in it."""
        return not self.pattern or leads_to(self.pattern, segments(fold(self.folder + inner)), above=True)

    def enters(self, inner: str) -> bool:
        """Tell whether a folder is to be looked into."""
        return self.leads(inner) and not (self.shallow and self.counts(inner))

    @property
    def deep(self) -> bool:
        """Tell whether the pattern itself says how deep things may lie."""
        return self.shallow or "**" in self.pattern

    def spares(self, path: str) -> bool:
        """Tell whether something of the control plane stays, or is not missed."""
        return (self.spared and sensitive_paths.is_installed(path)) or (self.pruned and path.endswith(f"/{_STORE}"))

    def name(self, inner: str) -> str:
        """Return what a path below the folder is called, or will be."""
        return self.named + (inner if not self.dropped else "/" + "/".join(inner.split("/")[self.dropped + 1 :]))


def _looks(located: Located, *, glob: bool) -> Iterator[_Look]:
    """Yield a look at a path, by each of its names; none at one that is not known."""
    if glob:
        parts = segments(located.path)
        known = list(itertools.takewhile(lambda part: blur(part) == part, parts))
        folder = "".join(f"/{part}" for part in known)
        yield _Look(folder, folder, segments(fold(located.path)))
    elif located.known:
        for name in located.names:
            yield _Look(name.rstrip("/"), name.rstrip("/"))


def _touch(look: _Look, ground: OperationContext, reason: str, *, tree: bool = False) -> Iterator[Operation]:
    """Yield the write of what a look finds; of the folder itself, if that cannot be told."""
    step()
    place = ground.place
    if not place.spend(PATH) or place.is_control_plane(Located(look.named or "/")):
        return  # as it is called it is asked about anyway
    found = _find_once(look, ground) if _is_seen(ground) else _said(look, ground)
    if found is not None and place.spend(PATH):
        located = place.locate(found or "/")
        operation = writing(located, ground, glob=not located.known, tree=tree)
        yield msgspec.structs.replace(worse(operation, reason), holds=found == look.named)


def _is_seen(ground: OperationContext) -> bool:
    return ground.place.facts.disk == "known" and not ground.elsewhere


def _said(look: _Look, ground: OperationContext) -> str | None:
    """Return a folder of which the words alone say that what decides later what runs is in it."""
    place = ground.place
    above = any(path is not None and within(path, look.named) for path in (place.facts.home, *place.workspace))
    told = above or sensitive_paths.is_above_control_plane(look.named, goes=look.spared)
    return look.named if told and not look.pattern else None


def _find_once(look: _Look, ground: OperationContext) -> str | None:
    """Return what a look finds; the same look at the same folder is taken once."""
    meter = ground.place.meter or Meter()
    return meter.once(look, lambda: _find(look, ground, meter))


def _find(look: _Look, ground: OperationContext, meter: Meter) -> str | None:
    """Return the first path found that decides later what runs, what lies higher first.

    The folder itself, if not all of it could be looked through.
    """
    if look.named == look.folder and (led := _led_to(look, ground)) is not None:
        return led
    names, todo = functools.partial(meter.list_names, ground.place.facts.names), deque([("", not look.pattern)])
    while todo:
        step()
        inner, whole = todo.popleft()
        listed = names(look.folder + inner or "/")
        if listed is None:
            return look.named
        packages = (look.folder + inner).endswith(_PACKAGES)
        for name, is_folder in listed:
            if not is_folder and not sensitive_paths.may_end_control_plane(name):
                continue  # as most are
            step()
            below = f"{inner}/{name}"
            meter.names -= 0 if whole else CHECK
            counts = whole or look.counts(below)
            if counts and sensitive_paths.may_end_control_plane(name) and _decides(look.name(below), ground):
                if not look.spares(look.name(below)):
                    return look.name(below)
            elif is_folder and not packages and (whole or look.enters(below)):
                todo.append((below, whole or (counts and not look.deep)))
    return None


def _decides(path: str, ground: OperationContext) -> bool:
    return ground.place.is_control_plane(Located(path))


def _led_to(look: _Look, ground: OperationContext) -> str | None:
    """Return a path in the folder that a link of the control plane leads to."""
    folder = fold(look.folder)
    inside = ((p, fold(p)) for p in ground.place.linked)
    return next((p for p, low in inside if within(low, folder) and look.counts(low[len(folder) :])), None)


def _is_folder(located: Located, ground: OperationContext) -> bool | None:
    """Tell whether something is a folder; None where the disk cannot be asked, or there is nothing by that name."""
    place, path = ground.place, located.path
    if any(known and within(known, path) for known in (ground.cwd, place.cwd, place.facts.home, *place.workspace)):
        return True
    if place.facts.disk == "unknown" or ground.elsewhere:
        return None
    return place.facts.exists(f"{path}/.") if place.spend(PATH) else None


def _is_made(located: Located, before: Sequence[Operation]) -> bool:
    """Tell whether the line itself may have made a folder."""
    return any(o.kind is FS_WRITE and within(o.resource, located.path) for o in before)


def _own(ground: OperationContext) -> tuple[str, ...]:
    facts = ground.place.facts
    return (*facts.assent_paths, *facts.assent_files)

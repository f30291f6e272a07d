"""Whether a path pattern is about an operation, by every name that its path has: yes, maybe or no."""

from __future__ import annotations

from assent.analysis.resources.globs import Anchor, Glob
from assent.analysis.resources.paths import Place
from assent.budget import step
from assent.model import FS_READ, FS_WRITE, MAYBE, NO, UNKNOWN, YES, Certainty, Operation, fold, within
from assent.policy.call_view import View
from assent.policy.rules.patterns import basename

_SYSTEM_LINKS = ("/tmp", "/var", "/etc")  # noqa: S108 - names to recognise, not to write to


def path_match(glob: Glob, operation: Operation, view: View, *, broad: bool) -> Certainty:
    """Compare a path pattern with everything the operation's path is called.

    An allow needs the link and its target to match; a deny fires on either, from every folder that a relative
    pattern may stand for, and where names are the same to some disks, perhaps.
    """
    step()
    names = _names(operation)
    if not operation.known:
        if broad and _ends_so(glob, operation.resource):
            return YES
        return MAYBE if not operation.globbed or _could_match(glob, operation.resource, view) else NO
    if not broad:
        return YES if _trusts_cwd(glob, view) and all(_covers(glob, n, operation, view) for n in names) else NO
    starts = starts_of(glob.anchor, view.place)
    if any(_hits(glob, n, s, operation, view) for n in names for s in starts):
        return YES
    folded = glob.folded
    if any(_hits(folded, fold(n), fold(s), operation, view) for n in names for s in starts):
        return YES if view.facts.case_insensitive else MAYBE
    return NO


def _ends_so(glob: Glob, resource: str) -> bool:
    """Tell whether a path ends as a pattern for any folder of the disk says, wherever it begins."""
    end = resource.rpartition(UNKNOWN)[2]
    return end.startswith("/") and glob.text.startswith("/**/") and glob.matches(end)


def _could_match(glob: Glob, resource: str, view: View) -> bool:
    """Tell whether a path with unknown parts may be one that a pattern is about, by its start and its end."""
    head, tail = resource.partition(UNKNOWN)[0], resource.rpartition(UNKNOWN)[2].rpartition("/")[2]
    last = basename(glob.text)
    if tail and not set(last) & set("*?[\\") and not fold(last).endswith(fold(tail)):
        return False
    folder = fold(head.rpartition("/")[0]) or "/"
    bases = [fold(b) for s in starts_of(glob.anchor, view.place) if (b := glob.base_from(s)) is not None]
    return not head or glob.base == "/" or any(within(b, folder) or within(folder, b) for b in bases)


def starts_of(anchor: Anchor, place: Place) -> tuple[str, ...]:
    """Return the folders a pattern may start from in a deny: the cwd a call gives is no way out of it."""
    if anchor == "root":
        return ("/",)
    found = (place.facts.home,) if anchor == "home" else (place.cwd, *place.workspace)
    return tuple(dict.fromkeys(s for s in found if s))


def _names(operation: Operation) -> tuple[str, ...]:
    if operation.target is None or operation.target == operation.resource:
        return (operation.resource,)
    return (operation.resource, operation.target)


def _trusts_cwd(glob: Glob, view: View) -> bool:
    """Tell whether an allow may start from the cwd: not from one outside the workspace."""
    cwd = view.place.cwd
    return (
        glob.anchor != "cwd"
        or not view.place.workspace
        or (cwd is not None and view.place.inside(view.place.locate(cwd)))
    )


def _covers(glob: Glob, name: str, operation: Operation, view: View) -> bool:
    """Tell whether a pattern surely matches one name of a path: links below it count as what they lead to."""
    walks = operation.sweep and operation.kind is FS_READ
    for start in starts_of(glob.anchor, view.place)[:1]:
        for root in dict.fromkeys((start, view.facts.resolve(start) or start)):
            seen = glob.seen_from(root, _before_system_links(name, view) if root == "/" else name)
            if seen is not None and (glob.matches(seen) or (walks and glob.is_all_below(seen))):
                return True
    return False


def _before_system_links(name: str, view: View) -> str:
    """Undo a link that only the system's owner can make, such as /tmp on machines where it lies in /private."""
    for top in _SYSTEM_LINKS:
        real = view.facts.resolve(top)
        if real is not None and real != top and within(name, real):
            return top + name[len(real) :]
    return name


def _hits(glob: Glob, name: str, start: str, operation: Operation, view: View) -> bool:
    for spelling in _spellings(glob, name, start, view):
        seen = glob.seen_from(start, spelling)
        if seen is not None:
            walks = operation.sweep and operation.kind is FS_READ
            if glob.sweeps(seen) if walks else glob.touches(seen):
                return True
    return operation.sweep and operation.kind is FS_WRITE and glob.is_below(start, name)


def _spellings(glob: Glob, name: str, start: str, view: View) -> tuple[str, ...]:
    """Return a path's name, and its name as seen through a link in the pattern's own folder."""
    base = glob.base_from(start)
    real = view.facts.resolve(base) if base is not None else None
    if real is None or base is None or real == base or not within(name, real):
        return (name,)
    return (name, base + name[len(real.rstrip("/")) :])

"""Where a call stands: its folder, home and workspace; and what a path in it really names."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

import assent.lazy_regex as re
from assent.analysis.budget import LETTERS, PATH, Meter
from assent.analysis.resources.environment import UNTOLD, InheritedEnvironment, judge_environment
from assent.budget import step
from assent.catalog import Lexicon, secret_names, sensitive_paths
from assent.catalog.overlay import NOTHING
from assent.catalog.workspace_roots import refuse_root
from assent.model import UNKNOWN, CallError, Environment, Facts, Session, ToolCall, fold, within

T = TypeVar("T")

_FILE_URL = re.compile(r"^file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_HOME = re.compile(r"^(?:~|\$HOME|\$\{HOME\})(?=/|$)")
_VARIABLE = re.compile(r"^\$(?:[A-Z_][A-Z0-9_]*|\{\w+\})(?=/|$)")
_SLASH = r"/(?:\.?/)*"
_PROC = rf"{_SLASH}proc{_SLASH}(self|thread-self|[\d{UNKNOWN}]+)(?:{_SLASH}task{_SLASH}\d+)?{_SLASH}"
_PROC_ROOT = re.compile(rf"^(?:{_PROC}root)+(?=/|$)")
_PROC_CWD = re.compile(rf"^{_PROC}cwd(?=/|$)")
INHERITED = re.compile(r"/dev/fd/\d|/proc/[^/]+/fd(?:/|$)")
"""What the caller has open, whatever that is."""
_FOREIGN = re.compile(r"[A-Za-z]:[\\/]|\\\\|(?!(?i:file)://(?:localhost)?/)[A-Za-z][A-Za-z0-9+.-]*://")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MARKS = ("", "~", "$")
"""What a text begins with that is not a name in a folder: nothing, or something that is expanded."""
_LONG = 256
"""Characters of a path that take as long as any short one."""
LONGEST_KEPT = 1_024
"""Characters of a path of which it is kept what it is: longer ones do not come again."""
_OTHERS_HOME = re.compile(r"^/(?:home|Users)/[^/]+|^/(?:var/)?root(?=/|$)")


class Located(msgspec.Struct, frozen=True):
    """A path as it is named, made absolute, and with its symbolic links followed (None: not known)."""

    path: str
    target: str | None = None

    @property
    def known(self) -> bool:
        """Tell whether it is a constant."""
        return UNKNOWN not in self.path

    @property
    def names(self) -> tuple[str, ...]:
        """Return every name it goes by."""
        return (self.path,) if self.target in (None, self.path) else (self.path, self.target or "")


class Traits(msgspec.Struct, frozen=True):
    """What a path is, by any of its names (`inside`: by all of them)."""

    inside: bool
    outside: bool
    """A workspace is known, and the path may lie outside of it."""
    secret: bool
    sensitive: bool
    control_plane: bool


class Place(msgspec.Struct, frozen=True):
    """The surroundings that give a path its meaning."""

    facts: Facts
    cwd: str | None = None
    workspace: tuple[str, ...] = ()
    """The workspace's roots, as named and with links followed."""
    run: bool = False
    lexicon: Lexicon = NOTHING
    """What policies say about commands."""
    shell: str = ""
    """What runs the lines, if that is known."""
    linked: tuple[str, ...] = ()
    """Where links of the control plane lead: to write there is to write the control plane."""
    ambient: InheritedEnvironment = UNTOLD
    """What the environment does to the commands of a call."""
    meter: Meter | None = None
    """What reading a line at this place has taken so far, if that is counted."""

    def metered(self, meter: Meter) -> Place:
        """Return the same place for one call whose looks at paths are counted."""
        known = self.facts, self.cwd, self.workspace, self.run, self.lexicon, self.shell, self.linked, self.ambient
        return Place(*known, meter)

    def spend(self, cost: int) -> bool:
        """Pay for some work; False if there is to be no more of it."""
        return self.meter is None or self.meter.spend(cost)

    def ask(self, question: Callable[..., T], *given: str) -> T:
        """Ask the disk about a folder as a whole."""
        return question(*given) if self.meter is None else self.meter.ask(question, *given)

    def weigh(self, pattern: str) -> bool:
        """Pay for telling what a pattern may find, once; False if there is to be no more of it."""
        return self.meter is None or self.meter.weigh(pattern)

    @property
    def exhausted(self) -> bool:
        """Tell whether there is to be no more work for this call."""
        return self.meter is not None and self.meter.left < 0

    def locate(self, text: str, cwd: str | None = None) -> Located:
        """Make a path absolute against `cwd` (the call's own if None) and follow its links."""
        folder, meter = cwd or self.cwd, self.meter
        if meter is not None:
            known = meter.located.get((text, folder))
            if known is not None:
                return known
        step(1 + len(text) // _LONG)
        named = path = _joined(text, folder)
        if text[:1] in _MARKS or ":" in text or not _is_plain(path):
            named = self._absolute(text, folder)
            path = normal(named)
            if UNKNOWN in path:
                return Located(path)
        if meter is None:
            target = self.facts.resolve(named)
            return Located(path, target if target is None or target == path else normal(target))
        meter.left -= PATH + len(path) // LETTERS
        # Of more than are looked up, only the name is known: then it is said that the line cannot be read.
        target = self.facts.resolve(named) if meter.left >= 0 else None
        located = meter.located[text, folder] = Located(
            path, target if target is None or target == path else normal(target)
        )
        return located

    def traits(self, path: str, target: str | None) -> Traits:
        """Tell what a path is to this place."""
        find = _traits if len(path) <= LONGEST_KEPT else _find_traits
        return find(path, target, self.workspace, self.facts.home, self.linked)

    def inside(self, located: Located) -> bool:
        """Tell whether a path surely lies in the workspace, by all its names."""
        return is_inside(located.names, self.workspace)

    def is_secret(self, located: Located) -> bool:
        """Tell whether any name of the path is a secret's, or lies in somebody else's home."""
        return self.traits(located.path, located.target).secret

    def is_sensitive(self, located: Located) -> bool:
        """Tell whether writing there is dangerous: a secret, the control plane, or the system outside the workspace."""
        return self.traits(located.path, located.target).sensitive

    def is_control_plane(self, located: Located) -> bool:
        """Tell whether any name of the path decides later what runs."""
        return self.traits(located.path, located.target).control_plane

    def _absolute(self, text: str, cwd: str | None) -> str:
        if _CONTROL.search(text):
            raise CallError("a path holds a control character")
        path = _FILE_URL.sub("", text)
        if path != text and "%" in path:
            return UNKNOWN  # an address may spell any letter otherwise
        if path.startswith(("~", "$")):
            path = _HOME.sub(lambda _: self.facts.home or UNKNOWN, path)
            # `~name` is somebody's home, wherever that is; whether `$NAME` is put in is the agent's choice.
            path = UNKNOWN if path.startswith("~") else _VARIABLE.sub(UNKNOWN, path)
        elif path.startswith("/") and "proc" in path:
            path = _PROC_ROOT.sub("", path) or "/"
            path = _PROC_CWD.sub(lambda m: cwd or UNKNOWN if m[1].endswith("self") else UNKNOWN, path)
        if path.startswith(("/", UNKNOWN)):
            return path
        return f"{(cwd or UNKNOWN).rstrip('/')}/{path}"


def _find_traits(
    path: str, target: str | None, workspace: tuple[str, ...], home: str | None, linked: tuple[str, ...]
) -> Traits:
    step(1 + len(path) // _LONG)
    names = (path,) if target is None or target == path else (path, target)
    inside = is_inside(names, workspace)
    outside = bool(workspace) and not inside and path not in sensitive_paths.HARMLESS_DEVICES
    below = [_below(n, workspace) for n in names]
    others = not inside and any(_is_others(n, workspace, home) for n in names)
    secret = others or any(map(secret_names.is_secret, below))
    control = any(map(sensitive_paths.is_control_plane, below)) or (bool(linked) and _is_led_to(names, linked))
    system = not inside and any(map(sensitive_paths.is_system, names))
    return Traits(inside, outside, secret, secret or control or system, control)


_traits = functools.lru_cache(maxsize=4096)(_find_traits)


def _is_led_to(names: tuple[str, ...], linked: tuple[str, ...]) -> bool:
    """Tell whether a path is by any of its names where one of these links leads."""
    return any(within(name, path) for name in map(fold, names) for path in _folded(linked))


@functools.lru_cache(maxsize=64)
def _folded(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(fold, paths))


def is_inside(names: tuple[str, ...], workspace: tuple[str, ...]) -> bool:
    """Tell whether a path surely lies in the workspace, by all its names."""
    if UNKNOWN in names[0]:
        return False
    for name in names:
        for root in workspace:
            if within(name, root):
                break
        else:
            return False
    return True


def _below(path: str, workspace: tuple[str, ...]) -> str:
    """Drop the workspace's own folder names, so that a checkout below `.claude/worktrees` is a plain folder."""
    for root in workspace:
        if within(path, root):
            return path[len(root) :] or "/"
    return path or "/"


def _is_others(path: str, workspace: tuple[str, ...], home: str | None) -> bool:
    """Tell whether a path lies in the home of somebody else."""
    match = _OTHERS_HOME.match(path)
    if match is None or home is None or within(path, home) or any(within(path, r) for r in workspace):
        return False
    return not within(home, match.group())


def _joined(text: str, folder: str | None) -> str:
    """Put a path below the folder that it starts from; a dot is that folder."""
    if folder is None or text.startswith("/"):
        return text
    return folder if text == "." else f"{folder}/{text}"


def _is_plain(path: str) -> bool:
    """Tell, quickly, whether a path is absolute and says itself what it names; most of those that do."""
    return (
        path.isprintable()
        and path.startswith("/")
        and "/." not in path
        and "//" not in path
        and "proc" not in path
        and not path.endswith("/")
    )


def is_foreign(text: str) -> bool:
    """Tell whether a path is one of another system, or an address: here it would be an odd name, elsewhere a file."""
    return _FOREIGN.match(text) is not None


def normal(path: str) -> str:
    """Collapse `.`, `..` and repeated slashes of an absolute path, without asking the disk."""
    if UNKNOWN in path and ".." in path.partition(UNKNOWN)[2].split("/"):
        return UNKNOWN  # what is not known may be several folders, or none: nobody can tell where `..` leads
    if not path.startswith("/"):
        return posixpath.normpath(path)
    tidy = "/." not in path and "//" not in path and not path.endswith("/")
    return path if tidy else posixpath.normpath("/" + path.lstrip("/"))


def place_of(call: ToolCall, session: Session, facts: Facts, lexicon: Lexicon = NOTHING) -> Place:
    """Gather a call's surroundings; a folder that cannot be a workspace (see `refuse_root`) is none."""
    return _place(call.cwd, session.workspace, session.run, session.environment, session.shell, facts, lexicon)


@functools.lru_cache(maxsize=256)
def _place(
    folder: str | None,
    workspace: tuple[str, ...],
    run: bool,  # noqa: FBT001 - a key
    environment: Environment | None,
    shell: str,
    facts: Facts,
    lexicon: Lexicon,
) -> Place:
    """Make a place; the same for all calls that stand there, as long as these facts hold."""
    cwd = normal(folder) if folder and folder.startswith("/") else None
    roots = _roots(workspace, facts.home, facts.assent_paths, facts.resolve, int(facts.now)) if workspace else ()
    if environment is not None and environment.path and facts.disk == "known":
        # Both count: a program of the workspace that either would find is one that may run.
        facts = msgspec.structs.replace(facts, path=tuple(dict.fromkeys((*environment.path, *facts.path))))
    linked = _linked(roots, cwd, facts.home, facts.control_links, int(facts.now))
    place = Place(facts, cwd, roots, run, lexicon, shell, linked)
    if environment is None:
        return place
    return msgspec.structs.replace(place, ambient=judge_environment(environment, place))


@functools.lru_cache(maxsize=256)
def _roots(
    workspace: tuple[str, ...],
    home: str | None,
    own: tuple[str, ...],
    resolve: Callable[[str], str | None],
    _second: int,
) -> tuple[str, ...]:
    """Return the workspace's roots by all their names. The user chose them: looking them up once a second will do."""
    homes = () if home is None else _names(home, resolve)
    named = [_names(normal(root), resolve) for root in workspace if root.startswith("/")]
    return tuple(sorted({name for names in named if refuse_root(names, homes, own) is None for name in names}))


def _names(path: str, resolve: Callable[[str], str | None]) -> tuple[str, ...]:
    target = resolve(path)
    return (path,) if target is None else tuple(dict.fromkeys((path, normal(target))))


@functools.lru_cache(maxsize=256)
def _linked(
    roots: tuple[str, ...],
    cwd: str | None,
    home: str | None,
    find: Callable[[str], tuple[str, ...]],
    _second: int,
) -> tuple[str, ...]:
    """Return where the control plane's links lead: of the workspace, of the folders down to the cwd, of the home."""
    folders = [cwd] if cwd is not None and not roots else [*roots, *_between(roots, cwd)]
    found = {path for folder in folders for path in find(folder)}
    # A link of the user's own that leads to all of the home says nothing about a single file in it.
    found |= {path for path in find(home) if not within(home, path)} if home else set()
    return tuple(sorted(found))


def _between(roots: tuple[str, ...], cwd: str | None) -> Iterator[str]:
    while cwd is not None and cwd not in roots and any(within(cwd, root) for root in roots):
        yield cwd
        cwd = posixpath.dirname(cwd)

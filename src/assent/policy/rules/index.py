"""Many rules, found quickly: by program, by folder, by host, by name. The cost does not grow with their number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from assent.analysis.resources.globs import Anchor, Glob
from assent.analysis.resources.paths import Place
from assent.budget import step
from assent.model import (
    COMMAND_EXECUTE,
    FS_EXEC,
    FS_READ,
    FS_WRITE,
    NET_CONNECT,
    UNKNOWN,
    Facts,
    Layer,
    Operation,
    Rule,
    fold,
)
from assent.policy.call_view import View
from assent.policy.rules.match import Matcher, compile_rule, lines_within
from assent.policy.rules.path_patterns import starts_of
from assent.policy.rules.patterns import basename, host_name

_FILES = ("read", "write")

Bases: TypeAlias = dict[str, dict[str, list[Matcher]]]
"""Rules by the topmost folder of the path they are about, then by that path: most paths share no folder with any."""

_MOST_LABELS = 127
"""Parts that the name of a machine may have."""
_LONG = 1_024
"""Characters of a path that take as long as any few."""
MOST_MAYBES = 3
"""How many rules of one weight that only may match are listed for one operation."""


def _first_of_each_kind(matchers: Iterable[Matcher]) -> list[Matcher]:
    """Return those that weigh the same only so often as they are listed; and all that hold under conditions."""
    seen: Counter[tuple[bool, Layer]] = Counter()
    found = []
    for matcher in matchers:
        rule = matcher.rule
        if rule.expires is None and not matcher.exceptions:
            weight = (rule.every_time, rule.origin.layer)
            seen[weight] += 1
            if seen[weight] > MOST_MAYBES:
                continue
        found.append(matcher)
    return found


class RuleSet:
    """The rules of one list (allow, ask or deny) of all layers."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.matchers = tuple(compile_rule(r) for r in rules)
        self._programs: dict[str, list[Matcher]] = defaultdict(list)
        self._hosts: dict[str, list[Matcher]] = defaultdict(list)
        self._names: dict[str, list[Matcher]] = defaultdict(list)
        self._commands: list[Matcher] = []
        self._any_host: list[Matcher] = []
        self._any_name: list[Matcher] = []
        self._reads = PathIndex(m for m in self.matchers if m.family == "read")
        self._writes = PathIndex(m for m in self.matchers if m.family in ("write", "edit"))
        for matcher in self.matchers:
            self._file(matcher)
        self._doubtful = _first_of_each_kind(
            m for m in self.matchers if m.command or m.glob or m.host or m.family in _FILES
        )
        """Of the rules that may be about a line that cannot be read, those that say it for all the others."""

    def _file(self, matcher: Matcher) -> None:
        if matcher.family == "command":
            if matcher.command is None:
                self._names[matcher.tool.lower()].append(matcher)
                return
            self._commands.append(matcher)
            program = matcher.command.program
            self._programs[program.lower() if program else ""].append(matcher)
        elif matcher.host is not None:
            exact = matcher.host.host if matcher.host.expression is None else ""
            (self._hosts[exact] if exact else self._any_host).append(matcher)
        elif matcher.family == "name":
            (self._any_name if "*" in matcher.tool else self._names[matcher.tool.lower()]).append(matcher)

    def __len__(self) -> int:
        return len(self.matchers)

    def candidates(self, operation: Operation, view: View) -> list[Matcher]:
        """Return the rules that may be about an operation, and only few others."""
        found = list(self._any_name)
        if self._names:
            for name in {view.reading.tool.lower(), view.call.tool.lower()}:
                found += self._names.get(name, ())
        if view.is_unreadable(operation):
            sure = found + self._about(operation, view)
            known = set(map(id, sure))
            return sure + [matcher for matcher in self._doubtful if id(matcher) not in known]
        return found + self._about(operation, view)

    def _about(self, operation: Operation, view: View) -> list[Matcher]:
        """Return the rules that may be about what is known of an operation."""
        found: list[Matcher] = []
        kind = operation.kind
        if operation.mentions:
            found += self._for_mentions(operation, view)
        if kind is COMMAND_EXECUTE or kind is FS_EXEC:
            found += self._for_command(operation)
            for host in operation.hosts:
                found += self._for_host(host)
        if kind is FS_READ or kind is FS_EXEC:
            found += self._reads.candidates(operation, view)
        elif kind is FS_WRITE:
            found += self._writes.candidates(operation, view)
        elif kind is NET_CONNECT:
            found += self._for_host(operation.resource)
        return found

    def linked(self, place: Place) -> tuple[tuple[Matcher, ...], ...]:
        """Return the path rules that a symbolic link is known to lead to, seen from this place."""
        return self._reads.linked(place) + self._writes.linked(place)

    def _for_command(self, operation: Operation) -> Iterable[Matcher]:
        if not operation.argv:
            return ()
        program = basename(operation.argv[0])
        if UNKNOWN in program or set(program) & set("*?["):
            return self._commands
        words = [program, *operation.plain[:1]]
        if operation.opaque:
            words = [*operation.argv, *(line[0] for line in lines_within(operation.argv))]
        if any(UNKNOWN in word for word in words):
            return self._commands
        names = dict.fromkeys(basename(word).lower() for word in words)
        return [matcher for name in ("", *names) for matcher in self._programs.get(name, ())]

    def _for_mentions(self, operation: Operation, view: View) -> Iterable[Matcher]:
        reads = [m for o in view.mentions(operation, FS_READ) for m in self._reads.candidates(o, view)]
        writes = [m for o in view.mentions(operation, FS_WRITE) for m in self._writes.candidates(o, view)]
        return dict.fromkeys((*reads, *writes))

    def _for_host(self, host: str) -> Iterator[Matcher]:
        yield from self._any_host
        labels = host_name(host).split(".")
        if UNKNOWN in host or len(labels) > _MOST_LABELS:
            for matchers in self._hosts.values():
                yield from matchers
            return
        for index in range(len(labels)):
            yield from self._hosts.get(".".join(labels[index:]), ())


class PathIndex:
    """Path rules, by the folder they are literally about."""

    def __init__(self, matchers: Iterable[Matcher]) -> None:
        self._all = tuple(matchers)
        self._kept_for = max(1.0, 0.01 * len(self._all))
        """Seconds for which links that were found are believed; the more rules, the longer it takes to look."""
        self._any: list[Matcher] = []
        self._by_base: dict[Anchor, Bases] = {}
        self._by_last: dict[str, list[Matcher]] = defaultdict(list)
        self._links: dict[tuple[Anchor, str], tuple[float, tuple[Matcher, ...]]] = {}
        for matcher in self._all:
            glob = matcher.glob
            if glob is None or glob.up:
                self._any.append(matcher)
            elif glob.base != "/":
                _file(self._by_base.setdefault(glob.anchor, {}), fold(glob.base), matcher)
            elif last := _last_name(glob):
                self._by_last[last].append(matcher)
            else:
                self._any.append(matcher)

    def candidates(self, operation: Operation, view: View) -> list[Matcher]:
        """Return the rules whose folder lies above the operation's path, by any of its names."""
        step()
        if UNKNOWN in operation.resource or (operation.sweep and operation.kind is FS_WRITE):
            return list(self._all)
        found = list(self._any)
        names = _folded_names(operation)
        if self._by_last:
            for name in names:
                found += self._by_last.get(basename(name), ())
        for anchor, by_base in self._by_base.items():
            for start in starts_of(anchor, view.place):
                root = "" if start == "/" else fold(start)
                for name in names:
                    if not root or name.startswith(root):
                        _add_from_ancestors(found, by_base, name[len(root) :])
                found += self._linked(anchor, start, by_base, view.facts)
        return found

    def linked(self, place: Place) -> tuple[tuple[Matcher, ...], ...]:
        """Return, for every folder that rules start from here, those that a symbolic link is known to lead to."""
        return tuple(
            [
                self._linked(anchor, start, by_base, place.facts)
                for anchor, by_base in self._by_base.items()
                for start in starts_of(anchor, place)
            ]
        )

    def _linked(self, anchor: Anchor, start: str, by_base: Bases, facts: Facts) -> tuple[Matcher, ...]:
        """Return the rules whose own folder is, or lies behind, a symbolic link. Looked up anew every now and then."""
        now = facts.now
        known = self._links.get((anchor, start))
        if known is not None and 0 <= now - known[0] < self._kept_for:
            return known[1]
        if len(self._links) > 128:
            self._links.clear()
        filed = (m for group in by_base.values() for matchers in group.values() for m in matchers)
        found = tuple(m for m in filed if m.glob is not None and _is_linked(m.glob, start, facts))
        self._links[anchor, start] = (now, found)
        return found


def _is_linked(glob: Glob, start: str, facts: Facts) -> bool:
    base = glob.base_from(start)
    real = facts.resolve(base) if base is not None else None
    return real is not None and real != base


def _last_name(glob: Glob) -> str | None:
    """Return the file name a pattern ends in, if that is a constant."""
    last = basename(glob.text)
    is_name = glob.form == "pattern" and last not in ("", ".", "..") and not set(last) & set("*?[\\")
    return fold(last) if is_name else None


def _folded_names(operation: Operation) -> tuple[str, ...]:
    name, target = operation.resource, operation.target
    if target is None or target == name:
        return (fold(name),)
    return tuple(dict.fromkeys((fold(name), fold(target))))


def _file(by_base: Bases, base: str, matcher: Matcher) -> None:
    by_base.setdefault(_top(base), defaultdict(list))[base].append(matcher)


def _add_from_ancestors(found: list[Matcher], by_base: Bases, path: str) -> None:
    """Add the rules about a path, or about a folder above it."""
    group = by_base.get(_top(path))
    while group is not None and len(path) > 1:
        step(1 + len(path) // _LONG)
        if path in group:
            found += group[path]
        path = path.rpartition("/")[0]


def _top(path: str) -> str:
    end = path.find("/", 1)
    return path if end < 0 else path[:end]

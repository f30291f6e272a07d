"""Whether an expression can go back and forth: what a text may cost it, told from how it is built.

The standard engine tries one way after the other. That takes longer than the text is long where the same text can be
shared out between two loops in many ways: loops p and q, and a text w that leads from p to p, from p to q and from q to
q. A search is a loop of its own before the expression. An expression becomes an automaton here, over a few characters
that stand for all of them, and such p, q and w are looked for.
"""

from __future__ import annotations

import functools
import re
import sys
from collections import defaultdict, deque
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]

MANY = 64
"""From so many rounds on a loop counts as one without an end."""
SAMPLES = "".join(map(chr, range(128))) + "\x85\xa0\xe9\xdf\u017f\u212a\u0663\u4e2d\u2028\U00010000\U0010fffd"


class Machine:
    """States, the characters that lead from one to another, and what is known of each."""

    def __init__(self, pattern: str, flags: int, *, search: bool, whole: bool) -> None:
        tree = parser.parse(pattern, flags)
        self.flags = tree.state.flags
        self.groups: dict[int, object] = {}
        self.symbols = _alphabet(tree)
        self.empty: dict[int, set[int]] = defaultdict(set)
        self.moves: dict[int, list[tuple[frozenset[str], int]]] = defaultdict(list)
        self.count = 0
        self.ends: dict[int, int] = {}
        """Where a state's assertion or expression ends."""
        self.sealed: dict[int, tuple[int, ...]] = {}
        """The groups around a state that, once left, are not gone back into."""
        self.asserted: set[int] = set()
        self._seal: tuple[int, ...] = ()
        self._seals = 0
        self._inside = False
        self.sure: dict[int, set[int]] = defaultdict(set)
        """Ways without a character that are always open: no assertion stands in them."""
        self.start = self.state()
        self.whole = whole
        self.search = search and not _only_at_the_start(list(tree), self.flags)
        items = list(tree)
        begin = self.start
        if self.search:
            self.moves[self.start].append((frozenset(self.symbols), self.start))
            before = self._before(items[0]) if items else None
            if before is not None:
                begin, items = self.state(), items[1:]
                self.moves[self.start].append((before, begin))
        self.end = self._sequence(items, begin)

    def _before(self, item) -> frozenset[str] | None:
        """Return what must stand before a match, where the expression begins by saying so."""
        op, value = item
        if op is c.AT and value is c.AT_BEGINNING:
            return frozenset("\n")
        if op in (c.ASSERT, c.ASSERT_NOT) and value[0] < 0 and len(value[1]) == 1:
            kind, given = value[1][0]
            if kind in (c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY):
                matching = self._matching(kind, given)
                return matching if op is c.ASSERT else frozenset(self.symbols) - matching
        return None

    def _go(self, at: int, to: int) -> None:
        self.empty[at].add(to)
        self.sure[at].add(to)

    def state(self) -> int:
        self.count += 1
        self.sealed[self.count] = self._seal
        if self._inside:
            self.asserted.add(self.count)
        return self.count

    def _sequence(self, items, at: int) -> int:
        for op, value in items:
            at = self._item(op, value, at)
        return at

    def _item(self, op, value, at: int) -> int:
        if op in (c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY):
            end = self.state()
            self.moves[at].append((self._matching(op, value), end))
            return end
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            return self._possessive(value, at) if op is c.POSSESSIVE_REPEAT else self._repeat(value, at)
        if op is c.SUBPATTERN:
            group, add, without, inner = value
            before, self.flags = self.flags, (self.flags | add) & ~without
            end = self._sequence(inner, at)
            self.flags = before
            if group is not None:
                self.groups[group] = inner
            return end
        if op is c.BRANCH:
            end = self.state()
            for branch in value[1]:
                first = self.state()
                self._go(at, first)
                self._go(self._sequence(branch, first), end)
            return end
        if op is c.ATOMIC_GROUP:
            return self._sealed(lambda: self._sequence(value, self._fresh(at)))
        if op in (c.ASSERT, c.ASSERT_NOT):
            return self._assertion(value[1], at)
        if op is c.GROUPREF:
            return self._sequence(self.groups[value], at)
        if op is c.GROUPREF_EXISTS:
            end = self.state()
            for branch in (value[1], value[2] or []):
                self._go(self._sequence(branch, self._fresh(at)), end)
            return end
        if op is c.AT:
            once = value is c.AT_BEGINNING_STRING or (value is c.AT_BEGINNING and not self.flags & re.MULTILINE)
            return self.state() if once and self.search else self._perhaps(at)  # a search is there once
        raise NotImplementedError(op)

    def _fresh(self, at: int) -> int:
        state = self.state()
        self._go(at, state)
        return state

    def _perhaps(self, at: int) -> int:
        state = self.state()
        self.empty[at].add(state)
        return state

    def _sealed(self, build) -> int:
        before = self._seal
        self._seals += 1
        self._seal = (*before, self._seals)
        end = build()
        self._seal = before
        return self._fresh(end)

    def _assertion(self, inner, at: int) -> int:
        before, self._inside = self._inside, True
        self._sequence(inner, self._fresh(at))  # leads nowhere: what follows starts where it started
        self._inside = before
        return self._perhaps(at)

    def _possessive(self, value, at: int) -> int:
        return self._sealed(lambda: self._repeat(value, self._fresh(at)))

    def _repeat(self, value, at: int) -> int:
        least, most, inner = value
        for _ in range(min(least, MANY)):
            at = self._sequence(inner, self._fresh(at))
        if most is c.MAXREPEAT or most - least >= MANY:
            loop = self._fresh(at)
            self._go(self._sequence(inner, self._fresh(loop)), loop)
            return self._fresh(loop)
        end = self.state()
        self._go(at, end)
        for _ in range(most - least):
            at = self._sequence(inner, self._fresh(at))
            self._go(at, end)
        return end

    def _matching(self, op, value) -> frozenset[str]:
        return frozenset(s for s in self.symbols if _matches(op, value, s, self.flags))

    @functools.cached_property
    def closure(self) -> dict[int, frozenset[int]]:
        """Where one gets to from each state without a character."""
        return self._closed(self.empty)

    @functools.cached_property
    def surely(self) -> dict[int, frozenset[int]]:
        """The same, where nothing can stand in the way."""
        return self._closed(self.sure)

    def _closed(self, ways: dict[int, set[int]]) -> dict[int, frozenset[int]]:
        found = {}
        for state in range(1, self.count + 1):
            seen, todo = {state}, [state]
            while todo:
                new = ways.get(todo.pop(), set()) - seen
                seen |= new
                todo.extend(new)
            found[state] = frozenset(seen)
        return found

    @functools.cached_property
    def nexts(self) -> dict[int, dict[str, frozenset[int]]]:
        """Where, after a state and a character, another character can be read."""
        reading = {s: frozenset(n for n in self.closure[s] if self.moves.get(n)) for s in self.closure}
        found = {}
        for state in range(1, self.count + 1):
            by: dict[str, set[int]] = defaultdict(set)
            for symbols, to in self.moves.get(state, ()):
                for symbol in symbols:
                    by[symbol] |= reading[to]
            found[state] = {symbol: frozenset(states) for symbol, states in by.items() if states}
        return found

    @functools.cached_property
    def reached(self) -> dict[int, frozenset[int]]:
        """Where one gets to from each state by one character or more."""
        direct = {s: frozenset().union(*by.values()) for s, by in self.nexts.items()}
        found = {}
        for state, first in direct.items():
            seen: set[int] = set()
            todo = list(first)
            while todo:
                one = todo.pop()
                if one not in seen:
                    seen.add(one)
                    todo.extend(direct[one])
            found[state] = frozenset(seen)
        return found


def _only_at_the_start(items, flags: int) -> bool:
    if not items or items[0][0] is not c.AT:
        return False
    return items[0][1] is c.AT_BEGINNING_STRING or (items[0][1] is c.AT_BEGINNING and not flags & re.MULTILINE)


def _alphabet(tree) -> list[str]:
    """Pick characters so that each that the expression tells apart has one that stands for it."""
    flags = tree.state.flags
    nodes: list = []
    _leaves(tree, nodes, flags)
    points = {s for n in nodes for s in _around(*n[:2])} | set(SAMPLES)
    found: dict[tuple[bool, ...], str] = {}
    for char in sorted(points, key=lambda s: (not s.isalnum(), s)):
        found.setdefault(tuple(_matches(op, value, char, f) for op, value, f in nodes), char)
    return list(found.values())


def _leaves(items, nodes: list, flags: int) -> None:
    for op, value in items:
        if op in (c.LITERAL, c.NOT_LITERAL, c.IN, c.ANY):
            nodes.append((op, value, flags))
        elif op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            _leaves(value[2], nodes, flags)
        elif op is c.SUBPATTERN:
            _leaves(value[3], nodes, (flags | value[1]) & ~value[2])
        elif op is c.BRANCH:
            for branch in value[1]:
                _leaves(branch, nodes, flags)
        elif op is c.ATOMIC_GROUP:
            _leaves(value, nodes, flags)
        elif op in (c.ASSERT, c.ASSERT_NOT):
            _leaves(value[1], nodes, flags)
        elif op is c.GROUPREF_EXISTS:
            _leaves(value[1], nodes, flags)
            _leaves(value[2] or [], nodes, flags)


def _around(op, value) -> list[str]:
    points: list[int] = []
    if op in (c.LITERAL, c.NOT_LITERAL):
        points = [value]
    elif op is c.IN:
        for kind, v in value:
            points += [v] if kind is c.LITERAL else list(v) if kind is c.RANGE else []
    return [chr(p + d) for p in points for d in (-1, 0, 1) if 0 <= p + d <= sys.maxunicode]


@functools.lru_cache(maxsize=500_000)
def _char(text: str, flags: int):
    return re.compile(text, flags)


def _matches(op, value, char: str, flags: int) -> bool:
    if op is c.ANY:
        return bool(flags & re.DOTALL) or char != "\n"
    if flags & re.IGNORECASE:
        return any(_plain(op, value, s, flags) for s in {char, char.lower(), char.upper()} if len(s) == 1)
    return _plain(op, value, char, flags)


def _plain(op, value, char: str, flags: int) -> bool:
    point = ord(char)
    if op is c.LITERAL:
        return point == value
    if op is c.NOT_LITERAL:
        return point != value
    negated, found = False, False
    for kind, v in value:
        if kind is c.NEGATE:
            negated = True
        elif kind is c.LITERAL:
            found |= point == v
        elif kind is c.RANGE:
            found |= v[0] <= point <= v[1]
        else:
            found |= _category(v, char, flags)
    return found != negated


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d",
    c.CATEGORY_NOT_DIGIT: r"\D",
    c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w",
    c.CATEGORY_NOT_WORD: r"\W",
}


def _category(kind, char: str, flags: int) -> bool:
    return _char(_CATEGORIES[kind], flags & re.ASCII).fullmatch(char) is not None


def find_growth(pattern: str, flags: int = 0, *, search: bool = True, whole: bool = False) -> str | None:
    """Return a text that makes it go back and forth: what comes first, and what is repeated; None if there is none."""
    machine = Machine(pattern, flags, search=search, whole=whole)
    looping = [s for s in machine.reached if s in machine.reached[s]]
    for p in looping:
        for q in looping:
            if p != q and q in machine.reached[p] and _counts(machine, p, q):
                word = _shared(machine, p, q)
                if word is not None:
                    return f"{_way_to(machine, p)!r} + n * {word!r}"
    return None


def pumps(pattern: str, flags: int = 0) -> list[tuple[str, str]]:
    """Return, for every loop, how one gets there and what goes round in it."""
    machine = Machine(pattern, flags, search=False, whole=False)
    looping = [s for s in machine.reached if s in machine.reached[s]]
    return list(dict.fromkeys((_way_to(machine, s) or "", _path(machine, [s], s) or "") for s in looping))


def _way_to(machine: Machine, state: int) -> str | None:
    near = [s for s in machine.closure[machine.start] if machine.moves.get(s)]
    return "" if state in near else _path(machine, near, state)


def _path(machine: Machine, near: list[int], to: int) -> str | None:
    """Return a text that leads from one of these states to another, or back to it."""
    seen: set[int] = set()
    todo = deque((s, "") for s in near)
    while todo:
        state, text = todo.popleft()
        for symbol, states in machine.nexts[state].items():
            if to in states:
                return text + symbol
            todo.extend((new, text + symbol) for new in states - seen)
            seen |= states
    return None


def _counts(machine: Machine, p: int, q: int) -> bool:
    """Tell whether going from one loop to the other is ever taken back."""
    if q in machine.asserted and p not in machine.asserted:
        return True  # looked at anew in every round
    if p != machine.start and any(seal not in machine.sealed[q] for seal in machine.sealed[p]):
        return False  # what was left for good is not gone back into
    return not _always_ends(machine, q)


def _always_ends(machine: Machine, state: int) -> bool:
    """Tell whether there is a match after every round, whatever follows: nothing is tried again."""
    if not any(machine.end in near and state in near for near in machine.surely.values()):
        return False
    return not machine.whole or all(state in machine.nexts[state].get(symbol, ()) for symbol in machine.symbols)


def _shared(machine: Machine, p: int, q: int) -> str | None:
    """Return a text that leads from p to p, from p to q and from q to q."""
    round_p = {s for s in machine.reached[p] if p in machine.reached[s]}
    round_q = {s for s in machine.reached[q] if q in machine.reached[s]}
    between = {s for s in machine.reached[p] if q in machine.reached[s]}
    begin, end = (p, p, q), (p, q, q)
    seen, todo = {begin}, deque([(begin, "")])
    nexts = machine.nexts
    while todo:
        (one, two, three), text = todo.popleft()
        for symbol, states in nexts[one].items():
            if symbol not in nexts[two] or symbol not in nexts[three]:
                continue
            for a in states & round_p:
                for b in nexts[two][symbol] & between:
                    for d in nexts[three][symbol] & round_q:
                        new = (a, b, d)
                        if new == end:
                            return text + symbol
                        if new not in seen:
                            seen.add(new)
                            todo.append((new, text + symbol))
    return None

"""No expression by which calls are read or decided takes longer than its text is long: none goes back and forth."""

from __future__ import annotations

import ast
import importlib
import re
import time
from pathlib import Path

import msgspec
import pytest

import assent
from assent.catalog import Entry, entries, parse_entry
from assent.lazy_regex import _Later
from growth import find_growth, pumps

ROOT = Path(assent.__file__).parent
FILES = [f for d in ("analysis", "catalog", "policy", "model") for f in sorted((ROOT / d).rglob("*.py"))]
SEARCHING = frozenset({"search", "findall", "finditer", "sub", "split"})
MATCHING = frozenset({"match", "fullmatch"})
BOUNDED = {
    ("assent.analysis.bash.arithmetic", "_TERM"): 60,
    ("assent.analysis.bash.arithmetic", "_FACTOR"): 60,
    ("assent.catalog.plain_yaml", "_PAIR"): 256,
    ("assent.analysis.languages.shell_dialects", "_PLAIN"): 4096,
    ("assent.analysis.resources.hosts", "_NAME"): 253,
    ("assent.analysis.lines.mentioned_paths", "_SCHEME"): 32,
    ("assent.analysis.programs.lookup", "_VERSION"): 64,
}
"""What is only held against a text that was found to be no longer than this, or against the catalog's own files."""
ATTACKED = {
    ("assent.analysis.bash.simple_commands", "WORDS"),
    ("assent.analysis.bash.simple_commands", "_RUN"),
    ("assent.analysis.evaluate.plain_lines", "_TOKEN"),
    ("assent.analysis.bash.scan", "_ASSIGNED"),
    ("assent.catalog.name_matching", "_UNSEEN"),
    ("assent.analysis.languages.awk", "_REGEX"),
    ("assent.analysis.languages.awk", "_TOKEN"),
    ("assent.analysis.languages.shell_dialects", "_QUOTED"),
    ("assent.analysis.languages.shell_dialects", "_FOLLOWED"),
    ("assent.analysis.lines.argument_effects", "_DATABASE"),
    ("assent.analysis.languages.jq", "_APART"),
    ("assent.analysis.languages.patch", "_UNIFIED"),
    ("assent.analysis.languages.sed", "_BRACKET"),
    ("assent.analysis.languages.sed", "_CONTINUED"),
    ("assent.analysis.languages.sql", "_TOKEN"),
    ("assent.analysis.programs.unknown_words", "_token"),
    ("assent.analysis.resources.wildcards", "_LEADING"),
    ("assent.policy.rules.patterns", "_TOKEN"),
    ("assent.policy.rules.patterns", "_TRAILING"),
}
"""Of which the structure alone says too much: a round that is left for good is not gone back into, a token that was
taken is not looked at again, or what follows always fits. They are put to the test like all others."""
LONG = 16_384
PATIENCE = 0.02
"""Seconds in which nothing is told from nothing."""
FACTOR = 8
"""With four times the text four times as long is right, and sixteen times is what going back and forth takes."""


class Found(msgspec.Struct, frozen=True):
    module: str
    name: str
    pattern: str
    flags: int
    methods: frozenset[str]

    @property
    def key(self) -> tuple[str, str]:
        return self.module, self.name


def module_of(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def homes_of(trees: dict[str, ast.Module]) -> dict[tuple[str, str], tuple[str, str]]:
    """Say for each name that a module imports where it is from."""
    return {
        (module, alias.asname or alias.name): (node.module, alias.name)
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def used(
    trees: dict[str, ast.Module], homes: dict[tuple[str, str], tuple[str, str]]
) -> dict[tuple[str, str], set[str]]:
    """Say which methods are called on each name, also by those who import it."""
    found: dict[tuple[str, str], set[str]] = {}
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                key = module, node.value.id
                found.setdefault(homes.get(key, key), set()).add(node.attr)
    return found


def kept(value: object, seen: set[int]):
    """Yield the expressions that a value holds, however deep."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, _Later):
        pattern, flags = (*value._given, 0)[:2]
        yield pattern, flags
    elif isinstance(value, re.Pattern):
        yield value.pattern, value.flags & ~re.UNICODE
    elif isinstance(value, dict):
        for item in (*value.keys(), *value.values()):
            yield from kept(item, seen)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            yield from kept(item, seen)
    elif type(value).__module__.startswith("assent.analysis.languages.shell_dialects"):
        yield from kept(vars(value), seen)


def collect() -> list[Found]:
    trees = {module_of(f): ast.parse(f.read_text()) for f in FILES}
    homes = homes_of(trees)
    uses, seen, found = used(trees, homes), set(), []
    for module in trees:
        for name, value in vars(importlib.import_module(module)).items():
            if name.startswith("__") or (module, name) in homes:
                continue  # no expression, or found where it is made
            for pattern, flags in kept(value, seen):
                methods = frozenset(uses.get((module, name), set())) & (SEARCHING | MATCHING)
                found.append(Found(module, name, pattern, flags, methods or frozenset({"search"})))
    return found


def levels(entry: Entry):
    yield entry
    for child in entry.subcommands.values():
        yield from levels(child)


def clauses() -> list[Found]:
    texts: dict[str, str] = {}
    for part in entries():
        for level in levels(parse_entry(part)):
            for when in level.when:
                given = (when.arg, when.first, when.second, when.left, when.each)
                for text in (*given, *when.value.values(), *when.every.values()):
                    if text:
                        texts.setdefault(text, part.names[0])
    return [Found("data", n, text, re.DOTALL, frozenset({"fullmatch"})) for text, n in texts.items()]


FOUND = collect()
DATA = clauses()


def grows(found: Found) -> str | None:
    if found.methods & SEARCHING:
        return find_growth(found.pattern, found.flags)
    return find_growth(found.pattern, found.flags, search=False, whole=found.methods == {"fullmatch"})


def test_expressions_are_found():
    assert len(FOUND) > 200
    assert len(DATA) > 400
    assert {f.key for f in FOUND} >= set(BOUNDED) | ATTACKED


@pytest.mark.parametrize("module", sorted({f.module for f in FOUND}))
def test_no_expression_can_share_a_text_between_two_loops(module):
    clear = [f for f in FOUND if f.module == module and f.key not in BOUNDED and f.key not in ATTACKED]
    assert not {f.name: text for f in clear if (text := grows(f)) is not None}


def test_no_expression_of_the_catalog_can():
    assert not {f"{f.name}: {f.pattern}": text for f in DATA if (text := grows(f)) is not None}


def seconds(found: Found, text: str) -> float:
    compiled = re.compile(found.pattern, found.flags)
    begin = time.thread_time()
    for method in found.methods:
        given = getattr(compiled, method)
        if method == "sub":
            given("", text)
        elif method == "finditer":
            sum(1 for _ in given(text))
        else:
            given(text)
    return time.thread_time() - begin


def is_busy(found: Found, first: str, again: str, last: str) -> bool:
    """Tell whether a text made to keep an expression busy does."""
    longest = BOUNDED.get(found.key, LONG)
    short, full = (first + again * (size // len(again)) + last for size in (longest // 4, longest))
    for _ in range(3):
        little, much = seconds(found, short), seconds(found, full)
        if much < PATIENCE or (little < PATIENCE * 10 and much < FACTOR * little):
            return False
    return True


def busy(found: Found) -> list[str]:
    loops = pumps(found.pattern, found.flags)[:24]
    return [w for first, w in loops for last in ("", "\n", "\0", "'x") if is_busy(found, first, w, last)]


@pytest.mark.parametrize("module", sorted({f.module for f in FOUND}))
def test_no_expression_is_kept_busy(module):
    assert not {f.name: texts for f in FOUND if f.module == module and (texts := busy(f))}


def test_no_expression_of_the_catalog_is_kept_busy():
    assert not {f.pattern: texts for f in DATA if (texts := busy(f))}


@pytest.mark.parametrize(
    "pattern",
    [
        "a*a*b",
        "(a+)+b",
        "(a|a)*b",
        "(?:a|b|ab)*c",
        r"\s+$",
        "a*+b",
        "a{0,100}b",
        "(?:(?!.*x).)*y",
        "'(?:[^'\\\\]|\\\\.)*'",
        "(?i)A*a*x",
    ],
)
def test_what_goes_back_and_forth_is_found(pattern):
    assert find_growth(pattern) is not None


@pytest.mark.parametrize(
    "pattern", ["ba*", "ba*c", "x.*", r"\bfoo\s*\(", "(?<!a)a++b", "a{0,10}b", "^a*b", r"(?m)^\w+:"]
)
def test_what_does_not_is_let_be(pattern):
    assert find_growth(pattern) is None

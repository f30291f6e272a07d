"""Every line of the corpora and every example of the catalog, decided in every mode.

Corpus by corpus and mode by mode is one group. In the mode `default` a second group is decided where the disk is seen.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from corpus import escape, files, load
from golden import adapter
from golden.parts import DECISION_TEXTS, Group, cut, short_hash

SAMPLE = 20
"""One line in so many is in the sample; which ones, their text says, so that a new line moves no other."""
_VIEWS = (*((mode, "blind") for mode in adapter.MODES), ("default", "seen"))


class Line(NamedTuple):
    """A line to decide, and the rules it is decided under."""

    key: str
    title: str
    text: str
    rules: tuple[tuple[str, str], ...]


@functools.cache
def sources() -> dict[str, tuple[Line, ...]]:
    """Return every line that there is, by where it stands."""
    found = {path.name: tuple(_line(str(row), row.line, row.rules) for row in load(path)) for path in files()}
    examples = (_line(f"{name}: {escape(line)}", line, ()) for name, line in adapter.catalog_examples())
    return found | {"catalog": tuple(examples)}


def _line(title: str, text: str, rules: tuple[tuple[str, str], ...]) -> Line:
    return Line(short_hash((text, *(part for rule in rules for part in rule))), title, text, rules)


def group_names() -> list[str]:
    """Return the names of all groups, those with the most work first."""
    largest = sorted(sources(), key=lambda name: -len(sources()[name]))
    return [f"decisions/{name}/{mode}/{world}" for name in largest for mode, world in _VIEWS]


def is_sampled(key: str) -> bool:
    return int(key[:8], 16) % SAMPLE == 0


def make_group(name: str, *, sample: bool) -> Group:
    """Decide the lines of a group."""
    _, source, mode, world = name.split("/")
    lines = [line for line in sources()[source] if not sample or is_sampled(line.key)]
    return [
        cut(line.key, line.title, adapter.decide(line.text, line.rules, mode, world), DECISION_TEXTS) for line in lines
    ]

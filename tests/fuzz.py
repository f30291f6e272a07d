"""Lines that nobody would type, and what must hold for every one of them.

By hand, for as long as you like: `python tests/fuzz.py --minutes 30`. What is allowed on the way is run in the oracle's
sandbox too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import signal
import sys
import time
from typing import TYPE_CHECKING

from assent.analysis.evaluate.script import parse
from assent.analysis.programs.lookup import find_entry
from assent.catalog import lookup
from assent.model import SAFE, Source
from corpus import decide, escape, rows
from grammar import META, Lines
from oracle import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assent.model import Decision

OPENERS = (
    *(
        "(",
        "((",
        "{ ",
        "$(",
        "${",
        "$((",
        "`",
        '"',
        "'",
        "$'",
        "<(",
        ">(",
        "[[ ",
        "[ ",
        "${a:-",
        "${a[",
        "$[",
        "a[",
        "a=(",
    ),
    *(
        "if ",
        "while ",
        "case x in x) ",
        "f() { ",
        "for i in ",
        "<<E\n",
        "! ",
        "time ",
        "eval '",
        "bash -c '",
        "\\",
        "{a,",
    ),
    *(
        "coproc ",
        "until ",
        "select x in ",
        "function f { ",
        "then ",
        "do ",
        "& ",
        "| ",
        "{1..9}",
        "~",
        "*",
        "$x",
        "a=b ",
    ),
)
"""What can be put inside itself."""
LETTERS = " \n;&|({[<>$`'\"\\a"
LONG = 65_536
HANGS = 4.0
"""Seconds of the processor after which something must be wrong: the longest line takes a tenth of that."""


def fault(line: str) -> str | None:
    """Say what is wrong with how a line is decided, or None. Whatever it is, it must be decided by reading it."""
    with hurried(HANGS):
        decision = decide(line)
    if decision.decision_source is Source.ERROR:
        return f"raises: {decision.decision_reason}"
    if decision.decision == "allow":
        return _doubt(line, decision)
    return None


@contextlib.contextmanager
def hurried(seconds: float) -> Iterator[None]:
    """Raise in what takes so much of the processor: a search in a long text is one step, and may take for ever."""

    def hang(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"takes more than {seconds} seconds")

    before = signal.signal(signal.SIGVTALRM, hang)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _doubt(line: str, decision: Decision) -> str | None:
    """Say why a line should not have been allowed, looking at it once more with fewer eyes."""
    if decision.reading.unreadable:
        return "is allowed, and unreadable"
    if any(each.tier is not SAFE for each in decision.reading.operations):
        return "is allowed, and not safe"
    script = parse(line, cwd="/code", home="/home/u")
    named = [command.words[0] for command in script.commands if command.words and not command.calls]
    strange = [word.text for word in named if not word.known or _entry(word.text, script.functions) is None]
    return f"is allowed, and runs {strange}" if script.unreadable or strange else None


def _entry(name: str, functions: tuple[str, ...]) -> object:
    return None if name in functions else find_entry(name.rpartition("/")[2]) or lookup(name)


def towers(size: int) -> Iterator[str]:
    """Give lines of one thing inside itself, closed and not."""
    closers = {"(": ")", "{": "}", "[": "]"}
    for opener in OPENERS:
        count = size // len(opener)
        yield opener * count
        closer = "".join(closers[c] for c in reversed(opener) if c in closers)
        if closer:
            yield opener * (count // 2) + "ls" + closer * (count // 2)


def patterns(size: int) -> Iterator[str]:
    """Give lines of two characters in turn, of every pair."""
    for pair in itertools.product(LETTERS, repeat=2):
        yield "".join(pair) * (size // 2)


def scrawl(numbers: random.Random) -> str:
    """Return text of what means something to a shell, in no order."""
    return "".join(
        numbers.choice((*META, "ls", "rm", "x", "E\n", "do", "if", "é", "\x00", "\u200b"))
        for _ in range(numbers.randint(1, 60))
    )


def variants(numbers: random.Random) -> Iterator[str]:
    """Give lines for ever: made, damaged, and torn out of the corpora."""
    lines, known = Lines(numbers), [row.line for row in rows()]
    while True:
        kind = numbers.random()
        if kind < 0.4:
            line = numbers.choice(known)
            for _ in range(numbers.randint(1, 3)):
                line = lines.damage(line)
            yield line
        elif kind < 0.6:
            one, two = numbers.choice(known), numbers.choice(known)
            yield one[: numbers.randint(0, len(one))] + two[numbers.randint(0, len(two)) :]
        elif kind < 0.8:
            yield lines.line()
        elif kind < 0.95:
            yield scrawl(numbers)
        else:
            yield (scrawl(numbers) * numbers.randint(1, 3_000))[: LONG + 10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    ends, wrong, done, ran = time.monotonic() + 60 * given.minutes, 0, 0, 0
    stream = variants(random.Random(given.seed))
    while time.monotonic() < ends:
        batch = list(itertools.islice(stream, 2_000))
        found = [f"{escape(line)[:500]}\n    {said}" for line in batch if (said := fault(line))]
        more, allowed = faults(line for line in batch if "\0" not in line and len(line) < 10_000)
        done, ran, wrong = done + len(batch), ran + allowed, wrong + len(found) + len(more)
        for each in (*found, *more):
            print(each)
        print(f"{done} lines, {ran} allowed and run, {wrong} wrong", flush=True)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

"""A word in the making: text by text, with what is known of each."""

from __future__ import annotations

import assent.lazy_regex as re
from assent.analysis.ir import Word
from assent.analysis.values.hints import combined
from assent.analysis.values.scope import Value
from assent.budget import step
from assent.model import UNKNOWN

_CUT = re.compile(r"[\s*?\[]")
"""What makes several words of one that is not quoted."""


class Field:
    """What a word is made of so far."""

    __slots__ = (
        "begun",
        "cut",
        "examples",
        "feeds",
        "filled",
        "hints",
        "mixed",
        "named_in",
        "pattern",
        "present",
        "splits",
        "stream",
        "text",
        "variables",
    )

    def __init__(self) -> None:
        self.text: list[str] = []
        self.pattern: list[str] = []
        """What of it may be a pattern: its unquoted text."""
        self.variables: tuple[str, ...] = ()
        self.feeds: tuple[int, ...] = ()
        self.hints: list[tuple[int, tuple[str, ...]]] = []
        """Which of the texts may be what."""
        self.examples: list[str] = []
        """What stands for each text; nothing for what has no example."""
        self.present = False
        self.splits = False
        self.filled = False
        """There surely is something in it."""
        self.stream = self.mixed = False
        self.named_in: tuple[str, ...] | None = None
        self.begun = False
        self.cut = False

    def add(self, value: Value, text: str, *, quoted: bool) -> None:
        """Append text that comes from a value."""
        step()
        if value.hints:
            self.hints.append((len(self.text), value.hints))
        self.mixed = self.mixed or value.mixed
        self.cut = self.cut or value.cut
        if text and not self.begun:
            # What stands before it may be nothing: then it is how the word begins.
            self.named_in = value.named_in if not any(self.text) else None
            self.begun = bool(text.strip(UNKNOWN)) or value.filled
        if text:
            self.stream = value.stream and not any(self.text)
        self.text.append(text)
        self.examples.append(text if UNKNOWN not in text else value.example if text == value.text else "")
        self.pattern.append("" if quoted else text)
        self.variables += tuple(name for name in value.variables if name not in self.variables)
        self.feeds += tuple(index for index in value.feeds if index not in self.feeds)
        self.present = self.present or quoted or bool(text)
        whole = (value.number and not value.several) or (value.like and not _CUT.search(value.like))
        self.splits = self.splits or (not quoted and UNKNOWN in text and not whole)
        self.filled = self.filled or quoted or bool(text.strip(UNKNOWN)) or (value.filled and text == value.text)

    def word(self) -> Word:
        """Finish it."""
        text = "".join(self.text)
        cut = self.splits or is_pattern("".join(self.pattern))
        like = "" if cut or UNKNOWN not in text else self.example()
        return Word(
            text,
            self.variables,
            self.feeds,
            cut or (UNKNOWN in text and not self.filled),
            self.guesses(),
            like=like,
            named_in=self.named_in,
            stream=self.stream,
            mixed=self.mixed,
            cut=self.cut,
        )

    def example(self) -> str:
        """Give an example of the word, if each of its parts has one."""
        whole = all(shown or not text for text, shown in zip(self.text, self.examples, strict=True))
        return "".join(self.examples) if whole else ""

    def guesses(self) -> tuple[str, ...]:
        """Give what the word may be."""
        if not self.hints:
            return ()
        known = dict(self.hints)
        return combined([known.get(place, (text,)) for place, text in enumerate(self.text)])


def is_pattern(text: str) -> bool:
    """Tell whether unquoted text is a pattern of names."""
    return "*" in text or "?" in text or ("]" in text[text.find("[") :] and "[" in text)

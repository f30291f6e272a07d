"""The documents, taken apart into their blocks: what the tests of the documents have in common."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<excuse>[^>]+) -->\n)? *```(?P<kind>\w*)\n(?P<body>.*?)^ *```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A block of a document; one that no test can run says why, in a comment above it."""

    file: str
    line: int
    kind: str
    body: str
    excuse: str | None

    @property
    def lines(self) -> list[str]:
        """What is typed of it: a line that goes on in the next is one."""
        return [line for line in self.body.replace("\\\n", " ").splitlines() if line.strip()]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def blocks(document: Path) -> Iterator[Block]:
    """Return the blocks of a document, in order."""
    text = document.read_text()
    for found in FENCE.finditer(text):
        body = textwrap.dedent(found["body"])
        line = text[: found.start("body")].count("\n") + 1
        yield Block(str(document.relative_to(ROOT)), line, found["kind"], body, found["excuse"])


def every_block(*kinds: str) -> list[Block]:
    """Return the blocks of these kinds, or of all, in every document."""
    return [block for document in DOCUMENTS for block in blocks(document) if not kinds or block.kind in kinds]

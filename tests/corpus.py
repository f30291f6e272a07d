r"""The corpora: lines of shell with the verdict that each must get, as text files that anyone can add a line to.

A row is `verdict`, the line, and why, with tabs between them. In a line `\n`, `\t`, `\\`, `\xNN`, `\uNNNN` and
`\UNNNNNNNN` stand for characters, and no other backslash is left alone. What may follow the reason are columns
`key: value`: a rule of the policy it is decided under (`allow`, `ask`, `deny`), the `tier` it must have, a `reason`
that must be found in what is said. `## name` starts a class, `# …` is a comment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assent.model import Facts, Policy, Session, ToolCall
from assent.policy.engine import Engine
from assent.policy.rules.parse import parse_rule

if TYPE_CHECKING:
    from assent.model import Decision

FOLDER = Path(__file__).parent / "corpora"
VERDICTS = ("allow", "ask", "deny")
KEYS = frozenset((*VERDICTS, "tier", "reason"))
WORKSPACE = "/code"
HOME = "/home/u"
SESSION = Session(user="u", agent="a", id="s", workspace=(WORKSPACE,))
THERE = frozenset(("/code/app.db", "/code/db", "/code/db.sqlite3"))
"""Files that are known to be there; of all others nothing is known."""
FACTS = Facts(
    home=HOME,
    exists=THERE.__contains__,
    assent_paths=(f"{HOME}/.local/share/assent",),
    assent_endpoints=("127.0.0.1:7422", "localhost:7422"),
)
_ESCAPE = re.compile(r"\\(?:(n|t|\\)|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|)")
_PLAIN = {"n": "\n", "t": "\t", "\\": "\\"}


@dataclass(frozen=True)
class Row:
    """One line of a corpus."""

    file: str
    number: int
    kind: str
    verdict: str
    line: str
    why: str
    more: tuple[tuple[str, str], ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.file}:{self.number} {escape(self.line)}"

    @property
    def rules(self) -> tuple[tuple[str, str], ...]:
        """The rules it is decided under, each with the list it stands in."""
        return tuple((key, value) for key, value in self.more if key in VERDICTS)

    def said(self, key: str) -> list[str]:
        return [value for name, value in self.more if name == key]


def unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match[1]:
            return _PLAIN[match[1]]
        number = match[2] or match[3] or match[4]
        if number is None:
            raise ValueError(f"a backslash is written twice: {text!r}")
        return chr(int(number, 16))

    return _ESCAPE.sub(character, text)


def escape(line: str) -> str:
    return "".join(
        {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}.get(c, c) if c.isprintable() or c in "\n\t" else f"\\U{ord(c):08x}"
        for c in line
    )


def _row(file: str, number: int, kind: str, text: str) -> Row:
    verdict, line, why, *rest = text.split("\t")
    more = tuple(tuple(each.split(": ", 1)) for each in rest)
    if verdict not in VERDICTS or not line or not why or not all(len(m) == 2 and m[0] in KEYS for m in more):
        raise ValueError(
            "a row is a verdict, a line and a reason, perhaps more as `key: value`, with tabs between them"
        )
    return Row(file, number, kind, verdict, unescape(line), why, more)


def load(path: Path) -> list[Row]:
    rows, kind = [], ""
    for number, text in enumerate(path.read_text().split("\n"), 1):
        if text.startswith("## "):
            kind = text[3:].strip()
        elif text.strip() and not text.startswith("#"):
            try:
                rows.append(_row(path.name, number, kind, text))
            except ValueError as error:
                raise ValueError(f"{path.name}:{number}: {error}") from error
    return rows


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(FOLDER.glob("*.txt")))


@cache
def rows() -> tuple[Row, ...]:
    """Return every row of every file."""
    return tuple(row for path in files() for row in load(path))


@cache
def engine(rules: tuple[tuple[str, str], ...] = ()) -> Engine:
    """Return an engine whose policy has these rules and nothing else."""
    lists = {effect: tuple(parse_rule(rule) for name, rule in rules if name == effect) for effect in VERDICTS}
    return Engine([Policy(**lists)] if rules else (), facts=lambda: FACTS)


def decide(line: str, rules: tuple[tuple[str, str], ...] = ()) -> Decision:
    """Decide a line in a place of which nothing but its names is known."""
    return engine(rules).decide(ToolCall(tool="Bash", input={"command": line}, cwd=WORKSPACE), SESSION)

"""Random lines of bash, made to hide something: each holds payloads that leave a mark where they run.

Half of the art is that a payload often does not run (it stands in quotes, in a comment, behind `--`): then the line may
be allowed, and whoever reads it wrongly in the one direction reads it wrongly in the other.
"""

from __future__ import annotations

import re
import shlex
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assent.catalog import lookup, names
from assent.model import SAFE
from corpus import unescape

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from assent.catalog import Entry


def _tables() -> dict[str, tuple[str, ...]]:
    """Read the pieces that lines are made of."""
    parts = re.split(r"^## (.+)\n", (Path(__file__).parent / "grammar.txt").read_text(), flags=re.MULTILINE)
    return {
        name: tuple(map(unescape, text.strip("\n").split("\n")))
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


TABLES = _tables()
PAYLOADS, SAFE_LINES, FRAMES = TABLES["payloads"], TABLES["safe lines"], TABLES["frames"]
HIT = "/marker/hit"
FILES = (
    "a.txt",
    "b.txt",
    "README.md",
    "data.json",
    "f.csv",
    "src",
    "src/main.py",
    ".",
    "*.txt",
    "./*",
    "marks",
    "x.sed",
)
NAMES = ("x", "y", "a", "PATH", "IFS", "IFS", "HOME", "PS4", "i", "BASH_ENV", "REPLY", "_", "OPTIND", "CDPATH", "PAGER")
META = (*" \t\n;&|()<>{}[]$`'\"\\*?!#~=%^-+,:@./0aex", "$(", "${", "$((", "))", "\\\n", "$'", '$"', "<<E\n", "\r")

VALUES = (
    HIT,
    "./evil",
    "a.txt",
    "1",
    "x",
    "/code/new.out",
    "marker",
    f"touch {HIT}",
    "a",
    "*",
    "-",
    "x.sed",
    "src",
    ".env",
    "%s",
)


@cache
def programs() -> tuple[str, ...]:
    """Return the installed programs that the catalog calls safe, or that have safe subcommands."""
    known = (name for name in names() if (entry := lookup(name)) and not entry.runs and name not in WAITING)
    return tuple(n for n in known if shutil.which(n, path="/usr/bin:/bin") and _looks(lookup(n)))


WAITING = frozenset({"yes", "sleep", "watch", "top", "ping", "vmstat", "iostat", "tail", "journalctl", "dmesg", "cat"})
"""What goes on until it is stopped; the sandbox would wait for it."""


def _looks(entry: Entry | None) -> bool:
    return entry is not None and (entry.tier is SAFE or any(_looks(child) for child in entry.children.values()))


def options() -> Iterator[str]:
    """Give every option of every installed program that looks, in every spelling, with values that would be noticed."""
    for name in programs():
        if name not in REMOTE:
            yield from _options((name,), lookup(name))


REMOTE = frozenset({"gcloud", "gsutil", "bq", "kubectl", "npm", "systemctl", "loginctl", "busctl"})
"""What does nothing without another machine, or is slow to say so."""


def _options(words: tuple[str, ...], entry: Entry | None) -> Iterator[str]:
    if entry is None:
        return
    for option in entry.table:
        for value in (HIT, "./evil"):
            for spelling in ([option], [option, value], [f"{option}={value}"], [f"{option}{value}"]):
                for operands in ([], ["a.txt", "b.txt"]):
                    yield shlex.join([*words, *spelling, *operands])
    for spelled, child in entry.subcommands.items():
        yield from _options((*words, spelled.partition(",")[0].strip()), child)


class Lines:
    """Makes lines, the same ones for the same random numbers."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        self.fillers = {
            "c": self.command,
            "s": lambda _: self.pick(SAFE_LINES),
            "p": lambda _: self.pick(PAYLOADS),
            "w": self.word,
            "x": self.expansion,
            "q": lambda depth: self.quoted(self.hidden(depth)),
            "k": lambda depth: (
                shlex.quote(self.command(depth)) if self.chance(0.7) else self.quoted(self.command(depth))
            ),
            "n": lambda _: self.pick(NAMES),
            "f": self.file,
            "e": self.calculation,
            "g": lambda _: self.pick(TABLES["actions of find"]),
            "h": lambda _: self.pick(TABLES["git"]),
            "l": lambda _: self.quoted(self.pick(TABLES["scripts of sed"])),
            "m": lambda _: self.quoted(self.pick(TABLES["programs of awk"])),
            "o": lambda _: "".join(self.pick("aAefilnptuvwxCEIJLPQUTKkb0") for _ in range(self.pick((1, 1, 2)))),
            "b": lambda _: self.pick(("extglob", "nullglob", "expand_aliases", "globstar", "lastpipe", "sourcepath")),
            "t": self.tool,
        }

    def line(self) -> str:
        """Return a line, sometimes a damaged one."""
        line = self.fill(self.pick(FRAMES), 3)
        while self.chance(0.25):
            line = self.damage(line)
        return line

    def pick(self, things):
        return things[int(self.numbers.random() * len(things))]

    def chance(self, share: float) -> bool:
        return self.numbers.random() < share

    def fill(self, frame: str, depth: int) -> str:
        return re.sub("‹(.)›", lambda match: self.fillers[match[1]](depth - 1), frame)

    def command(self, depth: int) -> str:
        if depth <= 0 or self.chance(0.6):
            return self.pick(PAYLOADS) if self.chance(0.12) else self.pick(SAFE_LINES)
        return self.fill(self.pick(FRAMES), depth)

    def hidden(self, depth: int) -> str:
        """Return text that runs something if it is ever evaluated."""
        payload = self.pick(PAYLOADS)
        return self.pick(
            (
                payload,
                f"$({payload})",
                f"`{payload}`",
                f"a[$({payload})]",
                f"x; {payload}",
                f"x\n{payload}",
                f"${{x:-$({payload})}}",
                f"x && {payload} #",
                self.pick(NAMES),
                "x",
                "core.pager=./evil",
                self.pick(SAFE_LINES),
            )
        )

    def quoted(self, text: str) -> str:
        """Quote a text so that it stays one, or so that it might not."""
        style = int(self.numbers.random() * 9)
        if style <= 2:
            return shlex.quote(text)
        if style == 3:
            return '"' + text.replace('"', '\\"') + '"'
        if style == 4:
            return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if style == 5:
            return re.sub(r"([^\w./-])", r"\\\1", text).replace("\\\n", "'\n'")
        if style == 6:
            return "$'" + "".join(f"\\x{ord(c):02x}" if ord(c) < 128 else c for c in text) + "'"
        if style == 7:
            cut = int(self.numbers.random() * len(text))
            return shlex.quote(text[:cut]) + shlex.quote(text[cut:])
        return f'"{text}"' if self.chance(0.5) else text

    def word(self, depth: int) -> str:
        kind = int(self.numbers.random() * 12)
        if kind <= 2:
            return self.pick(
                (*FILES, *VALUES[:6], "hello", "-n", "--", "-e", "1", "''", "{a,b}", "~", "$x", '"$HOME"', "[ab]")
            )
        if kind <= 4:
            return self.quoted(self.hidden(depth))
        if kind == 5:
            return self.expansion(depth)
        if kind == 6:
            return '"' + self.expansion(depth) + '"'
        if kind == 7 and depth > 0:
            return self.word(depth - 1) + self.word(depth - 1)
        if kind == 8:
            return "{" + self.pick(FILES) + "," + self.quoted(self.pick(VALUES)) + "}"
        if kind == 9:
            return "-" + self.pick("abcdefghijklmnopqrstuvwxyzCDEFIOTXZ0") + self.pick(("", self.pick(VALUES)))
        return self.pick(FILES)

    def expansion(self, depth: int) -> str:
        name, inner = self.pick(NAMES), self.command(min(depth, 1))
        return self.pick(
            (
                f"$({inner})",
                f"`{inner}`",
                f"${name}",
                f"${{{name}}}",
                f"${{{name}:-{self.quoted(self.hidden(0))}}}",
                f"${{{name}:-$({inner})}}",
                f"${{{name}@{self.pick('PQEAaKkULu')}}}",
                f"${{!{name}}}",
                f"${{!{name}@}}",
                f"${{{name}[{self.calculation(0)}]}}",
                f"$(({self.calculation(0)}))",
                f"${{{name}//{self.quoted(self.hidden(0))}/x}}",
                f"${{{name}%%`{inner}`}}",
                f"<({inner})",
                f"$(<{self.file(0)})",
                "$'\\x41\\n\\u0042'",
                '$"t"',
                "$-",
                "$!",
                "$#",
                "${@:1}",
                "${*}",
            )
        )

    def calculation(self, depth: int) -> str:
        return self.pick(
            (
                "1+1",
                "i=0",
                f"{self.pick(NAMES)}",
                f"{self.pick(NAMES)}++",
                f"a[{self.pick(('0', 'i', self.hidden(0)))}]",
                f"a[$({self.pick(PAYLOADS)})]",
                f"{self.pick(NAMES)}=1",
                "x?1:2",
                "1<2",
                "x>y",
                "0x1f",
                "16#ff",
                f"$({self.pick(SAFE_LINES)})",
                "x,y",
                "-1",
            )
        )

    def file(self, depth: int) -> str:
        return self.pick(
            (
                *FILES,
                *FILES,
                HIT,
                "new.out",
                "/tmp/t.txt",
                "src/new",
                "/dev/null",
                "/dev/stdout",
                "&1",
                ".env",
                "~/n",
                "$x",
                "../x",
            )
        )

    def tool(self, _depth: int) -> str:
        """Return a program with options, as they are written and as they may be abbreviated."""
        name = self.pick(programs())
        entry, words = lookup(name), [name]
        while entry and entry.children and self.chance(0.9):
            child = self.pick(tuple(entry.children))
            words.append(child)
            entry = entry.children[child]
        table = tuple(entry.table.values()) if entry else ()
        for _ in range(self.pick((0, 1, 1, 2, 3))):
            words += self.option(table)
        words += [self.pick((*FILES, *VALUES)) for _ in range(self.pick((0, 1, 1, 2)))]
        if self.chance(0.1):
            words.insert(1 + int(self.numbers.random() * len(words)), "--")
        return " ".join(w if re.fullmatch(r"[\w./=*:,%+-]+", w) else shlex.quote(w) for w in words)

    def option(self, table) -> list[str]:
        """Return an option that the catalog knows, or one that it does not, with a value before or behind a space."""
        value = self.pick(VALUES)
        if not table or self.chance(0.15):
            return [f"-{self.pick('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0')}{self.pick(('', value))}"]
        option = self.pick(table)
        name = option.name
        if name.startswith("--") and self.chance(0.3):
            name = name[: 3 + int(self.numbers.random() * (len(name) - 2))]
        if self.chance(0.15):
            return [f"{name}={value}"]
        if option.role is None:
            return [name]
        return self.pick(([name, value], [f"{name}={value}"] if name.startswith("--") else [f"{name}{value}"]))

    def damage(self, line: str) -> str:
        at = int(self.numbers.random() * (len(line) + 1))
        piece = self.pick(META)
        kind = int(self.numbers.random() * 5)
        if kind == 0:
            return line[:at] + line[at + 1 :]
        if kind == 1:
            return line[:at] + piece + line[at + 1 :]
        if kind == 2:
            end = at + int(self.numbers.random() * 6)
            return line[:at] + line[end:]
        return line[:at] + piece + line[at:]

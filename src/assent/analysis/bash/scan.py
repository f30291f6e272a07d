"""Reading words: quotes, escapes and expansions, character by character as bash does.

A scanner never raises and always advances. What it does not surely understand it reports as a fault, and reads on,
so that the commands behind it are still found.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod

import assent.lazy_regex as re
from assent.analysis.bash.arithmetic import IDENTIFIER
from assent.analysis.bash.ast import Arithmetic, Parameter, Part, Sequence, Substitution, Text, WordTree
from assent.analysis.bash.charset import DEEPEST, is_decimal, odd_letter, reserved
from assent.analysis.bash.diagnostics import Notes
from assent.analysis.bash.escapes import decode
from assent.budget import step
from assent.model import UNKNOWN

_BLANK = re.compile(r"(?:[ \t]++|\\\n)*+(?:#[^\n]*+)?")
_PLAIN = re.compile(r"[\w./:@%+,=^-]++(?=[ \t\n;&|)]|\Z)", re.ASCII)
_ENCLOSED = re.compile(r"""(?:'([^']*+)'|"([^"\\$`]*+)")(?=[ \t\n;&|)]|\Z)""")
_BARE_QUOTE = re.compile(r'(?<!\\)(?:\\\\)*+"')
_CHUNK = re.compile(r"[^\s|&;()<>'\"\\$`]+|[^\S \t\n]+")
_SPECIAL = re.compile(r"[{*?~]|.\]", re.DOTALL)
_QUOTED = re.compile(r'"([^"\\$`]*)"')
_DOUBLE = re.compile(r'[^"\\$`]+')
_HERE = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_BRACED = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,9}|[@*#?$!-])\}")
_HEAD = re.compile(
    r"\$\{(?:#(?=[A-Za-z0-9_@*]))?([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,9}|[@*#?$-]|!(?=\}))(?:\[(@|\*|-?[0-9]{1,9}|\$?[A-Za-z_][A-Za-z0-9_]*)\])?",
)
_OPERATOR = re.compile(r"##?|%%?|//?|\^\^?|,,?|:?[-+?]|:(?=[ 0-9A-Za-z_$(-])")
_KEYS = re.compile(r"\$\{!([A-Za-z_][A-Za-z0-9_]*)\[[@*]\]\}")
_INERT = re.compile(r"""'[^'\\{}$`"<>();&|\n]*+'|\$'(?:[^'\\{}$`"<>();&|\n]|\\[nrtabefv0])*+'""")
"""Quotes that hold nothing that could close anything, so that it makes no difference whether they are quotes there."""
_OPERAND = re.compile(r"[^}\\'\"$`<>]+|[<>](?!\()")
_BACKTICKED = re.compile(r"`([^`\\]*(?:\\.[^`\\]*)*)`", re.DOTALL)
_CALCULATED = re.compile(r"[^()$`'\"\\\[\]{}#]+|(?<=[0-9])#(?=[0-9A-Za-z])")
_OFFSETS = re.compile(r"(?:[\s\w()+*:-]|\$(?=[A-Za-z_]))*(?=\})", re.ASCII)
_ANSI = re.compile(r"\$'([^'\\]*(?:\\.[^'\\]*)*)'", re.DOTALL)
_PASTED = re.compile(rf"{UNKNOWN}++|\$|\w++", re.ASCII)
_ASSIGNED = re.compile(
    r"(?<!\w)\d*+([A-Za-z_]\w*+)\s*+(?:=(?!=)|(?:[-+*/%&|^]|<<|>>)=|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)",
    re.ASCII,
)


class Scanner(ABC):
    """A place in a source text, and how to read words from there."""

    def __init__(self, source: str, notes: Notes, depth: int = 0) -> None:
        self.source = source
        self.at = 0
        self.end = len(source)
        self.notes = notes
        self.depth = depth

    @abstractmethod
    def enclosed(self) -> Sequence:
        """Read statements up to the `)` that closes them, and that one too."""

    @abstractmethod
    def fresh(self, source: str) -> Scanner:
        """Give a scanner for a text inside this one."""

    @abstractmethod
    def whole(self) -> Sequence:
        """Read the source to its end."""

    def peek(self) -> str:
        """Give the next character, or nothing at the end."""
        return self.source[self.at] if self.at < self.end else ""

    def skip_blanks(self) -> None:
        """Go to the next thing on this line."""
        # the pattern matches nothing as well, so there always is a match
        self.at = _BLANK.match(self.source, self.at).end()  # type: ignore[union-attr]

    def spend(self, steps: int = 1) -> None:
        """Count what the line is made of; give up the rest of the text if that is too much."""
        step()
        self.notes.steps -= steps
        if self.notes.steps < 0:
            self.notes.blame("the command has too many parts")
            self.at = self.end

    def spent(self) -> str:
        """Count what comes next, and give its first character; nothing if that was too much."""
        self.spend()
        return self.peek()

    def deeper(self) -> bool:
        """Go one level down; refuse, and give up the rest of the text, if that is too deep."""
        self.depth += 1
        if self.depth <= DEEPEST:
            return True
        self.notes.blame("the command is nested too deeply")
        self.at = self.end
        return False

    def word(self) -> WordTree | None:
        """Read one word; None if none starts here."""
        plain = _PLAIN.match(self.source, self.at)
        if plain is not None:
            step()
            self.at = plain.end()
            return plain[0]
        quoted = _ENCLOSED.match(self.source, self.at)
        if quoted is not None:
            self.at = quoted.end()
            self.spend()
            return (Text(quoted[1] or quoted[2] or "", quoted=True),)
        return self.mixed()

    def mixed(self, *, pattern: bool = False) -> WordTree | None:
        """Read a word of any parts; in a pattern, unquoted `(`, `|` and `)` may be letters of it."""
        parts: list[Part] = []
        begin, groups = self.at, 0
        while self.at < self.end:
            self.spend()
            character = self.peek()
            if read := _PARTS.get(character):
                read(self, parts)
            elif chunk := _CHUNK.match(self.source, self.at):
                self.literal(chunk[0], parts)
            elif character in {"<", ">"} and self.source.startswith("(", self.at + 1):
                self.substitute(character + "(…)", 2, parts, quoted=True)
            elif pattern and (character in {"(", "|"} or (character == ")" and groups)):
                groups += (character == "(") - (character == ")")
                self.literal(character, parts)
            else:
                break
        if groups:
            self.notes.blame("a group in a glob is not closed")
        if len(parts) == 1 and isinstance(parts[0], Text) and not parts[0].quoted:
            text = parts[0].text
            return text if _SPECIAL.search(text) is None else tuple(parts)
        if not parts:
            return "" if self.at > begin else None
        return tuple(parts)

    def literal(self, text: str, parts: list[Part]) -> None:
        """Take unquoted characters."""
        if (odd := odd_letter(text)) is not None:
            self.notes.blame(odd)
        parts.append(Text(text, quoted=False))
        self.at += len(text)

    def single_quoted(self, parts: list[Part]) -> None:
        """Read `'…'`."""
        close = self.source.find("'", self.at + 1)
        if close < 0:
            self.notes.blame("a single quote is not closed")
            close = self.end
        parts.append(Text(self.source[self.at + 1 : close], quoted=True))
        self.at = close + 1

    def double_quoted(self, parts: list[Part]) -> None:
        """Read `"…"`."""
        if match := _QUOTED.match(self.source, self.at):
            parts.append(Text(match[1], quoted=True))
            self.at = match.end()
            return
        before = len(parts)
        self.at += 1
        self.expanding(_DOUBLE, '$`"\\', parts)
        if len(parts) == before:
            parts.append(Text("", quoted=True))
        if self.at >= self.end:
            self.notes.blame("a double quote is not closed")
        self.at += 1

    def expanding(self, plain: re.Pattern[str], escapable: str, parts: list[Part]) -> None:
        """Read text in which only `$`, backquotes and some escapes are special, up to what is not of it."""
        while self.at < self.end:
            if run := plain.match(self.source, self.at):
                parts.append(Text(run[0], quoted=True))
                self.at = run.end()
                continue
            self.spend()
            match self.peek():
                case "\\":
                    self.escaped(escapable, parts)
                case "$":
                    self.dollar(parts, quoted=True)
                case "`":
                    self.backquoted(parts, quoted=True, escapable=escapable)
                case _:
                    return

    def escaped(self, escapable: str, parts: list[Part]) -> None:
        """Read a backslash inside double quotes or a here-document."""
        following = self.source[self.at + 1 : self.at + 2]
        if following != "\n":
            text = following if following and following in escapable else "\\" + following
            parts.append(Text(text, quoted=True))
        elif self.at and self.source[self.at - 1] not in ' \t\n"':
            self.notes.blame("a backslash joins two lines inside a word")
        self.at += 2

    def backslash(self, parts: list[Part]) -> None:
        """Read a backslash outside quotes."""
        following = self.source[self.at + 1 : self.at + 2]
        if not following:
            self.notes.blame("the command ends in a backslash")
        elif following != "\n":
            parts.append(Text(following, quoted=True))
        elif parts and self.source[self.at + 2 : self.at + 3] not in {"", " ", "\t", "\n"}:
            self.notes.blame("a backslash joins two lines inside a word")
        self.at += 2

    def here_text(self) -> tuple[Part, ...]:
        """Read the whole source as the body of a here-document that expands."""
        parts: list[Part] = []
        self.expanding(_HERE, "$`\\", parts)
        return tuple(parts)

    def dollar(self, parts: list[Part], *, quoted: bool = False) -> None:
        """Read what starts with `$`."""
        match self.source[self.at + 1 : self.at + 2]:
            case "(":
                self.parenthesised(parts, quoted=quoted)
            case "{":
                self.braced(parts, quoted=quoted)
            case "'" if not quoted:
                self.ansi_quoted(parts)
            case '"' if not quoted:
                self.at += 1
                self.double_quoted(parts)
            case "[":
                self.notes.blame("`$[` is obsolete arithmetic")
                parts.append(Text("$[", quoted=True))
                self.at += 2
            case _:
                self.named(parts, quoted=quoted)

    def named(self, parts: list[Part], *, quoted: bool) -> None:
        """Read `$name`, or a dollar that is only a dollar."""
        name = _NAME.match(self.source, self.at + 1)
        parts.append(Text("$", quoted=True) if name is None else Parameter(name[0], quoted, bare=True))
        self.at = self.at + 1 if name is None else name.end()

    def ansi_quoted(self, parts: list[Part]) -> None:
        """Read `$'…'`."""
        match = _ANSI.match(self.source, self.at)
        text = None if match is None else decode(match[1])
        if text is None:
            self.notes.blame("the text in `$'…'` is ambiguous")
        elif reserved(text):
            self.notes.blame("the command contains a reserved character")
        parts.append(Text(text or "", quoted=True))
        self.at = self.end if match is None else match.end()

    def parenthesised(self, parts: list[Part], *, quoted: bool) -> None:
        """Read `$(…)` or `$((…))`."""
        if self.source.startswith("((", self.at + 1):
            begin = self.at
            self.at += 3
            expression = self.arithmetic(quoted=quoted)
            if expression is not None:
                parts.append(expression)
                return
            self.at = begin
        self.substitute("$(…)", 2, parts, quoted=quoted)

    def substitute(self, kind: str, opening: int, parts: list[Part], *, quoted: bool) -> None:
        """Read the commands of a substitution."""
        self.at += opening
        parts.append(Substitution(kind, self.enclosed(), quoted))

    def backquoted(self, parts: list[Part], *, quoted: bool = False, escapable: str = "$`\\") -> None:
        """Read the older form of a substitution, whose text is unescaped before it is parsed.

        What is escaped depends on what it stands in: a quote in double quotes alone.
        """
        match = _BACKTICKED.match(self.source, self.at)
        if match is None:
            self.notes.blame("a backquote is not closed")
            text = self.source[self.at + 1 :]
            self.at = self.end
        else:
            if '"' in escapable and "{" in match[1] and _BARE_QUOTE.search(match[1]):
                self.notes.blame("a quote inside backquotes may end the quote around them, and then braces expand")
            text = re.sub(r"\\(.)", lambda found: found[found[1] in escapable], match[1])
            self.at = match.end()
        if self.deeper():
            parts.append(Substitution("`…`", self.fresh(text).whole(), quoted))
        self.depth -= 1

    def braced(self, parts: list[Part], *, quoted: bool) -> None:
        """Read `${…}`."""
        if bare := _BRACED.match(self.source, self.at):
            parts.append(Parameter(bare[1], quoted))
            self.at = bare.end()
            return
        self.spend(2)
        if keys := _KEYS.match(self.source, self.at):
            parts.append(Parameter(keys[1], quoted, "@", derived=True, operator="!"))
            self.at = keys.end()
            return
        head = _HEAD.match(self.source, self.at)
        if head is None:
            self.notes.blame("Assent does not analyse this form of `${…}`")
            self.at += 2
            name, index = "", None
        else:
            self.at = head.end()
            name, index = head[1], head[2]
        counts = head is not None and head[0].startswith("${#") and name != "#"
        derived = head is None or self.peek() != "}"
        begin = self.at
        offsets = self.operator(counts=counts) if head is not None and derived else ()
        operator = self.source[begin : self.at]
        operand = self.operand(quoted=quoted) if self.deeper() else ()
        self.depth -= 1
        parts.append(Parameter(name, quoted, index, derived, counts, offsets + operand, operator=operator))

    def operator(self, *, counts: bool) -> tuple[Part, ...]:
        """Read the operator behind a name; those that assign, evaluate or look elsewhere are faults."""
        match = _OPERATOR.match(self.source, self.at)
        if match is None or counts:
            self.notes.blame("an expansion `${…}` assigns, evaluates or has a form that Assent does not analyse")
            return ()
        self.at = match.end()
        return self.offsets() if match[0] == ":" else ()

    def offsets(self) -> tuple[Part, ...]:
        """Read the numbers of `${name:offset:length}`, which bash calculates."""
        match = _OFFSETS.match(self.source, self.at)
        if match is None:
            self.notes.blame("the offset in `${…}` is not a plain number or name")
            return ()
        self.at = match.end()
        if _pastes(match[0]):
            self.notes.blame("the offset in `${…}` computes a variable name")
        return (Arithmetic(tuple(IDENTIFIER.findall(match[0])), (), (), quoted=True),)

    def operand(self, *, quoted: bool) -> tuple[Part, ...]:
        """Read the rest of `${…}`, to its `}`. Code in there is found, and a fault."""
        parts: list[Part] = []
        while (character := self.spent()) and character != "}":
            if run := _OPERAND.match(self.source, self.at):
                parts.append(Text(run[0], quoted=True))
                self.at = run.end()
            elif character in "<>":
                self.substitute(character + "(…)", 2, parts, quoted=True)
            elif quoted and (inert := _INERT.match(self.source, self.at)):
                parts.append(Text(inert[0].lstrip("$")[1:-1], quoted=True))
                self.at = inert.end()
            elif character == "$":
                self.dollar(parts, quoted=quoted)
            elif character == "'" and quoted:
                self.notes.blame('a single quote inside `"${…}"`')
                self.at += 1
            else:
                _PARTS[character](self, parts)
        if self.at >= self.end:
            self.notes.blame("`${` is not closed")
        if any(isinstance(part, (Substitution, Arithmetic)) for part in parts):
            self.notes.blame("an expansion `${…}` contains code")
        self.at += 1
        return tuple(parts)

    def arithmetic(self, *, quoted: bool) -> Arithmetic | None:
        """Read an expression up to its `))`; None (and nothing else happened) if it is a subshell after all."""
        begin = self.at
        plain: list[str] = []
        parts: list[Part] = []
        level = 0
        known = self.deeper()
        while known and (character := self.spent()):
            if run := _CALCULATED.match(self.source, self.at):
                plain.append(run[0])
                self.at = run.end()
            elif character == "(" or (character == ")" and level):
                level += 1 if character == "(" else -1
                plain.append(character)
                self.at += 1
            elif character == ")":
                break
            elif character == "$":
                plain.append(UNKNOWN)
                self.dollar(parts, quoted=True)
            elif character == "`":
                plain.append(UNKNOWN)
                start = self.at
                self.backquoted(parts, quoted=True)
                if '\\"' in self.source[start : self.at]:
                    self.notes.blame("a quote is escaped inside backquotes inside an arithmetic expression")
            else:
                self.notes.blame("an arithmetic expression contains more than numbers and names")
                self.at += 1
        self.depth -= 1
        return self.calculated(begin, "".join(plain), tuple(parts), quoted=quoted)

    def calculated(self, begin: int, text: str, parts: tuple[Part, ...], *, quoted: bool) -> Arithmetic | None:
        """Finish an expression: only `))` closes it."""
        if self.source.startswith("))", self.at):
            self.at += 2
        else:
            self.notes.blame("`((` is not closed, or contains commands")
            if self.peek() and self.notes.retries:
                self.notes.retries -= 1
                self.at = begin
                return None
        if _pastes(text):
            self.notes.blame("an arithmetic expression computes a variable name")
        names = tuple(IDENTIFIER.findall(text))
        assigned = tuple(a or b for a, b in _ASSIGNED.findall(text))
        return Arithmetic(names, assigned, parts, quoted, text)


def _pastes(text: str) -> bool:
    """Tell whether an expression puts a name together, of which a part is expanded."""
    pieces = [(found.start(), found[0]) for found in _PASTED.finditer(text)]
    return any(
        at + len(piece) == then and _is_half(piece, following)
        for (at, piece), (then, following) in itertools.pairwise(pieces)
    ) or any(piece.count(UNKNOWN) > 1 for _, piece in pieces)


def _is_half(piece: str, following: str) -> bool:
    """Tell whether two pieces side by side are a name and what is expanded; behind a `$` stands one of its own."""
    if piece == "$":
        return False
    word = piece if following[0] in ("$", UNKNOWN) else following
    return not is_decimal(word)


_PARTS = {
    "'": Scanner.single_quoted,
    '"': Scanner.double_quoted,
    "\\": Scanner.backslash,
    "$": Scanner.dollar,
    "`": Scanner.backquoted,
}

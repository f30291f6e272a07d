"""Awk programs: whether they do more than print. What is not understood counts as more."""

from __future__ import annotations

import msgspec

import assent.lazy_regex as re
from assent.budget import step

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)
    |(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<number>(?:0[xX][\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)(?!\w))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<end>[;\n{}])
    |(?P<sign>\|\||&&|\|&|>>|[<>=!+\-*/%^]=|\*\*=?|\+\+|--|[-+*/%^!<>=~?:,.()\[\]$|@&])""",
    re.VERBOSE | re.DOTALL,
)
_BRACKET = r"\[\^?+\]?+(?:\[:[a-z]++:\]|\[(?![:.=])|\\[^]\n]|[^]\[\\/\n])*+\]"
_SLASHED = r"\[\^?+[^]\[\\\"\n]++\]"
_REGEX = re.compile(rf"/(?:{_BRACKET}|\\.|[^/\\\n\[])*+/|/(?:{_SLASHED}|\\.|[^]/\\\n\[])*+/")
"""A pattern; where a slash stands in brackets, only if these are closed at the same place for every version of awk."""
_STREAM = re.compile(r'[ \t]*"/dev/std(?:err|out)"[ \t]*(?:[;}\n]|\Z)')
"""Where a program may print to: nothing may follow that becomes part of the name."""
_PIPED = re.compile(
    r"""[ \t]*"(?P<line>(?:sort|uniq|head|tail|wc|column|cat|tr|cut|nl|tac)(?:[ ][\w.,:+=/'-]*)*(?:[ ]?1?>&2)?)"[ \t]*
    (?=[;}\n]|\Z)""",
    re.VERBOSE,
)
"""What a program may print through: filters, which are read as a line of their own."""
_TEXT = r'"(?P<line>(?:[^"\\\n]|\\.)*+)"[ \t]*+'
_CALLED = re.compile(rf"[ \t]*+\([ \t]*+{_TEXT}\)")
"""A command by which a program calls the shell, where it is a text alone; …"""
_THROUGH = re.compile(rf"[ \t]*+{_TEXT}(?=[;}}\n]|\Z)")
"""… and one that it prints through."""
_ESCAPED = {'\\"': '"', "\\\\": "\\", "\\/": "/", "\\n": "\n", "\\t": "\t"}
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_RUNS = "runs commands from its program"
_VALUE = frozenset({"string", "number", "name"})
_OUTSIDE = {
    "extension": "loads or calls code by a computed name",
    "ENVIRON": "reads the environment in its program",
    "ARGV": "may choose in its program which files to read",
    "ARGC": "may choose in its program which files to read",
    "SYMTAB": "reads variables by a computed name in its program",
    "FUNCTAB": "calls functions by a computed name in its program",
    "PROCINFO": "reads facts about its process in its program",
}
"""Names by which a program reaches more than the text it is given."""
_NEXT = re.compile(
    r"""[ \t]*+(?:[A-Za-z_]\w*+(?:\[\w*+\])?+|\$\w++)?+[ \t]*+
    (?:<[ \t]*+"(?P<file>[^"\\\n]*+)"[ \t]*+(?=[);}\n]|\Z)|(?=[);}\n>]|&&|\|\||\Z))""",
    re.VERBOSE,
)
"""What may stand behind `getline`: a variable, and a file by its name. Nothing may follow that becomes part of the
name, nor anything that could still be followed by one."""
_CONNECTION = ("/inet", "/dev/tcp", "/dev/udp")
"""How names begin by which some versions connect to other machines."""
_NOT_OPERANDS = frozenset({"print", "printf", "return", "exit", "in", "else", "do", "getline"})
"""Words after which a slash begins a pattern."""
_UNCLEAR = frozenset({"case", "length"})
"""Words after which a slash divides in some versions of awk and begins a pattern in others."""
_CONDITIONS = frozenset({"if", "while", "for"})
"""Words whose brackets are no operand. To most versions `switch` is a name, and to others no slash may follow it."""


class AwkProgram(msgspec.Struct, frozen=True):
    """What an awk program does besides printing, if anything; the files that it names to read, the lines it runs."""

    fault: str | None = None
    reads: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    runs_input: bool = False
    """What it runs is made while it runs: as a rule of what it reads."""


def read_awk(program: str) -> AwkProgram:
    """Return what an awk program does."""
    walk = _Walk(program)
    while walk.fault is None and walk.at < len(program):
        step()
        walk.advance()
    return AwkProgram(walk.fault or walk.runs, tuple(walk.reads), tuple(walk.lines), walk.runs_input)


class _Walk:
    def __init__(self, program: str) -> None:
        self.program, self.at = program, 0
        self.fault: str | None = None
        self.runs: str | None = None
        """That it runs commands: what else it does is still found."""
        self.runs_input = False
        self.reads: dict[str, None] = {}
        self.lines: dict[str, None] = {}
        self.operand = False
        """Whether an operand stood before, so that a slash divides."""
        self.printing = False
        self.depth = 0
        self.open = False
        """Whether a sign stood before that something has to follow, if need be on the next line."""
        self.last = self.before = ""
        """What stood before, and before that."""
        self.brackets: list[bool] = []
        """Of each that is open, whether a condition is in it."""

    def advance(self) -> None:
        if self.program[self.at] == "/" and self.last in _UNCLEAR and "/" in self.program[self.at + 1 :]:
            self._pass(None)
        elif self.program[self.at] == "/" and not self.operand:
            self._pass(_REGEX.match(self.program, self.at))
            self.operand, self.last = True, "/"
        else:
            self._next()

    def _next(self) -> None:
        found = _TOKEN.match(self.program, self.at)
        self._pass(found)
        if found is not None and found.lastgroup != "space":
            self._token(str(found.lastgroup), found.group())
            self.before, self.last = self.last, found.group()

    def _pass(self, found: re.Match[str] | None) -> None:
        if found is None:
            self.fault = "has a program that Assent does not analyse"
        else:
            self.at = found.end()

    def _token(self, kind: str, text: str) -> None:
        if text == "\n" and (self.open or self.depth > 0):
            return
        self.operand = (kind in _VALUE and text not in _NOT_OPERANDS) or text in (")", "]", "++", "--")
        self.open = kind == "sign" and not self.operand
        if kind == "end":
            self.printing, self.depth = False, 0
        elif kind == "name":
            self._name(text)
        elif kind == "sign":
            self._sign(text)

    def _name(self, text: str) -> None:
        if text in ("print", "printf"):
            self.printing, self.depth = True, 0
        elif text == "getline":
            self._getline()
        elif text == "system":
            self._run(_CALLED.match(self.program, self.at))
        else:
            self.fault = _OUTSIDE.get(text)

    def _getline(self) -> None:
        """Pass what is read on demand: the next line of its input, or of a file that is named."""
        found = _NEXT.match(self.program, self.at)
        if found is None or (found["file"] or "").startswith(_CONNECTION):
            self.fault = "reads other input in its program"
            return
        self.at = found.end()
        if found["file"] is not None:
            self.reads[found["file"]] = None

    def _sign(self, text: str) -> None:
        if text in "([":
            self.depth += 1
            self.brackets.append(self.last in _CONDITIONS)
        elif text in ")]":
            self.depth -= 1
            self.operand = not (self.brackets and self.brackets.pop())
        elif text in ("|", "|&"):
            self._pipe(text)
        elif text == "@":
            self.fault = "loads or calls code by a computed name"
        elif text in (">", ">>") and self.printing and self.depth <= 0 and not _STREAM.match(self.program, self.at):
            self.fault = "writes files from its program"

    def _pipe(self, text: str) -> None:
        """Pass the command that something is printed through, or that prints what is read."""
        found = _PIPED.match(self.program, self.at)
        if found is not None and text == "|" and self.printing and self.depth <= 0:
            self.at = found.end()
            self.lines[found["line"]] = None
        elif self.printing:
            self._run(_THROUGH.match(self.program, self.at) if self.depth <= 0 else None)
        else:
            alone = self.before in ("", "(", "{", "}", ";", "\n")
            self._run(_THROUGH.fullmatch(self.last) if alone else None)

    def _run(self, found: re.Match[str] | None) -> None:
        """Note a command that the program runs: a text that is found, or one that it makes."""
        self.runs = _RUNS
        line = None if found is None else _unescape(found["line"])
        if line is None:
            self.runs_input = True
        else:
            self.lines[line] = None


def _unescape(text: str) -> str | None:
    """Give what a text in quotes stands for; None where versions of awk may differ."""
    if any(found not in _ESCAPED for found in _ESCAPE.findall(text)):
        return None
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], text)

"""Reading simple commands: their assignments, words and redirections."""

from __future__ import annotations

from abc import abstractmethod

import assent.lazy_regex as re
from assent.analysis.bash.ast import Assignment, HereText, Redirection, Simple, Statement, Test, Text, WordTree
from assent.analysis.bash.diagnostics import Notes
from assent.analysis.bash.heredocs import read_bodies
from assent.analysis.bash.scan import Scanner

_ENDS = r"(?=(?:\\\n)*(?:[\s;&|()<>]|\Z))"
_ENDING = re.compile(_ENDS)
TOKEN = re.compile(rf"(?:[a-z!]+|[{{}}]|\]\]|\[\[){_ENDS}|\(\(?")
REDIRECT = re.compile(
    r"(\d+|\{[A-Za-z_]\w*\})?([<>]&-|<<<|<<-?|<&|<>|>>|>\||>&|[<>](?!\())|(&>>?)",
    re.ASCII,
)
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(?:\[(-?\w+|\$[A-Za-z_]\w*)\])?(\+?)=(\(?)", re.ASCII)
_LINES = re.compile(r"(?:[ \t\n]++|\\\n|#[^\n]*+)*+")
_KEYWORDS = "case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while"
# A run of words is looked at once: one that begins with a keyword would be read again behind it, and again.
WORDS = re.compile(rf"(?!(?:{_KEYWORDS})\b)(?:[\w./:@%+,=^-]++[ \t]*+)++(?=[\n;|)]|&(?!>)|\Z)", re.ASCII)
_RUN = re.compile(r"(?:[\w./:@%+,=^-]++(?:[ \t]++|(?=[\n;&|)]|\Z)))++", re.ASCII)
_INDEXED = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_COMPARED = re.compile(rf"\]\]{_ENDS}|&&|\|\||[()]|[<>](?!\()|(?:==?|!=|=~)(?=[ \t\n])")
_MATCHING = frozenset({"=", "==", "!=", "=~"})
DECLARATIONS = frozenset({"declare", "typeset", "local", "export", "readonly"})


class CommandScanner(Scanner):
    """Reads simple commands and conditions, and the here-documents that follow their line."""

    def __init__(self, source: str, notes: Notes, depth: int = 0) -> None:
        super().__init__(source, notes, depth)
        self.pending: list[HereText] = []
        """Here-documents whose line has not ended yet."""

    @abstractmethod
    def short_function(self, name: WordTree | Assignment) -> Statement:
        """Read `name() …`, whose name was read already."""

    def skip_lines(self) -> None:
        """Go to the next thing, over ends of lines and the here-documents that follow them."""
        while self.pending:
            self.skip_blanks()
            if not self.source.startswith("\n", self.at):
                return
            pending, self.pending = self.pending, []
            read_bodies(self, pending)
        # the pattern matches nothing as well, so there always is a match
        self.at = _LINES.match(self.source, self.at).end()  # type: ignore[union-attr]

    def simple(self) -> Statement | None:
        """Read a simple command, or the definition of a function."""
        assignments: list[Assignment] = []
        words: list[WordTree | Assignment] = []
        redirections: list[Redirection] = []
        source = self.source
        self.spend(4)
        while self.at < self.end:
            if source[self.at] in "<>&{0123456789" and (match := REDIRECT.match(source, self.at)):
                redirections.append(self.redirection(match))
            elif not words and (match := _ASSIGN.match(source, self.at)):
                assignments.append(self.assignment(match))
                if match[4] and redirections:
                    self.notes.blame("an array is assigned after a redirection")
            elif source[self.at] == "(" and len(words) == 1 and not assignments and not redirections:
                return self.short_function(words[0])
            elif run := _RUN.match(source, self.at):
                words += run[0].split()
                self.at = run.end()
            else:
                word = self.argument(words)
                if word is None:
                    break
                words.append(word)
            self.skip_blanks()
        if not words and not assignments and not redirections:
            return None
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def argument(self, words: list[WordTree | Assignment]) -> WordTree | Assignment | None:
        """Read the next word of a command."""
        if words and isinstance(words[0], str) and words[0] in DECLARATIONS:
            match = _ASSIGN.match(self.source, self.at)
            if match is not None and match[4]:
                return self.assignment(match)
        elif not words and _INDEXED.match(self.source, self.at):
            self.notes.blame("an array subscript is not a plain number or name")
        start = self.at
        word = self.word()
        braced = self.source[start] == "{" and self.source[self.at - 1 : self.at + 1] in {"}<", "}>"}
        if braced and "[" in self.source[start : self.at]:
            self.notes.blame("a redirection stores its descriptor in a computed variable name")
        return word

    def assignment(self, match: re.Match[str]) -> Assignment:
        """Read what is assigned."""
        name, index, plus, array = match.groups()
        self.at = match.end()
        self.spend()
        if not array:
            value = self.word()
            return Assignment(name, "" if value is None else value, None, bool(plus), index)
        items: list[WordTree] = []
        self.skip_lines()
        while (item := self.word()) is not None:
            items.append(item)
            self.skip_lines()
        self.expect(")")
        if index is not None or _ENDING.match(self.source, self.at) is None:
            self.notes.blame("Assent does not analyse this form of array assignment")
        return Assignment(name, "", tuple(items), bool(plus), index)

    def redirection(self, match: re.Match[str]) -> Redirection:
        """Read the target of a redirection."""
        prefix, operator = match[1] or "", match[2] or match[3]
        self.at = match.end()
        self.spend(8)
        if operator.endswith("&-"):
            return Redirection(operator[:2], "-", prefix)
        self.skip_blanks()
        start = self.at
        if operator in {"<&", ">&"} and self.peek() == "-":
            # A dash is all of it here: what follows is a word of the command.
            self.at += 1
            return Redirection(operator, "-", prefix)
        again = REDIRECT.match(self.source, start)
        target = self.word() if again is None else None
        if target is None:
            self.notes.blame(f"`{operator}` has no target")
            target = ""
        if operator not in {"<<", "<<-"}:
            return Redirection(operator, target, prefix)
        here = self.here_text_of(target, start, strips=operator == "<<-")
        self.pending.append(here)
        return Redirection(operator, here, prefix)

    def here_text_of(self, target: WordTree, start: int, *, strips: bool) -> HereText:
        """Make a here-document of its delimiter; a quote anywhere in that keeps the body as it is."""
        if isinstance(target, str):
            return HereText(target, expands=True, strips=strips, start=start)
        texts = [part for part in target if isinstance(part, Text)]
        raw = self.source[start : self.at]
        if len(texts) < len(target) or "\n" in raw or "$" in raw:
            self.notes.blame("the delimiter of a here-document is not plain")
        expands = not any(quote in raw for quote in "'\"\\")
        return HereText("".join(part.text for part in texts), expands=expands, strips=strips, start=start)

    def conditional(self, keyword: str) -> Test:
        """Read `[[ … ]]`."""
        words: list[WordTree] = [keyword]
        while words[-1] != "]]":
            self.skip_lines()
            word = self.operand_of_test(words[-1])
            if word is None:
                self.notes.blame("`]]` is missing")
                break
            words.append(word)
        if words.count("(") != words.count(")"):
            self.notes.blame("a bracket in `[[ … ]]` is not closed")
        return Test(tuple(words))

    def operand_of_test(self, before: WordTree) -> WordTree | None:
        """Read a word or an operator of `[[ … ]]`; behind a matching operator stands a pattern."""
        matching = isinstance(before, str) and before in _MATCHING
        if before == "=~":
            return self.mixed(pattern=True)
        mark = _COMPARED.match(self.source, self.at)
        if mark is None:
            return self.mixed(pattern=True) if matching else self.word()
        if matching:
            self.notes.blame("a pattern is missing in `[[ … ]]`")
        self.at = mark.end()
        return mark[0]

    def expect(self, keyword: str) -> bool:
        """Read this keyword, or report that it is missing."""
        self.skip_lines()
        if keyword == ")":
            found = self.peek() == ")"
        else:
            match = TOKEN.match(self.source, self.at)
            found = match is not None and match[0] == keyword
        if found:
            self.at += len(keyword)
        else:
            self.notes.blame(f"`{keyword}` is missing")
        return found


def second_word(statement: Statement) -> str:
    """Give the second word of a simple command, if it has no quotes or expansions."""
    word = statement.words[1] if isinstance(statement, Simple) and len(statement.words) > 1 else ""
    if isinstance(word, tuple) and len(word) == 1 and isinstance(word[0], Text):
        return word[0].text
    return word if isinstance(word, str) else ""

"""The grammar of the shell: from text to statements, in one pass and in time linear in its length.

It reads on after a fault: a token that does not fit is skipped, and what follows is still read as commands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import assent.lazy_regex as re
from assent.analysis.bash.ast import (
    AndOrList,
    Arithmetic,
    Assignment,
    Calculation,
    Case,
    Count,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Redirected,
    Redirection,
    Sequence,
    Simple,
    Statement,
    While,
    WordTree,
)
from assent.analysis.bash.simple_commands import REDIRECT, TOKEN, WORDS, CommandScanner, second_word

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "in", "}", "]]"})
_PREFIXES = frozenset({"!", "time"})
_PARENS = re.compile(r"\([ \t]*\)")
_TIME_OPTION = re.compile(r"(?:-p|--)(?=[ \t])")
_CASE_END = re.compile(r";;&?|;&")
_COPROCESS_NAME = re.compile(r"(\w+)[ \t]+(?=\(|[{][ \t\n])", re.ASCII)
_NAMED = re.compile(r"([A-Za-z_]\w*)(?=[\s;]|\Z)", re.ASCII)
_FUNCTION_NAME = re.compile(r"[^\s|&;()<>'\"\\$`]+")


class Parser(CommandScanner):
    """Reads statements."""

    def fresh(self, source: str) -> Parser:
        """Give a parser for a text inside this one."""
        return Parser(source, self.notes, self.depth)

    def whole(self) -> Sequence:
        """Read the source to its end, skipping what does not fit."""
        items = list(self.sequence().items)
        while self.at < self.end:
            keyword = TOKEN.match(self.source, self.at)
            text = keyword[0] if keyword else self.source[self.at]
            self.notes.blame(f"unexpected `{text}`")
            self.at += len(text)
            self.spend(4)
            items += self.sequence().items
        if self.pending:
            self.notes.blame("a here-document has no closing delimiter")
        return Sequence(tuple(items))

    def enclosed(self) -> Sequence:
        """Read statements up to the `)` that closes them, with here-documents of their own."""
        outer, self.pending = self.pending, []
        body = self.sequence() if self.deeper() else Sequence(())
        self.depth -= 1
        if self.pending:
            self.notes.blame("a here-document has no closing delimiter")
        self.pending = outer
        self.expect(")")
        return body

    def required(self) -> Sequence:
        """Read statements where there must be some."""
        body = self.sequence()
        if not body.items:
            self.notes.blame("a command is missing")
        return body

    def sequence(self) -> Sequence:
        """Read statements up to something that starts none."""
        items: list[tuple[Statement, bool]] = []
        while True:
            self.skip_lines()
            statement = self.chain()
            if statement is None:
                break
            separator = self.source[self.at : self.at + 1]
            items.append((statement, separator == "&"))
            if separator == "\n":
                continue
            if separator not in {";", "&"} or self.source[self.at + 1 : self.at + 2] in {";", "&"}:
                break
            self.at += 1
        return Sequence(tuple(items))

    def chain(self) -> Statement | None:
        """Read pipelines joined by `&&` and `||`."""
        first = self.pipeline()
        rest: list[tuple[str, Statement]] = []
        while first is not None and self.source.startswith(("&&", "||"), self.at):
            operator = self.source[self.at : self.at + 2]
            self.at += 2
            self.skip_lines()
            following = self.pipeline()
            if following is None:
                self.notes.blame(f"a command is missing after `{operator}`")
                break
            rest.append((operator, following))
        return AndOrList(first, tuple(rest)) if first is not None and rest else first

    def pipeline(self) -> Statement | None:
        """Read commands joined by `|` and `|&`."""
        first = self.command()
        if first is None or not self.source.startswith("|", self.at) or self.source.startswith("||", self.at):
            return first
        items = [first]
        loud: set[int] = set()
        while self.peek() == "|" and not self.source.startswith("||", self.at):
            if self.source.startswith("|&", self.at):
                loud.add(len(items) - 1)
                self.at += 1
            self.at += 1
            following = self.piped()
            if following is None:
                self.notes.blame("a command is missing after `|`")
                break
            items.append(following)
        return Pipeline(tuple(items), frozenset(loud)) if len(items) > 1 else first

    def command(self) -> Statement | None:
        """Read one command and the blanks behind it; None if none starts here."""
        if plain := self.plain():
            return plain
        keyword = TOKEN.match(self.source, self.at)
        if keyword is None or keyword[0] not in _PREFIXES:
            return self.plain_command(keyword)
        negated = False
        while keyword is not None and keyword[0] in _PREFIXES:
            self.prefix(keyword[0])
            negated = negated or keyword[0] == "!"
            keyword = TOKEN.match(self.source, self.at)
        statement = self.plain_command(keyword)
        if statement is None:
            self.notes.blame("a command is missing after `!` or `time`")
        # What is negated and succeeds has failed: it may or may not have happened.
        happens = statement is None or (isinstance(statement, Simple) and not statement.words)
        return Pipeline((statement,)) if negated and statement is not None and not happens else statement

    def plain(self) -> Simple | None:
        """Read a command that is nothing but plain words, as most are; None if it is anything else."""
        run = WORDS.match(self.source, self.at)
        if run is None:
            return None
        words = tuple(run[0].split())
        if "=" in words[0]:
            return None
        self.at = run.end()
        self.spend(4)
        return Simple(words=words, plain=words)

    def piped(self) -> Statement | None:
        """Read a command behind `|`, where `time` is the program (on a line of its own it cannot stand)."""
        begin = self.at
        self.skip_lines()
        if plain := self.plain():
            return plain
        keyword = TOKEN.match(self.source, self.at)
        continued = "\n" in self.source[begin : self.at]
        if keyword is not None and (keyword[0] == "!" or (keyword[0] == "time" and continued)):
            self.notes.blame(f"unexpected `{keyword[0]}`")
        return self.plain_command(keyword)

    def plain_command(self, keyword: re.Match[str] | None) -> Statement | None:
        """Read a simple or compound command."""
        read = None if keyword is None else _COMPOUND.get(keyword[0])
        if keyword is not None and keyword[0] in _CLOSERS:
            return None
        return self.simple() if keyword is None or read is None else self.compound(read, keyword[0])

    def prefix(self, keyword: str) -> None:
        """Read `!` or `time` with its option: syntax that changes nothing about the commands behind it."""
        self.at += len(keyword)
        self.skip_blanks()
        while keyword == "time" and (option := _TIME_OPTION.match(self.source, self.at)):
            self.at = option.end()
            self.skip_blanks()

    def compound(self, read: Callable[[Parser, str], Statement], keyword: str) -> Statement:
        """Read a compound command and the redirections behind it."""
        self.at += len(keyword)
        self.spend(3)
        statement = read(self, keyword) if self.deeper() else Group("{…}", Sequence(()))
        self.depth -= 1
        redirections: list[Redirection] = []
        self.skip_blanks()
        while (match := REDIRECT.match(self.source, self.at)) is not None:
            redirections.append(self.redirection(match))
            self.skip_blanks()
        return Redirected(statement, tuple(redirections)) if redirections else statement

    def group(self, keyword: str) -> Statement:
        """Read `{ … }`."""
        body = self.required()
        self.expect("}")
        return Group(keyword + "…}", body)

    def subshell(self, keyword: str) -> Statement:
        """Read `( … )`."""
        body = self.required()
        self.expect(")")
        return Group(keyword + "…)", body)

    def calculation(self, _: str) -> Statement:
        """Read `(( … ))`, or a subshell that starts with one."""
        expression = self.arithmetic(quoted=True)
        if expression is not None:
            return Calculation(expression)
        self.at -= 1
        return self.subshell("(")

    def if_statement(self, _: str) -> Statement:
        """Read `if` to `fi`."""
        arms: list[tuple[Sequence | None, Sequence]] = []
        keyword = "elif"
        while keyword == "elif":
            condition = self.required()
            self.expect("then")
            arms.append((condition, self.required()))
            match = TOKEN.match(self.source, self.at)
            keyword = match[0] if match and match[0] in {"elif", "else"} else ""
            self.at += len(keyword)
        if keyword:
            arms.append((None, self.required()))
        self.expect("fi")
        return If(tuple(arms))

    def while_statement(self, keyword: str) -> Statement:
        """Read `while` or `until` to `done`."""
        return While(keyword, self.required(), self.loop_body())

    def loop_body(self) -> Sequence:
        """Read `do` to `done`."""
        self.expect("do")
        body = self.required()
        self.expect("done")
        return body

    def for_statement(self, keyword: str) -> Statement:
        """Read `for` or `select` to `done`."""
        self.skip_blanks()
        if self.source.startswith("((", self.at) and keyword == "for":
            return self.count()
        name = _NAMED.match(self.source, self.at)
        if name is None:
            self.notes.blame(f"the variable of `{keyword}` is not a plain name")
            return Group("{…}", Sequence(()))
        self.at = name.end()
        self.skip_lines()
        words = self.listed()
        self.skip_blanks()
        if self.peek() == ";":
            self.at += 1
        self.skip_lines()
        return For(keyword, name[1], words, self.loop_body())

    def listed(self) -> tuple[WordTree, ...] | None:
        """Read `in` and the words behind it; None if there is no `in`."""
        match = TOKEN.match(self.source, self.at)
        if match is None or match[0] != "in":
            return None
        self.at += 2
        self.skip_blanks()
        words: list[WordTree] = []
        while (word := self.word()) is not None:
            words.append(word)
            self.skip_blanks()
        return tuple(words)

    def count(self) -> Statement:
        """Read `for (( … ))`; its parts are judged as one expression."""
        self.at += 2
        header = self.arithmetic(quoted=True) or Arithmetic((), (), (), quoted=True)
        self.skip_blanks()
        if self.peek() == ";":
            self.at += 1
        return Count(header, self.loop_body())

    def case_statement(self, _: str) -> Statement:
        """Read `case` to `esac`."""
        self.skip_blanks()
        subject = self.word()
        self.expect("in")
        arms: list[tuple[tuple[WordTree, ...], Sequence]] = []
        self.skip_lines()
        while (match := TOKEN.match(self.source, self.at)) is None or match[0] != "esac":
            patterns = self.patterns()
            if not patterns:
                break
            arms.append((patterns, self.sequence()))
            ending = _CASE_END.match(self.source, self.at)
            if ending is None:
                break
            self.at = ending.end()
            self.skip_lines()
        self.expect("esac")
        return Case("" if subject is None else subject, tuple(arms))

    def patterns(self) -> tuple[WordTree, ...]:
        """Read the patterns of one arm, and their `)`."""
        if self.peek() == "(":
            self.at += 1
            self.skip_blanks()
        patterns: list[WordTree] = []
        while (word := self.word()) is not None:
            patterns.append(word)
            self.skip_blanks()
            if self.peek() != "|":
                break
            self.at += 1
            self.skip_blanks()
        return tuple(patterns) if self.expect(")") else ()

    def short_function(self, name: WordTree | Assignment) -> Statement:
        """Read `name() …`, whose name was read already."""
        match = _PARENS.match(self.source, self.at)
        if match is None or isinstance(name, Assignment):
            return Simple(words=(name,))
        if not isinstance(name, str):
            self.notes.blame("a function name is not plain")
            name = ""
        self.at = match.end()
        return self.function_body(name)

    def function(self, _: str) -> Statement:
        """Read `function name …`."""
        self.skip_blanks()
        name = _FUNCTION_NAME.match(self.source, self.at)
        if name is None:
            self.notes.blame("a function name is not plain")
            return Group("{…}", Sequence(()))
        self.at = name.end()
        self.skip_blanks()
        if parens := _PARENS.match(self.source, self.at):
            self.at = parens.end()
        return self.function_body(name[0])

    def function_body(self, name: str) -> Statement:
        """Read the body of a function, which is a compound command."""
        self.skip_lines()
        keyword = TOKEN.match(self.source, self.at)
        plain = keyword is not None and keyword[0] in _COMPOUND and keyword[0] not in {"coproc", "function"}
        body = self.command() if self.deeper() else None
        self.depth -= 1
        if body is None or not plain:
            self.notes.blame(f"the function `{name}` has no body")
        return Function(name, body or Group("{…}", Sequence(())))

    def coprocess(self, _: str) -> Statement:
        """Read `coproc` and its command."""
        self.skip_blanks()
        found = _COPROCESS_NAME.match(self.source, self.at)
        named = found is not None and found[1] not in _CLOSERS and found[1] not in _COMPOUND
        name = found[1] if found is not None and named else "COPROC"
        self.at = found.end() if found is not None and named else self.at
        keyword = TOKEN.match(self.source, self.at)
        body = None if keyword is not None and keyword[0] in {"!", "time", "coproc"} else self.command()
        if body is None or second_word(body) in RESERVED:
            self.notes.blame("`coproc` is followed by no plain command")
        if body is None:
            return Group("coproc", Sequence(()), name)
        return Group("coproc", Sequence(((body, True),)), name)


_COMPOUND: dict[str, Callable[[Parser, str], Statement]] = {
    "{": Parser.group,
    "(": Parser.subshell,
    "((": Parser.calculation,
    "[[": Parser.conditional,
    "if": Parser.if_statement,
    "while": Parser.while_statement,
    "until": Parser.while_statement,
    "for": Parser.for_statement,
    "select": Parser.for_statement,
    "case": Parser.case_statement,
    "function": Parser.function,
    "coproc": Parser.coprocess,
}
RESERVED = _CLOSERS | _PREFIXES | _COMPOUND.keys()
"""Words that are no program where a command is expected."""

"""Walking the statements of a line in the order they run, to list every command with its words."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import assent.lazy_regex as re
from assent.analysis.bash.ast import (
    AndOrList,
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
    Substitution,
    Test,
    While,
)
from assent.analysis.bash.charset import MOST
from assent.analysis.evaluate.builtins import affect
from assent.analysis.evaluate.conditionals import check_test
from assent.analysis.evaluate.loops import Looper
from assent.analysis.evaluate.statement_traits import (
    called_only,
    does_nothing,
    executes_nothing,
    gives_input,
    layer_of,
    leaves,
    may_fail,
)
from assent.analysis.ir import Command, Redirect, Word
from assent.analysis.values.combine import word_of
from assent.analysis.values.hints import MADE, merged, of_word, split
from assent.analysis.values.printed_numbers import printed_time
from assent.analysis.values.printed_text import fed, found_first, printed, writes
from assent.analysis.values.scope import ShellScope, Value
from assent.budget import step
from assent.model import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from assent.analysis.bash.diagnostics import Notes

T = TypeVar("T")
_SUBSTITUTIONS = frozenset({"$(…)", "`…`", "<(…)", ">(…)"})
_PIPES = frozenset({"<(…)", ">(…)"})
"""What becomes the name of a pipe, not what is printed."""
_REDEFINING = frozenset(
    {"unset", "eval", "source", ".", "alias", "trap", "enable", "builtin", "command", "exec", "set"}
)
"""Commands after which a name may no longer call the function that was defined."""
_DECLARATIONS = frozenset({"declare", "typeset", "local", "export", "readonly"})
_LEAVING = frozenset({"break", "continue", "return", "eval", "builtin", "command", "trap"})
_LEAVES = re.compile(rf"break|continue|return|{UNKNOWN}")
"""What ends a round of a loop, or a function, before its end, by whatever means."""
_ROUNDS = 24
"""How often in all the body of a loop is walked for words that are known."""
_CALLS = 32
"""How often in all functions are walked with the arguments of a call, """
_CALLED = 256
"""and in a line of how many commands."""
_MANY = 4_096
"""Words of a command of which each is looked at."""
_LAST = 16
"""Commands of which the last word may still be meant."""
_REWALKED = 131_072
"""Characters that may be walked again because a loop changes what it reads."""
_EXPANDED = 262_144
"""Characters that values of variables may become in words."""
_text = attrgetter("text")


class EnoughError(Exception):
    """The line has more commands than are listed."""


class Walker(Looper):
    """Lists the commands of a line, keeping track of what its variables and its folder are."""

    through: tuple[str, ...] = ()
    inputs: tuple[int, ...] = ()
    here: tuple[str, ...] = ()
    """Texts of the line that are fed to the commands of a compound statement."""
    room = _EXPANDED

    def __init__(self, scope: ShellScope, notes: Notes, length: int, *, wrote: bool = False) -> None:
        self.scope = scope
        self.notes = notes
        self.commands: list[Command] = []
        self.functions: dict[str, None] = {}
        self.bound = {}
        self.callable: dict[str, Function] = {}
        """Functions that are surely there from now on, and what they are: the commands in them were listed."""
        self.sinks: list[int] = []
        self.rewalks = _REWALKED // (length + 1)
        self.left = []
        self.wrote = wrote
        self.parted = False
        """Something in the line runs aside."""
        """The line writes a file."""
        self.rounds = _ROUNDS
        self.calls = _CALLS
        self.latent = ""
        """The function whose definition is walked."""
        self.doubts: dict[str, str | None] = {}
        """What was unreadable in the definition of each function."""

    def emit(
        self,
        words: tuple[Word, ...],
        assignments: tuple[tuple[str, Word], ...] = (),
        redirects: tuple[Redirect, ...] = (),
        *,
        constant: bool = False,
    ) -> None:
        """List a command."""
        step()
        if len(self.commands) >= MOST:
            self.notes.blame(f"the command runs more than {MOST} commands")
            raise EnoughError
        if self.scope.lost:
            self.notes.blame("too many possible working directories to analyse")
        if words and words[0].text in _LEAVING and any(_LEAVES.search(word.text) for word in words):
            self.left.append(self.scope.fork())
        self.wrote = self.wrote or writes(words, redirects)
        last = self.inputs[-1] if self.inputs else None
        self.commands.append(
            Command(
                words,
                assignments,
                redirects,
                self.scope.cwd,
                last,
                self.inputs,
                self.through,
                self.scope.elsewhere,
                bool(words) and words[0].text in self.callable and words[0].known,
                constant,
                latent=self.latent,
            ),
        )

    def statement(self, node: Statement) -> None:
        """Walk one statement."""
        step()
        _WALKS[type(node)](self, node)

    def sequence(self, node: Sequence) -> None:
        """Walk statements one after the other."""
        for statement, background in node.items:
            if background:
                self.parted = True
                self.aside(self.statement, statement)
            else:
                known = statement.name in self.functions if isinstance(statement, Function) else True
                _WALKS[type(statement)](self, statement)
                if isinstance(statement, Function) and not known and not self.through:
                    self.callable[statement.name] = statement

    def aside(self, walk: Callable[[T], None], node: T) -> None:
        """Walk what may or may not have happened afterwards."""
        outer, self.scope = self.scope, self.scope.fork()
        walk(node)
        outer.join(self.scope)
        self.scope = outer

    def inside(self, layer: str, walk: Callable[[T], None], node: T) -> None:
        """Walk what stands behind a layer."""
        outer = self.through
        self.through = (*outer, layer)
        walk(node)
        self.through = outer

    def simple(self, node: Simple) -> None:
        """Walk a simple command."""
        if node.plain:
            words = tuple(map(Word, node.plain))
            self.emit(words, constant=True)
            self.finish(words)
            return
        sinks, self.sinks = self.sinks, []
        before = self.scope.fork() if node.redirections else None
        first = node.words[0] if node.words else None
        words = tuple(self.words(node.words, declares=isinstance(first, str) and first in _DECLARATIONS))
        if node.redirections and executes_nothing(words) and any(map(gives_input, node.redirections)):
            self.notes.blame("`exec` replaces the input of the shell")
        redirects = self.redirects(node.redirections) if node.redirections else ()
        assignments = self.assignments(node.assignments, words) if node.assignments else ()
        if assignments and words and words[0].text in self.functions:
            self.notes.blame("a function runs with variables of its own")
        constant = not (assignments or redirects) and _are_constant(words)
        self.emit(words, assignments, redirects, constant=constant)
        if self.sinks:
            self.drain((len(self.commands) - 1,))
        self.sinks = sinks
        self.finish(words)
        if before is not None and may_fail(redirects):
            self.scope.join(before)

    def finish(self, words: tuple[Word, ...]) -> None:
        """Apply what a command does to the shell."""
        self.scope.assured = None
        if words:
            if words[0].known and words[0].text in self.callable:
                self.call(words)
            else:
                affect(self, words)
            if self.callable and (not words[0].known or words[0].text in _REDEFINING):
                self.callable.clear()

    def redirects(self, nodes: tuple[Redirection, ...]) -> tuple[Redirect, ...]:
        """Expand redirections; what that sets is set where the command runs, which may be another process."""
        before = None if all(isinstance(each.target, str) for each in nodes) else self.scope.fork()
        redirects = tuple(self.redirect(each) for each in nodes)
        if before is not None and self.scope.values != before.values:
            self.scope.join(before)
        return redirects

    def pipeline(self, node: Pipeline) -> None:
        """Walk a pipeline: each part in a shell of its own, fed by the one before it."""
        outer, inputs = self.scope, self.inputs
        ends: list[ShellScope] = []
        for number, item in enumerate(node.items):
            begin = len(self.commands)
            self.scope = outer.fork()
            self.statement(item)
            if number in node.loud:
                self.complain(begin)
            ends.append(self.scope)
            self.inputs = self.outputs(begin)
        for end in ends:
            outer.join(end)
        outer.assured = None
        self.scope, self.inputs = outer, inputs

    def complain(self, begin: int) -> None:
        """Note that what is complained of since `begin` goes where the output goes, with that of the last commands."""
        for index in self.outputs(begin):
            redirects = (*self.commands[index].redirects, Redirect("descriptor", Word("1")))
            self.commands[index] = msgspec.structs.replace(self.commands[index], redirects=redirects)

    def outputs(self, begin: int) -> tuple[int, ...]:
        """Give the commands since `begin` whose output goes where the whole's output goes."""
        depth = len(self.through)
        if len(self.commands) == begin + 1 and len(self.commands[begin].through) == depth:
            return (begin,)
        inner = [each for each in self.commands[begin:] if ">(…)" not in each.through[depth:]]
        taken = {feed for each in inner for feed in each.fed_by}
        return tuple(
            index
            for index in range(begin, len(self.commands))
            if index not in taken and _SUBSTITUTIONS.isdisjoint(self.commands[index].through[depth:])
        )

    def drain(self, sources: tuple[int, ...]) -> None:
        """Connect the commands in `>(…)` to those that write to them."""
        for index in self.sinks:
            self.commands[index] = msgspec.structs.replace(
                self.commands[index], piped_from=sources[-1] if sources else None, fed_by=sources
            )

    def output_of(self, substitution: Substitution) -> Value:
        """Walk the commands of a substitution."""
        if not substitution.body.items:
            return Value()
        begin = len(self.commands)
        scope, inputs, through = self.scope, self.inputs, self.through
        self.scope = scope.fork()
        self.inputs = () if substitution.kind == ">(…)" else inputs
        self.scope.diverted = self.scope.diverted or substitution.kind == ">(…)"
        self.through = (*through, substitution.kind)
        self.sequence(substitution.body)
        if any(_is_exec(command) and any(r.joins for r in command.redirects) for command in self.commands[begin:]):
            self.complain(begin)
        feeds = self.outputs(begin)
        if substitution.kind == ">(…)":
            self.sinks += [i for i in range(begin, len(self.commands)) if not self.commands[i].fed_by]
        self.scope, self.inputs, self.through = scope, inputs, through
        if substitution.kind in _PIPES:
            return Value(UNKNOWN, (), feeds, opaque=True, stream=True)
        return self.said(feeds)

    def said(self, feeds: tuple[int, ...]) -> Value:
        """Give what these commands print."""
        if numbers := self.prints(feeds):
            return Value(UNKNOWN, (), feeds, number=True, several=numbers > 1)
        like = printed_time(feeds, self.commands, self.functions)
        begins = () if found_first(feeds, self.commands, self.functions) else None
        hints = printed(feeds, self.commands, wrote=self.wrote)
        return Value(UNKNOWN, (), feeds, opaque=True, hints=hints, like=like, named_in=begins)

    def last_words(self) -> tuple[str, ...]:
        """Give what `$_` may be: the last word of a command before."""
        return merged(*(of_word(command.words[-1]) for command in self.commands[-_LAST:] if command.words))

    def chain(self, node: AndOrList) -> None:
        """Walk `&&` and `||`: what follows the first may not have happened."""
        self.statement(node.first)
        certain = self.scope.fork()
        if node.rest[0][0] == "||" and self.leaves(node.rest[0][1]):
            self.succeed(node.first)
            certain = self.scope.fork()
        left, runs = node.first, does_nothing(node.first, self.functions)
        for operator, statement in node.rest:
            if operator == "||":
                self.scope.join(certain)
                self.aside(self.statement, statement)
                self.scope.assured = None
                runs = False
            else:
                self.succeed(left)
                self.statement(statement)
                certain = self.scope.fork() if runs else certain
                runs = runs and does_nothing(statement, self.functions)
            left = statement
        self.scope.join(certain)

    def succeed(self, node: Statement) -> None:
        """Go on after a statement that did what it should: a change of folder did not fail."""
        if isinstance(node, Simple):
            self.scope.succeed()

    def leaves(self, node: Statement) -> bool:
        """Tell whether a statement ends what is being read: nothing after it runs."""
        calling = any(layer.startswith("function ") for layer in self.through)
        return leaves(node, self.functions, calling=calling)

    def group(self, node: Group) -> None:
        """Walk a group, a subshell or a coprocess."""
        outer = self.scope
        if node.kind != "{…}":
            self.scope = outer.fork()
        self.inside(node.kind, self.sequence, node.body)
        self.scope = outer
        if node.kind == "coproc":
            self.bound[node.name] = None
            self.notes.array(node.name)
            self.scope.forget()

    def if_statement(self, node: If) -> None:
        """Walk a condition that always runs, and arms that may."""
        self.inside("if", self.arms, node)

    def arms(self, node: If) -> None:
        """Walk the arms of an `if`."""
        certain: ShellScope | None = None
        ends: list[ShellScope] = []
        for condition, body in node.arms:
            if condition is not None:
                self.sequence(condition)
            certain = certain or self.scope.fork()
            outer, self.scope = self.scope, self.scope.fork()
            self.sequence(body)
            ends.append(self.scope)
            self.scope = outer
        for end in [*ends, certain or self.scope]:
            self.scope.join(end)

    def case_statement(self, node: Case) -> None:
        """Walk the arms of a `case`; each may fall through into the next."""
        self.value(node.subject)
        self.inside("case", self.case_arms, node)

    def case_arms(self, node: Case) -> None:
        """Walk the arms of a `case`."""
        for patterns, body in node.arms:
            for pattern in patterns:
                self.value(pattern)
            self.aside(self.sequence, body)

    def function(self, node: Function) -> None:
        """Walk the body of a function, of which it is not known when it runs."""
        self.functions[node.name] = None
        self.callable.pop(node.name, None)
        outer, inputs, latent, fault = self.scope, self.inputs, self.latent, self.notes.fault
        self.scope, self.inputs, self.latent, self.notes.fault = outer.later(), (), latent or node.name, None
        body = node.body
        if isinstance(body, Group) and body.kind == "{…}":
            self.inside(f"function {node.name}", self.sequence, body.body)
        else:
            self.inside(f"function {node.name}", self.statement, body)
        self.doubts[node.name] = self.doubts.get(node.name) or self.notes.fault
        self.scope, self.inputs, self.latent, self.notes.fault = outer, inputs, latent, fault

    def followed(self) -> dict[str, str | None]:
        """Give the functions that run where a call of them was followed and nowhere else, each with its doubts."""
        names = called_only(self.commands, self.callable) if self.calls >= 0 else ()
        return {name: self.doubts[name] for name in names}

    def call(self, words: tuple[Word, ...]) -> None:
        """Walk the body of a function again with the arguments of a call; it may have ended early."""
        self.calls -= 1
        if self.calls < 0 or len(self.commands) > _CALLED:
            self.notes.blame("too many function calls to analyse")
            self.scope.forget()
            return
        node, outer, left = self.callable[words[0].text], self.scope, len(self.left)
        self.scope = outer.fork()
        self.scope.take(words)
        self.scope.named = outer.named
        if any(UNKNOWN in hint or "*" in hint or "?" in hint or "[" in hint for hint in self.scope.given):
            self.scope.given = (MADE,)
        self.inside(f"function {node.name}", self.statement, node.body)
        for after in (self.scope, *self.left[left:]):
            after.arguments, after.given = outer.arguments, outer.given
            outer.join(after)
        self.scope = outer

    def fed(self) -> tuple[str, ...]:
        """Give what the last command may read from its standard input, as far as it is text of the line."""
        return fed(self.commands[-1], self.commands, wrote=self.wrote) or self.here

    def redirected(self, node: Redirected) -> None:
        """Walk a compound statement whose redirections are opened first."""
        sinks, self.sinks = self.sinks, []
        redirects = tuple(self.redirect(each) for each in node.redirections)
        self.inside(layer_of(node.body), self.opened, redirects)
        inputs, begin, before = self.inputs, len(self.commands), self.scope.fork()
        feeds = tuple(feed for each in redirects if each.direction == "read" for feed in each.target.feeds)
        given = any(
            each.direction == "here" or (each.direction in {"read", "both"} and each.target.text != "/dev/null")
            for each in redirects
        )
        given = given or any(each.operator == "<&" or _is_zero(each.prefix) for each in node.redirections)
        here, self.here = (
            self.here,
            split(tuple(h for r in redirects if r.direction == "here" for h in of_word(r.target))),
        )
        self.inputs = feeds or ((*inputs, begin - 1) if given else inputs)
        self.statement(node.body)
        if any(each.joins for each in redirects):
            self.complain(begin)
        outputs = self.outputs(begin)
        self.drain(outputs)
        self.commands[begin - 1] = msgspec.structs.replace(self.commands[begin - 1], writers=outputs)
        self.inputs, self.sinks, self.here = inputs, sinks, here
        if may_fail(redirects):
            self.scope.join(before)

    def opened(self, redirects: tuple[Redirect, ...]) -> None:
        """List redirections that belong to no simple command."""
        self.emit((), (), redirects)

    def calculation(self, node: Calculation) -> None:
        """Walk `(( … ))`."""
        self.calculate(node.expression)

    def test(self, node: Test) -> None:
        """Walk `[[ … ]]`, some of whose operands bash evaluates."""
        values = [self.value(word) for word in node.words]
        check_test(self, values)
        self.emit(tuple(map(word_of, values)))


def _is_exec(command: Command) -> bool:
    return bool(command.words) and command.words[0].text in {"exec", "command", "builtin"}


def _is_zero(prefix: str) -> bool:
    """Tell whether a redirection names the standard input, with as many digits as it likes."""
    return bool(prefix) and not prefix.strip("0")


def _are_constant(words: tuple[Word, ...]) -> bool:
    """Tell whether words are their texts, and nothing else is to be known of them; of very many nobody looks."""
    if len(words) > _MANY:
        return False
    texts = list(map(_text, words))
    return bool(texts) and words == tuple(map(Word, texts)) and UNKNOWN not in "".join(texts)


_WALKS: dict[type, Callable[[Walker, Any], None]] = {
    Simple: Walker.simple,
    Pipeline: Walker.pipeline,
    AndOrList: Walker.chain,
    Group: Walker.group,
    If: Walker.if_statement,
    Case: Walker.case_statement,
    While: Walker.while_statement,
    For: Walker.for_statement,
    Count: Walker.count,
    Calculation: Walker.calculation,
    Test: Walker.test,
    Function: Walker.function,
    Redirected: Walker.redirected,
}

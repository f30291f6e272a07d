"""A command's words against its catalog entry: which options are there, with which values, and what is left.

Whatever does not fit is a fault: it is kept, with the reason, and the command cannot be safe.
"""

from __future__ import annotations

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Word
from assent.budget import step
from assent.catalog import Entry, Option, Role, lookup
from assent.model import UNKNOWN, Tier

_GLOB = ("*", "?", "[")
_MARKS = ("-", "+")
_NUMBER = re.compile(r"-\d+(?:\.\d+)?(?: [a-z ]+)?")
"""`-5`, and `-2 days`: less than nothing, but no option."""
_UNSURE = "a word of `{}` is known only at run time and could be an option"
_QUESTIONS = frozenset({"--help", "--version"})
_AROUND_MODULES = frozenset({"-B", "-E", "-I", "-b", "-q", "-s", "-u"})
"""Options of an interpreter that change nothing about the module that it runs."""
_INFORMED = Entry(does="shows its help or version", tier=Tier.SAFE)
_FED = msgspec.structs.replace(_INFORMED, stdin="code")
"""An interpreter that does not know the option may go on to what it is fed."""


class Match(msgspec.Struct, frozen=True):
    """Words, understood as far as the entry goes."""

    name: str
    """The command with its subcommands: `git branch`."""
    entry: Entry
    parents: tuple[tuple[Entry, frozenset[str], frozenset[str]], ...] = ()
    """The entries above a subcommand, with the options that are theirs; their clauses hold too."""
    present: frozenset[str] = frozenset()
    sure: frozenset[str] = frozenset()
    """Those of them that are options to every version of the program, wherever it stops to look for some."""
    values: tuple[tuple[str, Role, Word], ...] = ()
    operands: tuple[Word, ...] = ()
    fault: str | None = None
    start: int = 0
    """How many words stand before what follows the last subcommand."""
    commands: tuple[tuple[Word, ...], ...] = ()
    """What it is told to run for each thing it finds, as words."""
    obeys: str = ""
    """Whose settings in the project it obeys."""
    before: tuple[Word, ...] = ()
    """The words of a value that has several, but for the last."""
    loads: str = ""
    """What it takes code from, as the catalog has it."""
    module: Word | None = None
    """A module that it runs, of which the catalog knows nothing."""


def match_words(name: str, entry: Entry, words: tuple[Word, ...]) -> Match:
    """Match the words after a command's name."""
    scan = _Scan(name, entry, words)
    scan.run()
    present = frozenset(scan.present)
    sure = present if scan.sure is None else scan.sure
    return Match(
        scan.name,
        scan.entry,
        tuple([scan.level(parent, given, sure) for parent, given in scan.parents]) if scan.parents else (),
        present,
        sure,
        tuple(scan.values),
        tuple(scan.operands),
        scan.fault,
        scan.start,
        tuple(scan.commands),
        scan.obeys,
        tuple(scan.before),
        scan.loads,
        scan.module,
    )


def part(word: Word, start: int) -> Word:
    """Return the end of a word as a word of its own."""
    return Word(word.text[start:], word.variables, word.feeds, word.splits, tuple(h[start:] for h in word.hints))


_FIXED = re.compile(r"(?:[A-Za-z][\w-]+=|/\w{3})[^*?\[]*[*?\[]")
"""How a pattern begins that means itself: `columns=a[0].b`, `/healthz?verbose`."""


def _stays(word: Word) -> bool:
    """Tell whether a word stays what it is: a constant, or a pattern whose files would all begin as a value does.

    Such files are next to never there; if they are, the words that come in addition are no options.
    """
    return not word.splits or (UNKNOWN not in word.text and _FIXED.match(word.text) is not None)


class _Scan:
    """One walk over the words."""

    position = 0
    fault: str | None = None
    closed: int | None = None
    """How many arguments stand before a `--`."""
    loose = -1
    """The word behind an option whose value, if any, is attached."""
    start = 0
    module: Word | None = None

    def __init__(self, name: str, entry: Entry, words: tuple[Word, ...]) -> None:
        self.name, self.entry, self.words = name, entry, words
        self.table, self.switches = entry.table, entry.switches
        self.parents: list[tuple[Entry, set[str]]] = []
        """The entries above, each with its options; shared ones may stand anywhere."""
        self.present: set[str] = set()
        self.sure: frozenset[str] | None = None
        self.floating = entry.floating
        self.values: list[tuple[str, Role, Word]] = []
        self.operands: list[Word] = []
        self.ended = entry.options == "any"
        self.commands: list[tuple[Word, ...]] = []
        self.before: list[Word] = []
        self.obeys = entry.obeys
        self.loads = entry.loads
        self.booleans = entry.booleans
        self.questions = _QUESTIONS if entry.questions is None else entry.questions
        """Words that, where nothing else stands there, only make the program print about itself."""

    def run(self) -> None:
        if self.entry.options == "bundled" and self.words and _is_bundle(self.words[0].text):
            self.position = 1
            self._bundle(self.words[0].text)
        words, last = self.words, len(self.words) - 1
        while self.position <= last:
            step()
            word = words[self.position]
            if self.position == last and last == self.start and word.text in self.questions and word.known:
                self.entry = _FED if self.entry.stdin in ("code", "shell") else _INFORMED
                self.parents = [(parent, present) for parent, present in self.parents if present]
                return
            self.position += 1
            if self.ended:
                self.operands.append(word)
            elif word.text in self.switches and not word.splits:
                self.present.add(self.switches[word.text])
            elif word.text[:1] in _MARKS:
                self._marked(word)
            elif self.entry.options == "pairs":
                self._pair(word)
            else:
                self._operand(word)
        if self.closed is not None and not self.entry.runs:
            self._look_behind(self.closed)

    def level(
        self, parent: Entry, present: set[str], sure: frozenset[str]
    ) -> tuple[Entry, frozenset[str], frozenset[str]]:
        """Give an entry above with its options; those that it shares with the last level may stand behind arguments."""
        given = frozenset(present)
        return parent, given, sure if present is self.present else given

    def _look_behind(self, closed: int) -> None:
        """Fault options behind `--`: the program may have taken it for the value of what stands before it."""
        # A text to look for may start with a dash, and what follows the first argument may not be the program's own.
        first = closed + (self.entry.args.startswith("text ") and not closed and self.loose < 0)
        last = closed + 1 if self.entry.ordered else len(self.operands)
        for word in self.operands[first:last]:
            if not self.entry.pure and is_option(word):
                self._fail(f"`{word.text}` comes after `--` and could still be an option of `{self.name}`")

    def _marked(self, word: Word) -> None:
        """Take a word that begins like an option."""
        text = word.text
        if self.entry.subcommands and not self.operands and text in self.entry.children and " " not in text:
            self._descend(word)
            return
        if text == "--":
            self.ended, self.closed = True, len(self.operands)
            self.loose = self.loose if self.loose == self.position - 1 else -1
        elif self.entry.options == "pairs":
            self._pair(word)
        elif len(text) > 1 and (text[0] == "-" or "+" in self.table):
            self._option(word)
        elif text in self.table and not word.splits:
            self.present.add(text)
        else:
            self._operand(word)

    def _operand(self, word: Word) -> None:
        entry = self.entry
        # A number may be less than nothing, which is no option to a program that has no digits among its own.
        unsure = word.splits or word.text[:1] == UNKNOWN
        number = word.like[:1].isdecimal() and not word.text.replace(UNKNOWN, "").startswith("-")
        if unsure and not entry.pure and may_be_option(word) and not (number and not entry.counting):
            self._fail(_UNSURE.format(self.name))
        if entry.subcommands and not self.operands:
            self._descend(word)
            return
        if not self.operands and entry.wary and not self.floating:
            self.sure = frozenset(self.present)
        self.operands.append(word)
        # What comes after the first argument belongs to the command that is run.
        self.ended = entry.ordered or (bool(entry.runs) and len(self.operands) > entry.skip)

    def _descend(self, word: Word) -> None:
        child = self.entry.children.get(word.text) if word.known else None
        self.start = self.position if child is not None else self.position - 1
        if child is None:
            shown = word.text.replace(UNKNOWN, "…")
            self._fail(f"`{self.name} {shown}` is not a known subcommand")
            self.operands.append(word)
            return
        self.parents.append((self.entry, self.present))
        self.present = self.present if self.entry.inherit else set()
        self._enter(word.text, child)

    def _enter(self, name: str, child: Entry) -> None:
        self.obeys = child.obeys or self.obeys
        self.booleans = child.booleans or self.booleans
        self.questions = self.questions if child.questions is None else child.questions
        entry = (lookup(child.like) if child.like else None) or child
        self.loads = entry.loads or self.loads
        said = entry.floating if child.floating is None else child.floating
        self.floating = self.floating if said is None else said
        self.name, self.entry = f"{self.name} {name}", entry
        self.table, self.switches = entry.table, entry.switches
        self.ended = entry.options == "any"

    def _module(self, option: Option, word: Word) -> None:
        """Go on with the entry of a module, if it is one that is known and nothing before it matters."""
        name = f"{option.name} {word.text}"
        child = self.entry.children.get(name) if word.known and self.present <= _AROUND_MODULES else None
        if child is None:
            self.present.add(option.name)
            self.ended, self.module = True, word
        else:
            self.start = self.position
            self._enter(name, child)

    def _pair(self, word: Word) -> None:
        key, equals, _ = word.text.partition("=")
        option = self.table.get(key + equals)
        if option is None or option.role is None:
            self._fail(f"`{key}` is not a known argument of `{self.name}`")
            return
        self._record(option, part(word, len(key) + 1))

    def _option(self, word: Word) -> None:
        text = word.text
        if word.splits and not self.entry.pure:
            self._fail(_UNSURE.format(self.name))
        if self.entry.numeric and text[1:].isdigit():
            self.present.add("-NUM")
        elif text.startswith("--") or self.entry.options == "single":
            self._long(word)
        else:
            self._cluster(word)

    def _long(self, word: Word) -> None:
        name, equals, value = word.text.partition("=")
        option = self._find(name)
        if option is None:
            self._unknown(name)
        elif equals and option.role is None and self.booleans and value in ("true", "false"):
            if value == "true":
                self.present.add(option.name)
        elif equals:
            if option.role is None:
                self._fail(f"`{name}` of `{self.name}` takes no value")
            self._record(option, part(word, len(name) + 1))
        else:
            self._whole(option)

    def _find(self, name: str) -> Option | None:
        option = self.table.get(name)
        if option is not None:
            return option
        if self.entry.options == "single":
            return self.table.get(name[1:] if name.startswith("--") else "-" + name)
        near = self.entry.near(name) if len(name) > 2 else []
        if len(near) != 1:
            return None
        if not self.entry.pure:
            # An option this list leaves out may be the one that the program takes it for.
            self._fail(f"`{name}` abbreviates an option of `{self.name}`; write it out")
        return near[0]

    def _cluster(self, word: Word) -> None:
        text, index = word.text, 1
        while index < len(text):
            option = self.table.get(text[0] + text[index])
            index += 1
            if option is None:
                whole = self.table.get(text)
                if index == 2 and whole is not None:
                    self._whole(whole)
                else:
                    self._unknown(text[0] + text[index - 1 :] if index == 2 else text[0] + text[index - 1])
                return
            if option.role is None:
                self.present.add(option.name)
            elif index < len(text) and (self.entry.options != "shell" or text[index:].isdecimal()):
                self._attached(option, part(word, index), number=bool(word.like and word.feeds))
                return
            else:
                self._whole(option)

    def _attached(self, option: Option, word: Word, *, number: bool) -> None:
        """Take a value that stands in the same word; a `=` before it is part of it for some programs."""
        if word.text[0] == "=" and option.role in ("line", "helper"):
            self._fail(f"`{option.name}=` of `{self.name}` is ambiguous")
        if not (number or option.optional or self.entry.pure or word.text.strip(UNKNOWN)):
            self._fail(f"the value of `{option.name}` may be empty, and then the next word becomes its value")
        self._record(option, part(word, 1) if word.text[0] == "=" else word)

    def _whole(self, option: Option) -> None:
        """Take an option whose value, if it needs one, is the next word."""
        if option.role == "words":
            self._words(option)
            return
        if option.role == "module" and self.position < len(self.words):
            self.position += 1
            self._module(option, self.words[self.position - 1])
            return
        if option.role is not None and not option.optional:
            self._value(option)
            return
        self.present.add(option.name)
        if option.optional:
            self.loose = self.position

    def _words(self, option: Option, *head: Word) -> None:
        """Take a command: all words that follow, up to a `;`."""
        rest = self.words[self.position :]
        end = next((i for i, w in enumerate(rest) if w.text == ";"), len(rest))
        self.position += min(end + 1, len(rest))
        self.present.add(option.name)
        self.commands.append((*head, *rest[:end]))
        if head or not end:
            self._fail(f"write the command of `{option.name}` after it, as separate words")

    def _bundle(self, text: str) -> None:
        """Take a first word without a dash, whose values follow in order."""
        for letter in text:
            option = self.table.get("-" + letter)
            if option is None:
                self._unknown(letter)
            else:
                self._whole(option)

    def _value(self, option: Option) -> None:
        words = self.words[self.position : self.position + option.count]
        self.position += len(words)
        self.present.add(option.name)
        if len(words) < option.count:
            if option.either:
                return
            self._fail(f"`{option.name}` of `{self.name}` has no value")
            return
        single = self.entry.connects and not self.entry.runs and all(map(_stays, words))
        if any(w.splits and not (w.plain and self.entry.even) for w in words) and not (self.entry.pure or single):
            self._fail(f"the value of `{option.name}` may be more than one word at run time")
        if any(map(is_option, words)) and not self.entry.pure:
            self._fail(f"the value of `{option.name}` looks like an option; attach it to `{option.name}`")
        self.before += words[:-1]
        self._record(option, words[-1])
        if option.either and self.entry.args.endswith("*") and not (self.entry.runs or self.entry.subcommands):
            self.operands.append(words[-1])

    def _record(self, option: Option, word: Word) -> None:
        if option.role == "words":
            self._words(option, word)
            return
        if option.role == "module":
            self._module(option, word)
            return
        self.present.add(option.name)
        self.values.append((option.name, option.role or "text", word))
        # What stands behind `env -S` is appended to the words in its value.
        self.ended = self.ended or (self.entry.assignments and option.role == "line")

    def _unknown(self, name: str) -> None:
        if not (self.entry.pure and UNKNOWN in name):
            shown = name.replace(UNKNOWN, "…")
            self._fail(f"`{shown}` is not a known option of `{self.name}`")

    def _fail(self, reason: str) -> None:
        self.fault = self.fault or reason


def _is_bundle(text: str) -> bool:
    return text[:1] not in ("-", "") and UNKNOWN not in text


def is_option(word: Word) -> bool:
    """Tell whether a word has the look of an option; `-` and a negative number have not."""
    return len(word.text) > 1 and word.text[0] == "-" and not _NUMBER.fullmatch(word.text)


def may_be_option(word: Word) -> bool:
    """Tell whether a word could become an option, or bring one, when it is expanded."""
    text = word.text
    if word.plain:
        return False
    return text[:1] == UNKNOWN or (word.splits and (UNKNOWN in text or text.startswith(_GLOB)))

"""What a command's words alone say, by the catalog: the same wherever it stands, and found once while it comes again.

Lines differ far more than the commands in them. Where a command works, what it touches there, and what flows into it is
read each time.
"""

from __future__ import annotations

import operator

import msgspec

from assent.analysis.ir import Command, Word
from assent.analysis.programs.clauses import clauses_of, in_case
from assent.analysis.programs.code_sources import find_redirects
from assent.analysis.programs.embedded_code import RUNNING, CodeJudgement
from assent.analysis.programs.find_expression import FindExpression, read_find
from assent.analysis.programs.match import Match, match_words
from assent.analysis.programs.tier import join_plain, judge, plain_words, quote, roles_of
from assent.analysis.programs.wrappers import words_behind
from assent.analysis.resources.paths import Place
from assent.catalog import Clause, Entry, Role
from assent.catalog.credential_output import find_revealed
from assent.model import COMMAND_EXECUTE, Operation

MOST_KEPT = 2_048
_LONGEST_KEPT = 200
"""Characters of a command that is kept: longer ones do not come again."""
_MOST_WORDS = 50
_first, _text, _broad = operator.itemgetter(0), operator.attrgetter("text"), operator.attrgetter("broad")


class Sense(msgspec.Struct, frozen=True):
    """A command's words, understood."""

    entry: Entry
    """What it was understood by."""
    found: Match
    """Its words against that …"""
    match: Match
    """… and as the clauses that hold have it."""
    clauses: tuple[Clause, ...]
    roles: tuple[tuple[Role, Word], ...]
    extra: bool
    """There are more arguments than the entry knows of."""
    kinds: frozenset[Role]
    said: CodeJudgement
    """What is said of it, where none of its words is in a language of its own."""
    inside: bool
    """It may run something else, by what it is or by what it is fed."""
    alone: Operation
    """What it is if that is all there is to say, and it stands in no other command.
    It is `secret` if it prints a credential."""


_kept: dict[tuple[str, ...] | tuple[Word, ...], Sense] = {}
_sought: dict[tuple[str, ...], tuple[FindExpression, str]] = {}


def understand(name: str, entry: Entry, command: Command, place: Place) -> Sense:
    """Find what a command's words say, which was perhaps found before."""
    words = command.words
    argv = tuple(map(_text, words))
    if len(words) > _MOST_WORDS:
        return _understand(entry, match_words(name, entry, words[1:]), command, argv, place)
    # Of words that are constants their texts are all; of others it matters how they came to be.
    key = argv if command.constant else words
    known = _kept.get(key)
    if known is not None and known.entry is entry:
        return known
    sense = _understand(entry, match_words(name, entry, words[1:]), command, argv, place)
    if len(sense.alone.resource) <= _LONGEST_KEPT and not _is_placed(sense.match):
        if len(_kept) >= MOST_KEPT:
            _kept.clear()
        _kept[key] = sense
    return sense


def understand_find(command: Command) -> tuple[FindExpression, str]:
    """Find what the words of find say, and how they are written."""
    words = command.words
    argv = tuple(map(_text, words))
    known = _sought.get(argv) if command.constant else None
    if known is not None:
        return known
    found = read_find(words[1:]), join_plain(argv) or quote(words)
    if command.constant and len(found[1]) <= _LONGEST_KEPT:
        if len(_sought) >= MOST_KEPT:
            _sought.clear()
        _sought[argv] = found
    return found


def understand_moved(sense: Sense, match: Match, command: Command, place: Place) -> Sense:
    """Find what the words say of a command that turned out to work elsewhere, or to have fewer values that count."""
    return _understand(sense.entry, match, command, sense.alone.argv, place)


def _understand(entry: Entry, found: Match, command: Command, argv: tuple[str, ...], place: Place) -> Sense:
    clauses = clauses_of(found, place, command.cwd)
    match = in_case(found, clauses) if clauses else found
    roles, extra = roles_of(match, clauses)
    said = judge(match, clauses, (), extra=extra)
    alone = Operation(
        kind=COMMAND_EXECUTE,
        resource=join_plain(argv) or quote(command.words),
        argv=argv,
        tier=said.tier,
        reason=said.reason,
        plain=plain_words(match, command),
        obeys=match.obeys,
        redirects=find_redirects(found, command.words),
        secret=find_revealed(argv) is not None,
    )
    kinds = frozenset(map(_first, roles))
    by_words = bool(match.entry.runs or match.commands) or not kinds.isdisjoint(RUNNING) or bool(words_behind(match))
    fed = bool(clauses) and any(clause.stdin is not None for clause in clauses)
    inside = by_words or bool(match.entry.stdin) or fed
    return Sense(entry, found, match, tuple(clauses), tuple(roles), extra, kinds, said, inside, alone)


def _is_placed(match: Match) -> bool:
    """Tell whether what its words say depends on where it stands."""
    if any(map(_broad, match.entry.when)):
        return True
    return bool(match.parents) and any(any(map(_broad, parent.when)) for parent, _, _ in match.parents)

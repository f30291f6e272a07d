"""The clauses of an entry: which of them hold for a command, and what they make of it."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Sequence

import msgspec

from assent.analysis.ir import Word
from assent.analysis.operations import locate
from assent.analysis.programs.match import Match
from assent.analysis.resources.paths import Place
from assent.analysis.resources.wildcards import may_be_several
from assent.catalog import Clause, expression, may_begin, sensitive_paths
from assent.model import DESTRUCTIVE, SAFE, UNKNOWN, within


def clauses_of(match: Match, place: Place, cwd: str | None) -> list[Clause]:
    """Return the clauses that hold, in order."""
    found: list[Clause] = []
    for entry, present, sure in (*match.parents, (match.entry, match.present, match.sure)):
        prompted = entry.unprompted if present.isdisjoint(entry.prompts) else entry.when
        held = [clause for clause in prompted if _options_hold(clause, present, sure)]
        found += [clause for clause in held if _arguments_hold(clause, match, place, cwd)]
    return found


def in_case(match: Match, clauses: Sequence[Clause]) -> Match:
    """Return the match as the clauses that hold have it: how it runs other commands."""
    for clause in clauses:
        if clause.runs is not None:
            match = msgspec.structs.replace(match, entry=msgspec.structs.replace(match.entry, runs=clause.runs))
    return match


def _arguments_hold(clause: Clause, match: Match, place: Place, cwd: str | None) -> bool:
    count = len(match.operands)
    if not _number_holds(clause, match.operands):
        return False
    if clause.arg and not _one_fits(clause.arg, match.operands, clause):
        return False
    if clause.first and not (count and _fits(clause.first, match.operands[0], clause)):
        return False
    if clause.second and not (count > 1 and _fits(clause.second, match.operands[1], clause)):
        return False
    if clause.left and not _one_fits(clause.left, map(_left, match.operands), clause):
        return False
    if clause.each and not _all_fit(clause.each, match.operands, clause):
        return False
    if clause.broad and not _one_is_broad(match.operands, place, cwd):
        return False
    return _values_hold(clause, match) if match.values else not clause.value


def _number_holds(clause: Clause, operands: Sequence[Word]) -> bool:
    """Tell whether there may be as many arguments as a clause says; one that makes it better needs that surely."""
    if not clause.least and clause.most is None:
        return True
    least = len(operands)
    most = sys.maxsize if any(map(may_be_several, operands)) else least
    fewest, highest = (least, most) if clause.instead else (most, least)
    return fewest >= clause.least and (clause.most is None or highest <= clause.most)


def _left(word: Word) -> Word:
    return Word(word.text.partition("=")[0], splits=word.splits, plain=word.plain)


def _values_hold(clause: Clause, match: Match) -> bool:
    values = [(n, w) for n, _, w in match.values]
    if clause.value:
        given = [(n, w) for n, w in values if n in clause.value and (not clause.instead or n in match.sure)]
        if not any(_fits(clause.value[n], w, clause) for n, w in given):
            return False
    return all(_fits(clause.every[n], w, clause) for n, w in values if n in clause.every)


def _options_hold(clause: Clause, present: frozenset[str], sure: frozenset[str]) -> bool:
    """Tell whether the options are as a clause says; what makes it better has to be there surely."""
    given = sure if clause.instead else present
    for group in clause.groups:
        if given.isdisjoint(group):
            return False
    worse = clause.tier is not SAFE and clause.stdin != "" and clause.runs != ""
    return (sure if worse else present).isdisjoint(clause.barred)


def _one_fits(pattern: str, words: Iterable[Word], clause: Clause) -> bool:
    return any(_fits(pattern, word, clause) for word in words)


def _all_fit(pattern: str, words: Iterable[Word], clause: Clause) -> bool:
    return all(_fits(pattern, word, clause) for word in words)


def _fits(pattern: str, word: Word, clause: Clause) -> bool:
    """Tell whether a word is as it should be.

    What is not known may be: that counts where it makes a safe call ask, not where it makes one denied, or safe.
    """
    if word.like and not (clause.instead and word.splits):
        return expression(pattern).fullmatch(word.like) is not None
    if UNKNOWN in word.text or (clause.instead and word.splits):
        if clause.tier is DESTRUCTIVE or clause.instead or clause.known:
            return False
        if word.plain and pattern.startswith("-") and "|" not in pattern:
            return False  # it brings no option
        return word.splits or may_begin(pattern, word.text.partition(UNKNOWN)[0])
    return expression(pattern).fullmatch(word.text) is not None


def _one_is_broad(words: Iterable[Word], place: Place, cwd: str | None) -> bool:
    return any(is_broad(word, place, cwd) for word in words)


def is_broad(word: Word, place: Place, cwd: str | None) -> bool:
    """Tell whether losing a path means losing more than a folder of the workspace.

    A root, a home, a top-level folder, a whole workspace or repository, all of a folder, what belongs to the
    system or holds secrets, and whatever is only known when it runs.
    """
    located = locate(word, place, cwd)
    path = located.path
    name = posixpath.basename(path)
    if UNKNOWN in word.text or (word.splits and not name.strip("*.?")):
        return True
    if path.startswith(UNKNOWN):
        return name in ("", UNKNOWN, "..", ".")
    if path.count("/") == 1 or name == ".git" or _holds_everything(path, place):
        return True
    if place.inside(located):
        return False
    return sensitive_paths.is_system(path) or (not place.exhausted and place.is_secret(located))


def _holds_everything(path: str, place: Place) -> bool:
    roots = (*place.workspace, *((place.facts.home,) if place.facts.home else ()))
    return any(within(root, path) for root in roots)

"""How bad a command is: the worst of what its entry, its clauses, its words and its faults say."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import cast

import assent.lazy_regex as re
from assent.analysis.ir import Command, Script, Word
from assent.analysis.programs.embedded_code import LANGUAGES, NETWORK, QUIET, CodeJudgement, judge_sent, judge_word
from assent.analysis.programs.find_expression import FindExpression
from assent.analysis.programs.match import Match
from assent.analysis.programs.unknown_words import is_echo, is_time
from assent.analysis.resources.wildcards import let_through, may_be_several
from assent.catalog import Clause, Entry, Role, plain_name, sensitive_paths
from assent.catalog.schema import Output
from assent.model import DANGEROUS, DESTRUCTIVE, SAFE, UNKNOWN

_HERE = Word(".")
_UNSAFE = re.compile(rf"[^\w@%+=:,./{UNKNOWN}-]", re.ASCII)
_SAID = re.compile(
    r"-m|--(?:[a-z]+-)*(?:"
    r"(?:exclude|ignore|skip|omit)-?(?:dirs?|globs?|patterns?|regex)?|"
    r"message|title|body|subject|description|notes?|comment|reason|summary|grep|regexp?|pattern|query|filter|format|git-dir)"
)
"""Options whose value is no file that is used: it is left out, or is words."""
_SEVERAL = re.compile(rf"[0-9A-Za-z_@%+=:,./ {UNKNOWN}-]*+")


def quote(words: Sequence[Word]) -> str:
    """Write words as a shell would have to read them; patterns stay patterns."""
    return " ".join([_quoted(w) for w in words])


def join_plain(texts: Sequence[str]) -> str | None:
    """Write words that need no quotes as a line; None if one of them does."""
    line = " ".join(texts)
    blanks = line.count(" ") != len(texts) - 1 or "" in texts
    return line if not blanks and _SEVERAL.fullmatch(line) else None


def _quoted(word: Word) -> str:
    if word.text and (word.splits or not _UNSAFE.search(word.text)):
        return word.text
    return "'" + word.text.replace("'", "'\"'\"'") + "'"


@functools.lru_cache(maxsize=4096)
def _spelled(spec: str, count: int) -> tuple[Role, ...]:
    """Write the roles out for so many arguments."""
    names = spec.split()
    repeated = next((i for i, n in enumerate(names) if n.endswith("*")), None)
    if repeated is not None:
        many = count - (len(names) - 1)
        names[repeated : repeated + 1] = [names[repeated][:-1]] * max(many, 0)
        # With too few words the last ones matter most: `cp x` still names what would be written.
        names = names[len(names) - count :] if many < 0 else names
    return cast("tuple[Role, ...]", tuple(names))


def roles_of(match: Match, clauses: Sequence[Clause]) -> tuple[list[tuple[Role, Word]], bool]:
    """Give every value and argument its role, as the clauses that hold have it.

    The second value tells that there are more arguments than the entry knows of.
    """
    entry = match.entry
    operands = match.operands[: entry.skip] if entry.runs else match.operands
    roles: list[tuple[Role, Word]] = []
    extra = False
    for spec in _specs(match, clauses) if operands else ():
        names = _spelled(spec, len(operands))
        # A pattern may become several words, of which the entry then knows no more than of others.
        several = "*" not in spec and not entry.pure and any(map(may_be_several, operands))
        roles += [each for each in zip(names, operands, strict=False) if each not in roles]
        extra = extra or several or len(operands) > len(names)
    if match.values:
        roles = _value_roles(match, clauses) + roles
    for clause in clauses:
        if clause.folder is not None:
            roles.append((clause.folder, _HERE))
    return roles, extra


def _specs(match: Match, clauses: Sequence[Clause]) -> list[str]:
    """Give what the arguments are; where a clause may hold or not, by a word that is not known, both that it says."""
    specs = [match.entry.args]
    for clause in clauses:
        if clause.args is not None:
            specs = [*specs, clause.args] if _is_unsure(clause, match.operands) else [clause.args]
    return specs


def _is_unsure(clause: Clause, operands: Sequence[Word]) -> bool:
    """Tell whether it hangs on a word that is not known whether a clause holds."""
    asked = operands if clause.arg or clause.each or clause.left else operands[: 2 if clause.second else 1]
    patterns = clause.first or clause.second or clause.arg or clause.each or clause.left
    return bool(patterns) and not all(word.known for word in asked)


def _value_roles(match: Match, clauses: Sequence[Clause]) -> list[tuple[Role, Word]]:
    known: dict[str, Role] = {}
    for clause in clauses:
        known.update(clause.roles)
    return [(known.get(name, role), word) for name, role, word in match.values]


def plain_words(match: Match, command: Command) -> tuple[str, ...]:
    """Return a command's words by its plain name, without the options before its subcommand; nothing if they are so."""
    if not match.start and not match.name.startswith("g"):
        return ()
    name = plain_name(match.name) if match.name.startswith("g") else match.name
    names = match.name.split(" ") if match.start else [name]
    if match.start < len(names) and name == match.name:
        return ()
    return (*names, *(w.text for w in command.words[1 + match.start :]))


def output_of(match: Match, clauses: Sequence[Clause], roles: Sequence[tuple[Role, Word]], command: Command) -> Output:
    """Tell whether what a command prints never ends by itself, or ends whatever it is fed."""
    said = match.entry.output
    for clause in clauses:
        said = said if clause.output is None else clause.output
    if said or not (roles or command.redirects):
        return said
    for role, word in roles:
        if role == "read" and word.text in sensitive_paths.ENDLESS:
            return "endless"
    for redirect in command.redirects:
        if redirect.direction == "read" and redirect.target.text in sensitive_paths.ENDLESS:
            return "endless"
    return ""


def unseen_words(match: Match, roles: Sequence[tuple[Role, Word]], words: Sequence[Word]) -> list[Word]:
    """Return those of the words of which the entry says nothing, and those at which the program only looks.

    Either may name a file all the same, but not where an option says that it is left out, or is only talked about.
    """
    texts = [word for role, word in roles[len(match.values) :] if role == "text"]
    named = [(option, role, word) for (option, *_), (role, word) in zip(match.values, roles, strict=False)]
    unsure = [
        *_meant(words or texts),
        *match.before,
        *[w for option, role, w in named if role == "text" and not _SAID.fullmatch(option)],
    ]
    lists = [word for word in match.operands if word.text.startswith("@")]  # more arguments are in that file
    if not unsure:
        return lists
    seen = {word for role, word in roles if role not in QUIET}
    return [word for word in unsure if word not in seen] + lists


def picked_words(roles: Sequence[tuple[Role, Word]]) -> list[Word]:
    """Return what is picked by its name, or by a pattern of names, out of all that a command looks at."""
    picked = [word.text for role, word in roles if role in ("filter", "revision") and UNKNOWN not in word.text]
    return [Word(name) for text in picked for name in let_through(text)]


def _meant(words: Sequence[Word]) -> Iterator[Word]:
    """Yield words, but for an option that leaves out what it names or talks about it, with its value."""
    is_value = False
    for word in words:
        option, equals, _ = word.text.partition("=")
        is_said = not is_value and _SAID.fullmatch(option) is not None
        if not is_value and not is_said:
            yield word
        is_value = is_said and not equals


def judge_words(
    match: Match, roles: Sequence[tuple[Role, Word]], command: Command, script: Script
) -> list[CodeJudgement]:
    """Judge words in languages of their own, and words that another machine gets to see."""
    judged = [judge_word(r, w, match.name) for r, w in roles if r in LANGUAGES]
    if any(role in NETWORK for role, _ in roles):
        judged += [judge_sent(w, match.name) for _, w in roles if not is_time(w, script)]
    elif match.entry.connects:
        judged += [judge_sent(w, match.name) for _, w in roles if not is_echo(w, command, script)]
    return judged


def judge(match: Match, clauses: Sequence[Clause], judged: Sequence[CodeJudgement], *, extra: bool) -> CodeJudgement:
    """Return the worst of what is said; what it hits is still to be named in it."""
    entry = _source(match.entry, clauses) if clauses else match.entry
    worst = CodeJudgement(entry.tier, f"{match.name} {entry.does}", entry.impact, entry.rollback)
    for said in judged:
        if said.tier.rank > worst.tier.rank:
            worst = said
    for clause in clauses:
        if clause.tier.rank > worst.tier.rank:
            does = clause.does or entry.does
            worst = CodeJudgement(clause.tier, f"{match.name} {does}", clause.impact, clause.rollback)
    if worst.tier is SAFE and (match.fault is not None or extra):
        return CodeJudgement(DANGEROUS, match.fault or f"{match.name} has more arguments than it takes")
    return worst


def _source(entry: Entry, clauses: Sequence[Clause]) -> Entry | Clause:
    """Return what says the least of a command: its entry, or the clause that holds instead."""
    return next((c for c in clauses if c.instead and c in entry.when), entry)


def judge_find(name: str, expression: FindExpression, roots: str, *, broad: bool) -> CodeJudgement:
    """Judge an expression of find: deleting all of something broad cannot be undone."""
    if expression.deletes and broad and not expression.tested:
        return CodeJudgement(
            DESTRUCTIVE,
            f"{name} deletes everything it finds",
            f"deletes everything below {roots}",
            "restore from a backup; files under version control come back with `git restore`",
        )
    if expression.deletes:
        return CodeJudgement(DANGEROUS, f"{name} deletes what it finds")
    if expression.fault:
        return CodeJudgement(DANGEROUS, f"{name} {expression.fault}")
    if expression.writes:
        return CodeJudgement(DANGEROUS, f"{name} writes its results to a file")
    return CodeJudgement(SAFE, f"{name} looks for files")

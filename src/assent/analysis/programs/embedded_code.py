"""What an argument's own language says: settings, variables, scripts and statements inside a word."""

from __future__ import annotations

import functools

import msgspec

from assent.analysis.ir import Word
from assent.analysis.languages.awk import read_awk
from assent.analysis.languages.jq import read_jq
from assent.analysis.languages.sed import read_sed
from assent.analysis.languages.sql import read_sql
from assent.budget import step
from assent.catalog import Role, assignment_is_inert, environment_is_harmless, setting_is_harmless
from assent.model import DANGEROUS, SAFE, UNKNOWN, Tier

LANGUAGES: frozenset[Role] = frozenset(
    {"sed", "awk", "jq", "sql", "setting", "variable", "forgotten", "code", "helper"}
)
CODE: frozenset[Role] = frozenset({"line", "alias", "helper", "code", "exec", "sql", "sed", "awk"})
"""Roles whose words decide what runs."""
RUNNING = CODE | LANGUAGES
"""Roles whose words may hold something that runs."""
QUIET: frozenset[Role] = frozenset(
    {"text", "number", "line", "alias", "helper", "code", "sed", "awk", "jq", "sql", "setting", "variable"}
)
"""Roles whose words touch nothing by themselves: no file and no machine."""
NETWORK: frozenset[Role] = frozenset({"url", "save", "host", "from", "to", "mirror"})
"""Roles that name another machine."""


SPEAKING = LANGUAGES | NETWORK
"""Roles whose words are judged by what they say."""


class CodeJudgement(msgspec.Struct, frozen=True):
    """How bad something is and why; with what it reads, writes and runs besides."""

    tier: Tier = SAFE
    reason: str = ""
    impact: str = ""
    rollback: str = ""
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    line: Word | None = None
    secrets: tuple[str, ...] = ()
    """Names of what it shows that is secret, and no file."""
    runs_input: bool = False
    """It runs what it reads."""


_WITHOUT: frozenset[Role] = frozenset({"awk", "sql"})
"""Languages in which what follows a number means something else where there is none."""
_LINED: frozenset[Role] = frozenset({"awk", "jq", "sed", "sql"})
"""Languages in which a comment, or a text, ends with its line."""
_NUMBERS = 9
_NOTHING = CodeJudgement()
_LONGEST_KEPT = 200
"""Characters of a word of which it is kept what it says: longer ones do not come again."""


def judge_word(role: Role, word: Word, name: str) -> CodeJudgement:
    """Judge one word by the language it is written in; of numbers and times in it, any will do, or none."""
    step()
    if not word.like:
        return _judged(role, word, name)
    said = _judged(role, Word(word.like, splits=word.splits), name)
    if role in _WITHOUT and said.tier is SAFE:
        said = _judged(role, Word(word.text.replace(UNKNOWN, ""), splits=word.splits), name)
    return said if said.tier is not SAFE else _of_lines(role, word, name) or said


def _of_lines(role: Role, word: Word, name: str) -> CodeJudgement | None:
    """Judge a word by what it says where a number in it is several, each on a line of its own."""
    if role not in _LINED:
        return None
    pieces = word.text.split(UNKNOWN)
    if role in ("jq", "sql") or len(pieces) > _NUMBERS:
        return _judged(role, Word("1\n1".join(pieces), splits=word.splits), name)
    for place in range(1, len(pieces)):
        begin, end = "1".join(pieces[:place]) + "1", "1".join(pieces[place:])
        # nothing of a program is run in which a line ends inside a pattern, a text in quotes or an address
        if _judged(role, Word(begin), name).tier is SAFE:
            said = _judged(role, Word(f"{begin}\n1{end}", splits=word.splits), name)
            if said.tier is not SAFE:
                return said
    return None


def _judged(role: Role, word: Word, name: str) -> CodeJudgement:
    return (_judge if len(word.text) <= _LONGEST_KEPT else _find_judgement)(role, word, name)


def _find_judgement(role: Role, word: Word, name: str) -> CodeJudgement:
    match role:
        case "setting":
            return _judge_setting(word, name)
        case "variable" | "forgotten":
            return _judge_variable(role, word)
        case "code":
            return CodeJudgement(DANGEROUS, f"{name} runs code")
        case "helper":
            return CodeJudgement(DANGEROUS, f"{name} runs another program")
        case "sed" | "awk" | "sql" | "jq" if _is_unread(role, word):
            return CodeJudgement(DANGEROUS, f"{name} runs a script that is known only at run time")
        case "sed":
            found = read_sed(word.text)
            tier = DANGEROUS if found.fault or found.writes else SAFE
            reason = f"{name} {found.fault or 'writes files from its script'}"
            reads, writes = _words(found.reads), _words(found.writes)
            return CodeJudgement(
                tier, reason, reads=reads, writes=writes, line=_line(found.lines), runs_input=found.runs_input
            )
        case "jq":
            more = read_jq(word.text.replace(UNKNOWN, ""))
            return CodeJudgement(DANGEROUS, f"{name} {more}") if more else _NOTHING
        case "awk":
            done = read_awk(word.text)
            tier = DANGEROUS if done.fault else SAFE
            reason = f"{name} {done.fault}" if done.fault else ""
            reads = _words(done.reads)
            return CodeJudgement(tier, reason, reads=reads, line=_line(done.lines), runs_input=done.runs_input)
        case "sql":
            said = read_sql(word.text)
            reads = _words(said.reads)
            reason = f"{name} {said.reason}"
            return CodeJudgement(said.tier, reason, said.impact, said.rollback, reads, secrets=said.secrets)
        case _:
            return _NOTHING


def _is_unread(role: Role, word: Word) -> bool:
    """Tell whether a script is not there to be read; jq's may hold values, where no command prints them."""
    unknown = UNKNOWN in word.text
    return unknown and bool(word.feeds) if role == "jq" else unknown or word.splits


_judge = functools.lru_cache(maxsize=512)(_find_judgement)


def _line(lines: tuple[str, ...]) -> Word | None:
    return Word("\n".join(lines)) if lines else None


def _words(texts: tuple[str, ...]) -> tuple[Word, ...]:
    return tuple(Word(t) for t in texts)


def _judge_setting(word: Word, name: str) -> CodeJudgement:
    key, _, value = word.text.partition("=")
    if key.lower().startswith("alias."):
        text = value[1:] if value.startswith("!") else f"git {value}"
        line = Word(text, word.variables, word.feeds, word.splits)
        return CodeJudgement(DANGEROUS, f"{name} defines an alias that runs a command", line=line)
    if UNKNOWN not in key and not word.splits and setting_is_harmless(key):
        return _NOTHING
    if key.lower() == "core.pager" and value in ("cat", "less", ""):
        return _NOTHING
    shown = key.replace(UNKNOWN, "…")
    return CodeJudgement(DANGEROUS, f"{name} gets the setting `{shown}`, which can change what it runs")


def _judge_variable(role: Role, word: Word) -> CodeJudgement:
    if role == "forgotten":
        inert = UNKNOWN not in word.text and assignment_is_inert(word.text)
        return _NOTHING if inert else judge_environment(word.text, Word(""))
    name, _, value = word.text.partition("=")
    return judge_environment(name, Word(value or UNKNOWN, word.variables, word.feeds, word.splits))


def judge_environment(name: str, value: Word) -> CodeJudgement:
    """Judge a variable that is handed to a program."""
    if UNKNOWN not in name and environment_is_harmless(name, value.text):
        return _NOTHING
    shown = name.replace(UNKNOWN, "…")
    return CodeJudgement(DANGEROUS, f"sets the variable `{shown}`, which can change what programs do")


def judge_sent(word: Word, name: str) -> CodeJudgement:
    """Judge a word that another machine gets to see: what is not a constant may be a secret."""
    if UNKNOWN in word.text or word.feeds or word.variables:
        return CodeJudgement(DANGEROUS, f"{name} sends data that is known only at run time")
    return _NOTHING

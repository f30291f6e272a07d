"""What a command that cannot be undone hits, in words about this very call."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.analysis.ir import Word
from assent.analysis.programs.embedded_code import CodeJudgement, judge_word
from assent.analysis.programs.match import Match, part
from assent.analysis.programs.tier import quote
from assent.analysis.resources.paths import normal
from assent.catalog import Role
from assent.model import DESTRUCTIVE, UNKNOWN

_HIT: frozenset[Role] = frozenset({"write", "edit", "remove", "prune", "access", "move", "dest", "mirror", "to"})
"""Roles of what changes or goes; where a command has such words, the others only say how."""
_MOST_FOLDERS = 4
"""In so many of the folders that it may work in, files are named."""
_MOST_NAMES = 20
"""So many are named at all: nobody reads more."""
_MARK = re.compile(r"\{(args|rest|folder|-[^{}|]*)(?:\|([^{}|]*))?\}")
_VERB = re.compile(r"(?:^|:)(?:delete|deregister|destroy|drop|purge|remove|rm|terminate|undeploy)(?:-|$)")
_DATABASES = frozenset({"-d", "-D", "-k", "--database", "--dbname", "--keyspace"})
"""How clients that take SQL are told which database is meant."""
_PASSWORD = re.compile(r"(://)[^/@\s]*@|(password=)[^\s']*")
"""Who uses an address, and what else says a password, is no part of a name."""


def name_resources(
    said: CodeJudgement, match: Match, roles: Sequence[tuple[Role, Word]], folders: Iterable[str | None]
) -> CodeJudgement:
    """Say what is hit in place of the marks; of SQL, what all statements hit, and where.

    `{args}` are what the arguments name, files by their whole paths, and `{rest}` the arguments but for the verb;
    `{folder}` is where it works; `{-n --name}` is the value of such an option, and `{-n --name*}` all words up to the
    next one. `{…|text}` says what stands there if nothing is named.
    """
    if said.tier is not DESTRUCTIVE:
        return said
    some = list(itertools.islice(folders, _MOST_FOLDERS))
    judged = [judge_word(role, word, match.name) for role, word in roles if role == "sql"]
    if any(j.impact == said.impact for j in judged):
        lost = "; ".join(dict.fromkeys(j.impact for j in judged if j.impact))
        return msgspec.structs.replace(said, impact=lost + _place(match, roles, some))

    def fill(mark: re.Match[str]) -> str:
        return _named(mark[1], match, roles, some) or mark[2] or "no names given"

    impact, rollback = (_MARK.sub(fill, _case(text, match)) for text in (said.impact, said.rollback))
    return msgspec.structs.replace(said, impact=impact, rollback=rollback)


def name_files(words: Sequence[Word], folders: Iterable[str | None]) -> str:
    """Write files by their whole paths, in the folders that they may be counted from."""
    some = list(itertools.islice(folders, _MOST_FOLDERS))
    found = [_whole(word, folder) for word in words[: _MOST_NAMES + 1] for folder in some]
    return _listed(list(dict.fromkeys(found)), len(words))


def _case(text: str, match: Match) -> str:
    """Choose from `[words] text | [words, words] text | text` the first whose words the command's name has."""
    if not text.startswith("["):
        return text
    name = " ".join(["", match.name, *[word.text for word in match.operands[:1]], ""])
    *cases, other = text.split(" | ")
    for case in cases:
        words, _, said = case[1:].partition("] ")
        if any(f" {each} " in name for each in words.split(", ")):
            return said
    return other


def _place(match: Match, roles: Sequence[tuple[Role, Word]], folders: Sequence[str | None]) -> str:
    """Say in which database something is done, and on which machine, as far as the words name them."""
    files = [word for role, word in roles if role == "database"]
    bases = [word for name, _, word in match.values if name in _DATABASES]
    bases = bases or [word for role, word in roles[len(match.values) :] if role == "text"][:1]
    machines = [word for role, word in roles if role == "host"]
    base = name_files(files, folders) if files else _listed(bases, len(bases))
    places = [f"in the database {base}"] if base else []
    places += [f"on {_listed(machines, len(machines))}"] if machines else []
    return f", {' '.join(places)}" if places else ""


def _named(mark: str, match: Match, roles: Sequence[tuple[Role, Word]], folders: Sequence[str | None]) -> str:
    if mark == "folder":
        return " or ".join([folder or "the working directory" for folder in folders])
    if mark == "args":
        return _resources(match, roles, folders)
    words = list(dict.fromkeys(_but_verb(match.operands) if mark == "rest" else _given(match, mark.split())))
    return _listed(words, len(words))


def _given(match: Match, names: Sequence[str]) -> Iterator[Word]:
    """Yield the values of options, also where all words are taken for arguments."""
    wide = {name[:-1] for name in names if name.endswith("*")}
    sought = wide.union(names)
    yield from (word for name, _, word in match.values if name in sought)
    option = ""
    for word in match.operands if match.entry.options == "any" else ():
        name, equals, _ = word.text.partition("=")
        if name[:1] == "-":
            option = "" if equals else name
            if equals and name in sought:
                yield part(word, len(name) + 1)
        else:
            if option in sought:
                yield word
            option = option if option in wide else ""


def _but_verb(words: Iterable[Word]) -> Iterator[Word]:
    """Yield what the arguments name: without options, and without the word that says what is done with the others."""
    told = False
    for word in words:
        verb = None if told else _VERB.search(word.text)
        if verb is not None:
            told = True
            parts = [word.text[: verb.start()], word.text[verb.end() :]]
            yield from (Word(text) for text in parts if text)
        elif _is_name(word):
            yield word


def _is_name(word: Word) -> bool:
    """Tell whether a word names something: what is only an option says how, and nothing of what."""
    return word.text[:1] != "-" or "=" in word.text


def _resources(match: Match, roles: Sequence[tuple[Role, Word]], folders: Sequence[str | None]) -> str:
    hit = [word for role, word in roles if role in _HIT]
    if hit:
        return name_files(hit, folders)
    named = match.operands or tuple(word for _, _, word in match.values)
    # Of a command that is run every word counts.
    kept = named if match.entry.runs else list(dict.fromkeys(filter(_is_name, named)))
    return _listed(kept, len(kept))


def _listed(words: Sequence[Word], count: int) -> str:
    shown = _PASSWORD.sub(r"\1\2", quote(words[:_MOST_NAMES])).replace(UNKNOWN, "…")
    return f"{shown} … ({count} in all)" if len(words) > _MOST_NAMES else shown


def _whole(word: Word, folder: str | None) -> Word:
    """Count a path from the folder, if it is known and so is how the path begins."""
    text = word.text
    if ":" in text or text[:1] in ("", UNKNOWN) or (folder is None and text[0] != "/"):
        return word
    path = normal(text if text[0] == "/" else f"{folder}/{text}")
    return word if path == UNKNOWN else msgspec.structs.replace(word, text=path)

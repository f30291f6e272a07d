"""SQL statements: whether they look, change or destroy. What is not understood is dangerous."""

from __future__ import annotations

import itertools

import msgspec

import assent.regex as re
from assent.model import Tier

_TOKEN = re.compile(
    r"""(?P<noise>--(?:[ \t][^\r\n]*|(?=\r?\n|\Z))|/\*(?![!M])(?:(?!/\*).)*?\*/)
    |`\w+`
    |(?P<odd>--|/\*|'{3}|"{3}|[#$`\[\]\\&{}!]|\r(?!\n)
        |:::|(?<!:):(?=[\w'"])                 # a client puts a variable's value there
        |(?<![\w'])(?![NnXxBbEe]')\w+(?=')     # a string of its own kind
    )
    |'(?:[^']|'')*(?:'|(?P<string>\Z))
    |"(?:[^"]|"")*(?:"|(?P<name>\Z))
    |[A-Za-z_]\w*|\d[\w.]*|;|\S""",
    re.DOTALL | re.VERBOSE,
)
"""What databases and their clients read differently is `odd`: a comment or string of one is code to another."""
_UNSURE = ("odd", "string", "name")
_STRANGE = "\\"
"""Stands for what can not be read for sure; one in a string may escape what follows it."""
_LOOKS = frozenset({"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "WITH", "TABLE", "HELP", "USE"})
_FRAMES = re.compile(r"START TRANSACTION|(?:BEGIN|COMMIT|ROLLBACK|END)(?: TRANSACTION| WORK)?")
_WRITES = frozenset(
    (
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE",
        "INTO",
        "COPY",
        "CALL",
        "DO",
        "ANALYSE",
        "ANALYZE",
        "LOAD",
        "ALTER",
        "ATTACH",
        "BACKUP",
        "BULK",
        "DBCC",
        "DECLARE",
        "DELIMITER",
        "DROP",
        "EXEC",
        "EXECUTE",
        "EXPORT",
        "GO",
        "GRANT",
        "IMPORT",
        "INSTALL",
        "KILL",
        "OUTFILE",
        "PREPARE",
        "RESTORE",
        "REVOKE",
        "SET",
        "SHUTDOWN",
        "TRUNCATE",
        "WAITFOR",
    )
)
"""Some databases begin a statement with one of these where the one before has no end mark."""
_FUNCTIONS = frozenset(
    (
        "ABS",
        "AVG",
        "CAST",
        "CEIL",
        "CEILING",
        "CHAR_LENGTH",
        "COALESCE",
        "CONCAT",
        "CONCAT_WS",
        "COUNT",
        "CURRENT_DATABASE",
        "CURRENT_DATE",
        "CURRENT_USER",
        "DATE",
        "DATE_PART",
        "DATE_TRUNC",
        "DATETIME",
        "DENSE_RANK",
        "EXISTS",
        "EXTRACT",
        "FLOOR",
        "FORMAT",
        "GREATEST",
        "GROUP_CONCAT",
        "HEX",
        "IFNULL",
        "IN",
        "INSTR",
        "JSON_EXTRACT",
        "JULIANDAY",
        "LAG",
        "LEAD",
        "LEAST",
        "LEFT",
        "LENGTH",
        "LOWER",
        "LTRIM",
        "MAX",
        "MIN",
        "MOD",
        "NOW",
        "NULLIF",
        "OVER",
        "OCTET_LENGTH",
        "PRINTF",
        "QUOTE",
        "RANK",
        "REPLACE",
        "RIGHT",
        "ROUND",
        "ROW_NUMBER",
        "RTRIM",
        "STRFTIME",
        "STRING_AGG",
        "SUBSTR",
        "SUBSTRING",
        "SUM",
        "TIME",
        "TO_CHAR",
        "TO_DATE",
        "TOTAL",
        "TRIM",
        "TYPEOF",
        "UNIXEPOCH",
        "UPPER",
        "VERSION",
        "VALUES",
        "AND",
        "OR",
        "NOT",
        "AS",
        "FROM",
        "JOIN",
        "ON",
        "USING",
        "WHERE",
        "BY",
        "ANY",
        "ALL",
        "SELECT",
        "UNION",
        "PARTITION",
        "FILTER",
        "THEN",
        "WHEN",
        "ELSE",
        "BETWEEN",
        "LIKE",
        "PG_DATABASE_SIZE",
        "PG_TOTAL_RELATION_SIZE",
        "PG_RELATION_SIZE",
        "PG_SIZE_PRETTY",
    )
)
_PRAGMAS = frozenset(
    ("TABLE_INFO", "TABLE_XINFO", "TABLE_LIST", "INDEX_LIST", "INDEX_INFO", "FOREIGN_KEY_LIST", "DATABASE_LIST")
)
_LOST = frozenset({"TABLE", "DATABASE", "SCHEMA", "COLUMN", "USER", "ROLE", "TABLESPACE", "KEYSPACE", "OWNED"})
_DESCRIBES = re.compile(r"\s*\\(?:d[a-zA-Z]*\+?|l\+?|conninfo|x|timing|encoding|q)(?:[ \t]+[\w.*]+)?\s*", re.ASCII)
_SHOWS = re.compile(
    r"\.(?:tables|schema|dump|fullschema|dbinfo|show|indexes|databases|headers|mode|help|quit|exit)"
    r"(?:[ \t]+[\w.*]+)*[ \t]*",
    re.ASCII,
)
_FILE = re.compile(r"'|\"[^\"]*[./]")


class Statement(msgspec.Struct, frozen=True):
    """How bad the worst of the statements is, why, and what a destructive one hits."""

    tier: Tier
    reason: str
    impact: str = ""
    rollback: str = ""


_READS = Statement(Tier.SAFE, "looks at data")
_RESTORE = "restore the database from a backup taken before; without one the data is gone"


def read_sql(text: str) -> Statement:
    """Read all statements and return the worst. Only what every database and client takes for a look is safe."""
    if _DESCRIBES.fullmatch(text):
        return _READS
    lines = text.strip().split("\n")
    shown = next((i for i, line in enumerate(lines) if not _SHOWS.fullmatch(line)), len(lines))
    rest = lines[shown:]
    found = [_statement(tokens) for tokens in _statements("\n".join(rest))]
    if any(line.lstrip().startswith(("\\", ".")) for line in rest):
        found.append(Statement(Tier.DANGEROUS, "gives its client a command that may run or write something"))
    return max([_READS, *found], key=lambda s: s.tier)


def _statements(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for token in _TOKEN.finditer(text):
        if token.group() == ";":
            found.append([])
        elif any(token[group] is not None for group in _UNSURE):
            found[-1].append(_STRANGE)
        elif token["noise"] is None:
            found[-1].append(token.group())
    return [tokens for tokens in found if tokens]


def _statement(tokens: list[str]) -> Statement:
    words = [t.upper() for t in tokens]
    destroyed = _destroys(words, tokens)
    if destroyed is not None:
        return destroyed
    if any(_STRANGE in w or w.startswith("`") for w in words):
        return Statement(Tier.DANGEROUS, "has SQL that not every database reads alike")
    if words[0] in _LOOKS and not _WRITES.intersection(words[1:]):
        return _looks(words)
    if _FRAMES.fullmatch(" ".join(words)) or (words[0] == "PRAGMA" and len(words) > 1 and words[1] in _PRAGMAS):
        return _READS
    return Statement(Tier.DANGEROUS, "changes a database")


def _looks(words: list[str]) -> Statement:
    for name, after in itertools.pairwise(words):
        if after == "(" and re.match(r"[A-Z_\"]", name) and name not in _FUNCTIONS:
            return Statement(Tier.DANGEROUS, f"calls a database function ({name.lower()}) that may do more than look")
        if name in ("FROM", "JOIN") and _FILE.match(after):
            return Statement(Tier.DANGEROUS, "may look into a file that it names as a table")
    return _READS


def _destroys(words: list[str], tokens: list[str]) -> Statement | None:
    for index, word in enumerate(words):
        kind = words[index + 1] if index + 1 < len(words) else ""
        if word == "DROP" and kind in _LOST:
            return _lost(f"drops the {kind.lower()} {_named(tokens, words, index + 2)} with everything in it")
        if word == "TRUNCATE" and index == 0:
            return _lost(f"empties {_named(tokens, words, index + 1)}")
        if word in ("DELETE", "UPDATE") and _is_verb(words, index) and _hits_all(words[index:]):
            start = index + 2 if word == "DELETE" else index + 1
            does = "deletes every row of" if word == "DELETE" else "overwrites every row of"
            return _lost(f"{does} {_named(tokens, words, start)}")
    return None


def _is_verb(words: list[str], index: int) -> bool:
    """Tell whether DELETE or UPDATE is the statement's verb, not part of `FOR UPDATE` or `ON DELETE`."""
    return index == 0 or words[index - 1] in (")", "(", "EXPLAIN", "ANALYZE", "AS")


def _hits_all(words: list[str]) -> bool:
    if "WHERE" not in words:
        return True
    condition = words[words.index("WHERE") + 1 :]
    return condition in (["TRUE"], ["1"]) or (
        len(condition) == 3 and condition[0] == condition[2] and condition[1] == "="
    )


def _named(tokens: list[str], words: list[str], index: int) -> str:
    skipped = {"TABLE", "ONLY", "IF", "EXISTS", "FROM"}
    rest = [t for t, w in zip(tokens[index:], words[index:], strict=True) if w not in skipped]
    return rest[0].strip("\"'`") if rest else "what it names"


def _lost(what: str) -> Statement:
    return Statement(Tier.DESTRUCTIVE, what, what, _RESTORE)

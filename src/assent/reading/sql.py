"""SQL statements: whether they look, change or destroy. What is not understood is dangerous."""

from __future__ import annotations

import itertools
import operator

import msgspec

import assent.regex as re
from assent.model import Tier

_TOKEN = re.compile(
    r"""(?P<noise>--(?:[ \t][^\r\n]*|(?=\r?\n|\Z))|/\*(?![!M])(?:(?!/\*).)*?\*/)
    |`\w+`|!=
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
_QUERIES = frozenset({"SELECT", "WITH", "VALUES", "TABLE"})
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
    """
    ABS AGE ALL AND ANY ANY_VALUE ARRAY_AGG ARRAY_LENGTH ARRAY_TO_STRING AS ASCII AVG BETWEEN BOOL_AND BOOL_OR BY
    CARDINALITY CASE CAST CEIL CEILING CHAR CHAR_LENGTH CHR COALESCE COL_DESCRIPTION CONCAT CONCAT_WS CONVERT COUNT
    CUBE CUME_DIST CURDATE CURRENT_DATABASE CURRENT_DATE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER
    DATABASE DATE DATEADD DATEDIFF DATENAME DATEPART DATETIME DATE_ADD DATE_DIFF DATE_FORMAT DATE_PART DATE_SUB
    DATE_TRUNC DAY DAYOFWEEK DECIMAL DENSE_RANK DISTINCT ELSE EVERY EXCEPT EXISTS EXP EXTRACT FILTER FIRST_VALUE FLOOR
    FORMAT FORMAT_TYPE FROM FROM_UNIXTIME GENERATE_SERIES GETDATE GLOB GREATEST GROUP GROUPING GROUP_CONCAT
    HAS_TABLE_PRIVILEGE HAVING HEX HOUR IF IFNULL IIF IN INITCAP INSTR INTERSECT INTERVAL ISNULL JOIN JSONB_AGG
    JSONB_ARRAY_ELEMENTS JSONB_ARRAY_ELEMENTS_TEXT JSONB_ARRAY_LENGTH JSONB_BUILD_OBJECT JSONB_EACH JSONB_EACH_TEXT
    JSONB_OBJECT_AGG JSONB_OBJECT_KEYS JSONB_PRETTY JSONB_TYPEOF JSON_AGG JSON_ARRAY JSON_ARRAY_ELEMENTS
    JSON_ARRAY_LENGTH JSON_BUILD_OBJECT JSON_CONTAINS JSON_EACH JSON_EXTRACT JSON_GROUP_ARRAY JSON_GROUP_OBJECT
    JSON_KEYS JSON_LENGTH JSON_OBJECT JSON_OBJECT_AGG JSON_OBJECT_KEYS JSON_TREE JSON_TYPE JSON_TYPEOF JSON_UNQUOTE
    JSON_VALID JSON_VALUE JULIANDAY LAG LAST_VALUE LATERAL LEAD LEAST LEFT LEN LENGTH LIKE LIKELY LIMIT LN LOCATE LOG
    LOWER LPAD LTRIM MAKE_DATE MAX MD5 MEDIAN MIN MINUTE MOD MODE MONTH NOT NOW NTH_VALUE NTILE NULLIF NUMERIC NVL
    OBJ_DESCRIPTION OCTET_LENGTH OFFSET ON OR OVER PARTITION PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK
    PG_BACKEND_PID PG_BLOCKING_PIDS PG_DATABASE_SIZE PG_GET_CONSTRAINTDEF PG_GET_EXPR PG_GET_FUNCTIONDEF
    PG_GET_INDEXDEF PG_GET_SERIAL_SEQUENCE PG_GET_VIEWDEF PG_INDEXES_SIZE PG_IS_IN_RECOVERY PG_POSTMASTER_START_TIME
    PG_RELATION_SIZE PG_SIZE_PRETTY PG_TABLE_IS_VISIBLE PG_TABLE_SIZE PG_TOTAL_RELATION_SIZE POSITION POW POWER PRINTF
    QUARTER QUOTE RANDOM RANK REGEXP_LIKE REGEXP_MATCH REGEXP_MATCHES REGEXP_REPLACE REPEAT REPLACE REVERSE RIGHT
    ROLLUP ROUND ROW_NUMBER ROW_TO_JSON RPAD RTRIM SCHEMA SECOND SELECT SESSION_USER SETS SIGN SOME SPLIT_PART
    SQLITE_VERSION SQRT STDDEV STDDEV_POP STDDEV_SAMP STRFTIME STRING_AGG STRING_TO_ARRAY STRPOS SUBSTR SUBSTRING SUM
    THEN TIME TIMESTAMP TIMESTAMPDIFF TOTAL TO_CHAR TO_DATE TO_JSON TO_JSONB TO_NUMBER TO_REGCLASS TO_TIMESTAMP TRIM
    TRUNC TRY_CAST TYPEOF UNICODE UNION UNIXEPOCH UNIX_TIMESTAMP UNNEST UPPER USER USING VALUES VARCHAR VARIANCE
    VERSION WEEK WHEN WHERE YEAR
    """.split()  # noqa: SIM905 - a table of words
)
"""What only computes, and words that a bracket can stand behind."""
_PRAGMAS = frozenset(
    """
    DATABASE_LIST FOREIGN_KEY_CHECK FOREIGN_KEY_LIST INDEX_INFO INDEX_LIST INDEX_XINFO INTEGRITY_CHECK QUICK_CHECK
    TABLE_INFO TABLE_LIST TABLE_XINFO
    """.split()  # noqa: SIM905 - a table of words
)
_SETTINGS = frozenset(
    """
    APPLICATION_ID AUTO_VACUUM CACHE_SIZE COLLATION_LIST COMPILE_OPTIONS ENCODING FOREIGN_KEYS FREELIST_COUNT
    FUNCTION_LIST JOURNAL_MODE LOCKING_MODE PAGE_COUNT PAGE_SIZE SCHEMA_VERSION SYNCHRONOUS USER_VERSION
    """.split()  # noqa: SIM905 - a table of words
)
"""What is only looked at as long as nothing stands behind it."""
_LOST = frozenset({"TABLE", "DATABASE", "SCHEMA", "COLUMN", "USER", "ROLE", "TABLESPACE", "KEYSPACE", "OWNED"})
_DESCRIBES = re.compile(r"\s*\\(?:d[a-zA-Z]*\+?|l\+?|conninfo|x|timing|encoding|q)(?:[ \t]+[\w.*]+)?\s*", re.ASCII)
_SHOWS = re.compile(
    r"\.(?:tables|schema|dump|fullschema|dbinfo|show|indexes|databases|headers|mode|help|quit|exit)"
    r"(?:[ \t]+[\w.*]+)*[ \t]*",
    re.ASCII,
)
_SHOWN = re.compile(r"\s*\\G\s*\Z")
"""How one client is told to show what is found, and the others are told nothing."""
_FILE = re.compile(r"'|\"[^\"]*[./]")
_TABLE = re.compile(r"'[^']*(?:://[^']*|[.](?:CSV|TSV|PARQUET|JSONL?|NDJSON|DB|DUCKDB|XLSX|TXT)(?:[.]\w+)?)'", re.ASCII)
_DATA = re.compile(r"'(?!-)[\w./-]+[.](?:csv|tsv|parquet|json|jsonl|ndjson)(?:[.]gz|[.]zst)?'", re.ASCII)
"""A file with a table in it, which lies on this machine."""
_READERS = frozenset(
    {"READ_CSV", "READ_CSV_AUTO", "READ_JSON", "READ_JSON_AUTO", "READ_PARQUET", "PARQUET_SCHEMA", "PARQUET_METADATA"}
)
_OPENS = frozenset({"ATTACH", "COPY", "LOAD", "IMPORT", "EXPORT", "VACUUM", "INSTALL"})
_NAMED = re.compile(r"[./~]")
_ACCOUNTS = re.compile(
    r"(?<![\w.])(?:PG_CATALOG\.)?(?:PG_SHADOW|PG_AUTHID|PG_USER_MAPPINGS?|MYSQL\.(?:USER|GLOBAL_PRIV|SLAVE_MASTER_INFO)"
    r"|SYS\.(?:SQL_LOGINS|SYSLOGINS|SYSXLOGINS)|DBA_USERS)(?!\w)|^USE MYSQL$|^SHOW CREATE USER "
)
"""Tables in which databases keep the passwords of their users."""


class Statement(msgspec.Struct, frozen=True):
    """How bad the worst of the statements is, why, and what a destructive one hits."""

    tier: Tier
    reason: str
    impact: str = ""
    rollback: str = ""
    reads: tuple[str, ...] = ()
    """Files that are looked into as tables."""
    secrets: tuple[str, ...] = ()
    """Tables of accounts, with their passwords."""


_READS = Statement(Tier.SAFE, "looks at data")
_files, _accounts = operator.attrgetter("reads"), operator.attrgetter("secrets")
_RESTORE = "restore the database from a backup taken before; without one the data is gone"


def read_sql(text: str) -> Statement:
    """Read all statements and return the worst. Only what every database and client takes for a look is safe."""
    if _DESCRIBES.fullmatch(text):
        return _READS
    lines = _SHOWN.sub("", text).strip().split("\n")
    shown = next((i for i, line in enumerate(lines) if not _SHOWS.fullmatch(line)), len(lines))
    rest = lines[shown:]
    found = [_statement(tokens) for tokens in _statements("\n".join(rest))]
    orders = [line for line in rest if line.lstrip().startswith(("\\", "."))]
    if orders:
        named = tuple(name for order in orders for name in re.split(r"[\s'\"]+", order)[1:] if _NAMED.search(name))
        why = "gives its client a command that may run or write something"
        found.append(Statement(Tier.DANGEROUS, why, reads=named))
    worst = max([_READS, *found], key=lambda s: s.tier)
    reads, secrets = (tuple(name for s in found for name in names(s)) for names in (_files, _accounts))
    return msgspec.structs.replace(worst, reads=reads, secrets=secrets)


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
    if any(_STRANGE in w for w in words):
        return Statement(Tier.DANGEROUS, "has SQL that not every database reads alike")
    words = _explained(words)
    if words[0] in _LOOKS and not _WRITES.intersection(words[1:]):
        return _looks(words, tokens[-len(words) :])
    if _FRAMES.fullmatch(" ".join(words)) or _asks_pragma(words):
        return _READS
    opened = [t[1:-1] for t in tokens if t[0] in "'\"" and _NAMED.search(t)] if words[0] in _OPENS else []
    return Statement(Tier.DANGEROUS, "changes a database", reads=tuple(opened))


def _explained(words: list[str]) -> list[str]:
    """Return the query whose plan is asked for, also where it runs for that; anything else as it is."""
    if words[0] != "EXPLAIN":
        return words
    start = words.index(")") + 1 if words[1:2] == ["("] and ")" in words else 1
    while words[start : start + 1] and words[start] in ("ANALYZE", "ANALYSE", "VERBOSE"):
        start += 1
    return words[start:] if words[start : start + 1] and words[start] in _QUERIES else words


def _asks_pragma(words: list[str]) -> bool:
    """Tell whether a setting of SQLite is asked for; some are set by what stands behind them."""
    return words[0] == "PRAGMA" and (not _PRAGMAS.isdisjoint(words[1:2]) or (len(words) == 2 and words[1] in _SETTINGS))


def _looks(words: list[str], tokens: list[str]) -> Statement:
    files = []
    for index, (name, after) in enumerate(itertools.pairwise(words)):
        opened = after == "(" and name in _READERS
        if opened or (name in ("FROM", "JOIN") and _FILE.match(after)) or (name == "," and _TABLE.fullmatch(after)):
            file = "".join(tokens[index + 1 + opened : index + 2 + opened])
            if not _DATA.fullmatch(file):
                return Statement(Tier.DANGEROUS, "may look into a file that it names as a table")
            files.append(file[1:-1])
        elif after == "(" and re.match(r"[A-Z_\"`]", name) and name not in _FUNCTIONS:
            return Statement(Tier.DANGEROUS, f"calls a database function ({name.lower()}) that may do more than look")
    return msgspec.structs.replace(_READS, reads=tuple(files), secrets=_secrets(words))


def _secrets(words: list[str]) -> tuple[str, ...]:
    """Name the tables of accounts that are looked at, however they are quoted and spaced."""
    names = " ".join("'" if w.startswith("'") else w.strip('"`') for w in words).replace(" . ", ".")
    return tuple(dict.fromkeys(found.lower().strip() for found in _ACCOUNTS.findall(names)))


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

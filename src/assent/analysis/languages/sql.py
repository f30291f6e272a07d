"""SQL statements: whether they look, change or destroy. What is not understood is dangerous."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence

import msgspec

import assent.lazy_regex as re
from assent.budget import step
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
_DESTROYING = frozenset({"DROP", "TRUNCATE", "DELETE", "UPDATE"})
_STRANGE = "\\"
"""Stands for what cannot be read for sure; one in a string may escape what follows it."""
_LOOKS = frozenset(
    {"SELECT", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "WITH", "TABLE", "HELP", "USE", "SUMMARIZE"}
)
_GIVING = frozenset({"WITH", "RECURSIVE", ",", "AS", "NOT", "MATERIALIZED"})
"""What stands between the tables that a query is given."""
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
    ABS ACOS ADDDATE ADD_MONTHS AGE ALL AND ANY ANYLAST ANY_VALUE APPROX_COUNT_DISTINCT APPROX_DISTINCT
    APPROX_PERCENTILE APPROX_QUANTILES ARGMAX ARGMIN ARG_MAX ARG_MIN ARRAYJOIN ARRAY_AGG ARRAY_APPEND ARRAY_CAT
    ARRAY_CONTAINS ARRAY_DIMS ARRAY_LENGTH ARRAY_LOWER ARRAY_POSITION ARRAY_REMOVE ARRAY_TO_STRING ARRAY_UPPER AS
    ASCII ASIN ATAN ATAN2 AVG AVGIF BETWEEN BIN BIN_TO_UUID BIT_AND BIT_COUNT BIT_LENGTH BIT_OR BOOL_AND BOOL_OR
    BTRIM BY CARDINALITY CASE CAST CBRT CEIL CEILING CHANGES CHAR CHARACTER_LENGTH CHARINDEX CHARSET CHAR_LENGTH
    CHECKSUM CHOOSE CHR CLOCK_TIMESTAMP COALESCE COLLATION COL_DESCRIPTION COL_NAME CONCAT CONCAT_WS CONNECTION_ID
    CONV CONVERT CORR COS COUNT COUNTIF COVAR_POP COVAR_SAMP CRC32 CUBE CUME_DIST CURDATE CURRENT_DATABASE
    CURRENT_DATE CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DATABASE DATABASEPROPERTYEX
    DATE DATEADD DATEDIFF DATEFROMPARTS DATENAME DATEPART DATETIME DATETIME_DIFF DATE_ADD DATE_BIN DATE_DIFF
    DATE_FORMAT DATE_PART DATE_SUB DATE_TRUNC DAY DAYNAME DAYOFMONTH DAYOFWEEK DAYOFYEAR DB_ID DB_NAME DECIMAL
    DECODE DEGREES DENSE_RANK DISTINCT DIV DM_EXEC_QUERY_PLAN DM_EXEC_SQL_TEXT ELSE ELT ENCODE ENDS_WITH EOMONTH
    EPOCH EPOCH_MS EVERY EXCEPT EXISTS EXP EXTRACT FIELD FILTER FIND_IN_SET FIRST_VALUE FLOOR FORMAT
    FORMATREADABLEQUANTITY FORMATREADABLESIZE FORMAT_DATE FORMAT_TIMESTAMP FORMAT_TYPE FOUND_ROWS FROM FROM_DAYS
    FROM_UNIXTIME GCD GENERATE_ARRAY GENERATE_DATE_ARRAY GENERATE_SERIES GEN_RANDOM_UUID GETDATE GETUTCDATE GLOB
    GREATEST GROUP GROUPARRAY GROUPING GROUP_CONCAT HAS_COLUMN_PRIVILEGE HAS_DATABASE_PRIVILEGE
    HAS_FUNCTION_PRIVILEGE HAS_SCHEMA_PRIVILEGE HAS_TABLE_PRIVILEGE HAVING HEX HISTOGRAM HOUR IF IFF IFNULL IIF IN
    INET6_NTOA INET_ATON INET_CLIENT_ADDR INET_NTOA INET_SERVER_ADDR INET_SERVER_PORT INITCAP INSTR INTERSECT
    INTERVAL ISJSON ISNULL ISNUMERIC JOIN JSON JSONB_AGG JSONB_ARRAY_ELEMENTS JSONB_ARRAY_ELEMENTS_TEXT
    JSONB_ARRAY_LENGTH JSONB_BUILD_ARRAY JSONB_BUILD_OBJECT JSONB_EACH JSONB_EACH_TEXT JSONB_EXTRACT_PATH
    JSONB_EXTRACT_PATH_TEXT JSONB_OBJECT_AGG JSONB_OBJECT_KEYS JSONB_PATH_EXISTS JSONB_PATH_MATCH JSONB_PATH_QUERY
    JSONB_PATH_QUERY_ARRAY JSONB_PATH_QUERY_FIRST JSONB_PRETTY JSONB_SET JSONB_STRIP_NULLS JSONB_TYPEOF JSON_AGG
    JSON_ARRAY JSON_ARRAYAGG JSON_ARRAY_ELEMENTS JSON_ARRAY_ELEMENTS_TEXT JSON_ARRAY_LENGTH JSON_BUILD_ARRAY
    JSON_BUILD_OBJECT JSON_CONTAINS JSON_DEPTH JSON_EACH JSON_EACH_TEXT JSON_EXTRACT JSON_EXTRACT_PATH
    JSON_EXTRACT_PATH_TEXT JSON_EXTRACT_SCALAR JSON_GROUP_ARRAY JSON_GROUP_OBJECT JSON_INSERT JSON_KEYS JSON_LENGTH
    JSON_MERGE_PATCH JSON_MERGE_PRESERVE JSON_OBJECT JSON_OBJECTAGG JSON_OBJECT_AGG JSON_OBJECT_KEYS JSON_PATCH
    JSON_PRETTY JSON_QUERY JSON_QUOTE JSON_REMOVE JSON_REPLACE JSON_SEARCH JSON_SET JSON_STORAGE_SIZE
    JSON_STRIP_NULLS JSON_TABLE JSON_TREE JSON_TYPE JSON_TYPEOF JSON_UNQUOTE JSON_VALID JSON_VALUE JULIANDAY
    JUSTIFY_DAYS JUSTIFY_HOURS JUSTIFY_INTERVAL LAG LAST_DAY LAST_INSERT_ROWID LAST_VALUE LATERAL LCASE LCM LEAD
    LEAST LEFT LEN LENGTH LEVENSHTEIN LIKE LIKELIHOOD LIKELY LIMIT LIST LISTAGG LIST_AGG LIST_CONTAINS LIST_VALUE LN
    LOCALTIMESTAMP LOCATE LOG LOG10 LOG2 LOGICAL_AND LOGICAL_OR LOWER LPAD LTRIM MAKEDATE MAKE_DATE MAKE_INTERVAL
    MAKE_TIME MAKE_TIMESTAMP MATERIALIZED MAX MAX_BY MD5 MEDIAN MID MIN MINUTE MIN_BY MOD MODE MONTH MONTHNAME
    MONTHS_BETWEEN NEWID NOT NOW NTH_VALUE NTILE NULLIF NUMERIC NVL NVL2 OBJECTPROPERTY OBJECT_ID OBJECT_NAME
    OBJ_DESCRIPTION OCT OCTET_LENGTH OFFSET ON OR ORD OVER OVERLAY PARSENAME PARSE_DATE PARSE_TIMESTAMP PARTITION
    PATINDEX PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK PG_BACKEND_PID PG_BLOCKING_PIDS PG_COLUMN_SIZE
    PG_CONF_LOAD_TIME PG_CURRENT_WAL_LSN PG_DATABASE_SIZE PG_ENCODING_TO_CHAR PG_GET_CONSTRAINTDEF PG_GET_EXPR
    PG_GET_FUNCTIONDEF PG_GET_FUNCTION_ARGUMENTS PG_GET_FUNCTION_IDENTITY_ARGUMENTS PG_GET_FUNCTION_RESULT
    PG_GET_INDEXDEF PG_GET_KEYWORDS PG_GET_PARTKEYDEF PG_GET_RULEDEF PG_GET_SERIAL_SEQUENCE PG_GET_TRIGGERDEF
    PG_GET_USERBYID PG_GET_VIEWDEF PG_HAS_ROLE PG_INDEXES_SIZE PG_IS_IN_RECOVERY PG_IS_WAL_REPLAY_PAUSED
    PG_LAST_WAL_RECEIVE_LSN PG_LAST_WAL_REPLAY_LSN PG_LAST_XACT_REPLAY_TIMESTAMP PG_POSTMASTER_START_TIME
    PG_RELATION_FILENODE PG_RELATION_FILEPATH PG_RELATION_SIZE PG_SIZE_PRETTY PG_TABLESPACE_SIZE PG_TABLE_IS_VISIBLE
    PG_TABLE_SIZE PG_TOTAL_RELATION_SIZE PG_TYPEOF PG_WAL_LSN_DIFF PI PLAINTO_TSQUERY POSITION POW POWER
    PRAGMA_COMPILE_OPTIONS PRAGMA_DATABASE_LIST PRAGMA_FOREIGN_KEY_LIST PRAGMA_INDEX_INFO PRAGMA_INDEX_LIST
    PRAGMA_TABLE_INFO PRAGMA_TABLE_LIST PRAGMA_TABLE_XINFO PRINTF QUANTILE_CONT QUANTILE_DISC QUARTER QUOTE
    QUOTENAME QUOTE_IDENT QUOTE_LITERAL QUOTE_NULLABLE RADIANS RAND RANDOM RANK REGEXP_CONTAINS REGEXP_COUNT
    REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_LIKE REGEXP_MATCH REGEXP_MATCHES REGEXP_REPLACE
    REGEXP_SPLIT_TO_ARRAY REGEXP_SPLIT_TO_TABLE REGEXP_SUBSTR REGR_SLOPE REPEAT REPLACE REPLICATE REVERSE RIGHT
    ROLLUP ROUND ROW ROW_NUMBER ROW_TO_JSON RPAD RTRIM SAFE_CAST SAFE_DIVIDE SCHEMA SCHEMA_NAME SECOND SEC_TO_TIME
    SELECT SERVERPROPERTY SESSION_USER SETS SHA1 SHA2 SHA256 SIGN SIMILARITY SIN SOME SOUNDEX SPACE SPLIT SPLIT_PART
    SQLITE_VERSION SQRT STARTS_WITH STATEMENT_TIMESTAMP STATS_DATE STDDEV STDDEV_POP STDDEV_SAMP STRCMP STRFTIME
    STRING_AGG STRING_SPLIT STRING_TO_ARRAY STRPOS STRUCT STRUCT_PACK STR_SPLIT STR_TO_DATE STUFF SUBDATE SUBSTR
    SUBSTRING SUBSTRING_INDEX SUM SUMIF SUSER_SNAME SYSDATE SYSDATETIME TAN THEN TIME TIMEDIFF TIMESTAMP
    TIMESTAMPADD TIMESTAMPDIFF TIMESTAMP_ADD TIMESTAMP_DIFF TIMESTAMP_SUB TIMESTAMP_TRUNC TIMEZONE TIME_FORMAT
    TIME_TO_SEC TODATE TODATETIME TODAY TOPK TOSTARTOFDAY TOSTARTOFHOUR TOSTARTOFINTERVAL TOSTARTOFMINUTE
    TOSTARTOFMONTH TOSTARTOFWEEK TOSTRING TOTAL TOTAL_CHANGES TOYYYYMM TOYYYYMMDD TO_CHAR TO_DATE TO_DAYS TO_HEX
    TO_JSON TO_JSONB TO_JSON_STRING TO_NUMBER TO_REGCLASS TO_TIMESTAMP TO_TSQUERY TO_TSVECTOR TRANSACTION_TIMESTAMP
    TRANSLATE TRIM TRUNC TRY_CAST TRY_CONVERT TRY_PARSE TS_RANK TYPEOF TYPE_NAME UCASE UNHEX UNICODE UNION UNIQ
    UNIQEXACT UNIXEPOCH UNIX_TIMESTAMP UNLIKELY UNNEST UPPER USER USING UTC_DATE UTC_TIMESTAMP UUID UUID_TO_BIN
    VALUES VARCHAR VARIANCE VAR_POP VAR_SAMP VERSION WEBSEARCH_TO_TSQUERY WEEK WEEKDAY WEEKOFYEAR WHEN WHERE
    WIDTH_BUCKET YEAR YEARWEEK YESTERDAY
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
_PASSED = frozenset({"TABLE", "ONLY", "IF", "EXISTS", "FROM", "BY", _STRANGE})
"""What may stand before a name, or around it."""
_ACTIONS = frozenset({"ADD", "ALTER", "CHANGE", "DROP", "MODIFY", "RENAME"})
"""What may follow a comma in place of a name."""
_DESCRIBES = re.compile(
    r"\s*\\(?:d[a-zA-Z]*\+?|l\+?|conninfo|x|timing|encoding|q|s[fv]\+?|h|z)(?:[ \t]+[\w.*]+)?\s*", re.ASCII
)
_SHOWS = re.compile(
    r"\.(?:tables|schema|dump|fullschema|dbinfo|show|indexes|indices|databases|stats|timer|width|nullvalue|eqp|version|headers|mode|help|quit|exit)"
    r"(?:[ \t]+[\w.*]+)*[ \t]*",
    re.ASCII,
)
_SHOWN = re.compile(r"(?<!\s)\s*+\\G\s*+\Z")
"""How one client is told to show what is found, and the others are told nothing."""
_FILE = re.compile(r"'|\"[^\"]*[./]")
_TABLE = re.compile(
    r"'(?:(?:[^':]|:(?!//))*+://[^']*+|[^']*[.](?:CSV|TSV|PARQUET|JSONL?|NDJSON|DB|DUCKDB|XLSX|TXT)(?:[.]\w+)?)'",
    re.ASCII,
)
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


_MOST_NAMED = 20
"""So many names, and so many losses, are told: nobody reads more."""
_MANY = 64
"""Tokens that take as long as anything else that is counted."""
_READS = Statement(Tier.SAFE, "reads data")
_files, _accounts = operator.attrgetter("reads"), operator.attrgetter("secrets")
_RESTORE = "restore the database from a backup; without one the data is lost"


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
        why = "contains a client command that may run code or write files"
        found.append(Statement(Tier.DANGEROUS, why, reads=named))
    worst = max([_READS, *found], key=lambda s: s.tier)
    reads, secrets = (tuple(name for s in found for name in names(s)) for names in (_files, _accounts))
    impact = _told([s.impact for s in found if s.impact], "; ")
    return msgspec.structs.replace(worst, impact=impact, reads=reads, secrets=secrets)


def _statements(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for number, token in enumerate(_TOKEN.finditer(text)):
        if not number % _MANY:
            step()
        kind = token.lastgroup
        if kind is None:
            if token[0] == ";":
                found.append([])
            else:
                found[-1].append(token[0])
        elif kind != "noise":
            found[-1].append(_STRANGE)
    return [tokens for tokens in found if tokens]


def _statement(tokens: list[str]) -> Statement:
    step()
    words = [t.upper() for t in tokens]
    destroyed = _destroys(words, tokens)
    if destroyed is not None:
        return destroyed
    if any(_STRANGE in w for w in words):
        return Statement(Tier.DANGEROUS, "contains SQL that databases read differently")
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
    files, tables = [], _given_tables(words)
    for index, (name, after) in enumerate(itertools.pairwise(words)):
        opened = after == "(" and name in _READERS
        if (
            opened
            or (name in ("FROM", "JOIN", "SUMMARIZE") and _FILE.match(after))
            or (name == "," and _TABLE.fullmatch(after))
        ):
            file = "".join(tokens[index + 1 + opened : index + 2 + opened])
            if not _DATA.fullmatch(file):
                return Statement(Tier.DANGEROUS, "may read a file that it names as a table")
            files.append(file[1:-1])
        elif after == "(" and re.match(r"[A-Z_\"`]", name) and name not in _FUNCTIONS and index not in tables:
            return Statement(Tier.DANGEROUS, f"calls a database function ({name.lower()}) that may do more than read")
    return msgspec.structs.replace(_READS, reads=tuple(files), secrets=_secrets(words))


def _given_tables(words: list[str]) -> set[int]:
    """Tell where tables get names and columns in front of a query: `WITH a (x) AS (…), b (y) AS (…) SELECT …`."""
    found: set[int] = set()
    depth, last = 0, ""
    for index, word in enumerate(words if words[0] == "WITH" else []):
        if word in ("(", ")"):
            if depth == 0 and last not in _GIVING:
                found.add(index - 1)
            depth += 1 if word == "(" else -1
        elif depth == 0:
            if word not in _GIVING and last not in ("WITH", "RECURSIVE", ","):
                break
            last = word
    return found


def _secrets(words: list[str]) -> tuple[str, ...]:
    """Name the tables of accounts that are looked at, however they are quoted and spaced."""
    names = " ".join("'" if w.startswith("'") else w.strip('"`') for w in words).replace(" . ", ".")
    return tuple(dict.fromkeys(found.lower().strip() for found in _ACCOUNTS.findall(names)))


def _destroys(words: list[str], tokens: list[str]) -> Statement | None:
    if _DESTROYING.isdisjoint(words):
        return None
    losses = list(itertools.islice(_losses(words, tokens), _MOST_NAMED))
    return Statement(Tier.DESTRUCTIVE, losses[0], _told(losses, "; "), _RESTORE) if losses else None


def _losses(words: list[str], tokens: list[str]) -> Iterator[str]:
    """Say what is lost, for each part of a statement that destroys something."""
    for index, (word, kind) in enumerate(itertools.zip_longest(words, words[1:], fillvalue="")):
        if word == "DROP" and kind in _LOST:
            yield _dropped(kind, index, words, tokens)
        elif word == "TRUNCATE" and index == 0:
            yield f"empties {_named(words, tokens, 1)}"
        elif word in ("DELETE", "UPDATE") and _is_verb(words, index) and _hits_all(words[index:]):
            does = "deletes" if word == "DELETE" else "overwrites"
            yield f"{does} every row of {_named(words, tokens, index + 1)}"


def _dropped(kind: str, index: int, words: list[str], tokens: list[str]) -> str:
    names = _named(words, tokens, index + 2)
    if kind == "OWNED":
        return f"drops everything that {names} owns"
    several = ", " in names
    table = f" of {_named(words, tokens, 2)}" if kind == "COLUMN" and words[0] == "ALTER" else ""
    what = f"{kind.lower()}{'s' if several else ''} {names}{table}"
    return f"drops the {what} with everything in {'them' if several else 'it'}"


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


def _named(words: list[str], tokens: list[str], index: int) -> str:
    """Write the names that stand there, as in `a, b.c`."""
    names, open_ = [""], True
    for token, word in zip(tokens[index:], words[index:], strict=True):
        if word in _PASSED:
            continue
        if word == ",":
            names.append("")
            open_ = True
        elif word == ".":
            names[-1] += "."
            open_ = True
        elif open_ and word not in _ACTIONS:
            names[-1] += token.strip("\"'`")
            open_ = False
        else:
            break
    return _told([name for name in names if name], ", ") or "what it names"


def _told(texts: Sequence[str], between: str) -> str:
    """Join what is to be told, each once, and not all of it where that is too much."""
    once = list(dict.fromkeys(texts))
    more = [f"… ({len(once)} in all)"] if len(once) > _MOST_NAMED else []
    return between.join(once[:_MOST_NAMED] + more)

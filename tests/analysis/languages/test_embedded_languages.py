"""The small languages inside words: sed, awk, find and SQL. What is not understood is never safe."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.analysis.ir import Word
from assent.analysis.languages.awk import read_awk
from assent.analysis.languages.sed import read_sed
from assent.analysis.languages.sql import read_sql
from assent.analysis.programs.embedded_code import judge_word
from assent.analysis.programs.find_expression import read_find
from assent.model import UNKNOWN, Tier
from lines import operations


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "1,5p",
        "$d",
        "s/a/b/g",
        "s/a/b/2p",
        "s|/usr|/opt|",
        "s/[^/]*$//",
        "s/[]/]/x/",
        "s/[[:space:]]*$//",
        "s/\\//x/",
        "s/a\\nb/c/",
        "/a/,/b/p",
        "/a/I,+3d",
        "\\,x,p",
        "0~4d",
        "1~2!d",
        "/x/!s/a/b/",
        ":a;N;$!ba;s/\\n/ /g",
        ":a\nN\nba",
        "/a/{s/x/y/;p}",
        "y/abc/def/",
        "a hello",
        "1i\\\nhello\\\nworld",
        "c text",
        "# comment\np",
        "=;l;l 5;q;q 3;Q5",
        "n;N;g;G;h;H;x;D;P;z;F",
        "t;T end;b end",
        "1,$ s/a/b/ ; p",
        "s/a/b/ g # why\np",
        "/x/{N;ba};p",
        "/x/{y/a/b/ }",
        "s/\r$//",
        "",
    ],
)
def test_sed_that_only_prints(script: str) -> None:
    found = read_sed(script)
    assert (found.fault, found.writes, found.reads) == (None, (), ())


@pytest.mark.parametrize(
    ("script", "reads", "writes"),
    [
        ("w out", (), ("out",)),
        ("1,3w out", (), ("out",)),
        ("s/a/b/w out", (), ("out",)),
        ("s/a/b/gpw out", (), ("out",)),
        ("W out", (), ("out",)),
        ("r in", ("in",), ()),
        ("/x/R in", ("in",), ()),
        ("p;w a;b", (), ("a;b",)),
        ("#\\\nw out", (), ("out",)),
        ("r in\\\nw out", ("in\\",), ("out",)),
        ("s/a/b/ i;w out", (), ("out",)),
        ("a text\\\nmore\nw out", (), ("out",)),
    ],
)
def test_sed_files(script: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    found = read_sed(script)
    assert (found.reads, found.writes) == (reads, writes)


@pytest.mark.parametrize(
    "script",
    [
        "e",
        "1e touch x",
        "s/a/touch x/e",
        "s/a/b/ge",
        "p;e id",
        "k",
        "s/a/b",
        "s/a",
        "/a",
        "s",
        "s\\a\\b\\",
        ":a w out",
        "b x w out",
        "s/[/b/",
        "s/[\\]/x/e]/y/",
        "1,",
        "s/a/b/ e",
        "s/a/b/ q",
        "y/a/b/ i",
        "b}i;w out",
        "#\rw out",
        "a x\rw out",
        "s/[/]/w out\n/",
        "s,[a,],gw out\n,",
        "s7a7b7",
        "\\7a7p",
    ],
)
def test_sed_that_runs_or_is_not_understood(script: str) -> None:
    assert read_sed(script).fault


@settings(max_examples=60, deadline=None)
@given(st.text("spwe/[]a1,;:{}\\\n bgx!", max_size=14))
def test_sed_without_a_fault_writes_only_what_is_said(tmp_path_factory: pytest.TempPathFactory, script: str) -> None:
    found = read_sed(script)
    if found.fault or found.writes or "\n" in script[:1]:
        return
    folder = Path(tmp_path_factory.mktemp("sed"))
    subprocess.run(
        ["sed", script],
        cwd=folder,
        input=b"a1 b\nx\n",
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": "/usr/bin:/bin"},
    ) if ":" not in script else None
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "program",
    [
        "{print $1}",
        "{ print $1, $NF }",
        "NR==1",
        "$3 > 100 {print $1}",
        "$3 > 100 && $4 < 5",
        "/a|b/ {n++} END {print n/NR}",
        "/a\\/b/",
        "/[/]/ {print}",
        "{print ($1 > $2)}",
        "{ if ($1 > 5) print $2; else print $3 }",
        'BEGIN{FS=","} {print $2 "|" $3}',
        '{printf "%s\\n", $1}',
        '{gsub(/x/, "y"); print}',
        "{a[$1]++} END {for (k in a) print k, a[k]}",
        "!seen[$0]++",
        "length > 80",
        "{s+=$1} END {print s/2}",
        "{print $1 / 2 / 3}",
        "# > note\n{print}",
        "{print a[1] / 2}",
        "{print ($1 + $2) / 2 / 3}",
        "{if ($1) /x/; while (0) (a) / 2; print (f(1)) / 2}",
        "{gsub(/[][]/, x); gsub(/[^/]*$/, x); gsub(/[[:space:]]+$/, x); gsub(/[[(]|a]|[^]\\t]/, x)}",
        "function f(x) { return x*2 }\n{print f($1)}",
        "$1 ~ /x/ || $2 !~ /y/",
        "$1 > 2 &&\n$2 > 3 {print\n}",
        "{print $1,\n$2\nif (a >\nb) next}",
        "{print 0x1F + 1e3 - .5}",
        "",
    ],
)
def test_awk_that_only_prints(program: str) -> None:
    assert read_awk(program).fault is None


@pytest.mark.parametrize(
    "program",
    [
        'BEGIN{system("touch x")}',
        '{print > "x"}',
        '{print $1 >> "x"}',
        "{print $1, $2 > $3}",
        '{printf "%s", $1 > "x"}',
        '{print | "sh"}',
        '{print |& "sh"}',
        '"id" | getline x',
        '@load "x"',
        "{@f()}",
        '{print "a" "b" > "c"}',
        '/"/ {print > "x"}',
        '{print a/b > "/x/"}',
        '"unterminated',
        "/unterminated",
        "{print `x`}",
        '{print ($1) > "x"}',
        'BEGIN{print ENVIRON["A"]}',
        "BEGIN{for (k in ENVIRON) print k}",
        'BEGIN{ARGV[1]="x"}1',
        'BEGIN{ARGC=2; SYMTAB["ARGV"][1]="x"}1',
        'BEGIN{SYMTAB["A"]=1}',
        "BEGIN{for (k in FUNCTAB) print k}",
        "BEGIN{print PROCINFO[1]}",
        'BEGIN{print 1,\n2 > "x"}',
        'BEGIN{print 1 &&\n2 > "x"}',
        'BEGIN{print 1 ?\n2 :\n3 > "x"}',
        'BEGIN{print 1, # why\n2 > "x"}',
        'BEGIN{print(1,\n2) > "x"}',
        'BEGIN{printf("%s"\n, 2) >> "x"}',
        'BEGIN{case=4; print case /2; system("touch x") /1}',
        'BEGIN{0x1system("touch x")}',
        'BEGIN{1esystem("touch x")}',
        'BEGIN{extension("./x.so", "f")}',
        'BEGIN{if (1) /"/; system("touch x"); if (1) /"/}',
        'BEGIN{for (;i++ < 1;) /"/; system("touch x"); while (0) /"/}',
        'BEGIN{if (0) exit /"/; system("touch x"); if (0) exit /"/}',
        'BEGIN{switch (1) {case /"/: next; default: system("touch x"); case /"/: next}}',
        'BEGIN{x ~ /[\\]/"]/; system("touch x"); y ~ /[\\]/"]/}',
        'BEGIN{x ~ /[[:alpha:]/"]/; system("touch x"); y ~ /[[:alpha:]/"]/}',
        'BEGIN{x ~ /[[.a.]][/"]/; "; system(" ~ /"/}',
        'BEGIN{x ~ /a][/"]/; "; system(" ~ /"/}',
        '/[]/]"/ {system("touch x")} /"/',
        '/[^]/]"/ {system("touch x")} /"/',
        'BEGIN{print length /"/; system("touch x"); x=/"/}',
        '!length /="/ {system("touch x")} /"/',
        'BEGIN{x = switch (1) / 1; system("touch x"); y = 1 / 1}',
    ],
)
def test_awk_that_does_more_or_is_not_understood(program: str) -> None:
    assert read_awk(program).fault


@pytest.mark.parametrize(
    ("program", "files"),
    [
        ("/x/ {getline; print}", ()),
        ("NR%2 {getline next_one; print $0, next_one}", ()),
        ("BEGIN {while (getline > 0) n++; print n}", ()),
        ("BEGIN {if (getline a[n] && getline $2) print}", ()),
        ('BEGIN {while ((getline l < "x.txt") > 0) print l}', ("x.txt",)),
        ('BEGIN {getline < "x"; getline y<"z" }', ("x", "z")),
    ],
)
def test_awk_that_reads_on_demand_names_the_file(program: str, files: tuple[str, ...]) -> None:
    found = read_awk(program)
    assert found.fault is None
    assert found.reads == files


@pytest.mark.parametrize(
    ("program", "lines", "runs_input"),
    [
        ('BEGIN{system("rm -rf /")}', ("rm -rf /",), False),
        ('BEGIN { system( "a \\"b\\" \\\\ \\/" ) }', ('a "b" \\ /',), False),
        ("{system($0)}", (), True),
        ('{system("ls " $1)}', (), True),
        ('{system("\\x41")}', (), True),
        ('{print | "sh"}', ("sh",), False),
        ('{print |& "sh"}', ("sh",), False),
        ('{print | ("sh" x)}', (), True),
        ('{print (1 | "sh")}', (), True),
        ('"date" | getline x', ("date",), False),
        ('{while (("ls" | getline f) > 0) print f}', ("ls",), False),
        ('{x "date" | getline}', (), True),
        ("{cmd | getline}", (), True),
        ('{system("a"); system("b")}', ("a", "b"), False),
        ('{system("a"); system($1)}', ("a",), True),
    ],
)
def test_awk_that_runs_commands_names_them_or_says_that_it_makes_them(program, lines, runs_input):
    found = read_awk(program)
    assert found.fault == "runs commands from its program"
    assert (found.lines, found.runs_input) == (lines, runs_input)


@pytest.mark.parametrize(
    ("script", "lines", "runs_input"),
    [
        ("e", (), True),
        ("1e", (), True),
        ("1e rm -rf /", ("rm -rf /",), False),
        ("s/a/b/e", (), True),
        ("s/a/b/ge;p", (), True),
        ("e date\ns/a/b/e", ("date",), True),
    ],
)
def test_sed_that_runs_commands_names_them_or_says_that_it_reads_them(script, lines, runs_input):
    found = read_sed(script)
    assert found.fault == "runs commands from its script"
    assert (found.lines, found.runs_input) == (lines, runs_input)


def test_awk_that_prints_through_a_filter_names_the_line() -> None:
    found = read_awk('{print $1 | "sort -rn"} END {print NR | "cat 1>&2"; close("sort -rn")}')
    assert found.fault is None
    assert found.lines == ("sort -rn", "cat 1>&2")


@pytest.mark.parametrize(
    "program",
    [
        '{print | "sort; id"}',
        '{print | "sort $(id)"}',
        '{print | "sort" x}',
        '{print | "sort" > "y"}',
        '{print |& "sort"}',
        '{print | "sorted"}',
        '{print | "/bin/sort"}',
        "{print | x}",
        '{print ($1 | "sort")}',
        '{"sort" | getline}',
        '{x = $1 | "sort"}',
        '{print | "cat > y"}',
    ],
)
def test_awk_that_prints_to_anything_else_does_more(program: str) -> None:
    assert read_awk(program).fault


@pytest.mark.parametrize(
    "program",
    [
        "{getline x < $1}",
        "{getline x < y}",
        '{getline x < "a" "b"}',
        '{getline x < "a" b}',
        '{getline x < ("a" b)}',
        "{getline a[b[1]] < c}",
        "{getline a[b c] < d}",
        "{getline (x) < y}",
        "{getline x y < z}",
        '{getline x < "a\\x2fb"}',
        "{getline \\\n< x}",
        '{getline < "/inet/tcp/0/x/80"}',
        '"id" | getline',
        '{print getline > "x"}',
        '{print getline x > "y"}',
    ],
)
def test_awk_that_reads_what_it_does_not_name_does_more(program: str) -> None:
    assert read_awk(program).fault


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "select count(*), max(x) from a where b = 'c;d'",
        "SELECT * FROM a -- DROP TABLE a",
        "/* DROP TABLE a */ SELECT 1",
        "SHOW TABLES; DESCRIBE a;",
        "EXPLAIN SELECT 1",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a LIMIT 5) SELECT x FROM a",
        "with a as not materialized (select 1), b (y, z) as (select 1, 2) select count(*) from b",
        "select date_trunc('day', t), jsonb_path_query(d, 'a') from b",
        "SUMMARIZE 'a.csv'",
        "\\sf f",
        ".indices a",
        "BEGIN; SELECT 1; COMMIT",
        "PRAGMA table_info(a)",
        "\\dt",
        "\\d+ users",
        ".tables",
        ".schema users",
        "select 'drop table x'",
        'select "delete" from a',
        "select '#', '$$', '`', '[', ':x', '--x' from a",
        "select a::text, '12:30' from b -- why\n where c = N'x'",
        "select 1 --\n",
        ".headers on\n.mode column\nselect 1;",
        "\\d users\n",
        "START TRANSACTION; SELECT 1; ROLLBACK WORK",
        'select * from "Users"',
        "select `a` from `b` where c != 1",
        "select 1\\G",
        "EXPLAIN ANALYZE VERBOSE SELECT 1",
        "EXPLAIN (ANALYSE, BUFFERS) SELECT 1",
        "EXPLAIN CREATE TABLE a AS SELECT 1",
        "PRAGMA user_version",
        "PRAGMA integrity_check",
        "",
    ],
)
def test_sql_that_looks(text: str) -> None:
    found = read_sql(text)
    assert found.tier is Tier.SAFE, found.reason


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO a VALUES (1)",
        "DELETE FROM a WHERE id = 1",
        "UPDATE a SET b = 1 WHERE id = 2",
        "CREATE TABLE a (b int)",
        "SELECT * INTO b FROM a",
        "SELECT pg_read_file('x')",
        "SELECT writefile('x', 'y')",
        "COPY a TO PROGRAM 'sh'",
        "PRAGMA writable_schema = 1",
        "PRAGMA",
        "\\! sh",
        "\\copy a to x",
        ".shell sh",
        ".output x",
        "SELECT 1 \\gexec",
        "SELECT 'a\\'; SELECT 1",
        "SELECT '",
        "/*! DELETE */ SELECT 1",
        "WITH a AS (DELETE FROM b WHERE c = 1 RETURNING *) SELECT * FROM a",
        "WITH a(x) AS (SELECT pg_read_file('x')) SELECT * FROM a",
        "WITH a(x) AS (SELECT 1) SELECT b(1) FROM a",
        "WITH a(x) AS (SELECT 1) SELECT * FROM a, dblink('x') AS (y int)",
        "WITH a(x) AS (SELECT 1) FROM b, c(1)",
        "SELECT * FROM a, dblink('x') AS (y int)",
        "SUMMARIZE '/etc/passwd'",
        "GRANT ALL ON a TO b",
        "DROP INDEX a",
        "SELECT * FROM a FOR UPDATE",
        "select 1--1",
        "select 1 # '",
        "select 1 as $$",
        "select $x$",
        "select `a b` from b",
        "select `a`(1)",
        "select 1\\G select 2\\G",
        "select 'a\\G",
        "PRAGMA user_version = 5",
        "PRAGMA user_version(5)",
        "PRAGMA optimize",
        "EXPLAIN ANALYZE CREATE TABLE a AS SELECT 1",
        "EXPLAIN (ANALYZE) REFRESH MATERIALIZED VIEW a",
        "EXPLAIN ANALYZE",
        "EXPLAIN (",
        "select [a] from b",
        "select :x",
        "select :'x'",
        "select 1:::x",
        "select 1 & 2",
        "select {x}",
        "select !1",
        "select '''a' b ''', 1",
        'select """a" b """, 1',
        "select q'[it's]'",
        "select /* /* */ 1",
        "select /* 1",
        "select 1 /*!50000 + 1 */",
        "select 1 -- a\rselect 2",
        "select 1\n\\dt",
        "select 1;\n.tables",
        "\\dt\nselect 1",
        '\\d "',
        "select * from 'x'",
        "select * from 'https://x.example/a.csv'",
        "select * from a, 'https://x.example/a.csv'",
        "select * from read_csv('.env')",
        "select * from read_csv(a)",
        "select * from read_csv(",
        'select * from a join "x.csv" on 1',
        "select 1 exec xp_cmdshell 'x'",
        "BEGIN exec x",
        "START SLAVE",
        "ROLLBACK PREPARED 'x'",
        "select 1; set a = 1",
        "CREATE TABLE a (b int REFERENCES c ON DELETE CASCADE)",
    ],
)
def test_sql_that_changes_or_is_not_understood(text: str) -> None:
    found = read_sql(text)
    assert found.tier is Tier.DANGEROUS, found.reason


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("select * from 'a/x.csv' limit 5", ("a/x.csv",)),
        ("select * from READ_PARQUET('x.parquet') join 'b.json' using (id)", ("x.parquet", "b.json")),
        ("select * from a, 'x.csv'; describe select * from 'y.tsv.gz'", ("x.csv", "y.tsv.gz")),
        ("select 1", ()),
    ],
)
def test_sql_reads_files_that_it_names_as_tables(text: str, files: tuple[str, ...]) -> None:
    assert (read_sql(text).tier, read_sql(text).reads) == (Tier.SAFE, files)


@pytest.mark.parametrize(
    ("text", "impact"),
    [
        ("DROP TABLE users", "drops the table users with everything in it"),
        ("drop table if exists `users`", "drops the table users with everything in it"),
        ("DROP DATABASE app", "drops the database app with everything in it"),
        ("TRUNCATE users", "empties users"),
        ("TRUNCATE TABLE users", "empties users"),
        ("DELETE FROM users", "deletes every row of users"),
        ("delete from users where 1=1", "deletes every row of users"),
        ("delete from users where true", "deletes every row of users"),
        ("UPDATE users SET a = 1", "overwrites every row of users"),
        ("SELECT '--'; DROP TABLE users", "drops the table users with everything in it"),
        ("select 1; select 2; drop schema s", "drops the schema s with everything in it"),
        ("ALTER TABLE a DROP COLUMN b", "drops the column b of a with everything in it"),
        ("WITH a AS (DELETE FROM b RETURNING *) SELECT * FROM a", "deletes every row of b"),
        ("EXPLAIN ANALYZE DELETE FROM b", "deletes every row of b"),
        ("TRUNCATE", "empties what it names"),
        ("select 1--1; drop table u", "drops the table u with everything in it"),
        ("select 1 as $$; drop table x; select 1 as $$", "drops the table x with everything in it"),
        ("select $x$; drop table x; select $x$", "drops the table x with everything in it"),
    ],
)
def test_sql_that_destroys_names_what_it_hits(text: str, impact: str) -> None:
    found = read_sql(text)
    assert (found.tier, found.impact) == (Tier.DESTRUCTIVE, impact)
    assert found.rollback


def words(line: str) -> tuple[Word, ...]:
    return tuple(Word(w, splits="*" in w and "'" not in w) for w in line.replace("$", UNKNOWN).split())


@pytest.mark.parametrize(
    "line",
    [
        ". -name x",
        "-L . -type f -print0",
        ". ( -name a -o -name b ) -prune -o -print",
        ". ! -empty , -ls",
        "-O3 . -name x",
        "-D tree . -name x",
        "a b -newer c -printf %p",
        "",
    ],
)
def test_find_that_looks(line: str) -> None:
    found = read_find(words(line))
    assert (found.fault, found.deletes, found.commands, found.writes) == (None, False, (), ())


@pytest.mark.parametrize(
    "line",
    [
        ". -frob",
        "$ -name x",
        ". $",
        ". -name x y",
        ". -n$",
        ". -exec ls",
        ". -name *",
        "-- . -name x",
        ". -files0-from x",
    ],
)
def test_find_that_is_not_understood(line: str) -> None:
    assert read_find(words(line)).fault


def test_find_says_what_it_runs_writes_and_deletes() -> None:
    found = read_find(words("a -name x -exec rm {} ; -exec ls {} + -fprintf f %p -delete"))
    assert [[w.text for w in c] for c in found.commands] == [["rm", f"a/{UNKNOWN}"], ["ls", f"a/{UNKNOWN}"]]
    assert [w.text for w in found.writes] == ["f"]
    assert found.deletes
    assert found.tested
    assert not read_find(words(". -type f -delete")).tested
    assert [[w.text for w in c] for c in read_find(words("-exec echo + ;")).commands] == [["echo", "+"]]


@pytest.mark.parametrize("role", ["sed", "awk", "sql"])
def test_a_script_that_is_only_known_at_run_time_is_dangerous(role: str) -> None:
    for word in (Word(f"p{UNKNOWN}"), Word("p*", splits=True)):
        assert judge_word(role, word, "x").tier is Tier.DANGEROUS


def test_a_role_without_a_language_says_nothing() -> None:
    assert judge_word("read", Word("x"), "x").tier is Tier.SAFE


def test_a_table_of_passwords_is_a_secret_that_is_read() -> None:
    assert [o.resource for o in operations("psql -c 'select 1; table pg_shadow'") if o.secret] == ["pg_shadow"]
    assert not any(o.secret for o in operations("psql -c 'select 1; table pg_class'"))

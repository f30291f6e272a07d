"""What is not surely understood is unreadable, and what was found is still listed."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assent.model import UNKNOWN
from shell_lines import argvs, read
from work import steps

SYNTAX = [
    'echo "unterminated',
    "echo 'unterminated",
    "echo $'unterminated",
    "echo `unterminated",
    "ls $(",
    "ls ${x",
    "ls ${x:-y",
    "echo $((1+2",
    "((1+2",
    "ls )",
    "ls (a)",
    "(ls",
    "()",
    "{ ls",
    "{ }",
    "}",
    "ls;;",
    ";",
    "&",
    "| a",
    "a |",
    "a | ! b",
    "a |\n time b",
    "a &&",
    "a || ; b",
    "!",
    "time",
    "if a; fi",
    "if a; then b",
    "if ; then b; fi",
    "then",
    "while a; done",
    "for 1x in a; do b; done",
    "for x in a; b; done",
    "for x in a; { b; }",
    "for ((i=0; i<3); do b; done",
    "case x in a) b;; ",
    "case x in a b) c;; esac",
    "case x",
    "in",
    "]]",
    "[[ a",
    "[[ a ; ]]",
    "[[ a == (b ]]",
    "[[ (a ]]",
    "[[ a == *(b ]]",
    "[[ a == && b ]]",
    "f()",
    "f() a",
    "f() ! { a; }",
    "f() coproc a",
    "'f'() { a; }",
    "function",
    "function f",
    "coproc",
    "coproc time a",
    "coproc x while a",
    "coproc x {",
    "a >",
    "a > 2>&1",
    "a <<E",
    "a <<E\nb",
    "a <<$x\nb\n$x",
    "a <<E 'x\ny'\nb\nE",
    "a $(b <<E)\nc\nE",
    "a $(b <<E\nc\nE)\nE\n)",
    "a <<E\nb\\\nE\nE",
    "a <<E; b `c\nd`\nE",
    "a=(b",
    "a=(b)c",
    "> f a=(b)",
    "a[0]=(b)",
    "echo a=(b)",
    "echo @(a|b)",
    "a\\",
    "i\\\nf a; then b; fi",
    "e\\\ncho",
    '"$x\\\ny"',
    "cat\u00a0/etc/passwd",
    "a\u3000b",
]
CODE = [
    "echo ${HOME:b$i}",
    "echo $((b$i))",
    "echo $((${i}b))",
    "echo $(($i$j))",
    "x='a[$(b)]'; echo $((OSTYPE))",
    "echo hi >&'$(a)'",
    "echo ${x@P}",
    "echo ${x:=v}",
    "echo ${x=v}",
    "echo ${!x}",
    "echo ${!x*}",
    "echo ${ a; }",
    "echo ${x:-$(a)}",
    "echo ${x:-`a`}",
    'echo "${x:-`a`}"',
    "echo ${x#$(a)}",
    "echo ${x^^<(a)}",
    "echo ${x%>(a)}",
    "echo ${x:-$((1))}",
    "echo ${x:$(a)}",
    "echo ${x:a[0]}",
    "echo ${#x%y}",
    "echo ${x[$(a)]}",
    "echo \"${x:-'y;'}\"",
    "echo \"${x:-'y}'}\"",
    "echo \"${x:-$'\\'y'}\"",
    'echo "${x:-\'y"',
    "echo $[1+2]",
    "echo $((a[0]))",
    "echo $(('a'))",
    "echo $(($(a)))",
    "echo $((`a`))",
    "echo $((a); b)",
    "((a) ; b)",
    "x=$(cat f); echo $((x))",
    "x='a[$(b)]'; echo $((x))",
    "x='a[$(b)]'; echo $(($x))",
    "x='a[$(b)]'; echo ${y[x]}",
    "x='a[$(b)]'; echo ${y[$x]}",
    "x='a[$(b)]'; echo ${y:x}",
    "x='a[$(b)]'; y[x]=1",
    "x=y; echo $((x))",
    "read x; ((x++))",
    "for x in $(a); do echo $((x)); done",
    "for x in 1 'a[0]'; do echo $((x)); done",
    "a[$(b)]=c",
    "a[b c]=d",
    "a=([$(b)]=c)",
    "x='a[$(b)]'; y=([x]=1)",
    "x='a[$(b)]'; y=(1 ['x']=1)",
    "x='a[$(b)]'; y+=([x]=1)",
    "x='a[$(b)]'; f() { local y=([x]=1); }; f",
    "x='a[$(b)]'; y[0]=1; declare 'y=([x]=1)'",
    "y=(1); declare y='($(b))'",
    'y+=(1); typeset y="$x"',
    "declare y='($(b))'",
    "declare y='(`b`)'",
    "declare -a y; declare y=$(a)",
    "declare -A y; declare y=$x",
    "f() { declare y=$x; }; y=(1); f",
    "declare DIRSTACK=$x",
    "mapfile -t y < a; declare y='(a)'",
    "read -a y <<< a; declare y='(a)'",
    "read -ar y <<< a; declare y='(a)'",
    "coproc y { a; }; declare y='(a)'",
    "x='a[$(b)]'; a {y[x]}> c",
    "a {y[$(b)]}< c",
    "a {y[0]}<&-",
    "[[ -v 'a[$(b)]' ]]",
    "[[ -v $x ]]",
    "[[ 'a[0]' -eq 0 ]]",
    "[[ 0 -lt 'a[0]' ]]",
    "[[ $(a) -eq 0 ]]",
    "x='a[0]'; [[ x -eq 0 ]]",
    "test -v 'a[$(b)]'",
    "[ -v $x ]",
    "test x 'a[$(b)]'",
    "printf -v 'a[$(b)]' c",
    "read 'a[$(b)]'",
    "read $x",
    "mapfile 'a[0]'",
    "mapfile -C a b",
    "unset 'a[$(b)]'",
    "let 'a[$(b)]'",
    "let x=$(a)",
    "let 'x) y'",
    "declare 'a[$(b)]=c'",
    "declare -i 'x=a[0]'",
    "declare -i x; x='a[0]'",
    "declare -n x=y",
    "declare -l x=Y",
    "export $x",
    "wait -p 'a[0]'",
    "getopts a 'b[0]'",
    "set -k",
    "set +B",
    "set -o posix",
    "set $x",
    "shopt -s expand_aliases",
    "$'\\ufdd0'",
    "$'\\xff'",
    "$'\\x{41}'",
    "$'\\ud800'",
    "$'\\U00110000'",
    "$'\\c\u00e9'",
]


@pytest.mark.parametrize("line", SYNTAX)
def test_what_is_no_complete_shell_is_unreadable(line):
    assert read(line).unreadable


@pytest.mark.parametrize("line", CODE)
def test_what_may_run_code_unseen_is_unreadable(line):
    assert read(line).unreadable


READABLE = [
    "declare -A m; m=([my_key]=1 [b]=2); echo ${m[b]}",
    "x=5; y=([x]=1); echo ${y[x]}",
    "y=(1); declare z=$(a); local w='(none)'",
    "f() { local x=$(a); local -a y=(b c); }; f",
    "echo {a,b}>c",
    "echo {a[0]} > c",
    "((i++))",
    "((i+=2, j--, --k, ++l))",
    "echo $((1 + (2 * 3)))",
    "echo $(( $x + ${y} ))",
    "echo $((x == 3 ? 1 : 0))",
    "for ((i=0; i<3; i++)); do echo $((i*2)); done",
    "n=0; for f in *; do n=$((n+1)); done; echo $n",
    "n=$(wc -l < f); echo $((n * 2))",
    "s=$(date +%s); e=$(date +%s); echo $((e - s))",
    "for i in $(seq 1 5); do echo $((i + 1)); done",
    "for i in 1 2; do [[ $i -eq 1 ]]; done",
    "[[ $# -gt 0 && $x -eq 3 && y -lt 5 && -v z ]]",
    "[[ $x -eq 1 ]] || [ -v y ]",
    "test -v x",
    '[ "$x" = -v ]',
    "a[0]=x; a[i]=y",
    "let x=1 'y = x + 2' z=$w",
    "declare -i n=5; n=7; n=$((n+1)); export -n n",
    "mapfile -t a < f",
    "shopt -s globstar nullglob; shopt -o pipefail",
    "set -eu -o pipefail -- a",
    "set -x; set +x; set +o xtrace",
    "git commit -m 'a\u3000b \u00a0 c'",
    "echo '⚠️ 👨‍💻 é'",
    "cat <<E\n\u3000\nE",
]


@pytest.mark.parametrize("line", READABLE)
def test_everyday_lines_stay_readable(line):
    assert read(line).unreadable is None


def test_arithmetic_on_a_shadowed_counter_is_unreadable():
    assert read("wc() { cat f; }; n=$(wc -l); echo $((n))").unreadable


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rm x )", ["rm x"]),
        ('rm x "unterminated', ["rm x unterminated"]),
        ("ls; fi; rm x", ["ls", "rm x"]),
        ("if ls; rm x; done; rm y", ["ls", "rm x", "rm y"]),
        ("ls (rm x)", ["ls", "rm x"]),
        ("echo $((rm x); rm y)", ["rm x", "rm y", "echo ¿…"]),
        ("((rm x); rm y)", ["rm x", "rm y"]),
        ("for 1 in x; do rm y; done", ["x", "rm y"]),
        ("echo ${x:=$(rm y)}", ["rm y", "echo ¿…"]),
        ("echo $[`rm x`]", ["rm x", "echo $[¿]…"]),
        ("a\rb; rm x", ["a\ufffdb", "rm x"]),
        ("ls; echo `rm x", ["ls", "rm x", "echo ¿…"]),
        ("coproc x while rm y; do z; done", ["x while rm y", "z"]),
    ],
)
def test_commands_of_an_unreadable_line_are_still_found(line, found):
    assert read(line).unreadable
    assert argvs(line) == found


HIDDEN = [
    *(chr(code) for code in range(32) if chr(code) not in "\t\n"),
    "\x7f",
    "\x85",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2028",
    "\u2066",
    "\ufe0f",
    "\ufeff",
    "\U000e0041",
    "\U00100000",
    "\ud800",
    UNKNOWN,
]


@pytest.mark.parametrize("character", HIDDEN, ids=ascii)
@pytest.mark.parametrize("line", ["ls {}x", "echo '{}'", "# {}", "cat <<'E'\n{}\nE"])
def test_characters_nobody_sees_are_refused_everywhere(character, line):
    assert read(line.replace("{}", character)).unreadable
    assert UNKNOWN not in "".join(argvs(line.replace("{}", character)))


def test_a_refusal_names_the_character():
    assert "U+202E (right-to-left override)" in (read("ls \u202e").unreadable or "")
    assert "U+0000" in (read("ls \0").unreadable or "")
    assert "reserved" in (read(f"ls {UNKNOWN}").unreadable or "")


def test_a_line_that_is_too_long_is_not_parsed():
    script = read("rm " + "x" * 65_536)
    assert script.unreadable
    assert script.commands == ()


def test_a_line_of_too_many_commands_is_unreadable_but_most_are_listed():
    script = read("rm x;" * 5_000)
    assert script.unreadable
    assert len(script.commands) == 1_000


def test_braces_can_not_multiply_commands_for_ever():
    script = read(": {1..60}$(: {1..60}$(: {1..60}$(a)))")
    assert script.unreadable
    assert len(script.commands) == 1_000


def test_loops_that_keep_changing_are_given_up():
    changing = "for i in 1; do X=$X$i; Y=$Y$X; " * 20 + ":; " + "done; " * 20
    script = read("# " + "x" * 60_000 + "\n" + "Y=1; X=2; Z=3; " + changing)
    assert script.unreadable


def test_a_deep_stack_is_no_exception():
    def deep(levels):
        return read("echo $(((((a)))) )") if levels == 0 else deep(levels - 1)

    worst = None
    for levels in range(700, 990, 5):
        try:
            worst = deep(levels)
        except RecursionError:
            break
        if worst.unreadable == "the command is nested too deeply":
            break
    assert worst is not None
    assert worst.unreadable


NESTED = ["$(", "${x:-", "(", "{ ", "((", "$((", '"$(', "<(", "[[ (", "if ", "while ", "case x in a) ", "f() "]


@pytest.mark.parametrize("opening", [*NESTED, "! ", "time ", "coproc ", "function f ", "for x in $(", "x=("])
def test_unbounded_nesting_is_unreadable(opening):
    assert read(opening * 1_000).unreadable


def test_a_here_document_or_a_backquote_too_deep_is_unreadable():
    assert read("$(" * 32 + "a <<E\nb\nE\n" + ")" * 32).unreadable
    assert read("$(" * 32 + "`a`" + ")" * 32).unreadable
    assert read("$(" * 31 + "`a`" + ")" * 31).unreadable is None


def test_nesting_that_people_write_is_readable():
    line = "a"
    for _ in range(10):
        line = f'echo "$({line})"'
    assert read(line).unreadable is None


HOSTILE = [
    *NESTED, "`", ";", "a;", "a|", "a&&", "|", "&", "||", "&&", ")", "]]", "}", "<<a ", "<<a\n", "a=(", "$[", "for ",
    "{a,", "{a,b}", "{1..9}", '"', "'", "\\", "$", "!", "> ", ">a ", "2>&1 ", "a[", "[", "~:", "a=~:~", "~/a ",
    "$a", '"$a"', "${a[0]}", "${#a}", "*", "é ", "\n", " ", "#\n", "=~ ", "[[ a =~ ", "a=b ", "a=$a;", "X=$X$X;",
    'X="$X $X";', "$'\\x41'", "`a`", "a=`b`;", "$(<a)", "a <(b) ", "f(){ a;};", "(a)", "set -- a $@;", "cd a;",
    "a=(b $a);", "((a++));", "[[ a == b ]];", "case a in b) c;; esac;", "for x in a;do X=$X;", "<<E\nE\n", "{x}>a ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_for_hostile_input_is_bounded_by_its_length(piece):
    line = (piece * 65_536)[:65_536]
    taken = steps(lambda: read(line))
    assert taken < 20 * 65_536


@pytest.mark.parametrize("opening", ["", '"', "${x:-", '"${x:-', "$((", "$("])
@pytest.mark.parametrize("part", ["a$y", "a`b`", "a${z}", "a\\b", "a'b'", 'a"b"', "a;"])
def test_a_line_of_too_many_parts_is_unreadable_whatever_it_is_in_the_middle_of(opening, part):
    assert read(f"echo {opening}" + part * 15_000).unreadable


def test_a_long_here_document_is_readable_with_little_work():
    body = "".join(f"    def f{i}(self): return (self.x[{i}] or {{'a': \"`b` $(c\"}})\n" for i in range(1_000))
    line = f"cat > f.py <<'EOF'\n{body}EOF\npython f.py"
    read("cat > f.py <<'EOF'\nx\nEOF\npython f.py")  # what is made once is not counted
    assert steps(lambda: read(line)) < 1_000
    script = read(line)
    assert script.unreadable is None
    assert script.commands[0].redirects[1].target.text == body


PIECES = re.split(
    ";",
    "a;b;ls -l;$;{;};(;);[;];[[;]];<;>;<<E\n;\nE\n;|;&;&&;||;`;';\";\\;\n; ;#;!;=;x=;$(;${;$((;));((;$';if ;then ;fi;"
    "while ;do ;done;case x in ;esac;for x in ;f() ;function f ;time ;coproc ;~;*;,;..;1;+;-;:;@;%;^;eval ;cd ;"
    "set -- ;export ;declare ;read ;let ;unset ;shift ;pushd ;popd ;local ;printf -v ;é;\u3000",
)
SHELL = st.lists(st.sampled_from([*PIECES, ";", ";;"]), max_size=30).map("".join)


@given(st.one_of(st.text(), SHELL, st.binary().map(lambda raw: raw.decode(errors="surrogateescape"))))
@example("export \\")
def test_no_input_raises(line):
    script = read(line)
    for index, command in enumerate(script.commands):
        assert command.piped_from is None or command.piped_from < len(script.commands)
        assert all(feed < len(script.commands) for word in command.words for feed in word.feeds)
        assert index not in command.fed_by


@given(SHELL, SHELL)
def test_a_command_on_a_line_before_is_found_whatever_follows(first, then):
    if read(first).unreadable is None:
        found = argvs(first)
        assert argvs(first + "\n" + then)[: len(found)] == found or read(first + "\n" + then).unreadable

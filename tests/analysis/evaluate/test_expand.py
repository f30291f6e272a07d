"""Words are resolved as far as constants go, and no further."""

import pytest

from shell_lines import argvs, read, words

CONSTANT = [
    ("a'b'\"c\"\\d", ["abcd"]),
    ("'' \"\"", ["", ""]),
    ("'a b' \"a b\" a\\ b", ["a b", "a b", "a b"]),
    ('"a\\$b\\`c\\"d\\\\e\\f"', ['a$b`c"d\\e\\f']),
    ('"a \\\nb" "\\\n"', ["a b", ""]),
    ("$'a\\n\\t\\\\\\'\\\"\\?\\a\\b\\e\\E\\f\\r\\v'", ["a\n\t\\'\"?\a\b\x1b\x1b\f\r\v"]),
    ("$'\\x72\\155\\u0041\\U00000042'", ["rmAB"]),
    ("$'\\cA\\c?\\xc3\\xa9\\z\\u'", ["\x01\x7fé\\z\\u"]),
    ("$'a\\0b' $'\\x00'", ["a", ""]),
    ("$'\\c\\\\'", ["\x1c"]),
    ('$"touch"', ["touch"]),
    ("a$ $ \"$\" $% a$'b'", ["a$", "$", "$", "$%", "ab"]),
    (
        "{a,b}c x{1..3} {c..a} {01..03} {1..7..3} {3..1}",
        [
            "ac",
            "bc",
            "x1",
            "x2",
            "x3",
            "c",
            "b",
            "a",
            "01",
            "02",
            "03",
            "1",
            "4",
            "7",
            "3",
            "2",
            "1",
        ],
    ),
    ("{a} {a,b {} a{} {,} {a..} {1..b2}", ["{a}", "{a,b", "{}", "a{}", "{a..}", "{1..b2}"]),
    ("{a,{b,c}}d {{a,b},c} {a},b} {{a,b}}", ["ad", "bd", "cd", "a", "b", "c", "a}", "b", "{a}", "{b}"]),
    ("{-01..1} {1..3..0} {1..1..-2} {+1..2}", ["-01", "000", "001", "1", "2", "3", "1", "1", "2"]),
    ("'{a,b}' {a\\,b} \"{a,b}\" {'a,b',c}", ["{a,b}", "{a,b}", "{a,b}", "a,b", "c"]),
    ("{a..c}{x..}y {a..c..2}", ["a{x..}y", "b{x..}y", "c{x..}y", "a", "c"]),
    ("~ ~/x ~/'x y' a~ '~' \\~ ~'x'", ["/home/u", "/home/u/x", "/home/u/x y", "a~", "~", "~", "~x"]),
    ("x=~ x=a:~/b a:~ --x=~/y x=y=~/z", ["x=/home/u", "x=a:/home/u/b", "a:~", "--x=~/y", "x=y=~/z"]),
    ("~+ ~+/a {~,b}/c", ["/w", "/w/a", "/home/u/c", "b/c"]),
    ("\\* '*' \"?\" \\[a\\]", ["*", "*", "?", "[a]"]),
    ("[ ] a] [a", ["[", "]", "a]", "[a"]),
    ("é日本 ✅", ["é日本", "✅"]),
    ('$HOME ${HOME}/x "$HOME"', ["/home/u", "/home/u/x", "/home/u"]),
    ("$PWD ${PWD}", ["/w", "/w"]),
]


@pytest.mark.parametrize(("text", "expected"), CONSTANT)
def test_constants_are_what_bash_makes_of_them(text, expected):
    assert words(text) == expected


UNKNOWN = [
    ("$x", ["¿…"]),
    ('"$x"', ["¿"]),
    ("a${x}b", ["a¿b…"]),
    ('"a $x b"', ["a ¿ b"]),
    ('$1 "$1" $@ "$@" $* "$*" $0 $-', ["¿…", "¿", "¿…", "¿…", "¿…", "¿", "¿…", "¿…"]),
    ("$? $$ $# ${#x} ${#x[@]} ${#}", ["¿"] * 6),
    ('"$!" ${!}x', ["¿", "¿x"]),
    ("~root ~root/x ~-", ["¿", "¿/x", "¿"]),
    ("~:x", ["¿:x"]),
    ("*.py a? [a-z] x{a,*}", ["*.py…", "a?…", "[a-z]…", "xa", "x*…"]),
    ("[a'b'] \"[\"a]", ["[ab]…", "[a]"]),
    ("{1..99} {a..Z} {1..9999999999}", ["¿…", "¿…", "¿…"]),
    ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", ["¿…"]),
    ("{" + ",".join("abcdefghijklmnopqrstuvwxyz" * 3) + "}", ["¿…"]),
    ("{" * 2000, ["¿…"]),
    ("$x{a,b} {$x,b}c {$,b}x", ["¿…", "¿…", "¿…"]),
    ("${x}{a,b}", ["¿a…", "¿b…"]),
    ("$x$ a$y$", ["¿…", "¿…"]),
    ("${x:-y} ${x-y} ${x:+y} ${x:?y} ${f%.py} ${f##*/} ${x/a/b} ${x//a} ${x^} ${x,,}", ["¿…"] * 10),
    ('"${x:-y}" "${x:-"y z"}" ${x:-\'y z\'} ${x:-$y} ${x:-${y}} ${x:-a<b}', ["¿", "¿", "¿…", "¿…", "¿…", "¿…"]),
    ("${x:0:3} ${x: -1} ${x:(-1)} ${x:$y} ${@:2}", ["¿…"] * 5),
    ('${a[0]} "${a[@]}" "${a[*]}" ${a[i]} ${a[$i]} ${a[-1]}', ["¿…", "¿…", "¿", "¿…", "¿…", "¿…"]),
    ("${##} ${#%x}", ["¿…", "¿…"]),
    ('"${!a[@]}" ${!a[@]} "${!a[*]}"', ["¿…", "¿…", "¿…"]),
    ("\"${x//:/$'\\n'}\" \"${x%'.py'}\" \"${x//'a b'/_}\"", ["¿", "¿", "¿"]),
    ('$((x + 1)) "$((y))" $((16#ff + 0x1f))', ["¿", "¿", "¿"]),
]


@pytest.mark.parametrize(("text", "expected"), UNKNOWN)
def test_what_is_not_constant_is_unknown(text, expected):
    assert words(text) == expected


def test_without_a_home_a_tilde_is_unknown():
    assert words("~/x", home=None) == ["¿/x"]


def test_variables_of_the_caller_are_constants():
    assert words('$X "$X" $HOME', variables={"X": "a b", "HOME": "/h"}) == ["a", "b", "a b", "/h"]


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("$X", ("X",)),
        ('"$X$Y$X"', ("X", "Y")),
        ("${X:-$Y}", ("X", "Y")),
        ("$((X + $Y))", ("X", "Y")),
        ("~", ("HOME",)),
        ("$1$?", ()),
        ("'$X'", ()),
    ],
)
def test_a_word_names_the_outside_variables_it_takes(text, variables):
    assert read(f": {text}", home=None).commands[0].words[1].variables == variables


ASSIGNED = [
    ("X=rm; $X y", ["rm y"]),
    ("X='rm -rf'; $X / \"$X\"", ["rm -rf / rm -rf"]),
    ("X=' a  b '; : x${X}y", [": x a b y"]),
    ('X=; : $X "$X" a$X', [":  a"]),
    ("X='*'; : $X \"$X\"", [": *… *"]),
    ("X=a; X+=b; : $X", [": ab"]),
    ("X=a Y=$X; : $Y", [": a"]),
    ("X=a; Y=b$X; : $Y", [": ba"]),
    ("X=b; X=a ls $X", ["ls b"]),
    ("X=a ls; : $X", ["ls", ": ¿…"]),
    ("E=; X=a $E; : $X", [": a"]),
    ('X=b; X=a $U; : "$X"', ["¿…", ": ¿"]),
    ("X=~/a:~; : $X", [": /home/u/a:/home/u"]),
    ("X={a,b}; : $X", [": {a,b}"]),
    ('X=\\\n; : "$X"', [": "]),
    ("HOME=/h; : ~ $HOME", [": /h /h"]),
    ("set -- a 'b c'; : $1 $2 \"$2\" $3 ${2}", ["set -- a b c", ": a b c b c b c"]),
    ("set -- a 'b c'; : \"$@\" | : $@", ["set -- a b c", ": a b c", ": a b c"]),
    ('set -- a b; : "$*"; shift; : $1; shift 2; : $1', ["set -- a b", ": a b", "shift", ": b", "shift 2", ": ¿…"]),
    ("set a b; : $2; set -e; : $2; set -; : $2", ["set a b", ": b", "set -e", ": b", "set -", ": b"]),
    ('set - a; : $1; set --; : "$1"', ["set - a", ": a", "set --", ": "]),
    ("set -- $x; : $1", ["set -- ¿…", ": ¿…"]),
    ("shift; : $1", ["shift", ": ¿…"]),
    ("set -euo pipefail; X=a; : $X", ["set -euo pipefail", ": a"]),
    ("a=(x 'y z'); : ${a[0]} $a ${a[1]} \"${a[1]}\" ${a[5]}", [": x x y z y z"]),
    ('a=(x \'y z\'); : "${a[@]}" "${a[*]}" ${a[@]}', [": x y z x y z x y z"]),
    ('a=(); : "${a[@]}" $a', [":"]),
    ("a=(x); a+=(y); : ${a[1]}", [": y"]),
    ("a=(x *); : ${a[0]}", [": ¿…"]),
    ("a=([1]=x); : ${a[0]}", [": ¿…"]),
    ("a=(x); a[0]=y; : ${a[0]}", [": ¿…"]),
    ("a=(x); a+=y; : $a", [": ¿…"]),
    ("b+=(y); : ${b[0]}", [": ¿…"]),
    ("a=(x y); : ${a[i]} ${a[-1]}", [": ¿… ¿…"]),
    ("export X=a Y; : $X", ["export X=a Y", ": a"]),
    ('export X=$(a b); : "$X"', ["a b", "export X=¿", ": ¿"]),
    ('export X=~/a "Y=b c"; : $X $Y', ["export X=/home/u/a Y=b c", ": /home/u/a b c"]),
    (
        "declare -x X=a; typeset Y=b; readonly Z=c; : $X $Y $Z",
        ["declare -x X=a", "typeset Y=b", "readonly Z=c", ": a b c"],
    ),
    ('declare X+=a; : "$X"', ["declare X+=a", ": ¿"]),
    ("declare -a a=(x y) b+=(z); : ${a[0]}", ["declare -a a=(x y) b+=(z)", ": ¿…"]),
    ("command export X=a; builtin export Y=b; : $X$Y", ["command export X=a", "builtin export Y=b", ": ab"]),
    ("command -p -- cd /x; command -v cd; pwd", ["command -p -- cd /x", "command -v cd", "pwd"]),
    ("command; X=a; : $X", ["command", ": a"]),
    ('readonly X=a; X=b; : "$X"', ["readonly X=a", ": ¿"]),
    ('declare -r X=a; X=b; : "$X"', ["declare -r X=a", ": ¿"]),
    ('RANDOM=5; : "$RANDOM"', [": ¿"]),
    ('unset X; : "$X"', ["unset X", ": "]),
    ('X=a; unset -v X; : "$X"', ["unset -v X", ": "]),
    ("X='a b'; IFS=x; : $X \"$X\"", [": ¿… a b"]),
    ('a=(x y); IFS=-; : "${a[*]}" ${a[@]}', [": ¿ ¿… ¿…"]),
    ("X=a; IFS= read -r l; : $X", ["read -r l", ": a"]),
    ("n=1; ((n++)); : $n", [": ¿"]),
    ('X=a; : {fd}> f; : "$fd"', [":", ": ¿"]),
    ("{ X=b; }; : $X", [": b"]),
    ("if X=b; then :; fi; : $X", [":", ": b"]),
    ("! X=b; : $X", [": b"]),
    ("X='a b'; case $X in *) : \"$X\";; esac", [": a b"]),
    ("X='a b'; : <<< $X; [[ $X ]]", [":", "[[ a b ]]"]),
]


@pytest.mark.parametrize(("line", "expected"), ASSIGNED)
def test_assignments_of_the_line_are_followed(line, expected):
    script = read(line)
    assert script.unreadable is None
    assert argvs(line) == expected


LOST = [
    "if a; then X=b; fi",
    "if X=b; then :; fi; if a; then X=c; fi",
    "if a; then :; elif X=b; then :; fi",
    "if a; then :; else X=b; fi",
    "a && X=b",
    "a || X=b",
    "a && b || X=b",
    "while a; do X=b; done",
    "for i in 1; do X=b; done",
    "for X in b; do :; done",
    "case a in b) X=b;; esac",
    "X=b | a",
    "a | X=b",
    "X=b &",
    "f() { X=b; }; f",
    "eval X=b",
    ". f",
    "source f",
    "command eval X=b",
    "read X",
    "read -a X",
    "read -p '? ' X",
    "read -p'? ' -- X",
    "printf -v X b",
    "printf -vX b",
    "printf $U b",
    "mapfile X",
    "mapfile -t X",
    "getopts ab X",
    "$U X=b",
    '"$U" X=b',
    "wait -n -p X",
    "trap 'X=b' DEBUG",
    "coproc a",
    "select X in a; do :; done",
    "let X=1",
    "((X=1))",
    "X=$(a)",
    "export X=$U",
    "X=b > f",
    "export X=b < f",
    "{ X=b; } > f",
    "local X=b",
]


@pytest.mark.parametrize("change", LOST)
def test_a_variable_that_may_have_changed_is_unknown(change):
    assert argvs(f'X=a; {change}\n: "$X"')[-1] == ": ¿"


KEPT = [
    "(X=b)",
    ": $(X=b)",
    "X=b ls",
    "f() { X=b; }",
    "trap 'X=b' EXIT",
    "a && b",
    "if a; then X=a; fi",
    "while a; do b; done",
    "for i in 1 2; do b; done",
    "printf '%s' b",
    "printf",
    "read",
    "read Y",
    "mapfile",
    "wait",
    "wait %1",
    "getopts ab",
    "export -p",
    "unset -f Y",
    "unset",
    "test -v X",
    "shopt -s nullglob",
    "set -x",
    "X=a > f",
    "ls > f",
    "{ ls; } > f",
    "f() { local X=b; }",
]


@pytest.mark.parametrize("change", KEPT)
def test_a_variable_that_can_not_have_changed_is_known(change):
    assert argvs(f'X=a; {change}\n: "$X"')[-1] == ": a"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("X=a; while true; do $X; X=b; done", ["true", "¿…"]),
        ('X=a; for i in 1 2; do : "$X"; e\\val X=b; done', [": ¿", "eval X=b"] * 2),
        ('X=a; while :; do : "$X"; f; f() { X=b; }; done', [":", ": ¿", "f"]),
        ("X=a; until b; do cd x; : $X; done", ["b", "cd x", ": a"]),
    ],
)
def test_a_loop_is_read_as_its_later_rounds_see_it(line, expected):
    assert argvs(line) == expected


def test_inside_a_function_nothing_is_known():
    assert argvs('X=a; f() { : "$X" $1; Y=b; : "$Y"; }')[-2:] == [": ¿ ¿…", ": b"]


def test_a_redirection_to_nowhere_can_not_fail():
    assert argvs("X=a; X=b 2> /dev/null; { X=$X; } > /dev/null 2>&1; : $X")[-1] == ": b"


def test_inside_a_function_a_local_variable_is_known():
    assert argvs('f() { local X=a; : "$X"; }')[-1] == ": a"


def test_after_a_chain_of_and_what_the_last_saw_is_not_certain():
    assert argvs('X=a && X=b && : "$X"; : "$X"') == [": b", ": ¿"]


def test_values_that_double_are_not_followed_for_ever():
    script = read("X=aaaaaaaa;" + "X=$X$X;" * 100 + ': "$X"')
    assert script.unreadable is None
    assert script.commands[-1].words[1].text == "\ufdd0"


def test_braces_are_not_followed_for_ever():
    script = read(": " + "{1..60} " * 1000)
    assert len(script.commands[0].words) < 20_000
    assert script.commands[0].words[-1].splits


LOOPED = [
    ("for f in src/*.py; do a $f; done", "a src/¿.py…"),
    ('for f in src/*.py; do a "$f"; done', "a src/¿.py"),
    ('for f in */; do a "$f"; done', "a ¿/"),
    ('for f in a/b* a/c?; do a "$f"; done', "a a/¿"),
    ('for f in a.py *.py; do a "$f"; done', "a ¿.py"),
    ('for f in aa a*a; do a "$f"; done', "a a¿a"),
    ('for f in a a*a; do a "$f"; done', "a a¿"),
    ('for f in a/$X.py a/*; do a "$f"; done', "a ¿"),
    ('for f in "a/$X.py" a/*.py; do a "$f"; done', "a a/¿.py"),
    ('for f in $(b); do a "$f"; done', "a ¿"),
    ('for f; do a "$f"; done', "a ¿"),
    ('select f in src/*; do a "$f"; done', "a ¿"),
    ('for f in src/*; do :; done; a "$f"', "a ¿"),
    ('for f in src/*; do f=$f.x; a "$f"; done', "a src/¿.x"),
]


@pytest.mark.parametrize(("line", "expected"), LOOPED)
def test_in_a_loop_over_names_it_is_known_how_each_begins_and_ends(line, expected):
    assert argvs(line)[-1] == expected


def test_braces_are_expanded_behind_a_declaration_and_not_in_an_assignment():
    assert argvs("declare x={a,b}; y $x")[-1] == "y b"
    assert argvs("x={a,b}; y $x")[-1] == "y {a,b}"
    assert "1" not in argvs("declare x={1..9}{1..9}{1..9}{1..9}{1..9}{1..9}; y $x")[-1]


def test_what_a_redirection_sets_may_not_be_set_afterwards():
    assert argvs("x=2; cat <<< $((x=1)); y $x")[-1] != "y 1"


def test_a_quote_inside_backquotes_may_let_braces_out():
    assert read('echo "`cat "{a,b}"`"').unreadable is not None
    assert read('echo "`cat \\"{a,b}\\"`"').unreadable is None
    assert read('echo "`cat "a"`"').unreadable is None


def test_a_quote_escaped_inside_backquotes_inside_a_sum_is_not_read():
    assert read('echo $((`x \\"a\\"`))').unreadable is not None
    assert read("echo $((`x a`))").commands[0].words[0].text == "x"

"""Every command of a line is found, wherever the syntax hides it."""

import pytest

from shell_lines import argvs, read, show_redirect

FOUND = [
    ("", []),
    ("# only a comment", []),
    ("ls", ["ls"]),
    ("ls -la src", ["ls -la src"]),
    ("a; b & c && d || e", ["a", "b", "c", "d", "e"]),
    ("a\nb\n\n# c\nd # e", ["a", "b", "d"]),
    ("a | b |& c", ["a", "b", "c"]),
    ("a |\n b &&\n c", ["a", "b", "c"]),
    ("(a; b)", ["a", "b"]),
    ("{ a; b; }", ["a", "b"]),
    ("! a", ["a"]),
    ("! ! a", ["a"]),
    ("time a", ["a"]),
    ("time -p -- a | b", ["a", "b"]),
    ("time { a; }", ["a"]),
    ("a | time b", ["a", "time b"]),
    ("coproc a x", ["a x"]),
    ("coproc N { a; }", ["a"]),
    ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
    ("while a; do b; done", ["a", "b"]),
    ("until a; do b; done", ["a", "b"]),
    ("for x in 1 2; do b; done", ["b", "b"]),
    ("for x; do b; done", ["b"]),
    ("for x in $(a); do b; done", ["a", "b"]),
    ("for ((i=0; i<3; i++)); do b; done", ["b"]),
    ("for ((i=0; i<3; i++)) do b; done", ["b"]),
    ("select x in a; do b; done", ["b"]),
    ("case $(a) in (b|c) d;; e) f;& *) g;;& esac", ["a", "d", "f", "g"]),
    ("case x in esac", []),
    ("case x in a) b; esac", ["b"]),
    ("case x in $(a)) ;; esac", ["a"]),
    ("f() { a; }", ["a"]),
    ("f() ( a )", ["a"]),
    ("function f { a; }", ["a"]),
    ("function f() { a; }", ["a"]),
    ("f() { a; } > x", ["a"]),
    ("echo $(a)", ["a", "echo ¿…"]),
    ("echo `a`", ["a", "echo ¿…"]),
    ("echo `a \\`b\\``", ["b", "a ¿…", "echo ¿…"]),
    ('echo "`a "b"`"', ["a b", "echo ¿"]),
    ('echo "x $(a "$(b)") y"', ["b", "a ¿", "echo x ¿ y"]),
    ("echo $()", ["echo"]),
    ("x=$(a)", ["a"]),
    ("x=(1 $(a))", ["a"]),
    ("x=(\n1 # one\n$(a)\n)", ["a"]),
    ("a > $(b)", ["b", "a"]),
    ("cat <<< $(a)", ["a", "cat"]),
    ("cat <<E\n$(a) `b`\nE", ["a", "b", "cat"]),
    ("cat <<'E'\n$(a) `b`\nE", ["cat"]),
    ("echo $((1 + 2))", ["echo 3"]),
    ("((1 + $(nproc)))", ["nproc"]),
    ("[[ -n $(a) ]]", ["a", "[[ -n ¿ ]]"]),
    ("[[ a == @(b|c) && x =~ ^(a|b)$ ]]", ["[[ a == @(b|c) && x =~ ^(a|b)$ ]]"]),
    ("[[ a =~ (b|c) || ( x != y ) ]]", ["[[ a =~ (b|c) || ( x != y ) ]]"]),
    ("[[ ( a < b ) || ! c ]]", ["[[ ( a < b ) || ! c ]]"]),
    ("diff <(a) <(b)", ["a", "b", "diff ¿ ¿"]),
    ("a > >(b)", ["b", "a"]),
    ("a\\\n  b", ["a b"]),
    ("a \\\n  b", ["a b"]),
    ("if\\\n a; then\\\n b; fi", ["a", "b"]),
    ("echo a#b # c", ["echo a#b"]),
    ("X=1 if a", ["if a"]),
    ("echo if then { } ! [[ ]]", ["echo if then { } ! [[ ]]"]),
    ("a <&-b", ["a b"]),
    ("{ls", ["{ls"]),
]


@pytest.mark.parametrize(("line", "expected"), FOUND, ids=[line for line, _ in FOUND])
def test_every_command_is_found(line, expected):
    assert argvs(line) == expected
    assert read(line).unreadable is None


THROUGH = [
    ("a", ()),
    ("(a)", ("(…)",)),
    ("{ a; }", ("{…}",)),
    ("echo $(a)", ("$(…)",)),
    ("echo `a`", ("`…`",)),
    ("cat <(a)", ("<(…)",)),
    ("cat >(a)", (">(…)",)),
    ('echo "$( (a) )"', ("$(…)", "(…)")),
    ("if a; then b; fi", ("if",)),
    ("while a; do b; done", ("while",)),
    ("until a; do b; done", ("until",)),
    ("for x in 1; do a; done", ("for",)),
    ("for ((;;)); do a; done", ("for",)),
    ("select x in 1; do a; done", ("select",)),
    ("case x in y) a;; esac", ("case",)),
    ("f() { a; }", ("function f",)),
    ("f() ( a )", ("function f", "(…)")),
    ("coproc a", ("coproc",)),
]


@pytest.mark.parametrize(("line", "through"), THROUGH)
def test_a_command_tells_the_layers_it_was_found_behind(line, through):
    assert read(line).commands[0].through == through


@pytest.mark.parametrize(
    ("line", "functions"),
    [
        ("ls", ()),
        ("f() { a; }; g() { b; }; f", ("f", "g")),
        ("function ls { rm x; }; ls", ("ls",)),
        ("(f() { a; })", ("f",)),
        ("alias ls=rm ll='ls -l'; ls", ("ls", "ll")),
        ("alias", ()),
        ("alias -p x", ()),
    ],
)
def test_names_that_the_line_defines_are_told(line, functions):
    assert read(line).functions == functions


PIPES = [
    ("a | b", [(), (0,)]),
    ("a | b | c", [(), (0,), (1,)]),
    ("a | { b; c; }", [(), (0,), (0,)]),
    ("{ a; b; } | c", [(), (), (0, 1)]),
    ("a | b $(c)", [(), (0,), (0,)]),
    ("a $(b) | c", [(), (), (1,)]),
    ("a | (b | c)", [(), (0,), (1,)]),
    ("(a | b) | c", [(), (0,), (1,)]),
    ("a; b", [(), ()]),
    ("a | b; c", [(), (0,), ()]),
    ("a > >(b)", [(1,), ()]),
    ("a | tee >(b | c) >(d)", [(), (4,), (1,), (4,), (0,)]),
    ("{ a; b; } > >(c)", [(2, 3), (), (), ()]),
    ("while read x; do b; done < <(a)", [(), (), (0,), (0,)]),
    ("a | while b; do c; done < f", [(), (0,), (0, 1), (0, 1)]),
    ("{ a; b; } < f", [(), (0,), (0,)]),
    ("{ a; b; } < /dev/null", [(), (), ()]),
]


@pytest.mark.parametrize(("line", "feeds"), PIPES)
def test_a_command_tells_whose_output_it_reads(line, feeds):
    commands = read(line).commands
    assert [command.fed_by for command in commands] == feeds
    assert [command.piped_from for command in commands] == [feed[-1] if feed else None for feed in feeds]


FEEDS = [
    ("x $(a)", (0,)),
    ("x $(a | b)", (1,)),
    ("x $(a; b)", (0, 1)),
    ("x $(a $(b))", (1,)),
    ("x $({ a; b; })", (0, 1)),
    ("x <(a)", (0,)),
    ('x "$(a)$(b)"', (0, 1)),
    ("y=$(a); x $y", (0,)),
    ("y=$(a); z=-$y; x $z$y", (0,)),
    ("for y in $(a); do x $y; done", (0,)),
    ("set -- $(a) b; x $2", ()),
    ("y=$(a); set -- $y; x $1", ()),
    ('y=$(a); set -- "$y"; x $1', (0,)),
    ("x ${y:-$(a)}", (0,)),
    ('y=ls; if z; then y=$(a); fi; x "$y"', (2,)),
]


@pytest.mark.parametrize(("line", "feeds"), FEEDS)
def test_a_word_tells_the_commands_whose_output_becomes_part_of_it(line, feeds):
    command = next(command for command in read(line).commands if command.words and command.words[0].text == "x")
    assert command.words[1].feeds == feeds


REDIRECTS = [
    ("a > f", ["write f"]),
    ("a >> f", ["write f"]),
    ("a >| f", ["write f"]),
    ("a &> f", ["write f"]),
    ("a &>> f", ["write f"]),
    ("a >& f", ["write f"]),
    ("a 5> f", ["write f"]),
    ("a {fd}> f", ["write f"]),
    ("a 2>&1", ["descriptor 1"]),
    ("a >&2-", ["descriptor 2-"]),
    ("a >&-", ["descriptor -"]),
    ("a > f- 2>& -", ["write f-", "descriptor -"]),
    ("a <&3", ["descriptor 3"]),
    ("a <&$x", ["descriptor ¿…"]),
    ("a >&$x", ["write ¿…"]),
    ("a <> f", ["both f"]),
    ("a < f", ["read f"]),
    ("a > $x", ["write ¿…"]),
    ('a > "$x"', ["write ¿"]),
    ("a > {b,c}", ["write ¿…"]),
    ("x=; a > $x", ["write ¿…"]),
    ("a > *.c", ["write *.c…"]),
    ("a > ~/x", ["write /home/u/x"]),
    ("a <<< 'b c'", ["here b c\n"]),
    ("a <<< $x", ["here ¿\n"]),
    ("a <<E\nb $x \\$y \\z\nE", ["here b ¿ $y \\z\n"]),
    ("a <<'E'\nb $x\nE", ["here b $x\n"]),
    ('a <<"E F"\nb\nE F', ["here b\n"]),
    ("a <<\\E\nb $x\nE", ["here b $x\n"]),
    ("a <<-E\n\tb\n\t\tc\n\tE", ["here b\nc\n"]),
    ("a <<E <<F\nb\nE\nc\nF", ["here b\n", "here c\n"]),
    ("a <<''\nb\n\n", ["here b\n"]),
    ("a <<E\nE", ["here "]),
    ("a <<E\nb\\\\\nE", ["here b\\\n"]),
    ("a <<E\nb \\\nc\nE", ["here b c\n"]),
    ("a <<E\nEx\nE", ["here Ex\n"]),
    ("> f", ["write f"]),
    ("x=1 > f", ["write f"]),
    ("[ a > f ]", ["write f"]),
    ("a 2> f b", ["write f"]),
    ("a 2 > f", ["write f"]),
]


@pytest.mark.parametrize(("line", "redirects"), REDIRECTS)
def test_a_redirect_tells_its_direction_and_target(line, redirects):
    script = read(line)
    assert script.unreadable is None
    assert [show_redirect(redirect) for redirect in script.commands[-1].redirects] == redirects


@pytest.mark.parametrize(
    ("line", "layer"),
    [
        ("{ a; } > f", "{…}"),
        ("( a ) > f", "(…)"),
        ("if a; then b; fi > f", "if"),
        ("while a; do b; done > f", "while"),
        ("for x in 1; do b; done > f", "for"),
        ("for ((;;)); do b; done > f", "for"),
        ("case x in y) a;; esac > f", "case"),
        ("((1)) > f", "{…}"),
        ("[[ a ]] > f", "{…}"),
    ],
)
def test_a_redirect_of_a_compound_is_a_command_without_words(line, layer):
    first = read(line).commands[0]
    assert [show_redirect(redirect) for redirect in first.redirects] == ["write f"]
    assert first.words == ()
    assert first.through == (layer,)


def test_a_redirect_of_a_function_body_is_kept():
    first = read("f() { a; } > f").commands[0]
    assert first.redirects[0].target.text == "f"
    assert first.through == ("function f", "{…}")


def test_assignments_alone_are_a_command_without_words():
    (command,) = read("X=1 Y=$Z").commands
    assert command.words == ()
    assert [(name, value.text, value.variables) for name, value in command.assignments] == [
        ("X", "1", ()),
        ("Y", "\ufdd0", ("Z",)),
    ]


def test_assignments_before_a_command_belong_to_it():
    (command,) = read("LD_PRELOAD=x.so ls -l").commands
    assert [(name, value.text) for name, value in command.assignments] == [("LD_PRELOAD", "x.so")]
    assert [word.text for word in command.words] == ["ls", "-l"]


#: line, which of its commands stand in a loop that nothing ends
ENDLESS = [
    ("while :; do a; done", "a"),
    ("while true; do a; done; b", "a"),
    ("until false; do a; done", "a"),
    ("for ((;;)); do a; done", "a"),
    ("for ((i=0;;i++)); do a; done", "a"),
    ("while ((1)); do a; done", "a"),
    ("while [ 1 ]; do a; done", "a"),
    ("until ((1)); do a; done", ""),
    ("while a; do b; done", ""),
    ("while :; do a; break; done", ""),
    ("for ((i=0;i<3;i++)); do a; done", ""),
    ("while a; true; do b; done", "a b"),
    ("while { true; }; do a; done", ""),
    ("for x in 1 2; do a; done", ""),
]


@pytest.mark.parametrize(("line", "found"), ENDLESS)
def test_a_loop_that_nothing_ends_is_marked(line, found):
    names = [c.words[0].text for c in read(line).commands if c.endless and c.words]
    assert " ".join(n for n in names if n in "ab") == found


def test_a_redirection_of_a_whole_knows_what_is_written_there():
    assert [c.writers for c in read("{ a; b | c; } > f").commands] == [(1, 3), (), (), ()]


#: line, what each command is with the arguments of the calls
CALLED = [
    ("f() { a $1 $2; }; f x y", ["a ¿… ¿…", "f x y", "a x y"]),
    ("f() { a $d; }; d=x; f", ["a ¿…", "f", "a x"]),
    ("f() { a $1; }; f $X", ["a ¿…", "f ¿…", "a ¿…"]),
    ("f() { shift; a $1; }; f x y", ["shift", "a ¿…", "f x y", "shift", "a y"]),
    ("f() { x=1; }; x=1; f; a $x", ["f", "a 1"]),
]


@pytest.mark.parametrize(("line", "found"), CALLED)
def test_a_function_is_read_with_the_arguments_of_its_calls(line, found):
    assert argvs(line) == found


def test_after_a_call_the_callers_own_arguments_are_there_again():
    assert argvs("set -- x y; f() { shift; }; f q; a $1")[-1] == "a x"


def test_functions_that_call_themselves_for_ever_are_not_followed():
    assert read("f() { f x; f y; }; f z").unreadable == "too many function calls to analyse"
    many = "f() { " + "a; " * 200 + "}; f; f"
    assert read(many).unreadable == "too many function calls to analyse"

"""Options: what is not on the list, not written out, or not known, is never safe."""

from __future__ import annotations

import pytest

from assent.analysis.ir import Word
from assent.analysis.programs.match import _Scan, match_words
from assent.catalog import Entry, entries
from assent.catalog.loader import Slice, parse_entry, slices
from assent.model import UNKNOWN

TEXT = """\
x:
  does: works
  tier: safe
  flags: -[abv] -NUM --all --verbose
  values: {-n --number: number, -o --output: write, --pair/2: read}
  optional: {-i --in-place: text}
  args: read*
"""


def entry(text: str = TEXT) -> Entry:
    return parse_entry(*slices("x.yaml", text))


def words(line: str) -> tuple[Word, ...]:
    return tuple(Word(w, splits=w.startswith("*") or UNKNOWN in w) for w in line.replace("$", UNKNOWN).split())


@pytest.mark.parametrize(
    ("line", "present", "values", "operands"),
    [
        ("-a -b f", {"-a", "-b"}, [], ["f"]),
        ("-ab f", {"-a", "-b"}, [], ["f"]),
        ("-abn 5 f", {"-a", "-b", "-n"}, ["5"], ["f"]),
        ("-an5 f", {"-a", "-n"}, ["5"], ["f"]),
        ("-n=5 f", {"-n"}, ["5"], ["f"]),
        ("--number 5 f", {"--number"}, ["5"], ["f"]),
        ("--number=5 f", {"--number"}, ["5"], ["f"]),
        ("f -a", {"-a"}, [], ["f"]),
        ("-a -- b -5", {"-a"}, [], ["b", "-5"]),
        ("-n -5 f", {"-n"}, ["-5"], ["f"]),
        ("-n -1.5 f", {"-n"}, ["-1.5"], ["f"]),
        ("-n - f", {"-n"}, ["-"], ["f"]),
        ("-n-x f", {"-n"}, ["-x"], ["f"]),
        ("--number=-x f", {"--number"}, ["-x"], ["f"]),
        ("-i -- f", {"-i"}, [], ["f"]),
        ("-5 f", {"-NUM"}, [], ["f"]),
        ("-i f", {"-i"}, [], ["f"]),
        ("-i.bak f", {"-i"}, [".bak"], ["f"]),
        ("--in-place f", {"--in-place"}, [], ["f"]),
        ("--in-place=.bak f", {"--in-place"}, [".bak"], ["f"]),
        ("--pair a b f", {"--pair"}, ["b"], ["f"]),
        ("- f", set(), [], ["-", "f"]),
    ],
)
def test_known_options_are_taken_apart(line: str, present: set[str], values: list[str], operands: list[str]) -> None:
    found = match_words("x", entry(), words(line))
    assert found.fault is None
    assert found.present == present
    assert [w.text for _, _, w in found.values] == values
    assert [w.text for w in found.operands] == operands


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("-z", "`-z` is not a known option of `x`"),
        ("-az", "`-z` is not a known option of `x`"),
        ("--zap", "`--zap` is not a known option of `x`"),
        ("--verbose=1", "`--verbose` of `x` takes no value"),
        ("--verb", "`--verb` abbreviates an option of `x`; write it out"),
        ("--a", "`--a` abbreviates an option of `x`; write it out"),
        ("-n", "`-n` of `x` has no value"),
        ("--pair a", "`--pair` of `x` has no value"),
        ("-n -x f", "the value of `-n` looks like an option; attach it to `-n`"),
        ("--number --all f", "the value of `--number` looks like an option; attach it to `--number`"),
        ("-n -- f", "the value of `-n` looks like an option; attach it to `-n`"),
        ("--pair -x b f", "the value of `--pair` looks like an option; attach it to `--pair`"),
        ("-n -1x f", "the value of `-n` looks like an option; attach it to `-n`"),
        ("-a -- f -x", "`-x` comes after `--` and could still be an option of `x`"),
        ("-i -- -x", "`-x` comes after `--` and could still be an option of `x`"),
        ("-n $", "the value of `-n` may be more than one word at run time"),
        ("$", "a word of `x` is known only at run time and could be an option"),
        ("-a$", "a word of `x` is known only at run time and could be an option"),
        ("*", "a word of `x` is known only at run time and could be an option"),
    ],
)
def test_everything_else_is_a_fault(line: str, fault: str) -> None:
    assert match_words("x", entry(), words(line)).fault == fault


def test_an_ambiguous_short_form_is_unknown() -> None:
    text = TEXT.replace("--verbose", "--verbose --version")
    assert match_words("x", entry(text), words("--ver")).fault == "`--ver` is not a known option of `x`"


def test_a_short_form_still_tells_what_its_value_is() -> None:
    found = match_words("x", entry(), words("--outp=f"))
    assert found.values[0][:2] == ("--output", "write")


def test_a_pure_program_takes_words_that_are_not_known_and_short_forms() -> None:
    pure = entry(TEXT.replace("tier: safe", "tier: safe\n  pure: true"))
    for line in ("$", "*", "-a$", "-$", "--$", "-n $", "--verb", "-n -x", "-n --", "-a -- -x"):
        assert match_words("x", pure, words(line)).fault is None
    assert match_words("x", pure, words("--zap")).fault is not None


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        ("-- -x", True),
        ("-a -- -x", True),
        ("-- -x -y", False),
        ("a -- -x", False),
        ("-i -- -x", False),
        ("-i -a -- -x", True),
    ],
)
def test_only_a_text_to_look_for_may_start_with_a_dash(line: str, fits: bool) -> None:
    search = entry(TEXT.replace("args: read*", "args: text read*"))
    assert (match_words("x", search, words(line)).fault is None) is fits


def test_behind_the_first_argument_dashes_are_not_the_programs_own() -> None:
    ordered = entry(TEXT + "  ordered: true\n")
    assert match_words("x", ordered, words("-- f -x")).fault is None
    assert match_words("x", ordered, words("-- -x f")).fault is not None
    runs = entry(TEXT + "  runs: words\n")
    assert match_words("x", runs, words("-- -x f")).fault is None


def test_a_line_given_with_an_equals_sign_can_be_read_in_two_ways() -> None:
    lines = entry(TEXT.replace("number, -o", "number, -c: line, -o"))
    assert match_words("x", lines, words("-c=f")).fault == "`-c=` of `x` is ambiguous"
    assert match_words("x", lines, words("-cf")).fault is None


def test_options_with_one_dash() -> None:
    single = entry(
        "x:\n  does: a\n  tier: safe\n  options: single\n  flags: -json\n  values: {-out: write}\n  args: text*\n"
    )
    for line in ("-json -out f", "--json --out=f", "-json -out=f a"):
        found = match_words("x", single, words(line))
        assert (found.fault, found.present) == (None, {"-json", "-out"})
    assert match_words("x", single, words("-js")).fault
    assert match_words("x", single, words("-j")).fault


def test_a_word_with_one_dash_may_be_one_option() -> None:
    mixed = entry("x:\n  does: a\n  tier: safe\n  flags: -br\n  values: {-type: text}\n  args: text*\n")
    found = match_words("x", mixed, words("-br -type A h"))
    assert (found.fault, found.present, [w.text for w in found.operands]) == (None, {"-br", "-type"}, ["h"])
    assert match_words("x", mixed, words("-bx")).fault == "`-bx` is not a known option of `x`"


def test_pairs() -> None:
    pairs = entry("x:\n  does: a\n  tier: safe\n  options: pairs\n  values: {if=: read}\n")
    found = match_words("x", pairs, words("if=a"))
    assert [(n, w.text) for n, _, w in found.values] == [("if=", "a")]
    assert match_words("x", pairs, words("zz=a")).fault == "`zz` is not a known argument of `x`"
    assert match_words("x", pairs, words("if")).fault
    assert match_words("x", pairs, words("-x")).fault == "`-x` is not a known argument of `x`"
    assert [w.text for w in match_words("x", pairs, words("-- -x")).operands] == ["-x"]


def levels(top: Entry) -> list[Entry]:
    """Every level once, also where it has several names."""
    children = {id(child): child for child in top.children.values()}.values()
    return [top, *(level for child in children for level in levels(child))]


@pytest.mark.parametrize("part", entries(), ids=lambda part: part.names[0])
def test_a_switch_is_found_at_once_as_it_is_found_the_long_way(part: Slice) -> None:
    for level in levels(parse_entry(part)):
        for spelling, option in level.switches.items():
            scan = _Scan("x", level, ())
            scan._option(Word(spelling))
            assert (scan.present, scan.values, scan.operands, scan.fault) == ({option}, [], [], None), spelling


def test_a_bundle_without_a_dash_takes_its_values_in_order() -> None:
    bundled = entry(
        "x:\n  does: a\n  tier: safe\n  options: bundled\n  flags: -[xz]\n"
        "  values: {-f: read, -C: cwd}\n  args: text*\n"
    )
    found = match_words("x", bundled, words("xfC a b c"))
    assert [(n, w.text) for n, _, w in found.values] == [("-f", "a"), ("-C", "b")]
    assert [w.text for w in found.operands] == ["c"]
    assert match_words("x", bundled, words("xq")).fault == "`q` is not a known option of `x`"
    assert match_words("x", bundled, words("-xz")).present == {"-x", "-z"}
    assert match_words("x", bundled, ()).fault is None


def test_subcommands() -> None:
    tree = entry(
        "x:\n  does: a\n  tier: safe\n  flags: -q\n  subcommands:\n"
        "    s:\n      does: b\n      tier: safe\n      flags: -z\n      args: text*\n"
        "    any: {does: c, tier: dangerous, options: any, args: text*}\n"
    )
    found = match_words("x", tree, words("-q s -z f"))
    assert (found.name, found.fault, found.present) == ("x s", None, {"-z"})
    assert found.parents == ((tree, {"-q"}, {"-q"}),)
    assert match_words("x", tree, words("t")).fault == "`x t` is not a known subcommand"
    assert match_words("x", tree, words("$")).fault
    assert match_words("x", tree, words("s -q")).fault
    assert [w.text for w in match_words("x", tree, words("any -z -q")).operands] == ["-z", "-q"]


def test_an_option_behind_an_argument_is_no_sure_one_unless_they_may_stand_anywhere() -> None:
    text = "x:\n  does: a\n  tier: safe\n  flags: -n -v\n  args: text*\n  when: [{unless: -n, tier: dangerous}]\n"
    found = match_words("x", entry(text), words("-v a -n"))
    assert (found.present, found.sure) == ({"-v", "-n"}, {"-v"})
    assert match_words("x", entry(text), words("-n a -v")).sure == {"-n"}
    assert match_words("x", entry(text + "  floating: true\n"), words("a -n")).sure == {"-n"}
    unguarded = entry("x:\n  does: a\n  tier: safe\n  flags: -n\n  args: text*\n")
    assert match_words("x", unguarded, words("a -n")).sure == {"-n"}


def test_where_options_may_stand_is_said_by_the_level_above_or_by_the_one_it_is_like() -> None:
    clauses = "when: [{unless: -n, tier: dangerous}]"
    tree = entry(
        "x:\n  does: a\n  tier: safe\n  floating: true\n  inherit: true\n  flags: -n\n  subcommands:\n"
        f"    s: {{does: b, tier: safe, args: text*, {clauses}}}\n"
        f"    t: {{does: b, tier: safe, args: text*, floating: false, {clauses}}}\n"
    )
    assert match_words("x", tree, words("s a -n")).sure == {"-n"}
    strict = match_words("x", tree, words("t a -n"))
    assert (strict.sure, strict.parents[0][1:]) == (set(), ({"-n"}, set()))


def test_options_end_at_the_command_that_is_run() -> None:
    runs = entry("x:\n  does: a\n  tier: safe\n  flags: -q\n  runs: words\n  skip: 1\n  args: text\n")
    found = match_words("x", runs, words("h -q cmd -z"))
    assert [w.text for w in found.operands] == ["h", "cmd", "-z"]
    ordered = entry("x:\n  does: a\n  tier: safe\n  flags: -q +\n  ordered: true\n  args: text*\n")
    found = match_words("x", ordered, words("-q +x cmd -q"))
    assert [w.text for w in found.operands] == ["cmd", "-q"]
    assert found.fault == "`+x` is not a known option of `x`"


@pytest.mark.parametrize(
    ("line", "present", "sure"),
    [
        ("--all=true f", {"--all"}, True),
        ("--all=false f", set(), True),
        ("--all --all=false f", {"--all"}, True),
        ("--all=1 f", {"--all"}, False),
        ("--all= f", {"--all"}, False),
        ("--all=$ f", {"--all"}, False),
    ],
)
def test_a_switch_may_be_written_out_where_the_entry_says_so(line: str, present: set[str], sure: bool) -> None:
    found = match_words("x", entry(TEXT + "  booleans: true\n"), words(line))
    assert (found.present, found.fault is None) == (present, sure)
    assert match_words("x", entry(), words(line)).fault is not None


@pytest.mark.parametrize(
    ("line", "values", "operands", "fault"),
    [
        ("-c f", ["f"], ["f"], False),
        ("-c f g", ["f"], ["f", "g"], False),
        ("-cf g", ["f"], ["g"], False),
        ("-c", [], [], False),
        ("-c -a", ["-a"], ["-a"], True),
        ("-d f g", ["f"], ["g"], False),
        ("-o f g", ["f"], ["g"], False),
        ("-d", [], [], True),
    ],
)
def test_a_word_behind_an_option_that_only_some_programs_give_a_value_counts_as_an_argument_too(
    line: str, values: list[str], operands: list[str], *, fault: bool
) -> None:
    known = entry(
        "x:\n  does: works\n  tier: safe\n  flags: -[aco]\n  values: {-c -d: text, -o: write}\n  args: read*\n"
    )
    found = match_words("x", known, words(line))
    assert ([w.text for _, _, w in found.values], [w.text for w in found.operands]) == (values, operands)
    assert (found.fault is not None) is fault


def test_a_command_that_is_run_keeps_its_words() -> None:
    known = entry("x:\n  does: works\n  tier: safe\n  flags: -c\n  values: {-c: text}\n  runs: words\n  args: text*\n")
    assert [w.text for w in match_words("x", known, words("-c f ls a")).operands] == ["ls", "a"]


def test_a_command_that_takes_no_arguments_gets_none_from_its_options() -> None:
    known = entry("x:\n  does: works\n  tier: safe\n  flags: -c\n  values: {-c: text}\n")
    assert match_words("x", known, words("-c f")).operands == ()

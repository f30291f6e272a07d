from __future__ import annotations

import json

import msgspec
import pytest

from assent.cli import exit_codes, main
from assent.cli.output.unparsed_part import find_unread
from assent.model import UNKNOWN, Decision

USER_FILE = """
permissions:
  allow: ["Bash(git push)"]
  ask: ["Bash(git push:*)"]
  deny: ["Bash(wget:*)"]
"""


def explained(capsys, *words: str) -> str:
    main(["explain", *words])
    return capsys.readouterr().out


def test_the_tree_shows_what_was_read_heard_and_decided(here, capsys):
    here.user_file.write_text(USER_FILE)
    out = explained(capsys, "ls && sudo wget x > /tmp/out")
    assert out.startswith("deny: ")
    assert "what it would do  Bash ls && sudo wget x > /tmp/out" in out
    assert "│  └─ ✗ sudo wget x  destructive: " in out
    assert "│     ├─ ! wget x  " in out
    assert "writes /tmp/out" in out
    assert f"deny  deny-rules: denied by Bash(wget:*)  [Bash(wget:*) @ user {here.user_file}:5]" in out
    assert "decided by  rule, the strictest opinion  (mode default, policy " in out
    assert f"rule: Bash(wget:*) @ user {here.user_file}:5" in out


def test_each_command_stands_below_the_one_that_runs_it(here, capsys):
    out = explained(capsys, "for i in 1; do timeout 5 bash -c 'date; echo a'; done; bash -c 'pwd'")
    start = out.index("│  ├─ for")
    assert out[start : out.index("├─ opinions")].splitlines() == [
        "│  ├─ for",
        "│  │  └─ ✓ timeout 5 bash -c 'date; echo a'  timeout runs a command for a limited time",
        "│  │     └─ ✓ bash -c 'date; echo a'  bash reads a line",
        "│  │        ├─ ✓ date  date shows the time",
        "│  │        └─ ✓ echo a  echo prints words",
        "│  └─ ✓ bash -c pwd  bash reads a line",
        "│     └─ ✓ pwd  pwd shows the working directory",
    ]


def test_the_classifiers_votes_are_counted_not_listed(here, capsys):
    out = explained(capsys, "date; pwd; npm test")
    assert "opinions  classifier: 2 allow, 1 ask\n" in out


def test_what_could_not_be_read_has_one_line(here, capsys):
    out = explained(capsys, "if true; then ls")
    assert out.count("`fi` is missing") == 2  # the head and its place in the tree
    assert "│  └─ ? not analysed: `fi` is missing" in out


def test_losers_say_what_overruled_them(here, capsys):
    here.user_file.write_text(USER_FILE)
    out = explained(capsys, "git push")
    assert "allow-rules: allowed by Bash(git push)" in out
    assert "(outweighed by the ask)" in out
    assert "(overruled: mode bypassPermissions)" in explained(capsys, "--mode", "bypass", "cat .env")


def test_losers_are_dimmed_where_there_is_colour(world):
    world.user_file.write_text(USER_FILE)
    out = world.run("explain", "git push", FORCE_COLOR="1", COLUMNS="200").out
    assert "\x1b[2mallow\x1b[0m" in out
    assert "\x1b[33mask\x1b[0m" in out


def test_piped_output_is_plain_and_does_not_wrap(world):
    out = world.run("explain", "ls " + "x" * 300).out
    assert "\x1b" not in out
    assert "x" * 300 in out


def test_what_could_not_be_read_is_marked(here, capsys):
    assert "not analysed: " in explained(capsys, "if then fi ((")
    assert "rewrite the command without computed names" in explained(capsys, "if then fi ((")


UNREAD = [
    ("ls && echo ${!x} && cat notes.txt", "echo ${!x}"),
    ("echo 'a;b' \"c | d\" | cat <(ls; pwd) | eval ${x@P}; ls", "eval ${x@P}"),
    ("if true; then ls", None),
    ("echo ${!x}", None),
    ("ls; " * 100 + "echo ${!x}", None),
]


@pytest.mark.parametrize(("line", "part"), UNREAD)
def test_the_part_that_could_not_be_read_is_named_where_it_is_one(here, capsys, line, part):
    assert find_unread(line) == part
    assert (part is not None and f"└─ in {part}\n" in explained(capsys, line)) or part is None


def test_what_is_not_known_is_shown_as_such_in_json(here, capsys):
    assert json.loads(explained(capsys, "--json", "echo $X"))["reading"]["operations"][0]["resource"] == "echo …"


def test_nothing_can_hide_in_the_tree(here, capsys):
    out = explained(capsys, "echo \x1b[2J\u202ehidden\u200b $X")
    assert not {"\x1b", "\u202e", "\u200b", UNKNOWN} & set(out)
    assert "\\x1b[2J\\u202ehidden\\u200b" in out
    assert "…" in out


def test_markup_is_no_markup(world):
    out = world.run("explain", "echo '[red]x[/red]'", FORCE_COLOR="1", COLUMNS="200").out
    assert "[red]x[/red]" in out


@pytest.mark.parametrize(
    ("words", "code"), [(["ls"], exit_codes.OK), (["npm test"], exit_codes.ASK), (["rm -rf /"], exit_codes.DENY)]
)
def test_the_exit_codes_are_those_of_check(here, words, code):
    assert main(["explain", *words]) == code


def test_json_is_the_whole_record(here, capsys):
    main(["explain", "--json", "ls && rm -rf /"])
    out = capsys.readouterr().out
    decision = msgspec.json.decode(out, type=Decision)
    assert decision.reading.destructive
    assert decision.opinions
    assert set(json.loads(out)) == set(Decision.__struct_fields__)


def test_a_tool_without_a_command_shows_its_input(here, capsys):
    assert 'Write {"file_path": "a.txt"}' in explained(capsys, "--tool", "Write", "a.txt")


def test_a_link_shows_where_it_leads(here, tmp_path, capsys):
    (here.project / "link").symlink_to(tmp_path / "elsewhere")
    assert f"(links to {tmp_path / 'elsewhere'})" in explained(capsys, "--tool", "Write", "link")


def test_a_destructive_part_names_its_impact(here, capsys):
    out = explained(capsys, "rm -rf /")
    assert "impact: " in out
    assert "to undo: " in out


def test_a_boundary_is_named(here, capsys):
    out = explained(capsys, "--mode", "on_failure", "npm test")
    assert out.startswith("sandboxed: runs in the sandbox: ")
    assert "sandbox: workspace-write" in out


def test_a_rule_that_only_may_match_says_so(here, capsys):
    here.user_file.write_text(USER_FILE)
    assert "firmly ask  deny-rules (may match)" in explained(capsys, "$X y")


def test_what_is_the_same_of_several_operations_is_said_once(here, capsys):
    (here.project / "src").mkdir()
    out = explained(capsys, "cd src; echo x > /etc/hosts")
    assert out.count("writes /etc/hosts") == 1
    assert "#3, #4\n" in out
    assert out.count("ask  write-path-policy") == 1
    assert "#3, #4 ask  write-path-policy" in out


def test_of_many_files_the_first_are_listed(here, capsys):
    out = explained(capsys, "cat " + " ".join(f"f{i}" for i in range(100)))
    assert out.count("✓ reads ") == 12
    assert "└─ … and 88 more like these (all of them with --json)" in out


def test_a_file_that_somebody_spoke_of_is_listed_and_opinions_end(here, capsys):
    out = explained(capsys, "rm " + " ".join(f"/srv/f{i}" for i in range(100)))
    assert out.count("! writes /srv/f") == 100
    assert out.count(" ask  write-path-policy") == 36
    assert "… and 64 more (all of them with --json)" in out


def test_an_opinion_on_very_many_operations_does_not_name_each(here, capsys):
    here.user_file.write_text("permissions: {ask: ['Read(**)']}")
    out = explained(capsys, "cat " + " ".join(f"f{i}" for i in range(100)))
    assert "#12, #13, … ask" in out

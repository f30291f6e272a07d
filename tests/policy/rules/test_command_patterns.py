"""Patterns over commands: which words an allow proves, and which a deny finds."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.model import UNKNOWN, Certainty, Rule, RuleError
from assent.policy.rules.match import compile_rule
from assent.policy.rules.patterns import compile_command, unquoted
from scenes import WS, judge, look, match, policy, rules, run, world, writes

YES, MAYBE, NO = Certainty.YES, Certainty.MAYBE, Certainty.NO

#: pattern, command, as an allow, as a deny
TABLE = [
    ("ls:*", "ls", YES, YES),
    ("ls:*", "ls -l", YES, YES),
    ("ls:*", "lsof", NO, NO),
    ("ls:**", "ls -l", YES, YES),
    ("ls *", "ls", YES, YES),
    ("ls *", "ls -l a", YES, YES),
    ("ls *", "lsof", NO, NO),
    ("ls*", "lsof -i", YES, YES),
    ("ls*", "ls", YES, YES),
    ("npm run test:*", "npm run test", YES, YES),
    ("npm run test:*", "npm run test -- -v", YES, YES),
    ("npm run test:*", "npm run test:unit", NO, NO),
    ("npm run test:unit", "npm run test:unit", YES, YES),
    ("npm run test:unit", "npm run test", NO, NO),
    ("git * main", "git push origin main", YES, YES),
    ("git * main", "git push origin main --force", NO, YES),
    ("git * main", "git push main", YES, YES),
    ("git * main", "git main", NO, NO),
    ("git * main:*", "git push origin main --force", YES, YES),
    ("git * main", "git push origin mainline", NO, NO),
    ("git * main", "gitk x main", NO, NO),
    ("g*t status", "git status", YES, YES),
    ("rm -rf /", "rm -rf /", YES, YES),
    ("rm -rf /", "rm -rf / --no-preserve-root", NO, YES),
    ("rm -rf /", "rm -rf", NO, NO),
    ("rm", "rm", YES, YES),
    ("rm", "rm x", NO, YES),
    ("*", "anything at all", YES, YES),
    ("**", "anything at all", YES, YES),
    (":*", "anything at all", YES, YES),
    ("ls:*", "/bin/ls -l", YES, YES),
    ("ls:*", "/usr/local/bin/ls", YES, YES),
    ("ls:*", "./ls", NO, YES),
    ("ls:*", "/tmp/ls", NO, YES),
    ("/usr/bin/ls:*", "/usr/bin/ls", YES, YES),
    ("/usr/bin/ls:*", "ls", NO, YES),
    ("git * main", "/usr/bin/git push main", NO, YES),
    ("ls:*", "LS", NO, NO),
    ("ls -L", "ls -l", NO, NO),
    # The colon behind the first word stands for the blank there.
    ("git:push", "git push", YES, YES),
    ("git:push", "git push origin", NO, YES),
    ("git:push", "git status", NO, NO),
    ("git:push*", "git push", YES, YES),
    ("git:push*", "git push --force origin main", YES, YES),
    ("git:push*", "git pull", NO, NO),
    ("git:push *", "git push", YES, YES),
    ("git:push *", "git push origin", YES, YES),
    ("git:push *", "git pushy", NO, NO),
    ("git:push:*", "git push origin", YES, YES),
    ("git: push", "git push", YES, YES),
    ("git:status", "git status", YES, YES),
    ("git:add *", "git add src/main.ts", YES, YES),
    ("npm:publish*", "npm publish --tag next", YES, YES),
    ("npm:run test:*", "npm run test -- -v", YES, YES),
    ("npm:run test:unit", "npm run test:unit", YES, YES),
    ("rm:-rf*", "rm -rf build", YES, YES),
    ("rm:-rf*", "rm build", NO, NO),
    ("cat:/etc/*", "cat /etc/hosts", YES, YES),
    ("curl:https://a.test/x", "curl https://a.test/x", YES, YES),
    ("/usr/bin/git:push*", "/usr/bin/git push origin", YES, YES),
    ("./run.sh:deploy *", "./run.sh deploy prod", YES, YES),
    ("bin/deploy:prod", "bin/deploy prod", YES, YES),
    ("R:-e*", "R -e x", YES, YES),
    ("'git:push'", "git push", NO, NO),
    ("rails db:migrate", "rails db:migrate", YES, YES),
    ("/opt/a:b/run", "/opt/a:b/run", YES, YES),
    ("docker run a:1", "docker run a:1", YES, YES),
    ("https://a.test", "https: //a.test", NO, NO),
    ("C:\\\\x", "C /x", NO, NO),
]


@pytest.mark.parametrize(("pattern", "command", "allow", "deny"), TABLE)
def test_a_pattern_matches_words_not_text(pattern, command, allow, deny):
    view = look(run(command))
    assert match(f"Bash({pattern})", view, broad=False) is allow
    assert match(f"Bash({pattern})", view, broad=True) is deny


#: pattern, words (`?` is what is only known at run time), as a deny
UNSURE = [
    ("rm:*", "? y", MAYBE),
    ("rm:*", "r? y", MAYBE),
    ("rm:*", "g? y", NO),
    ("rm:*", "/bin/? y", MAYBE),
    ("rm:*", "/usr/bin/r? y", MAYBE),
    ("rm:*", "/usr/bin/g? y", NO),
    ("rm:*", "?/sub y", MAYBE),
    ("rm:*", "ls ?", NO),
    ("rm:*", "rm ?", YES),
    ("git push:*", "git ?", MAYBE),
    ("git push:*", "git p? x", MAYBE),
    ("git push:*", "git ?b", MAYBE),
    ("git push:*", "git status ?", NO),
    ("git push:*", "? push", MAYBE),
    ("git * main", "git push ?", MAYBE),
    ("git * main", "? push main", MAYBE),
    ("git * main", "/usr/bin/? push main", MAYBE),
    ("git * main", "/usr/bin/git push ?", MAYBE),
    ("git * main", "ls ? main", NO),
    ("*", "?", YES),
]


@pytest.mark.parametrize(("pattern", "words", "answer"), UNSURE)
def test_what_is_not_known_may_be_anything_that_fits_its_beginning(pattern, words, answer):
    view = look(run(words.replace("?", UNKNOWN)))
    assert match(f"Bash({pattern})", view, broad=True) is answer


#: pattern, words in which the shell expands what it can, as a deny
EXPANDED = [
    ("rm:*", "*m y", MAYBE),
    ("rm:*", "r? y", MAYBE),
    ("rm:*", "r[m] y", MAYBE),
    ("rm:*", "/bin/r* y", MAYBE),
    ("rm:*", "g* y", NO),
    ("rm:*", "rm *", YES),
    ("git push:*", "git p*", MAYBE),
    ("git push:*", "git s*", NO),
    ("git * main", "git * main", YES),
]


@pytest.mark.parametrize(("pattern", "words", "answer"), EXPANDED)
def test_a_word_the_shell_expands_may_become_any_that_fits(pattern, words, answer):
    view = look(run(words))
    assert match(f"Bash({pattern})", view, broad=True) is answer
    said = [o.certainty for o in judge(view, policy(deny=[f"Bash({pattern})"])).opinions if o.policy == "deny-rules"]
    assert said == ([answer] if answer is not NO else [])


#: words of a program nobody knows, whether a deny of `rm` may be about them
OPAQUE = [
    ("wrapper rm x", MAYBE),
    ("wrapper -n 5 /bin/rm x", MAYBE),
    (f"wrapper {UNKNOWN} x", MAYBE),
    ("wrapper ls x", NO),
    ("wrapper", NO),
    ("rm wrapper", YES),
]


@pytest.mark.parametrize(("words", "answer"), OPAQUE)
def test_a_program_nobody_knows_may_run_what_its_words_name(words, answer):
    view = look(run(words, opaque=True))
    assert match("Bash(rm:*)", view, broad=True) is answer
    decision = judge(view, policy(mode="bypassPermissions", deny=["Bash(rm:*)"]))
    assert decision.verdict.value == {YES: "deny", MAYBE: "ask", NO: "allow"}[answer]
    if answer is MAYBE:
        assert match("Bash(rm:*)", look(run(words)), broad=True) is NO


@pytest.mark.parametrize(
    ("pattern", "words", "answer"),
    [("ls ?", "ls ?", NO), ("rm:*", "? y", NO), ("ls:*", "ls ?", YES), ("git * main", "git ? x", NO)],
)
def test_an_allow_counts_what_is_not_known_only_where_anything_goes(pattern, words, answer):
    view = look(run(words.replace("?", UNKNOWN)))
    sure = match(f"Bash({pattern})", view, broad=False) is YES
    assert sure is (answer is YES)


@pytest.mark.parametrize("pattern", ["rm:*", "rm * x", "/usr/bin/rm:*"])
def test_on_a_disk_that_ignores_case_a_deny_ignores_it_for_programs(pattern):
    folding = look(run("RM a x"), facts=world(case_insensitive=True))
    assert match(f"Bash({pattern})", folding, broad=True) is YES
    assert match(f"Bash({pattern})", folding, broad=False) is NO
    assert match(f"Bash({pattern})", look(run("RM a x")), broad=True) is NO


QUOTED = [
    ('git commit -m "a b"', ("git", "commit", "-m", "a b"), YES),
    ("git commit -m 'a b'", ("git", "commit", "-m", "a b"), YES),
    ("git commit -m a\\ b", ("git", "commit", "-m", "a b"), YES),
    ('echo "a \\" b"', ("echo", 'a " b'), YES),
    ("echo 'it''s'", ("echo", "its"), YES),
    ("echo don't", ("echo", "don't"), YES),
    ("echo '*'", ("echo", "*"), YES),
    ("echo '*'", ("echo", "anything"), NO),
    ("echo \\*", ("echo", "x"), NO),
    ("echo ''", ("echo", ""), YES),
    ("echo a*b '*'", ("echo", "aXb", "*"), YES),
    ("echo a*b '*'", ("echo", "aXb", "x"), NO),
    ("echo a.b*", ("echo", "aXb"), NO),
]


@pytest.mark.parametrize(("pattern", "argv", "answer"), QUOTED)
def test_quotes_in_a_pattern_hold_words_together_and_stars_still(pattern, argv, answer):
    assert compile_command(pattern).match(argv, broad=False) is answer


def test_no_word_can_pretend_to_be_two():
    pattern = compile_command("npm * --dry-run")
    assert pattern.match(("npm", "x", "--dry-run"), broad=False) is YES
    assert pattern.match(("npm", "publish\x1f--dry-run"), broad=False) is MAYBE
    assert pattern.match(("npm", "publish\x1f--dry-run"), broad=True) is MAYBE


_words = st.lists(st.sampled_from(("git", "push", "main", "-f", "x", "a b", UNKNOWN)), min_size=1, max_size=5)
_patterns = st.sampled_from([t[0] for t in TABLE] + [u[0] for u in UNSURE])


@given(_patterns, _words)
def test_what_an_allow_proves_a_deny_finds(pattern, argv):
    strict = compile_command(pattern).match(tuple(argv), broad=False)
    broad = compile_command(pattern).match(tuple(argv), broad=True)
    assert broad is YES if strict is YES else broad >= strict


def test_a_command_rule_is_about_commands_alone():
    view = look(run("rm x"), writes("/ws/x", owner=0))
    assert match("Bash(rm:*)", view, 1, broad=True) is NO
    assert match("Bash(rm:*)", view, 1, broad=False) is NO


def test_a_rule_for_the_whole_tool_denies_whatever_it_does_and_allows_commands_only():
    view = look(writes("/ws/x"), given={"command": "> x"})
    assert match("Bash", view, broad=True) is YES
    assert match("Bash", view, broad=False) is NO
    assert match("Bash", look(run("x")), broad=False) is YES
    assert match("Bash", look(writes("/ws/x"), tool="Write"), broad=True) is NO


def test_the_tool_s_name_alone_denies_a_line_of_redirections():
    view = look(writes("/ws/x"), given={"command": "> x"})
    assert judge(view, policy(deny=["Bash"])).verdict == "deny"


@pytest.mark.parametrize(
    "rule", ["Bash(rm:*)", "Bash(git * main)", "Write(/etc/**)", "Read(**/.env)", "Edit(x)", "WebFetch(domain:a.b)"]
)
def test_a_line_that_can_not_be_read_may_be_what_any_deny_is_about(rule):
    view = look(run("echo hi"), unreadable="it does not parse")
    assert match(rule, view, broad=True) is MAYBE
    assert match(rule, view, broad=False) is NO


def test_what_a_name_means_does_not_depend_on_the_line():
    view = look(run("echo hi"), unreadable="it does not parse")
    assert match("mcp__x__*", view, broad=True) is NO
    assert match("Edit", view, broad=True) is NO
    assert match("Bash", view, broad=True) is YES


def test_an_exception_does_not_excuse_the_unreadable_rest_of_a_line():
    whole = run("git status; ((")
    unread = look(run("git status"), _wordless(whole), unreadable="it does not parse")
    rule = rules("Bash(git:*)")[0]
    decision = judge(unread, policy(deny=[msgspec.structs.replace(rule, exceptions=("git status",))]))
    assert [o.certainty for o in decision.opinions if o.policy == "deny-rules"] == [MAYBE]


def _wordless(operation):
    return msgspec.structs.replace(operation, argv=())


@pytest.mark.parametrize("tool", ["Bash", "Read", "WebSearch"])
def test_a_rule_with_an_empty_pattern_is_no_rule(tool):
    with pytest.raises(RuleError, match="pattern inside parentheses is empty"):
        compile_rule(Rule(tool=tool, pattern=" "))


#: pattern, words, as a deny: the home directory by any of its names
AT_HOME = [
    ("rm -rf ~", ("rm", "-rf", "/home/dev")),
    ("cat $HOME/x", ("cat", "/home/dev/x")),
    ("cat ${HOME}/x:*", ("cat", "/home/dev/x", "y")),
    ("cat ~/*", ("cat", "/home/dev/a/b")),
]


@pytest.mark.parametrize(("pattern", "argv"), AT_HOME)
def test_a_pattern_may_name_the_home_directory(pattern, argv):
    operation = msgspec.structs.replace(run("x"), argv=argv)
    view = look(operation, facts=world(home="/home/dev"))
    assert match(f"Bash({pattern})", view, broad=True) is Certainty.YES
    assert (
        match(f"Bash({pattern})", look(run("cat /home/other/x"), facts=world(home="/home/dev")), broad=True)
        is Certainty.NO
    )


def test_a_deny_sees_a_subcommand_behind_options():
    operation = msgspec.structs.replace(run("git -C x push"), plain=("git", "push"))
    assert match("Bash(git push:*)", look(operation), broad=True) is Certainty.YES
    assert match("Bash(git push:*)", look(operation), broad=False) is Certainty.NO
    assert match("Bash(git pull:*)", look(operation), broad=True) is Certainty.NO


#: rule, what an opaque command mentions, whether a deny may be about it
MENTIONED = [
    ("Read(.env)", {"mentions": (f"{WS}/.env",)}, MAYBE),
    ("Write(/etc/**)", {"mentions": ("/etc/hosts",)}, MAYBE),
    ("Read(.env)", {"mentions": (f"{WS}/x", UNKNOWN)}, MAYBE),
    ("Read(.env)", {"mentions": (f"{WS}/.e{UNKNOWN}",)}, MAYBE),
    ("Read(.env)", {"mentions": (f"{WS}/{UNKNOWN}.py",)}, NO),
    ("Read(.env)", {"mentions": (f"{WS}/x",)}, NO),
    ("Read", {"mentions": (f"{WS}/x",)}, NO),
    ("Grep(.env)", {"mentions": (f"{WS}/.env",)}, NO),
    ("WebFetch(domain:x.example)", {"hosts": ("a.example", "x.example")}, MAYBE),
    ("WebFetch(domain:x.example)", {"hosts": (UNKNOWN,)}, MAYBE),
    ("WebFetch(domain:x.example)", {"hosts": ("a.example",)}, NO),
]


@pytest.mark.parametrize(("rule", "named", "answer"), MENTIONED)
def test_what_an_opaque_command_mentions_may_be_what_a_deny_is_about(rule, named, answer):
    view = look(run("prog", **named))
    assert match(rule, view, broad=True) is answer
    assert match(rule, view, broad=False) is NO
    decision = judge(view, policy(mode="bypassPermissions", deny=[rule]))
    assert decision.verdict.value == {MAYBE: "ask", NO: "allow"}[answer]


def test_a_deny_knows_a_program_by_its_plain_name():
    view = look(run("grm x", plain=("rm", "x")))
    assert judge(view, policy(mode="bypassPermissions", deny=["Bash(rm:*)"])).verdict.value == "deny"


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("a 'b;' c", "a  c"),
        ('a "b\\";" *', "a  *"),
        ("a \\; b", "a  b"),
        ("don't; go", "don't; go"),
        ('a "b; c', 'a "b; c'),
        ("a\\", "a\\"),
    ],
)
def test_what_is_quoted_is_left_out_and_a_quote_that_does_not_end_quotes_nothing(text, bare):
    assert unquoted(text) == bare

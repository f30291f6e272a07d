"""Rules as text: what parses, and the very words of what does not."""

from __future__ import annotations

import pytest

from assent.model import Layer, Origin, Rule, RuleError
from assent.policy.rules.parse import LONGEST_RULE, check_pattern, parse_pattern, parse_rule, parse_rules

WELL_FORMED = {
    "Bash": ("Bash", None),
    "  Bash  ": ("Bash", None),
    "Bash(ls)": ("Bash", "ls"),
    " Bash ( ls -l ) ": ("Bash", "ls -l"),
    "Bash(echo (a) b)": ("Bash", "echo (a) b"),
    "mcp__server__*": ("mcp__server__*", None),
    "WebFetch(domain:example.com)": ("WebFetch", "domain:example.com"),
    "Write(/tmp/a b/**)": ("Write", "/tmp/a b/**"),
    "Tool(())": ("Tool", "()"),
    "Bash(echo '(' \\) \")\")": ("Bash", "echo '(' \\) \")\""),
    "Write(/tmp/a(b)": ("Write", "/tmp/a(b"),
    "Bash(exec(x))": ("Bash", "exec(x)"),
}


@pytest.mark.parametrize(("text", "parts"), WELL_FORMED.items())
def test_a_rule_is_a_tool_and_perhaps_a_pattern(text, parts):
    rule = parse_rule(text)
    assert (rule.tool, rule.pattern) == parts


MALFORMED = {
    "": "Invalid permission rule: empty string",
    " \t ": "Invalid permission rule: empty string",
    "Bash(ls": 'Invalid permission rule "Bash(ls": missing closing parenthesis',
    "Bash(ls) x": 'Invalid permission rule "Bash(ls) x": missing closing parenthesis',
    "Bash(": 'Invalid permission rule "Bash(": missing closing parenthesis',
    "(ls)": 'Invalid permission rule "(ls)": tool name is empty',
    "  (ls)": 'Invalid permission rule "(ls)": tool name is empty',
    "()": 'Invalid permission rule "()": tool name is empty',
    "Bash()": 'Invalid permission rule "Bash()": pattern inside parentheses is empty',
    "Bash(Bash(npx)": 'Invalid permission rule "Bash(Bash(npx)": its parentheses do not match; '
    "put quotes around one that is meant",
    "Bash(npx))": 'Invalid permission rule "Bash(npx))": its parentheses do not match; '
    "put quotes around one that is meant",
    "Bash(npx) Bash(rm:*)": 'Invalid permission rule "Bash(npx) Bash(rm:*)": its parentheses do not match; '
    "put quotes around one that is meant",
    "Bash(deny: Read(x))": 'Invalid permission rule "Bash(deny: Read(x))": it holds another rule, of `Read`; '
    "write one rule at a time",
    "Bash(Bash(npx))": 'Invalid permission rule "Bash(Bash(npx))": it holds another rule, `Bash(npx)`; '
    "write `npx` alone",
    "Write(Write(src/**))": 'Invalid permission rule "Write(Write(src/**))": it holds another rule, '
    "`Write(src/**)`; write `src/**` alone",
    "Bash(  )": 'Invalid permission rule "Bash(  )": pattern inside parentheses is empty',
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.items())
def test_a_malformed_rule_is_refused_with_the_words_its_author_knows(text, message):
    with pytest.raises(RuleError) as caught:
        parse_rule(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("character", ["\x00", "\n", "\x1b", "\x7f"])
def test_control_characters_are_refused_and_never_shown_raw(character):
    with pytest.raises(RuleError, match="control characters are not allowed") as caught:
        parse_rule(f"Bash(ls{character}-l)")
    assert character not in str(caught.value)


def test_a_rule_may_be_long_but_not_too_long():
    longest = "Bash(" + "x" * (LONGEST_RULE - 6) + ")"
    assert len(parse_rule(longest).text) == LONGEST_RULE
    with pytest.raises(RuleError, match=f"longer than {LONGEST_RULE} characters") as caught:
        parse_rule(longest + ")")
    assert len(str(caught.value)) < 200


def test_a_rule_remembers_where_it_was_written():
    origin = Origin(Layer.PROJECT, "assent.yaml", 7)
    assert parse_rule("Bash(ls)", origin).ref == "Bash(ls) @ project assent.yaml:7"
    assert str(Origin(Layer.USER, "x.yaml")) == "user x.yaml"
    assert str(Origin()) == "user"


def test_a_list_is_read_in_order():
    assert parse_rules(["Bash", "Read(x)"]) == (Rule(tool="Bash"), Rule(tool="Read", pattern="x"))
    assert parse_rules([]) == ()


LISTS = {
    ("Bash", ""): "Permission rule at index 1 is invalid: Invalid permission rule: empty string",
    ("Bash(",): 'Permission rule at index 0 is invalid: Invalid permission rule "Bash(": missing closing parenthesis',
    ("Bash", "Read", 7): "Permission rule at index 2 is invalid: it is not a string",
    (b"Bash",): "Permission rule at index 0 is invalid: it is not a string",
    (None,): "Permission rule at index 0 is invalid: it is not a string",
}


@pytest.mark.parametrize(("texts", "message"), LISTS.items())
def test_an_error_in_a_list_names_the_place(texts, message):
    with pytest.raises(RuleError) as caught:
        parse_rules(texts)
    assert str(caught.value) == message


@pytest.mark.parametrize("given", [None, 5, {"Bash": 1}, b"Bash", object()])
def test_what_is_no_list_is_refused(given):
    with pytest.raises(RuleError, match=f"expected a list of rules, not {type(given).__name__}"):
        parse_rules(given)


def test_a_text_in_place_of_a_list_is_no_list_of_letters():
    with pytest.raises(RuleError, match='expected a list of rules, not the text "Bash"'):
        parse_rules("Bash")


PATTERNS = {
    "npm test:*": "Bash(npm test:*)",
    "Bash(npm test:*)": "Bash(npm test:*)",
    "Bash": "Bash",
    "Edit(src/**)": "Edit(src/**)",
    "python -c 'print(1)'": "Bash(python -c 'print(1)')",
}


@pytest.mark.parametrize(("text", "rule"), PATTERNS.items())
def test_a_pattern_is_a_whole_rule_or_what_stands_in_its_parentheses(text, rule):
    assert parse_pattern(text, "Bash").text == rule


@pytest.mark.parametrize(
    ("text", "hint"),
    {
        "Bash(npx": "missing closing parenthesis; did you mean `Bash(npx)`?",
        "Bash (npx": "missing closing parenthesis; did you mean `Bash (npx)`?",
        "Bash(npx))": "put quotes around one that is meant; write the pattern alone",
        "Bash()": "pattern inside parentheses is empty; write the pattern alone",
        "npx)": "put quotes around one that is meant",
        "()": "there is nothing inside the parentheses",
        "( )": "there is nothing inside the parentheses",
        "(())": "there is nothing inside the parentheses",
        "(npx)": "no command begins with a parenthesis",
        "() npx": "no command begins with a parenthesis",
        "Bash(())": "no command begins with a parenthesis; write the pattern alone",
    }.items(),
)
def test_a_malformed_pattern_is_no_rule_for_its_own_text(text, hint):
    with pytest.raises(RuleError) as caught:
        parse_pattern(text, "Bash")
    assert str(caught.value).endswith(hint)


def test_a_rule_is_no_pattern():
    check_pattern("src/**")
    with pytest.raises(RuleError, match="it holds another rule"):
        check_pattern("Write(src/**)")

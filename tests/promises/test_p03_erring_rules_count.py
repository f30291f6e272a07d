"""A rule that cannot be evaluated counts as matched if it denies or asks, as not matched if it allows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import msgspec
import pytest

from assent.model import Layer, Mode, Policy, Rule, RuleError, Session, ToolCall, Verdict
from cases import decide, engine_of, rule
from faults import break_everywhere, forget_everything, name_of, places, record_calls
from faults import code_of as code_behind
from toyworld import Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

CALLS = {
    "Bash": ToolCall(tool="Bash", input={"command": "npm install"}, cwd="/ws"),
    "Read": ToolCall(tool="Read", input={"file_path": "/ws/src/a.py"}, cwd="/ws"),
    "Write": ToolCall(tool="Write", input={"file_path": "/ws/src/a.py", "content": ""}, cwd="/ws"),
    "WebFetch": ToolCall(tool="WebFetch", input={"url": "https://example.com/", "prompt": ""}, cwd="/ws"),
    "mcp__srv__do": ToolCall(tool="mcp__srv__do", cwd="/ws"),
}
ELSEWHERE = {
    "Bash": rule("Bash(npm * --global)"),
    "Read": rule("Read(/ws/**/*.pem)"),
    "Write": rule("Write(/ws/**/*.pem)"),
    "WebFetch": rule("WebFetch(domain:*.example.com)"),
    "mcp__srv__do": rule("mcp__*__undo"),
}
"""Rules that come close and do not match: they speak only when they err."""


def _case(tool: str, effect: str, marked: Rule, mode: Mode = Mode.DEFAULT, layer: Layer = Layer.USER) -> Case:
    policy = Policy(layer=layer, mode=mode, **{effect: (marked,)})
    return Case(call=CALLS[tool], policies=(policy,), session=Session(workspace=("/ws",)))


def _failing_for(marked: Rule, original: Callable[..., object], raised: list[int]) -> Callable[..., object]:
    """Wrap a function so that it raises whenever it is handed that rule, or its pattern."""

    @functools.wraps(original)
    def run(*args: object, **kwargs: object) -> object:
        if any(_holds(value, marked) for value in (*args, *kwargs.values())):
            raised.append(1)
            raise RuntimeError("cannot be evaluated")
        return original(*args, **kwargs)

    return run


def _holds(value: object, marked: Rule) -> bool:
    return marked in (value, getattr(value, "rule", None))


def _matchers(case: Case, marked: Rule) -> Iterator[tuple[CodeType, Callable[..., object]]]:
    """Yield each function of the policy that is handed the rule while a decision is made."""
    forget_everything()
    engine = engine_of(case)
    seen = record_calls(lambda: decide(case, engine))
    handed = [code for code, calls in seen.items() if any(_holds(v, marked) for a in calls for v in a.values())]
    for code in handed:
        originals = [value for _, _, value in places() if code_behind(value) is code]
        if originals and callable(originals[0]):
            yield code, originals[0]


def _verdicts(case: Case, marked: Rule) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for code, original in list(_matchers(case, marked)):
        raised: list[int] = []
        engine = engine_of(case)
        with pytest.MonkeyPatch.context() as patch:
            break_everywhere(patch, code, _failing_for(marked, original, raised))
            verdict = decide(case, engine).verdict
        found |= {name_of(code): verdict} if raised else {}
    assert found, "no function was handed the rule"
    return found


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("mode", [Mode.DEFAULT, Mode.BYPASS])
def test_an_erring_deny_denies(tool, mode):
    marked = ELSEWHERE[tool]
    verdicts = _verdicts(_case(tool, "deny", marked, mode), marked)
    assert set(verdicts.values()) == {Verdict.DENY}, verdicts


@pytest.mark.parametrize("tool", CALLS)
def test_an_erring_ask_asks(tool):
    marked = ELSEWHERE[tool]
    verdicts = _verdicts(_case(tool, "ask", marked), marked)
    assert min(verdicts.values()) >= Verdict.ASK, verdicts


@pytest.mark.parametrize("tool", CALLS)
def test_an_erring_firm_ask_asks_in_bypass_too(tool):
    marked = msgspec.structs.replace(ELSEWHERE[tool], every_time=True)
    verdicts = _verdicts(_case(tool, "ask", marked, Mode.BYPASS), marked)
    assert min(verdicts.values()) >= Verdict.ASK, verdicts


@pytest.mark.parametrize("tool", CALLS)
def test_an_erring_allow_allows_nothing(tool):
    marked = Rule(tool=tool)
    verdicts = _verdicts(_case(tool, "allow", marked, Mode.STRICT), marked)
    assert decide(_case(tool, "allow", marked, Mode.STRICT)).verdict is Verdict.ALLOW
    assert Verdict.ALLOW not in verdicts.values(), verdicts


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_without_the_error_they_say_nothing(effect):
    for tool, marked in ELSEWHERE.items():
        assert decide(_case(tool, effect, marked, Mode.BYPASS)).verdict is Verdict.ALLOW


MALFORMED = (
    *(
        "Bash()",
        "Bash(\x00)",
        "Bash(\ufdd0)",
        "Read([)",
        "Read()",
        "Read({a,b)",
        "Write(\x00)",
        "WebFetch(domain:)",
    ),
    *("WebFetch(elsewhere)", "WebFetch(domain:*[)"),
)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_rule_is_refused_or_allows_nothing(text):
    marked = rule(text)
    tool = marked.tool
    for effect in ("deny", "ask", "allow"):
        try:
            engine = engine_of(_case(tool, effect, marked, Mode.STRICT))
        except RuleError:
            continue
        assert decide(_case(tool, effect, marked, Mode.STRICT), engine).verdict is not Verdict.ALLOW

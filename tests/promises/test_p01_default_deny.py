"""Nothing is allowed unless something says so: no error, unknown tool or unreadable text is a way through."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assent.model import Consent, Facts, Layer, Mode, Policy, Session, ToolCall, Verdict
from cases import decide, engine_of, rule
from faults import break_everywhere, forget_everything, name_of, record_calls
from toyworld import Case

promise = settings(max_examples=200, deadline=None)
LOOSE = (Mode.BYPASS,)
WATCHFUL = tuple(mode for mode in Mode if mode not in LOOSE)
WORKING = Session(workspace=("/ws",), user="ann", agent="bot", id="s1")


def _bash(line: object) -> ToolCall:
    return ToolCall(tool="Bash", input={"command": line}, cwd="/ws")


def _case(call: ToolCall, *policies: Policy, **more: object) -> Case:
    return Case(call=call, policies=policies, session=WORKING, **more)


PASSING = {
    "a safe command": _case(_bash("git status && ls -l src"), Policy(deny=(rule("Bash(rm:*)"),))),
    "an allowed command": _case(_bash("npm install"), Policy(allow=(rule("Bash(npm:*)"),)), hooks=(None,)),
    "a read": _case(ToolCall(tool="Read", input={"file_path": "/ws/src/a.py"}, cwd="/ws"), disk=True),
    "a write": _case(ToolCall(tool="Write", input={"file_path": "/ws/src/a.py", "content": "x"}, cwd="/ws")),
    "a fetch": _case(ToolCall(tool="WebFetch", input={"url": "https://example.com/", "prompt": "?"}, cwd="/ws")),
    "a contained command": _case(_bash("python x.py"), Policy(mode=Mode.AUTO), sandbox=True),
    "a bypass": _case(_bash("npm install > out.txt"), Policy(mode=Mode.BYPASS)),
    "a person's yes": Case(call=_bash("git push"), session=WORKING, consent=Consent(yes=True)),
}


@pytest.mark.parametrize("case", PASSING.values(), ids=PASSING)
def test_without_a_fault_it_passes(case):
    assert decide(case).verdict is Verdict.ALLOW


@pytest.mark.parametrize("error", [RuntimeError, RecursionError, KeyError, MemoryError])
@pytest.mark.parametrize("case", PASSING.values(), ids=PASSING)
def test_a_fault_in_any_function_is_never_a_way_through(case, error):
    raised: list[str] = []
    open_ways = []

    def fail(*_: object, **__: object) -> object:
        raised.append(name_of(code))
        raise error("broken on purpose")

    forget_everything()
    sound = engine_of(case)
    for code in record_calls(lambda: decide(case, sound)):
        if name_of(code).endswith("Engine.decide"):
            continue
        engine = engine_of(case)
        with pytest.MonkeyPatch.context() as patch:
            forget_everything()
            break_everywhere(patch, code, fail)
            decision = decide(case, engine)
        understood = decision.reading.unreadable  # too deep a nesting is a line that cannot be read
        if decision.verdict is Verdict.ALLOW and raised[-1:] == [name_of(code)] and not understood:
            open_ways.append(name_of(code))
    assert open_ways == []
    assert len(set(raised)) >= 10


def test_a_broken_world_is_never_a_way_through():
    from assent.policy.engine import Engine

    def unknown() -> Facts:
        raise OSError("no clock, no disk")

    def stuck(path: str) -> str | None:
        raise OSError(path)

    for facts in (unknown, lambda: Facts(resolve=stuck)):
        engine = Engine((), facts=facts, hooks=[], checks={}, host_policies=[])
        assert engine.decide(PASSING["a read"].call, WORKING).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("answer", ["raise", "nonsense", 7, ("maybe", "x"), (), {"verdict": "allow"}, True])
@pytest.mark.parametrize("who", ["hooks", "checks", "hosts"])
def test_a_hook_that_errs_is_never_a_way_through(who, answer):
    case = _case(_bash("git status"), **{who: (answer,)})
    assert decide(case).verdict is Verdict.DENY


@promise
@given(st.text(max_size=20), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_an_unknown_tool_is_never_allowed(name, arguments):
    for mode in WATCHFUL:
        case = _case(ToolCall(tool=f"zz{name}", input=arguments, cwd="/ws"), Policy(mode=mode), sandbox=True)
        assert decide(case).decision != "allow"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
tool_names = st.sampled_from(("Bash", "Read", "Write", "Edit", "WebFetch", "MultiEdit", "NotebookEdit", "apply_patch"))


@promise
@given(tool_names, st.dictionaries(st.text(max_size=6), json_values, max_size=3))
def test_a_known_tool_without_its_input_is_never_allowed(tool, arguments):
    arguments = {k: v for k, v in arguments.items() if k not in {"command", "path", "url"}}
    assert decide(_case(ToolCall(tool=tool, input=arguments, cwd="/ws"))).verdict is not Verdict.ALLOW


@promise
@given(json_values.filter(lambda v: not isinstance(v, str)))
def test_an_input_of_the_wrong_type_is_never_allowed(value):
    for tool, name in (
        ("Bash", "command"),
        ("Read", "file_path"),
        ("Write", "file_path"),
        ("WebFetch", "url"),
    ):
        assert decide(_case(ToolCall(tool=tool, input={name: value}, cwd="/ws"))).verdict is not Verdict.ALLOW


@pytest.mark.parametrize("mode", WATCHFUL)
@pytest.mark.parametrize(
    "line",
    [
        *(
            'echo "x',
            "echo 'x",
            "ls $(",
            "ls )",
            "ls (",
            "if ls",
            "ls <<<",
            "ls |",
            "&& ls",
            "ls ;; ls",
            "for x",
            "ls >",
        ),
        *(
            "`ls",
            "${x",
            "$((1",
            "case x",
            "ls && ",
            "{ ls",
            "ls }}} (",
            "\x00ls",
            "ls\x00",
            "ls \ufdd0",
            "f() {",
            "[[ x",
        ),
    ],
)
def test_unreadable_text_is_never_allowed(mode, line):
    for policy in (Policy(mode=mode), Policy(mode=mode, allow=(rule("Bash(ls:*)"), rule("Bash(echo:*)")))):
        assert decide(_case(_bash(line), policy)).decision != "allow"


@promise
@given(st.text(max_size=200))
def test_no_text_makes_the_engine_raise(line):
    for tool, name in (
        ("Bash", "command"),
        ("Read", "file_path"),
        ("WebFetch", "url"),
        ("Write", "file_path"),
    ):
        assert decide(_case(ToolCall(tool=tool, input={name: line}, cwd="/ws"))).verdict in Verdict


@pytest.mark.parametrize("size", [10**4, 10**5, 10**6])
@pytest.mark.parametrize("text", ["${", "$(", "((", "<<E\n", "'", "[[ ", "a=(", "{a,", "`", "ls;", "\\\n", "a|"])
def test_a_long_line_never_hangs_and_an_unreadable_one_is_never_allowed(size, text):
    decision = decide(_case(_bash(text * (size // len(text)) + "zz x")))
    assert decision.verdict is not Verdict.ALLOW


def test_no_policy_is_the_default_policy():
    verdicts = [decide(_case(_bash(line))).verdict for line in ("git status", "npm install", "rm -rf /")]
    assert verdicts == [Verdict.ALLOW, Verdict.ASK, Verdict.DENY]


def test_an_empty_layer_changes_nothing():
    for layer in Layer:
        assert decide(_case(_bash("npm install"), Policy(layer=layer))).verdict is Verdict.ASK

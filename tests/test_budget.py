"""No call takes as long as it likes to be read and decided: whatever it is made of, it is stopped, and then denied."""

from __future__ import annotations

import contextlib
import gc
import itertools
import threading

import pytest

from assent import Engine, Facts, Policy, Session, ToolCall, budget, parse_rules
from assent.analysis.evaluate.script import parse
from assent.catalog import loader
from assent.model import Consent, Grant, Mode, Source, Verdict
from assent.platform.cpu_clock import processor_time
from assent.platform.facts import Observer, observe
from slow import CALLS, LINES, LOADED, RULES, numbered
from work import steps

SESSION = Session(workspace=("/code",))
NOTHING_SAID = Consent()
TOO_LONG = "analysis exceeded"


def call_of(given):
    tool, arguments = ("Bash", {"command": given}) if isinstance(given, str) else given
    return ToolCall(tool=tool, input=arguments, cwd="/code")


def out_of_time():
    """Make a clock by which the time is up when it is looked at for the second time."""
    seen = itertools.count()
    return lambda: 1e9 * next(seen)


def walk(count):
    for _ in range(count):
        budget.step()


def world(clock=None):
    names = [(f"f{i}", False) for i in range(2_000)]
    return Facts(home="/home/u", resolve=str, names=lambda _: names, has_dashes=lambda _: False, clock=clock)


def engine(*rules, clock=None, **more):
    return Engine([Policy(deny=parse_rules(rules))], facts=lambda: world(clock), **more)


def decide(judge, given, *more):
    return judge.decide(call_of(given), SESSION, *more)


@pytest.mark.parametrize("given", [*LINES.values(), *CALLS.values()], ids=[*LINES, *CALLS])
@pytest.mark.parametrize("rules", [(), RULES], ids=["no rules", "rules"])
def test_it_is_stopped_soon_after_the_time_is_up(given, rules):
    decide(engine(*rules), LOADED)
    judge, call = engine(*rules, clock=out_of_time()), call_of(given)
    found = []
    # What is handed to a function of the interpreter's own as a whole is not counted: such things are quick.
    assert steps(lambda: found.append(judge.decide(call, SESSION))) < 20_000
    assert (found[0].verdict, found[0].decision_source) == (Verdict.DENY, Source.ERROR)
    assert TOO_LONG in found[0].decision_reason


@pytest.mark.parametrize("line", ["git status", "ls -la src | head -3", "cd a && grep -rn x . > /dev/null"])
def test_who_asks_for_little_costs_two_looks_at_the_clock(line):
    decide(engine(), line)  # what is loaded once is loaded
    looks = []
    assert decide(engine(clock=lambda: looks.append(0) or 0.0), line).verdict is Verdict.ALLOW
    assert len(looks) == 2  # when reading begins, and when deciding does


def test_what_is_done_in_time_is_decided():
    line = numbered("cat f#; ", most=200)
    assert decide(engine(clock=lambda: 0.0), line) == decide(engine(), line)
    assert decide(engine(clock=lambda: 0.0), line).verdict is Verdict.ALLOW


@pytest.mark.parametrize("mode", list(Mode))
def test_neither_a_mode_nor_a_person_lets_it_through(mode):
    policy = Policy(mode=mode, allow=parse_rules(["Bash"]))
    judge = Engine([policy], facts=lambda: world(out_of_time()))
    for consent in (Consent(), Consent(yes=True, destructive=True)):
        assert decide(judge, LINES["files"], consent).verdict is Verdict.DENY


def test_the_time_for_deciding_is_what_reading_left():
    now = [0.0]
    budget.start(lambda: now[0])
    now[0] = budget.LIMIT * 0.9
    walk(40)
    left = budget.stop()
    assert left == pytest.approx(budget.LIMIT * 0.1)
    now[0] = 100.0  # others were read meanwhile
    budget.start(lambda: now[0], left)
    now[0] += budget.LIMIT * 0.2
    with pytest.raises(budget.TookTooLongError):
        budget.check()
    budget.stop()


@pytest.mark.parametrize(("generation", "counts"), [(2, False), (0, True)])
def test_looking_for_garbage_in_all_that_a_process_holds_is_not_counted(generation, counts):
    now = [0.0]
    gc.callbacks.append(lambda phase, _: now.__setitem__(0, now[0] + (phase == "start")))
    try:
        budget.start(lambda: now[0])
        gc.collect(generation)
        walking = pytest.raises(budget.TookTooLongError) if counts else contextlib.nullcontext()
        with walking:
            walk(40)
        budget.stop()
        gc.collect()  # for nobody's call
    finally:
        gc.callbacks.pop()


def test_what_takes_long_in_few_steps_is_noticed_at_the_next_look():
    now = [0.0]
    budget.start(lambda: now[0])
    now[0] = 1.0
    with pytest.raises(budget.TookTooLongError):
        walk(20)
    budget.stop()


@pytest.mark.parametrize("rules", [[f"Bash(* --x{i}*)" for i in range(400)], [f"Read(**/*.s{i})" for i in range(400)]])
def test_rules_are_not_held_against_it_without_end(rules):
    line = numbered("cat f#; ", most=150)
    reading = decide(engine(), line).reading
    decide(engine(*rules), "cat f; frob")
    judge, found = engine(*rules, clock=out_of_time()), []
    assert steps(lambda: found.append(held(judge, reading, line))) < 12_000
    assert found[0] == held(engine(*rules, clock=out_of_time()), reading, line)
    assert (found[0].verdict, held(engine(*rules), reading, line).verdict) == (Verdict.DENY, Verdict.ALLOW)
    assert TOO_LONG in found[0].decision_reason


def test_neither_is_what_a_person_refused():
    (rule,) = parse_rules(["Bash(* --force*)"])
    refused = Consent(grants=(Grant(id="g", verdict=Verdict.DENY, rule=rule),))
    line = numbered("cat f#; ", most=5)
    reading = decide(engine(), line).reading
    assert held(engine(), reading, line, refused).verdict is Verdict.ALLOW
    assert TOO_LONG in held(engine(clock=out_of_time()), reading, line, refused).decision_reason


def held(judge, reading, line, consent=NOTHING_SAID):
    return judge.decide_read(reading, call_of(line), SESSION, consent)


def test_it_is_not_remembered():
    clock = [out_of_time()]
    judge = Engine(facts=lambda: world(clock[0]))
    line = numbered("cat f#; ", most=200)
    for _ in range(4):
        assert decide(judge, line).verdict is Verdict.DENY
        clock[0] = out_of_time()
    clock[0] = lambda: 0.0
    assert decide(judge, line).verdict is Verdict.ALLOW


def test_what_a_process_makes_ready_once_is_not_counted():
    def look_up():
        budget.start(itertools.count(step=budget.LIMIT * 0.6).__next__)
        for name in loader.names()[:200:10]:
            loader.lookup(name)
            walk(10)

    loader._parsed.clear()
    look_up()
    with pytest.raises(budget.TookTooLongError):
        look_up()
    budget.stop()


def test_what_is_made_ready_for_one_line_is_counted():
    """Here-documents have ends of their own, each looked for in a way of its own."""
    judge = engine(clock=itertools.count(step=budget.LIMIT * 0.6).__next__)
    line = numbered("cat <<E#\n$x\nE#\n", most=60)
    decide(engine(), "cat <<E\n$x\nE")
    assert TOO_LONG in decide(judge, line).decision_reason


def test_nobody_is_hurried_afterwards():
    decide(engine(clock=out_of_time()), LINES["files"])
    decide(engine(clock=out_of_time()), "ls")
    assert len(parse(numbered("cat f#; ", most=300)).commands) == 300
    assert decide(engine(), numbered("cat f#; ", most=200)).verdict is Verdict.ALLOW


def test_who_decides_meanwhile_has_time_of_its_own():
    """A host's own check may decide another call, and take as long as it likes."""
    inner = engine(clock=out_of_time())

    def check(_call, _session):
        assert decide(inner, LINES["files"]).verdict is Verdict.DENY

    assert decide(engine(clock=lambda: 0.0, hooks=[check]), numbered("cat f#; ", most=100)).verdict is Verdict.ALLOW


def test_each_thread_has_its_own_time():
    begun, done, verdicts = threading.Event(), threading.Event(), []

    def other():
        begun.wait()
        verdicts.append(decide(engine(clock=lambda: 0.0), numbered("cat f#; ", most=200)).verdict)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    budget.start(out_of_time())
    begun.set()
    done.wait(60)
    with pytest.raises(budget.TookTooLongError):
        walk(100)
    budget.stop()
    thread.join()
    assert verdicts == [Verdict.ALLOW]


def test_who_looks_at_the_world_has_a_clock():
    assert observe().clock is processor_time
    assert Observer()().clock is processor_time

"""A line that comes again is answered from memory, and never when anything that mattered has changed."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.budget import TookTooLongError
from assent.model import Consent, Facts, Grant, Session, Source, ToolCall, Verdict
from assent.platform.facts import Observer
from assent.policy import decision_cache
from assent.policy import engine as spine
from assent.policy.decision_cache import DecisionCache
from assent.policy.engine import Engine
from assent.policy.guard import SessionDecision
from assent.policy.rules.parse import parse_rule
from scenes import SESSION, policy, world

ALLOW, ASK, DENY = Verdict


def line(text: str, cwd: str = "/ws", **more) -> ToolCall:
    return ToolCall(tool="Bash", input={"command": text, **more}, cwd=cwd)


@pytest.fixture
def reads(monkeypatch):
    """Count how often a call is really read."""
    seen = []
    really = spine.read
    monkeypatch.setattr(spine, "read", lambda call, place: (seen.append(call), really(call, place))[1])
    return seen


def used(*policies, facts=world, **voices) -> Engine:
    """Return an engine that keeps the decision on a line as soon as it is made: every line has been seen."""
    engine = Engine(policies, facts=facts, **voices)
    engine._memory.expects = lambda _: True
    return engine


def test_a_line_is_kept_when_it_comes_again(reads):
    engine = Engine(facts=lambda: world(links={}))
    decisions = [engine.decide(line("ls -la && cat a"), SESSION) for _ in range(5)]
    assert len(reads) == 2
    assert all(decision == decisions[0] for decision in decisions)


def test_lines_that_come_once_are_not_kept():
    engine = Engine(facts=world)
    engine._memory = DecisionCache(most=10)
    for index in range(100):
        engine.decide(line(f"cat f{index}"), SESSION)
    assert len(engine._memory) == 0
    assert len(engine._memory._seen) <= 40


@pytest.mark.parametrize(
    "other",
    [
        line("ls -l"),
        line("ls", cwd="/ws/src"),
        line("ls", description="look"),
        line("ls", timeout=1),
        line("ls", timeout=True),
        line("ls", timeout=None),
        ToolCall(tool="exec", input={"command": "ls"}, cwd="/ws"),
        ToolCall(tool="Bash", input={"cmd": "ls"}, cwd="/ws"),
        msgspec.structs.replace(line("ls"), override=True),
    ],
    ids=repr,
)
def test_another_call_is_another_decision(reads, other):
    engine = used()
    first = engine.decide(line("ls"), SESSION)
    again = engine.decide(other, SESSION)
    assert len(reads) == 2
    assert again == Engine(facts=world).decide(other, SESSION)
    assert (again.digest == first.digest) is (other.override or other.tool == "exec")


@pytest.mark.parametrize("value", [1.0, ["a"], {"a": 1}], ids=repr)
def test_an_input_with_more_than_plain_values_is_decided_anew(reads, value):
    engine = used()
    for _ in range(2):
        engine.decide(line("ls", more=value), SESSION)
    assert len(reads) == 2


def test_values_that_are_equal_but_not_the_same_are_told_apart():
    engine = used()
    digests = {engine.decide(line("ls", timeout=value), SESSION).digest for value in (1, True, 0, False)}
    assert len(digests) == 4


@pytest.mark.parametrize(
    "session",
    [
        msgspec.structs.replace(SESSION, user="bob"),
        msgspec.structs.replace(SESSION, id="other"),
        msgspec.structs.replace(SESSION, workspace=("/other",)),
        msgspec.structs.replace(SESSION, interactive=False),
        msgspec.structs.replace(SESSION, run=True),
        Session(),
    ],
    ids=repr,
)
def test_another_session_is_another_decision(session):
    engine, fresh = used(), Engine(facts=world)
    engine.decide(line("make"), SESSION)
    assert engine.decide(line("make"), session) == fresh.decide(line("make"), session)


def test_another_guard_is_another_decision(reads):
    engine = used()
    assert engine.decide(line("make"), SESSION).verdict is ASK
    guard = engine.guard("Bash").remember(SessionDecision("allow", "execute", "make"))
    assert engine.decide(line("make"), SESSION, guard=guard).verdict is ALLOW
    assert engine.decide(line("make"), SESSION, guard=guard).verdict is ALLOW
    assert engine.decide(line("make"), SESSION).verdict is ASK
    refused = guard.remember(SessionDecision("deny", "execute", "make"))
    assert engine.decide(line("make"), SESSION, guard=refused).verdict is DENY


@pytest.mark.parametrize(
    "consent",
    [
        Consent(yes=True),
        Consent(destructive=True),
        Consent(grants=(Grant(id="g", rule=parse_rule("Bash(make)")),)),
    ],
    ids=["yes", "destructive", "grant"],
)
def test_what_people_said_is_weighed_anew(reads, consent):
    engine = used()
    engine.decide(line("make"), SESSION)
    for _ in range(2):
        assert engine.decide(line("make"), SESSION, consent) == Engine(facts=world).decide(
            line("make"), SESSION, consent
        )
    assert engine.decide(line("make"), SESSION).verdict is ASK


@pytest.mark.parametrize("kind", ["hooks", "host_policies", "checks"])
def test_voices_are_heard_each_time(kind):
    said = iter(["allow", "deny", "ask"])
    voices = [lambda *_: next(said)]
    engine = used(**{kind: {"Bash": voices} if kind == "checks" else voices})
    assert [engine.decide(line("ls"), SESSION).verdict for _ in range(3)] == [ALLOW, DENY, ASK]


def test_a_rule_that_expires_stops_counting():
    rules = tuple(
        msgspec.structs.replace(parse_rule(f"Bash({c})"), expires=e) for c, e in [("ls", 10.0), ("pwd", 20.0)]
    )
    now = [5.0]
    engine = used(policy(deny=rules), facts=lambda: world(now=now[0]))

    def verdicts():
        return [engine.decide(line(text), SESSION).verdict for text in ("ls", "pwd")]

    assert verdicts() == [DENY, DENY]
    for now[0], expected in [(9.9, [DENY, DENY]), (10.0, [ALLOW, DENY]), (19.0, [ALLOW, DENY]), (20.0, [ALLOW, ALLOW])]:
        assert verdicts() == expected
    now[0] = 5.0
    assert verdicts() == [DENY, DENY]


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"home": "/home/eve"}, "cat ~/x /home/dev/x"),
        ({"assent_paths": ("/ws/own",)}, "cat own/token"),
        ({"assent_files": ("/ws/f",)}, "echo x > f"),
        ({"assent_endpoints": ("127.0.0.1:80",)}, "curl http://127.0.0.1/"),
        ({"case_insensitive": True}, "cat SECRET/x"),
        ({"path": ("/ws/bin",), "is_program": lambda path: True}, "ls"),
        ({"exists": lambda path: True}, "sqlite3 x.db .tables"),
        ({"links": {"/ws/x": "/etc"}}, "cat x"),
        ({"sandbox": True}, "make"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, dict) else each,
)
def test_another_world_is_another_decision(known, text):
    facts = [world()]
    rules = policy(deny=["Read(/ws/secret/**)"], mode="auto")
    engine = used(rules, facts=lambda: facts[0])
    before = engine.decide(line(text), SESSION)
    facts[0] = world(**known)
    after = engine.decide(line(text), SESSION)
    assert after == Engine([rules], facts=lambda: world(**known)).decide(line(text), SESSION)
    assert after != before


# --- the real disk ---


class Disk:
    """A workspace on the real disk, and an engine that has a memory beside one that has none."""

    def __init__(self, root: Path, **rules) -> None:
        self.root = root
        self.ws = root / "ws"
        for folder in (self.ws / "bin", root / "home" / ".ssh", root / "out"):
            folder.mkdir(parents=True)
        self.now = 1000.0
        self.environ = {"HOME": str(root / "home"), "PATH": f"{self.ws}/bin:/usr/bin"}
        self.rules = [policy(**rules)]
        self.engine = used(*self.rules, facts=Observer(self.environ, now=lambda: self.now))
        self.session = msgspec.structs.replace(SESSION, workspace=(str(self.ws),))

    def decide(self, text: str) -> Verdict:
        call = line(text, cwd=str(self.ws))
        decision = self.engine.decide(call, self.session)
        fresh = Engine(self.rules, facts=Observer(self.environ, now=lambda: self.now))
        assert decision == fresh.decide(call, self.session)
        return decision.verdict


@pytest.fixture
def disk(tmp_path):
    return Disk(tmp_path.resolve())


def test_a_file_that_becomes_a_link_is_what_it_leads_to(disk):
    target = disk.root / "home" / ".ssh" / "id_rsa"
    target.touch()
    file = disk.ws / "notes"
    file.touch()
    assert disk.decide("cat notes") is ALLOW
    file.unlink()
    file.symlink_to(target)
    assert disk.decide("cat notes") is ASK
    file.unlink()
    file.touch()
    assert disk.decide("cat notes") is ALLOW


def test_a_folder_that_becomes_a_link_takes_writes_outside(disk):
    assert disk.decide("echo x > build/log") is ALLOW
    (disk.ws / "build").symlink_to(disk.root / "out")
    assert disk.decide("echo x > build/log") is ASK
    (disk.ws / "build").unlink()
    (disk.ws / "build").mkdir()
    assert disk.decide("echo x > build/log") is ALLOW


def test_a_repository_setting_that_runs_code_is_seen_at_once(disk):
    (disk.ws / ".git" / "objects").mkdir(parents=True)
    config = disk.ws / ".git" / "config"
    config.write_text("[core]\n\tbare = false\n")
    assert disk.decide("git status") is ALLOW
    config.write_text("[core]\n\tbare = false\n\tfsmonitor = ./x\n")
    assert disk.decide("git status") is ASK
    config.write_text("[core]\n\tbare = false\n")
    assert disk.decide("git status") is ALLOW


def test_a_repository_that_appears_is_seen_at_once(disk):
    assert disk.decide("git log") is ALLOW
    (disk.ws / ".git" / "hooks").mkdir(parents=True)
    hook = disk.ws / ".git" / "hooks" / "post-index-change"
    hook.touch(mode=0o755)
    assert disk.decide("git log") is ASK


def test_a_program_that_appears_on_the_path_is_seen_at_once(disk):
    program = disk.ws / "bin" / "head"
    assert disk.decide("head x") is ALLOW
    program.touch(mode=0o755)
    assert disk.decide("head x") is ASK
    program.chmod(0o644)
    assert disk.decide("head x") is ALLOW
    program.unlink()
    assert disk.decide("head x") is ALLOW


def test_a_workspace_that_is_moved_is_seen_within_a_second(disk):
    (disk.ws / "a").touch()
    assert disk.decide("echo x > a") is ALLOW
    disk.ws.rename(disk.root / "moved")
    disk.ws.symlink_to(disk.root / "moved")
    disk.now += 1
    assert disk.decide("echo x > a") is ALLOW
    assert disk.decide(f"echo x > {disk.root}/moved/a") is ALLOW
    disk.ws.unlink()
    disk.ws.symlink_to(disk.root / "home")
    disk.now += 1
    assert disk.decide("echo x > a") is ASK
    assert disk.decide(f"echo x > {disk.root}/moved/a") is ASK


def test_a_link_of_the_control_plane_is_seen_within_a_second(disk):
    assert disk.decide("echo x > rules.yaml") is ALLOW
    (disk.ws / "assent.yaml").symlink_to("rules.yaml")
    disk.now += 1
    assert disk.decide("echo x > rules.yaml") is ASK
    (disk.ws / "assent.yaml").unlink()
    disk.now += 1
    assert disk.decide("echo x > rules.yaml") is ALLOW


def test_the_folder_of_a_rule_that_becomes_a_link_is_seen_within_its_time(tmp_path):
    root = tmp_path.resolve()
    disk = Disk(root, deny=[f"Read({root}/private/**)"])
    (disk.root / "private").mkdir()
    assert disk.decide(f"cat {root}/out/y") is ALLOW  # now it is known which rules are about links
    assert disk.decide(f"cat {root}/out/x") is ALLOW
    (disk.root / "private").rmdir()
    (disk.root / "private").symlink_to(root / "out")
    disk.now += 1
    assert disk.decide(f"cat {root}/out/x") is DENY
    (disk.root / "private").unlink()
    disk.now += 1
    assert disk.decide(f"cat {root}/out/x") is ALLOW


def test_a_disk_that_fails_later_is_a_denial():
    broken = []

    def resolve(path):
        if broken:
            raise OSError(5, "io")
        return path

    facts = Facts(home="/home/dev", resolve=resolve)
    engine = used(facts=lambda: facts)
    assert engine.decide(line("cat a"), SESSION).verdict is ALLOW
    broken.append(True)
    assert engine.decide(line("cat a"), SESSION).decision_source is Source.ERROR
    broken.clear()
    assert engine.decide(line("cat a"), SESSION).verdict is ALLOW


def test_a_fault_is_not_kept(monkeypatch):
    def late(*_args):
        raise TookTooLongError

    engine = used(facts=lambda: world(links={}))
    with monkeypatch.context() as broken:
        broken.setattr(spine, "decide", late)
        assert engine.decide(line("cat a"), SESSION).decision_source is Source.ERROR
    assert engine.decide(line("cat a"), SESSION).verdict is ALLOW


def test_a_rule_that_could_not_be_evaluated_is_evaluated_anew():
    broken = []

    def resolve(path):
        if broken and path == "/ws/private":
            raise OSError(5, "io")
        return path

    facts = Facts(home="/home/dev", resolve=resolve)
    engine = used(policy(deny=["Read(/ws/private/**)"]), facts=lambda: facts)
    engine.decide(line("cat private/a"), SESSION)  # now it is known which rules are about links
    broken.append(True)
    for _ in range(2):
        assert "could not be evaluated" in engine.decide(line("cat private/b"), SESSION).decision_reason
    broken.clear()
    assert engine.decide(line("cat private/b"), SESSION).decision_reason == "denied by Read(/ws/private/**)"


# --- any sequence of changes ---

LINES = [
    "cat a",
    "cat d/a",
    "echo x > a",
    "git log",
    "tool a",
    "ls; git status",
    "cd d && cat a",
    "cat $HOME/a",
    "make",
]
CHANGES = st.one_of(
    st.tuples(st.just("link"), st.sampled_from(["/ws/a", "/ws/d", "/ws/d/a", "/home/dev/a"]), st.booleans()),
    st.tuples(st.just("trap"), st.sampled_from(["/ws", "/ws/d"]), st.booleans()),
    st.tuples(st.just("program"), st.sampled_from(["/ws/bin/cat", "/ws/bin/tool", "/ws/bin/git"]), st.booleans()),
    st.tuples(st.just("decide"), st.sampled_from(LINES), st.sampled_from(["/ws", "/ws/d"])),
)


class Toy:
    """A world that anything can be changed in."""

    def __init__(self) -> None:
        self.true: dict[str, set[str]] = {"link": set(), "trap": set(), "program": set()}

    def change(self, what: str, name: str, *, on: bool) -> None:
        (self.true[what].add if on else self.true[what].discard)(name)

    def facts(self) -> Facts:
        return Facts(
            home="/home/dev",
            resolve=lambda path: "/home/dev/.ssh/key" if path in self.true["link"] else path,
            trap=lambda _tool, folder: "it is a trap" if folder in self.true["trap"] else None,
            path=("/ws/bin", "/usr/bin"),
            is_program=self.true["program"].__contains__,
        )


@given(st.lists(CHANGES, max_size=40))
def test_whatever_changes_the_memory_is_never_noticed(changes):
    toy = Toy()
    engine = used(policy(deny=["Read(~/.ssh/**)"]), facts=toy.facts)
    for what, name, value in changes:
        if what == "decide":
            fresh = Engine([policy(deny=["Read(~/.ssh/**)"])], facts=toy.facts)
            call = line(name, cwd=value)
            assert engine.decide(call, SESSION) == fresh.decide(call, SESSION)
        else:
            toy.change(what, name, on=value)


# --- bounds ---


def keep(store: DecisionCache, name: str, size: int = 10) -> decision_cache.CachedDecision:
    engine, witness = Engine(facts=world), decision_cache.Witness({}, {}, {}, {}, {}, [])
    call = line(name, description="x" * size)
    decision = engine.decide(call, SESSION)
    weight = decision_cache.weigh(call, decision, witness)
    kept = decision_cache.CachedDecision(decision, engine._guard, (), decision_cache.world_of(world()), witness, weight)
    store.keep((name,), kept)
    return kept


def recall(store: DecisionCache, kept: decision_cache.CachedDecision, name: str):
    return store.recall((name,), kept.guard, spine.place_of(line(name), SESSION, world()))


def test_the_least_recently_used_is_forgotten_first():
    store = DecisionCache(most=2)
    first, second = keep(store, "a"), keep(store, "b")
    assert recall(store, first, "a") is first.decision
    third = keep(store, "c")
    assert len(store) == 2
    assert recall(store, second, "b") is None
    assert recall(store, first, "a") is first.decision
    assert recall(store, third, "c") is third.decision


def test_what_is_kept_has_a_weight():
    light = keep(DecisionCache(), "a").weight
    store = DecisionCache(most=1_000, heaviest=100 * light)
    for index in range(200):
        keep(store, f"a{index}")
    assert 80 < len(store) <= 100
    keep(store, "heavy", size=light)
    before = len(store)
    assert recall(store, keep(store, "heavy", size=light), "heavy") is None
    assert len(store) == before


def test_a_decision_replaces_an_older_one_on_the_same_call():
    store = DecisionCache(heaviest=1_000_000)
    for _ in range(500):
        keep(store, "a")
    assert len(store) == 1


def test_a_decision_on_much_is_not_kept(reads):
    engine = used()
    for _ in range(2):
        engine.decide(line("echo x > f; " * 300), SESSION)
    assert len(reads) == 2
    assert len(engine._memory) == 0


def test_many_folders_are_kept_in_bounds():
    engine = used(policy(deny=["Read(a/**)"]))
    for index in range(200):
        engine.decide(line("ls", cwd=f"/ws/{index}"), SESSION)
    assert len(engine._guard._linked_from) <= 64


def test_threads_share_a_memory():
    engine = Engine(facts=lambda: world(links={}))
    engine._memory = DecisionCache(most=3)
    engine._memory.expects = lambda _: True
    lines = [line(f"cat f{n} && make") for n in range(6)]
    expected = [Engine(facts=lambda: world(links={})).decide(call, SESSION) for call in lines]
    wrong = []

    def work():
        for _ in range(60):
            wrong.extend(c for c, e in zip(lines, expected, strict=True) if engine.decide(c, SESSION) != e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(engine._memory) <= 3

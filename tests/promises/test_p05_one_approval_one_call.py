"""P5: one approval, one call. A yes is for exactly what was asked, is used once, runs out, is checked again at use."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from assent import Engine, ToolCall
from assent.decisions.errors import AlreadyAnsweredError
from assent.model import ALLOW, ASK, DENY, Answer, Facts, Scope, State
from keeping import ADMIN, ANN, ASKED, NO, SESSION, YES, Node, line, verdict_of


async def asked(node, call=None, session=SESSION):
    ruling = await node.decisions.decide(call or line(ASKED), session)
    assert verdict_of(ruling) is ASK
    return ruling.approval


async def approved(node, call=None):
    approval = await asked(node, call)
    return await node.decisions.answer(approval.id, YES, ANN)


def test_a_yes_can_not_be_replayed(node):
    async def main():
        await approved(node, line(ASKED, "c1"))
        rulings = await asyncio.gather(*(node.decisions.decide(line(ASKED, "c1"), SESSION) for _ in range(20)))
        assert [verdict_of(r) for r in rulings].count(ALLOW) == 1
        assert len([row for row in node.events() if row[2:4] == ("allow", "person")]) == 1

    asyncio.run(main())


@pytest.mark.parametrize(
    "changed",
    [
        line(ASKED + " "),
        line("node build.js;"),
        ToolCall(tool="Bash", input={"command": ASKED, "timeout": 1}, cwd="/code"),
        ToolCall(tool="Bash", input={"command": ASKED}, cwd="/code/src"),
        ToolCall(tool="Other", input={"command": ASKED}, cwd="/code"),
    ],
)
def test_a_yes_is_for_no_other_call(node, changed):
    async def main():
        await approved(node)
        assert verdict_of(await node.decisions.decide(changed, SESSION)) is not ALLOW
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is ALLOW

    asyncio.run(main())


@pytest.mark.parametrize(
    "change", [{"id": "t"}, {"user": "bob"}, {"agent": "other"}, {"workspace": ("/code", "/more")}]
)
def test_a_yes_is_for_nobody_else(node, change):
    async def main():
        await approved(node)
        session = msgspec.structs.replace(SESSION, **change)
        assert verdict_of(await node.decisions.decide(line(ASKED), session)) is ASK

    asyncio.run(main())


def test_a_call_edited_after_its_approval_is_a_new_question(node):
    async def main():
        approval = await asked(node, line(ASKED, "c1"))
        await node.decisions.answer(approval.id, YES, ANN)
        edited = await node.decisions.decide(line("node evil.js", "c1"), SESSION)
        assert (verdict_of(edited), edited.approval.id != approval.id) == (ASK, True)

    asyncio.run(main())


def test_what_a_person_changed_is_what_runs_and_that_once(node):
    async def main():
        approval = await asked(node)
        changed = {"command": "node safe.js"}
        await node.decisions.answer(approval.id, Answer(verdict=ALLOW, modified_input=changed), ANN)
        assert verdict_of(await node.decisions.decide(line("node safe.js"), SESSION)) is ASK
        rewritable = msgspec.structs.replace(line(ASKED), rewritable=True)
        first = await node.decisions.decide(rewritable, SESSION)
        assert (verdict_of(first), first.updated_input) == (ALLOW, changed)
        assert verdict_of(await node.decisions.decide(rewritable, SESSION)) is ASK

    asyncio.run(main())


def test_a_caller_that_ignores_changed_input_runs_the_changed_call_once_and_the_asked_one_never(node):
    async def main():
        approval = await asked(node)
        changed = {"command": "node safe.js"}
        await node.decisions.answer(approval.id, Answer(verdict=ALLOW, modified_input=changed), ANN)
        asked_again = await node.decisions.decide(line(ASKED), SESSION)
        assert (verdict_of(asked_again), asked_again.updated_input) == (DENY, None)
        assert verdict_of(await node.decisions.decide(line("node safe.js"), SESSION)) is ALLOW
        assert verdict_of(await node.decisions.decide(line("node safe.js"), SESSION)) is ASK
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is ASK

    asyncio.run(main())


def test_a_changed_input_is_held_against_the_policy_of_the_moment_it_runs(node):
    async def main():
        approval = await asked(node)
        await node.decisions.answer(approval.id, Answer(verdict=ALLOW, modified_input={"command": "make x"}), ANN)
        node.deny("Bash(make:*)")
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is DENY

    asyncio.run(main())


@pytest.fixture
def seeing(node, tmp_path):
    """A node that sees the disk, and a call that writes to a file there, outside the workspace."""
    facts = lambda: Facts(now=node.clock(), home="/home/ann", resolve=os.path.realpath)  # noqa: E731
    node._engine = (node.policies, Engine(facts=facts))
    for name in ("notes", "other", "secret"):
        (tmp_path / name).write_text("")
    return node, ToolCall(tool="Write", input={"file_path": str(tmp_path / "notes"), "content": "x"}, cwd="/code")


def swap(path, target):
    path.unlink()
    path.symlink_to(target)


def test_a_yes_that_waits_for_its_call_is_for_where_its_paths_led(seeing, tmp_path):
    async def main(node, call):
        approval = await asked(node, call)
        await node.decisions.answer(approval.id, YES, ANN)
        swap(tmp_path / "notes", tmp_path / "secret")
        moved = await node.decisions.decide(call, SESSION)
        assert (verdict_of(moved), "leads elsewhere" in moved.approval.reason) == (ASK, True)
        assert moved.approval.id != approval.id
        swap(tmp_path / "notes", tmp_path / "notes-again")
        assert verdict_of(await node.decisions.decide(call, SESSION)) is ASK

    asyncio.run(main(*seeing))


def test_what_a_person_changed_is_written_where_it_led_when_they_said_so(seeing, tmp_path):
    changed = {"file_path": str(tmp_path / "other"), "content": "y"}

    async def main(node, call):
        for is_moved in (False, True):
            approval = await asked(node, call)
            await node.decisions.answer(approval.id, Answer(verdict=ALLOW, modified_input=changed), ANN)
            if is_moved:
                swap(tmp_path / "other", tmp_path / "secret")
            ruling = await node.decisions.decide(msgspec.structs.replace(call, rewritable=True), SESSION)
            assert (verdict_of(ruling), ruling.updated_input) == ((ASK, None) if is_moved else (ALLOW, changed))

    asyncio.run(main(*seeing))


def test_a_standing_yes_without_a_pattern_is_for_where_its_paths_led(seeing, tmp_path):
    async def main(node, call):
        (tmp_path / "notes").unlink()  # to make the file is no other place
        approval = await asked(node, call)
        await node.decisions.answer(approval.id, Answer(verdict=ALLOW, scope=Scope.ALWAYS), ANN)
        assert verdict_of(await node.decisions.decide(call, SESSION)) is ALLOW
        (tmp_path / "notes").write_text("x")
        assert verdict_of(await node.decisions.decide(call, SESSION)) is ALLOW
        swap(tmp_path / "notes", tmp_path / "secret")
        assert verdict_of(await node.decisions.decide(call, SESSION)) is ASK  # the yes that made it was used with it

    asyncio.run(main(*seeing))


def test_of_many_who_answer_at_once_one_wins_and_all_others_are_told_who(tmp_path, url):
    async def main(nodes):
        approval = await asked(nodes[0])
        people = [msgspec.structs.replace(ADMIN, user=f"p{i}") for i in range(12)]
        answers = [YES if i % 2 else NO for i in range(12)]
        jobs = [nodes[i % 2].decisions.answer(approval.id, answers[i], people[i]) for i in range(12)]
        outcomes = await asyncio.gather(*jobs, return_exceptions=True)
        won = [o for o in outcomes if not isinstance(o, Exception)]
        lost = [o for o in outcomes if isinstance(o, AlreadyAnsweredError)]
        assert (len(won), len(lost)) == (1, 11)
        assert {error.approval.by for error in lost} == {won[0].by}
        assert len(nodes[0].events("permission.resolved")) == 1

    with Node(tmp_path / "home", url) as a, Node(tmp_path / "home", url) as b:
        asyncio.run(main((a, b)))


def test_a_yes_that_several_nodes_find_at_once_is_used_by_one(tmp_path, url):
    async def main(nodes):
        await approved(nodes[0])
        rulings = await asyncio.gather(*(n.decisions.decide(line(ASKED), SESSION) for n in nodes * 8))
        assert [verdict_of(r) for r in rulings].count(ALLOW) == 1

    with Node(tmp_path / "home", url) as a, Node(tmp_path / "home", url) as b:
        asyncio.run(main([a, b]))


def test_an_unused_yes_runs_out(tmp_path):
    clock = [1000.0]

    async def main(node):
        await approved(node)
        clock[0] += 1801
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is ASK

    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        asyncio.run(main(node))


@pytest.mark.parametrize(
    ("jump", "verdict"),
    [(-4, ALLOW), (-3600, ASK), (-1e9, ASK), (60, ALLOW), (3600, ASK), (1e9, ASK)],
)
def test_a_clock_that_jumps_gives_a_yes_no_longer_life(tmp_path, jump, verdict):
    clock = [2e9]

    async def main(node):
        await approved(node)
        clock[0] += jump
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is verdict

    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        asyncio.run(main(node))


def test_what_has_expired_stays_so_when_the_clock_goes_back(tmp_path):
    clock = [2e9]

    async def main(node):
        approval = await asked(node)
        clock[0] += 3600
        with pytest.raises(AlreadyAnsweredError, match="expired"):
            await node.decisions.answer(approval.id, YES, ANN)
        await node.approvals.wait(approval.id, 20)
        clock[0] -= 3600
        assert (await node.approvals.get(approval.id)).state is State.EXPIRED
        with pytest.raises(AlreadyAnsweredError, match="expired"):
            await node.decisions.answer(approval.id, YES, ANN)

    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        asyncio.run(main(node))


def test_a_grant_can_not_be_used_after_its_end_by_setting_the_clock_back_before_its_beginning(tmp_path):
    clock = [2e9]

    async def main(node):
        approval = await asked(node, line("npm install x"))
        wide = Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*", until=clock[0] + 60)
        await node.decisions.answer(approval.id, wide, ANN)
        assert verdict_of(await node.decisions.decide(line("npm install y"), SESSION)) is ALLOW
        clock[0] += 61
        assert verdict_of(await node.decisions.decide(line("npm install y"), SESSION)) is ASK
        for back in (3600, 86400):
            clock[0] -= back
            assert verdict_of(await node.decisions.decide(line(f"npm install z{back}"), SESSION)) is ASK
            assert await node.approvals.grants() == ()
        clock[0] = 2e9 - 4
        assert verdict_of(await node.decisions.decide(line("npm install w"), SESSION)) is ALLOW

    with Node(tmp_path / "home", clock=lambda: clock[0]) as node:
        asyncio.run(main(node))


class Questions(RuleBasedStateMachine):
    """Two approvers, two callers, time and restarts, in any order: every history is one that a single clerk could keep.

    The model is the clerk: each question is open until the first of an answer, its end, or its withdrawal.
    """

    @initialize()
    def begin(self):
        self.folder = tempfile.TemporaryDirectory()
        self.clock = 2e9
        self.loop = asyncio.new_event_loop()
        self.model: dict[str, dict] = {}
        self.released: list[str] = []
        self.node = self.open()

    def open(self):
        return Node(Path(self.folder.name) / "home", clock=lambda: self.clock, expiry=100.0)

    def teardown(self):
        self.node.close()
        self.loop.close()
        self.folder.cleanup()

    def do(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def expected(self, approval_id):
        entry = self.model[approval_id]
        if entry["state"] == "pending" and self.clock >= entry["expires"]:
            return "expired"
        return entry["state"]

    def usable(self, text):
        return [
            i
            for i, e in self.model.items()
            if e["text"] == text and e["state"] == "approved" and not e["used"] and self.clock < e["expires"]
        ]

    @rule(text=st.sampled_from(["node a.js", "node b.js"]))
    def call(self, text):
        yes = self.usable(text)
        no = [
            i
            for i, e in self.model.items()
            if e["text"] == text and e["state"] == "rejected" and not e["used"] and self.clock < e["expires"]
        ]
        ruling = self.do(self.node.decisions.decide(line(text), SESSION))
        if verdict_of(ruling) is ASK:
            assert not yes
            assert not no
            known = self.model.get(ruling.approval.id)
            if known is None:
                assert not [i for i, e in self.model.items() if e["text"] == text and self.expected(i) == "pending"]
                entry = {"text": text, "state": "pending", "expires": self.clock + 100, "used": False, "by": None}
                self.model[ruling.approval.id] = entry
            else:
                assert (known["text"], self.expected(ruling.approval.id)) == (text, "pending")
            return
        used = ruling.approval.id
        assert used in (yes if verdict_of(ruling) is ALLOW else no)
        assert used not in self.released
        self.model[used]["used"] = True
        self.released.append(used)

    @precondition(lambda self: self.model)
    @rule(
        pick=st.integers(0, 50),
        answer=st.sampled_from([YES, NO]),
        who=st.sampled_from([ANN, ADMIN]),
    )
    def answer(self, pick, answer, who):
        approval_id = list(self.model)[pick % len(self.model)]
        entry = self.model[approval_id]
        before = self.expected(approval_id)
        if before != "pending":
            with pytest.raises(AlreadyAnsweredError) as caught:
                self.do(self.node.decisions.answer(approval_id, answer, who))
            lost = caught.value.approval
            assert (lost.state.value, lost.by) == (before, "expiry" if before == "expired" else entry["by"])
            return
        approval = self.do(self.node.decisions.answer(approval_id, answer, who))
        state = "approved" if answer is YES else "rejected"
        entry.update(state=state, by=who.user, expires=self.clock + 100)
        assert (approval.state.value, approval.by) == (state, who.user)

    @precondition(lambda self: self.model)
    @rule(pick=st.integers(0, 50), answers=st.permutations([(YES, ANN), (NO, ADMIN)]))
    def race(self, pick, answers):
        approval_id = list(self.model)[pick % len(self.model)]
        entry, before = self.model[approval_id], self.expected(approval_id)
        jobs = [self.node.decisions.answer(approval_id, answer, who) for answer, who in answers]

        async def both():
            return await asyncio.gather(*jobs, return_exceptions=True)

        outcomes = self.do(both())
        won = [o for o in outcomes if not isinstance(o, Exception)]
        assert len(won) == (before == "pending")
        for lost in (o for o in outcomes if isinstance(o, Exception)):
            assert isinstance(lost, AlreadyAnsweredError)
            if won:
                assert (lost.approval.state, lost.approval.by) == (won[0].state, won[0].by)
        if won:
            entry.update(state=won[0].state.value, by=won[0].by, expires=self.clock + 100)

    @precondition(lambda self: self.model)
    @rule(pick=st.integers(0, 50))
    def cancel(self, pick):
        approval_id = list(self.model)[pick % len(self.model)]
        before = self.expected(approval_id)
        try:
            self.do(self.node.decisions.cancel(approval_id, "withdrawn"))
        except AlreadyAnsweredError:
            assert before != "pending"
        else:
            assert self.model[approval_id]["state"] == "pending"
            self.model[approval_id].update(state="cancelled", by="withdrawn")

    @rule(seconds=st.sampled_from([1, 60, 101]))
    def wait(self, seconds):
        self.clock += seconds
        from assent.decisions.approvals import transitions

        self.do(self.node.store.commit(lambda c: transitions.expire_due(c, self.node.log)))
        for entry in self.model.values():
            if entry["state"] == "pending" and self.clock >= entry["expires"]:
                entry.update(state="expired", by="expiry")

    @rule()
    def restart(self):
        self.node.close()
        self.node = self.open()

    @invariant()
    def the_book_is_the_model(self):
        rows = self.node.store.fetch("SELECT id, state, resolved_by, used_at, call FROM approvals")
        assert len(rows) == len(self.model)
        for approval_id, state, by, used_at, call in rows:
            entry = self.model[approval_id]
            assert state in (entry["state"], self.expected(approval_id))
            assert (used_at is not None) == entry["used"]
            assert (call is None) == (state != "pending")
            if state == entry["state"]:
                assert by == entry["by"]

    @invariant()
    def each_yes_released_one_call(self):
        allowed = [row[4] for row in self.node.events() if row[2:4] == ("allow", "person")]
        assert len(allowed) == len(set(allowed))


Questions.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
test_every_history_of_questions_and_answers_is_one_that_a_single_clerk_could_keep = Questions.TestCase


def test_time_for_answers_is_kept_by_the_store_and_not_by_whoever_answers(node):
    async def main():
        approval = await asked(node)
        answered = await node.decisions.answer(approval.id, YES, ANN)
        assert abs(answered.resolved_at - time.time()) < 60
        assert 1790 < answered.expires_at - answered.resolved_at < 1810

    asyncio.run(main())

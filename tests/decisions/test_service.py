"""Decisions: decided, recorded, asked about, answered, released; and what answers leave behind."""

from __future__ import annotations

import asyncio
import functools
import time

import msgspec
import pytest

from assent import Session, ToolCall
from assent.decisions.approvals import transitions
from assent.decisions.approvals.repository import LARGEST_PAGE
from assent.decisions.approvals.transitions import put_grant
from assent.decisions.errors import AlreadyAnsweredError, ContradictionError, RefusedError
from assent.model import (
    ALLOW,
    ASK,
    DENY,
    Answer,
    ForbiddenError,
    Grant,
    NotFoundError,
    Scope,
    Source,
    State,
)
from keeping import ADMIN, AGENT, ANN, ASKED, BOB, NO, SESSION, YES, Node, Plug, line, soon, verdict_of

INSTALL = "npm install left-pad"
ALWAYS = Answer(verdict=ALLOW, scope=Scope.ALWAYS)


def run(coroutine):
    return asyncio.run(coroutine)


async def ask(node, text=ASKED, session=SESSION, **more):
    ruling = await node.decisions.decide(line(text, **more), session)
    assert verdict_of(ruling) is ASK, ruling
    return ruling.approval


def test_what_needs_nobody_is_decided_at_once(node):
    ruling = run(node.decisions.decide(line("ls"), SESSION))
    assert (ruling.decision.decision, ruling.approval, ruling.position) == ("allow", None, 1)
    assert [row[1:3] for row in node.events()] == [("permission.evaluated", "allow")]


def test_a_question_is_kept_whole_until_it_is_answered(node):
    async def main():
        asked = await ask(node, call_id="c1")
        kept = await node.approvals.get(asked.id)
        assert kept == asked
        assert kept.call == line(ASKED, "c1")
        assert (kept.state, kept.tier.value, kept.reason) == (
            State.PENDING,
            "dangerous",
            "node runs code",
        )
        assert kept.decision is not None
        answered = await node.decisions.answer(asked.id, Answer(verdict=ALLOW, feedback="go"), ANN)
        kept = await node.approvals.get(asked.id)
        assert kept == answered
        assert (kept.call, kept.decision, kept.by, kept.answer.feedback) == (None, None, "ann", "go")

    run(main())


def test_the_same_question_is_asked_once(node):
    async def main():
        first = await ask(node, call_id="c1")
        assert (await ask(node, call_id="c1")).id == first.id
        assert (await ask(node)).id == first.id
        assert (await ask(node, call_id="c2")).id != first.id
        other = await ask(node, "node other.js", call_id="c1")
        assert other.id != first.id
        elsewhere = await ask(node, session=msgspec.structs.replace(SESSION, id="t"), call_id="c1")
        assert elsewhere.id not in (first.id, other.id)

    run(main())


def test_a_yes_is_used_once(node):
    async def main():
        asked = await ask(node)
        await node.decisions.answer(asked.id, YES, ANN)
        first = await node.decisions.decide(line(ASKED), SESSION)
        assert (verdict_of(first), first.decision.decision_source) == (ALLOW, Source.PERSON)
        assert first.approval.used_at is not None
        assert (await ask(node)).id != asked.id

    run(main())


def test_a_no_is_heard_once_and_again_by_the_same_call(node):
    async def main():
        asked = await ask(node, call_id="c1")
        await node.decisions.answer(asked.id, Answer(verdict=DENY, feedback="use the script"), ANN)
        for _ in range(2):
            again = await node.decisions.decide(line(ASKED, "c1"), SESSION)
            assert (verdict_of(again), again.decision.decision_reason) == (DENY, "use the script")
        assert (await ask(node, call_id="c2")).id != asked.id

    run(main())


def test_a_caller_that_waits_gets_the_answer(node):
    async def main(answer, verdict, source):
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30))
        await soon(lambda: node.approvals.waiters.count)
        (asked,), _ = await node.approvals.list()
        assert not asked.caller_gone
        await node.decisions.answer(asked.id, answer, ANN)
        ruling = await waiting
        assert (verdict_of(ruling), ruling.decision.decision_source) == (verdict, source)
        assert ruling.decision.approval_action_id == asked.id
        assert ruling.position == node.events()[-1][0]

    run(main(YES, ALLOW, Source.PERSON))
    run(main(NO, DENY, Source.PERSON))


def test_many_may_wait_for_one_answer_and_one_of_them_runs(node):
    async def main():
        waiting = [asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30)) for _ in range(20)]
        await soon(lambda: node.approvals.waiters.count == 20)
        (asked,), _ = await node.approvals.list()
        await node.decisions.answer(asked.id, YES, ANN)
        await soon(lambda: node.approvals.waiters.count == 19)
        (again,), _ = await node.approvals.list()
        await node.decisions.answer(again.id, NO, ANN)
        rulings = await asyncio.gather(*waiting)
        assert sorted(r.decision.verdict.value for r in rulings) == ["allow"] + ["deny"] * 19

    run(main())


def test_when_the_time_is_up_the_question_stays_and_says_that_its_caller_is_gone(node):
    async def main():
        ruling = await node.decisions.decide(line(ASKED), SESSION, wait=0.2)
        assert verdict_of(ruling) is ASK
        await soon(lambda: node.store.fetch("SELECT caller_gone FROM approvals")[0][0])
        await node.decisions.answer(ruling.approval.id, YES, ANN)
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is ALLOW

    run(main())


def test_a_caller_that_is_cancelled_is_gone(node):
    async def main():
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30))
        await soon(lambda: node.approvals.waiters.count)
        waiting.cancel()
        await soon(lambda: node.store.fetch("SELECT caller_gone FROM approvals")[0][0])
        assert node.approvals.waiters.count == 0

    run(main())


@pytest.mark.parametrize("begun", [True, False])
def test_a_caller_that_goes_while_its_question_is_being_written_is_gone_and_before_that_leaves_none(
    node, monkeypatch, begun
):
    plug, put = Plug(), transitions.open_question

    async def main():
        if begun:
            monkeypatch.setattr(transitions, "open_question", lambda *given: plug(None) or put(*given))
        else:
            node.store.write(plug)
            await soon(plug.begun.is_set)
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30))
        await soon(plug.begun.is_set if begun else lambda: node.store.queued)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        plug.pull()
        await node.store.commit(lambda _: None)
        await soon(lambda: node.store.fetch("SELECT caller_gone FROM approvals") == [(True,)] * begun)

    run(main())


def test_a_caller_that_goes_while_it_is_told_of_its_question_is_gone(node):
    async def main():
        told = asyncio.Event()

        async def tell(_asked):
            told.set()
            await asyncio.Event().wait()

        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30, on_ask=tell))
        await told.wait()
        waiting.cancel()
        await soon(lambda: node.store.fetch("SELECT caller_gone FROM approvals")[0][0])

    run(main())


def test_a_question_that_nobody_answers_expires(tmp_path, url):
    async def main(node):
        ruling = await node.decisions.decide(line(ASKED), SESSION, wait=30)
        assert (verdict_of(ruling), ruling.decision.decision_source) == (DENY, Source.EXPIRY)
        assert (ruling.approval.state, ruling.approval.by) == (State.EXPIRED, "expiry")
        with pytest.raises(AlreadyAnsweredError, match="already expired by expiry"):
            await node.decisions.answer(ruling.approval.id, YES, ANN)
        assert (await ask(node)).id != ruling.approval.id

    with Node(tmp_path / "home", url, expiry=0.5) as node:
        run(main(node))


def test_a_question_can_be_withdrawn(node):
    async def main():
        waiting = asyncio.create_task(node.decisions.decide(line(ASKED), SESSION, wait=30))
        await soon(lambda: node.approvals.waiters.count)
        (asked,), _ = await node.approvals.list()
        await node.decisions.cancel(asked.id, "the run was stopped")
        ruling = await waiting
        assert verdict_of(ruling) is DENY
        assert "the run was stopped" in ruling.decision.decision_reason
        with pytest.raises(AlreadyAnsweredError, match="already cancelled"):
            await node.decisions.answer(asked.id, YES, ANN)

    run(main())


def test_the_first_answer_wins_and_the_loser_is_told_who_won(node):
    async def main():
        asked = await ask(node)
        await node.decisions.answer(asked.id, NO, ANN)
        with pytest.raises(AlreadyAnsweredError, match="already rejected by ann") as caught:
            await node.decisions.answer(asked.id, YES, ADMIN)
        assert caught.value.approval.by == "ann"

    run(main())


@pytest.mark.parametrize(("who", "error"), [(AGENT, ForbiddenError), (BOB, NotFoundError)])
def test_who_asks_can_not_answer_and_who_is_not_concerned_does_not_see(node, who, error):
    async def main():
        asked = await ask(node)
        with pytest.raises(error):
            await node.decisions.answer(asked.id, YES, who)
        assert (await node.approvals.get(asked.id)).state is State.PENDING
        await node.decisions.answer(asked.id, YES, ADMIN)

    run(main())


def test_an_unknown_question_is_not_found(node):
    async def main():
        with pytest.raises(NotFoundError):
            await node.decisions.answer("perm_0_x", YES, ANN)
        with pytest.raises(NotFoundError):
            await node.decisions.cancel("perm_0_x", "why")
        assert await node.approvals.get("perm_0_x") is None
        assert await node.approvals.wait("perm_0_x", 1) is None

    run(main())


@pytest.mark.parametrize(
    "answer",
    [
        Answer(verdict=ASK),
        Answer(verdict=ALLOW, pattern="node:*"),
        Answer(verdict=ALLOW, until=1.0),
        Answer(verdict=DENY, modified_input={"command": "ls"}),
        Answer(verdict=ALLOW, scope=Scope.ALWAYS, modified_input={"command": "ls"}),
        Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern=" "),
        Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="a\nb"),
    ],
)
def test_an_answer_whose_parts_do_not_fit_is_refused_and_the_question_stays(node, answer):
    async def main():
        asked = await ask(node)
        with pytest.raises(ContradictionError):
            await node.decisions.answer(asked.id, answer, ANN)
        assert (await node.approvals.get(asked.id)).state is State.PENDING

    run(main())


def test_a_changed_input_runs_instead_and_is_decided_by_itself(node):
    async def main():
        node.deny("Bash(rm:*)")
        asked = await ask(node)
        with pytest.raises(RefusedError) as caught:
            await node.decisions.answer(asked.id, Answer(verdict=ALLOW, modified_input={"command": "rm x"}), ANN)
        assert caught.value.decision.verdict is DENY
        assert (await node.approvals.get(asked.id)).state is State.PENDING
        changed = {"command": "node other.js"}
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, modified_input=changed), ANN)
        call = msgspec.structs.replace(line(ASKED), rewritable=True)
        ruling = await node.decisions.decide(call, SESSION)
        assert (verdict_of(ruling), ruling.updated_input) == (ALLOW, changed)
        assert ruling.decision.reading.operations[0].argv == ("node", "other.js")
        kept = await node.approvals.get(asked.id)
        assert kept.answer.modified_input is None

    run(main())


def test_a_yes_to_a_changed_call_goes_over_to_it_once_and_to_no_other_session(node):
    async def main():
        asked = await ask(node)
        changed = {"command": "node other.js"}
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, modified_input=changed), ANN)
        ruling = await node.decisions.decide(line(ASKED), SESSION)
        assert (verdict_of(ruling), ruling.updated_input) == (DENY, None)
        assert ruling.changed_call.input == changed
        elsewhere = msgspec.structs.replace(SESSION, id="elsewhere")
        assert verdict_of(await node.decisions.decide(line("node other.js"), elsewhere)) is ASK
        assert verdict_of(await node.decisions.decide(line("node other.js"), SESSION)) is ALLOW
        assert verdict_of(await node.decisions.decide(line("node other.js"), SESSION)) is ASK

    run(main())


def test_a_changed_call_is_handed_over_to_one_of_two_that_repeat_it_at_once(node):
    async def main():
        asked = await ask(node)
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, modified_input={"command": "node other.js"}), ANN)
        both = await asyncio.gather(*(node.decisions.decide(line(ASKED), SESSION) for _ in range(2)))
        assert sorted(verdict_of(each).value for each in both) == ["ask", "deny"]

    run(main())


def test_policy_is_asked_again_when_a_yes_is_used(node):
    async def main():
        asked = await ask(node)
        await node.decisions.answer(asked.id, YES, ANN)
        node.deny("Bash(node:*)")
        assert verdict_of(await node.decisions.decide(line(ASKED), SESSION)) is DENY

    run(main())


def test_nobody_is_asked_where_nobody_can_be(node):
    async def main():
        alone = msgspec.structs.replace(SESSION, interactive=False)
        ruling = await node.decisions.decide(line(ASKED), alone, wait=30)
        assert (verdict_of(ruling), ruling.decision.decision_source) == (DENY, Source.NOT_INTERACTIVE)
        assert await node.approvals.list() == ((), None)

    run(main())


@pytest.mark.parametrize(
    ("answer", "covered", "not_covered"),
    [
        (ALWAYS, [INSTALL], ["npm install x"]),
        (Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*"), [INSTALL, "npm install x"], ["make"]),
        (Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="Bash(npm install l*)"), [INSTALL], ["npm install x"]),
        (Answer(verdict=ALLOW, scope=Scope.SESSION, pattern="Bash"), [INSTALL, "make"], ["git push --force"]),
    ],
)
def test_a_wider_yes_covers_what_its_pattern_says(node, answer, covered, not_covered):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, answer, ANN)
        for text in covered:
            for _ in range(2):
                assert verdict_of(await node.decisions.decide(line(text), SESSION)) is ALLOW, text
        for text in not_covered:
            assert verdict_of(await node.decisions.decide(line(text), SESSION)) is not ALLOW, text

    run(main())


@pytest.mark.parametrize(
    ("changes", "scope", "holds"),
    [
        ({}, Scope.SESSION, True),
        ({"id": "t"}, Scope.SESSION, False),
        ({"id": "t"}, Scope.ALWAYS, True),
        ({"agent": "other"}, Scope.ALWAYS, False),
        ({"user": "bob"}, Scope.ALWAYS, False),
        ({"workspace": ("/other",)}, Scope.ALWAYS, False),
    ],
)
def test_a_grant_is_for_whom_it_was_given(node, changes, scope, holds):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, scope=scope, pattern="npm install:*"), ANN)
        session = msgspec.structs.replace(SESSION, **changes)
        assert (verdict_of(await node.decisions.decide(line("npm install x"), session)) is ALLOW) is holds

    run(main())


def test_a_grant_is_listed_and_ends_when_it_is_revoked_together_with_the_yes_that_made_it(node):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, ALWAYS, ANN)
        (grant,) = await node.approvals.grants(user="ann")
        assert await node.approvals.grants(user="bob") == ()
        with pytest.raises(ForbiddenError):
            await node.approvals.revoke_grant(grant.id, AGENT)
        with pytest.raises(NotFoundError):
            await node.approvals.revoke_grant(grant.id, BOB)
        await node.approvals.revoke_grant(grant.id, ANN)
        with pytest.raises(NotFoundError):
            await node.approvals.revoke_grant(grant.id, ANN)
        assert await node.approvals.grants() == ()
        assert (await ask(node, INSTALL)).id != asked.id

    run(main())


def test_a_grant_ends_at_its_time(node):
    async def main():
        asked = await ask(node, INSTALL)
        until = time.time() + 8
        await node.decisions.answer(
            asked.id, Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*", until=until), ANN
        )
        assert verdict_of(await node.decisions.decide(line("npm install y"), SESSION)) is ALLOW
        await asyncio.sleep(until - time.time() + 0.3)
        assert verdict_of(await node.decisions.decide(line("npm install y"), SESSION)) is ASK
        assert await node.approvals.grants() == ()

    run(main())


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize("scope", [Scope.SESSION, Scope.ALWAYS])
def test_the_yes_that_left_a_grant_behind_lets_nothing_run_after_it(node, scope, used):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, scope=scope, until=time.time() + 1.2), ANN)
        if used:
            assert verdict_of(await node.decisions.decide(line(INSTALL), SESSION)) is ALLOW
            assert (await node.approvals.get(asked.id)).used_at is not None
        await asyncio.sleep(1.5)
        assert (await ask(node, INSTALL)).id != asked.id

    run(main())


def test_a_yes_whose_grant_is_for_other_calls_is_still_there_for_its_own(node):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install x:*"), ANN)
        for text in ("npm install x", INSTALL):
            assert verdict_of(await node.decisions.decide(line(text), SESSION)) is ALLOW
        assert (await ask(node, INSTALL)).id != asked.id

    run(main())


def test_a_grant_that_is_gone_from_the_table_does_not_count_whatever_is_in_memory(node):
    async def main():
        asked = await ask(node, INSTALL)
        await node.decisions.answer(asked.id, Answer(verdict=ALLOW, scope=Scope.ALWAYS, pattern="npm install:*"), ANN)
        await node.store.commit(lambda c: c.execute("UPDATE grants SET revoked_at = 1.0"))
        assert verdict_of(await node.decisions.decide(line("npm install y"), SESSION)) is ASK

    run(main())


def test_what_a_person_says_while_everything_is_read_again_is_not_forgotten(node, monkeypatch):
    read, grants = node.store.read, [Grant(id="g", user="ann", verdict=DENY, digest="d")]

    def read_slowly(*query):
        found = read(*query)
        found.result()
        while grants:
            node.store.write(functools.partial(put_grant, log=node.log, grant=grants.pop(), session="s")).result()
        return found

    monkeypatch.setattr(node.store, "read", read_slowly)
    node.approvals.active_grants.reload()
    assert [grant.id for grant in node.approvals.active_grants.grants("ann", 0.0)] == ["g"]


def test_a_grant_for_a_file_of_the_workspace_holds_while_the_file_is_unchanged(tmp_path, node):
    async def main():
        workspace = tmp_path / "code"
        workspace.mkdir()
        script = workspace / "build.sh"
        script.write_text("echo build")
        session = msgspec.structs.replace(SESSION, workspace=(str(workspace),))
        call = ToolCall(tool="Bash", input={"command": "bash build.sh"}, cwd=str(workspace))
        ruling = await node.decisions.decide(call, session)
        await node.decisions.answer(ruling.approval.id, ALWAYS, ANN)
        for _ in range(2):
            assert verdict_of(await node.decisions.decide(call, session)) is ALLOW
        (grant,) = await node.approvals.grants()
        assert grant.files[0][0] == str(script)
        other = ToolCall(tool="Bash", input={"command": "bash other.sh"}, cwd=str(workspace))
        await node.decisions.answer((await node.decisions.decide(other, session)).approval.id, NO, ANN)
        script.write_text("echo something else")
        assert verdict_of(await node.decisions.decide(call, session)) is ASK

    run(main())


def test_a_session_deny_refuses_silently_until_it_is_overridden(node):
    async def main():
        asked = await ask(node, call_id="c1")
        refusal = Answer(verdict=DENY, scope=Scope.SESSION, feedback="never here")
        await node.decisions.answer(asked.id, refusal, ANN)
        again = await node.decisions.decide(line(ASKED, "c2"), SESSION)
        assert (verdict_of(again), again.approval, again.decision.decision_source) == (DENY, None, Source.SESSION)
        assert again.decision.decision_reason == "refused earlier in this session: never here"
        assert any(o.policy.startswith("session-deny-") for o in again.decision.opinions)
        over = await node.decisions.decide(line(ASKED, "c3", override=True), SESSION)
        assert (verdict_of(over), over.approval.kind) == (ASK, "policy-deny-override")
        await node.decisions.answer(over.approval.id, YES, ANN)
        assert verdict_of(await node.decisions.decide(line(ASKED, "c3", override=True), SESSION)) is ALLOW
        assert verdict_of(await node.decisions.decide(line(ASKED, "c4"), SESSION)) is DENY
        elsewhere = msgspec.structs.replace(SESSION, id="t")
        assert verdict_of(await node.decisions.decide(line(ASKED), elsewhere)) is ASK

    run(main())


def test_a_destructive_call_is_blocked_until_a_person_turns_that_into_a_question(node):
    blocked = "terraform destroy"

    async def main():
        first = await node.decisions.decide(line(blocked), SESSION)
        assert (verdict_of(first), first.approval) == (DENY, None)
        one = await node.approvals.enable(ANN, 60, digest=first.decision.digest)
        assert one.until - one.created_at == 300
        asked = await ask(node, blocked)
        assert asked.tier.value == "destructive"
        assert (await ask(node, blocked)).id == asked.id  # enabled once, and asked once: who comes again waits for that
        other = msgspec.structs.replace(SESSION, id="t")
        assert verdict_of(await node.decisions.decide(line(blocked), other)) is DENY
        await node.decisions.answer(asked.id, YES, ANN)
        assert verdict_of(await node.decisions.decide(line(blocked), SESSION)) is ALLOW
        again = await node.decisions.decide(line(blocked), SESSION)
        assert (verdict_of(again), again.approval) == (DENY, None)

    run(main())


@pytest.mark.parametrize(
    ("for_whom", "session", "asks"),
    [
        ({"agent": "coder"}, {}, True),
        ({"agent": "other"}, {}, False),
        ({"session": "s"}, {}, True),
        ({"session": "s"}, {"id": "t"}, False),
        ({"agent": "coder"}, {"user": "bob"}, False),
    ],
)
def test_what_is_enabled_is_asked_about_for_whom_it_was_enabled(node, for_whom, session, asks):
    async def main():
        enabled = await node.approvals.enable(ANN, 10, **for_whom)
        where = msgspec.structs.replace(SESSION, **session)
        assert (verdict_of(await node.decisions.decide(line("terraform destroy"), where)) is ASK) is asks
        assert await node.approvals.enablements(user="ann") == (enabled,)
        await node.approvals.disable(enabled.id, ANN)
        assert await node.approvals.enablements() == ()
        assert verdict_of(await node.decisions.decide(line("terraform destroy --x"), where)) is DENY

    run(main())


def test_only_people_enable_and_only_for_their_own(node):
    async def main():
        with pytest.raises(ForbiddenError):
            await node.approvals.enable(AGENT, 5, agent="coder")
        with pytest.raises(ForbiddenError):
            await node.approvals.enable(BOB, 5, agent="coder", user="ann")
        enabled = await node.approvals.enable(ADMIN, 5, agent="coder", user="ann")
        with pytest.raises(NotFoundError):
            await node.approvals.disable(enabled.id, BOB)

    run(main())


def test_questions_are_listed_page_by_page_and_by_whose_they_are(node):
    async def main():
        bobs = Session(id="b", user="bob", agent="coder", workspace=("/code",))
        ids = [(await ask(node, f"node {i}.js")).id for i in range(5)]
        other = (await ask(node, session=bobs)).id
        await node.decisions.answer(ids[0], NO, ANN)
        first, cursor = await node.approvals.list(user="ann", limit=3)
        rest, end = await node.approvals.list(user="ann", limit=3, cursor=cursor)
        assert [a.id for a in (*first, *rest)] == ids[1:]
        assert end is None
        assert [a.id for a in (await node.approvals.list(user="bob"))[0]] == [other]
        assert [a.id for a in (await node.approvals.list(states=(State.REJECTED,)))[0]] == [ids[0]]
        assert len((await node.approvals.list(states=tuple(State), agent="coder"))[0]) == 6
        assert (await node.approvals.list(agent="nobody"))[0] == ()

    run(main())


def test_a_page_of_large_calls_has_few_and_none_is_left_out(node):
    async def main():
        sizes = (LARGEST_PAGE + 1, LARGEST_PAGE // 2, LARGEST_PAGE // 3, 10, LARGEST_PAGE // 2, 10)
        for number, size in enumerate(sizes):
            given = {"file_path": f"/etc/{number}", "content": "x" * size}
            await node.decisions.decide(ToolCall(tool="Write", input=given, cwd="/code"), SESSION)
        pages, cursor = [], None
        while not pages or cursor is not None:
            page, cursor = await node.approvals.list(user="ann", cursor=cursor)
            pages.append([int(a.call.input["file_path"].rpartition("/")[2]) for a in page])
        assert pages == [[0], [1, 2, 3], [4, 5]]
        assert len((await node.approvals.list(limit=1, cursor=None))[0]) == 1

    run(main())


def test_a_preview_leaves_nothing_behind(node):
    assert node.decisions.preview(line(ASKED), SESSION).verdict is ASK
    assert node.events() == []


def test_secrets_stay_out_of_the_log_and_of_summaries_but_the_approver_sees_the_call(node):
    async def main():
        text = "node deploy.js --token=abcdef1234567890"
        asked = await ask(node, text)
        assert "abcdef1234567890" not in asked.summary
        assert asked.call.input["command"] == text
        await node.decisions.answer(asked.id, YES, ANN)
        for row in node.store.fetch("SELECT * FROM events"):
            assert not any("abcdef1234567890" in str(value) for value in row)
        for row in node.store.fetch("SELECT * FROM approvals"):
            assert not any("abcdef1234567890" in str(value) for value in row)

    run(main())

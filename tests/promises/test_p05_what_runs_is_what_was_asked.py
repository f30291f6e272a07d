"""P5: a yes is for what was asked about as it was then. What changed since is asked about again."""

from __future__ import annotations

import asyncio
import contextlib
import os

import msgspec
import pytest

from assent import Engine, Session, ToolCall
from assent.decisions.errors import ContradictionError
from assent.decisions.grants.file_binding import LARGEST_FILE, MOST_PATHS
from assent.decisions.grants.named_files import MOST_NAMES
from assent.decisions.tickets import TicketError
from assent.model import ALLOW, ASK, DENY, Answer, Facts, Principal, Role, Scope
from assent.sandbox.redeem.command_line import find_line
from keeping import ANN, YES, Node, soon, verdict_of

ALWAYS = Answer(verdict=ALLOW, scope=Scope.ALWAYS)


def watch(node, *policies, **facts):
    """Let a node see the disk."""
    seen = lambda: Facts(now=node.clock(), home="/home/ann", resolve=os.path.realpath, exists=os.path.exists, **facts)  # noqa: E731
    node._engine = (node.policies, Engine(policies, facts=seen))
    return node


class Desk:
    """A project on a real disk, and an agent that works in it."""

    def __init__(self, node, folder) -> None:
        self.node, self.folder = node, folder
        self.session = Session(id="s", user="ann", agent="coder", workspace=(str(folder),))

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def line(self, text, cwd=None, **more):
        return ToolCall(tool="Bash", input={"command": text, **more}, cwd=str(cwd or self.folder))

    def decide(self, call):
        return self.node.decisions.decide(call, self.session)

    async def ask(self, call):
        ruling = await self.decide(call)
        assert verdict_of(ruling) is ASK
        return ruling.approval

    async def approve(self, call, answer=YES):
        approval = await self.ask(call)
        await self.node.decisions.answer(approval.id, answer, ANN)
        return approval


@pytest.fixture
def desk(node, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return Desk(watch(node), folder)


RUNS = [
    ("bash deploy.sh", "deploy.sh"),
    ("./deploy.sh --now", "deploy.sh"),
    ("source ./deploy.sh", "deploy.sh"),
    ("cd ops && sh deploy.sh", "ops/deploy.sh"),
    ("true && python3 tool.py", "tool.py"),
    ("python3 -m pkg.tool", "pkg/tool.py"),
    ("python3 folder", "folder/__main__.py"),
    ("make release", "Makefile"),
    ("make release", "rules.mk"),
    ("make -f other.mk", "other.mk"),
    ("make -C lib", "lib/Makefile"),
    ("make -sC lib", "lib/Makefile"),
    ("npm test", "package.json"),
    ("npm run build", ".npmrc"),
    ("npm --prefix web test", "web/package.json"),
    ("pnpm -C web test", "web/package.json"),
    ("yarn build", "package.json"),
    ("just deploy", "justfile"),
    ("cargo run", "Cargo.toml"),
    ("cargo test", "build.rs"),
    ("pytest", "conftest.py"),
    ("pytest tests/test_a.py::test_b", "tests/test_a.py"),
    ("python3 -m pytest", "conftest.py"),
    ("go run .", "main.go"),
    ("docker build .", "Dockerfile"),
    ("docker build -f Dockerfile.dev ctx", "Dockerfile.dev"),
    ("docker compose up -d", "compose.yaml"),
    ("terraform apply plan.out", "plan.out"),
    ("terraform apply", "main.tf"),
    ("ansible-playbook site.yml", "site.yml"),
    ("kubectl apply -f prod.yaml", "prod.yaml"),
    ("./gradlew test", "build.gradle"),
    ("node_modules/.bin/jest", "package.json"),
    ("psql -f migrate.sql", "migrate.sql"),
    ("sh < x", "x"),
    ("fish x; ls $(", "x"),
    ("ls $(fish x", "x"),
    ("cat x | bash", "x"),
    ('eval "$(cat x)"', "x"),
    ("bash <(cat x)", "x"),
    ("expect x.exp", "x.exp"),
    ("cd sub; fish x", "sub/x"),
    ("at -fx now", "x"),
    ("LD_PRELOAD=./x.so ls", "x.so"),
    ("PATH=.:$PATH x", "x"),
    ("bash {a,b}.sh", "b.sh"),
    ("bash *.sh", "a.sh"),
    ('for f in *.sh; do bash "$f"; done', "a.sh"),
    ("java -cp a.jar:b.jar Main", "b.jar"),
    ("python3 -m pkg.tool", "pkg/__init__.py"),
    ("python3 -m unittest", "test_x.py"),
    ("pip install .", "setup.py"),
    ("pytest tests", "tests/conftest.py"),
    ("kubectl apply -f folder", "folder/a.yaml"),
    ("cmake --build build", "build/Makefile"),
    ("git commit -m x", ".git/hooks/pre-commit"),
    ("make; " * 300 + "bash x", "x"),
    ("bash scripts/*", "scripts/a"),
    ("bash sc*s/a", "scripts/a"),
    ("make -C lib -f rules.inc", "lib/rules.inc"),
    ("npm run build -w web", "web/package.json"),
    ("npm run build --workspace=web", "web/package.json"),
    ("npm run build -w @acme/web", "node_modules/@acme/web/package.json"),
    ("pnpm -F ./web build", "web/package.json"),
    ("npx jest", "node_modules/.bin/jest"),
    ("yarn jest", "node_modules/.bin/jest"),
    ("kubectl apply -k base", "base/kustomization.yaml"),
    ("just deploy", "ops.just"),
    ("NODE_OPTIONS='--require ./x.js' node y.js", "x.js"),
    ("aws cloudformation deploy --template-body file://t.yml", "t.yml"),
]


@pytest.mark.parametrize(("text", "file"), RUNS)
def test_a_yes_is_not_for_a_file_that_changed_since(desk, text, file):
    async def main():
        desk.write(file, "good")
        approval = await desk.approve(desk.line(text))
        desk.write(file, "evil")
        again = await desk.decide(desk.line(text))
        assert (verdict_of(again), again.approval.id != approval.id) == (ASK, True)
        assert file.rpartition("/")[2] in again.approval.reason
        assert "since the last approval" in again.approval.reason
        await desk.node.decisions.answer(again.approval.id, YES, ANN)  # who looked at the new content may allow that
        assert verdict_of(await desk.decide(desk.line(text))) is ALLOW
        assert verdict_of(await desk.decide(desk.line(text))) is ASK

    asyncio.run(main())


def test_very_many_named_files_are_bound_as_one(desk):
    async def main():
        for number in range(MOST_PATHS + 1):
            desk.write(f"f{number}", "good")
        call = desk.line("git add " + " ".join(f"f{number}" for number in range(MOST_PATHS + 1)))
        await desk.approve(call)
        assert verdict_of(await desk.decide(call)) is ALLOW
        await desk.approve(call)
        desk.write("f7", "evil")
        again = await desk.decide(call)
        assert (verdict_of(again), "one of the files that the command names changed" in again.approval.reason) == (
            ASK,
            True,
        )
        many = desk.line("git add " + " ".join(f"g{number}" for number in range(MOST_NAMES + 1)))
        await desk.approve(many)
        assert verdict_of(await desk.decide(many)) is DENY

    asyncio.run(main())


def test_folders_that_a_pattern_names_are_bound_unless_they_are_too_many_to_look(desk):
    async def main():
        for number in range(64):
            desk.write(f"d{number}/a", "good")
        await desk.approve(desk.line("bash d*/a"))
        assert verdict_of(await desk.decide(desk.line("bash d*/a"))) is ALLOW
        desk.write("d64/a", "evil")
        await desk.approve(desk.line("bash d*/a"))
        ruling = await desk.decide(desk.line("bash d*/a"))
        assert (verdict_of(ruling), "can't check" in ruling.decision.decision_reason) == (DENY, True)

    asyncio.run(main())


def test_a_name_of_which_nothing_is_known_binds_nothing_but_what_is_in_the_folder_it_is_in(desk):
    async def main():
        desk.write("other", "good")
        await desk.approve(desk.line("bash $X"))
        desk.write("other", "changed")
        assert verdict_of(await desk.decide(desk.line("bash $X"))) is ALLOW

    asyncio.run(main())


def test_a_named_pipe_is_not_read_and_a_device_is_no_file(desk):
    async def main():
        await desk.approve(desk.line("npm x < /dev/null"))
        assert verdict_of(await desk.decide(desk.line("npm x < /dev/null"))) is ALLOW
        os.mkfifo(desk.folder / "pipe")
        await desk.approve(desk.line("sh < pipe"))
        assert verdict_of(await desk.decide(desk.line("sh < pipe"))) is DENY

    asyncio.run(main())


def test_a_script_in_a_folder_above_the_one_it_is_named_in_counts_too(desk):
    async def main():
        desk.write("package.json", "good")
        (desk.folder / "a/b").mkdir(parents=True)
        call = desk.line("npm test", desk.folder / "a/b")
        await desk.approve(call)
        desk.write("a/package.json", "evil")  # what npm would find first
        assert verdict_of(await desk.decide(call)) is ASK

    asyncio.run(main())


def test_what_changed_and_changed_back_is_what_was_asked_about(desk):
    async def main():
        desk.write("deploy.sh", "good")
        await desk.approve(desk.line("bash deploy.sh"))
        desk.write("deploy.sh", "evil")
        desk.write("deploy.sh", "good")
        assert verdict_of(await desk.decide(desk.line("bash deploy.sh"))) is ALLOW

    asyncio.run(main())


def test_a_change_before_the_answer_is_a_change(desk):
    """What the person looked at counts, not what was there when they pressed the key."""

    async def main():
        script = desk.write("deploy.sh", "good")
        for scope in (YES, ALWAYS):
            approval = await desk.ask(desk.line("bash deploy.sh"))
            script.write_text("evil")
            await desk.node.decisions.answer(approval.id, scope, ANN)
            again = await desk.decide(desk.line("bash deploy.sh"))
            assert verdict_of(again) is ASK
            await desk.node.decisions.cancel(again.approval.id, "test")
            script.write_text("good")

    asyncio.run(main())


@pytest.mark.parametrize("swap", ["link", "folder", "gone", "pipe"])
def test_a_file_that_is_replaced_is_not_run(desk, swap):
    async def main():
        script, other = desk.write("deploy.sh", "good"), desk.write("other.sh", "evil")
        await desk.approve(desk.line("bash deploy.sh"))
        script.unlink()
        with contextlib.suppress(KeyError):
            {
                "link": lambda: script.symlink_to(other),
                "folder": script.mkdir,
                "pipe": lambda: os.mkfifo(script),
            }[swap]()
        assert verdict_of(await desk.decide(desk.line("bash deploy.sh"))) is not ALLOW

    asyncio.run(main())


def test_a_file_that_was_not_there_is_asked_about_once_it_is(desk):
    async def main():
        await desk.approve(desk.line("bash later.sh"))
        desk.write("later.sh", "evil")
        again = await desk.decide(desk.line("bash later.sh"))
        assert (verdict_of(again), "did not exist then" in again.approval.reason) == (ASK, True)

    asyncio.run(main())


def test_what_can_not_be_checked_is_not_run(desk):
    async def main():
        os.mkfifo(desk.folder / "pipe.sh")
        await desk.approve(desk.line("bash pipe.sh"))
        refused = await desk.decide(desk.line("bash pipe.sh"))
        assert (verdict_of(refused), "can't check" in refused.decision.decision_reason) == (DENY, True)
        many = "pytest " + " ".join(f"t{n}.py" for n in range(MOST_PATHS + 1))
        await desk.approve(desk.line(many))
        refused = await desk.decide(desk.line(many))
        assert (verdict_of(refused), "too many files" in refused.decision.decision_reason) == (DENY, True)

    asyncio.run(main())


def test_a_large_file_is_bound_by_its_times_and_place(desk):
    async def main():
        script = desk.write("big.sh", "x" * (LARGEST_FILE + 1))
        await desk.approve(desk.line("bash big.sh"))
        assert verdict_of(await desk.decide(desk.line("bash big.sh"))) is ALLOW
        await desk.approve(desk.line("bash big.sh"))
        with script.open("r+") as file:
            file.write("y")
        os.utime(script, ns=(0, 0))
        assert verdict_of(await desk.decide(desk.line("bash big.sh"))) is ASK

    asyncio.run(main())


@pytest.mark.parametrize("inner", [False, True])
def test_a_folder_that_is_swapped_is_another_one(desk, tmp_path, inner):
    async def main():
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "Makefile").write_text("all:\n\ttrue\n")
        link = desk.folder / "here"
        link.symlink_to(tmp_path / "one")
        call = desk.line("make all", workdir="here") if inner else desk.line("make all", link)
        await desk.approve(call)
        link.unlink()
        link.symlink_to(tmp_path / "two")
        again = await desk.decide(call)
        assert (verdict_of(again), "another folder now" in again.approval.reason) == (ASK, True)

    asyncio.run(main())


def test_an_edit_is_approved_against_the_content_that_it_was_shown_with(desk, tmp_path):
    async def main():
        (tmp_path / "settings").write_text("a = 1\n")
        path = str(tmp_path / "settings")
        call = ToolCall(tool="Edit", input={"file_path": path, "old_string": "1", "new_string": "2"}, cwd="/")
        await desk.approve(call)
        (tmp_path / "settings").write_text("b = 1\n")
        again = await desk.decide(call)
        assert (verdict_of(again), "settings` changed" in again.approval.reason) == (ASK, True)

    asyncio.run(main())


def test_a_changed_call_runs_neither_as_it_was_nor_with_another_file(desk):
    async def main():
        desk.write("a.sh", "asked"), desk.write("b.sh", "edited")
        edited = {"command": "bash b.sh"}
        call = msgspec.structs.replace(desk.line("bash a.sh"), rewritable=True)
        await desk.approve(call, Answer(verdict=ALLOW, modified_input=edited))
        desk.write("b.sh", "evil")
        assert verdict_of(await desk.decide(desk.line("bash b.sh"))) is ASK
        again = await desk.decide(call)
        assert (verdict_of(again), again.updated_input) == (ASK, None)
        await desk.node.decisions.answer(again.approval.id, Answer(verdict=ALLOW, modified_input=edited), ANN)
        desk.write("a.sh", "changed")  # what the person put in its place does not run this
        ruling = await desk.decide(call)
        assert (verdict_of(ruling), ruling.updated_input) == (ALLOW, edited)

    asyncio.run(main())


def test_who_waits_is_asked_again_and_told_why(desk):
    async def main():
        script = desk.write("deploy.sh", "good")
        asked = []

        async def on_ask(approval):
            asked.append(approval)

        waiting = asyncio.create_task(
            desk.node.decisions.decide(desk.line("bash deploy.sh"), desk.session, wait=60, on_ask=on_ask)
        )
        await soon(lambda: len(asked) == 1)
        script.write_text("evil")
        await desk.node.decisions.answer(asked[0].id, YES, ANN)
        await soon(lambda: len(asked) == 2)
        assert "deploy.sh` changed" in asked[1].reason
        await desk.node.decisions.answer(asked[1].id, YES, ANN)
        assert verdict_of(await waiting) is ALLOW

    asyncio.run(main())


def test_of_repeats_that_race_one_is_released_and_after_a_change_none(desk):
    async def main():
        script, call = desk.write("deploy.sh", "good"), desk.line("bash deploy.sh")
        await desk.approve(call)
        rulings = await asyncio.gather(*(desk.decide(call) for _ in range(8)))
        assert [verdict_of(r) for r in rulings].count(ALLOW) == 1
        await desk.node.decisions.answer((await desk.ask(call)).id, YES, ANN)
        script.write_text("evil")
        rulings = await asyncio.gather(*(desk.decide(call) for _ in range(8)))
        assert {verdict_of(r) for r in rulings} == {ASK}

    asyncio.run(main())


@pytest.mark.parametrize("is_changed", [False, True])
def test_a_yes_stays_bound_across_a_restart(tmp_path, url, is_changed):
    folder = tmp_path / "project"
    folder.mkdir()

    async def before(desk):
        desk.write("deploy.sh", "good")
        await desk.approve(desk.line("bash deploy.sh"))

    async def after(desk):
        if is_changed:
            desk.write("deploy.sh", "evil")
        assert verdict_of(await desk.decide(desk.line("bash deploy.sh"))) is (ASK if is_changed else ALLOW)

    for step in (before, after):
        with Node(tmp_path / "home", url) as node:
            asyncio.run(step(Desk(watch(node), folder)))


def test_a_standing_yes_is_for_the_script_as_it_was(desk):
    async def main():
        script, call = desk.write("deploy.sh", "good"), desk.line("bash deploy.sh")
        await desk.approve(call, ALWAYS)
        assert [verdict_of(await desk.decide(call)) for _ in range(2)] == [ALLOW, ALLOW]
        script.write_text("evil")
        assert verdict_of(await desk.decide(call)) is ASK

    asyncio.run(main())


def test_a_standing_yes_to_a_script_that_does_not_exist_is_refused_and_nothing_is_kept(desk):
    async def main():
        approval = await desk.ask(desk.line("./missing.sh"))
        for answer in (ALWAYS, Answer(verdict=ALLOW, scope=Scope.SESSION, pattern="./missing.sh:*")):
            with pytest.raises(ContradictionError, match=r"missing\.sh` did not exist when this was asked"):
                await desk.node.decisions.answer(approval.id, answer, ANN)
        assert await desk.node.approvals.grants() == ()
        await desk.node.decisions.answer(approval.id, YES, ANN)

    asyncio.run(main())


def test_the_record_says_what_a_yes_was_bound_to_and_where_it_was_not(desk):
    async def main():
        script, call = desk.write("deploy.sh", "good"), desk.line("bash deploy.sh")
        await desk.approve(call)
        reading = (await desk.decide(call)).decision.reading
        assert str(script) in dict(reading.bound)
        assert reading.facts["files"].endswith("bound")
        desk.session = msgspec.structs.replace(desk.session, remote=True)
        await desk.approve(call)
        script.write_text("evil")  # on this disk, which is not the agent's
        ruling = await desk.decide(call)
        assert (verdict_of(ruling), ruling.decision.reading.bound) == (ALLOW, ())
        assert ruling.decision.reading.facts["files"].startswith("not bound")

    asyncio.run(main())


def test_what_runs_in_a_sandbox_is_looked_at_once_more_when_it_starts(node, tmp_path):
    from assent import Policy, parse_rules

    desk = Desk(node, tmp_path / "project")
    policy = Policy(mode="auto", ask=parse_rules(["Bash(bash:*)"]))
    watch(node, policy, sandbox=True)
    me = Principal(role=Role.USER, user="ann")

    async def main():
        script, call = desk.write("deploy.sh", "good"), desk.line("bash deploy.sh")
        words = find_line(call)
        for text in ("good", "evil"):
            await desk.approve(call)
            ruling = await desk.decide(call)
            assert ruling.decision.decision == "sandboxed"
            script.write_text(text)
            if text == "good":
                await node.decisions.redeem(ruling.ticket.id, words.words, words.folder, me)
                continue
            with pytest.raises(TicketError, match=r"deploy\.sh` changed"):
                await node.decisions.redeem(ruling.ticket.id, words.words, words.folder, me)

    asyncio.run(main())

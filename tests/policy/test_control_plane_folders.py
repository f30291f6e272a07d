"""A folder that holds what decides later what runs is as safe as that is, in every mode and under every grant."""

from __future__ import annotations

import posixpath

import pytest

from assent.analysis.budget import MOST_NAMES
from assent.model import Consent, Grant, Session, Verdict
from assent.policy.rules.parse import parse_rule
from scenes import HOME, judge, policy, view_of, world

ALLOW, ASK, DENY = Verdict
WS = "/ws"
FILES = {
    *("/ws/sub/.claude/settings.json", "/ws/sub/a.txt", "/ws/sub/deep/b.txt"),
    *("/ws/repo/.git/hooks/pre-commit", "/ws/repo/.git/config", "/ws/repo/src/a.py", "/ws/repo/README"),
    *("/ws/tests/unit/conftest.py", "/ws/tests/test_a.py", "/ws/plain/a/b/c.txt", "/ws/plain/d.txt"),
    *("/ws/rules/claude/settings.json", "/ws/rules/other", "/ws/build/out.o", "/ws/src/a/x.py", "/ws/a.txt"),
    *("/ws/node_modules/.bin/tool", "/ws/node_modules/pkg/.travis.yml", "/ws/node_modules/pkg/index.js"),
    *("/ws/.venv/bin/python", "/ws/.venv/pyvenv.cfg", "/ws/.venv/lib/python3/site-packages/x.pth"),
    *("/ws/flows/workflows/ci.yml", "/ws/tool/bin/python", "/ws/.github/workflows/ci.yml", "/ws/.github/CODEOWNERS"),
    *("/ws/packages/one/dist/x.js", "/ws/packages/one/AGENTS.md", "/ws/packages/two/dist/y.js"),
    *("/tmp/in/.envrc", "/tmp/in/x", "/tmp/clean/x", f"{HOME}/.bashrc", f"{HOME}/notes/a.txt", "/ws/x", "/ws/y/z"),
    *("/etc/profile", "/etc/hosts"),
}


def _above(path: str) -> list[str]:
    return [] if path == "/" else [posixpath.dirname(path), *_above(posixpath.dirname(path))]


TREE: dict[str, dict[str, bool]] = {}
for _file in FILES:
    TREE.setdefault(posixpath.dirname(_file), {})[posixpath.basename(_file)] = False
    for _folder in _above(_file)[:-1]:
        TREE.setdefault(posixpath.dirname(_folder), {})[posixpath.basename(_folder)] = True


def names(folder: str) -> list[tuple[str, bool]]:
    return sorted(TREE.get(posixpath.normpath(folder), {}).items())


def there(path: str) -> bool:
    found = posixpath.normpath(path)
    return found in TREE or (found in FILES and not path.endswith("/."))


LINKS = {"/ws/.codex/config.toml": "/ws/rules/claude/settings.json", "/ws/door": "/ws/sub"}
FACTS = world(
    links=LINKS,
    names=names,
    exists=there,
    control_links=lambda folder: ("/ws/rules/claude/settings.json",) if folder == WS else (),
)
BLIND = world()
SESSION = Session(id="s", user="ann", agent="bot", workspace=(WS,))
BYPASS = policy(mode="bypassPermissions")
LOOSEST = policy(mode="bypassPermissions", classifier=False, allow=["*", "Bash", "Read", "Write", "Delete"])
EDITS = policy(mode="acceptEdits", allow=["*", "Bash", "Write", "Delete"])

FIRM = [
    # What goes.
    "rm -r sub",
    "rm -rf sub/",
    "rm -rf ./sub",
    "rm -r sub build",
    "rm -rf s*",
    "rm -rf */",
    "rm -rf ../ws/sub",
    "rm -r door/",
    "rm -rf repo",
    "rm -rf tests",
    "rm -rf .github",
    "rm -rf packages/*",
    "cd sub/.. && rm -rf sub",
    "x=sub; rm -rf $x",
    "bash -c 'rm -rf sub'",
    "mv sub x2",
    "mv -t build sub",
    "mv sub build/",
    "mv -T y sub",
    "mv --exchange y sub",
    "mv rules x2",
    "mv r* build",
    "git mv sub x2",
    "git rm -r sub",
    "git -C sub clean -fdx",
    "git clean -fdx sub",
    "git clean -fdx",
    "find sub -delete",
    "find sub -type f -delete",
    "find . -name conftest.py -delete",
    "find . -name 'conftest*' -delete",
    "find . -name .claude -exec rm -rf {} +",
    "find sub -exec rm -rf {} +",
    "trash-put sub",
    "gio trash sub",
    "chmod -R 000 sub",
    "rsync -a --delete y/ sub/",
    "rsync -a --remove-source-files sub/ /tmp/out/",
    "ln -sfn /tmp/in sub",
    "mount --bind /tmp/in sub",
    # What is filled.
    "tar xf a.tar -C sub",
    "tar -C sub -xf a.tar",
    "cd sub && tar xf a.tar",
    "tar xf a.tar",
    "unzip a.zip -d sub",
    "cd repo && unzip a.zip",
    "cp -r y/. sub",
    "cp -rT y sub",
    "cp -r $X/. sub",
    "cp -r y/sub .",
    "cp -a /tmp/clean/. repo",
    "rsync -a y/ sub/",
    "rsync -a h:y/ sub/",
    "rsync -a y/sub .",
    "git clone x sub",
    "tar xf a.tar -C rules",
    "tar xf a.tar -C .venv",
    # What comes with a folder.
    "cp -r sub x2",
    "cp -r sub build",
    "cp -r /tmp/in build",
    "cp -r /tmp/in/. build",
    "cp -r /tmp/i* build",
    "cp -r tests t2",
    "cp -r repo /tmp/out",
    "cp -r flows/. .github",
    "cp -r flows/* .github",
    "cp -r flows/workflows .github",
    "cp -rT flows .github",
    "cp -r tool .venv2 && cp -rT tool .venv",
    "mv -T tool .venv",
    "rsync -a /tmp/in build",
    "rsync -a --delete flows/ .github/",
    "rsync -a /tmp/in/ build/",
    "gio copy /tmp/in build",
    "gio copy -T y sub",
    "find {y,sub} -mindepth 1 -exec rm -rf {} +",
    "sed -i s/a/b/ tests/unit/*",
    "shred -u packages/one/*.md",
    "for d in sub/* sub; do rm -rf $d; done",
    "for d in y* sub; do mv $d build; done",
    "echo sub | xargs rm -rf",
    "ls -d s* | xargs -I{} mv {} build",
    "find s?b -mindepth 1 -exec rm -rf {} +",
    "tar cf o.tar sub --remove-files",
    "tar --remove-files -cf o.tar *",
    "zip -rm o.zip sub",
    "zip -m -r o.zip sub",
    "cp tests/unit/* build",
    "cp tests/unit/c* build",
    "cp -r y pl*/ */",
    "cp -r /tmp/in bu*",
    "cp -r -t bu* /tmp/in",
    "cp -r y/sub .git*",
    "mv y */",
    "ln -s /tmp/in x2",
    "ln -s ../tests build/t",
    "ln -sfn /tmp/in build",
    "ln -s /tmp/in build/",
    "gio move -T y sub",
    "cp --parents sub/.claude/settings.json build",
    "cp -r --parents y sub",
    "rsync -aR sub/.claude/settings.json build",
    "mv -t build /tmp/in",
    "mv /tmp/in/* build && mv /tmp/in/.??* build",
    "cp -r -t build /tmp/in",
]
"""Lines by which something of the control plane goes, is written over, or is made, though none of them names it."""

FREE = [
    "rm -r build",
    "rm -rf build/",
    "rm -rf node_modules",
    "rm -rf .venv",
    "rm -rf node_modules .venv build",
    "rm -rf plain",
    "rm -rf src/*",
    "rm -rf packages/*/dist",
    "rm -rf */dist",
    "rm -rf sub/deep",
    "rm -rf repo/src",
    "rm -rf nowhere",
    "rm *.txt",
    "mv src/a src/b",
    "mv a.txt sub/",
    "mv plain x2",
    "mv plain repo/",
    "mv build repo/src",
    "mv node_modules old",
    "cp -r plain repo",
    "cp -r flows .github",
    "cp -r plain repo/src",
    "cp -r src repo/src",
    "cp -r plain x2",
    "cp a.txt sub/",
    "cp -r plain/* repo/src",
    "cp -r /tmp/clean repo/src",
    "tar xf a.tar -C build",
    "unzip a.zip -d x2",
    "git clone x y2",
    "git rm -r build",
    "git mv src/a src/b",
    "git checkout main",
    "git pull",
    "find . -name '*.pyc' -delete",
    "find build -delete",
    "find . -name '*.pyc' -exec rm {} +",
    "rsync -a plain/ build/",
    "rsync -a --delete plain/ build/",
    "rsync -a plain/ h:x/",
    "mkdir -p sub/x",
    "touch sub/new",
    "chmod -R u+w build",
    "chmod u+w sub",
    "ln -s plain x2",
    "echo x > sub/a.txt",
    "rm -r $X",
    "mv $X repo/",
    "find . -name '*.pyc' | xargs rm -f",
    "ls build | xargs rm -rf",
    "ls *.txt | xargs rm",
    "cp src/* build",
    "sed -i s/a/b/ packages/*",
    "chmod 644 tests/*",
    "cp tests/* build",
    "ln -s ../node_modules build/node_modules",
    "ln -s plain x2",
    "tar cf o.tar build --remove-files",
    "zip -rm o.zip build",
    "cp -r y pla*",
    "cp x pla*",
    "cp -r $X repo",
    "ls sub",
    "cp h:x build",
]
"""Everyday lines beside them."""

BY_WORDS = [
    "rm -rf .github",
    "mv ~ /tmp/x",
    "tar xf a.tar -C ~",
    "tar xf a.tar -C ~/.config",
    "unzip a.zip",
    "mv /ws x",
]
NOT_BY_WORDS = ["rm -rf sub", "mv sub x", "tar xf a.tar -C sub", "cp -r x sub", "rm -rf node_modules", "rm -rf .venv"]


def said(line: str, *policies, facts=FACTS, consent=None, tool="Bash", cwd=WS):
    given = {"command": line} if tool == "Bash" else {"path": line}
    view = view_of(tool, given, cwd=cwd, facts=facts, session=SESSION)
    decision = judge(view, *policies, consent=consent or Consent())
    return decision, [o for o in decision.opinions if o.policy == "control-plane"]


@pytest.mark.parametrize("line", FIRM)
def test_what_holds_the_control_plane_is_asked_about_firmly(line):
    for loose in (BYPASS, LOOSEST, EDITS):
        decision, found = said(line, loose, consent=Consent(destructive=True))
        assert decision.verdict is ASK
        assert found
        assert all(o.firm and o.verdict is ASK for o in found)
    assert said(line, LOOSEST, consent=Consent(yes=True, destructive=True))[0].verdict is ALLOW


@pytest.mark.parametrize("line", FREE)
def test_everyday_lines_beside_it_go_on(line):
    decision, found = said(line, LOOSEST)
    assert found == []
    assert decision.verdict is ALLOW


@pytest.mark.parametrize("line", ["rm -r build", "mv src/a src/b", "cp -r plain repo"])
def test_an_everyday_ask_stays_one_that_a_grant_and_an_allow_rule_answer(line):
    assert said(line)[0].verdict in (ASK, ALLOW)
    grant = Grant(id="g", user="ann", rule=parse_rule(f"Bash({line.split()[0]}:*)"))
    assert said(line, consent=Consent(grants=(grant,)))[0].verdict is ALLOW
    assert said(line, policy(allow=[f"Bash({line.split()[0]}:*)"]))[0].verdict is ALLOW


@pytest.mark.parametrize("line", ["rm -r sub", "mv sub x2", "cp -r y/. sub"])
def test_no_grant_and_no_rule_answers_for_it(line):
    rule = f"Bash({line.split()[0]}:*)"
    grant = Grant(id="g", user="ann", rule=parse_rule(rule))
    assert said(line, consent=Consent(grants=(grant,)))[0].verdict is ASK
    assert said(line, policy(allow=[rule, "Write", "Delete"]))[0].verdict is ASK


@pytest.mark.parametrize("line", BY_WORDS)
def test_where_the_disk_can_not_be_seen_the_words_say_what_they_can(line):
    decision, found = said(line, BYPASS, facts=BLIND)
    assert (decision.verdict, bool(found)) == (ASK, True)
    assert "may contain files that make code run later" in found[0].reason


@pytest.mark.parametrize("line", NOT_BY_WORDS)
def test_where_the_disk_can_not_be_seen_words_that_say_nothing_go_on(line):
    assert said(line, BYPASS, facts=BLIND)[0].verdict is ALLOW


def test_another_machine_has_another_disk():
    assert said("docker exec c rm -r sub", BYPASS)[0].verdict is ALLOW
    assert said("docker exec c rm -r /ws/.github", BYPASS)[0].verdict is ASK


def test_a_tool_that_deletes_takes_what_is_in_a_folder_with_it():
    for path, verdict in (("sub", ASK), ("rules", ASK), ("build", ALLOW), ("a.txt", ALLOW)):
        assert said(path, BYPASS, tool="delete_file")[0].verdict is verdict


def test_the_reason_names_what_was_found():
    decision, _ = said("rm -r sub", BYPASS)
    assert decision.decision_reason == ("/ws/sub/.claude can make code run later, so every change is asked about")
    assert [o.reason for o in decision.reading.operations][-1] == "removes files that can make code run later"


@pytest.mark.parametrize("listed", [None, [(f"f{n}", False) for n in range(MOST_NAMES + 1)]])
def test_what_can_not_be_looked_through_counts_as_holding_it(listed):
    facts = world(links={}, names=lambda _folder: listed, exists=there)
    for line in ("rm -r build", "tar xf a.tar -C build", "cp -r build x2", "rm -rf */"):
        decision, found = said(line, BYPASS, facts=facts)
        assert decision.verdict is ASK
        assert "may contain files that make code run later" in found[0].reason


def test_looks_have_a_bound_for_the_whole_call():
    asked: list[str] = []

    def counted(folder: str) -> list[tuple[str, bool]]:
        asked.append(folder)
        return [(f"d{n}", True) for n in range(100)]

    facts = world(links={}, names=counted, exists=there)
    assert said("rm -r " + " ".join(f"a{n}" for n in range(200)), BYPASS, facts=facts)[0].verdict is ASK
    assert len(asked) <= MOST_NAMES // 100 + 200


def test_a_checkout_that_itself_lies_in_the_control_plane_is_a_plain_folder():
    tree = {"/p/.claude/worktrees/w/build": [("x.o", False)], "/p/.claude/worktrees/w/b": [(".envrc", False)]}
    facts = world(links={}, names=lambda folder: tree.get(folder, []), exists=tree.__contains__)
    session = Session(id="s", user="ann", agent="bot", workspace=("/p/.claude/worktrees/w",))
    for line, verdict in (("rm -r build", ALLOW), ("rm -r b", ASK)):
        view = view_of("Bash", {"command": line}, cwd=session.workspace[0], facts=facts, session=session)
        assert judge(view, BYPASS).verdict is verdict

"""What a sandboxed command wrote is not trusted by what runs later outside: it is asked about, or stays inside.

And it is named, whatever the command did to hide it.
"""

import asyncio
import json
import os
import sys

import pytest
from driver import make_repository

from assent import Engine, Session, ToolCall
from assent.model import Mode, Policy
from assent.platform.facts import observe
from assent.sandbox.left_programs import Before, find_programs, now

PLANT = """
mkdir -p bin .venv/bin sub tests
printf '#!/bin/sh\\necho planted\\n' > bin/ls
cp bin/ls .venv/bin/pip
cp bin/ls tool
chmod +x bin/ls .venv/bin/pip tool
git init -q sub
git -C sub config core.fsmonitor ../tool
printf 'import os\\n' > tests/conftest.py
printf 'all:\\n\\t./tool\\n' > Makefile
printf '{"scripts": {"test": "./tool"}}\\n' > package.json
ln -s /etc notes
"""

LATER = [
    ("Bash", {"command": "bin/ls"}),
    ("Bash", {"command": "./tool"}),
    ("Bash", {"command": "PATH=bin:$PATH ls"}),
    ("Bash", {"command": ".venv/bin/pip list"}),
    ("Bash", {"command": "git -C sub status"}),
    ("Bash", {"command": "cd sub && git diff"}),
    ("Bash", {"command": "pytest tests"}),
    ("Bash", {"command": "make"}),
    ("Bash", {"command": "npm test"}),
    ("Bash", {"command": "echo x > notes/hosts"}),
    ("Write", {"file_path": "notes/hosts", "content": "x"}),
]


@pytest.fixture(scope="module")
def planted():
    from driver import LAUNCHERS, World

    world = World(LAUNCHERS[0])
    done = world.sh(PLANT)
    assert done.returncode == 0, done.stderr
    yield world
    world.remove()


@pytest.mark.parametrize(("tool", "given"), LATER, ids=lambda v: v if isinstance(v, str) else next(iter(v.values())))
def test_what_was_planted_is_not_run_or_followed_unasked(planted, tool, given):
    root = str(planted.workspace)
    engine = Engine((), facts=lambda: observe(planted.environ))
    call = ToolCall(tool=tool, input=given, cwd=root)
    assert engine.decide(call, Session(workspace=(root,))).decision != "allow"


def test_and_before_it_was_planted_looking_was_safe(own_world):
    engine = Engine((), facts=lambda: observe(own_world.environ))
    root = str(own_world.workspace)
    own_world.sh("git init -q sub")
    call = ToolCall(tool="Bash", input={"command": "git -C sub status"}, cwd=root)
    assert engine.decide(call, Session(workspace=(root,))).decision == "allow"


def left_by(world, script):
    """Run a script inside, and return what is then on record as left behind."""
    done = world.sh(script, options=["--json"])
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    found = events[-1]["payload"].get("programs", {"paths": [], "count": 0, "complete": True})
    return found | {"paths": [os.path.relpath(path, world.workspace) for path in found["paths"]]}


def test_what_was_left_behind_is_on_record_and_told(world):
    world.write("old", "#!/bin/sh", mode=0o755)
    world.write("kept", "#!/bin/sh", mode=0o755)
    world.write("plain")
    found = left_by(world, PLANT + "echo true >> old; echo x > plain; mkdir a; cp old a/b; mv a c")
    assert found["paths"] == [
        *(".venv/bin/pip", "Makefile", "bin/ls", "c/b", "notes", "old", "package.json", "sub/.git/config"),
        *("tests/conftest.py", "tool"),
    ]
    assert (found["count"], found["complete"]) == (len(found["paths"]), True)
    told = world.sh("cp tool other").stderr
    assert "files that may run later outside the sandbox: other\n" in told


@pytest.mark.parametrize("script", ["ls -la; cat plain", "echo x > plain; mkdir -p new; echo y > new/file"])
def test_and_where_there_is_nothing_nothing_is_said(own_world, script):
    own_world.write("plain", mode=0o644)
    own_world.write("tool", mode=0o755)
    assert left_by(own_world, script)["count"] == 0
    assert own_world.sh(script).stderr == ""


HIDING = """
import os
file = os.open("plain", os.O_RDONLY)
os.fchmod(file, 0o755)
os.utime("plain", (0, 0))
"""


def test_a_file_made_a_program_without_being_written_is_named_whatever_its_times_say(world):
    world.write("plain", mode=0o644)
    world.write("hide.py", HIDING)
    found = left_by(world, f"{world.inner_python} hide.py")
    assert found["paths"] == ["plain"]


def test_of_very_many_some_are_named_and_a_crowd_is_not_looked_through_silently(tmp_path, monkeypatch):
    began = now()
    for number in range(40):
        (tmp_path / f"p{number:02}").write_text("")
        (tmp_path / f"p{number:02}").chmod(0o755)
    found = asyncio.run(find_programs([str(tmp_path)], frozenset(), Before(began)))
    assert (len(found.paths), found.count, found.complete) == (20, 40, True)
    monkeypatch.setattr(sys.modules["assent.sandbox.left_programs"], "_MOST_ENTRIES", 10)
    found = asyncio.run(find_programs([str(tmp_path)], frozenset(), Before(began)))
    assert (found.count, found.complete, bool(found)) == (10, False, True)


NO_TEXT = """
import os
os.close(os.open(b"bad\\xff\\x1b[31mname", os.O_CREAT | os.O_WRONLY, 0o755))
os.close(os.open(b".env\\xff", os.O_CREAT | os.O_WRONLY, 0o600))
try:
    os.open(os.fsencode(os.environ["OUTSIDE"]) + b"/bad\\xff", os.O_CREAT | os.O_WRONLY)
except OSError:
    raise SystemExit(7)
"""


def test_names_that_are_no_text_keep_nothing_off_the_record(own_world):
    own_world.write("make.py", NO_TEXT)
    own_world.configure("profiles: {mine: {environment: [OUTSIDE]}}")
    outside = {"OUTSIDE": str(own_world.outside)}
    words = [own_world.inner_python, "make.py"]
    done = own_world.run(*words, options=["--json", "--profile", "mine"], environ=outside)
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    kinds = ["sandbox.applied", "process.started", "sandbox.violation", "process.completed"]
    assert [event["type"] for event in events] == kinds
    assert events[2]["violation"]["resource"].endswith(r"/bad\udcff")
    assert [name.rpartition("/")[2] for name in events[3]["payload"]["programs"]["paths"]] == [
        "bad\\udcff\x1b[31mname",
    ]
    # With a secret of such a name in the workspace, and without --json, everything works as ever.
    again = own_world.run(*words, options=["--profile", "mine"], environ=outside)
    assert (done.returncode, again.returncode) == (7, 1)
    assert "internal error" not in again.stderr
    assert "\x1b" not in again.stderr


def test_a_folder_that_was_closed_before_anybody_could_look_is_told(world):
    done = world.sh("mkdir closed; cp /bin/true closed/tool; chmod 000 closed; echo x > x")
    assert "files that may run later outside the sandbox: " in done.stderr
    (world.workspace / "closed").chmod(0o700)


TWO_STEPS = {
    "a link on the way": ("mkdir d; ln -s d .cargo", "echo x > d/config.toml", "d/config.toml"),
    "a link to nothing yet": ("ln -s d .cargo", "mkdir d; echo x > d/config.toml", "d/config.toml"),
    "a link by a full path": ("mkdir d; ln -s $PWD/d .cargo", "echo x > d/config.toml", "d/config.toml"),
    "a link over links": ("mkdir d; ln -s d m; ln -s m .cargo", "echo x > d/config.toml", "d/config.toml"),
    "a link in a subfolder": ("mkdir sub d; ln -s ../d sub/.cargo", "echo x > d/config.toml", "d/config.toml"),
    "a link in what a link leads to": (
        "mkdir x d; ln -s ../d x/workflows; ln -s x .github",
        "echo x > d/a.yml",
        "d/a.yml",
    ),
    "a link of another case": ("mkdir d; ln -s d .CARGO", "echo x > d/config.toml", "d/config.toml"),
    "a file's link first": ("ln -s c.py conftest.py", "echo x > c.py", "c.py"),
    "a file's link last": ("echo x > c.py", "ln -s c.py conftest.py", "conftest.py"),
    "a hard link first": ("echo x > c.py; ln c.py conftest.py", "echo y > c.py", "conftest.py"),
    "a hard link last": ("echo x > c.py", "ln c.py conftest.py", "conftest.py"),
    "a file renamed": ("echo x > c.py", "mv c.py conftest.py", "conftest.py"),
    "a folder renamed": (
        "mkdir -p gh/workflows; echo x > gh/workflows/a.yml",
        "mv gh .github",
        ".github/workflows/a.yml",
    ),
    "a folder renamed to another case": (
        "mkdir -p gh/workflows; echo x > gh/workflows/a.yml",
        "mv gh .GitHub",
        ".GitHub/workflows/a.yml",
    ),
    "an inner folder moved": (
        "mkdir -p x/workflows .github; echo x > x/workflows/a.yml",
        "mv x/workflows .github/",
        ".github/workflows/a.yml",
    ),
    "a folder moved and touched": (
        "mkdir -p gh/workflows; echo x > gh/workflows/a.yml",
        "mv gh .github; touch .github/x .github/workflows/x; rm .github/workflows/x",
        ".github/workflows/a.yml",
    ),
    "a parent renamed": ("mkdir -p pack/bin; cp /bin/true pack/bin/ls", "mv pack tools", "tools/bin/ls"),
    "a parent renamed and touched": (
        "mkdir -p pack/bin; cp /bin/true pack/bin/ls",
        "mv pack tools; touch tools/x tools/bin/x",
        "tools/bin/ls",
    ),
    "a parent swapped": (
        "mkdir tests x; echo x > tests/a; echo x > x/conftest.py",
        "mv tests old; mv x tests",
        "tests/conftest.py",
    ),
    "a parent moved deep": (
        "mkdir -p a/b/c/d/e/f/g pack/bin; cp /bin/true pack/bin/ls",
        "mv pack a/b/c/d/e/f/g/",
        "a/b/c/d/e/f/g/pack/bin/ls",
    ),
    "a folder out of a crowd": (
        "mkdir -p node_modules/pack/bin; cp /bin/true node_modules/pack/bin/ls",
        "mv node_modules/pack tools",
        "tools/bin/ls",
    ),
}


@pytest.mark.parametrize("name", TWO_STEPS)
def test_what_two_runs_make_together_is_named_after_the_second(own_world, name):
    first, second, left = TWO_STEPS[name]
    assert own_world.sh(first).returncode == 0
    found = left_by(own_world, second)
    assert left in found["paths"]


@pytest.mark.parametrize("place", [".cargo", ".github", "sub/.cargo", ".venv"])
def test_a_link_where_something_that_decides_could_be_found_later_is_named_at_once(own_world, place):
    found = left_by(own_world, f"mkdir -p sub; ln -s $PWD/d {place}")
    assert found["paths"] == [place]


def test_what_was_there_before_and_stays_where_it_is_is_not_named(own_world):
    own_world.write(".github/workflows/a.yml", "x")
    own_world.write("tools/bin/ls", "x", mode=0o755)
    own_world.write("tests/conftest.py", "x")
    own_world.write("src/a", "x")
    (own_world.workspace / "link").symlink_to("src")
    script = (
        "echo x > .github/x; echo x > tools/y; mv tools/y tools/bin/z; mkdir tests/new; mv src/a src/b; echo x > src/a"
    )
    assert left_by(own_world, script)["count"] == 0


def test_what_links_in_a_protected_folder_lead_to_is_protected_by_every_name(world):
    make_repository(world)
    for name in ("scripts/check", "shared/commands/review.md", "deep/er/x.json"):
        world.write(name, "old")
    (world.workspace / ".git/hooks").mkdir(exist_ok=True)
    (world.workspace / ".git/hooks/pre-commit").symlink_to("../../scripts/check")
    (world.workspace / ".git/hooks/post-commit").symlink_to("../../scripts/missing")
    (world.workspace / ".claude").mkdir()
    (world.workspace / ".claude/commands").symlink_to("../shared/commands")
    (world.workspace / ".vscode/inner").mkdir(parents=True)
    (world.workspace / ".vscode/inner/tasks.json").symlink_to("../../deep/er/x.json")
    world.give(world.workspace)
    done = world.sh(
        "echo evil > scripts/check; echo evil > shared/commands/review.md; echo evil > shared/commands/new.md;"
        "echo evil > scripts/missing; mv scripts s; rm -rf shared; mv deep/er deep/x; echo evil > deep/er/x.json;"
        "echo fine > scripts/other && cat scripts/check"
    )
    assert done.stdout == "old", done.stderr
    root = world.workspace
    assert [(root / n).read_text() for n in ("scripts/check", "shared/commands/review.md", "deep/er/x.json")] == [
        "old"
    ] * 3
    assert not (root / "scripts/missing").exists()
    assert not (root / "shared/commands/new.md").exists()
    assert (root / "scripts/other").read_text() == "fine\n"


def test_a_protected_link_over_another_that_could_be_replaced_is_not_started_with(own_world):
    make_repository(own_world)
    own_world.write("scripts/check", "old")
    (own_world.workspace / "middle").symlink_to("scripts")
    (own_world.workspace / ".git/hooks").mkdir(exist_ok=True)
    (own_world.workspace / ".git/hooks/pre-commit").symlink_to("../../middle/check")
    done = own_world.sh("rm middle; mkdir middle; echo evil > middle/check")
    assert done.returncode == 4
    assert f"{own_world.workspace}/middle is a symbolic link" in done.stderr


@pytest.mark.parametrize("made", ["ln -s d .cargo", "mkdir d; ln -s d .cargo", "mkdir d; ln -s d m; ln -s m .cargo"])
def test_writing_outside_where_a_planted_link_leads_is_asked_about(own_world, made):
    assert own_world.sh(made).returncode == 0
    root = str(own_world.workspace)
    engine = Engine((Policy(mode=Mode.ACCEPT_EDITS),), facts=lambda: observe(own_world.environ))
    for name, word in (("d/config.toml", "ask"), ("e/config.toml", "allow")):
        call = ToolCall(tool="Write", input={"file_path": f"{root}/{name}", "content": "x"}, cwd=root)
        assert engine.decide(call, Session(workspace=(root,))).decision == word


def test_a_changed_file_that_has_a_name_outside_is_named(own_world):
    os.link(own_world.write(own_world.outside / "file", "old"), own_world.workspace / "shared")
    os.link(own_world.write(own_world.outside / "other", "old"), own_world.workspace / "untouched")
    assert left_by(own_world, "echo new > shared; echo x > a; ln a b")["paths"] == ["shared"]

"""What is safe by its words can run code by the state of the disk: settings of repositories, local programs."""

from __future__ import annotations

import pytest

from assent.analysis.lines.commands import read_line
from assent.analysis.resources.paths import Place
from assent.model import UNKNOWN, Facts, Policy, Session, Tier, ToolCall
from assent.policy.engine import Engine
from assent.policy.rules.parse import parse_rules


def tier(line, **known):
    place = Place(Facts(home="/home/u", resolve=lambda p: p, **known), "/ws", ("/ws",))
    operations, _ = read_line(line, place)
    return max(o.tier for o in operations)


def trapped(tool, folder):
    return f"a trap in {folder}" if (tool, folder) == ("git", "/ws/bad") else None


#: line, its tier where /ws/bad holds a trap
LINES = [
    ("git status", Tier.SAFE),
    ("git -C bad status", Tier.DANGEROUS),
    ("cd bad && git diff", Tier.DANGEROUS),
    ("(cd bad; git log); git log", Tier.DANGEROUS),
    ("git -C bad --version", Tier.DANGEROUS),
    ("cd bad && ls", Tier.SAFE),
    ("cd none; cd bad; git log", Tier.DANGEROUS),
    ("if ls; then cd bad; fi; git log", Tier.DANGEROUS),
    ("cd bad; cd none; git log", Tier.DANGEROUS),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_look_is_dangerous_where_the_repository_makes_it_run_code(line, expected):
    assert tier(line, trap=trapped) is expected


#: line, the folder whose settings are asked for; None if that is for nobody to say
FOLDERS = [
    ('for d in */; do git -C "$d" log; done', "/ws/?"),
    ('for d in sub/*; do git -C "$d/x" log; done', "/ws/sub/?/x"),
    ('for d in */; do (cd "$d" && git log); done', "/ws/?"),
    ('for d in sub/*; do cd "/ws/$d/y" && git log; done', "/ws/sub/?/y"),
    ('cd sub && for d in *; do git -C "$d" log; done', "/ws/sub/?"),
    ('ls | while read d; do git -C "$d" log; done', "?"),
    ("ls | while read d; do cd $d; git log; done", "?"),
    ('cd "$(cat x)" && git log', "?"),
    ('cd "$(cat x)/y" && cd z && git log', "/?/y/z"),
    ("find . -name .git -execdir git log ';'", "?"),
    ("find . -type d | xargs -I{} git -C {} log", "?"),
    ("find . -type d -exec git -C {} log ';'", "/ws/?/?"),
    ("find a b -exec env -C {} git log ';'", "/ws/a/?/?"),
    ('cd "$(git rev-parse --show-toplevel)" && git log', "/ws"),
    ('git -C "$(git rev-parse --show-toplevel)" log', "?"),
    ('git -C "$X" log', None),
    ('cd "$X" && git log', "?"),
    ('cd "$X/y"; git log', "?"),
    ("cd z*; git log", "/ws/?"),
    ("pushd z*; git log", "/ws/?"),
    ("cd sub/z$X; git log", "?"),
    ("ls || cd $X && git log", "?"),
]


@pytest.mark.parametrize(("line", "folder"), FOLDERS)
def test_where_a_folder_is_not_known_what_is_known_of_it_is_asked_for(line, folder):
    asked = []
    trap = lambda tool, place: asked.append(place.replace(UNKNOWN, "?")) if tool == "git" else None  # noqa: E731 - one line says it
    tier(line, trap=trap)
    assert folder in [*asked, None]
    assert folder is not None or not any("?" in place for place in asked)


#: search path, line, tier, where /ws/bin and /usr/bin hold every program
PROGRAMS = [
    (("/usr/bin",), "ls", Tier.SAFE),
    (("/ws/bin", "/usr/bin"), "ls", Tier.DANGEROUS),
    (("/ws/bin", "/usr/bin"), "echo x", Tier.SAFE),
    (("/ws/none", "/usr/bin"), "ls", Tier.SAFE),
    (("bin", "/usr/bin"), "ls", Tier.DANGEROUS),
    (("/ws/bin", "/usr/bin"), "/usr/bin/ls", Tier.SAFE),
]


@pytest.mark.parametrize(("path", "line", "expected"), PROGRAMS)
def test_a_program_that_lies_in_the_workspace_is_dangerous(path, line, expected):
    there = lambda file: file.startswith(("/ws/bin/", "/usr/bin/"))  # noqa: E731 - one line says it
    assert tier(line, path=path, is_program=there) is expected


#: line, every path it may write or read
EITHER = [
    ("cd sub; echo x > f", {"/ws/sub/f", "/ws/f"}),
    ("cd sub && echo x > f", {"/ws/sub/f"}),
    ("cd sub; cat f", {"/ws/sub/f", "/ws/f"}),
]


@pytest.mark.parametrize(("line", "paths"), EITHER)
def test_after_a_change_of_folder_that_may_fail_both_folders_count(line, paths):
    operations, _ = read_line(line, Place(Facts(home="/home/u", resolve=lambda p: p), "/ws", ("/ws",)))
    assert {o.resource for o in operations if o.kind.startswith("fs.")} == paths


def test_where_nothing_is_known_of_programs_none_lies_in_the_workspace():
    assert tier("ls", path=("/ws/bin",)) is Tier.SAFE


@pytest.mark.parametrize("field", ["directory", "dir_path", "workdir"])
def test_a_folder_that_the_agent_may_not_heed_leads_past_no_deny(field):
    policy = Policy(deny=parse_rules(["Read(private/**)"]))
    engine = Engine([policy], facts=lambda: Facts(home="/home/u", resolve=lambda p: p))
    call = ToolCall(tool="Bash", input={"command": "cat private/a", field: "sub/deep"}, cwd="/ws")
    assert engine.decide(call, Session(workspace=("/ws",))).decision == "deny"


def test_a_folder_given_beside_the_command_does_not_take_an_allow_along():
    session = Session(workspace=("/ws",))
    engine = Engine(
        [Policy(allow=parse_rules(["Bash(make)"]))], facts=lambda: Facts(home="/home/u", resolve=lambda p: p)
    )
    inside = ToolCall(tool="Bash", input={"command": "make", "cwd": "/ws/sub"}, cwd="/ws")
    outside = ToolCall(tool="Bash", input={"command": "make", "cwd": "/elsewhere"}, cwd="/ws")
    preloaded = ToolCall(tool="Bash", input={"command": "LD_PRELOAD=./x make"}, cwd="/ws")
    assert engine.decide(inside, session).decision == "allow"
    assert engine.decide(outside, session).decision == "ask"
    assert engine.decide(preloaded, session).decision == "ask"


#: line, its tier where nothing on the disk speaks against a look
WRITTEN = [
    ("echo x > json.py; python3 -m json.tool a.json", Tier.DANGEROUS),
    ("python3 -m json.tool a.json > json.py", Tier.DANGEROUS),
    ("cd sub && python3 -m json.tool a.json | tee ast.py", Tier.DANGEROUS),
    ("for i in 1 2; do composer show; echo x > composer.json; done", Tier.DANGEROUS),
    ("echo x > rust-toolchain; cargo tree", Tier.DANGEROUS),
    ("bash -c 'echo x > node_modules/x/y.js'; webpack --help", Tier.DANGEROUS),
    ("python3 -m json.tool a.json > b.json", Tier.SAFE),
    ("cargo tree | tee deps.txt", Tier.SAFE),
    ("echo 'ref: refs/heads/x' > sub/HEAD; git -C sub status", Tier.DANGEROUS),
    ("echo x > src/app.py; git status", Tier.SAFE),
]


@pytest.mark.parametrize(("line", "expected"), WRITTEN)
def test_a_look_is_dangerous_where_the_line_itself_writes_what_it_obeys(line, expected):
    assert tier(line) is expected


@pytest.mark.parametrize("line", ["cd $X && git status", "cd $X && cargo tree", 'cd "$A/b" && git diff'])
def test_a_look_is_dangerous_in_a_folder_that_is_not_known(line):
    assert tier(line) is Tier.DANGEROUS


def test_a_look_is_safe_at_the_top_of_the_repository():
    assert tier('cd "$(git rev-parse --show-toplevel)" && git diff') is Tier.SAFE


def test_a_look_is_safe_where_no_folder_is_known_at_all():
    operations, _ = read_line("git status", Place(Facts(), None, ()))
    assert max(o.tier for o in operations) is Tier.SAFE


@pytest.mark.parametrize("line", ["echo x > ./-delete; find *", "echo x > '-oy'; sort *", "tee -- --pre=x < y; rg z *"])
def test_a_name_that_a_pattern_would_make_an_option_is_not_written_unasked(line):
    assert tier(line, has_dashes=lambda _folder: False) is Tier.DANGEROUS

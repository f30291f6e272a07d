"""What reading one call may cost: looks at the disk are counted, and what is beyond the bound is asked about."""

from __future__ import annotations

from collections import Counter

import pytest

from assent import Engine, Policy, Session, ToolCall, parse_rules
from assent.analysis.budget import MOST_NAMES, MOST_WORK, PATH, TOO_MUCH, Meter
from assent.analysis.lines.commands import read_line
from assent.analysis.read import read
from assent.analysis.resources.paths import Place
from assent.analysis.tools.input_fields import MOST_PATHS, MOST_PATTERNS
from assent.model import CallError, Facts, Verdict
from work import steps

FILES = " ".join(f"f{n}" for n in range(2_900))
FOLDERS = [(f"d{n}", True) for n in range(40)]


class Disk:
    """A disk on which every folder holds forty others, and that counts what it is asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def facts(self) -> Facts:
        return Facts(
            home="/home/u",
            resolve=lambda path: self._answer("resolve", path),
            names=lambda folder: self._answer("names", FOLDERS if folder.count("/") < 8 else []),
            exists=lambda path: self._answer("exists", path.startswith("/code/d")),
            has_dashes=lambda _folder: self._answer("has_dashes", False),
            trap=lambda _tool, _folder: self._answer("trap", None),
        )

    def _answer(self, question, answer):
        self.asked[question] += 1
        return answer

    def place(self) -> Place:
        return Place(self.facts(), "/code", ("/code",))


HOSTILE = {
    "files that go": f"rm {FILES}",
    "files that are read": f"cat {FILES}",
    "files that come": f"cp -rt src {FILES}",
    "files that move": f"mv {FILES} src",
    "links that are made": f"ln -s {FILES} src",
    "one file, many times": "cp -rt src " + "d1 " * 2_900,
    "one folder, many times": "rm -r " + ". " * 2_900,
    "folders that go": "rm -r /usr /etc /opt;" * 550,
    "folders that come": "cp -r /usr x;" * 550,
    "patterns that are read": "cat " + " ".join(f"*{n}" for n in range(1_900)),
    "patterns that go": "rm -r " + " ".join(f"*a*b*c*{n}*" for n in range(1_900)),
    "patterns that come": "cp -rt src " + " ".join(f"**/*{n}" for n in range(1_900)),
    "patterns that come somewhere": "mv " + " ".join(f"d{n}/*" for n in range(900)) + " d*",
    "patterns of who knows what": "frobnicate " + " ".join(f"*{n}" for n in range(1_900)),
    "one pattern, many times": "rm -r *;" * 570,
    "one pattern, in many folders": "cd a; cd b; cd c; cd d;" + "git log -- *;" * 290,
    "a pattern without end": "rm " + "/*a" * 20_000,
    "folders without end": "rm " + "**/" * 20_000,
    "words with many parts": "frobnicate " + "a=1:b,c@d/e " * 2_900,
    "one word with many parts": "frobnicate '" + ";" * 60_000 + "'",
    "addresses": "frobnicate " + " ".join(f"http://h{n}.x/" for n in range(2_900)),
    "options that nobody has": "curl " + " ".join(f"--o{n}" for n in range(2_900)),
    "files of a script": "sed -i '" + "".join(f"r q{n}\n" for n in range(8_000)) + "' x",
    "files that a script writes": "sed '" + "".join(f"w q{n}\n" for n in range(8_000)) + "' x",
    "redirections": "cat " + " ".join(f"<f{n} >q{n}" for n in range(2_000)),
    "looks in many folders": "".join(f"(cd d{n}; git log);" for n in range(190)),
    "a variable of many words": "A='" + "x y " * 5_000 + "';" + "echo $A;" * 400,
    "an array of many words": "A=(" + "v " * 500 + ");" + "echo ${A[@]};" * 400,
    "braces in braces": ("echo " + "{a," * 10 + "x" + "}" * 10 + ";") * 900,
    "more braces": ("echo " + "{a," * 30 + "x" + "}" * 30 + ";") * 400,
    "groups in groups": ("{ " * 15 + "ls" + ";}" * 15 + ";") * 900,
    "folders in many folders": f"cd a; cd b; cd c; cd d; rm -r {FILES}; find {FILES}; cat {FILES} > x",
    "homes in a value": "A=" + "~:" * 30_000,
    "filters for many folders": "grep -r x " + " ".join(f"--include=a{n} /b{n}" for n in range(90)),
    "sums": "let " + " ".join(f"a{n}+=1" for n in range(7_000)),
    "a long statement": 'sqlite3 x.db "select ' + "a," * 30_000 + 'a from b"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_takes_few_looks_and_bounded_work(name):
    disk = Disk()
    place = disk.place()
    taken = steps(lambda: read_line(HOSTILE[name], place))
    assert taken < 450_000, taken
    assert disk.asked["resolve"] <= MOST_WORK // PATH, disk.asked
    assert disk.asked["names"] <= MOST_NAMES // 8, disk.asked
    assert disk.asked.total() <= 2_200, disk.asked


WHOLE = {"addresses", "more braces", "a long statement"}
"""Of these all is read, for less than it seems to take."""


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_too_much_can_not_be_read(name):
    operations, unreadable = read_line(HOSTILE[name], Disk().place())
    assert (unreadable is None) is (name in WHOLE)
    assert len(operations) <= 1_500


@pytest.mark.parametrize(
    "line",
    [
        f"cat {FILES}",
        "cat " + " ".join(f"*{n}.py" for n in range(80)),
        "cat " + " ".join(f"a{n} b{n} <c{n}" for n in range(250)),
        "cat " + " ".join(f"a{n}" for n in range(200)) + "".join(f" <c{n}" for n in range(400)),
        "".join(f"cat f{n};" for n in range(390)),
        "sed -n '" + "".join(f"r q{n}\n" for n in range(800)) + "' x",
        "frobnicate " + "a=1:b,c@d/e " * 2_900,
    ],
)
def test_what_is_beyond_the_bound_is_asked_about_and_says_why(line):
    decision = decide(line)
    assert decision.verdict is Verdict.ASK
    assert decision.reading.unreadable == TOO_MUCH
    assert TOO_MUCH in [o.reason for o in decision.reading.operations]


def decide(line, *deny):
    engine = Engine([Policy(deny=parse_rules(deny))], facts=Disk().facts)
    return engine.decide(ToolCall(tool="Bash", input={"command": line}, cwd="/code"), Session(workspace=("/code",)))


@pytest.mark.parametrize("rule", ["Bash(cat:*)", "Bash(ls:*)", "Read(f3)", "Read(/code/**)"])
def test_a_deny_survives_the_bound(rule):
    assert decide(f"cat {FILES}; ls", rule).verdict is Verdict.DENY


@pytest.mark.parametrize("rule", ["Read(late)", "Write(/etc/**)", "Bash(rm:*)"])
def test_a_deny_that_may_be_about_what_is_beyond_the_bound_asks(rule):
    decision = decide(f"cat {FILES} late", rule)
    assert decision.verdict is Verdict.ASK
    assert [ref.partition(" @")[0] for ref in decision.rule_refs] == [rule]


def test_a_root_beyond_the_bound_is_still_one():
    assert decide(f"rm -r {FILES} /").verdict is Verdict.DENY
    assert decide(f"rm -r {FILES} /etc/x").verdict is Verdict.DENY


@pytest.mark.parametrize("command", ["wc -l", "cat", "ls", "head", "grep -n TODO", "git diff --", "sha256sum"])
def test_some_hundred_names_are_none_too_many(command):
    decision = decide(f"{command} " + " ".join(f"src/m{n}.py" for n in range(550)))
    assert decision.verdict is Verdict.ALLOW


def test_a_long_text_is_none_too_many():
    assert decide("cat <<'END'\n" + "a /b c:d *e $f\n" * 4_000 + "END\n").verdict is Verdict.ALLOW


def test_the_disk_is_asked_once_about_each_path():
    disk = Disk()
    read_line("rm -r d1; cp -r d1 d2; mv d1 d2; git log; git log -- *; ls *", disk.place())
    assert disk.asked["resolve"] <= 12
    assert disk.asked["trap"] == disk.asked["has_dashes"] == 1


def test_a_call_that_has_several_lines_has_one_bound():
    disk = Disk()
    given = dict.fromkeys(("command", "cmd", "input"), f"rm {FILES}") | {"cwd": "d1"}
    read(ToolCall(tool="Bash", input=given, cwd="/code"), disk.place())
    assert disk.asked["resolve"] <= MOST_WORK // PATH + 2


def test_what_was_asked_is_known_and_costs_nothing_again():
    meter = Meter()
    assert [meter.ask(str.upper, "a"), meter.ask(str.upper, "a")] == ["A", "A"]
    assert meter.left == MOST_WORK - 20
    assert not meter.spend(MOST_WORK)
    assert not meter.weigh("*")


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"paths": [f"d{n}" for n in range(90)], "glob": [f"*{n}" for n in range(90)]}, f"{MOST_PATHS} files"),
        ({"path": "d", "glob": [f"*{n}" for n in range(MOST_PATTERNS + 1)]}, f"{MOST_PATTERNS} globs"),
        ({"paths": [f"d{n}" for n in range(300)], "cwd": "a", "dir": "b"}, f"{MOST_PATHS} files"),
    ],
)
@pytest.mark.parametrize("tool", ["Grep", "Glob"])
def test_a_search_has_a_bound_for_folders_and_patterns_together(tool, given, what):
    with pytest.raises(CallError, match=what):
        read(ToolCall(tool=tool, input={"pattern": "x", **given}, cwd="/code"), Disk().place())


def test_a_read_has_a_bound_for_patterns():
    call = ToolCall(tool="Read", input={"include": [f"*{n}" for n in range(MOST_PATTERNS + 1)]}, cwd="/code")
    with pytest.raises(CallError, match="globs"):
        read(call, Disk().place())

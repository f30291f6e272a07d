from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.cli import batch, engines, exit_codes
from assent.cli.batch import answer_line, run_batch, split_lines
from assent.cli.engines import open_engines
from assent.cli.options.tool_call import LONGEST_INPUT
from assent.cli.output.decision_json import Answer, Fault
from assent.cli.output.layer_notices import Notices
from daemons import until


def answers(world, *lines: str | bytes, words: tuple[str, ...] = ()):
    data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    done = world.run("check", "--batch", *words, stdin=data)
    assert done.code == exit_codes.OK, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_each_line_is_answered_in_order(world):
    found = answers(
        world,
        '{"command": "ls"}',
        '{"tool": "Write", "input": {"file_path": "/etc/hosts"}}',
        '{"command": "rm -rf /", "anything": "else"}',
        '{"tool": "Bash", "command": "npm test"}',
        '{"tool": "TodoWrite"}',
    )
    assert [a["decision"] for a in found] == ["allow", "ask", "deny", "ask", "allow"]
    assert found[2]["destructive"] is True
    assert found[2]["impact_scope"]


def test_a_line_may_say_what_its_command_would_start_with(world):
    found = answers(
        world,
        '{"command": "git diff", "environment": {"GIT_EXTERNAL_DIFF": "./evil"}}',
        '{"command": "git diff", "environment": {"PAGER": "less", "GITHUB_TOKEN": null}}',
        '{"command": "git diff"}',
    )
    assert [a["decision"] for a in found] == ["ask", "allow", "allow"]


BAD = [
    ('{"command": "ls", "environment": {"A": 1}}', "environment"),
    ("", "not valid JSON"),
    ("nonsense", "not valid JSON"),
    ('{"command": "ls"', "not valid JSON"),
    ('{"command": "ls"} x', "not valid JSON"),
    ("[]", "not a tool call"),
    ("3", "not a tool call"),
    ("null", "not a tool call"),
    ('{"command": 3}', "not a tool call"),
    ('{"command": ["ls"]}', "not a tool call"),
    ('{"tool": "Write", "input": []}', "not a tool call"),
    ('{"command": "ls", "cwd": 3}', "not a tool call"),
    ('{"command": "ls", "mode": 3}', "not a tool call"),
    ('{"command": "ls", "mode": "nonsense"}', "unknown mode `nonsense`"),
    ('{"command": "ls", "input": {}}', "both"),
    ("{}", "neither"),
    ('{"input": {}}', "neither"),
    ('{"tool": "", "input": {}}', "empty"),
    (b'{"command": "\xff"}', "UTF-8"),
    (b'{"command": "ls", "other": "\xff"}', "UTF-8"),
    ('{"command": "\\ud800"}', "not valid JSON"),
    ('{"tool": "x", "input": {"a": ' + "[" * 50_000 + "]" * 50_000 + "}}", "too deeply"),
    ('{"command": "' + "a" * LONGEST_INPUT + '"}', "longer than 1 MiB"),
]


def test_an_answer_is_one_line_for_every_reader(world):
    call = {"tool": "Read", "input": {"file_path": "a\x85b\u2028c\u2029d"}}
    found = world.run("check", "--batch", stdin=json.dumps(call).encode() + b"\n").out
    assert len(found.splitlines()) == 1
    assert json.loads(found)["operations"][0]["resource"].endswith("a\x85b\u2028c\u2029d")


def test_a_bad_line_is_answered_with_an_error_and_the_run_goes_on(world):
    lines = [line for bad, _ in BAD for line in (bad, '{"command": "ls"}')]
    found = answers(world, *lines)
    assert [a.get("decision") for a in found[1::2]] == ["allow"] * len(BAD)
    for (line, complaint), answer in zip(BAD, found[::2], strict=True):
        assert list(answer) == ["error"], line[:80]
        assert complaint in answer["error"]


@pytest.mark.parametrize("cwd", ["/does/not/exist", "", "a\\u0000b", "/etc/passwd", "x" * 5000])
def test_a_folder_that_is_not_there_is_a_denial(here, cwd):
    answer = answer_line(f'{{"command": "ls", "cwd": "{cwd}"}}'.encode(), open_engines(), str(here.project))
    assert isinstance(answer, Answer)
    assert answer.decision == "deny"
    assert answer.decision_source == "error"
    assert "folder not found" in answer.reason


def test_a_broken_project_of_one_line_denies_that_line_only(world, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "assent.yaml").write_text("permissions: [")
    found = answers(world, json.dumps({"command": "ls", "cwd": str(other)}), '{"command": "ls"}')
    assert [a["decision"] for a in found] == ["deny", "allow"]
    assert "assent.yaml" in found[0]["reason"]


def test_each_folder_is_decided_by_its_own_project(world, tmp_path):
    other = tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    (other / "assent.yaml").write_text('permissions: {deny: ["Bash(ls:*)"]}')
    found = answers(
        world,
        '{"command": "ls"}',
        json.dumps({"command": "ls", "cwd": str(other)}),
        json.dumps({"command": "ls", "cwd": str(other / "sub")}),
        json.dumps({"tool": "Write", "input": {"file_path": str(other / "x")}}),
        json.dumps({"tool": "Write", "input": {"file_path": str(other / "x")}, "cwd": str(other)}),
        '{"command": "ls", "cwd": "."}',
    )
    assert [a["decision"] for a in found] == ["allow", "deny", "deny", "ask", "allow", "allow"]


def test_a_mode_of_a_line_may_only_tighten(world):
    lines = [f'{{"command": "npm test", "mode": "{mode}"}}' for mode in ("strict", "never", "bypass", "default")]
    assert [a["decision"] for a in answers(world, *lines)] == ["deny", "deny", "ask", "ask"]
    loosened = answers(world, lines[2], words=("--mode", "strict"))
    assert loosened[0]["decision"] == "deny"


class Chunks:
    """A source that gives its bytes in pieces."""

    def __init__(self, pieces):
        self.pieces = [p for p in pieces if p]

    def read1(self, _size):
        return self.pieces.pop(0) if self.pieces else b""


@given(st.lists(st.binary(max_size=12).map(lambda b: b.replace(b"\x00", b"\n"))))
def test_lines_do_not_depend_on_how_the_input_arrives(pieces):
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    expected = expected[:-1] if expected[-1] == b"" else expected
    assert list(split_lines(Chunks(pieces), io.BytesIO())) == expected


@given(st.lists(st.integers(1, 9), max_size=30))
def test_a_line_that_is_too_long_is_never_kept(sizes):
    limit, kept = 8, batch.LONGEST_INPUT
    try:
        batch.LONGEST_INPUT = limit
        whole = b"short\n" + b"x" * 20 + b"\n" + b"exactly8\nnine char\nend"
        pieces, rest = [], whole
        for size in sizes:
            pieces, rest = [*pieces, rest[:size]], rest[size:]
        lines = list(split_lines(Chunks([*pieces, rest]), io.BytesIO()))
    finally:
        batch.LONGEST_INPUT = kept
    assert lines == [b"short", None, b"exactly8", None, b"end"]


def test_a_last_line_that_is_too_long_is_answered():
    source = Chunks([b"x" * (LONGEST_INPUT + 1)])
    assert list(split_lines(source, io.BytesIO())) == [None]


def test_an_answer_is_sent_before_the_next_line_is_waited_for(world):
    with subprocess.Popen(
        world.command("check", "--batch"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=world.environ,
        cwd=world.project,
    ) as process:
        for command, decision in (("ls", "allow"), ("npm test", "ask"), ("rm -rf /", "deny")):
            process.stdin.write(json.dumps({"command": command}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["decision"] == decision
        process.stdin.close()
        assert process.wait(60) == exit_codes.OK


def test_policies_that_change_meanwhile_are_read_again(here):
    benches = open_engines()
    line = b'{"command": "ls"}'
    assert answer_line(line, benches, str(here.project)).decision == "allow"
    here.user_file.write_text('permissions: {deny: ["Bash(ls:*)"]}')
    assert answer_line(line, benches, str(here.project)).decision == "deny"


HELD = "assent: note: the previous rules stay in force: "
WHOLE = "assent: note: the policy files are valid again; the current rules are in force"
LINE = b'{"command": "ls"}'


def decisions(benches, *folders):
    return [answer_line(LINE, benches, str(folder)).decision for folder in folders]


def test_while_a_file_is_broken_the_last_rules_hold_and_one_line_says_so(here, capsys):
    here.user_file.write_text('permissions: {deny: ["Bash(ls:*)"]}')
    benches = open_engines(notices=Notices())
    assert decisions(benches, here.project) == ["deny"]
    here.user_file.write_text("permissions: [")
    assert decisions(benches, *[here.project] * 3) == ["deny"] * 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{HELD}{here.user_file}:")
    here.user_file.write_text("permissions: {}")
    assert decisions(benches, *[here.project] * 3) == ["allow"] * 3
    assert capsys.readouterr().err.splitlines() == [WHOLE]


def test_a_file_that_breaks_again_or_in_another_way_is_told_again(here, capsys):
    benches = open_engines(notices=Notices())
    decisions(benches, here.project)
    for text in ("permissions: [", "", "permissions: {}", "permissions: ["):
        here.user_file.write_text(text)
        decisions(benches, here.project, here.project)
    told = capsys.readouterr().err.splitlines()
    assert [line.startswith(HELD) for line in told] == [True, True, False, True]
    assert told[2] == WHOLE


def test_a_file_that_projects_share_is_told_of_once(here, tmp_path, capsys):
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        (folder / ".git").mkdir(parents=True)
    benches = open_engines(notices=Notices())
    decisions(benches, *folders)
    for text in ("permissions: [", "", "permissions: {}"):
        here.user_file.write_text(text)
        decisions(benches, *folders, *folders)
    told = capsys.readouterr().err.splitlines()
    assert [line.startswith(HELD) for line in told] == [True, True, False]
    assert told[2] == WHOLE


def test_a_batch_tells_once_what_does_not_count(world, tmp_path):
    for project in (world.project, tmp_path / "other"):
        project.mkdir(exist_ok=True)
        (project / "assent.yaml").write_text('permissions: {allow: ["Bash(npm test)"]}')
    lines = ['{"command": "ls"}', json.dumps({"command": "ls", "cwd": str(tmp_path / "other")})]
    done = world.run("check", "--batch", stdin="\n".join(lines * 3))
    assert (done.code, done.out.count("\n")) == (exit_codes.OK, 6)
    assert done.err == "assent: note: project rules are not trusted: 1 allow rule ignored; run `assent trust`\n"


def test_every_line_is_answered_where_nobody_reads_what_is_told(world):
    (world.project / "assent.yaml").write_text('permissions: {allow: ["Bash(npm test)"]}')
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        world.command("check", "--batch"),
        input=LINE + b"\n" + LINE,
        stdout=subprocess.PIPE,
        stderr=writer,
        env=world.environ,
        cwd=world.project,
        check=False,
    )
    os.close(writer)
    assert [json.loads(line)["decision"] for line in done.stdout.splitlines()] == ["allow", "allow"]


def test_engines_are_kept_and_their_number_is_bounded(here, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "MOST_ENGINES", 2)
    benches = open_engines()
    for name in "abc":
        (tmp_path / name / ".git").mkdir(parents=True)
    first = benches.find(str(tmp_path / "a"))
    assert benches.find(str(tmp_path / "a")) is first
    benches.find(str(tmp_path / "b"))
    benches.find(str(tmp_path / "a"))
    benches.find(str(tmp_path / "c"))
    assert benches.find(str(tmp_path / "a")) is first
    assert len(benches._entries) == 2


def test_head_ends_it_quietly(world):
    lines = b'{"command": "ls"}\n' * 5000
    with subprocess.Popen(
        world.command("check", "--batch"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environ,
        cwd=world.project,
    ) as process:
        process.stdin.write(lines[:18])
        process.stdin.flush()
        process.stdout.readline()
        process.stdout.close()
        try:
            process.stdin.write(lines)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(60) == exit_codes.PIPE_CLOSED
        assert process.stderr.read() == b""


def test_an_interrupt_ends_it_with_130_and_no_traceback(world):
    with subprocess.Popen(
        world.command("check", "--batch"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environ,
        cwd=world.project,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - who runs the tests may ignore it
    ) as process:
        process.stdin.write(b'{"command": "ls"}\n')
        process.stdin.flush()
        process.stdout.readline()
        sleeping = Path(f"/proc/{process.pid}/stat")
        until(lambda: time.sleep(0.05) or sleeping.read_text().rpartition(")")[2].split()[0] == "S")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == exit_codes.INTERRUPTED
        assert process.stderr.read() == b""


def test_a_closed_stdin_is_wrong_usage(world):
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *world.command("check", "--batch")],
        capture_output=True,
        env=world.environ,
        cwd=world.project,
        check=False,
    )
    assert done.returncode == exit_codes.USAGE
    assert done.stderr == b"assent: stdin is closed\n"


MEASURE = """
import json, resource, sys, threading
from assent.cli import main

class Feed:
    def __init__(self, count):
        self.lines = self.make(count)
    def make(self, count):
        for i in range(count):
            yield json.dumps({"tool": "Write", "input": {"file_path": f"src/{i % 1500}.py", "content": str(i)}})
    def read1(self, size):
        return "".join(line + "\\n" for _, line in zip(range(100), self.lines)).encode()

class Stdin:
    buffer = Feed(int(sys.argv[1]))

sys.stdin = Stdin
code = main(["check", "--batch"])
print(code, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def measure(world, count: int) -> int:
    with subprocess.Popen(
        [sys.executable, "-c", MEASURE, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=world.environ,
        cwd=world.project,
    ) as process:
        written = sum(chunk.count(b"\n") for chunk in iter(lambda: os.read(process.stdout.fileno(), 1 << 16), b""))
        code, peak = process.stderr.read().split()
    assert (written, code) == (count, b"0")
    return int(peak)


def test_memory_does_not_grow_with_the_number_of_lines(world):
    assert measure(world, 100_000) < 1.25 * measure(world, 2_000)


def test_nothing_in_gives_nothing_out(here):
    sink = io.BytesIO()
    run_batch(open_engines(), str(here.project), Chunks([]), sink)
    assert sink.getvalue() == b""
    assert isinstance(answer_line(b"x", open_engines(), str(here.project)), Fault)

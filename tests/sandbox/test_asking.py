"""What a person allows is one open of one file: nothing more is read, written or reached by it."""

import asyncio
import os

import pytest
from msgspec.structs import replace

from assent.analysis.resources.paths import Place
from assent.model import Facts
from assent.policy.sandbox_profiles import profile
from assent.sandbox import Sandbox

SECRET = "the-secret-text"


@pytest.fixture
def asked(own_world, monkeypatch):
    """Run a script of whose questions the first `yes` are answered so; return what was asked, and what came of it."""
    monkeypatch.setenv("ASSENT_HOME", str(own_world.assent_home))
    own_world.write(own_world.outside / "file", SECRET)
    root = str(own_world.workspace)
    wanted = replace(profile("workspace-write", Place(Facts(), root, (root,))), ask=True)

    def run(script, yes=100, **more):
        questions = []

        async def ask(violation):
            questions.append(violation.resource)
            return len(questions) <= yes

        async def main():
            async with Sandbox(replace(wanted, **more), ask=ask) as box:
                process = await box.start(["sh", "-c", script, "sh", str(own_world.outside)])
                out, _ = await asyncio.gather(process.stdout.read_all(), process.stderr.read_all())
                return out.decode(), await process.wait()

        out, ended = asyncio.run(asyncio.wait_for(main(), 60))
        return questions, out, [v.resource for v in ended.violations]

    return run


def test_a_yes_is_for_one_open(own_world, asked):
    file = own_world.outside / "file"
    questions, _, _ = asked("echo a >> $1/file; echo b >> $1/file; truncate -s 0 $1/file")
    assert questions == [str(file)] * 3
    questions, _, stopped = asked("echo a >> $1/file; rm $1/file; mv $1/file $1/other; chmod 777 $1/file")
    assert (questions, stopped) == ([str(file)], [str(file)])
    assert file.stat().st_mode & 0o777 == 0o644


#: With the file open to be appended to, as allowed, on descriptor 5.
AGAIN = [
    "echo evil > /proc/self/fd/5",
    "echo evil > /proc/$$/fd/5",
    "echo evil > /dev/fd/5",
    "echo evil 1<> /proc/self/fd/5",
    "truncate -s 0 /proc/self/fd/5",
    "ln -L /proc/self/fd/5 second && echo evil > second",
    "rm -f /proc/self/fd/5/../file",
]


@pytest.mark.parametrize("way", AGAIN)
def test_what_is_open_is_not_opened_again_for_more(own_world, asked, way):
    file = own_world.outside / "file"
    questions, _, _ = asked(f"exec 5>> $1/file || exit 9; {way}", yes=1)
    assert set(questions) == {str(file)}
    assert (file.read_text(), file.stat().st_nlink) == (SECRET, 1)


@pytest.mark.parametrize("hidden", ["file", ""])
def test_no_yes_to_a_write_shows_what_is_hidden(own_world, asked, hidden):
    masked = (str(own_world.outside / hidden).rstrip("/"),)
    questions, out, stopped = asked("exec 5>> $1/file; cat /proc/self/fd/5; cat $1/file", masked=masked)
    assert (questions, out) == ([], "")
    assert stopped == [str(own_world.outside / "file")]


def test_nor_what_the_profile_does_not_read(own_world, asked):
    reads = ("/usr", "/etc", str(own_world.workspace))
    questions, out, _ = asked("exec 5>> $1/file; cat /proc/self/fd/5; echo more >&5", read_roots=reads)
    assert (questions, out) == ([str(own_world.outside / "file")], "")
    assert (own_world.outside / "file").read_text() == SECRET + "more\n"
    questions, out, _ = asked("exec 5<> $1/file; cat <&5", read_roots=reads)
    assert (questions, out) == ([], "")
    questions, out, _ = asked("exec 5<> $1/file; cat <&5")
    assert (len(questions), out) == (1, SECRET + "more\n")


def test_a_pipe_that_nobody_reads_keeps_nobody_waiting(own_world, asked):
    os.mkfifo(own_world.outside / "pipe")
    questions, out, _ = asked("echo x > $1/pipe; echo went on")
    assert (questions, out) == ([str(own_world.outside / "pipe")], "went on\n")

"""`assent run` behaves as if the command ran without it: exit code, streams, signals, terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
    ],
)
def test_the_exit_code_is_the_command_s(own_world, script, code):
    assert own_world.sh(script).returncode == code


def test_streams_are_the_command_s_own(own_world):
    done = own_world.sh("cat; echo err >&2", input="in\n")
    assert (done.stdout, done.stderr) == ("in\n", "err\n")


def test_a_reader_that_goes_away_ends_the_command_as_ever(own_world):
    line = " ".join(map(str, own_world.argv("yes"))) + " | head -2"
    done = subprocess.run(
        ["sh", "-c", line],
        env=own_world.environ,
        cwd=own_world.workspace,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "y\ny\n"


@pytest.mark.parametrize(("word", "code"), [("no-such-program", 127), ("/etc/hostname", 126), ("", 127)])
def test_a_command_that_can_not_be_started_is_told_as_a_shell_tells_it(own_world, word, code):
    done = own_world.run(word)
    assert done.returncode == code
    assert done.stderr.startswith("assent: ")


@pytest.mark.parametrize("words", [[], ["--"], ["--profile"], ["--nonsense", "--", "true"]])
def test_wrong_usage_runs_nothing(own_world, words):
    argv = [own_world.python, "-m", "assent", "run", *words]
    done = subprocess.run(
        argv, env=own_world.environ, cwd=own_world.workspace, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_command(own_world, number):
    name = number.name.removeprefix("SIG")
    script = f"trap 'echo heard; exit 5' {name}; echo up; while :; do sleep 0.05; done"
    process = subprocess.Popen(
        own_world.argv("sh", "-c", script),
        env=own_world.environ,
        cwd=own_world.workspace,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "up\n"
    process.send_signal(number)
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (out, process.returncode) == ("heard\n", 5)


class Typist:
    """Someone at a terminal."""

    def __init__(self, world, *words, options=(), through=()):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(world.workspace)
            argv = [*through, *world.argv(*words, options=options)]
            os.execvpe(argv[0], argv, world.environ | {"TERM": "dumb"})
        self.seen = ""

    def wait_for(self, text):
        end = time.monotonic() + 60
        while text not in self.seen:
            assert self.read(end), self.seen
        return self.seen

    def read(self, end):
        ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
        assert ready, self.seen
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            piece = b""
        self.seen += piece.decode().replace("\r", "")
        return piece

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        end = time.monotonic() + 60
        while self.read(end):
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_at_a_terminal_the_command_has_a_terminal(own_world):
    typist = Typist(
        own_world, "sh", "-c", "tty; stty size; test -t 0 && test -t 1 && test -t 2 && echo all; read x; echo got $x"
    )
    typist.wait_for("all")
    assert "/dev/pts/" in typist.seen or "not a tty" not in typist.seen
    typist.type("hello\n")
    typist.wait_for("got hello")
    assert typist.end() == 0


def test_a_terminal_that_controls_no_session_is_one_too(own_world):
    typist = Typist(own_world, "sh", "-c", "test -t 0 && echo up; read x; echo got $x", through=("setsid", "--wait"))
    typist.wait_for("up")
    typist.type("hello\n")
    typist.wait_for("got hello")
    assert typist.end() == 0


def test_control_c_at_a_terminal_ends_the_command_and_not_the_terminal(own_world):
    # No loop: a shell goes on if its child is hit between its fork and its becoming another program.
    typist = Typist(own_world, "sh", "-c", "echo up; exec sleep 1000")
    typist.wait_for("up")
    typist.type("\x03")
    assert typist.end() == 130


def test_nothing_can_be_typed_into_the_outer_terminal(world, probe_binary):
    (world.workspace / "probe").write_bytes(probe_binary)
    (world.workspace / "probe").chmod(0o755)
    world.give(world.workspace)
    typist = Typist(world, "./probe", "tiocsti")
    typist.wait_for("blocked: EPERM")
    assert typist.end() == 1


@pytest.mark.parametrize(("answer", "made"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_with_ask_an_open_outside_waits_for_the_person(own_world, answer, made):
    file = own_world.outside / "asked"
    typist = Typist(own_world, "sh", "-c", f"echo content > {file}; echo ended", options=["--ask"])
    typist.wait_for("allow? [y/N]")
    assert not file.exists()
    typist.type(answer)
    typist.wait_for("ended")
    typist.end()
    assert file.exists() is made
    if made:
        assert file.read_text() == "content\n"


def test_while_a_question_is_shown_the_command_shows_nothing_and_nothing_typed_before_answers_it(own_world):
    file = own_world.outside / "asked"
    shows = "while :; do printf 'over%s' write; sleep 0.01; done"
    script = f"printf 'up\\033]0;'; read go; {shows} & echo x > {file}; kill $!; echo ended"
    typist = Typist(own_world, "sh", "-c", script, options=["--ask"])
    typist.wait_for("up")
    typist.type("go\ny\n")
    typist.wait_for("allow? [y/N]")
    time.sleep(1)
    typist.type("n\n")
    typist.wait_for("ended")
    typist.end()
    asked, _, after = typist.seen.rpartition("allow? [y/N]")
    assert not file.exists()
    assert asked.rpartition("assent: outside")[0].endswith("\x1b(B\x0f\n\n")
    assert after.lstrip().startswith("n\n")


def test_with_ask_and_nobody_there_the_answer_is_no(own_world):
    file = own_world.outside / "asked"
    done = own_world.sh(f"echo content > {file}", options=["--ask"])
    assert "Permission denied" in done.stderr
    assert not file.exists()


def test_events_tell_the_boundary_before_the_command_begins(world):
    done = world.sh(f"echo started >&2; echo x > {world.outside}/no", options=["--json"])
    lines = done.stderr.splitlines()
    first = json.loads(lines[0])
    assert first["type"] == "sandbox.applied"
    assert lines.index("started") > 0
    profile = first["sandboxProfile"]
    assert profile["write_roots"] == [str(world.workspace)]
    in_force = {m["name"]: m["version"] for m in profile["mechanisms"] if m["enforced"]}
    assert {"bubblewrap", "landlock", "seccomp"} <= set(in_force)
    assert all(in_force.values())
    events = [json.loads(line) for line in lines if line.startswith("{")]
    assert [e["sequence"] for e in events] == list(range(len(events)))
    stopped = [e["violation"] for e in events if e["type"] == "sandbox.violation"]
    assert [(v["operation"], v["resource"]) for v in stopped] == [("fs.write", f"{world.outside}/no")]
    assert stopped[0]["program"].startswith("/")
    assert events[-1]["payload"]["exitCode"] != 0
    (began,) = [e["payload"] for e in events if e["type"] == "process.started"]
    assert began["command"] == f"sh -c 'echo started >&2; echo x > {world.outside}/no'"


def test_what_was_stopped_is_summed_up_with_the_way_to_allow_it(own_world):
    done = own_world.sh(f"echo x > {own_world.outside}/no; curl -s http://a.test/; true")
    assert done.returncode == 0
    assert f"writing {own_world.outside}/no by sh -c" in done.stderr
    assert "connecting to a.test" in done.stderr
    assert "--allow-host a.test" in done.stderr
    assert f"write: [., {own_world.outside}]" in done.stderr


@pytest.mark.parametrize(
    ("script", "name"),
    [
        ("echo x > .envrc", ".envrc"),
        ("mkdir .claude", ".claude"),
        ("ln -s a .mcp.json/", ".mcp.json"),
        ("echo x > a; perl -e 'rename q(a), q(.envrc)'", ".envrc"),
    ],
)
def test_making_what_is_protected_and_not_there_is_told(world, script, name):
    done = world.sh(script, options=["--json"])
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    stopped = [e["violation"]["resource"] for e in events if e["type"] == "sandbox.violation"]
    assert [place for place in stopped if place.startswith(f"{world.workspace}/{name}")]
    assert name not in os.listdir(world.workspace)


def test_a_rename_to_a_place_outside_is_told_and_one_of_nothing_is_not(own_world):
    outside = own_world.outside
    done = own_world.sh(f"echo x > a; perl -e 'rename q(a), q({outside}/b); rename q({outside}/none), q(c)'")
    assert f"writing {outside}/b by perl" in done.stderr
    assert "blocked 1 operation:" in done.stderr


@pytest.mark.parametrize("answer", ["y\n", "n\n"])
def test_a_protected_name_that_is_not_there_is_no_question(own_world, answer):
    typist = Typist(own_world, "sh", "-c", "echo x > .envrc; echo ended", options=["--ask"])
    typist.wait_for("ended")
    typist.type(answer)
    typist.end()
    assert os.listdir(own_world.workspace) == []


@pytest.mark.parametrize(
    ("script", "options", "advice"),
    [
        ("echo x > ~/file", (), "no profile can allow that"),
        ("echo x > .envrc", (), "no profile can allow that"),
        ("echo x > .claude/settings.json", (), "no profile can allow that"),
        ("echo x > file", ("--profile", "read-only"), "assent run --profile workspace-write"),
    ],
)
def test_no_way_is_named_that_leads_nowhere(own_world, script, options, advice):
    done = own_world.sh(script, options=list(options))
    assert advice in done.stderr
    assert "write: [" not in done.stderr


def test_a_protected_file_that_is_there_is_written_by_the_profile_that_is_named(own_world):
    own_world.write(".envrc", "old")
    assert f"write: [., {own_world.workspace}/.envrc]" in own_world.sh("echo x > .envrc").stderr
    own_world.configure(f"profiles: {{mine: {{write: [., {own_world.workspace}/.envrc]}}}}")
    own_world.sh("echo new > .envrc", options=["--profile", "mine"])
    assert (own_world.workspace / ".envrc").read_text() == "new\n"


def test_a_command_that_was_not_stopped_gets_no_word_from_us(own_world):
    done = own_world.sh("echo a > file; cat file; mkdir -p /usr/bin; cat /no/such/file; true")
    assert done.stdout == "a\n"
    assert "assent" not in done.stderr


def test_the_profile_off_is_no_sandbox_and_says_so(own_world):
    done = own_world.sh(f"echo x > {own_world.outside}/yes", options=["--profile", "off", "--json"])
    assert (own_world.outside / "yes").exists()
    applied, began = map(json.loads, done.stderr.splitlines()[:2])
    assert applied["sandboxProfile"]["mode"] == "off"
    assert (began["type"], began["payload"]["command"][:6]) == ("process.started", "sh -c ")
    assert "the profile `off` means no sandbox" in done.stderr


def test_read_only_writes_nothing_and_reaches_nothing(world):
    done = world.sh(
        "echo x > a; echo y > /tmp/b && cat /tmp/b; env | grep -i proxy", options=["--profile", "read-only"]
    )
    assert done.stdout == "y\n"
    assert world.left_over() == []


LIMITED = """profiles:
  mine:
    limits: {wall: 1, output: 1000, processes: 30, file_size: 1000, memory: 300M, cpu: 60}
"""


def test_a_command_past_its_time_is_ended_with_all_it_started(world):
    world.configure(LIMITED)
    done = world.sh("trap '' TERM; (setsid sleep 60 &); sleep 60", options=["--profile", "mine"])
    assert done.returncode == 124
    assert "limit of wall time" in done.stderr


def test_a_flood_of_output_is_cut_off(world):
    world.configure(LIMITED)
    done = world.run("yes", options=["--profile", "mine"])
    assert len(done.stdout) == 1000
    assert "limit of output" in done.stderr


def test_forks_memory_and_files_have_an_end(world, probe):
    world.configure(LIMITED.replace("wall: 1,", "wall: 20,"))
    assert int(probe("forks", options=["--profile", "mine"])) < 30
    assert probe("memory", 1 << 30, options=["--profile", "mine"]) == "blocked"
    world.sh("head -c 5000 /dev/zero > big", options=["--profile", "mine"])
    assert (world.workspace / "big").stat().st_size == 1000


def test_a_fork_bomb_is_ended_in_time(world):
    world.configure(LIMITED)
    done = world.sh("exec 2>/dev/null; bomb() { bomb | bomb & }; bomb; sleep 30", options=["--profile", "mine"])
    assert done.returncode == 124

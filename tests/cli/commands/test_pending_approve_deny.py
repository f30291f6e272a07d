"""Answering from a terminal: `pending`, `approve`, `deny`, and `token`, `serve`, `doctor` around them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import stat
import struct
import subprocess
import sys
import termios

import pytest

from daemons import Running, until


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("inbox"), "--rate", "0") as running:
        yield running


@pytest.fixture(scope="module")
def agent(daemon):
    return daemon.api(daemon.mint("agent", agent="claude", remote=True))


def ask(agent, command, **more):
    body = {"toolName": "bash", "toolInput": {"command": command}, "honoursUpdatedInput": True, **more}
    return agent.post("/api/hooks/classify", json=body).json()


def test_pending_shows_the_call_as_it_would_run_with_nothing_hidden(daemon, agent):
    wanted = ask(agent, "node \u202edetnirp.js \x1b[2J")["requestId"]
    done = daemon.run("pending")
    assert done.returncode == 0
    assert wanted in done.stdout
    assert "  | node \\u202edetnirp.js \\x1b[2J" in done.stdout
    assert "\x1b" not in done.stdout
    assert "claude" in done.stdout
    listed = json.loads(daemon.run("pending", "--json", "--agent", "claude").stdout)
    assert wanted in [item["id"] for item in listed]
    assert json.loads(daemon.run("pending", "--json", "--agent", "nobody").stdout) == []


def test_approve_lets_the_call_run_once(daemon, agent):
    wanted = ask(agent, "node yes.js")["requestId"]
    done = daemon.run("approve", wanted)
    assert (done.returncode, done.stdout) == (0, f"approved: {wanted}\n")
    assert ask(agent, "node yes.js")["allow"] is True
    assert ask(agent, "node yes.js")["allow"] is False
    again = daemon.run("approve", wanted)
    assert again.returncode == 2
    assert "already approved" in again.stderr


LONG = "\n".join(f"echo line{n}" for n in range(200)) + "\nnode hidden.js"


def test_a_script_says_yes_to_what_is_short_and_is_shown_it_whole(daemon, agent):
    wanted = ask(agent, "echo a \\\n  && node shown.js \u200b")["requestId"]
    done = daemon.run("approve", wanted)
    assert (done.returncode, done.stdout) == (0, f"approved: {wanted}\n")
    for part in ("  | echo a", "  |   && node shown.js \\u200b", "dangerous [runs code]"):
        assert part in done.stderr


def test_a_script_says_yes_to_what_is_long_by_its_digest_alone(daemon, agent):
    wanted = ask(agent, LONG)["requestId"]
    refused = daemon.run("approve", wanted)
    assert refused.returncode == 2
    assert "  | node hidden.js" in refused.stderr
    assert "too long to approve without reading: 201 lines" in refused.stderr
    one = daemon.api(daemon.owner).get(f"/api/permissions/{wanted}").json()
    assert one["status"] == "pending"
    for wrong in ("0" * 64, one["digest"][:4], ""):
        assert daemon.run("approve", wanted, "--digest", wrong).returncode == 2
    assert daemon.run("approve", wanted, "--digest", one["digest"]).stdout == f"approved: {wanted}\n"


def typed(daemon, wanted, keys):
    """Approve at a real terminal of 24 lines, a key line for each prompt; return the exit code and the screen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    command = [sys.executable, "-m", "assent", "approve", wanted]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=daemon.environ, close_fds=True)
    os.close(theirs)
    screen, keys = "", list(keys)
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            screen += piece.decode()
            if keys and screen.endswith((" -- ", "[y/N] ")):
                os.write(ours, keys.pop(0).encode() + b"\n")
    os.close(ours)
    return process.wait(60), screen


@pytest.mark.parametrize(("keys", "code", "status"), [(["q"], 1, "pending"), ([""] * 13 + ["n"], 1, "pending")])
def test_at_a_terminal_a_no_or_a_look_that_stops_halfway_answers_nothing(daemon, agent, keys, code, status):
    wanted = ask(agent, f"{LONG} # {len(keys)}")["requestId"]
    ended, screen = typed(daemon, wanted, keys)
    assert (ended, "nothing was answered" in screen) == (code, True)
    assert daemon.api(daemon.owner).get(f"/api/permissions/{wanted}").json()["status"] == status


def test_at_a_terminal_all_of_it_is_shown_before_a_yes_is_taken(daemon, agent):
    wanted = ask(agent, LONG + " # terminal")["requestId"]
    ended, screen = typed(daemon, wanted, ["y"] * 40)
    assert ended == 0
    for part in ("| echo line0\r\n", "| echo line199\r\n", "| node hidden.js # terminal\r\n", "Allow? [y/N] "):
        assert part in screen
    assert screen.index("hidden.js # terminal") < screen.index("Allow?")


def test_pending_shows_the_head_and_the_tail_of_what_is_long_and_says_what_is_between(daemon, agent):
    wanted = ask(agent, LONG + " # again")["requestId"]
    shown = daemon.run("pending").stdout
    for part in (
        "  | echo line0\n",
        "  | node hidden.js # again\n",
        f"161 more lines; `assent approve {wanted}` shows all",
    ):
        assert part in shown
    assert "echo line100\n" not in shown
    daemon.run("deny", wanted)


@pytest.mark.parametrize(
    ("tool", "given", "parts"),
    [
        (
            "mcp__db__query",
            {"sql": "select 1;\ndrop table x", "options": {"deep": ["\u202ea"]}},
            ("sql: select 1;", "drop table x", '"\\u202ea"'),
        ),
        (
            "Write",
            {"file_path": "/srv/x.sh", "content": "#!/bin/sh\nrm -rf y\u200b\n"},
            ("file_path: /srv/x.sh", "content: #!/bin/sh", "rm -rf y\\u200b"),
        ),
    ],
)
def test_every_tools_input_is_shown_whole_before_an_answer_is_taken(daemon, agent, tool, given, parts):
    body = {"toolName": tool, "toolInput": given}
    wanted = agent.post("/api/hooks/classify", json=body).json()["requestId"]
    listed, answered = daemon.run("pending").stdout, daemon.run("approve", wanted)
    assert answered.returncode == 0, answered.stderr
    for part in parts:
        assert part in listed
        assert part in answered.stderr


def test_what_asks_is_never_called_safe_and_says_what_is_at_stake(daemon, agent):
    wanted = ask(agent, "cat /home/dev/.ssh/id_rsa")["requestId"]
    shown = daemon.run("pending").stdout.partition(wanted)[2].split("\n")[1]
    assert "safe" not in shown
    assert shown.startswith("  asked [secrets")
    daemon.run("deny", wanted)


def test_deny_refuses_it_with_words_for_the_agent(daemon, agent):
    wanted = ask(agent, "node no.js")["requestId"]
    assert daemon.run("deny", wanted, "--feedback", "use make").returncode == 0
    one = daemon.api(daemon.owner).get(f"/api/permissions/{wanted}").json()
    assert (one["status"], one["feedback"]) == ("rejected", "use make")


def test_an_answer_can_reach_further(daemon, agent):
    for words, line in ((["--session"], "node s.js"), (["--always"], "node a.js"), (["--for", "2h"], "node f.js")):
        wanted = ask(agent, line)["requestId"]
        done = daemon.run("approve", wanted, *words)
        assert done.returncode == 0, done.stderr
        assert ask(agent, line)["allow"] is True
        assert ask(agent, line)["allow"] is True
    wanted = ask(agent, "node lib/a.js")["requestId"]
    assert daemon.run("approve", wanted, "--always", "--pattern", "Bash(node lib/*)").returncode == 0
    assert ask(agent, "node lib/b.js")["allow"] is True


@pytest.mark.parametrize(
    ("words", "said", "elsewhere"),
    [
        (["--session"], "session", "Queued for approval"),
        (["--always"], "always", "Blocked"),
        (["--for", "2h"], "session, for 2h", "Queued for approval"),
        (["--always", "--for", "2h"], "always, for 2h", "Blocked"),
    ],
)
def test_a_refusal_can_reach_further(daemon, agent, words, said, elsewhere):
    line = f"node refused{len(said)}.js"
    asking = lambda session: agent.post(  # noqa: E731
        "/api/hooks/classify", json={"toolName": "bash", "toolInput": {"command": line}, "sessionId": session}
    ).json()
    wanted = asking("a")["requestId"]
    assert daemon.run("deny", wanted, *words).stdout == f"rejected: {wanted} ({said})\n"
    assert [asking(session)["reason"].partition(":")[0] for session in ("a", "b")] == ["Blocked", elsewhere]


def test_a_malformed_pattern_is_refused_with_a_suggestion_and_the_question_stays(daemon, agent):
    wanted = ask(agent, "node malformed.js")["requestId"]
    done = daemon.run("approve", wanted, "--always", "--pattern", "Bash(npx")
    assert (done.returncode != 0, "did you mean `Bash(npx)`?" in done.stderr) == (True, True)
    assert wanted in daemon.run("pending").stdout


@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_an_answer_is_not_for_a_session_and_for_good(daemon, verb):
    done = daemon.run(verb, "x", "--session", "--always")
    assert (done.returncode, done.stderr) == (2, "assent: --session and --always exclude each other\n")


def test_edit_opens_the_editor_and_shows_what_changed(daemon, agent, tmp_path):
    wanted = ask(agent, "node edit.js --wipe")["requestId"]
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('--wipe', '--look'))\n"
    )
    done = daemon.run("approve", wanted, "--edit", EDITOR=f"{sys.executable} {editor}")
    assert done.returncode == 0, done.stderr
    assert "-node edit.js --wipe\n+node edit.js --look" in done.stdout
    assert ask(agent, "node edit.js --wipe")["updatedInput"] == {"command": "node edit.js --look"}


def test_what_nobody_changed_in_the_editor_is_approved_as_it_was_asked(daemon, agent):
    line = "node returns.js 'a\rb\r\nc'"
    wanted = ask(agent, line)["requestId"]
    done = daemon.run("approve", wanted, "--edit", EDITOR="true")
    assert (done.returncode, done.stdout) == (0, f"approved: {wanted}\n")
    assert "updatedInput" not in ask(agent, line)


def test_an_editor_that_fails_answers_nothing(daemon, agent):
    wanted = ask(agent, "node unedited.js")["requestId"]
    no_text = """sh -c 'printf "\\377" > "$0"'"""
    for editor in ("false", "/nonexistent/editor", "", '"unfinished', no_text, """sh -c 'rm "$0"'"""):
        done = daemon.run("approve", wanted, "--edit", EDITOR=editor)
        assert (done.returncode, "internal error" in done.stderr) == (2, False)
    assert daemon.api(daemon.owner).get(f"/api/permissions/{wanted}").json()["status"] == "pending"


@pytest.mark.parametrize(
    "words",
    [
        ["approve"],
        ["approve", "x", "--for", "soon"],
        ["approve", "x", "--session", "--always"],
        ["deny", "nothing"],
        ["approve", "../../x"],
        ["token"],
        ["token", "create"],
        ["token", "create", "--role", "king"],
        ["token", "create", "--role", "user", "--agent", "x"],
        ["token", "create", "--role", "agent", "--expires", "never"],
        ["token", "create", "--role", "agent", "--workspace", "/"],
        ["token", "revoke", "tok_nothing"],
        ["serve", "--port", "70000"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_ends_with_2_and_a_message(daemon, words):
    done = daemon.run(*words)
    assert done.returncode == 2
    assert done.stderr.startswith("assent: ")
    assert "Traceback" not in done.stderr


def test_without_a_daemon_the_inbox_says_so(tmp_path):
    running = Running(tmp_path)
    for words in (["pending"], ["approve", "x"], ["deny", "x"]):
        done = running.run(*words)
        assert done.returncode == 2
        assert "assent serve" in done.stderr
    running.start()
    running.stop()
    done = running.run("pending")
    assert done.returncode == 2
    assert "cannot be reached" in done.stderr


def test_the_inbox_of_another_machine_is_reached_by_address_and_token(daemon, agent):
    wanted = ask(agent, "node far.js")["requestId"]
    token = daemon.mint("user")
    elsewhere = {"ASSENT_HOME": "/nonexistent/home", "ASSENT_URL": daemon.url}
    assert wanted in daemon.run("pending", **elsewhere, ASSENT_TOKEN=token).stdout
    assert daemon.run("pending", **elsewhere).returncode == 2
    denied = daemon.run("pending", **elsewhere, ASSENT_TOKEN="nonsense")
    assert (denied.returncode, "Unauthorized" in denied.stderr) == (2, True)
    agents = daemon.mint("agent", agent="claude", remote=True)
    refused = daemon.run("approve", wanted, **elsewhere, ASSENT_TOKEN=agents)
    assert (refused.returncode, "Forbidden" in refused.stderr) == (2, True)


def test_a_token_is_printed_alone_and_listed_without_its_secret(daemon):
    done = daemon.run("token", "create", "--role", "agent", "--agent", "listed", "--workspace", ".", "--no-ask")
    secret = done.stdout.strip()
    assert done.stdout == secret + "\n"
    assert secret.startswith("assent_agent_")
    listed = daemon.run("token", "list")
    assert secret not in listed.stdout
    assert f"workspace {daemon.project}" in listed.stdout
    (mine,) = [t for t in json.loads(daemon.run("token", "list", "--json").stdout) if t["agent"] == "listed"]
    assert (mine["interactive"], mine["workspace"]) == (False, [str(daemon.project)])
    assert daemon.run("token", "revoke", mine["id"]).returncode == 0
    until(lambda: daemon.api(secret).get("/api/permissions").status_code == 401)
    assert daemon.run("token", "revoke", mine["id"]).returncode == 2


def test_tokens_are_made_without_a_daemon_too(tmp_path):
    running = Running(tmp_path)
    secret = running.run("token", "create", "--role", "agent", "--remote").stdout.strip()
    assert secret
    with running.start():
        assert running.api(secret).post("/api/hooks/classify", json={"toolName": "frob"}).status_code == 200


def test_doctor_finds_what_is_wrong(tmp_path):
    running = Running(tmp_path)
    done = running.run("doctor")
    assert done.stdout.count("start it with `assent serve`") == 1
    assert done.returncode == 0
    assert "does not exist yet" in done.stdout
    running.start()
    done = running.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "the daemon is running" in done.stdout
    (running.state / "token").chmod(0o644)
    done = running.run("doctor")
    assert done.returncode == 1
    assert "other users can read or write" in done.stdout
    (running.state / "token").chmod(0o600)
    running.state.chmod(0o755)
    assert running.run("doctor").returncode == 1
    running.state.chmod(0o700)
    running.user_file.write_text("permissions: {mode: loose}")
    done = running.run("doctor", "--json")
    assert done.returncode == 1
    assert any(f["grade"] == "bad" and "mode" in f["what"] for f in json.loads(done.stdout))
    running.kill()


def test_the_hook_script_is_printed_whole(daemon):
    done = daemon.run("hook-script")
    assert done.stdout.startswith("#!/bin/sh\n")
    assert done.returncode == 0


def test_the_socket_in_the_home_is_the_owners_alone(daemon):
    mode = (daemon.state / "assent.sock").stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600

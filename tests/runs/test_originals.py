"""Clients that know nothing of Assent follow a run: over its own protocol, and as a session's page."""

from __future__ import annotations

import pytest

from originals import print_run, read_session_stream, show_conversation
from runners import Runner, write_strategy

STEPS = """
- {agent: w, name: write, tool: write_file, input: {path: a.txt, content: hello}}
- {agent: r, name: read, tool: read_file, input: {path: a.txt}}
"""


@pytest.fixture
def run(daemon, tmp_path):
    with Runner(daemon) as client:
        name = client.launch(write_strategy(tmp_path, STEPS))
        client.hear("strategy_completed")
        yield name, client.heard


def test_the_example_clients_print_a_whole_run(run):
    printed = list(print_run(run[1]))
    assert [line for line in printed if line.startswith("step ")][1] == "step read hello 0"
    assert "r: hello 0" in printed
    assert "done hello stop 0" in printed
    assert printed[-1] == "completed hello 0"


def test_a_run_that_is_over_is_opened_again_with_what_was_said_in_it(daemon, tmp_path):
    steps = STEPS + "- {agent: r, name: gone, tool: read_file, input: {path: b.txt}, on_error: continue}"
    with Runner(daemon) as client:
        run = client.prepare(write_strategy(tmp_path, steps))["runId"]
        client.send("start_run", runId=run, input="begin")
        gone = client.hear("strategy_completed")["result"]
        shown = list(show_conversation(client.ask("prepare_run", "run_prepared", runId=run)["conversation"]))
    assert [line for line in shown if not line.startswith(("called", "returned"))] == [
        "you: begin",
        f"w: wrote 5 bytes to {daemon.project}/a.txt stop 0",
        "r: hello stop 0",
        f"r: {gone} error 0",
    ]
    assert shown[2:4] == [
        'called write_file {"content": "hello", "path": "a.txt"}',
        f"returned write_file wrote 5 bytes to {daemon.project}/a.txt",
    ]


@pytest.mark.parametrize("over", [True, False])
def test_a_run_in_flight_and_one_of_a_program_are_opened_the_same_way(daemon, tmp_path, over):
    path = tmp_path / "program.yaml"
    path.write_text("name: p\nprocess: {agent: sh, command: [sh, -c, 'echo out; echo no >&2; exit 3']}\n")
    with Runner(daemon) as client, Runner(daemon) as late:
        if over:
            run = client.launch(path)
            client.hear("strategy_error")
        else:
            run = client.launch(
                write_strategy(tmp_path, f"{STEPS}- {{agent: r, tool: read_file, input: {{path: /etc/hostname}}}}")
            )
            client.hear("request_permission")
        shown = list(show_conversation(late.ask("prepare_run", "run_prepared", runId=run)["conversation"]))
        if not over:
            client.send("stop_run", runId=run)
    assert ("r: hello stop 0" in shown) is not over
    assert any(line.startswith("sh: out\nno") and line.endswith("error 0") for line in shown) is over


def test_the_page_shows_what_a_runs_tools_were_called_with_and_what_came_of_it(daemon, run):
    owner, heard = daemon.api(daemon.owner), []
    with owner.stream("GET", f"/api/sessions/{run[0]}/stream") as answer:
        assert answer.headers["x-session-id"] == run[0]
        for event in read_session_stream(answer.iter_text()):
            heard.append(event)
            if len(heard) == 5:
                break
    assert [e["type"] for e in heard] == ["session.start", *("tool.before", "tool.after") * 2]
    assert heard[1]["args"] == {"path": "a.txt", "content": "hello"}
    assert heard[3]["args"] == {"path": "a.txt"}
    assert (heard[4]["result"], heard[4]["isError"]) == ("hello", False)
    assert heard[1]["toolCallId"] == heard[2]["toolCallId"] != heard[3]["toolCallId"]

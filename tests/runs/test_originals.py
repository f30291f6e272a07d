"""Clients that know nothing of Assent follow a run: over its own protocol, and as a session's page."""

from __future__ import annotations

import pytest

from originals import print_run, read_session_stream
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

"""The run protocol from end to end, over a real socket, with a client that shares no code with Assent."""

from __future__ import annotations

from runners import Runner, write_strategy

OUTSIDE = """
- {agent: writer, tool: write_file, input: {path: %s/out.txt, content: hello}}
- {agent: writer, tool: write_file, input: {path: %s/out.txt, content: again}}
"""


def test_a_session_decision_unblocks_the_tool_and_is_told_in_order(daemon, tmp_path):
    strategy = write_strategy(tmp_path, OUTSIDE % (tmp_path, tmp_path))
    with Runner(daemon) as client:
        run = client.launch(strategy)
        question = client.hear("request_permission")
        client.decide(run, question, "allow-session")
        client.hear("strategy_completed")
    assert question == {
        "type": "request_permission",
        "runId": run,
        "requestId": question["requestId"],
        "agentName": "writer",
        "toolName": "write_file",
        "toolCallId": question["toolCallId"],
        "operation": "fs.write",
        "resource": str(tmp_path / "out.txt"),
        "reason": "policy-ask",
        "details": question["details"],
        "expiresAt": question["expiresAt"],
        "ts": question["ts"],
    }
    assert question["details"]["content"] == "hello"
    assert question["details"]["tier"] == "safe"
    told = [k for k in client.kinds() if k != "agent_streaming"]
    assert told == [
        "run_prepared",
        "strategy_started",
        "step_started",
        "request_permission",
        "policy_updated",
        "step_completed",
        "agent_output",
        "step_started",
        "step_completed",
        "agent_output",
        "strategy_completed",
    ]
    assert (tmp_path / "out.txt").read_text() == "again"

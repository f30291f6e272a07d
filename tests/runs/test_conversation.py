"""Records of a run's calls, put together from what its clients are told."""

from __future__ import annotations

from assent.runs.conversation import LARGEST_RECORD, MOST_RECORDS, Transcript
from assent.runs.protocol.messages import (
    AgentStreaming,
    CallResult,
    Done,
    StepStarted,
    StreamEvent,
    ToolCalled,
    ToolReturned,
)


def say(transcript: Transcript, *events: StreamEvent, agent: str = "a") -> None:
    for event in events:
        transcript.hear(AgentStreaming(ts="t", run_id="run", agent_name=agent, event=event))


def test_calls_of_one_agent_at_the_same_time_are_a_record_each():
    transcript = Transcript()
    transcript.hear(StepStarted(ts="t", run_id="run", step_name="both", message="do both"))
    say(transcript, ToolCalled("1", "read_file", '{"path":"x"}'), ToolCalled("2", "read_file", '{"path":"y"}'))
    say(transcript, ToolReturned("2", "read_file", "Y", "completed"), ToolReturned("1", "read_file", "", "error", "no"))
    say(transcript, Done(CallResult("Y")), Done(CallResult("no", finish_reason="error")))
    records = transcript.tell(()).records
    assert [(r.id, r.text, r.finish_reason) for r in records] == [("2", "Y", "stop"), ("1", "no", "error")]
    assert {r.user_message.content for r in records} == {"do both"}
    assert records[0].response_messages[0].content[0]["input"] == {"path": "y"}


def test_a_program_is_a_record_with_its_text():
    transcript = Transcript()
    say(transcript, Done(CallResult("one")), Done(CallResult("two", finish_reason="error")))
    assert [(r.id, r.text, r.finish_reason) for r in transcript.tell(()).records] == [
        ("run.1", "one", "stop"),
        ("run.2", "two", "error"),
    ]


def test_what_is_long_is_cut_and_the_oldest_is_dropped():
    transcript = Transcript()
    transcript.note_input("a", "x" * (LARGEST_RECORD + 1), "t")
    (given,) = transcript.tell(()).inputs
    assert (len(given.text), given.before_record_id) == (LARGEST_RECORD, None)
    long = "y" * (LARGEST_RECORD + 1)
    for n in range(MOST_RECORDS):
        call = ToolCalled(str(n), "write_file", f'{{"content":"{long}"}}')
        say(transcript, call, ToolReturned(str(n), "write_file", long, "completed"))
    told = transcript.tell(())
    assert (len(told.records), told.inputs) == (MOST_RECORDS, ())
    assert {len(r.text) for r in told.records} == {LARGEST_RECORD}
    assert told.records[0].response_messages[0].content[0]["input"] == {}


def test_an_input_says_which_record_it_came_before():
    transcript = Transcript()
    transcript.note_input("a", "first", "t")
    say(transcript, Done(CallResult("one")))
    transcript.note_input("a", "second", "t")
    assert [(g.text, g.before_record_id) for g in transcript.tell(()).inputs] == [("first", "run.1"), ("second", None)]

"""What each agent honours, as a table: the answer we mean, and the exact words in which it is said."""

from __future__ import annotations

import json

import msgspec
import pytest

from assent.agents.hooks import claude_code, codex, gemini, opencode
from assent.agents.hooks.messages import LONGEST_REASON, HookAnswer, HookCall
from assent.model import CallError, Mode

ALLOW = HookAnswer(allow=True, reason="ls lists files")
DENY = HookAnswer(allow=False, reason="use `npm test`")
MUTE = HookAnswer(allow=False, reason="")
EDIT = HookAnswer(allow=True, reason="edited", updated_input={"command": "ls -l"})
YES = HookAnswer(allow=True, reason="approved", person=True)
YES_EDITED = HookAnswer(allow=True, reason="edited", updated_input={"command": "ls -l"}, person=True)
PROMPT = HookAnswer(allow=False, ask=True, reason="may it?")
TOLD = HookAnswer(allow=False, reason="Rejected: no", feedback="use staging")
TRIAL = HookAnswer(allow=False, abstain=True, reason="would be denied")
MODULES = {"claude-code": claude_code, "codex": codex, "gemini": gemini, "opencode": opencode}


def before(**said):
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}


def permission(**decision):
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}


def stopped(reason):
    return {"continue": False, "stopReason": reason, "systemMessage": reason}


TABLE = [
    (
        "claude-code",
        "PreToolUse",
        ALLOW,
        before(permissionDecision="allow", permissionDecisionReason="ls lists files"),
    ),
    (
        "claude-code",
        "PreToolUse",
        DENY,
        before(permissionDecision="deny", permissionDecisionReason="use `npm test`"),
    ),
    (
        "claude-code",
        "PreToolUse",
        EDIT,
        before(permissionDecision="allow", permissionDecisionReason="edited", updatedInput={"command": "ls -l"}),
    ),
    ("claude-code", "PreToolUse", TRIAL, None),
    # Its own question is there because of the user's rules: a yes that no person gave does not answer it.
    ("claude-code", "PermissionRequest", ALLOW, None),
    ("claude-code", "PermissionRequest", YES, permission(behavior="allow")),
    ("claude-code", "PermissionRequest", DENY, permission(behavior="deny", message="use `npm test`")),
    ("claude-code", "PermissionRequest", YES_EDITED, permission(behavior="allow", updatedInput={"command": "ls -l"})),
    ("claude-code", "PermissionRequest", PROMPT, None),
    ("claude-code", "PreToolUse", PROMPT, before(permissionDecision="ask", permissionDecisionReason="may it?")),
    (
        "claude-code",
        "PreToolUse",
        TOLD,
        before(permissionDecision="deny", permissionDecisionReason="Rejected: no (use staging)"),
    ),
    ("claude-code", "PostToolUse", ALLOW, None),
    ("claude-code", "SessionStart", TRIAL, None),
    ("claude-code", "SessionStart", DENY, stopped("use `npm test`")),
    ("codex", "SessionStart", ALLOW, None),
    ("codex", "SessionStart", DENY, stopped("use `npm test`")),
    ("gemini", "SessionStart", ALLOW, None),
    # Gemini CLI lets no hook stop a session: its user and its model are told.
    (
        "gemini",
        "SessionStart",
        DENY,
        {
            "systemMessage": "use `npm test`",
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "use `npm test`"},
        },
    ),
    ("claude-code", "PostToolUseFailure", DENY, None),
    # A bare allow is an error to Codex, and after an error it goes on: the yes is silence.
    ("codex", "PreToolUse", ALLOW, None),
    ("codex", "PreToolUse", DENY, before(permissionDecision="deny", permissionDecisionReason="use `npm test`")),
    ("codex", "PreToolUse", MUTE, before(permissionDecision="deny", permissionDecisionReason="not allowed")),
    ("codex", "PreToolUse", EDIT, before(permissionDecision="allow", updatedInput={"command": "ls -l"})),
    ("codex", "PreToolUse", TRIAL, None),
    ("codex", "PermissionRequest", ALLOW, permission(behavior="allow")),
    ("codex", "PermissionRequest", DENY, permission(behavior="deny", message="use `npm test`")),
    (
        "codex",
        "PermissionRequest",
        EDIT,
        permission(
            behavior="deny", message="the call was changed, which is not possible here; make the changed call instead"
        ),
    ),
    ("codex", "PostToolUse", DENY, None),
    ("gemini", "BeforeTool", ALLOW, {"decision": "allow"}),
    ("gemini", "BeforeTool", DENY, {"decision": "deny", "reason": "use `npm test`"}),
    ("gemini", "BeforeTool", MUTE, {"decision": "deny", "reason": "not allowed"}),
    (
        "gemini",
        "BeforeTool",
        EDIT,
        {
            "decision": "allow",
            "hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"command": "ls -l"}},
        },
    ),
    ("gemini", "BeforeTool", TRIAL, None),
    ("gemini", "BeforeTool", PROMPT, {"decision": "ask", "reason": "may it?", "systemMessage": "may it?"}),
    ("opencode", "tool.execute.before", ALLOW, {"allow": True, "reason": "ls lists files"}),
    ("opencode", "tool.execute.before", DENY, {"allow": False, "reason": "use `npm test`"}),
    (
        "opencode",
        "tool.execute.before",
        EDIT,
        {"allow": True, "reason": "edited", "updatedInput": {"command": "ls -l"}},
    ),
    ("opencode", "tool.execute.before", TRIAL, None),
    ("opencode", "permission.asked", ALLOW, None),
    ("opencode", "permission.asked", YES, {"allow": True, "reason": "approved"}),
    ("opencode", "tool.execute.after", DENY, None),
    ("opencode", "tool.execute.failed", DENY, None),
    ("gemini", "AfterTool", DENY, None),
]


def sent(event: str, **more) -> bytes:
    given = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {"command": "ls"}, "session_id": "s1"}
    return json.dumps(given | {"cwd": "/code", "tool_use_id": "t1"} | more).encode()


@pytest.mark.parametrize(("agent", "event", "answer", "said"), TABLE)
def test_each_answer_is_said_in_the_words_the_agent_honours(agent, event, answer, said):
    module = MODULES[agent]
    rendered = module.render(answer, module.parse(sent(event)))
    # A no is said by the code, too, wherever that is heard: something else may be printed before its words.
    is_no = b'"deny"' in rendered.body or b'"allow":false' in rendered.body
    assert rendered.exit == (2 if is_no and (agent, event) != ("claude-code", "PermissionRequest") else 0)
    assert (json.loads(rendered.body) if rendered.body else None) == said


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_a_question_to_the_user_is_left_to_the_agent_unless_it_is_denied(tool):
    call = HookCall(tool=tool, input={}, event="PreToolUse")
    assert claude_code.render(ALLOW, call).body == b""
    assert b"deny" in claude_code.render(DENY, call).body


def test_a_rewrite_that_takes_a_field_away_is_refused_where_rewrites_are_merged():
    call = HookCall(tool="Bash", input={"command": "ls", "timeout": 5}, event="BeforeTool")
    rendered = gemini.render(EDIT, call)
    assert rendered.exit == 2
    assert "leaves out timeout" in rendered.reason
    said = json.loads(rendered.body)
    assert said == {"decision": "deny", "reason": "the changed call leaves out timeout; make the changed call instead"}


@pytest.mark.parametrize("agent", MODULES)
def test_a_long_reason_is_cut_where_it_can_be_seen(agent):
    module = MODULES[agent]
    event = next(iter(module.EVENTS))
    body = module.render(HookAnswer(allow=False, reason="x" * 20_000), module.parse(sent(event))).body
    assert len(body) < LONGEST_REASON + 200
    assert "…" in body.decode()


@pytest.mark.parametrize("agent", MODULES)
def test_a_call_is_read_with_all_that_identifies_it(agent):
    module = MODULES[agent]
    event, moment = next(iter(module.EVENTS.items()))
    call = module.parse(sent(event, permission_mode="plan"))
    assert (call.tool, call.input, call.cwd, call.session, call.call_id) == (
        "Bash",
        {"command": "ls"},
        "/code",
        "s1",
        "t1",
    )
    assert (call.event, call.moment, call.modes) == (event, moment, (Mode.PLAN,))


@pytest.mark.parametrize(
    ("word", "mode"),
    [("plan", Mode.PLAN), ("never", Mode.DONT_ASK), ("dontAsk", Mode.DONT_ASK), ("somethingNew", Mode.UNTRUSTED)],
)
def test_a_mode_that_is_not_known_counts_as_a_careful_one(word, mode):
    assert claude_code.parse(sent("PreToolUse", permission_mode=word)).modes == (mode,)


@pytest.mark.parametrize("word", ["default", "acceptEdits", "auto", "bypassPermissions"])
def test_a_mode_that_does_not_tighten_leaves_the_users_own_in_force(word):
    call = claude_code.parse(sent("PreToolUse", permission_mode=word))
    assert (call.modes, call.reported) == ((), Mode(word))


def test_what_became_of_a_call_is_kept():
    done = claude_code.parse(sent("PostToolUse", duration_ms=12, tool_response={"stdout": ""}))
    failed = claude_code.parse(sent("PostToolUseFailure", error="exit 1", duration_ms="soon"))
    assert done.report is not None
    assert failed.report is not None
    assert (done.report.failed, done.report.duration_ms) == (False, 12)
    assert (failed.report.failed, failed.report.error, failed.report.duration_ms) == (True, "exit 1", None)


UNTRUSTED = "<untrusted_context>\nOutput: {}\nProcess Group PGID: 7\n</untrusted_context>"


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"llmContent": UNTRUSTED.format("out\nerr\nExit Code: 3"), "returnDisplay": "out\nerr"}, "exit code 3"),
        ({"llmContent": "Output: (empty)\nExit Code: 137"}, "exit code 137"),
        ({"llmContent": UNTRUSTED.format("fine"), "returnDisplay": "fine"}, None),
        ({"llmContent": UNTRUSTED.format("Exit Code: 3\nmore of the output")}, None),
        ({"llmContent": UNTRUSTED.format("x\nExit Code: 0")}, None),
        ({"llmContent": "none", "error": {"message": "File not found: x"}}, "File not found: x"),
        ({"llmContent": [{"text": "Exit Code: 3"}]}, None),
        ("Exit Code: 3", None),
        (None, None),
    ],
    ids=str,
)
def test_what_failed_in_gemini_is_told_by_what_its_model_reads(response, error):
    report = gemini.parse(sent("AfterTool", tool_response=response)).report
    assert report is not None
    assert (report.failed, report.error) == (error is not None, error)


@pytest.mark.parametrize(("code", "error"), [(7, "exit code 7"), (-9, "exit code -9"), (0, None), ("7", None)])
def test_what_failed_in_codex_is_told_by_the_code_that_was_found(code, error):
    report = codex.parse(sent("PostToolUse", tool_response="", exit_code=code)).report
    assert report is not None
    assert (report.failed, report.error) == (error is not None, error)


@pytest.mark.parametrize("agent", MODULES)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b"null",
        b'{"hook_event_name": "Stop", "tool_name": "Bash"}',
        b'{"tool_name": "Bash"}',
        b'{"hook_event_name": "PreToolUse", "tool_name": 3}',
        b'{"hook_event_name": "BeforeTool", "tool_name": 3}',
        b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": "ls"}',
        b'{"hook_event_name": "BeforeTool", "tool_name": "Bash", "tool_input": "ls"}',
        b'{"hook_event_name": "PreToolUse", "tool_input": {}}',
        b'{"hook_event_name": "BeforeTool", "tool_input": {}}',
        b"[" * 100_000,
    ],
)
def test_what_can_not_be_read_is_an_error(agent, data):
    with pytest.raises(CallError):
        MODULES[agent].parse(data)


@pytest.mark.parametrize("agent", MODULES)
def test_an_answer_is_always_whole_json(agent):
    module = MODULES[agent]
    call = module.parse(sent(next(iter(module.EVENTS))))
    for text in ('"', "\\", "\n", "\u202e", "\x00", "日本"):
        body = module.render(HookAnswer(allow=False, reason=f"no {text} no"), call).body
        assert f"no {text} no" in _texts(msgspec.json.decode(body))


def _texts(value):
    return [t for v in value.values() for t in _texts(v)] if isinstance(value, dict) else [value]

"""Guards: the chain that is shown, and what people say while a session runs."""

from __future__ import annotations

import msgspec
import pytest

from assent.model import UNKNOWN, YES, Consent, Layer, PathPolicy, Source, ToolCall, Verdict
from assent.policy.guard import CHAIN_ORDER, Guard, SessionDecision, command_texts, session_decision
from assent.policy.layers import merge
from scenes import (
    DANGEROUS,
    DESTRUCTIVE,
    SESSION,
    calls,
    executes,
    judge,
    look,
    policy,
    reads,
    run,
    view_of,
    world,
    writes,
)

ALLOW, ASK, DENY = Verdict
FULL = policy(
    forbidden=("**/.env*",),
    allow=["Bash(ls)"],
    ask=["Bash(ls)"],
    deny=["Bash(ls)"],
    read=PathPolicy(deny=("/x",)),
    write=PathPolicy(allow=("/x",)),
    deny_commands=("rm:*",),
    approve_commands=("git push:*",),
)


def guard(*policies, tool=None, cwd="/ws", run=False):
    return Guard(merge(policies), tool, cwd, run)


def said(verdict, dimension, resource, **more):
    return SessionDecision(verdict, dimension, resource, **more)


def test_the_chain_lists_what_has_something_to_say_always_in_the_same_order():
    assert guard(FULL).chain == CHAIN_ORDER
    assert guard().chain == ("self-protection", "write-path-policy", "classifier")
    assert guard(policy(classifier=False)).chain == ("self-protection", "write-path-policy")
    assert guard(run=True).chain == (
        "self-protection",
        "forbidden-globs",
        "read-path-policy",
        "write-path-policy",
        "classifier",
    )
    assert "read-path-policy" in guard(policy(read=PathPolicy(default=ASK))).chain


#: tool, the policies of the full chain that it is not shown
LEFT_OUT = [
    ("Bash", set()),
    ("Read", {"write-path-policy", "deny-commands", "approve-commands"}),
    ("Grep", {"write-path-policy", "deny-commands", "approve-commands"}),
    ("Write", {"read-path-policy", "deny-commands", "approve-commands"}),
    ("WebFetch", {"read-path-policy", "deny-commands", "approve-commands"}),
]


@pytest.mark.parametrize(("tool", "left_out"), LEFT_OUT)
def test_a_tool_is_shown_what_concerns_it(tool, left_out):
    assert guard(FULL, tool=tool).chain == tuple(n for n in CHAIN_ORDER if n not in left_out)


#: decision, name in a session at /ws
NAMES = [
    (said("allow", "write", "/ws/src/main.py"), "session-allow-write-src-main-py"),
    (said("deny", "read", "/ws/.env"), "session-deny-read--env"),
    (said("allow", "write", "generated/*.json", is_glob=True), "session-allow-write-generated---json"),
    (said("allow", "write", "/ws/generated/*.json", is_glob=True), "session-allow-write-generated---json"),
    (said("allow", "read", "/etc/hosts"), "session-allow-read--etc-hosts"),
    (said("allow", "read", "/ws"), "session-allow-read--ws"),
    (said("allow", "read", "/ws-evil/a"), "session-allow-read--ws-evil-a"),
    (said("deny", "execute", "npm run test:unit"), "session-deny-execute-npm-run-test-unit"),
    (said("allow", "execute", "/ws/x"), "session-allow-execute--ws-x"),
]


@pytest.mark.parametrize(("decision", "name"), NAMES)
def test_a_session_decision_is_named_after_what_it_covers(decision, name):
    assert decision.name("/ws") == name
    assert guard().remember(decision).chain[-1] == name


def test_without_a_cwd_the_whole_path_is_the_name():
    assert said("allow", "read", "/ws/a").name(None) == "session-allow-read--ws-a"
    assert said("allow", "read", "/a").name("/") == "session-allow-read-a"


def test_names_in_a_chain_are_unique():
    both = guard().remember(said("allow", "write", "/ws/a.b")).remember(said("allow", "write", "/ws/a-b"))
    third = both.remember(said("allow", "write", "/ws/a b"))
    assert third.chain[-3:] == tuple(f"session-allow-write-a-b{n}" for n in ("", "-2", "-3"))


def test_a_later_decision_on_the_same_resource_replaces_the_earlier():
    first = guard().remember(said("deny", "write", "/ws/a"))
    second = first.remember(said("allow", "write", "/ws/a"))
    assert [d.verdict for d in second.session] == ["allow"]
    assert [d.verdict for d in first.session] == ["deny"]
    other = second.remember(said("deny", "read", "/ws/a"))
    assert len(other.session) == 2


OUT = look(writes("/tmp/a"), tool="Write")


def test_an_allow_for_the_session_answers_soft_asks_on_that_very_resource():
    allowed = guard().remember(said("allow", "write", "/tmp/a"))
    decision = judge(OUT, guard=allowed)
    assert (decision.verdict, decision.decision_source) == (ALLOW, Source.SESSION)
    assert decision.decision_reason == "covered by session-allow-write--tmp-a"
    for view in (
        look(writes("/tmp/ab"), tool="Write"),
        look(writes("/tmp/a/b"), tool="Write"),
        look(reads("/tmp/a", secret=True), tool="Read"),
    ):
        assert judge(view, guard=allowed).verdict is ASK


def test_an_allow_for_the_session_does_not_follow_a_link_that_was_swapped():
    links = {"/tmp/a": "/tmp/first"}
    before = view_of("Write", {"file_path": "/tmp/a"}, facts=world(links=links))
    operation = before.reading.operations[0]
    allowed = guard().remember(said("allow", "write", operation.resource, target=operation.target))
    assert judge(before, guard=allowed).verdict is ALLOW
    after = view_of("Write", {"file_path": "/tmp/a"}, facts=world(links={"/tmp/a": "/tmp/second"}))
    assert judge(after, guard=allowed).verdict is ASK
    unseen = view_of("Write", {"file_path": "/tmp/a"})
    assert judge(unseen, guard=allowed).verdict is ASK


def test_an_allow_for_the_session_lifts_no_deny_no_firm_ask_and_nothing_destructive():
    allowed = guard(policy(forbidden=("/tmp/**",))).remember(said("allow", "write", "/tmp/a"))
    assert judge(OUT, guard=allowed).verdict is DENY
    firm = guard().remember(said("allow", "write", "/ws/.git/config"))
    assert judge(look(writes("/ws/.git/config"), tool="Write"), guard=firm).verdict is ASK
    gone = guard().remember(said("allow", "execute", "rm -rf /"))
    assert judge(look(run("rm -rf /", DESTRUCTIVE)), guard=gone).verdict is DENY


def test_a_glob_allowed_for_the_session_covers_what_surely_matches():
    allowed = guard().remember(said("allow", "write", "/tmp/*.json", is_glob=True))
    assert judge(look(writes("/tmp/a.json"), tool="Write"), guard=allowed).verdict is ALLOW
    assert judge(look(writes("/tmp/d/a.json"), tool="Write"), guard=allowed).verdict is ASK
    assert judge(look(writes("/tmp/a.json", target="/x/a"), tool="Write"), guard=allowed).verdict is ASK


def test_a_deny_for_the_session_refuses_by_any_name():
    for decision in (said("deny", "write", "/ws/a"), said("deny", "write", "/x", target="/ws/a")):
        denied = guard().remember(decision)
        assert judge(look(writes("/ws/a"), tool="Write"), guard=denied).decision_source is Source.SESSION
        assert judge(look(writes("/ws/l", target="/ws/a"), tool="Write"), guard=denied).verdict is DENY
        assert judge(look(reads("/ws/a"), tool="Read"), guard=denied).verdict is ALLOW
    globbed = guard().remember(said("deny", "read", "/ws/*.py", is_glob=True))
    assert judge(look(reads("/ws/a.py"), tool="Read"), guard=globbed).verdict is DENY
    assert judge(look(reads("/ws/a.md"), tool="Read"), guard=globbed).verdict is ALLOW


def test_a_call_that_overrides_is_asked_once_more_and_firmly():
    denied = guard(policy(mode="bypassPermissions")).remember(said("deny", "write", "/ws/a"))
    plain = look(writes("/ws/a"), tool="Write")
    again = look(writes("/ws/a"), tool="Write", override=True)
    assert judge(plain, guard=denied).verdict is DENY
    asked = judge(again, guard=denied)
    assert (asked.verdict, asked.decision_source) == (ASK, Source.SESSION)
    assert asked.decision_reason == "refused earlier in this session, requested again"


LINE = look(run("make it", DANGEROUS), executes("/ws/x", owner=0), writes("/tmp/a", DANGEROUS, owner=0, own_cover=True))


def test_a_deny_for_the_session_asks_firmly_where_it_may_be_meant():
    refused = guard(policy(mode="bypassPermissions")).remember(said("deny", "read", "/ws/private/**", is_glob=True))
    assert judge(look(reads("\ufdd0"), tool="Read"), guard=refused).verdict is ASK


def test_a_deny_for_the_session_holds_for_a_tree_that_is_changed_as_a_whole():
    refused = guard().remember(said("deny", "write", "/ws/private/a[1]"))
    whole = msgspec.structs.replace(writes("/ws/private"), sweep=True)
    assert judge(look(whole), guard=refused).verdict is DENY
    assert judge(look(writes("/ws/private/a1")), guard=refused).verdict is not DENY


def test_no_tool_of_a_run_touches_what_is_forbidden_there():
    for path in ("/ws/.env", "/ws/.git/config", "/ws/a/secrets/x", "/ws/k.pem"):
        allowed = guard(policy(allow=["Read"]), run=True).remember(said("allow", "read", path))
        assert judge(look(reads(path), tool="Read"), guard=allowed).verdict is DENY


def test_what_a_command_names_is_forbidden_in_a_run_whatever_it_does_with_it():
    named = {"/ws/.env": DENY, "/ws/a/secrets/x": DENY, "/ws/x": ASK, f"/ws/.e{UNKNOWN}": ASK, "/ws/.ENV": ASK}
    for path, verdict in named.items():
        line = look(msgspec.structs.replace(run("make it", DANGEROUS), mentions=(path,)))
        assert (path, judge(line, guard=guard(run=True)).verdict) == (path, verdict)
        assert judge(line, guard=guard(policy(forbidden=("**/.env*",)))).verdict is ASK


def test_what_is_said_of_a_file_that_runs_holds_however_a_line_names_it_and_for_nothing_more():
    first = view_of("Bash", {"command": "./x"})
    for word, verdict in (("allow", ALLOW), ("deny", DENY)):
        decided = guard().remember(session_decision(first.call, first.reading, word))
        for line in ("./x", " /ws/x ", "a/../x"):
            assert judge(view_of("Bash", {"command": line}), guard=decided).verdict is verdict
        for line in ("A=1 ./x", "./x y", "./x; ls", "./y", "./x > z"):
            assert judge(view_of("Bash", {"command": line}), guard=decided).verdict is ASK
    both = view_of("Bash", {"command": "./x", "cmd": "./y"})
    assert judge(both, guard=guard().remember(session_decision(first.call, first.reading, "allow"))).verdict is ASK


def test_in_a_guarded_run_reads_outside_the_workspace_ask():
    assert judge(look(reads("/srv/a"), tool="Read"), guard=guard(run=True)).verdict is ASK
    assert judge(look(reads("/srv/a"), tool="Read"), guard=guard()).verdict is ALLOW


def test_a_line_allowed_for_the_session_is_not_asked_about_again():
    allowed = guard().remember(said("allow", "execute", "make it"))
    decision = judge(LINE, guard=allowed)
    assert (decision.verdict, decision.decision_source) == (ALLOW, Source.SESSION)


#: what differs, input
OTHERS = [
    ("another line", {"command": "make that"}),
    ("one more field that may run", {"command": "make it", "input": "rm x"}),
    ("arguments beside the line", {"command": "make it", "args": ["-f", "x"]}),
    ("a list that does not spell it", {"command": ["make it"]}),
]


@pytest.mark.parametrize(("_what", "given"), OTHERS)
def test_a_line_allowed_for_the_session_covers_no_other(_what, given):
    allowed = guard().remember(said("allow", "execute", "make it"))
    view = look(run("make it", DANGEROUS), given=given)
    assert judge(view, guard=allowed).verdict is ASK


def test_a_line_allowed_for_the_session_covers_no_other_tool_and_no_extra_wish():
    allowed = guard().remember(said("allow", "execute", "make it"))
    edit = look(writes("/tmp/a"), tool="Edit", given={"command": "make it", "path": "/tmp/a"})
    assert judge(edit, guard=allowed).verdict is ASK
    wish = look(run("make it", DANGEROUS), calls("Bash"), given={"command": "make it", "env": {"A": "b"}})
    assert judge(wish, guard=allowed).verdict is ASK


def test_a_line_denied_for_the_session_is_denied_in_whatever_field_it_stands():
    denied = guard(policy(mode="bypassPermissions")).remember(said("deny", "execute", "make it"))
    for given in ({"command": "make it"}, {"command": "ls", "cmd": "make it"}, {"input": ["make", "it"]}):
        assert judge(look(run("x"), given=given), guard=denied).verdict is DENY
    assert judge(look(run("x"), given={"command": "make"}), guard=denied).verdict is ALLOW


#: input, the texts it may run
TEXTS = [
    ({"command": "ls"}, ["ls"]),
    ({"cmd": ["echo", "a b"]}, ["echo 'a b'"]),
    ({"command": "ls", "args": ["a b"]}, ["ls 'a b'"]),
    ({"command": ["ls"], "args": ["-l"]}, ["ls -l"]),
    ({"command": "ls", "args": "-l"}, ["ls"]),
    ({"command": "a", "input": "b", "cmd": "c"}, ["a", "b", "c"]),
    ({"command": 7}, []),
    ({}, []),
]


@pytest.mark.parametrize(("given", "texts"), TEXTS)
def test_the_text_of_a_call_is_every_line_it_may_run(given, texts):
    call = ToolCall(tool="Bash", input=given)
    assert command_texts(call) == texts


def test_a_patch_adds_to_the_lists_and_replaces_the_default():
    patched = guard().patch("write", allow=("/tmp/**",)).patch("write", allow=("/var/**",), deny=("/tmp/no",))
    for path, verdict in (("/tmp/a", ALLOW), ("/var/a", ALLOW), ("/tmp/no", DENY), ("/srv/a", ASK)):
        assert judge(look(writes(path), tool="Write"), guard=patched).verdict is verdict
    shut = patched.patch("write", default=DENY)
    assert judge(look(writes("/srv/a"), tool="Write"), guard=shut).verdict is DENY
    assert judge(look(writes("/tmp/a"), tool="Write"), guard=shut).verdict is ALLOW
    open_again = shut.patch("write", default=ALLOW)
    assert judge(look(writes("/srv/a"), tool="Write"), guard=open_again).verdict is ALLOW
    assert judge(look(writes("/srv/a"), tool="Write"), guard=guard()).verdict is ASK


def test_a_default_of_allow_answers_what_the_classifier_asks_and_nothing_else():
    opened = guard().patch("write", default=ALLOW)
    sensitive = look(writes("/ws/credentials", tier=DANGEROUS), tool="Write")
    assert judge(sensitive, guard=guard()).verdict is ASK
    decided = judge(sensitive, guard=opened)
    assert (decided.verdict, decided.decision_source) == (ALLOW, Source.SESSION)
    assert judge(sensitive, guard=guard().patch("read", default=ALLOW)).verdict is ASK
    assert judge(sensitive, guard=guard().patch("write", default=ASK)).verdict is ASK
    assert judge(look(writes("/dev/sda", tier=DESTRUCTIVE), tool="Write"), guard=opened).verdict is DENY
    enabled = Consent(destructive=True)
    assert judge(look(writes("/dev/sda", tier=DESTRUCTIVE), tool="Write"), guard=opened, consent=enabled).verdict is ASK
    assert judge(look(run("node x", tier=DANGEROUS), tool="Bash"), guard=opened).verdict is ASK
    assert judge(look(writes("/ws/.git/hooks/pre-commit"), tool="Write"), guard=opened).verdict is ASK


def test_a_patch_for_reads_leaves_writes_alone():
    patched = guard().patch("read", deny=("/ws/a",), default=ASK)
    assert judge(look(reads("/ws/a"), tool="Read"), guard=patched).verdict is DENY
    assert judge(look(reads("/ws/b"), tool="Read"), guard=patched).verdict is ASK
    assert judge(look(writes("/ws/a"), tool="Write"), guard=patched).verdict is ALLOW
    assert "read-path-policy" in patched.chain


def test_a_path_allowed_while_running_is_a_person_s_word_and_answers_soft_asks():
    asking = guard(policy(ask=["Write"])).patch("write", allow=("/ws/**",))
    decision = judge(look(writes("/ws/a"), tool="Write"), guard=asking)
    assert (decision.verdict, decision.decision_source) == (ALLOW, Source.SESSION)
    firm = guard(policy(layer=Layer.MANAGED, ask=["Write"])).patch("write", allow=("/ws/**",))
    assert judge(look(writes("/ws/a"), tool="Write"), guard=firm).verdict is ASK


#: policy, what is decided, verdict, source
LISTS = [
    (policy(deny_commands=("rm:*",)), look(run("rm x")), DENY, Source.RULE),
    (policy(approve_commands=("git push:*",)), look(run("git push -f")), ASK, Source.RULE),
    (policy(forbidden=("**/.env*",)), look(reads("/ws/.env.local"), tool="Read"), DENY, Source.PATH_POLICY),
    (policy(forbidden=("**/.env*",)), look(writes("/ws/.env"), tool="Write"), DENY, Source.PATH_POLICY),
    (policy(forbidden=("**/secrets/**",)), look(executes("/ws/secrets/x")), DENY, Source.PATH_POLICY),
    (policy(forbidden=(".git/**",)), look(reads("/ws/.git/config"), tool="Read"), DENY, Source.PATH_POLICY),
    (policy(read=PathPolicy(deny=("/ws/a",))), look(reads("/ws/a"), tool="Read"), DENY, Source.PATH_POLICY),
    (policy(read=PathPolicy(default=DENY)), look(reads("/ws/a"), tool="Read"), DENY, Source.PATH_POLICY),
    (policy(write=PathPolicy(default=ASK)), look(writes("/ws/a"), tool="Write"), ASK, Source.PATH_POLICY),
    (policy(read=PathPolicy(default=ASK)), look(writes("/ws/a"), tool="Write"), ALLOW, Source.CLASSIFIER),
    (policy(read=PathPolicy(default=DENY)), look(reads("$TOKEN"), tool="Read"), ALLOW, Source.CLASSIFIER),
    (
        policy(read=PathPolicy(allow=("/ws/a",), default=DENY)),
        look(reads("/ws/a"), tool="Read"),
        ALLOW,
        Source.PATH_POLICY,
    ),
    (
        policy(read=PathPolicy(allow=("/ws/**",), deny=("/ws/a",))),
        look(reads("/ws/a"), tool="Read"),
        DENY,
        Source.PATH_POLICY,
    ),
]


@pytest.mark.parametrize(("listed", "view", "verdict", "source"), LISTS)
def test_lists_of_a_policy_deny_ask_and_allow(listed, view, verdict, source):
    decision = judge(view, listed)
    assert (decision.verdict, decision.decision_source) == (verdict, source)


def test_an_organisation_s_approved_commands_are_asked_firmly():
    asking = policy(layer=Layer.MANAGED, approve_commands=("x",))
    assert judge(look(run("x")), policy(mode="bypassPermissions"), asking).verdict is ASK


def test_reads_outside_the_workspace_are_asked_about_in_runs_only():
    running = msgspec.structs.replace(SESSION, run=True)
    assert judge(look(reads("/etc/hosts"), tool="Read")).verdict is ALLOW
    assert judge(look(reads("/etc/hosts"), tool="Read", session=running)).verdict is ASK
    assert judge(look(reads("/ws/a"), tool="Read", session=running)).verdict is ALLOW
    assert judge(look(reads("$HOME_TOKEN"), tool="Read", session=running)).verdict is ALLOW


def test_a_default_said_while_running_does_not_replace_the_organisation_s():
    managed = policy(write=PathPolicy(default=DENY), layer=Layer.MANAGED)
    theirs = guard(managed).patch("write", default=ALLOW)
    assert judge(look(writes("/else/x"), tool="Write"), managed, guard=theirs).verdict is DENY
    own = policy(write=PathPolicy(default=DENY))
    assert (
        judge(look(writes("/else/x"), tool="Write"), own, guard=guard(own).patch("write", default=ALLOW)).verdict
        is ALLOW
    )


def test_an_answer_for_the_session_is_about_the_line_or_the_one_file():
    line = view_of("run_command", {"command": "make x", "cwd": "sub"})
    assert session_decision(line.call, line.reading, "allow") == said("allow", "execute", "make x", target="/ws/sub")
    file = view_of("write_file", {"path": "a"})
    assert session_decision(file.call, file.reading, "deny") == said("deny", "write", "/ws/a")
    two = view_of("run_command", {"command": "a", "cmd": "b"})
    assert session_decision(two.call, two.reading, "allow") is None


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("read_many_files", {"paths": ["/x/a", "/x/b"]}),
        ("WebFetch", {"url": "https://a.test"}),
        ("mcp__a__b", {"q": 1}),
    ],
)
def test_an_answer_about_anything_else_is_about_exactly_that_call(tool, given):
    view, other = view_of(tool, given), view_of(tool, {**given, "more": 1})
    for verdict in ("allow", "deny"):
        decision = session_decision(view.call, view.reading, verdict)
        assert decision.name("/ws").startswith(f"session-{verdict}-execute-")
        assert all(decision.covers(o, view) and decision.touches(o, view) is YES for o in view.reading.operations)
        assert not any(decision.covers(o, other) for o in other.reading.operations)
        moved = view_of(tool, given, cwd="/ws/sub")
        assert not any(decision.covers(o, moved) for o in moved.reading.operations)


def test_a_line_allowed_for_the_session_is_allowed_in_its_folder_only():
    here = view_of("run_command", {"command": "./x", "cwd": "sub"})
    decision = session_decision(here.call, here.reading, "allow")
    assert decision is not None
    held = guard().remember(decision)
    assert judge(here, guard=held).verdict is ALLOW
    assert judge(view_of("run_command", {"command": "./x"}), guard=held).verdict is ASK

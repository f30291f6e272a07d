"""Path rules: an allow needs every name of a path, a deny fires on any."""

from __future__ import annotations

import os

import msgspec
import pytest

from assent.model import UNKNOWN, Certainty, Rule, Session, Verdict
from assent.policy.guard import Guard
from assent.policy.layers import merge
from assent.policy.rules.path_patterns import starts_of
from scenes import HOME, WS, executes, judge, look, match, policy, reads, run, view_of, world, writes

YES, MAYBE, NO = Certainty.YES, Certainty.MAYBE, Certainty.NO
ALLOW, ASK, DENY = Verdict

#: pattern, path written, as an allow, as a deny
TABLE = [
    ("/ws/*", "/ws/a", YES, YES),
    ("/ws/*", "/ws/a/b", NO, NO),
    ("/ws/**", "/ws/a/b", YES, YES),
    ("/ws/**", "/ws-evil/a", NO, NO),
    ("/ws/**", "/ws", NO, YES),
    ("//ws/**", "/ws/a", YES, YES),
    ("/ws/sub/../**", "/ws/a", YES, YES),
    ("/ws/a/", "/ws/a", YES, YES),
    ("src/**", "/ws/src/a", YES, YES),
    ("./src/**", "/ws/src/a", YES, YES),
    ("src/**", "/other/src/a", NO, NO),
    ("../x", "/x", YES, YES),
    ("**/*.pem", "/ws/k.pem", YES, YES),
    ("**/*.pem", "/ws/a/b/k.pem", YES, YES),
    ("**/*.pem", "/etc/k.pem", NO, NO),
    ("/**/*.pem", "/etc/k.pem", YES, YES),
    ("**", "/ws/a", YES, YES),
    ("*", "/ws/a/b", NO, NO),
    ("~/x", f"{HOME}/x", YES, YES),
    ("~/**", f"{HOME}/a/b", YES, YES),
    ("~/**", f"{HOME}2/a", NO, NO),
    ("~", HOME, YES, YES),
    (".", "/ws", YES, YES),
    ("/", "/", YES, YES),
    ("**/x/..", "/ws/a", YES, YES),
    ("**/.", "/ws/a", YES, YES),
    ("/ws/A", "/ws/a", NO, MAYBE),
    ("SRC/**", "/ws/src/a", NO, MAYBE),
]


@pytest.mark.parametrize(("pattern", "path", "allow", "deny"), TABLE)
def test_a_path_pattern_is_about_levels_not_text(pattern, path, allow, deny):
    view = look(writes(path), tool="Write")
    assert match(f"Write({pattern})", view, broad=False) is allow
    assert match(f"Write({pattern})", view, broad=True) is deny


VERDICT = {YES: DENY, MAYBE: ASK, NO: ALLOW}


@pytest.mark.parametrize(("pattern", "path", "_allow", "deny"), TABLE)
def test_a_rule_among_many_is_found_as_surely_as_alone(pattern, path, _allow, deny):
    crowd = [f"Write(/elsewhere/{i}/**)" for i in range(50)] + ["Write(**/nothing)", "Read(/ws/**)"]
    decision = judge(
        look(writes(path), tool="Write", session=Session(workspace=(WS, HOME + "x"))),
        policy(deny=[*crowd, f"Write({pattern})"], write=policy().write),
    )
    spoken = [o for o in decision.opinions if o.policy == "deny-rules"]
    assert max((o.verdict for o in spoken), default=ALLOW) is VERDICT[deny]


#: two names that some disks take for one
SAME = [
    ("/ws/caf\u00e9/x", "/ws/cafe\u0301/x"),
    ("/ws/caf\u00e9/x", "/ws/CAFE\u0301/x"),
    ("/ws/secret/x", "/ws/\u017fecret/x"),
    ("/ws/strasse/x", "/ws/stra\u00dfe/x"),
    ("/ws/\u212bngstrom/x", "/ws/a\u030angstrom/x"),
]


@pytest.mark.parametrize(("one", "other"), [*SAME, *((b, a) for a, b in SAME)])
@pytest.mark.parametrize("pattern", ["{0}", "/ws/*/x", "{1}/**"])
def test_two_ways_to_write_a_name_are_one_to_a_deny_and_two_to_an_allow(one, other, pattern):
    written = pattern.format(one, one.removesuffix("/x"))
    for facts, answer in ((world(case_insensitive=True), YES), (world(), MAYBE)):
        view = view_of("Write", {"file_path": other}, facts=facts)
        literal = pattern != "/ws/*/x"
        assert match(f"Write({written})", view, broad=True) is (answer if literal else YES)
        assert match(f"Write({written})", view, broad=False) is (NO if literal else YES)
        crowd = [f"Write(/elsewhere/{i}/**)" for i in range(50)]
        decided = judge(view, policy(deny=[*crowd, f"Write({written})"])).verdict
        assert decided is VERDICT[answer if literal else YES]


def test_where_case_does_not_count_a_deny_is_sure():
    view = look(writes("/ws/.ENV"), tool="Write", facts=world(case_insensitive=True))
    assert match("Write(/ws/.env)", view, broad=True) is YES
    assert match("Write(/ws/.env)", view, broad=False) is NO


def test_an_unknown_path_may_be_any():
    view = look(writes(f"/ws/{UNKNOWN}"), tool="Write")
    assert match("Write(/etc/**)", view, broad=True) is MAYBE
    assert match("Write(/ws/**)", view, broad=False) is MAYBE
    wholly = look(writes(UNKNOWN), tool="Write")
    assert match("Write(/etc/**)", wholly, broad=True) is MAYBE
    assert match("Write", wholly, broad=True) is YES


#: pattern, path with a wildcard in it, whether a deny may be meant
WILD = [
    ("private/**", "/ws/\ufdd0.py", MAYBE),
    ("/etc/**", "/ws/\ufdd0.py", NO),
    ("**/.env", "/ws/\ufdd0.py", NO),
    ("**/.env", "/ws/\ufdd0", MAYBE),
    ("**/.env", "/ws/.e\ufdd0v", MAYBE),
    ("/ws/private/x", "/ws/priv\ufdd0/x", MAYBE),
    ("~/x", "/ws/\ufdd0", NO),
]


@pytest.mark.parametrize(("pattern", "path", "answer"), WILD)
def test_a_wildcard_may_be_what_a_deny_is_about_if_it_can_lead_there(pattern, path, answer):
    operation = msgspec.structs.replace(reads(path), globbed=True)
    assert match(f"Read({pattern})", look(operation, tool="Read"), broad=True) is answer


def test_what_is_no_path_matches_no_path_pattern():
    view = look(reads("$API_TOKEN"))
    assert match("Read(/**)", view, broad=True) is NO
    assert match("Read", view, broad=True) is YES


def test_rules_for_reads_and_writes_keep_to_their_own():
    assert match("Read(/ws/**)", look(writes("/ws/a"), tool="Write"), broad=True) is NO
    assert match("Write(/ws/**)", look(reads("/ws/a"), tool="Read"), broad=True) is NO


def test_running_a_file_is_reading_it_to_a_deny_and_not_to_an_allow():
    view = look(executes("/ws/secrets/x"))
    assert match("Read(secrets/**)", view, broad=True) is YES
    assert match("Read(secrets/**)", view, broad=False) is NO


LINKS = {"/ws/link": "/etc", "/ws/in": "/ws/real", "/outside": "/ws/real"}

#: pattern, path as named, as an allow, as a deny
THROUGH_LINKS = [
    ("/ws/**", "/ws/link/hosts", NO, YES),
    ("/etc/**", "/ws/link/hosts", NO, YES),
    ("/ws/**", "/ws/in/a", YES, YES),
    ("/ws/real/**", "/ws/in/a", NO, YES),
    ("/ws/link/**", "/ws/link/hosts", NO, YES),
    ("link/**", "/ws/link/hosts", NO, YES),
    ("link/hosts", "/ws/link/hosts", NO, YES),
    ("/ws/in/**", "/ws/in/a", NO, YES),
    ("/ws/in/**", "/ws/real/a", NO, YES),
    ("/ws/in/*.py", "/ws/real/a.py", NO, YES),
    ("/outside/**", "/ws/real/a", NO, YES),
    ("/outside/**", "/ws/other", NO, NO),
    ("in/**", "/ws/real/a", NO, YES),
]


@pytest.mark.parametrize(("pattern", "path", "allow", "deny"), THROUGH_LINKS)
def test_an_allow_needs_the_link_and_its_target_a_deny_either(pattern, path, allow, deny):
    view = view_of("Write", {"file_path": path}, facts=world(links=LINKS))
    assert match(f"Write({pattern})", view, broad=False) is allow
    assert match(f"Write({pattern})", view, broad=True) is deny
    found = judge(view, policy(deny=[f"Write({pattern})"])).verdict is DENY
    assert found is (deny is YES)


def test_links_on_a_real_disk_are_followed_both_ways(tmp_path):
    for name in ("ws/src", "vault"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "vault/key").write_text("")
    (tmp_path / "ws/open").symlink_to(tmp_path / "vault")
    (tmp_path / "named").symlink_to(tmp_path / "ws/src")
    scene = {
        "facts": world(resolve=os.path.realpath),
        "session": Session(workspace=(f"{tmp_path}/ws",)),
        "cwd": f"{tmp_path}/ws",
    }
    through = view_of("Read", {"file_path": "open/key"}, **scene)
    assert match(f"Read({tmp_path}/vault/**)", through, broad=True) is YES
    assert match(f"Read({tmp_path}/ws/**)", through, broad=False) is NO
    up = view_of("Read", {"file_path": "open/../vault/key"}, **scene)
    assert match(f"Read({tmp_path}/vault/**)", up, broad=True) is YES
    behind = view_of("Write", {"file_path": "src/new"}, **scene)
    assert match(f"Write({tmp_path}/named/**)", behind, broad=True) is YES
    assert match(f"Write({tmp_path}/named/**)", behind, broad=False) is NO


def test_an_allow_knows_the_links_that_only_the_owner_of_the_system_can_make():
    facts = world(links={"/tmp": "/private/tmp"})
    view = view_of("Write", {"file_path": "/tmp/a"}, facts=facts)
    assert match("Write(/tmp/**)", view, broad=False) is YES
    assert match("Write(/private/tmp/**)", view, broad=False) is NO


def test_an_allow_holds_in_a_checkout_that_is_reached_through_a_link():
    facts = world(links={"/code/ws": "/ws"})
    session = Session(workspace=("/code/ws",))
    view = view_of("Write", {"file_path": "src/a"}, facts=facts, session=session, cwd="/code/ws")
    assert match("Write(src/**)", view, broad=False) is YES


def test_links_behind_rules_are_looked_up_again_after_a_while_and_when_the_clock_turns_back():
    links: dict[str, str] = {}
    guard = Guard(merge([policy(deny=["Write(/ws/shelf/**)"])]))

    def verdict(now):
        view = view_of("Write", {"file_path": "/ws/real/a"}, facts=world(links=links, now=now))
        return judge(view, guard=guard).verdict

    assert verdict(100.0) is ALLOW
    links["/ws/shelf"] = "/ws/real"
    assert verdict(102.0) is DENY
    links.clear()
    assert verdict(102.5) is ALLOW  # still a candidate, and no longer a match
    assert verdict(110.0) is ALLOW
    links["/ws/shelf"] = "/ws/real"
    assert verdict(50.0) is DENY


def test_what_is_known_of_links_does_not_grow_without_end():
    guard = Guard(merge([policy(deny=["Write(shelf/**)"])]))
    for number in range(140):
        judge(view_of("Write", {"file_path": "a"}, cwd=f"/ws/{number}"), guard=guard)
    (index,) = [link.rules._writes for link in guard.links]
    assert len(index._links) <= 130


#: pattern, root walked, as an allow, as a deny
READ_SWEEPS = [
    ("/ws/secret/**", "/ws/secret", YES, YES),
    ("/ws/secret/**", "/ws/secret/deep", YES, YES),
    ("/ws/secret/**", "/ws", NO, NO),
    ("/ws/secret/*", "/ws/secret", NO, YES),
    ("/ws/secret/*", "/ws/secret/deep", YES, YES),
    ("/ws/.env", "/ws", NO, NO),
    ("**/*.pem", "/ws", NO, NO),
    ("**", "/ws", YES, YES),
    ("/**", "/", YES, YES),
]


@pytest.mark.parametrize(("pattern", "root", "allow", "deny"), READ_SWEEPS)
def test_walking_a_tree_matches_only_if_its_root_is_what_the_rule_is_about(pattern, root, allow, deny):
    view = look(run("grep -r x"), reads(root, sweep=True, owner=0))
    assert match(f"Read({pattern})", view, 1, broad=False) is allow
    assert match(f"Read({pattern})", view, 1, broad=True) is deny


#: pattern, root changed as a whole, as a deny
WRITE_SWEEPS = [
    ("/ws/a/b", "/ws/a", YES),
    ("/ws/a/b/**", "/ws", YES),
    ("/ws/a/*.py", "/ws/a", YES),
    ("/ws/a/b", "/ws/c", NO),
    ("/ws/a/b", "/ws/a/bc", NO),
    ("a/b", "/ws/a", YES),
    ("**", "/ws", YES),
]


@pytest.mark.parametrize(("pattern", "root", "deny"), WRITE_SWEEPS)
def test_changing_a_tree_changes_all_that_is_in_it(pattern, root, deny):
    view = look(run("mv x y"), writes(root, sweep=True, owner=0))
    assert match(f"Write({pattern})", view, 1, broad=True) is deny
    denied = [o for o in judge(view, policy(deny=[f"Write({pattern})"])).opinions if o.policy == "deny-rules"]
    assert bool(denied) is (deny is YES)


#: line, path that is denied, whether the line is
TREES = [
    ("rm -r /ws/a", "/ws/a/b", DENY),
    ("rm -r a", "a/b/**", DENY),
    ("cd a && rm -rf ../a", "/ws/a/b/*.py", DENY),
    ("mv a c", "a/b", DENY),
    ("mv -t c a", "a/b/**", DENY),
    ("find . -name a -exec rm -r {} +; rm -r a", "a/b", DENY),
    ("mv x a", "a/b", ALLOW),
    ("cp x a", "a/b", ALLOW),
    ("mkdir -p a", "a/b", ALLOW),
    ("rm -r ab", "a/b", ALLOW),
    ("rm -r a/c", "a/b", ALLOW),
]


@pytest.mark.parametrize(("line", "pattern", "verdict"), TREES)
def test_what_is_in_a_folder_goes_with_it(line, pattern, verdict):
    denying = policy(mode="bypassPermissions", deny=[f"Write({pattern})"])
    assert judge(view_of("Bash", {"command": line}), denying).verdict is verdict


def test_an_allow_for_all_in_a_folder_does_not_reach_the_folder_itself():
    view = look(run("rm -r a"), writes("/ws/a", sweep=True, owner=0))
    assert match("Write(/ws/a/**)", view, 1, broad=False) is NO
    assert match("Write(/ws/**)", view, 1, broad=False) is YES


def test_a_relative_deny_holds_from_every_root_and_from_the_cwd():
    session = Session(workspace=("/ws", "/ws2"))
    for path in ("/ws/.env", "/ws2/.env", "/tmp/.env"):
        view = look(reads(path), tool="Read", cwd="/tmp", session=session)
        assert match("Read(.env)", view, broad=True) is YES
    assert match("Read(.env)", look(reads("/x/.env"), tool="Read", session=session), broad=True) is NO


#: cwd, links, covered
CWDS = [
    ("/ws", {}, True),
    ("/ws/sub", {}, True),
    ("/tmp", {}, False),
    ("/ws-evil", {}, False),
    ("/ws/link", {"/ws/link": "/tmp"}, False),
    (None, {}, False),
    ("relative", {}, False),
]


@pytest.mark.parametrize(("cwd", "links", "covered"), CWDS)
def test_a_relative_allow_does_not_start_outside_the_workspace(cwd, links, covered):
    path = f"{cwd or '/ws'}/out/a" if cwd != "relative" else "/ws/out/a"
    view = look(writes(path), tool="Write", cwd=cwd, facts=world(links=links))
    assert (match("Write(out/**)", view, broad=False) is YES) is covered
    assert (match("Write(**)", view, broad=False) is YES) is covered


def test_without_a_workspace_a_relative_allow_starts_from_the_cwd():
    view = look(writes("/tmp/out/a"), tool="Write", cwd="/tmp", session=Session())
    assert match("Write(out/**)", view, broad=False) is YES
    nowhere = look(writes("/tmp/out/a"), tool="Write", cwd=None, session=Session())
    assert match("Write(out/**)", nowhere, broad=False) is NO


def test_without_a_home_a_rule_about_it_matches_nothing():
    view = look(writes("/x"), tool="Write", facts=world(home=None))
    assert starts_of("home", view.place) == ()
    assert match("Write(~/**)", view, broad=True) is NO


#: rule, tool that is called, as an allow, as a deny
EDITS = [
    ("Edit(/ws/**)", "Edit", YES, YES),
    ("Edit(/ws/**)", "Write", NO, YES),
    ("Edit", "Edit", YES, YES),
    ("Edit", "Write", NO, NO),
    ("Write(/ws/**)", "Edit", YES, YES),
    ("Write", "Edit", YES, YES),
    ("Write(/ws/**)", "Delete", YES, YES),
    ("Delete(/ws/**)", "Delete", YES, YES),
    ("Delete(/ws/**)", "Write", NO, YES),
    ("Delete(/ws/**)", "Edit", NO, YES),
    ("Delete", "Delete", YES, YES),
    ("Delete", "Write", NO, NO),
    ("Edit", "Delete", NO, NO),
]


@pytest.mark.parametrize(("rule", "tool", "allow", "deny"), EDITS)
def test_a_rule_on_a_tool_that_writes_allows_that_tool_only_and_denies_every_write_to_its_path(rule, tool, allow, deny):
    view = look(writes("/ws/a"), tool=tool)
    assert match(rule, view, broad=False) is allow
    assert match(rule, view, broad=True) is deny


def test_an_edit_rule_sees_what_a_command_writes_to_its_path():
    view = look(run("tee a"), writes("/ws/a", owner=0))
    assert match("Edit(/ws/**)", view, 1, broad=True) is YES
    assert match("Edit", view, 1, broad=True) is NO
    assert match("Edit(/ws/**)", view, 1, broad=False) is NO


@pytest.mark.parametrize("pattern", ["/ws/private", "/ws/private/", "private", "./private/"])
@pytest.mark.parametrize("path", ["/ws/private", "/ws/private/a", "/ws/private/deep/a", "/ws/x/../private/a"])
def test_to_deny_a_folder_is_to_deny_all_that_is_in_it(pattern, path):
    for tool in ("Write", "Edit"):
        view = view_of(tool, {"file_path": path})
        assert judge(view, policy(deny=[f"Write({pattern})"])).verdict is DENY
        assert judge(view, policy(ask=[f"Write({pattern})"])).verdict is ASK
    assert judge(view_of("Bash", {"command": f"cat {path}"}), policy(deny=[f"Read({pattern})"])).verdict is DENY
    assert judge(view_of("Write", {"file_path": "/ws/PRIVATE/a"}), policy(deny=[f"Write({pattern})"])).verdict is (ASK)


def test_to_allow_a_folder_allows_nothing_in_it():
    strict = policy(mode="strict", allow=["Write(/ws/private)", "Write(/ws/private/)"])
    assert judge(view_of("Write", {"file_path": "/ws/private/a"}), strict).verdict is DENY
    excepted = policy(deny=[Rule(tool="Write", pattern="/ws/**", exceptions=("/ws/private",))])
    assert judge(view_of("Write", {"file_path": "/ws/private/a"}), excepted).verdict is DENY


def test_a_sibling_of_a_folder_that_is_denied_is_not_in_it():
    assert judge(view_of("Write", {"file_path": "/ws/private2"}), policy(deny=["Write(/ws/private)"])).verdict is (
        ALLOW
    )

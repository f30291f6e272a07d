"""Boundaries: what they let through, and that two together let through only what both do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.model import Limits, Mechanism, Network, OperationKind, SandboxProfile, Violation, within

READ, WRITE, EXEC, RUN, NET, CALL = OperationKind
BOX = SandboxProfile(
    name="box",
    mode="workspace-write",
    read_roots=("/usr", "/ws"),
    write_roots=("/ws",),
    masked=("/ws/.secret",),
    network=Network("hosts", ("a.test",)),
)


@pytest.mark.parametrize(
    ("kind", "resource", "held"),
    [
        (READ, "/usr/bin/x", True),
        (READ, "/usr", True),
        (READ, "/etc/hosts", False),
        (READ, "/usrx", False),
        (READ, "/ws/.secret/a", False),
        (WRITE, "/ws/a", True),
        (WRITE, "/usr/a", False),
        (WRITE, "/ws/.secret", False),
        (NET, "a.test", True),
        (NET, "b.test", False),
        (EXEC, "/anything", True),
        (RUN, "anything", True),
        (CALL, "Tool", False),
    ],
)
def test_a_boundary_holds_what_stays_inside(kind, resource, held):
    assert BOX.holds(kind, resource) is held


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("/a", "/a", True),
        ("/a/b", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/", True),
        ("/", "/", True),
        ("/a", "/a/b", False),
    ],
)
def test_a_name_prefix_is_not_enough(path, root, inside):
    assert within(path, root) is inside


OFF, NONE, FULL = Network("off"), Network("hosts", ()), Network("full")
SOME, OTHERS = Network("hosts", ("a", "b")), Network("hosts", ("b", "c"))


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (FULL, FULL, FULL),
        (FULL, SOME, SOME),
        (SOME, FULL, SOME),
        (SOME, OTHERS, Network("hosts", ("b",))),
        (SOME, NONE, NONE),
        (SOME, OFF, OFF),
        (OFF, FULL, OFF),
        (OFF, OFF, OFF),
    ],
)
def test_two_networks_reach_what_both_reach(one, other, both):
    assert one & other == both
    for host in ("a", "b", "c"):
        assert both.admits(host) is (one.admits(host) and other.admits(host))


def test_an_empty_list_of_hosts_is_none_of_them():
    assert not NONE.admits("a")


def test_of_two_limits_the_tighter_counts():
    one, other = Limits(processes=5, memory_bytes=100), Limits(processes=7, cpu_seconds=1)
    assert one & other == Limits(processes=5, memory_bytes=100, cpu_seconds=1)


_paths = st.lists(st.sampled_from(("/", "/a", "/a/b", "/ab", "/c")), max_size=3).map(tuple)
_profiles = st.builds(
    SandboxProfile,
    name=st.sampled_from(("one", "two")),
    mode=st.sampled_from(("read-only", "workspace-write", "agent", "off")),
    cwd=st.sampled_from((None, "/a")),
    read_roots=_paths,
    write_roots=_paths,
    masked=_paths,
    protected=_paths,
    network=st.sampled_from((OFF, NONE, FULL, SOME, OTHERS)),
)
_touched = st.tuples(
    st.sampled_from((READ, WRITE)), st.sampled_from(("/", "/a", "/a/b/c", "/ab/x", "/c/d"))
) | st.tuples(st.just(NET), st.sampled_from(("a", "b", "c")))


@given(_profiles, _profiles, _touched)
def test_two_boundaries_let_through_only_what_both_do(one, other, touched):
    both = one & other
    assert both.holds(*touched) is (one.holds(*touched) and other.holds(*touched))
    assert (other & one).holds(*touched) is both.holds(*touched)


@given(_profiles)
def test_a_boundary_with_itself_is_no_tighter(box):
    both = box & box
    assert (both.name, both.mode, both.cwd, both.network) == (box.name, box.mode, box.cwd, box.network)


def test_the_tighter_mode_counts_and_only_shared_mechanisms_are_in_force():
    seccomp, landlock = Mechanism("seccomp", "1", enforced=True), Mechanism("landlock", "6", enforced=True)
    one = SandboxProfile(name="one", mode="workspace-write", mechanisms=(seccomp, landlock), environment_ref="e")
    other = SandboxProfile(name="two", mode="read-only", mechanisms=(landlock,), violation_refs=("v",))
    both = one & other
    assert (both.name, both.mode, both.mechanisms) == ("two&one", "read-only", (landlock,))
    assert (both.environment_ref, both.violation_refs) == ("e", ("v",))


@pytest.mark.parametrize(
    ("operation", "line", "words"),
    [
        (OperationKind.FS_WRITE, None, "writing /etc/x"),
        (OperationKind.NET_CONNECT, "curl x", "connecting to /etc/x by curl x"),
    ],
)
def test_a_violation_says_in_words_what_was_stopped(operation, line, words):
    assert Violation(operation, "/etc/x", "landlock", command_line=line).words == words

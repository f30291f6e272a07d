"""Paths: made absolute, followed through links, and known for what they are."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.analysis.resources.paths import Located, normal, place_of
from assent.model import UNKNOWN, CallError, Session, ToolCall
from scenes import HOME, place, world

U = UNKNOWN

#: text, the absolute path seen from /ws
SPELLINGS = [
    ("/etc/hosts", "/etc/hosts"),
    ("a.py", "/ws/a.py"),
    ("./a.py", "/ws/a.py"),
    ("sub/../a.py", "/ws/a.py"),
    ("../x", "/x"),
    ("../../../../etc/passwd", "/etc/passwd"),
    (".", "/ws"),
    ("", "/ws"),
    ("/ws//a///b/", "/ws/a/b"),
    ("//etc/hosts", "/etc/hosts"),
    ("///etc/hosts", "/etc/hosts"),
    ("/ws/./a", "/ws/a"),
    ("/ws/a/..", "/ws"),
    ("/..", "/"),
    ("/", "/"),
    ("~", HOME),
    ("~/x", f"{HOME}/x"),
    ("~/../x", "/home/x"),
    ("$HOME/x", f"{HOME}/x"),
    ("${HOME}/x", f"{HOME}/x"),
    ("$HOMER/x", f"{U}/x"),
    ("${PWD}/x", f"{U}/x"),
    ("$PWD", U),
    ("$PWD/../x", U),
    ("$slug/x", "/ws/$slug/x"),
    ("a/$HOMER", "/ws/a/$HOMER"),
    ("file:///ws/%2e%2e/x", U),
    ("file:///ws/a", "/ws/a"),
    ("%2e%2e/x", "/ws/%2e%2e/x"),
    ("a~", "/ws/a~"),
    ("~root/x", U),
    ("~x", U),
    ("file:///etc/hosts", "/etc/hosts"),
    ("/proc/self/root/etc/passwd", "/etc/passwd"),
    ("/proc/self/root", "/"),
    ("/proc/1/root/etc/passwd", "/etc/passwd"),
    ("/proc/thread-self/root/etc", "/etc"),
    ("/proc/self/task/7/root/etc", "/etc"),
    ("/proc/self/root/proc/self/root/etc", "/etc"),
    ("//proc/self/root/etc", "/etc"),
    ("/proc//self/./root/etc", "/etc"),
    ("/proc/self/root/../etc", "/etc"),
    ("/proc/self/cwd/a", "/ws/a"),
    ("/proc/self/cwd", "/ws"),
    ("/proc/self/root/proc/self/cwd/a", "/ws/a"),
    ("/proc/77/cwd/a", f"{U}/a"),
    ("/proc/self/rooted", "/proc/self/rooted"),
    ("/proc/cpuinfo", "/proc/cpuinfo"),
    ("/home/proc/x", "/home/proc/x"),
    (f"{U}/a", f"{U}/a"),
    (f"{U}/../etc/passwd", U),
    (f"/ws/{U}/../../etc", U),
    (f"/ws/../a/{U}", f"/a/{U}"),
    (f"a{U}", f"/ws/a{U}"),
]


@pytest.mark.parametrize(("text", "path"), SPELLINGS)
def test_every_spelling_of_a_path_is_one_path(text, path):
    assert place().locate(text).path == path


#: text, what is known of it when neither cwd nor home are
NOWHERE = [
    ("a", f"{U}/a"),
    ("../a", U),
    ("x/../../etc/passwd", U),
    ("~/x", f"{U}/x"),
    ("/proc/self/cwd/a", f"{U}/a"),
    ("/etc/hosts", "/etc/hosts"),
]


@pytest.mark.parametrize(("text", "path"), NOWHERE)
def test_what_depends_on_an_unknown_folder_is_not_known(text, path):
    located = place(cwd=None, facts=world(home=None)).locate(text)
    assert located == Located(path)
    assert located.known is (path == text)


@pytest.mark.parametrize("text", ["a\x00b", "a\nb", "\x1b[0m", "a\x7f"])
def test_a_path_with_a_control_character_is_refused(text):
    with pytest.raises(CallError, match="control character"):
        place().locate(text)


def test_a_path_is_followed_as_it_is_spelled():
    here = place(facts=world(links={"/ws/l": "/etc/x", "/etc/x/..": "/etc"}))
    assert here.locate("l/a") == Located("/ws/l/a", "/etc/x/a")
    assert here.locate("a").names == ("/ws/a",)
    assert here.locate("l").names == ("/ws/l", "/etc/x")
    assert place().locate("l").names == ("/ws/l",)


def test_a_parent_of_a_link_is_the_parent_of_its_target(tmp_path):
    (tmp_path / "ws").mkdir()
    (tmp_path / "vault/deep").mkdir(parents=True)
    (tmp_path / "ws/l").symlink_to(tmp_path / "vault/deep")
    here = place(cwd=f"{tmp_path}/ws", facts=world(resolve=os.path.realpath))
    located = here.locate("l/../key")
    assert located == Located(f"{tmp_path}/ws/key", f"{tmp_path}/vault/key")


@given(st.text(alphabet="/.a" + U, max_size=12))
def test_a_normal_path_stays_what_it_is_and_hides_nothing_unknown(text):
    path = normal("/" + text)
    assert normal(path) == path
    assert (U in path) == (U in text)
    assert path == U or path.startswith("/")


_PIECES = st.sampled_from(["/", "a", ".", "..", "proc", "self", "root", "link", " ", "\x01", "\u200b", "é", U])


@given(st.lists(_PIECES, max_size=10).map("".join))
def test_however_plain_a_path_is_it_leads_where_any_spelling_of_it_leads(text):
    here = place(facts=world(links={"/link": "/etc/x", "/a/link": "/a"}))

    def find(spelling):
        try:
            return here.locate(spelling)
        except CallError as error:
            return str(error)

    assert find(f"/{text}") == find(f"file:///{text}")


#: path, workspace, target, inside
INSIDE = [
    ("/ws/a", ("/ws",), None, True),
    ("/ws", ("/ws",), None, True),
    ("/ws/a", ("/ws",), "/etc/a", False),
    ("/ws-evil/a", ("/ws",), None, False),
    ("/x", ("/ws",), "/ws/x", False),
    ("/ws/a", (), None, False),
    (f"/ws/{U}", ("/ws",), None, False),
    ("/two/a", ("/one", "/two"), None, True),
]


@pytest.mark.parametrize(("path", "workspace", "target", "inside"), INSIDE)
def test_a_path_is_inside_by_all_its_names_or_not_at_all(path, workspace, target, inside):
    here = place(workspace=workspace)
    located = Located(path, target)
    assert here.inside(located) is inside
    assert here.traits(path, target).outside is (bool(workspace) and not inside)


def test_harmless_devices_are_not_outside():
    assert not place().traits("/dev/null", None).outside
    assert place().traits("/dev/sda", None).outside


#: workspace said by the user, roots that count
ROOTS = [
    (("/ws/",), ("/ws",)),
    (("/ws", "/ws/../two"), ("/two", "/ws")),
    (("/",), ()),
    ((HOME,), ()),
    (("relative",), ()),
    (("/real/home",), ()),
    (("/link",), ("/link", "/target")),
]


@pytest.mark.parametrize(("said", "roots"), ROOTS)
def test_the_root_and_the_home_are_no_workspace(said, roots):
    facts = world(links={"/link": "/target", HOME: "/real/home"})
    assert place(workspace=said, facts=facts).workspace == roots


@pytest.mark.parametrize(("cwd", "taken"), [("/ws/", "/ws"), ("/a/../b", "/b"), ("ws", None), ("", None), (None, None)])
def test_a_cwd_is_absolute_or_unknown(cwd, taken):
    assert place_of(ToolCall(tool="x", cwd=cwd), Session(), world()).cwd == taken


#: path, secret, sensitive to write, control plane
TRAITS = [
    ("/ws/a.py", False, False, False),
    ("/ws/.env", True, True, False),
    ("/ws/.git/config", False, True, True),
    ("/etc/hosts", False, True, False),
    ("/home/bob/notes", True, True, False),
    ("/Users/bob/notes", True, True, False),
    ("/root/x", True, True, False),
    (f"{HOME}/notes", False, False, False),
    ("/home/dev2/notes", True, True, False),
    ("/home", False, False, False),
    (f"{HOME}/.ssh/id_rsa", True, True, True),
    ("/tmp/x", False, False, False),
]


@pytest.mark.parametrize(("path", "secret", "sensitive", "control"), TRAITS)
def test_a_path_is_known_for_what_it_is(path, secret, sensitive, control):
    here, located = place(), Located(path)
    assert here.is_secret(located) is secret
    assert here.is_sensitive(located) is sensitive
    assert here.is_control_plane(located) is control
    linked = Located("/ws/link", path)
    assert (here.is_secret(linked), here.is_sensitive(linked)) == (secret, sensitive)


def test_somebody_s_home_is_somebody_else_s_only_if_one_s_own_is_known():
    assert not place(facts=world(home=None)).is_secret(Located("/home/bob/x"))
    assert not place(workspace=("/home/bob/ws",)).is_secret(Located("/home/bob/ws/x"))
    assert not place(facts=world(home="/root/sub")).is_secret(Located("/root/x"))


def test_the_folders_above_a_workspace_do_not_make_its_files_sensitive():
    inside = place(workspace=("/x/.claude/worktrees/w",))
    assert not inside.is_control_plane(Located("/x/.claude/worktrees/w/a.py"))
    assert inside.is_control_plane(Located("/x/.claude/worktrees/w/.claude/a"))
    system = place(workspace=("/opt/app",))
    assert not system.is_sensitive(Located("/opt/app/a"))
    assert system.is_sensitive(Located("/opt/other/a"))

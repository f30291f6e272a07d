"""No cwd, session or workspace, however it is spelled, makes a place to write of what is protected, in any mode."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.catalog.workspace_roots import refuse_root
from assent.model import ALLOW, ASK, DENY, Facts, Layer, Mode, Policy, Session, ToolCall, Verdict, within
from assent.policy.engine import Engine

HOME, OWN = "/home/u", "/home/u/.local/share/assent"
PROTECTED = (
    *(
        f"{HOME}/{name}"
        for name in (".ssh", ".aws", ".gnupg", ".config/autostart", ".config", ".local/bin", "bin", ".kube")
    ),
    *(f"{HOME}/{name}" for name in (".config/systemd/user", ".config/nvim", ".claude", ".oh-my-zsh/custom", "go/bin")),
    *("/", "/home", HOME, "/etc", "/etc/cron.d", "/usr/local/bin", "/var/spool/cron/crontabs", "/root/.ssh", OWN),
    *("/work/p/.git/hooks", "/work/p/.github/workflows", "/work/p/secrets", "/work/p/.vscode"),
)
LINKS = {
    "/links/one": f"{HOME}/.ssh",
    "/work/p/out": f"{HOME}/.config/autostart",
    "/links/home": HOME,
    "/l/etc": "/etc",
}
CODE = 'python3 -c \'open("authorized_keys", "a").write("x")\''


def follow(path):
    for link, target in LINKS.items():
        if within(path, link):
            return posixpath.normpath(target + path[len(link) :])
    return path


FACTS = Facts(now=1.0, home=HOME, resolve=follow, assent_paths=(OWN,), sandbox=True)


@st.composite
def spellings(draw):
    """Draw a protected place, or what is in it, by some name."""
    path = draw(st.sampled_from((*PROTECTED, *LINKS)))
    path += draw(st.sampled_from(("", "", "/sub", "/sub/deep")))
    if draw(st.booleans()):
        path = path.upper() if draw(st.booleans()) and not path.startswith(tuple(LINKS)) else path
    for _ in range(draw(st.integers(0, 3))):
        parts = path.split("/")
        place = draw(st.integers(1, len(parts)))
        parts[place:place] = draw(st.sampled_from(([""], ["."], ["x", ".."])))
        path = "/".join(parts)
    return path + draw(st.sampled_from(("", "/", "/.")))


def decide(session, cwd, *policies, command=CODE):
    engine = Engine(policies, facts=lambda: FACTS)
    return engine.decide(ToolCall(tool="Bash", input={"command": command}, cwd=cwd), session)


def is_protected(root):
    path = posixpath.normpath("/" + root.lstrip("/"))
    return refuse_root(tuple({path, follow(path)}), (HOME,), (OWN,)) is not None


@given(
    st.lists(spellings(), max_size=2).map(tuple),
    spellings(),
    st.sampled_from(Mode),
    st.sampled_from((None, "workspace-write", "agent", "read-only")),
    st.booleans(),
)
def test_no_spelling_of_a_protected_place_is_ever_written_in(workspace, cwd, mode, profile, guessed):
    policy = Policy(mode=mode, profile=profile, layer=Layer.USER)
    session = Session(workspace=workspace, guessed=guessed)
    decision = decide(session, cwd, policy)
    roots = () if decision.boundary is None else decision.boundary.write_roots
    assert not any(map(is_protected, roots))
    if mode is not Mode.BYPASS:
        assert decision.verdict is not ALLOW


@given(spellings(), st.sampled_from((Mode.AUTO, Mode.ON_FAILURE, Mode.ACCEPT_EDITS, Mode.DEFAULT)))
def test_no_workspace_makes_plain_files_of_what_is_protected(workspace, mode):
    place = posixpath.normpath("/" + workspace.lstrip("/"))
    file = f"{place}/authorized_keys"
    if not any(within(follow(file).lower(), root) for root in (f"{HOME}/.ssh", f"{HOME}/.config/autostart", "/etc")):
        return
    engine = Engine((Policy(mode=mode, layer=Layer.USER),), facts=lambda: FACTS)
    call = ToolCall(tool="Write", input={"file_path": file, "content": "x"}, cwd=workspace)
    assert engine.decide(call, Session(workspace=(workspace,))).verdict is not ALLOW


CONTAINING = (Mode.AUTO, Mode.ON_FAILURE)


@pytest.mark.parametrize("mode", CONTAINING)
@pytest.mark.parametrize(
    ("session", "verdict"),
    [
        (Session(workspace=("/work/p",)), ALLOW),
        (Session(workspace=("/work/p",), guessed=True), ASK),
        (Session(), ASK),
        (Session(workspace=(f"{HOME}/.ssh",)), ASK),
        (Session(workspace=("/links/one",)), ASK),
        (Session(workspace=("/work/p", f"{HOME}/.ssh")), ALLOW),
        (Session(guessed=True, interactive=False), DENY),
    ],
)
def test_a_mode_that_contains_asks_where_no_workspace_is_fixed(mode, session, verdict):
    decision = decide(session, "/work/p", Policy(mode=mode, layer=Layer.USER))
    assert decision.verdict is verdict
    # Whoever says yes has it run contained all the same.
    assert decision.boundary is not None
    allowed = {"/work/p"} if "/work/p" in session.workspace else set()
    assert set(decision.boundary.write_roots) == allowed
    if verdict is not ALLOW:
        assert decision.decision_reason.endswith("no workspace is set to run it in")


@pytest.mark.parametrize("mode", CONTAINING)
def test_what_only_looks_is_not_asked_about_without_a_workspace(mode):
    for session in (Session(), Session(workspace=("/work/p",), guessed=True)):
        assert decide(session, "/work/p", Policy(mode=mode, layer=Layer.USER), command="ls -la").verdict is ALLOW


def test_where_no_sandbox_is_there_that_is_what_is_said():
    engine = Engine((Policy(mode=Mode.ON_FAILURE, layer=Layer.USER),), facts=lambda: Facts(home=HOME))
    decision = engine.decide(ToolCall(tool="Bash", input={"command": CODE}, cwd="/work/p"), Session())
    assert (decision.verdict, decision.decision) == (ALLOW, "unavailable")


def test_a_rule_of_a_person_that_covers_the_call_is_an_answer():
    from assent import parse_rules

    policy = Policy(mode=Mode.AUTO, allow=parse_rules(["Bash(python3:*)"]), layer=Layer.USER)
    assert decide(Session(workspace=("/work/p",), guessed=True), "/work/p", policy).verdict is Verdict.ALLOW

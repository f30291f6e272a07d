"""Calls that only look are decided by a shorter way, and as the longer one would decide them."""

from __future__ import annotations

import itertools

import pytest

from assent.model import Consent, Mode, PathPolicy, Session, Verdict
from assent.policy import decide as deciding
from assent.policy.defaults import looks
from assent.policy.guard import Guard
from assent.policy.layers import merge
from assent.policy.modes import TABLE
from scenes import DANGEROUS, DESTRUCTIVE, WS, connects, judge, look, policy, reads, run, world, writes

RUN = Session(id="r", user="ann", agent="bot", workspace=(WS,), run=True)
NOBODY = Session(id="s", user="ann", agent="bot", workspace=(WS,), interactive=False)
CALLS = {
    "a look": (run("ls"),),
    "several": (run("git log", obeys="git"), reads("/ws/a", owner=0), run("head")),
    "a read elsewhere": (run("cat /etc/x"), reads("/etc/x", owner=0)),
    "a read of nobody knows what": (run("cat x"), reads("\0", owner=0)),
    "a secret": (run("cat x"), reads("/ws/.env", owner=0, secret=True)),
    "a write": (run("tee x"), writes("/ws/x", owner=0)),
    "a write elsewhere": (run("tee x"), writes("/x", owner=0)),
    "a connection": (run("ping x"), connects("x", owner=0)),
    "a danger among looks": (run("ls"), run("make", DANGEROUS)),
    "a blow": (run("rm -rf /", DESTRUCTIVE),),
    "what only a person may do": (run("assent approve x"),),
}
POLICIES = {
    "nothing": (),
    "a rule that does not match": (policy(deny=["Bash(rm:*)"], ask=["Write"], allow=["Bash(make)"]),),
    "a rule that matches": (policy(ask=["Bash(ls)"]),),
    "no classifier": (policy(classifier=False),),
    "an embedded one": (policy(embedded=True),),
    "unseen repositories": (policy(unknown_repository=Verdict.ASK),),
    "a list of paths": (policy(read=PathPolicy(allow=("/ws/**",), default=Verdict.DENY)),),
    "a boundary": (policy(profile="read-only"),),
}
CONSENTS = (Consent(), Consent(yes=True), Consent(destructive=True), Consent(stopped="it wrote /x"))
SESSIONS = {"somebody": None, "nobody": NOBODY, "a run": RUN}


@pytest.mark.parametrize("layers", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("mode", list(Mode))
def test_the_shorter_way_ends_where_the_longer_does(mode, layers, monkeypatch):
    layers = (*layers, policy(mode=mode))
    views = [
        look(*operations, facts=world(sandbox=sandbox, assent_paths=("/home/dev/.assent",)), **more)
        for operations, sandbox, session in itertools.product(CALLS.values(), (True, False), SESSIONS.values())
        for more in ({} if session is None else {"session": session},)
    ]
    asked = list(itertools.product(views, CONSENTS))
    found = [judge(view, *layers, consent=consent) for view, consent in asked]
    monkeypatch.setattr(deciding, "looks", lambda *_: None)
    assert found == [judge(view, *layers, consent=consent) for view, consent in asked]


def test_most_calls_take_it_and_no_other_does():
    guard = Guard(merge(()))
    taken = {name for name, operations in CALLS.items() if looks(TABLE[Mode.DEFAULT], look(*operations), guard)}
    only_looks = {"a look", "several", "a read elsewhere", "a read of nobody knows what"}
    assert taken == {*only_looks, "a secret", "what only a person may do"}  # of which others have something to say

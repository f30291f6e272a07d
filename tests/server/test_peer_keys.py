"""Nodes of one store know each other's keys: what one signed the others recognise, and no later word changes that."""

from __future__ import annotations

import json
from types import SimpleNamespace

import psycopg
import pytest

from assent.audit.evidence_bundle import sign_bundle
from assent.audit.seals.node_keys import load_node, new_node
from assent.audit.seals.peer_keys import neighbour_file, read_neighbours
from assent.audit.verify.seals import Trust, check_seals
from assent.model import StoreError
from assent.store.address import read_address
from daemons import Running, until


@pytest.fixture(scope="module")
def nodes(tmp_path_factory, postgres):
    root, url = tmp_path_factory.mktemp("nodes"), postgres.ready_database()
    one, two = (Running(root / name, "--store", url, "--rate", "0") for name in ("one", "two"))
    with one, two:
        until(lambda: all(node_id(other) in known(node) for node, other in ((one, two), (two, one))))
        yield SimpleNamespace(one=one, two=two, url=url)


def node_id(daemon):
    return (daemon.state / "node").read_text()


def known(daemon):
    return read_neighbours(str(daemon.state))


@pytest.fixture(scope="module")
def evidence(nodes):
    """Of a session that spoke to both nodes, signed by the second."""
    one, two = nodes.one, nodes.two
    agent = one.mint("agent", agent="a", remote=True)
    until(lambda: two.api(two.owner).get("/api/login").status_code == 200)
    body = {"toolName": "bash", "toolInput": {"command": "ls"}, "sessionId": "s"}
    for daemon in (one, two, two):
        assert daemon.api(agent).post("/api/hooks/classify", json=body).json()["allow"] is True
    one.api(one.owner).get("/api/runtime/evidence/s").raise_for_status()  # so that its part is sealed
    return two.api(two.owner).get("/api/runtime/evidence/s").json()


def verify(daemon, bundle, *more):
    path = daemon.root / "bundle.json"
    path.write_text(json.dumps(bundle))
    done = daemon.run("audit", "verify", "--bundle", str(path), "--json", *more)
    return done.returncode, json.loads(done.stdout)


def test_what_one_node_signed_verifies_at_the_other_also_when_the_store_is_gone(nodes, evidence):
    assert evidence["signature"]["writer"] == node_id(nodes.two)
    assert {r["writer"] for r in evidence["chain"]["records"]} == {node_id(nodes.one), node_id(nodes.two)}
    for daemon in (nodes.one, nodes.two):
        code, report = verify(daemon, evidence, "--store", "postgresql://nobody@127.0.0.1:1/none")
        assert (code, report["ok"], report["writer"]) == (0, True, node_id(nodes.two))


def test_somebody_who_shares_no_store_does_not_know_it(evidence, tmp_path):
    with Running(tmp_path) as stranger:
        code, report = verify(stranger, evidence)
    assert (code, "not known here" in report["broken"]) == (1, True)


def test_what_was_changed_after_a_neighbour_signed_it_is_found(nodes, evidence):
    changed = json.loads(json.dumps(evidence))
    changed["summary"]["records"] += 1
    assert verify(nodes.one, changed)[1]["broken"] == "it was changed after it was signed"


def resigned(bundle, node, writer):
    unsigned = {name: value for name, value in bundle.items() if name != "signature"}
    return sign_bundle(SimpleNamespace(writer=writer, public_key=node.public_key, sign=node.sign), unsigned)


def test_who_signs_in_a_neighbours_name_is_found(nodes, evidence):
    forged = resigned(evidence, new_node(), node_id(nodes.two))
    code, report = verify(nodes.one, forged)
    assert (code, "another key" in report["broken"]) == (1, True)


def test_a_neighbours_seal_that_is_wrong_is_found(nodes, evidence):
    changed = json.loads(json.dumps(evidence))
    (seal,) = [s for s in changed["chain"]["seals"] if s["writer"] == node_id(nodes.one)]
    seal["at"] += 1
    forged = resigned(changed, load_node(str(nodes.two.state)), node_id(nodes.two))
    assert "is wrong" in verify(nodes.one, forged)[1]["broken"]


def test_a_key_that_is_put_into_the_store_later_is_not_believed(nodes, evidence):
    thief, name = new_node(), node_id(nodes.two)
    with psycopg.connect(nodes.url, autocommit=True) as connection:
        (real,) = connection.execute("SELECT key FROM heads WHERE writer = %s", (name,)).fetchone()
        connection.execute("UPDATE heads SET key = %s WHERE writer = %s", (thief.public_key, name))
        try:
            found = check_seals(read_address(nodes.url, home=str(nodes.one.state)), Trust(str(nodes.one.state)))
            assert "first seen" in found.broken.what
            assert verify(nodes.one, resigned(evidence, thief, name))[0] == 1
        finally:
            connection.execute("UPDATE heads SET key = %s WHERE writer = %s", (real, name))
    assert known(nodes.one)[name] == real.hex()


def test_keys_that_cannot_be_read_are_told(nodes, tmp_path):
    from assent.audit.log import Log
    from assent.store.store import open_store

    with open_store(nodes.url, home=str(tmp_path / "a")) as store:
        made = tmp_path / "a" / "keys" / "nodes.json"
        made.mkdir(parents=True)
        with pytest.raises(StoreError, match="keys of other nodes"):
            Log(store, str(tmp_path / "a"))
        made.rmdir()
        Log(store, str(tmp_path / "a")).close()
        assert neighbour_file(str(tmp_path / "a")) == str(made)
        assert {node_id(nodes.one), node_id(nodes.two)} <= set(read_neighbours(str(tmp_path / "a")))
    made.write_text("{")
    with pytest.raises(StoreError, match="keys of other nodes"):
        read_neighbours(str(tmp_path / "a"))

"""`assent audit` from a terminal: what happened, found again, proved, taken away."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import sqlite3
import subprocess

import pytest

from assent.audit.chain import COLUMNS, genesis, hash_row
from keeping import ASKED, SESSION, Node, line


@pytest.fixture
def kept(world):
    """Some decisions, in the home that the command looks in."""

    async def main(node):
        for text in ("ls", ASKED, "rm -rf /", "pwd"):
            await node.decisions.decide(line(text, "c"), SESSION)

    with Node(world.state) as node:
        asyncio.run(main(node))
    return world


def lines(ended):
    return [json.loads(text) for text in ended.out.splitlines()]


def test_the_last_records_are_shown_in_order(kept):
    ended = kept.run("audit", "tail", "-n", "3")
    assert ended.code == 0
    shown = ended.out.splitlines()
    assert len(shown) == 3
    assert [text.split()[0] for text in shown] == ["3", "4", "5"]
    assert "rm -rf /" in shown[1]
    assert "deny" in shown[1]


@pytest.mark.parametrize(
    ("words", "positions"),
    [
        ((), [5, 4, 3, 2, 1]),
        (("--verdict", "deny"), [4]),
        (("--tier", "dangerous", "--type", "permission.evaluated"), [2]),
        (("--text", "NODE BUILD"), [3, 2]),
        (("--text", "100%"), []),
        (("--agent", "coder", "--limit", "2"), [5, 4]),
        (("--agent", "nobody"), []),
        (("--since", "1h"), [5, 4, 3, 2, 1]),
        (("--until", "2020-01-01"), []),
        (("--source", "classifier", "--tool", "Bash", "--user", "ann", "--session", "s"), [5, 4, 2, 1]),
    ],
)
def test_records_are_found_by_what_is_in_them(kept, words, positions):
    ended = kept.run("audit", "search", "--json", *words)
    assert [record["position"] for record in lines(ended)] == positions
    assert ended.code == (0 if positions else 1)


def test_a_search_that_is_cut_short_says_so(kept):
    assert "more records match" in kept.run("audit", "search", "--limit", "2").out


def test_a_whole_log_verifies(kept):
    ended = kept.run("audit", "verify")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == ("the log is valid: 5 records of 1 writer, 2 checkpoints, 2 anchors; sealed up to record 5\n")
    report = json.loads(kept.run("audit", "verify", "--json").out)
    assert (report["ok"], report["events"], report["broken"]) == (True, 5, None)


def test_a_broken_log_is_said_to_be_and_where(kept):
    with contextlib.closing(sqlite3.connect(kept.state / "assent.db")) as connection, connection:
        connection.execute("UPDATE events SET verdict = 'deny' WHERE position = 2")
    ended = kept.run("audit", "verify")
    assert ended.code == 1
    assert ended.out.startswith("the log is BROKEN\n  record 2: this record was changed (number 2 of writer ")


def test_a_log_without_seals_is_not_called_whole(kept, tmp_path):
    with contextlib.closing(sqlite3.connect(kept.state / "assent.db")) as connection, connection:
        (key,) = connection.execute("SELECT key FROM heads").fetchone()
        connection.execute("DELETE FROM checkpoints")
    (kept.state / "anchors.jsonl").unlink()
    (kept.state / "keys" / "log.last").unlink()
    for words in ((), ("--key", key.hex())):
        ended = kept.run("audit", "verify", *words)
        assert ended.code == 5
        assert ended.out.startswith(
            "the log is NOT VERIFIED: no record is wrong, but not all of them are proven\n  5 records"
        )
        assert "has records without a seal" in ended.out
    assert json.loads(kept.run("audit", "verify", "--json").out)["state"] == "unproven"


def test_a_log_is_verified_with_a_key_and_with_anchors_from_elsewhere(kept, tmp_path):
    copy = tmp_path / "anchors"
    copy.write_bytes((kept.state / "anchors.jsonl").read_bytes())
    key = json.loads(copy.read_bytes().splitlines()[0])["key"]
    assert kept.run("audit", "verify", "--anchors", str(copy), "--key", key.upper()).code == 0
    ended = kept.run("audit", "verify", "--key", "00" * 32)
    assert (ended.code, "is none that was given" in ended.out) == (1, True)
    assert kept.run("audit", "verify", "--anchors", str(tmp_path / "none")).code == 2
    shutil.rmtree(kept.state / "keys")
    (kept.state / "anchors.jsonl").unlink()
    ended = kept.run("audit", "verify")
    assert (ended.code, "comes only from the database" in ended.out) == (5, True)
    assert kept.run("audit", "verify", "--anchors", str(copy)).code == 0


@pytest.mark.parametrize("to_file", [False, True])
def test_an_export_holds_everything_that_the_hashes_are_over(kept, tmp_path, to_file):
    target = tmp_path / "log.jsonl"
    ended = kept.run("audit", "export", *(("-o", str(target)) if to_file else ()))
    assert ended.code == 0
    text = target.read_text() if to_file else ended.out
    head = None
    for entry in text.splitlines():
        record = json.loads(entry)
        raw = entry.split('"body":', 1)[1].rsplit(',"hash":', 1)[0].encode()
        head = head or genesis(record["writer"])
        names = [{"session_id": "session", "user_id": "user", "agent_id": "agent"}.get(n, n) for n in COLUMNS[:-1]]
        head = hash_row(head, (*(record[n] for n in names), raw))
        assert head.hex() == record["hash"]
    assert len(text.splitlines()) == 5


def test_the_log_can_be_followed(kept):
    child = subprocess.Popen(
        kept.command("audit", "tail", "-n", "1", "-f", "--json"),
        stdout=subprocess.PIPE,
        env=kept.environ,
        cwd=kept.project,
    )
    try:
        assert json.loads(child.stdout.readline())["position"] == 5
        with Node(kept.state) as node:
            asyncio.run(node.decisions.decide(line("pwd"), SESSION))
        assert json.loads(child.stdout.readline())["text"].startswith("pwd")
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("action", ["tail", "search", "verify", "export"])
def test_where_there_is_no_log_that_is_what_is_said(world, action):
    ended = world.run("audit", action)
    assert (ended.code, ended.out) == (2, "")
    assert "there is no" in ended.err
    assert not world.state.exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nothing",),
        ("search", "--since", "soon"),
        ("search", "--limit", "0"),
        ("tail", "-n", "x"),
        ("verify", "--store", "mysql://x"),
    ],
)
def test_what_makes_no_sense_is_refused(world, words):
    ended = world.run("audit", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("assent: ")


def test_the_store_may_be_another(kept, tmp_path):
    url = f"sqlite://{kept.state}/assent.db"
    moved = kept.state.parent / "empty"
    ended = kept.run("audit", "search", "--json", "--store", url, ASSENT_HOME=str(moved))
    assert len(lines(ended)) == 5
    assert len(lines(kept.run("audit", "search", "--json", ASSENT_HOME=str(moved), ASSENT_STORE=url))) == 5

"""What must not change has not changed, as far as a sample tells; and what changes is seen for what it is."""

from __future__ import annotations

import json

import pytest

from golden import shelf
from golden.compare import by_record, compare, compare_sample
from golden.interfaces import unname
from golden.parts import DECISION_TEXTS, MARK, cut, hashes, split
from golden.run import check_sample, make_sample, show
from golden.transcripts import names_in, options_in


@pytest.fixture(scope="module")
def sample():
    return make_sample()


def test_what_machines_read_is_as_it_was_frozen(sample):
    report = check_sample(sample)
    assert not report.machine, "\n".join(report.machine[:50])


def test_the_sample_has_every_kind_and_every_corpus(sample):
    frozen = shelf.read(shelf.FROZEN)
    assert set(sample) == set(frozen)
    assert all(0 < len(group) <= frozen[name]["records"] for name, group in sample.items())


def test_everything_but_decisions_is_in_the_sample_whole(sample):
    frozen = shelf.read(shelf.FROZEN)
    for name in ("schemas", "openapi", "log", "evidence", "transcripts"):
        found = hashes(sample[name])
        assert (found["keys"], found["machine"]) == (frozen[name]["keys"], frozen[name]["machine"]), name


def test_no_path_of_this_machine_and_no_random_id_is_in_what_is_frozen(sample):
    written = "\n".join(r.machine + r.text for name in ("log", "evidence", "transcripts") for r in sample[name])
    for word in (str(shelf.HERE), "/tmp/", "site-packages"):
        assert word not in written


def decision(verdict="ask", reason="it writes", **more):
    operation = {"kind": "fs.write", "reason": reason, "tier": "dangerous"} | more
    return {"verdict": verdict, "decision_reason": reason, "reading": {"operations": [operation], "unreadable": None}}


def record(value, key="k"):
    return cut(key, f"attacks.txt:1 {key}", value, DECISION_TEXTS)


def test_a_text_leaves_a_mark_and_nothing_else():
    machine, texts = split(decision(), DECISION_TEXTS)
    assert machine["decision_reason"] == machine["reading"]["operations"][0]["reason"] == MARK
    assert machine["reading"]["unreadable"] is None
    assert texts == {"decision_reason": "it writes", "reading.operations.0.reason": "it writes"}


def test_another_text_is_told_and_does_not_count(capsys):
    report = by_record("g", [record(decision())], [record(decision(reason="writes"))])
    assert not report.machine
    assert 'decision_reason: "it writes" -> "writes"' in report.text[0]
    assert (show(report, strict=False), show(report, strict=True)) == (0, 1)
    assert "1 texts differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (decision("allow"), 'verdict: "ask" -> "allow"'),
        (decision(tier="safe"), 'reading.operations.0.tier: "dangerous" -> "safe"'),
        (decision(reason=""), 'decision_reason: "…text…" -> ""'),
        (decision(secret=True), "reading.operations.0.secret: nothing -> true"),
    ],
)
def test_another_verdict_tier_field_or_a_missing_text_counts_and_is_named(now, said, capsys):
    report = by_record("g", [record(decision())], [record(now)])
    assert "attacks.txt:1" in report.machine[0]
    assert said in report.machine[0]
    assert show(report, strict=False) == 1
    assert said in capsys.readouterr().out


def test_a_line_that_is_gone_counts_and_a_new_one_is_told():
    gone = by_record("g", [record(decision())], [])
    new = by_record("g", [], [record(decision())])
    assert gone.machine
    assert not new.machine
    assert new.new


def test_without_the_base_a_difference_still_counts(tmp_path):
    was, now = ([record(decision(verdict))] for verdict in ("ask", "allow"))
    shelf.keep(tmp_path / "now", "g", now)
    assert compare("g", hashes(was), hashes(now), tmp_path / "none", tmp_path / "now").machine
    assert compare("g", hashes(was), hashes([]), tmp_path / "none", tmp_path / "now").machine
    assert not compare("g", hashes(was), hashes(was), tmp_path / "none", tmp_path / "now").machine
    assert compare("g", None, hashes(was), tmp_path / "none", tmp_path / "now").new


def test_a_base_that_is_not_what_was_frozen_is_not_believed(tmp_path):
    was, now = ([record(decision(verdict))] for verdict in ("ask", "allow"))
    for folder in ("base", "now"):
        shelf.keep(tmp_path / folder, "g", now)
    assert compare("g", hashes(was), hashes(now), tmp_path / "base", tmp_path / "now").machine


def test_the_whole_output_comes_back_as_it_was_kept(tmp_path):
    group = [record(decision(reason="é\udcff\n")), record(decision(), "other")]
    shelf.keep(tmp_path, "a/b", group)
    assert shelf.find(tmp_path, "a/b") == group
    assert shelf.find(tmp_path, "c") is None


def test_in_the_sample_each_line_is_held_by_itself():
    def hashed(*records):
        return shelf.sample_hashes({"decisions/a.txt/auto/blind": list(records)})

    frozen = hashed(record(decision()), record(decision(), "x"))
    assert not compare_sample(frozen, frozen, {}).machine
    more = compare_sample(frozen, hashed(record(decision()), record(decision(), "x"), record(decision(), "y")), {})
    assert (more.machine, more.new) == ([], ["a.txt: y"])
    other = compare_sample(frozen, hashed(record(decision("deny")), record(decision(reason="writes"), "x")), {})
    assert other.machine == ["a.txt: k: what machines read differs"]
    assert other.text == ["a.txt: x: texts differ"]
    assert compare_sample(frozen, {}, {}).machine == ["a.txt: k: is gone", "a.txt: x: is gone"]


def test_another_name_of_a_definition_leaves_its_use_as_it_was():
    def document(name, kind="string"):
        return unname({"schema": {"$ref": f"#/x/{name}"}}, {name: {"title": name, "type": kind}})

    assert document("Old") == document("New")
    assert document("Old") != document("Old", "integer")
    assert json.dumps(document("Old")) == '{"": {"schema": {"$ref": "#1"}}, "#1": {"type": "string"}}'


def test_options_and_actions_are_found_in_help():
    text = (
        "usage: assent x [-h] [--all] a|b\n\nwords about --nothing\n\npositional arguments:\n  a|b\n\n"
        "options:\n  -h, --help  show --this\n"
    )
    assert options_in(text) >= {"-h", "--all", "--help"}
    assert "--nothing" not in options_in(text)
    assert names_in(text) == ["a", "b"]

"""Every line of the corpora gets the verdict that stands beside it."""

from __future__ import annotations

from collections import Counter

import pytest

from corpus import Row, decide, escape, files, load, unescape


def wrong(row: Row) -> str | None:
    """Say what is wrong with the decision of a row, or None."""
    decision = decide(row.line, row.rules)
    said = f"{decision.decision} ({decision.reading.tier}): {decision.decision_reason}"
    right = (
        decision.decision == row.verdict
        and all(decision.reading.tier == tier for tier in row.said("tier"))
        and all(gist in f"{decision.decision_reason} {decision.reading.reason}" for gist in row.said("reason"))
    )
    return None if right else f"{row}\n    must be {row.verdict}, {row.why}; is {said}"


@pytest.mark.parametrize("file", files(), ids=lambda path: path.name)
def test_every_line_gets_its_verdict(file):
    faults = [fault for row in load(file) if (fault := wrong(row))]
    assert not faults, f"{len(faults)} lines\n" + "\n".join(faults)


@pytest.mark.parametrize("file", files(), ids=lambda path: path.name)
def test_no_line_stands_twice_in_a_file(file):
    counted = Counter((row.line, row.rules) for row in load(file))
    assert not [line for line, count in counted.items() if count > 1]


@pytest.mark.parametrize("line", ["a\\b", "\n", "\t\\n", "\u200bé\x00", "a 'b' \\\\;"])
def test_an_escaped_line_is_the_same_line(line):
    assert unescape(escape(line)) == line


@pytest.mark.parametrize(
    "text", ["allow\tls", "maybe\tls\tx", "allow\tls \\;\tx", "allow\tls\tx\tcolour: red", "allow ls x", "allow\t\tx"]
)
def test_a_row_that_can_not_be_read_names_its_line(tmp_path, text):
    file = tmp_path / "x.txt"
    file.write_text(f"# c\n\n{text}\n")
    with pytest.raises(ValueError, match=r"x\.txt:3: "):
        load(file)

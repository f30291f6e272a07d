"""Every statement of the published designs has a test, and that test exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = re.findall(r"^\| (.+) \| tests/(\S+)::(\w+) \|$", (HERE / "seeds.md").read_text(), re.MULTILINE)


def test_every_row_names_a_test():
    rows = [line for line in (HERE / "seeds.md").read_text().splitlines() if line.startswith("| ")]
    assert len(ROWS) == len([row for row in rows if row != "| statement | test |"]) > 90


@pytest.mark.parametrize(("statement", "file", "name"), ROWS, ids=[f"{n}-{row[2]}" for n, row in enumerate(ROWS)])
def test_the_test_of_a_statement_is_there(statement, file, name):
    assert re.search(rf"^(?:async )?def {name}\(", (HERE / file).read_text(), re.MULTILINE), statement

"""Searching a long log: the narrow columns alone are looked through, whatever is looked for."""

from __future__ import annotations

import pytest
from sqlalchemy.dialects import sqlite

from assent.audit.search import Query, find
from keeping import Node


@pytest.mark.parametrize(
    "query",
    [
        Query(agent="nobody"),
        Query(tool="Bash", tier="destructive", verdict="deny"),
        Query(text="nowhere"),
        Query(user="ann", source="rule", since=1.0, until=2.0),
        Query(type="sandbox.violation"),
    ],
    ids=str,
)
def test_no_filter_makes_sqlite_read_the_large_bodies_of_what_is_not_found(tmp_path, query):
    with Node(tmp_path / "home") as node:
        sql = find(query, limit=100).compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
        plan = [row[-1] for row in node.store.fetch(f"EXPLAIN QUERY PLAN {sql}")]
    assert any("SCAN events USING COVERING INDEX events_narrow" in step for step in plan), plan
    assert not any(step == "SCAN events" for step in plan), plan

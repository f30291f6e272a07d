"""The page about the log says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from assent.audit import chain
from assent.audit.seals.anchors import FILE_NAME
from assent.audit.seals.last_seal import FILE_NAME as MARK
from assent.audit.seals.seal import SEAL_EVERY, SEAL_SECONDS
from assent.audit.verify.seals import WINDOW_SECONDS
from assent.cli import exit_codes
from assent.dashboard import find_asset
from assent.model import Source, Tier, Verdict
from assent.model.event import EventType

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "log.md").read_text()


def test_the_columns_are_listed_in_the_order_they_are_hashed_in():
    listed = PAGE.partition("in this order:\n\n")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == chain.COLUMNS


def test_the_domains_the_places_and_the_intervals_are_those_of_the_code():
    for domain in (
        chain.EVENT_DOMAIN,
        chain._GENESIS_DOMAIN,
        chain._CHECKPOINT_DOMAIN,
        chain._COUNTED_DOMAIN,
        chain._SEALS_DOMAIN,
    ):
        assert f"`{domain[:-1].decode()}`" in PAGE
    assert f"`{FILE_NAME}`" in PAGE
    assert f"{SEAL_EVERY:,} records" in PAGE
    assert f"{SEAL_SECONDS:.0f} seconds" in PAGE
    assert f"more than {WINDOW_SECONDS:.0f} seconds" in PAGE
    assert f"`keys/{MARK}`" in PAGE
    assert f"**NOT VERIFIED** ({exit_codes.UNPROVEN})" in PAGE


def records() -> list[str]:
    table = PAGE.partition("| record | when |")[2].partition("\n\n")[0]
    return [name for row in table.splitlines()[2:] for name in re.findall(r"`([\w.]+)`", row.split(" | ")[0])]


def test_every_event_is_on_a_page_and_no_other():
    runtime = (ROOT / "docs" / "runtime.md").read_text()
    told = runtime.partition("| type | when |")[2].partition("## ")[0]
    shown = {*records(), *re.findall(r"`([a-z]+\.[a-z]+)`", told)}
    assert {name for name in shown if not name.startswith("payload.")} == set(get_args(EventType))
    assert len(records()) == len(set(records()))


def test_every_record_source_tier_and_verdict_can_be_filtered_by_on_the_dashboard():
    script = find_asset("audit.js").body.decode()
    lists = [re.findall(r'"([\w.]+)"', found) for found in re.findall(r"plainly\(\[(.*?)\]\)", script)]
    assert lists == [[v.value for v in Verdict], [t.value for t in Tier], [s.value for s in Source], records()]


def test_every_promise_names_a_test_that_is_there():
    for name in re.findall(r"`(test_\w+\.py)`", PAGE):
        assert (ROOT / "tests" / "promises" / name).exists()

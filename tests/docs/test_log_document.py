"""The page about the log says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from assent.audit import chain
from assent.audit.anchors import FILE_NAME
from assent.audit.log import SEAL_EVERY, SEAL_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "log.md").read_text()


def test_the_columns_are_listed_in_the_order_they_are_hashed_in():
    listed = PAGE.partition("in this order:\n\n")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == chain.COLUMNS


def test_the_domains_the_places_and_the_intervals_are_those_of_the_code():
    for domain in (chain.EVENT_DOMAIN, chain._GENESIS_DOMAIN, chain._CHECKPOINT_DOMAIN):
        assert f"`{domain[:-1].decode()}`" in PAGE
    assert f"`{FILE_NAME}`" in PAGE
    assert f"{SEAL_EVERY:,} records" in PAGE
    assert f"{SEAL_SECONDS:.0f} seconds" in PAGE


def test_every_promise_names_a_test_that_is_there():
    for name in re.findall(r"`(test_\w+\.py)`", PAGE):
        assert (ROOT / "tests" / "promises" / name).exists()

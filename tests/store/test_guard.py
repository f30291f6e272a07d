"""A loop that was busy itself does not take a write that lasts for one that failed."""

from __future__ import annotations

import asyncio
import time

from assent.store.store import open_store


def test_an_outcome_that_is_on_its_way_is_not_called_late(tmp_path):
    async def main(store):
        before = []
        writing = asyncio.create_task(store.commit(lambda _: before.append(store.figures.batches) or "written"))
        for _ in range(3):  # until it is on its way
            await asyncio.sleep(0)
        while not before or store.figures.batches == before[0]:
            time.sleep(0.01)  # noqa: ASYNC251 - the loop is busy, as it is meant to be
        time.sleep(1.0)  # noqa: ASYNC251 - and for longer than a write may take
        return await writing

    with open_store(home=str(tmp_path / "home")) as store:
        store.write_seconds = 0.5
        assert asyncio.run(main(store)) == "written"

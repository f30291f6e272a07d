"""What is decided in one turn of the loop sees one state of the disk; what comes later sees a later one."""

from __future__ import annotations

import asyncio
import itertools
import threading

from assent.server.moments import Moment


def counter(moment):
    count = itertools.count()
    return moment.once(lambda _question: next(count))


def test_a_turn_asks_once_and_the_next_one_asks_again():
    async def main():
        ask = counter(Moment())
        first = [ask("a"), ask("a"), ask("b")]
        await asyncio.sleep(0)
        return first, [ask("a"), ask("a")]

    assert asyncio.run(main()) == ([0, 0, 1], [2, 2])


def test_what_becomes_ready_after_the_first_question_asks_anew():
    async def main():
        ask, loop, said = counter(Moment()), asyncio.get_running_loop(), []
        before = loop.create_future()
        loop.call_soon(lambda: said.append(ask("a")))
        loop.call_soon(lambda: said.append(ask("a")))
        loop.call_soon(lambda: loop.call_soon(lambda: before.set_result(ask("a"))))
        said.append(await before)
        return said

    assert asyncio.run(main()) == [0, 0, 1]


def test_another_thread_is_told_nothing_old():
    async def main():
        moment = Moment()
        ask, said = counter(moment), []
        ask("a")
        thread = threading.Thread(target=lambda: said.extend([ask("a"), ask("a")]))
        thread.start()
        thread.join()
        other = threading.Thread(target=lambda: said.append(asyncio.run(asking(ask))))
        other.start()
        other.join()
        return said

    async def asking(ask):
        return ask("a"), ask("a")

    assert asyncio.run(main()) == [1, 2, (3, 4)]

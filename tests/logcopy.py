"""A log as whoever can write its database sees it, and what fills one, for tests."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3

from assent.audit.chain import COLUMNS
from assent.audit.verify.log import verify_log
from assent.model import Event
from keeping import Node

ALL = (*COLUMNS, "hash")


def small(text):
    return Event(
        type="daemon.started", event_id="", timestamp="", session_id="s", sequence=0, payload={"summary": text}
    )


def write(node, count, start=0):
    asyncio.run(node.log.record([small(f"event {i}") for i in range(start, start + count)]))


def settle(node):
    """Let what waited for the last commit be done."""
    node.store.write(lambda _: None).result()


def meet(url, *homes):
    """Have nodes of one store see each other; returns how many records tell of that."""
    for home in (*homes, *homes):
        with Node(home, url):
            pass
    return len(homes) * (len(homes) - 1)


class Copy:
    """A log as whoever can write the database sees it."""

    def __init__(self, node):
        self.address, self.home = node.store.address, node.home

    def verify(self):
        return verify_log(self.address, home=self.home)

    def run(self, sql, *parameters):
        if self.address.engine == "sqlite":
            with contextlib.closing(sqlite3.connect(self.address.path)) as connection, connection:
                return connection.execute(sql, parameters).fetchall()
        import psycopg

        with psycopg.connect(self.address.conninfo) as connection:
            cursor = connection.execute(sql.replace("?", "%s"), parameters)
            return cursor.fetchall() if cursor.description else []

    def rows(self):
        return self.run(f"SELECT {', '.join(ALL)} FROM events ORDER BY position")

    def replace(self, rows):
        self.run("DELETE FROM events")
        for row in rows:
            self.run(f"INSERT INTO events ({', '.join(ALL)}) VALUES ({', '.join('?' * len(ALL))})", *row)

"""Reading a store without opening it for writing: for the command line, beside a daemon or without one."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH110

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator

from sqlalchemy import Engine, Executable
from sqlalchemy.exc import SQLAlchemyError

from assent.model import StoreError
from assent.store import sqlite
from assent.store.address import StoreAddress
from assent.store.cursor import Row


@contextlib.contextmanager
def open_reader(address: StoreAddress) -> Iterator[Callable[[Executable], list[Row]]]:
    """Lend a function that runs queries, or raise `StoreError`."""
    if address.engine == "sqlite" and not os.path.exists(address.path):
        raise StoreError(f"there is no store in `{address.path}`")
    engine = sqlite.make_engine(address.path) if address.engine == "sqlite" else _make_engine(address.conninfo)

    def read(statement: Executable) -> list[Row]:
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(statement)]

    try:
        yield read
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise StoreError(f"the store {address.shown} cannot be read: {reason}") from error
    finally:
        engine.dispose()


def _make_engine(conninfo: str) -> Engine:
    from assent.store import postgres  # noqa: PLC0415 - most stores are files

    return postgres.make_engine(conninfo)

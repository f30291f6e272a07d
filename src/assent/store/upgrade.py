"""Bringing a store's tables to what this version needs, once, whoever comes first."""

# Paths are strings here, as in the vocabulary.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
from collections.abc import Callable

from sqlalchemy import Connection, Engine, inspect, text

from assent.model import StoreError

HEAD = "0007"
"""The step that this version's tables are at."""
_KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", HEAD)
_FOLDER = os.path.join(os.path.dirname(__file__), "migrations")


def upgrade(engine: Engine, lock: Callable[[Connection], None]) -> None:
    """Run the steps that are missing. A store of a newer version is refused: it may mean what we do not know."""
    with engine.connect() as connection:
        if find_revision(connection) == HEAD:
            return
    with engine.connect() as connection:
        lock(connection)
        found = find_revision(connection)  # another process may have been quicker
        if found != HEAD:
            _run(connection, found)
        connection.commit()


def find_revision(connection: Connection) -> str | None:
    """Return the last step that was run; None for an empty store."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    if found is not None and found not in _KNOWN:
        raise StoreError(f"the store was made by a newer version of Assent (its tables are at step {found})")
    return found


def _run(connection: Connection, found: str | None) -> None:
    if found is None and (strange := inspect(connection).get_table_names()):
        raise StoreError(f"the database is not empty and not a store of Assent: it has a table `{strange[0]}`")
    from alembic import command  # noqa: PLC0415 - slow to load, and needed once
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", _FOLDER.replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)

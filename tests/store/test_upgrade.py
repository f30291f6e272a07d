"""The tables come to be step by step, once, and a newer store is left alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from assent.model import StoreError
from assent.store import upgrade
from assent.store.address import read_address
from assent.store.postgres import connect
from assent.store.schema import metadata
from assent.store.sqlite import NARROW, prepare_file
from assent.store.store import create_engine, open_store

PUT = "INSERT INTO changes (origin, topic, ref) VALUES ('a', 'b', 'c')"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request):
    """The address of a database that has no tables yet."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres").new_database()


@pytest.fixture
def engine(tmp_path, url):
    (tmp_path / "home").mkdir(mode=0o700)
    address = read_address(url, home=str(tmp_path / "home"))
    if address.engine == "sqlite":
        prepare_file(address.path)
        made = create_engine(f"sqlite:///{address.path}")
    else:
        made = create_engine("postgresql+psycopg://", creator=lambda: connect(address.conninfo, autocommit=False))
    yield made
    made.dispose()


def reopen(tmp_path, url):
    return open_store(url, home=str(tmp_path / "home"))


def script():
    config = Config()
    config.set_main_option("script_location", upgrade._FOLDER)
    return config


def test_the_steps_lead_to_the_tables_that_the_code_knows(tmp_path, url, engine):
    reopen(tmp_path, url).close()
    with engine.connect() as connection:
        without = {"include_object": lambda _thing, name, *_: name != NARROW}
        assert compare_metadata(MigrationContext.configure(connection, opts=without), metadata) == []


def test_the_steps_known_are_the_steps_there_are():
    directory = ScriptDirectory.from_config(script())
    assert directory.get_current_head() == upgrade.HEAD
    assert tuple(sorted(s.revision for s in directory.walk_revisions())) == upgrade._KNOWN


@pytest.mark.parametrize("step", upgrade._KNOWN)
def test_an_older_store_is_brought_up_to_date_and_keeps_what_it_has(tmp_path, url, engine, step):
    with engine.connect() as connection:
        config = script()
        config.attributes["connection"] = connection
        command.upgrade(config, step)
        connection.execute(text(PUT))
        connection.commit()
    with reopen(tmp_path, url) as store:
        assert store.fetch("SELECT ref FROM changes") == [("c",)]
        assert store.fetch("SELECT version_num FROM alembic_version") == [(upgrade.HEAD,)]
        assert store.fetch("SELECT count(*) FROM approvals") == [(0,)]


def test_a_store_of_a_newer_version_is_refused(tmp_path, url, engine):
    reopen(tmp_path, url).close()
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match=r"newer version of Assent.*9999"):
        reopen(tmp_path, url)


def test_somebody_else_s_database_is_refused(tmp_path, url, engine):
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE customers (id integer)"))
    with pytest.raises(StoreError, match=r"not a store of Assent.*customers"):
        reopen(tmp_path, url)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["customers"]


def test_a_step_that_fails_leaves_no_half_of_itself(tmp_path, url, engine, monkeypatch):
    from alembic.operations import Operations

    real = Operations.create_index

    def fail(self, name, *rest, **more):
        if name == "grants_standing":
            raise RuntimeError("the power failed")
        return real(self, name, *rest, **more)

    monkeypatch.setattr("alembic.op.create_index", lambda *a, **k: fail(__import__("alembic.op").op._proxy, *a, **k))
    with pytest.raises(RuntimeError):
        reopen(tmp_path, url)
    with engine.connect() as connection:
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}
    monkeypatch.undo()
    reopen(tmp_path, url).close()


def test_several_processes_may_be_the_first(tmp_path, url):
    code = f"from assent.store.store import open_store; open_store({url!r}, home={str(tmp_path / 'home')!r}).close()"
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4)]
    assert [child.wait(120) for child in children] == [0, 0, 0, 0]

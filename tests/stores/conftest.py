"""Stores to test: a SQLite file, and a database of its own on one PostgreSQL server.

``Clocked`` is a store whose clock the test sets; for PostgreSQL the function ``today`` of the
schema is replaced, since that database's clock is the one that counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.store import Asked, State, Store
from tests.stores.server import Server, binaries, running

DAY = 20_000
QUESTION = Asked("a" * 64, "{}", State.OPEN, "{}")
_names = count()


class Place:
    """Where a store is: opens any number of handles on it, and sets the clock of all of them."""

    def __init__(self, opener: Callable[[Place], Store], set_clock: Callable[[int], None]) -> None:
        self._opener, self._set_clock = opener, set_clock
        self.opened: list[Store] = []
        self.today = DAY

    def open(self) -> Store:
        store = self._opener(self)
        self.opened.append(store)
        return store

    def pass_to(self, day: int) -> None:
        """Set the clock of the store."""
        self.today = day
        self._set_clock(day)

    def close(self) -> None:
        for store in self.opened:
            store.close()


def sqlite_place(directory: Path) -> Place:
    """Return a place for a new SQLite file."""
    path = directory / f"store-{next(_names)}.db"
    return Place(lambda place: SqliteStore(path, today=lambda: place.today), lambda day: None)


def postgres_place(server: Server) -> Place:
    """Return a place in a new database, cloned from the template."""
    import psycopg  # noqa: PLC0415 - an extra

    from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

    name = f"store_{next(_names)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE deniable_template")

    def set_clock(day: int) -> None:
        with psycopg.connect(server.url(name), autocommit=True) as connection:
            connection.execute(
                "CREATE OR REPLACE FUNCTION deniable.today() RETURNS integer LANGUAGE sql VOLATILE"
                f" AS $$ SELECT {day:d} $$"
            )

    place = Place(lambda place: PostgresStore(server.url(name)), set_clock)
    set_clock(DAY)
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute(
            f"UPDATE deniable.horizon SET sealed_through = {DAY - 8}, last_run = {DAY}"
        )
    return place


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server for the test run, with a migrated template to clone."""
    if binaries() is None:
        assert not os.environ.get("CI"), "expected PostgreSQL's binaries in CI"
        pytest.skip("PostgreSQL's binaries are not installed")
    import psycopg  # noqa: PLC0415 - an extra

    from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

    with running("fsync=off", "max_connections=60") as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE deniable_template")
        PostgresStore(server.url("deniable_template")).close()
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A place for a store with nothing in it."""
    if request.param == "sqlite":
        found = sqlite_place(tmp_path)
    else:
        found = postgres_place(request.getfixturevalue("postgres_server"))
    yield found
    found.close()


@pytest.fixture
def store(place: Place) -> Store:
    """A store with one open question, on day ``DAY``."""
    found = place.open()
    assert found.ask(QUESTION)
    return found

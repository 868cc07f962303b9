"""Stores to test: a SQLite file, and a database of its own on one PostgreSQL server.

``Clocked`` is a store whose clock the test sets; for PostgreSQL the function ``today`` of the
schema is replaced, since that database's clock is the one that counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from deniable.collector.stores.records import Asked, Days, Slice, State
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.store import Store
from tests.stores.server import Server, running
from tests.workers import shared_workers  # noqa: F401 - a fixture

DAY = 20_000
QUESTION = Asked("a" * 64, "{}", State.OPEN, "{}")
TODAY = Slice(QUESTION.digest, Days(DAY, DAY))
_names = count()
_TABLES = ", ".join(
    f"deniable.{name}"
    for name in (
        "questions", "arrivals", "waiting", "set_aside", "tallies", "months", "published",
        "exclusions", "exclusions_by_day", "keys",
    )
)  # fmt: skip


class Place:
    """Where a store is: opens any number of handles on it, and sets the clock of all of them."""

    def __init__(
        self,
        opener: Callable[[Place], Store],
        set_clock: Callable[[int], None],
        remove: Callable[[], None] = lambda: None,
    ) -> None:
        self._opener, self._set_clock, self._remove = opener, set_clock, remove
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
        self._remove()


def sqlite_place(directory: Path) -> Place:
    """Return a place for a new SQLite file."""
    path = directory / f"store-{next(_names)}.db"
    return Place(lambda place: SqliteStore(path, today=lambda: place.today), lambda day: None)


def postgres_place(server: Server, spare: list[str] | None = None) -> Place:
    """Return a place in an empty database: a spare one, or a new one cloned from the template."""
    import psycopg  # noqa: PLC0415 - an extra

    from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

    name = spare.pop() if spare else f"store_{next(_names)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).rowcount:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE deniable_template")
    owner = psycopg.connect(server.url(name), autocommit=True)

    def set_clock(day: int) -> None:
        owner.execute(
            "CREATE OR REPLACE FUNCTION deniable.today() RETURNS integer LANGUAGE sql VOLATILE"
            f" AS $$ SELECT {day:d} $$"
        )

    def remove() -> None:
        if spare is not None:
            owner.execute(f"TRUNCATE {_TABLES} RESTART IDENTITY")
            spare.append(name)
        owner.close()

    place = Place(lambda place: PostgresStore(server.url(name)), set_clock, remove)
    set_clock(DAY)
    owner.execute(
        f"UPDATE deniable.horizon SET sealed_through = {DAY - 8}, last_run = {DAY},"
        " forgotten_through = 0"
    )
    return place


@contextmanager
def with_template() -> Iterator[Server]:
    """Run a server that has a migrated template to clone."""
    import psycopg  # noqa: PLC0415 - an extra

    from deniable.collector.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra

    with running("fsync=off", "max_connections=60") as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE deniable_template")
        PostgresStore(server.url("deniable_template")).close()
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server for the test run."""
    with with_template() as server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
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

"""What is special to PostgreSQL: locks against change, one clock, and a connection that breaks."""

from __future__ import annotations

from threading import Thread

import pytest

from deniable.collector.stores.dialect import migrations
from deniable.collector.stores.records import Outcome, State, StoreUnavailable, Submission
from tests.stores.conftest import DAY, QUESTION, Place, postgres_place
from tests.stores.server import Server

psycopg = pytest.importorskip("psycopg")
postgres = pytest.importorskip("deniable.collector.stores.postgres")
pytestmark = pytest.mark.postgres

Q = QUESTION.digest


@pytest.fixture
def place(postgres_server: Server) -> Place:
    """A database with nothing in it."""
    found = postgres_place(postgres_server)
    yield found
    found.close()


def test_commits_are_synchronised(place: Place) -> None:
    """The writer's own connection waits for the log to be on the disk."""
    store = place.open()
    assert isinstance(store, postgres.PostgresStore)
    found = store.connection().execute("SHOW synchronous_commit").fetchone()
    assert found == ("on",)
    assert any("fsync is off" in said for said in store.check())  # as the tests start it


@pytest.mark.parametrize("change", ["close", "delete", "seal"])
def test_a_change_waits_for_submissions_under_way(place: Place, change: str) -> None:
    """Closing, deleting and sealing wait for the transaction that stores a submission."""
    store, other = place.open(), place.open()
    store.ask(QUESTION)
    assert isinstance(store, postgres.PostgresStore)
    with store.connection().transaction():
        store.connection().execute("SELECT 1 FROM questions FOR SHARE")
        store.connection().execute("SELECT 1 FROM horizon FOR SHARE")
        if change == "seal":
            place.pass_to(DAY + 1)
        work = {
            "close": lambda: other.change(Q, state=State.CLOSED),
            "delete": lambda: other.change(Q, state=State.DELETED),
            "seal": other.seal,
        }[change]
        thread = Thread(target=work)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
    thread.join()
    assert store.add([Submission(Q, DAY - 7, b"i" * 16, b"r")]) != [Outcome.STORED]


def test_a_lost_connection_is_opened_again(place: Place) -> None:
    """The group under way fails, and the next one is stored."""
    store = place.open()
    store.ask(QUESTION)
    assert isinstance(store, postgres.PostgresStore)
    (pid,) = store.connection().execute("SELECT pg_backend_pid()").fetchone() or (0,)
    with psycopg.connect(store.url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", (pid,))
    group = [Submission(Q, DAY, b"i" * 16, b"r")]
    with pytest.raises(StoreUnavailable):
        store.add(group)
    assert store.add(group) == [Outcome.STORED]


def test_a_database_that_takes_no_writes(place: Place) -> None:
    """A write into a read-only database is refused with that kind, and goes on when it is over."""
    store = place.open()
    store.ask(QUESTION)
    assert isinstance(store, postgres.PostgresStore)
    store.connection().execute("SET default_transaction_read_only = on")
    group = [Submission(Q, DAY, b"i" * 16, b"r")]
    with pytest.raises(StoreUnavailable) as caught:
        store.add(group)
    assert caught.value.kind == "read-only"
    assert store.add(group) == [Outcome.STORED]


def test_two_migrate_at_once(postgres_server: Server) -> None:
    """Of two collectors that start on an empty database one creates the schema."""
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE empty_one")
    stores: list[postgres.PostgresStore] = []

    def start() -> None:
        stores.append(postgres.PostgresStore(postgres_server.url("empty_one")))

    threads = [Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    last = migrations("postgres")[-1].version
    assert [store.version() for store in stores] == [last] * 3
    for store in stores:
        store.close()


def test_a_database_that_is_not_there(postgres_server: Server) -> None:
    """The error says what to check, and shows no password."""
    with pytest.raises(StoreUnavailable, match="check that it runs") as caught:
        postgres.PostgresStore("postgresql://someone:hunter2@/nowhere?host=/nonexistent")
    assert caught.value.kind == "unreachable"
    assert "hunter2" not in str(caught.value)

"""A collector keeps its store in order: a bad row holds up nobody, and what is deleted is gone."""

from __future__ import annotations

import asyncio
import io
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from deniable import OUE
from deniable.collector import housekeeping
from deniable.collector.access import TOKEN, Role, create
from deniable.collector.app import Application, create_app
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores.records import Asked, State, StoreCorrupt, Submission, write_day
from deniable.collector.stores.store import Store
from deniable.question import Question
from deniable.tally import Tally
from tests.faults.application import call
from tests.marks import shortened
from tests.stores.conftest import DAY, Place, postgres_place, sqlite_place
from tests.stores.server import Server

LABELS = tuple(f"LABEL-CANARY-{number}" for number in range(128))
ONE = Question("NAME-CANARY-ONE", LABELS, OUE(2.0, 128))
TWO = Question("NAME-CANARY-TWO", LABELS[::-1], OUE(2.0, 128))
PATIENCE = 1000


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep house without pauses."""
    for name in ("_PAUSE", "_ROUND", "_SWEEP_ROUND"):
        monkeypatch.setattr(housekeeping, name, 0.01)


def fill(store: Store) -> list[bytes]:
    """Ask both questions and submit two reports of each; return ids and reports of the second."""
    sent = []
    for question in (ONE, TWO):
        store.ask(Asked(question.digest, question.to_json(), State.OPEN, write_terms(Terms())))
        for source in ("anonymous", "relay:SOURCE-CANARY"):
            id, report = secrets.token_bytes(16), question.privatize([LABELS[0]]).tobytes()
            store.add([Submission(question.digest, DAY, id, report, source=source)])
            sent += [id, report]
    return sent[4:]


@asynccontextmanager
async def collecting(place: Place) -> AsyncIterator[Application]:
    """Run a collector without a socket."""
    app = create_app(Settings(store="the test's", minimum=1), place.open)
    async with app.services.running():
        yield app


async def until(app: Application, true: Callable[[Store], bool]) -> None:
    """Wait until something is so; a failure says that it never was."""
    for _ in range(PATIENCE):
        if await app.services.readers.run(true):
            return
        await asyncio.sleep(0.02)
    pytest.fail("expected it to be so in the end")


def number_of(store: Store, table: str, where: str = "1 = 1") -> int:
    """Return how many rows a table has."""
    found = store.connection().execute(f"SELECT count(*) FROM {table} WHERE {where}").fetchone()
    return int(found[0])


def rows_of(store: Store, question: int) -> int:
    """Return how many rows of any table a question has."""
    tables = (
        "arrivals",
        "waiting",
        "tallies",
        "published",
        "exclusions",
        "exclusions_by_day",
        "set_aside",
    )
    return sum(number_of(store, table, f"question = {question}") for table in tables)


@pytest.mark.parametrize(
    "damage",
    shortened(
        [
            "day = day + 1",
            "checksum = NULL, question = 99",
            "checksum = NULL, n = 2",
            "question = 99",
        ],
        "more damages of the same row",
        keep=2,
    ),
)
def test_a_bad_row_holds_up_nobody(place: Place, damage: str) -> None:
    """It is set aside; folding, deleting, estimates and submissions go on."""
    store = place.open()
    fill(store)
    token = create(store, TOKEN, Role.ADMIN, name="test")
    store.connection().execute(f"UPDATE waiting SET {damage} WHERE no = 1")

    async def work() -> None:
        async with collecting(place) as app:
            path = f"/v1/questions/{ONE.digest}"
            assert (await call(app, "GET", f"{path}/estimates", token=token))[0] == 200
            await app.services.questions.delete(TWO.digest)
            await until(app, lambda store: rows_of(store, 2) == 0)
            await until(app, lambda store: number_of(store, "waiting") == 0)
            assert len(await app.services.readers.run(lambda store: store.aside())) == 1
            body = b"9" * 16 + ONE.privatize([LABELS[0]]).tobytes()
            query = f"day={write_day(DAY)}"
            assert (await call(app, "POST", f"{path}/reports", body, query=query))[0] == 204
            status, body = await call(app, "GET", f"{path}/estimates", token=token)
            assert (status, json.loads(body)["n"]) == (200, 2)

    asyncio.run(work())


def test_whatever_fails_does_not_hold_up_deleting(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sweeping goes on while folding and sealing fail, for whatever reason."""
    store = place.open()
    fill(store)

    async def fail(self: housekeeping.Housekeeping, *args: object) -> None:
        raise RuntimeError("for a test")

    monkeypatch.setattr(housekeeping.Housekeeping, "fold", fail)
    monkeypatch.setattr(housekeeping.Housekeeping, "seal", fail)

    async def work() -> None:
        async with collecting(place) as app:
            await app.services.questions.delete(TWO.digest)
            await until(app, lambda store: rows_of(store, 2) == 0)

    asyncio.run(work())
    assert rows_of(store, 1) == 4


def test_corruption_that_housekeeping_meets_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever runs the collector is told, and nothing goes on as if nothing had been."""
    fill(place.open())

    def corrupt(self: Store, *args: object) -> None:
        raise StoreCorrupt("for a test")

    monkeypatch.setattr(type(place.opened[0]), "pile", corrupt)

    async def work() -> None:
        app = create_app(Settings(store="the test's"), place.open)
        async with app.services.running(), asyncio.timeout(120):
            while app.services.health.broken is None:
                await asyncio.sleep(0.01)

    asyncio.run(work())


async def show_and_delete(place: Place) -> None:
    """Fold, publish, exclude and set aside something of the second question, then delete it."""
    store = place.open()
    token = create(store, TOKEN, Role.ADMIN, name="test")
    store.set_aside({4: "for a test"})
    async with collecting(place) as app:
        path = f"/v1/questions/{TWO.digest}/estimates"
        assert (await call(app, "GET", path, token=token))[0] == 200
        await until(app, lambda store: number_of(store, "waiting") == 0)
        await app.services.writer.run(lambda store: store.exclude(TWO.digest, "anonymous", True))
        await app.services.questions.delete(TWO.digest)
        await until(app, lambda store: store.connection() and rows_of(store, 2) == 0)
        await until(app, lambda store: not app.services.housekeeping.traces)


def canaries(sent: list[bytes]) -> list[bytes]:
    """Return what must not be found: ids, reports, digest, name and labels in their order."""
    labels = json.dumps(LABELS[::-1], separators=(",", ":"), ensure_ascii=False)[:200]
    return [*sent, TWO.digest.encode(), bytes.fromhex(TWO.digest), b"CANARY-TWO", labels.encode()]


def found_in(files: list[Path], wanted: list[bytes]) -> list[tuple[str, bytes]]:
    """Return what is found in which file."""
    contents = [(file.name, file.read_bytes()) for file in files if file.is_file()]
    return [(name, canary) for name, data in contents for canary in wanted if canary in data]


def test_nothing_of_a_deleted_question_is_left_in_the_files(tmp_path: Path) -> None:
    """No id, report, digest, name or label, in the file or beside it, while the collector runs."""
    place = sqlite_place(tmp_path)
    wanted = canaries(fill(place.open()))
    assert len({canary for _, canary in found_in(list(tmp_path.iterdir()), wanted)}) >= 6
    asyncio.run(show_and_delete(place))
    assert found_in(list(tmp_path.iterdir()), wanted) == []
    assert found_in(list(tmp_path.iterdir()), [b"CANARY-ONE"]) != []
    place.close()


@pytest.mark.postgres
def test_postgresql_keeps_nothing_after_a_full_vacuum(postgres_server: Server) -> None:
    """Its tables have nothing of a deleted question; its log does until it is recycled."""
    import psycopg  # noqa: PLC0415 - an extra

    place = postgres_place(postgres_server)
    wanted = canaries(fill(place.open()))
    asyncio.run(show_and_delete(place))
    url = place.opened[0].url
    place.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        ((folder,),) = connection.execute("SELECT pg_relation_filepath('pg_class')")
    tables = list((postgres_server.directory / "data" / folder).parent.iterdir())
    assert found_in(tables, wanted) == []
    assert found_in(tables, [ONE.digest.encode()]) != []


def test_an_export_has_everything(place: Place) -> None:
    """The question, its settings, and a tally of each day and source with what waits."""
    store = place.open()
    fill(store)
    housekeeping.fold_all(store)
    report = TWO.privatize([LABELS[0]]).tobytes()
    store.add([Submission(TWO.digest, DAY, b"7" * 16, report)])
    store.add([Submission(TWO.digest, DAY - 1, b"8" * 16, report)])
    store.add([Submission(TWO.digest, DAY - 1, b"9" * 16, report)])
    store.connection().execute("UPDATE waiting SET n = 7 WHERE no = (SELECT max(no) FROM waiting)")
    store.exclude(TWO.digest, "relay:SOURCE-CANARY", True)
    token = create(store, TOKEN, Role.ADMIN, name="test")

    async def fetch() -> bytes:
        app = create_app(Settings(store="the test's"), place.open)
        await app.services.writer.start()
        status, body = await call(app, "GET", f"/v1/questions/{TWO.digest}/export", token=token)
        await app.services.writer.close()
        app.services.readers.close()
        app.services.worker.close()
        assert status == 200
        return body

    archive = ZipFile(io.BytesIO(asyncio.run(fetch())))
    assert Question.from_json(archive.read("question.json")) == TWO
    about = json.loads(archive.read("contents.json"))
    assert about["excluded"] == [{"source": "relay:SOURCE-CANARY", "days": None}]
    assert about["settings"] == json.loads(write_terms(Terms()))
    assert (about["digest"], about["state"]) == (TWO.digest, "open")
    (unreadable,) = about["unreadable"]
    assert "checksum" in unreadable
    assert [(entry["day"], entry["source"], entry["n"]) for entry in about["tallies"]] == [
        (write_day(DAY - 1), "anonymous", 1),
        (write_day(DAY), "anonymous", 2),
        (write_day(DAY), "relay:SOURCE-CANARY", 1),
    ]
    for entry in about["tallies"]:
        tally = Tally.from_bytes(archive.read(entry["file"]))
        assert (tally.n, tally.question) == (entry["n"], TWO.digest)

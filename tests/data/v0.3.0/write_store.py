"""Write what the collector of version 0.3.0 kept: a SQLite file, and a PostgreSQL dump of the same.

Runs with deniable 0.3.0 and its tests only, once, from the top of the tree:
``PYTHONPATH=. python tests/data/v0.3.0/write_store.py DIRECTORY``. Both stores go through the same
days by clocks that the script sets: January is sealed and summed, of February the last days are
open. What the collector of that version answers from a copy of each is kept beside them.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psycopg
from write import QUESTIONS, drawn

import deniable
from benchmarks.segments import sum_months
from deniable.collector import folding, housekeeping
from deniable.collector.access import TOKEN, Role, hashed
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores.records import (
    Asked,
    Key,
    Outcome,
    Publication,
    Slice,
    State,
    Submission,
    write_day,
)
from tests.collector.conftest import Collector, create_app, run_server
from tests.stores.conftest import Place, postgres_place, sqlite_place, with_template

FIRST, LAST = 20_460, 20_510  # 2026-01-07, 2026-02-26
BUSY = (FIRST, FIRST + 9, FIRST + 14, LAST - 2, LAST - 1, LAST)
SECRETS = {role: f"dn_stand-in-{role.value}" for role in (Role.VIEWER, Role.RELAY, Role.ADMIN)}


def submissions(rng, question, given, day):
    """Yield submissions of a day: single ones without a token, and one of a relay."""
    _, reports, cells = drawn(question, given, rng, 8)
    for report, cell in zip(reports[:6], cells, strict=False):
        stated = bytes([cell]) if question.segments else b""
        yield Submission(question.digest, day, rng.bytes(16), report.tobytes(), cells=stated)
    stated = cells[6:].tobytes() if question.segments else b""
    data = reports[6:].tobytes()
    yield Submission(question.digest, day, rng.bytes(16), data, 2, "relay", stated)


def publish(store, question):
    """Show the sum of all days and of each segment, as the collector does."""
    part = Slice(question.digest)
    standing, rows = store.standing(part), store.snapshot(part)
    cells = {
        cell: folding.readable_sum(
            question,
            [row.data for row in rows.tallies if row.segment == cell],
            [row.data for row in rows.waiting if row.segment == cell],
        )
        for cell in standing.segments
    }
    tally = folding.merge(question, list(cells.values())).to_bytes()
    packed = folding.pack_cells(cells) if question.segments else b""
    new = Publication(rows.n, standing.edition, tally, len(standing.daily), packed)
    assert store.publish({part: new}, {})


def fill(place: Place) -> None:
    """Collect; seal, fold, sweep, sum a month, exclude, publish and close."""
    place.pass_to(FIRST)
    store, rng = place.open(), np.random.default_rng(30)
    for role, secret in SECRETS.items():
        assert store.keep(Key(hashed(secret), TOKEN, role.value, role.value))
    store.use(hashed(SECRETS[Role.RELAY]), FIRST)
    for question, _ in QUESTIONS:
        # The published sum of the first one stays, since fewer are new.
        terms = write_terms(Terms(minimum=20 if question is QUESTIONS[0][0] else 5))
        assert store.ask(Asked(question.digest, question.to_json(), State.OPEN, terms))
    for day in range(FIRST, LAST + 1):
        place.pass_to(day)
        assert store.seal().alarm is None
        if day < LAST - 1:  # what came on the last two days is left waiting
            housekeeping.fold_all(store)
            store.sweep(100_000)
        for question, given in QUESTIONS if day in BUSY else ():
            group = list(submissions(rng, question, given, day))
            assert set(store.add(group)) == {Outcome.STORED}
            assert set(store.add(group)) == {Outcome.REPEATED}
        if day == LAST - 1:
            publish(store, QUESTIONS[0][0])
    assert sum_months(store) > len(QUESTIONS)
    last = QUESTIONS[-1][0].digest
    assert store.exclude(last, "relay", True, day=FIRST + 9)
    assert store.change(last, state=State.CLOSED)


def shown(collector: Collector, path: str, query: str) -> dict:
    """Return what is compared of the estimates that a collector answers with."""
    address = f"{path}/estimates?{query.lstrip('&')}"
    said = collector.request("GET", address, role="viewer").json
    if "type" in said:
        return {"type": said["type"]}
    rows = [{key: row[key] for key in ("label", "count", "std_error")} for row in said["estimates"]]
    return {"n": said["n"], "estimates": rows}


def answers_of(url: str) -> dict:
    """Return what the collector answers about each question of a store."""
    settings = Settings(store=url, port=0)
    tokens = {role.value: secret for role, secret in SECRETS.items()}
    found = {"questions": {}}
    for address in run_server(create_app(settings), settings):
        collector = Collector(create_app, address, settings, tokens)
        for question, given in QUESTIONS:
            path = f"/v1/questions/{question.digest}"
            named = "" if question.labels else "".join(f"&candidate={text}" for text in given)
            queries = [named, f"from={write_day(FIRST)}&to={write_day(FIRST + 14)}{named}"]
            queries += ["segment=platform:linux"] * bool(question.segments)
            queries += ["round=7"] * bool(question.repeat)
            found["questions"][question.name] = {
                "digest": question.digest,
                "document": question.to_json(),
                "status": collector.request("GET", f"{path}/status", role="viewer").json,
                "sources": collector.request("GET", f"{path}/sources", role="admin").json,
                "estimates": {query: shown(collector, path, query) for query in queries},
            }
    return found


def write_sqlite(directory: Path) -> dict:
    """Write the SQLite file, and return what a collector answers from a copy of it."""
    with tempfile.TemporaryDirectory() as temporary:
        place = sqlite_place(Path(temporary))
        fill(place)
        place.close()
        (path,) = Path(temporary).iterdir()
        (directory / "store.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        return answers_of(str(path))


def write_postgres(directory: Path) -> dict:
    """Write the dump, and return what a collector answers from the database."""
    with with_template() as server:
        place, url = postgres_place(server), server.url("store_1")
        with psycopg.connect(url, autocommit=True) as connection:
            with psycopg.connect(server.url("deniable_template"), autocommit=True) as template:
                clock = template.execute(
                    "SELECT pg_get_functiondef('deniable.today'::regproc)"
                ).fetchone()[0]
            connection.execute(
                f"UPDATE deniable.horizon SET sealed_through = {FIRST - 8}, last_run = {FIRST}"
            )
            fill(place)
            connection.execute(clock)
            dumped = subprocess.run(
                [server.binaries / "pg_dump", "--schema=deniable", "--inserts", "--no-owner",
                 "--rows-per-insert=100", "--no-privileges", url],
                check=True, capture_output=True, text=True, **server.child,
            ).stdout  # fmt: skip
        place.close()
        # What only psql understands, or only the newest server, is left out.
        gone = ("\\", "--", "SET transaction_timeout", "SELECT pg_catalog.set_config('search_path'")
        lines = [line for line in dumped.splitlines() if line and not line.startswith(gone)]
        text = "\n".join(lines) + "\n"
        (directory / "store.sql.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        return answers_of(url)


def main(directory: Path) -> None:
    """Write both stores, which must answer the same."""
    assert deniable.__version__ == "0.3.0"
    answers = write_sqlite(directory)
    assert answers == write_postgres(directory)
    answers["tokens"] = {role.value: secret for role, secret in SECRETS.items()}
    (directory / "store.json").write_text(json.dumps(answers) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Write what the collector of version 0.2.0 kept: a SQLite file, and a PostgreSQL dump of the same.

Runs with deniable 0.2.0 and its tests only, once, from the top of the tree:
``PYTHONPATH=. python tests/data/v0.2.0/write_store.py DIRECTORY``. Both stores go through the same
days by clocks that the script sets. What the collector of that version answers from a copy of each
is kept beside them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psycopg

import deniable
from deniable.collector import mathematics
from deniable.collector.access import TOKEN, Role, hashed
from deniable.collector.days import EVER, write_day
from deniable.collector.questions import Terms, write_terms
from deniable.collector.settings import Settings
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.store import (
    Asked,
    Key,
    Outcome,
    Publication,
    State,
    Submission,
    Total,
)
from tests.collector.conftest import Collector, create_app, run_server
from tests.stores.conftest import Place, postgres_place, with_template

FIRST = 20_500  # 2026-02-16
DAYS = 12
CANDIDATES = ["timeout", "out of memory", "not found", "never seen"]
FRUIT = ("kiwi", "fig", "pear", "plum", "other")
SECRETS = {role: f"dn_stand-in-{role.value}" for role in (Role.VIEWER, Role.RELAY, Role.ADMIN)}

QUESTIONS = {
    "fruit": deniable.Question("fruit", FRUIT, deniable.AffineSelection(2.0, 5), "other"),
    "errors": deniable.Question("errors", None, deniable.OpenLH(3.0)),
    "mood": deniable.Question("mood 🙂", ("good", "bad"), deniable.DE(1.0, 2)),
    "pages": deniable.Question("pages", FRUIT, deniable.BasicRAPPOR(5, f=0.5, p=0.75, q=0.25)),
    "sizes": deniable.Question("sizes", tuple("abcdefgh"), deniable.OUE(1.0, 8)),
    "gone": deniable.Question("gone", ("yes", "no"), deniable.DE(1.0, 2)),
    "new": deniable.Question("new", ("yes", "no"), deniable.DE(1.0, 2)),
}
TERMS = {
    "fruit": Terms(minimum=50),  # fewer are new since the sum was published, so that it stays
    "mood": Terms(origins=("https://example.org",), minimum=5, public_results=True, collect=True),
}


def reports_of(rng, question, count):
    """Draw some reports, most of them of the first answers."""
    answers = list(question.labels or CANDIDATES[:3])
    return question.privatize([answers[i] for i in rng.zipf(1.8, count) % len(answers)], rng)


def submissions(rng, question, day, count):
    """Yield submissions of a day: single ones without a token, and one of a relay."""
    for report in reports_of(rng, question, count):
        yield Submission(question.digest, day, rng.bytes(16), report.tobytes())
    data = reports_of(rng, question, 2 * count).tobytes()
    yield Submission(question.digest, day, rng.bytes(16), data, 2 * count, "relay")


def publish(store, question, days):
    """Show the sum of a range of days, as the collector does."""
    n, edition = store.standing(question.digest, *days)
    snapshot = store.snapshot(question.digest, *days)
    tally = mathematics.add_up(
        question.to_json(),
        [total.data for total in snapshot.tallies],
        [total.data for total in snapshot.waiting],
    )
    new = Publication(n, edition, tally)
    assert store.publish(question.digest, days, new, None) == new


def fold(store):
    """Fold all that waits."""
    while pile := store.pile(1, 1 << 19):
        asked = store.asked(pile.question)
        tally, n = mathematics.fold(asked.document, pile.tally, pile.reports)
        assert store.fold(pile, tally, n)


def fill(place: Place) -> None:
    """Collect for some days; seal, fold, sweep, exclude, upload, publish and delete."""
    place.pass_to(FIRST)
    store, rng = place.open(), np.random.default_rng(20)
    for role, secret in SECRETS.items():
        assert store.keep(Key(hashed(secret), TOKEN, role.value, role.value))
    for name, question in QUESTIONS.items():
        terms = write_terms(TERMS.get(name, Terms(minimum=20)))
        assert store.ask(Asked(question.digest, question.to_json(), State.OPEN, terms))
    taken = [question for name, question in QUESTIONS.items() if name != "new"]
    for day in range(FIRST, FIRST + DAYS):
        place.pass_to(day)
        assert store.seal().alarm is None
        if day < FIRST + DAYS - 2:  # what came on the last two days is left waiting
            fold(store)
            store.sweep(100_000)
        for question in taken:
            group = list(submissions(rng, question, day, 8 if question.labels else 5))
            assert set(store.add(group)) == {Outcome.STORED}
            assert set(store.add(group)) == {Outcome.REPEATED}
        if day == FIRST + DAYS - 2:
            publish(store, QUESTIONS["fruit"], (0, EVER))
            publish(store, QUESTIONS["mood"], (FIRST, FIRST + 6))
    tally = QUESTIONS["mood"].tally(reports_of(rng, QUESTIONS["mood"], 500)).to_bytes()
    total = Total(FIRST + 3, f"upload:{'0123456789abcdef' * 2}", 500, tally)
    assert store.upload(QUESTIONS["mood"].digest, total, b"\7" * 32) is Outcome.STORED
    assert store.exclude(QUESTIONS["sizes"].digest, "relay", True)
    assert store.change(QUESTIONS["sizes"].digest, state=State.CLOSED)
    assert store.change(QUESTIONS["gone"].digest, state=State.DELETED)


def answers_of(url: str) -> dict:
    """Return what the collector answers about each question of a store."""
    settings = Settings(store=url, port=0)
    tokens = {role.value: secret for role, secret in SECRETS.items()}
    found = {"questions": {}}
    for address in run_server(create_app(settings), settings):
        collector = Collector(create_app, address, settings, tokens)
        for name, question in QUESTIONS.items():
            if name in ("gone", "new"):
                continue
            path = f"/v1/questions/{question.digest}"
            named = "".join(f"&candidate={c.replace(' ', '+')}" for c in CANDIDATES)
            ranges = ["", f"from={write_day(FIRST + 2)}&to={write_day(FIRST + 4)}",
                      f"from={write_day(FIRST + DAYS - 3)}"]  # fmt: skip
            queries = [days + ("" if question.labels else named) for days in ranges]
            found["questions"][name] = {
                "digest": question.digest,
                "document": question.to_json(),
                "status": collector.request("GET", f"{path}/status", role="viewer").json,
                "sources": collector.request("GET", f"{path}/sources", role="admin").json,
                "estimates": {
                    query: collector.request(
                        "GET", f"{path}/estimates?{query.lstrip('&')}", role="viewer"
                    ).json
                    for query in queries
                },
            }
    return found


def write_sqlite(directory: Path) -> dict:
    """Write the SQLite file, and return what a collector answers from a copy of it."""
    path = directory / "store.db"
    path.unlink(missing_ok=True)
    place = Place(lambda place: SqliteStore(path, today=lambda: place.today), lambda day: None)
    place.today = FIRST
    fill(place)
    place.close()
    with tempfile.TemporaryDirectory() as temporary:
        copy = shutil.copy(path, Path(temporary) / "store.db")
        return answers_of(str(copy))


def write_postgres(directory: Path) -> dict:
    """Write the dump, and return what a collector answers from the database."""
    with with_template() as server:
        place = postgres_place(server)
        with psycopg.connect(server.url("store_0"), autocommit=True) as connection:
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
                 "--rows-per-insert=100", "--no-privileges", server.url("store_0")],
                check=True, capture_output=True, text=True, **server.child,
            ).stdout  # fmt: skip
        place.close()
        # What only psql understands, or only the newest server, is left out.
        gone = ("\\", "--", "SET transaction_timeout", "SELECT pg_catalog.set_config('search_path'")
        lines = [line for line in dumped.splitlines() if line and not line.startswith(gone)]
        (directory / "store.sql").write_text("\n".join(lines) + "\n")
        return answers_of(server.url("store_0"))


def main(directory: Path) -> None:
    """Write both stores, which must answer the same."""
    assert deniable.__version__ == "0.2.0"
    os.environ.pop("PGHOST", None)
    answers = write_sqlite(directory)
    assert answers == write_postgres(directory)
    answers["tokens"] = {role.value: secret for role, secret in SECRETS.items()}
    (directory / "store.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

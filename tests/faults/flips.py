"""Bits that flip in rows that wait: what is then counted is the same, or the difference is named.

In SQLite any bit of the rows' bytes in the file flips, in PostgreSQL any bit of a field.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from deniable.collector import housekeeping
from deniable.collector.folding import unpack
from deniable.collector.questions import Terms, write_terms
from deniable.collector.stores.records import Asked, Slice, State, StoreCorrupt, Submission
from deniable.collector.stores.sqlite import SqliteStore
from deniable.collector.stores.store import Store
from deniable.tally import Tally
from tests.faults.fault import QUESTION

DAY = 20_000
ASKED = Asked(QUESTION.digest, QUESTION.to_json(), State.OPEN, write_terms(Terms()))
Counts = dict[tuple[int, str], list[int]]


def fill(store: Store, chance: random.Random) -> None:
    """Ask a question, and store some groups of reports from three sources."""
    assert store.ask(ASKED)
    for _ in range(12):
        store.add(
            [
                Submission(
                    QUESTION.digest,
                    DAY - chance.randrange(3),
                    chance.randbytes(16),
                    bytes(chance.randrange(8) for _ in range(n)),
                    n,
                    source,
                )
                for source, n in (("anonymous", 1), ("anonymous", 1), ("relay:x", 20))
            ]
        )


def counts(store: Store) -> Counts:
    """Return the supports of each day and source, those of waiting rows as well."""
    found: Counts = {}
    snapshot = store.snapshot(Slice(QUESTION.digest))
    for total in snapshot.tallies:
        tally = Tally.from_bytes(unpack(total.data))
        assert tally.n == total.n
        add(found, (total.day, total.source), tally.statistic.values.tolist())
    for total in snapshot.waiting:
        values = Counter(total.data)
        add(found, (total.day, total.source), [values[value] for value in range(8)])
    return found


def standing(store: Store) -> int:
    """Return how many reports a store says that it has."""
    return store.standing(Slice(QUESTION.digest)).n


def add(found: Counts, place: tuple[int, str], more: list[int]) -> None:
    """Add the counts of a place."""
    found[place] = [a + b for a, b in zip(found.get(place, [0] * 8), more, strict=True)]


def judge(store: Store, before: Counts) -> str:
    """Say what a flip did: nothing, something that was named, or something silent."""
    try:
        same = counts(store) == before and standing(store) == sum(map(sum, before.values()))
        if not same and not any("wait" in said for said in housekeeping.check(store)):
            return "silent for readers"
        housekeeping.fold_all(store)
        folded, aside = counts(store), store.aside()
        assert standing(store) == sum(map(sum, folded.values()))
    except StoreCorrupt:
        return "corrupt"
    if folded == before:
        return "set aside for nothing" if aside else "harmless"
    named = list(housekeeping.check(store))
    return "set aside" if aside and any("set aside" in said for said in named) else "silent"


def in_file(path: Path) -> list[int]:
    """Return where in the file of a closed store the rows that wait are; they fit into one page."""
    with sqlite3.connect(path) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'waiting'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    page = path.read_bytes()[(root - 1) * size : root * size]
    assert page[0] == 13, "expected the rows on one page"
    begin = int.from_bytes(page[5:7], "big")
    return list(range((root - 1) * size + begin, root * size))


def flip_sqlite(folder: Path, flips: int, seed: int) -> Counter[str]:
    """Flip one bit of the rows in the file of a store, again and again."""
    chance, path = random.Random(seed), folder / "whole.db"
    store = SqliteStore(path, today=lambda: DAY)
    fill(store, chance)
    before = counts(store)
    store.close()
    places, found = in_file(path), Counter[str]()
    for number in range(flips):
        flipped = folder / f"flipped-{number}.db"
        shutil.copy(path, flipped)
        with flipped.open("r+b") as file:
            place = chance.choice(places)
            file.seek(place)
            (byte,) = file.read(1)
            file.seek(place)
            file.write(bytes([byte ^ 1 << chance.randrange(8)]))
        store = SqliteStore(flipped, today=lambda: DAY)
        found[judge(store, before)] += 1
        store.close()
        for left in folder.glob(f"{flipped.name}*"):
            left.unlink()
    return found


def flip_postgres(open_place: Callable[[], object], flips: int, seed: int) -> Counter[str]:
    """Flip one bit of a field of a row, again and again, each time in a store of its own."""
    chance, found = random.Random(seed), Counter[str]()
    for _ in range(flips):
        place = open_place()
        store = place.open()
        fill(store, random.Random(seed))
        before = counts(store)
        rows = store.connection().execute("SELECT no FROM waiting").fetchall()
        (no,) = chance.choice(rows)
        field = chance.choice(["question", "day", "n", "checksum", "reports", "source"])
        if field in ("question", "day"):
            change = f"{field} # {1 << chance.randrange(31)}"
        elif field in ("n", "checksum"):
            change = f"{field} # {1 << chance.randrange(63)}"
        elif field == "reports":
            change = f"set_byte(reports, 0, get_byte(reports, 0) # {1 << chance.randrange(8)})"
        else:
            letter = f"chr(ascii(source) # {1 << chance.randrange(6)})"
            change = f"overlay(source placing {letter} from 1 for 1)"
        store.connection().execute(f"UPDATE waiting SET {field} = {change} WHERE no = {no}")
        found[judge(store, before)] += 1
        place.close()
    return found


def figures(found: Counter[str]) -> dict[str, object]:
    """Return what goes into the docs."""
    silent = found["silent"] + found["silent for readers"]
    return {
        "flips": found.total(),
        "what became of them": dict(sorted(found.items())),
        "counts that differed silently": silent,
        "passed": silent == 0,
    }

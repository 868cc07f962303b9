"""What an operator does to a store by hand: fold what waits, check all, export a question.

An export is a ZIP file to keep before deleting a question. It has ``question.json``, a tally for
each day and source, waiting reports included, and ``contents.json``: state, settings, exclusions,
the list of the tallies, and what could not be read. Ids, which only say what was counted, stay out.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from zipfile import ZIP_DEFLATED, ZipFile

from deniable.collector import jobs
from deniable.collector.questions import read_terms
from deniable.collector.settings import MIB
from deniable.collector.stores.records import Aside, Asked, Holding, Pile, Source, write_day
from deniable.collector.stores.store import Store

MEDIA_TYPE = "application/zip"
"""Of an export."""
_MOST_BYTES = 2 * MIB
"""How much is folded at once."""


def fold_all(store: Store) -> int:
    """Add all waiting reports to tallies, and return how many; what cannot be read is set aside."""
    documents = {asked.digest: asked.document for asked in store.all_asked()}
    store.set_aside(store.damaged())
    folded = 0
    while pile := store.pile(1, _MOST_BYTES):
        if pile.damaged:
            store.set_aside(pile.damaged)
        else:
            folded += _fold(store, documents[pile.question], pile)
    return folded


def _fold(store: Store, document: str, pile: Pile) -> int:
    found = jobs.fold(document, pile)
    if isinstance(found, bytes):
        return pile.n if store.fold(pile, found) else 0
    store.set_aside(found.rows)
    if found.tally is not None:
        store.set_tally_aside(pile, found.tally)
    return 0


def check(store: Store) -> Iterator[str]:
    """Read every question, tally and report, and yield a sentence for each thing that is wrong."""
    yield from store.check()
    damaged = store.damaged()
    for no, reason in damaged.items():
        yield f"waiting row {no}: {reason}"
    for asked in store.all_asked():
        try:
            read_terms(asked.terms)
            if jobs.question_of(asked.document).digest != asked.digest:
                yield f"the document of the question {asked.digest} belongs to another question"
                continue
        except ValueError as error:  # which an error of msgspec is too
            yield f"the question {asked.digest} cannot be read: {error}"
            continue
        for holding in store.holdings(asked.digest):
            if holding.row not in damaged and (fault := fault_of(asked, holding)) is not None:
                yield f"{name_of(holding)} of the question {asked.digest}: {fault}"
    for aside in store.aside():
        yield describe(aside)


def fault_of(asked: Asked, holding: Holding) -> str | None:
    """Read the contents of a row, and return what is wrong with them, if anything is."""
    if holding.fault is not None:
        return holding.fault
    n, data = holding.total.n, holding.total.data
    tallies, waiting = ([], [data]) if holding.table == "waiting" else ([data], [])
    return jobs.find_fault(asked.document, n, tallies, waiting)


def name_of(holding: Holding) -> str:
    if holding.table == "waiting":
        return f"waiting row {holding.row}"
    kind = "tally" if holding.table == "tallies" else "published sum"
    source = f" and the source {holding.total.source!r}" if holding.total.source else ""
    return f"the {kind} of {write_day(holding.total.day)}{source}"


def describe(aside: Aside) -> str:
    said = {
        "question": aside.question,
        "day": None if aside.day is None else write_day(aside.day),
        "source": aside.source,
        "reports": aside.n,
    }
    known = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
    where = f"{aside.origin} ({known or 'nothing is known of it'})"
    return f"a row of {where} was set aside: {aside.reason}"


@dataclass(frozen=True)
class Gathered:
    """Everything that a store has of a question, still unchecked."""

    asked: Asked
    holdings: tuple[Holding, ...]
    aside: tuple[Aside, ...]
    sources: tuple[Source, ...]


def gather(store: Store, asked: Asked) -> Gathered:
    return Gathered(
        asked,
        tuple(found for found in store.holdings(asked.digest) if found.table != "published"),
        tuple(found for found in store.aside() if found.question == asked.digest),
        tuple(store.sources(asked.digest)),
    )


def pack(gathered: Gathered) -> bytes:
    """Add up what was gathered by day and source, and return the ZIP file."""
    asked = gathered.asked
    places: dict[tuple[int, str], tuple[list[bytes], list[bytes]]] = {}
    counts: Counter[tuple[int, str]] = Counter()
    unreadable = [describe(found) for found in gathered.aside]
    for holding in gathered.holdings:
        if (fault := fault_of(asked, holding)) is not None:
            unreadable.append(f"{name_of(holding)}: {fault}")
            continue
        total, place = holding.total, (holding.total.day, holding.total.source)
        tallies, waiting = places.setdefault(place, ([], []))
        (waiting if holding.table == "waiting" else tallies).append(total.data)
        counts[place] += total.n
    listed, stream = [], io.BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        archive.writestr("question.json", asked.document)
        for number, ((day, source), found) in enumerate(sorted(places.items()), 1):
            name, n = f"tallies/{number:06d}.tally", counts[day, source]
            archive.writestr(name, jobs.add_up(asked.document, *found))
            listed.append({"file": name, "day": write_day(day), "source": source, "n": n})
        contents = {
            "digest": asked.digest,
            "state": asked.state.value,
            "settings": json.loads(asked.terms),
            "excluded": [_excluded(found) for found in gathered.sources if _left_out(found)],
            "tallies": listed,
            "unreadable": unreadable,
        }
        archive.writestr("contents.json", json.dumps(contents, indent=1, ensure_ascii=False))
    return stream.getvalue()


def _left_out(source: Source) -> bool:
    return source.excluded or bool(source.excluded_days)


def _excluded(source: Source) -> dict[str, object]:
    days = [write_day(day) for day in source.excluded_days]
    return {"source": source.name, "days": None if source.excluded else days}

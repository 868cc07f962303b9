"""Everything that a question has, in one ZIP file, for its owner to keep before deleting it.

The file has ``question.json``, a tally for each day and source, in which the reports that wait are
too, and ``contents.json``: state, settings, what is excluded, the list of the tallies, and what
could not be read. Ids are left out: they are random numbers that say what was counted.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import dataclass
from zipfile import ZIP_DEFLATED, ZipFile

from deniable.collector import jobs
from deniable.collector.days import write_day
from deniable.collector.maintenance import describe, fault_of, name_of
from deniable.collector.stores.base import Store
from deniable.collector.stores.records import Aside, Asked, Holding, Source

MEDIA_TYPE = "application/zip"


@dataclass(frozen=True)
class Gathered:
    """What a store has of a question, read and not looked at."""

    asked: Asked
    holdings: tuple[Holding, ...]
    aside: tuple[Aside, ...]
    sources: tuple[Source, ...]


def gather(store: Store, asked: Asked) -> Gathered:
    """Read everything that a store has of a question."""
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

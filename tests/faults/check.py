"""The judge: what a store has must fit what clients saw. No I/O here."""

from __future__ import annotations

from deniable.collector.stores.records import Submission
from tests.faults.history import History, Kept, Seen


def check(history: History, kept: Kept) -> list[str]:
    """Return a sentence for each thing that is wrong."""
    wrong = list(history.complaints)
    for id, seen in history.seen.items():
        expected = Submission("", 0, id, history.reports[id]).fingerprint
        found = kept.fingerprints.get(id)
        if seen is Seen.ACKNOWLEDGED and found is None:
            wrong.append(f"{id.hex()} was acknowledged and is lost")
        if seen is Seen.REFUSED and found is not None:
            wrong.append(f"{id.hex()} was refused and is stored")
        if found is not None and found != expected:
            wrong.append(f"{id.hex()} is stored with other bytes")
    wrong += [
        f"{id.hex()} is stored and was never sent"
        for id in kept.fingerprints
        if id not in history.seen
    ]
    if kept.counted != len(kept.fingerprints):
        wrong.append(f"{kept.counted} reports are counted for {len(kept.fingerprints)} ids")
    return wrong

"""What an operator does to a store by hand: fold all that waits, and check everything."""

from __future__ import annotations

from collections.abc import Iterator

from deniable.collector import jobs
from deniable.collector.days import write_day
from deniable.collector.questions import read_terms
from deniable.collector.settings import MIB
from deniable.collector.stores.base import Store
from deniable.collector.stores.records import Aside, Asked, Holding, Pile
from deniable.errors import DeniableError

_SLICE = 2 * MIB


def fold_all(store: Store) -> int:
    """Add all waiting reports to tallies, and return how many; what cannot be read is set aside."""
    documents = {asked.digest: asked.document for asked in store.all_asked()}
    store.set_aside(store.damaged())
    folded = 0
    while pile := store.pile(1, _SLICE):
        if pile.damaged:
            store.set_aside(pile.damaged)
        else:
            folded += _fold(store, documents[pile.question], pile)
    return folded


def _fold(store: Store, document: str, pile: Pile) -> int:
    try:
        tally, n = jobs.fold(document, pile.tally, pile.reports)
    except DeniableError:
        n = -1
    if n == pile.counted + pile.n:
        return pile.n if store.fold(pile, tally, n) else 0
    before = None if pile.tally is None else (pile.tally, pile.counted)
    found = jobs.find_faults(document, before, pile.parts)
    store.set_aside({pile.rows[place]: said for place, said in found.rows.items()})
    if found.tally is not None:
        store.set_tally_aside(pile, found.tally)
    return 0


def check(store: Store) -> Iterator[str]:
    """Read every question, tally and report, and yield a sentence for each thing that is wrong."""
    yield from store.check()
    damaged = store.damaged()
    for no, reason in damaged.items():
        yield f"row {no} of those that wait: {reason}"
    for asked in store.all_asked():
        try:
            read_terms(asked.terms)
            if jobs.question_of(asked.document).digest != asked.digest:
                yield f"the document of the question {asked.digest} is that of another one"
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
    """Read what a row has, and say why it cannot be used, if so."""
    if holding.fault is not None:
        return holding.fault
    n, data = holding.total.n, holding.total.data
    tallies, waiting = ([], [data]) if holding.table == "waiting" else ([data], [])
    return jobs.find_fault(asked.document, n, tallies, waiting)


def name_of(holding: Holding) -> str:
    """Return how sentences call a row."""
    if holding.table == "waiting":
        return f"row {holding.row} of those that wait"
    kind = "tally" if holding.table == "tallies" else "published sum"
    source = f" and the source {holding.total.source!r}" if holding.total.source else ""
    return f"the {kind} of {write_day(holding.total.day)}{source}"


def describe(aside: Aside) -> str:
    """Return a sentence about a row that was set aside."""
    said = {
        "question": aside.question,
        "day": None if aside.day is None else write_day(aside.day),
        "source": aside.source,
        "reports": aside.n,
    }
    known = ", ".join(f"{name} {value}" for name, value in said.items() if value is not None)
    where = f"{aside.origin} ({known or 'nothing is known of it'})"
    return f"a row of {where} was set aside: {aside.reason}"

"""The judge catches every kind of wrong history."""

from __future__ import annotations

import pytest

from deniable.collector.stores.records import Submission
from tests.faults.check import check
from tests.faults.history import History, Kept, Seen

A, B = b"a" * 16, b"b" * 16


def history(**seen: Seen) -> History:
    """Return a history of the ids a and b."""
    found = History()
    for name, outcome in seen.items():
        found.record(name.encode() * 16, b"report", outcome)
    return found


def kept(*ids: bytes, counted: int | None = None, reports: bytes = b"report") -> Kept:
    """Return a store that has these ids."""
    prints = {id: Submission("", 0, id, reports).fingerprint for id in ids}
    return Kept(prints, len(ids) if counted is None else counted)


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (history(a=Seen.ACKNOWLEDGED), kept(A)),
        (history(a=Seen.UNKNOWN), kept(A)),
        (history(a=Seen.UNKNOWN), kept()),
        (history(a=Seen.REFUSED), kept()),
        (history(a=Seen.ACKNOWLEDGED, b=Seen.REFUSED), kept(A)),
    ],
)
def test_right_histories_pass(seen: History, found: Kept) -> None:
    """Acknowledged is there, refused is not, unknown is either."""
    assert check(seen, found) == []


@pytest.mark.parametrize(
    ("seen", "found", "sentence"),
    [
        (history(a=Seen.ACKNOWLEDGED), kept(), "acknowledged and is lost"),
        (history(a=Seen.REFUSED), kept(A), "refused and is stored"),
        (history(a=Seen.ACKNOWLEDGED), kept(A, reports=b"other"), "with other bytes"),
        (history(a=Seen.ACKNOWLEDGED), kept(A, B), "never sent"),
        (history(a=Seen.ACKNOWLEDGED), kept(A, counted=2), "2 reports are counted for 1 ids"),
        (history(a=Seen.ACKNOWLEDGED), kept(A, counted=0), "0 reports are counted for 1 ids"),
    ],
)
def test_each_wrong_history_is_caught(seen: History, found: Kept, sentence: str) -> None:
    """Each sentence has a history that makes the judge say it."""
    assert [said for said in check(seen, found) if sentence in said]


def test_a_refusal_after_an_acknowledgement_is_a_complaint() -> None:
    """What was acknowledged must be acknowledged again."""
    seen = history(a=Seen.ACKNOWLEDGED)
    seen.record(A, b"report", Seen.REFUSED)
    assert check(seen, kept(A)) == [f"{A.hex()} was acknowledged, and refused later"]


def test_an_unknown_outcome_is_not_undone_by_a_refusal() -> None:
    """After a lost answer a refusal of the retry proves nothing."""
    seen = history(a=Seen.UNKNOWN)
    seen.record(A, b"report", Seen.REFUSED)
    assert check(seen, kept(A)) == check(seen, kept()) == []

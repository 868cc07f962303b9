"""Sums as readers see them: made by one job, from days that are added up once."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest

from deniable import DE
from deniable.collector import folding, jobs
from deniable.collector.jobs import Job, Order, Wanted, carry_out
from deniable.collector.problems import InvalidRequest
from deniable.collector.requests import lines, read_day, read_slices
from deniable.collector.stores.records import Days, Publication, Slice, Snapshot, Total
from deniable.collector.views import Sight, look
from deniable.question import Question
from deniable.tally import Tally

QUESTION = Question("drinks", ("tea", "coffee"), DE(1.0, 2))
Q = QUESTION.digest
EVERYTHING = Slice(Q)


def day(number: int) -> Slice:
    """Return the slice of one day."""
    return Slice(Q, Days(number, number))


def rows(counts: dict[int, int]) -> Snapshot:
    """Return a tally and two waiting groups for each day, the day's number of reports in each."""
    rng = np.random.default_rng(1)
    tallies, waiting = [], []
    for number, n in counts.items():
        reports = [QUESTION.protocol.privatize(np.zeros(n, np.uint64), rng) for _ in range(3)]
        tallies.append(Total(number, "relay:a", n, QUESTION.tally(reports[0]).to_bytes()))
        waiting += [Total(number, "anonymous", n, some.tobytes()) for some in reports[1:]]
    return Snapshot(tuple(tallies), tuple(waiting))


def order(snapshot: Snapshot, new: tuple[Slice, ...], days: tuple[Slice, ...] = ()) -> Order:
    """Return an order for everything, and for days one by one."""
    wanted = Wanted((EVERYTHING,), daily=bool(days))
    return Order(QUESTION.to_json(), wanted, days, 0, new, 7, snapshot)


def test_no_day_is_added_up_twice() -> None:
    """Whatever sums are new, the rows of a day are added up once for all of them."""
    snapshot, days = rows({1: 10, 2: 20, 3: 30}), (day(1), day(2), day(3))
    added: Counter[bytes] = Counter()
    real = folding._sum

    def counting(question: Question, tallies: list[bytes], waiting: list[bytes]) -> Tally:
        added.update([*tallies, *waiting])
        return real(question, tallies, waiting)

    with patch.object(folding, "_sum", counting):
        done = carry_out(order(snapshot, (EVERYTHING, *days), days), Job(look, Sight(10)))
    assert added == Counter(total.data for total in (*snapshot.tallies, *snapshot.waiting))
    assert {part: (sum.n, sum.days, sum.edition) for part, sum in done.new.items()} == {
        EVERYTHING: (180, 3, 7), day(1): (30, 1, 7), day(2): (60, 1, 7), day(3): (90, 1, 7),
    }  # fmt: skip
    assert done.result.reports == 180


@pytest.mark.parametrize("new", [(EVERYTHING,), (EVERYTHING, day(2)), (day(1), day(3))])
def test_new_sums_are_those_of_their_rows(new: tuple[Slice, ...]) -> None:
    """However days are grouped, each new sum equals that of its own rows alone."""
    snapshot = rows({1: 10, 2: 20, 3: 30})
    kept = {
        part: Publication(1, 0, QUESTION.tally(QUESTION.privatize(["tea"])).to_bytes(), 1)
        for part in {EVERYTHING} - {*new}
    }
    done = carry_out(order(Snapshot(*_both(snapshot), kept), new), Job(jobs.export, "json"))
    for part, sum in done.new.items():
        mine = [
            [total.data for total in totals if total.day in part.days] for totals in _both(snapshot)
        ]
        assert sum.tally == folding.add_up(QUESTION.to_json(), *mine)


def _both(snapshot: Snapshot) -> tuple[tuple[Total, ...], tuple[Total, ...]]:
    return snapshot.tallies, snapshot.waiting


def test_days_to_compare_have_none_in_common() -> None:
    """Both ends belong to a range; ranges that follow each other are compared, others refused."""
    assert [number in Days(2, 3) for number in (1, 2, 3, 4)] == [False, True, True, False]
    days = {"from": "1970-01-02", "to": "1970-01-03", "compare_from": "1970-01-04"}
    first, second = read_slices(Q, days)
    assert (first.days, second.days) == (Days(1, 2), Days(3))
    for wrong in ({"compare_from": "1970-01-03"}, {"compare_to": "1970-01-04"}):
        with pytest.raises(InvalidRequest, match="overlap"):
            read_slices(Q, {**days, "compare_from": None, **wrong})


def test_forms_name_days_and_lines():
    """A day is a number of days since 1970, and lines of a form lose the white space around."""
    assert read_day("1970-01-02") == 1
    assert lines("kiwi\r\n  fig \n\n") == ("kiwi", "fig")

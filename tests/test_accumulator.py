"""Accumulators: the one way in which reports are summed."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import DE, OLH, IncompatibleTally, InvalidReport, Protocol, Question
from deniable import tally as tally_module
from deniable.protocols import discover
from tests.marks import examples

EXAMPLES = [example for kind in discover().values() for example in kind.examples()]


def reports_of(protocol: Protocol, count: int) -> np.ndarray:
    """Return reports of some values, the same every time."""
    values = protocol.numbered(np.arange(count, dtype=np.uint64) % np.uint64(2))
    return protocol.privatize(values, np.random.default_rng(count))


@pytest.mark.parametrize("protocol", EXAMPLES, ids=repr)
@given(cuts=st.lists(st.integers(0, 60), max_size=12), looks=st.sets(st.integers(0, 12)))
@settings(deadline=None, max_examples=examples(15))
def test_batches_of_any_size_make_the_same_tally(
    protocol: Protocol, cuts: list[int], looks: set[int]
) -> None:
    """However reports are grouped and whenever one looks, the bytes are those of one batch."""
    reports = reports_of(protocol, 60)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tally_module, "_MOST_WAITING", 7)
        accumulator = protocol.accumulator()
    edges = [0, *sorted(cuts), 60]
    for step, (start, stop) in enumerate(pairwise(edges)):
        if step in looks:
            assert accumulator.tally() == protocol.tally(reports[:start])
        accumulator.add(reports[start:stop])
    assert accumulator.n == 60
    assert accumulator.tally().to_bytes() == protocol.tally(reports).to_bytes()
    assert accumulator.tally().to_bytes() == protocol.tally([reports]).to_bytes()


@pytest.mark.parametrize("protocol", EXAMPLES, ids=repr)
def test_accumulators_and_tallies_merge(protocol: Protocol) -> None:
    """Merging two accumulators, or a tally into one, is adding their tallies."""
    reports = reports_of(protocol, 50)
    first, second = protocol.accumulator(), protocol.accumulator()
    first.add(reports[:20])
    second.add(reports[20:45])
    first.merge(second)
    first.merge(protocol.tally(reports[45:]))
    assert first.tally() == protocol.tally(reports)
    assert second.tally() == protocol.tally(reports[20:45])


def test_large_and_small_batches_mix() -> None:
    """Single reports between batches of a size for kernels change no byte."""
    protocol = OLH(2.0, 5000)
    reports = reports_of(protocol, 60_000)
    accumulator = protocol.accumulator()
    for start, stop in ((0, 1), (1, 40_000), (40_000, 40_001), (40_001, 40_300), (40_300, 60_000)):
        accumulator.add(reports[start:stop])
    assert accumulator.tally().to_bytes() == protocol.tally(reports).to_bytes()


def test_what_is_refused_changes_nothing() -> None:
    """A bad batch raises, and the sum goes on as if it had not come."""
    protocol = DE(1.0, 5)
    accumulator = protocol.accumulator()
    accumulator.add(reports_of(protocol, 3))
    for wrong in (np.array([1, 5], dtype=np.uint8), np.array([1], dtype=np.int64), b"\1", [1]):
        with pytest.raises(InvalidReport):
            accumulator.add(wrong)
    with pytest.raises(IncompatibleTally):
        accumulator.merge(DE(1.0, 6).tally(reports_of(DE(1.0, 6), 2)))
    with pytest.raises(IncompatibleTally):
        accumulator.merge(b"tally")
    assert accumulator.tally() == protocol.tally(reports_of(protocol, 3))


def test_reports_may_be_overwritten_once_they_are_added() -> None:
    """An accumulator keeps no view of the caller's array."""
    for protocol in EXAMPLES:
        reports = reports_of(protocol, 10).copy()
        expected = protocol.tally(reports.copy())
        accumulator = protocol.accumulator()
        accumulator.add(reports)
        reports.view(np.uint8)[...] = 0
        assert accumulator.tally() == expected


def test_a_question_accumulates_under_its_digest() -> None:
    """What a question sums belongs to it, and does not mix with tallies of no question."""
    question = Question("fruit", ("a", "b"), DE(1.0, 2))
    accumulator = question.accumulator()
    accumulator.add(question.privatize(["a"]))
    assert accumulator.tally().question == question.digest
    with pytest.raises(IncompatibleTally, match="question"):
        accumulator.merge(question.protocol.tally(question.privatize(["a"])))

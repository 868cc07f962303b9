"""What is special to subset selection."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import DE, InvalidParameter, Protocol, SubsetSelection
from deniable.kernels import jit, subsets
from deniable.protocols.subset import best_size
from deniable.randomness import WORD, Replayed
from tests.naive import selection as naive

SMALL = [(d, k) for d in range(2, 10) for k in range(1, d)]


@pytest.mark.parametrize(("d", "k"), SMALL)
def test_ranks_name_all_subsets_once(d: int, k: int) -> None:
    """Ranks 0, ..., C(d, k) - 1 are the subsets in order, and back."""
    table, expected = subsets.binomials(d, k), naive.all_subsets(d, k)
    ranks = np.arange(math.comb(d, k), dtype=np.uint64)
    members = subsets.unrank(ranks, table)
    assert list(map(tuple, members.tolist())) == expected
    assert np.array_equal(subsets.rank(members, table), ranks)


@pytest.mark.parametrize(("d", "k"), SMALL)
def test_the_law_is_that_of_subset_selection(d: int, k: int) -> None:
    """Each set with the value has the weight w1 and each without w0, d times over, exactly."""
    protocol = SubsetSelection(1.5, d, k)
    inside, outside = protocol._places.inside, protocol._places.outside
    weights = [inside] * k + [outside] * (d - k)
    every = math.comb(d, k)
    sets = np.arange(every, dtype=np.uint64) * np.uint64(protocol._subset.step)
    edges = np.array([sum(weights[:y]) for y in range(d)], dtype=np.uint64)
    words = np.stack([part.ravel() for part in np.meshgrid(sets, edges, indexing="ij")], axis=1)
    members = naive.all_subsets(d, k)
    for value in range(d):
        data = Replayed(words.astype("<u8").tobytes())
        reports = protocol.privatize(np.full(len(words), value), data)
        law = [0] * every
        for code, place in zip(reports.tolist(), list(range(d)) * every, strict=True):
            law[code] += weights[place]
        assert law == [d * (inside if value in members[code] else outside) for code in range(every)]
    total = sum(weights)
    assert protocol.parameters.exact_p == Fraction(k * inside, total)
    assert protocol.parameters.exact_q == (k - Fraction(k * inside, total)) / (d - 1)
    assert protocol.worst_ratio == Fraction(inside, outside)


@settings(deadline=None)
@given(st.sampled_from(SMALL), st.data())
def test_reports_are_those_of_the_twin(shape: tuple[int, int], data: st.DataObject) -> None:
    """The same words make the same reports as the definition, one by one and in bulk."""
    protocol = SubsetSelection(1.0, *shape)
    limits = protocol.words.limits
    word = [st.integers(0, limits.get(i, WORD) - 1) for i in (0, 1)]
    rows = data.draw(st.lists(st.tuples(st.integers(0, shape[0] - 1), *word), max_size=10))
    values = np.array([v for v, *_ in rows], np.uint64)
    words = np.array([w for _, *w in rows], np.uint64).reshape(-1, 2)
    weights = protocol._places.inside, protocol._places.outside
    expected = [naive.subset_report(v, w, shape, weights) for v, *w in rows]
    assert protocol._perturb(values, words).tolist() == expected


@pytest.mark.parametrize(
    ("d", "k"), [(2, 1), (12, 3), (67, 33), (67, 18), (64, 17), (200, 3), (1000, 2), (200, 198)]
)
def test_compiled_reports_and_counts_are_those_of_numpy(d: int, k: int) -> None:
    """The kernels make the same reports and count the same members as NumPy does."""
    protocol, rng = SubsetSelection(1.0, d, k), np.random.default_rng(d)
    values = rng.integers(0, d, 500).astype(np.uint64)
    ranks = np.append(rng.integers(0, math.comb(d, k) - 1, 498, dtype=np.uint64, endpoint=True),
                      np.array([0, math.comb(d, k) - 1], np.uint64))  # fmt: skip
    places, table = rng.integers(0, d, 500), subsets.binomials(d, k)
    found = []
    for compiled in (False, jit.available()):
        jit.set_compiled(compiled)
        moved = subsets.select_many(values, ranks, places, table)
        found.append((moved.tolist(), subsets.count_members(moved, table).tolist()))
        jit.set_compiled(None)
    assert found[0] == found[1]
    slow, counts = np.array(found[0][0], np.uint64), np.array(found[0][1])
    assert slow.max() < math.comb(d, k)
    reports = slow.astype(protocol.report_dtype)
    if d <= 67:
        assert counts.tolist() == [protocol.supports(reports, v).sum() for v in range(d)]
    assert counts.sum() == 500 * k


@settings(deadline=None)
@given(st.floats(0.01, 10), st.integers(2, 67))
def test_the_size_is_the_best_there_is(epsilon: float, d: int) -> None:
    """No other size has less mean variance, and up to 67 values every size can be had."""
    best = float(SubsetSelection(epsilon, d).variance(1, 1 / d))
    others = [float(SubsetSelection(epsilon, d, k).variance(1, 1 / d)) for k in range(1, d)]
    assert best <= min(others) * (1 + 1e-9)


def test_size_is_part_of_the_specification() -> None:
    """A stored question is never chosen for again."""
    protocol = SubsetSelection(1.0, 12)
    assert protocol.size == best_size(1.0, 12) == protocol.specification()["size"] == 3
    assert Protocol.from_specification(protocol.specification()) == protocol
    assert SubsetSelection(1.0, 12, 5).specification()["size"] == 5


def test_sets_of_one_are_direct_encoding() -> None:
    """With k = 1 it has the variance of direct encoding."""
    assert float(SubsetSelection(3.0, 9, 1).variance(1)) == pytest.approx(
        float(DE(3.0, 9).variance(1))
    )


@pytest.mark.parametrize(("d", "size"), [(68, 34), (1000, 100), (10**6, None), (2**31 - 1, 2)])
def test_too_many_sets_are_refused_with_the_way_out(d: int, size: int | None) -> None:
    """Where ranks do not fit in eight bytes, or binomials in memory, AffineSelection is named."""
    with pytest.raises(InvalidParameter, match="AffineSelection"):
        SubsetSelection(1.0, d, size)


@pytest.mark.parametrize("size", [0, 12, -1, 2.0, True, "3"])
def test_sizes_that_make_no_sense_are_refused(size: object) -> None:
    """A size is a whole number from 1 to d - 1."""
    with pytest.raises(InvalidParameter, match="size"):
        SubsetSelection(1.0, 12, size)

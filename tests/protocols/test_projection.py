"""Random matrix projection: its rows, its law given the matrix, and what shared rows cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import BLH, InvalidParameter, InvalidReport, RandomMatrixProjection
from deniable import tally as tally_module
from deniable.auditing import output_law
from deniable.kernels import hashes as kernel
from deniable.statistics import Table
from tests.naive.law import total_chance
from tests.protocols.test_rappor import word


def naive_bit(seed: int, row: int, value: int) -> int:
    """Return an entry of the matrix by the documented formula."""
    return word(word(seed, row), value // 64) >> (value % 64) & 1


@given(
    st.lists(st.tuples(st.integers(0, 2**48 - 1), st.integers(-300, 300)), max_size=40),
    st.integers(2, 200),
    st.integers(0, 2**53 - 1),
    st.sampled_from([1, 1000, 1 << 25]),
)
@settings(deadline=None)
def test_kernel_adds_the_rows_of_the_twin(pairs, domain_size, seed, block) -> None:
    """Weighted sums of rows are those of plain integers, whatever the blocks."""
    protocol = RandomMatrixProjection(1.0, domain_size, rows=1 << 47, seed=seed)
    keys = protocol._keys(np.array([row for row, _ in pairs], dtype=np.uint64))
    weights = np.array([weight for _, weight in pairs], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "BLOCK_BYTES", block)
        total = kernel.add_rows(keys, weights, domain_size)
    expected = [sum(w * naive_bit(seed, r, v) for r, w in pairs) for v in range(domain_size)]
    assert total.tolist() == expected


def test_large_tallies_are_decoded_as_small_ones() -> None:
    """The kernel and the small path give the same support."""
    protocol = RandomMatrixProjection(1.0, 300, rows=50_000, seed=9)
    reports = protocol.privatize(np.arange(60_000) % 7, np.random.default_rng(1))
    parts = [protocol.support_counts(part) for part in np.array_split(reports, 60)]
    assert np.array_equal(protocol.support_counts(reports), np.sum(parts, axis=0))
    by_value = [protocol.supports(reports, v).sum() for v in (0, 6, 63, 64, 299)]
    assert protocol.support_counts(reports)[[0, 6, 63, 64, 299]].tolist() == by_value


def test_many_batches_are_merged_in_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tally of n batches handles n log n cells, not n^2, and is that of one array."""
    protocol = RandomMatrixProjection(1.0, 300, rows=1 << 40)
    reports = protocol.privatize(np.arange(4096) % 300, np.random.default_rng(2))
    handled, add = [], Table.__add__

    def counted(self: Table, other: Table) -> Table:
        handled.append(self.used + other.used)
        return add(self, other)

    monkeypatch.setattr(tally_module, "_MOST_WAITING", 2)
    monkeypatch.setattr(Table, "__add__", counted)
    tally = protocol.tally(reports[i : i + 1] for i in range(len(reports)))
    assert len(handled) > 2000
    assert sum(handled) <= 2 * 4096 * 12
    assert tally == protocol.tally(reports)


@pytest.mark.parametrize("rows", [1, 5, 16])
def test_law_given_the_matrix(rows: int) -> None:
    """The row is uniform and tells nothing; the bit is the entry with probability exactly p."""
    protocol = RandomMatrixProjection(1.0, 4, rows=rows, seed=3)
    p = int(protocol.specification()["weights"]["p"])
    for value in range(4):
        law = output_law(protocol, value)
        assert total_chance(law) == 1
        (weights,) = (w for w in law.weights if len(w) > 1)
        for row in range(rows):
            bit = naive_bit(3, row, value)
            kept, flipped = weights[bytes([2 * row + bit])], weights[bytes([2 * row + 1 - bit])]
            assert kept * (2**64 - p) == flipped * p
            assert kept + flipped == sum(weights.values()) // rows


def test_over_the_matrices_any_two_values_agree_half_the_time() -> None:
    """That is what q* = 1/2 rests on; one matrix with few rows is off by its own amount."""
    rows = np.arange(64, dtype=np.uint64)
    agreement = []
    for seed in range(4000):
        protocol = RandomMatrixProjection(1.0, 100, rows=64, seed=seed)
        first, second = (protocol.bits(rows, np.array([v], dtype=np.uint64)) for v in (2, 99))
        agreement.append(np.mean(first == second))
    assert np.mean(agreement) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(64 * 4000))
    assert np.var(agreement) == pytest.approx(1 / (4 * 64), rel=0.1)


@pytest.mark.parametrize("rows", [256, 1 << 30])
def test_shared_rows_cost_what_is_stated(rows: int) -> None:
    """Over matrices the error is BLH's plus the pairs that share a row, and is said to be so."""
    d, n = 8, 2000
    held = np.array([1000, 500, 300, 200, 0, 0, 0, 0])
    values = np.repeat(np.arange(d), held)
    rng = np.random.default_rng(2)
    errors, stated = [], []
    for seed in range(600):
        protocol = RandomMatrixProjection(2.0, d, rows=rows, seed=seed)
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        errors.append(found.counts - held)
        stated.append(found.std_errors)
    pairs = held * (held - 1)
    theory = BLH(2.0, d).variance(n, held / n) + (pairs.sum() - pairs) / rows
    measured = np.mean(np.square(errors), axis=0)
    assert measured.mean() == pytest.approx(theory.mean(), rel=0.1)
    assert measured.mean() != pytest.approx(1.3 * theory.mean(), rel=0.1)
    assert np.mean(np.square(stated)) == pytest.approx(theory.mean(), rel=0.1)
    scores = np.mean(errors, axis=0) / np.sqrt(theory / len(errors))
    assert np.abs(scores).max() < 5


def test_malformed_codes_are_refused() -> None:
    """Rows that do not exist do not enter."""
    protocol = RandomMatrixProjection(1.0, 4, rows=5)
    assert len(protocol.parse(bytes(range(10)), None)) == 10
    with pytest.raises(InvalidReport, match="below 10"):
        protocol.parse(b"\x0a")


@pytest.mark.parametrize("rows", [0, -1, 2.0, None, True, "9", 2**60])
def test_impossible_rows_are_refused(rows) -> None:
    """A matrix has a whole number of rows, at least one."""
    with pytest.raises(InvalidParameter, match="rows"):
        RandomMatrixProjection(1.0, 4, rows=rows)


@pytest.mark.parametrize("seed", [-1, 0.5, None, 2**53])
def test_impossible_seeds_are_refused(seed) -> None:
    """A seed is a number that JSON carries exactly."""
    with pytest.raises(InvalidParameter, match="seed"):
        RandomMatrixProjection(1.0, 4, rows=8, seed=seed)

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks.answers import shrink_errors
from deniable import (
    DE,
    OLH,
    OUE,
    Estimates,
    InvalidParameter,
    Protocol,
    SubsetSelection,
    recommend,
)
from deniable.consistency import METHODS, adjust, base_cut, norm_mul, norm_sub, shrink, significance
from tests.marks import examples

SUMMING: list[Callable[[Estimates], Estimates]] = [significance, norm_sub, norm_mul, shrink]


def _estimates(counts: list[float], n: int, null: float = 20.0) -> Estimates:
    return Estimates(np.array(counts), np.full(len(counts), null), n, null)


# Rounded, since counts of 1e-308 people overflow in norm-mul, and no tally leaves such.
estimates = st.builds(
    _estimates,
    st.lists(st.floats(-300, 2000).map(lambda x: round(x, 6)), min_size=1, max_size=30),
    st.integers(1, 3000),
    st.floats(1, 100),
)


def _naive_projection(counts: np.ndarray, n: int) -> np.ndarray:
    """Subtract by bisection the amount that leaves a sum of n."""
    low, high = float(counts.min()) - n, float(counts.max())
    for _ in range(200):
        middle = (low + high) / 2
        if np.maximum(counts - middle, 0).sum() > n:
            low = middle
        else:
            high = middle
    return np.maximum(counts - high, 0)


@pytest.mark.parametrize("method", SUMMING)
@given(found=estimates)
def test_sums_to_n_and_is_not_negative(
    method: Callable[[Estimates], Estimates], found: Estimates
) -> None:
    """Counts that could have been: none below zero, and n together."""
    adjusted = method(found)
    assert adjusted.counts.min() >= 0
    assert adjusted.counts.sum() == pytest.approx(found.n, rel=1e-9)


@pytest.mark.parametrize("method", [norm_sub, norm_mul, base_cut])
@given(found=estimates)
def test_order_is_preserved(method: Callable[[Estimates], Estimates], found: Estimates) -> None:
    """No answer overtakes another."""
    order = np.argsort(found.counts, kind="stable")
    assert (np.diff(method(found).counts[order]) >= 0).all()


@pytest.mark.parametrize("method", METHODS)
@given(found=estimates)
def test_intervals_stay_those_of_the_unbiased_counts(method: str, found: Estimates) -> None:
    """An adjustment changes counts and nothing that is said about their errors."""
    adjusted = adjust(found, method)
    assert adjusted.adjusted == method
    assert np.array_equal(adjusted.unbiased_counts, found.counts)
    assert np.array_equal(adjusted.interval(), found.interval())
    assert np.array_equal(adjusted.significant(), found.significant())


@given(found=estimates)
def test_norm_sub_is_the_projection_on_the_simplex(found: Estimates) -> None:
    """The fast projection is the naive one, and no mixture with n at one answer is nearer."""
    adjusted = norm_sub(found).counts
    assert np.allclose(adjusted, _naive_projection(found.counts, found.n), atol=1e-6)
    distance = np.sum((adjusted - found.counts) ** 2)
    for i in range(len(found)):
        corner = np.zeros(len(found))
        corner[i] = found.n
        moved = 0.999 * adjusted + 0.001 * corner
        assert np.sum((moved - found.counts) ** 2) >= distance * (1 - 1e-9) - 1e-6


@given(found=estimates)
def test_norm_sub_leaves_consistent_counts_alone(found: Estimates) -> None:
    """Counts that are consistent already do not change."""
    consistent = norm_sub(found).counts.copy()
    again = norm_sub(_estimates(consistent.tolist(), found.n)).counts
    assert np.allclose(again, consistent, atol=1e-6)


@given(found=estimates)
def test_norm_mul_keeps_ratios(found: Estimates) -> None:
    """Positive counts keep their ratios."""
    positive = found.counts > 1e-3
    assume(positive.any())
    ratios = norm_mul(found).counts[positive] / found.counts[positive]
    assert np.allclose(ratios, ratios[0])


@settings(max_examples=examples(400))
@given(found=estimates)
def test_significance_keeps_and_spreads(found: Estimates) -> None:
    """Significant counts stay as they are and the others are all equal, if there is mass left."""
    kept = found.significant()
    adjusted = significance(found).counts
    if found.counts[kept].sum() <= found.n and not kept.all():
        assert np.array_equal(adjusted[kept], found.counts[kept])
        assert np.ptp(adjusted[~kept]) == 0
    else:
        scale = found.n / found.counts[kept].sum()
        assert np.allclose(adjusted, np.where(kept, found.counts * scale, 0))


@given(found=estimates)
def test_base_cut_keeps_or_cuts(found: Estimates) -> None:
    """Each count stays or becomes 0."""
    kept = found.significant()
    assert np.array_equal(base_cut(found).counts, np.where(kept, found.counts, 0))


def test_nothing_positive_becomes_uniform() -> None:
    """Where no count is positive every answer gets the same."""
    assert norm_mul(_estimates([-5.0, 0.0], 10)).counts.tolist() == [5.0, 5.0]


def test_adjusting_twice_is_refused() -> None:
    """An adjustment starts from unbiased counts."""
    with pytest.raises(InvalidParameter, match="adjusted by norm-sub"):
        norm_mul(norm_sub(_estimates([5.0, 5.0], 10)))


def test_adjusting_a_part_is_refused() -> None:
    """The largest few of many answers do not add up to n."""
    with pytest.raises(InvalidParameter, match="got 1 of 2"):
        norm_sub(_estimates([5.0, 5.0], 10).top(1))


def test_unknown_methods_are_refused() -> None:
    """The error lists the methods there are."""
    with pytest.raises(InvalidParameter, match="norm-sub"):
        adjust(_estimates([5.0, 5.0], 10), "norm")


def test_biases_are_as_described() -> None:
    """On skewed data norm-sub errs least, and norm-mul takes from the frequent answers."""
    protocol = OUE(1.0, 200)
    truth = np.round(20_000 * 0.5 ** np.arange(1, 201)).astype(int)
    truth[0] += 20_000 - truth.sum()
    values = np.repeat(np.arange(200), truth)
    rng = np.random.default_rng(9)
    errors: dict[str, list[np.ndarray]] = {name: [] for name in ("unbiased", *METHODS)}
    for _ in range(40):
        found = protocol.estimate(protocol.tally(protocol.privatize(values, rng)))
        errors["unbiased"].append(found.counts - truth)
        for name in METHODS:
            errors[name].append(adjust(found, name).counts - truth)
    squared = {name: np.mean(np.square(error)) for name, error in errors.items()}
    bias = {name: np.mean(error, axis=0) for name, error in errors.items()}
    assert squared["norm-sub"] < squared["unbiased"] / 5
    assert squared["norm-sub"] < squared["norm-mul"]
    assert bias["norm-mul"][0] < -2000
    assert -500 < bias["norm-sub"][0] < 0 < bias["norm-sub"][100:].mean()


def test_the_nearest_counts_of_hopeless_noise_add_up() -> None:
    """Errors of 10^17 people among one do not keep norm-sub from finding counts that add up."""
    protocol = DE(1e-17, 2)
    for report in (0, 1):
        found = protocol.estimate(protocol.tally(np.array([report], dtype=protocol.report_dtype)))
        assert norm_sub(found).counts.sum() == pytest.approx(1)


def test_shrink_is_better_than_norm_sub_for_many_answers() -> None:
    """A short form of ``benchmarks.answers shrink``: Zipf over 1,000 answers."""
    shares = 1 / np.arange(1, 1001) / (1 / np.arange(1, 1001)).sum()
    protocol = recommend(1.0, 1000).best.protocol
    unbiased, near, drawn = shrink_errors(protocol, shares, 100_000, 1)
    assert drawn < 0.65 * near < 0.65 * unbiased


@pytest.mark.parametrize("protocol", [SubsetSelection(1.0, 32), OLH(1.0, 32)], ids=repr)
def test_shrink_harms_nobody_who_has_few_answers(protocol: Protocol) -> None:
    """With 32 answers the total error is at most that of the unbiased counts."""
    shares = 1 / np.arange(1, 33) / (1 / np.arange(1, 33)).sum()
    unbiased, _, drawn = shrink_errors(protocol, shares, 100_000, 3)
    assert drawn < 1.03 * unbiased


def test_shrink_keeps_what_is_significant_and_adds_up() -> None:
    """Significant counts move by little, no count is negative, and all add up to n."""
    protocol = DE(1.0, 6)
    values = np.repeat(np.arange(6), [4000, 2000, 30, 20, 10, 0])
    found = protocol.estimate(protocol.tally(protocol.privatize(values, np.random.default_rng(1))))
    shrunk = adjust(found, "shrink")
    assert shrunk.counts.sum() == pytest.approx(6060)
    assert shrunk.counts.min() >= 0
    assert shrunk.adjusted == "shrink"
    kept = found.significant()
    assert np.all(np.abs(shrunk.counts - found.counts)[kept] < found.std_errors[kept])
    assert np.array_equal(shrunk.interval(), found.interval())
    certain = replace(found, counts=np.full(6, 1010.0))
    assert adjust(certain, "shrink").counts == pytest.approx(1010)

"""What is special to protocols for sets: their laws by enumeration, their values, their limits."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable import (
    InvalidParameter,
    InvalidReport,
    OutOfDomain,
    PolynomialSelection,
    SetSelection,
    Tally,
)
from deniable.protocols.sets import Cases, Sets
from deniable.randomness import WORD, Replayed, exponential_bounds
from deniable.statistics import Collected
from tests.marks import examples, shortened
from tests.naive import sets as naive

RANKED = [(1.0, 5, 2, 2), (2.0, 6, 3, 2), (0.5, 6, 2, 3), (1.0, 4, 1, 2), (3.0, 4, 3, 4)]
POLYNOMIALS = [(1.0, 3, 2, 5, 1), (2.0, 4, 2, 7, 2), (0.5, 5, 2, 7, 3), (1.0, 4, 1, 5, 2)]


def check_law(protocol: Sets, laws: list[list[Fraction]], supported: list[set[int]]) -> None:
    """Compare p*, q* and the worst ratio with what the laws of all sets give."""
    p, q = protocol.parameters.exact_p, protocol.parameters.exact_q
    every = naive.all_sets(protocol.domain_size, protocol.at_most)
    for held, law in zip(every, laws, strict=True):
        assert sum(law) == 1
        assert min(law) > 0
        for point in range(protocol.points):
            chance = sum(c for c, s in zip(law, supported, strict=True) if point in s)
            assert chance == (p if point in held else q)
    columns = list(zip(*laws, strict=True))
    worst = max(max(column) / min(column) for column in columns)
    assert worst == protocol.worst_ratio <= exponential_bounds(protocol.epsilon)[0]


@pytest.mark.parametrize("shape", RANKED, ids=repr)
def test_the_law_of_set_selection_is_exact(shape: tuple[float, int, int, int]) -> None:
    """p*, q* and the ratio hold as fractions, for items and dummies, whatever the set's size."""
    protocol, (epsilon, d, most, k) = SetSelection(*shape), shape
    drawn = naive.weights(epsilon, naive.overlaps(d, most, k))
    assert protocol.specification()["weights"] == list(map(str, drawn))
    laws = [naive.set_law(held, (d, most, k), drawn) for held in naive.all_sets(d, most)]
    check_law(protocol, laws, [set(s) for s in naive.all_subsets(d + most, k)])


@pytest.mark.parametrize("shape", shortened(POLYNOMIALS, "larger fields", keep=1), ids=repr)
def test_the_law_of_polynomial_selection_is_exact(
    shape: tuple[float, int, int, int, int],
) -> None:
    """p*, q* and the ratio hold as fractions; every polynomial may come from every set."""
    protocol, (epsilon, d, most, g, m) = PolynomialSelection(*shape), shape
    drawn = naive.weights(epsilon, naive.hits(most, g, m))
    assert protocol.specification()["weights"] == list(map(str, drawn))
    found = [naive.polynomial_law(held, (g, m), drawn) for held in naive.all_sets(d, most)]
    supported = [{x for x in range(g) if naive.evaluate(h, x, g) < m} for h in found[0]]
    check_law(protocol, [list(law.values()) for law in found], supported)
    # A point of the field that stands for nothing is supported as any other that is not held.
    unused = [sum(c for c, s in zip(law.values(), supported, strict=True) if g - 1 in s)
              for law in found]  # fmt: skip
    assert d + most == g or set(unused) == {protocol.parameters.exact_q}


def words_for(protocol: Sets) -> st.SearchStrategy[list[int]]:
    """Return words below their limits."""
    limits = protocol.words.limits
    each = [st.integers(0, limits.get(i, WORD) - 1) for i in range(protocol.words.count)]
    return st.tuples(*each).map(list)


@pytest.mark.parametrize("kind", [SetSelection, PolynomialSelection])
def test_reports_are_those_of_the_twin(kind: type[Sets]) -> None:
    """The same words make the same reports as the definition, one by one and in bulk."""
    chosen = [protocol for protocol in kind.examples() if protocol.value_count < 100]

    @settings(deadline=None, max_examples=examples(60))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        protocol = data.draw(st.sampled_from(chosen))
        words = data.draw(st.lists(words_for(protocol), min_size=1, max_size=5))
        numbers = data.draw(st.lists(st.integers(0, protocol.value_count - 1), min_size=5))
        held = protocol.numbered(np.array(numbers[: len(words)], dtype=np.uint64))
        drawn = list(map(int, protocol.specification()["weights"]))
        d, most = protocol.domain_size, protocol.at_most
        if isinstance(protocol, SetSelection):
            make, shape = naive.set_report, (d, most, protocol.size)
        else:
            make, shape = naive.polynomial_report, (protocol.g, protocol.window)
        expected = [
            make(row, each, shape, drawn) for row, each in zip(held.tolist(), words, strict=True)
        ]
        array = np.array(words, dtype=np.uint64)
        assert protocol._perturb(held, array).tolist() == expected
        assert protocol._perturb_many(held, array).tolist() == expected

    check()


@pytest.mark.parametrize("protocol", [SetSelection(1.0, 6, 3, 2), PolynomialSelection(1.0, 6, 3)])
def test_numbers_name_all_sets_once(protocol: Sets) -> None:
    """Sets are numbered by their size, then by rank; all rows are values, and no two are equal."""
    rows = protocol.numbered(np.arange(protocol.value_count, dtype=np.uint64))
    assert rows.tolist() == naive.all_sets(6, 3)
    assert protocol.value_count == len(naive.sets_of(6, 3))
    assert len(protocol.privatize(rows)) == len(rows)


def test_there_may_be_more_sets_than_64_bits_can_number() -> None:
    """The first 2^64 of them have numbers."""
    protocol = PolynomialSelection(1.0, 41_270, 8)
    assert protocol.value_count > WORD
    rows = protocol.numbered(np.array([0, 41_270, WORD - 1], dtype=np.uint64))
    assert rows[1].tolist() == [41_269, *range(41_270, 41_277)]
    assert len(protocol.privatize(rows)) == 3


@pytest.mark.parametrize(
    "row",
    [[1, 0], [1, 1], [0, 5], [5, 4], [5, 6], [4, 4], [3, 5], [6, 7]],
    ids=repr,
)
@pytest.mark.parametrize("protocol", [SetSelection(1.0, 4, 2, 2), PolynomialSelection(1.0, 4, 2)])
def test_rows_that_are_no_padded_set_are_refused(protocol: Sets, row: list[int]) -> None:
    """Items ascend and none is there twice; dummies are the first ones. Nothing shows the row."""
    with pytest.raises(OutOfDomain, match="position 1") as caught:
        protocol.privatize([[0, 4], row])
    assert caught.value.value == 1


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SetSelection(1.0, 5, 0), "at_most as a whole number from 1 to 4"),
        (lambda: SetSelection(1.0, 5, 5), "at_most as a whole number from 1 to 4"),
        (lambda: PolynomialSelection(1.0, 500, 33), "at_most as a whole number from 1 to 32"),
        (lambda: SetSelection(1.0, 5, True), "at_most as a whole number"),
        (lambda: SetSelection(1.0, 5, 2, 6), "size of the sets as a whole number from 1 to 5"),
        (lambda: SetSelection(1.0, 1000, 8, 9), r"fewer than 2\^63 sets"),
        (lambda: SetSelection(1.0, 2**30, 2, 1), "binomials"),
        (lambda: PolynomialSelection(1.0, 10, 2, 15), "g as a prime number"),
        (lambda: PolynomialSelection(1.0, 10, 2, 11), "g as a whole number from 12"),
        (lambda: PolynomialSelection(1.0, 10, 2, 2**31 - 1), "g as a whole number"),
        (lambda: PolynomialSelection(1.0, 10, 2, 13, 13), "window as a whole number from 1 to 12"),
        (lambda: PolynomialSelection(1.0, 10, 2, 13, 0), "window as a whole number"),
        (lambda: PolynomialSelection(1.0, 2**20, 2), "g as a whole number"),
        (lambda: SetSelection(1e-20, 10, 2), "epsilon that 64-bit"),
        (lambda: PolynomialSelection(1e-20, 10, 2), "epsilon that 64-bit"),
    ],
)
def test_settings_that_cannot_be_are_refused(make: Callable[[], Sets], said: str) -> None:
    """The error says what may be, and what to do."""
    with pytest.raises(InvalidParameter, match=said):
        make()


def test_coefficients_outside_of_the_field_are_refused() -> None:
    """Each of a polynomial's is below g, and there are as many as at_most and one."""
    protocol = PolynomialSelection(1.0, 10, 2, 13)
    assert protocol.parse(bytes([12, 0, 12])).tolist() == [[12, 0, 12]]
    for sent in ([13, 0, 0], [0, 13, 0], [0, 0, 255]):
        with pytest.raises(InvalidReport, match="coefficients below 13"):
            protocol.parse(bytes(sent))
    with pytest.raises(InvalidReport, match="3 bytes"):
        protocol.parse(bytes(2))


def settings_of(kind: type[Sets], count: int) -> list[tuple[float, int, int]]:
    """Return settings from the whole range, the same every time."""
    rng, found = np.random.default_rng(24), []
    for _ in range(count):
        d = int(2 ** rng.uniform(1.01, 14 if kind is SetSelection else 19))
        most = int(rng.integers(1, min(32, d - 1), endpoint=True))
        found.append((float(np.exp(rng.uniform(-5, 4))), d, most))
    return found


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        *((kind, 40) for kind in (SetSelection, PolynomialSelection)),
        *(
            pytest.param(kind, 500, marks=pytest.mark.long("500 settings"))
            for kind in (SetSelection, PolynomialSelection)
        ),
    ],
)
def test_realised_epsilon_never_exceeds_epsilon(kind: type[Sets], count: int) -> None:
    """Whatever the setting: by the exact weights, with p* above q* and reports that fit."""
    for setting in settings_of(kind, count):
        protocol = kind(*setting)
        assert 0 < protocol.realised_epsilon <= protocol.epsilon, setting
        assert 0 < protocol.parameters.exact_q < protocol.parameters.exact_p < 1, setting
        assert sum(map(int, protocol.specification()["weights"])) == WORD
        assert protocol.from_specification(protocol.specification()) == protocol


def test_weights_that_64_bits_cannot_keep_apart_are_refused() -> None:
    """Rounding that would let two reports differ by more than e^epsilon is noticed, not hidden."""
    rounded = Cases((10, 1), (WORD - 3, 3))
    assert not rounded.holds(0.1)
    with pytest.raises(InvalidParameter, match="64-bit"):
        rounded.check(0.1)
    assert Cases.at(0.1, (10, 1)).holds(0.1)


def test_many_items_keep_their_reports_and_count_what_is_asked() -> None:
    """Beyond 4,096 points a tally keeps reports; some items are counted by themselves, or all."""
    protocol = PolynomialSelection(2.0, 5000, 3)
    rng = np.random.default_rng(3)
    values = protocol.numbered(rng.integers(0, 5001, 3000).astype(np.uint64))
    reports = protocol.privatize(values, rng)
    tally = protocol.tally(reports)
    assert isinstance(tally.statistic, Collected)
    assert Tally.from_bytes(tally.to_bytes()) == tally
    every, some = protocol.estimate(tally), protocol.estimate(tally, [7, 4999])
    assert some.counts.tolist() == every.counts[[7, 4999]].tolist()
    assert some.sizes.counts.tolist() == every.sizes.counts.tolist()
    expected = [np.count_nonzero(protocol.supports(reports, x)) for x in (7, 4999, 5002)]
    assert protocol.support_counts(reports)[[7, 4999, 5002]].tolist() == expected
    small = PolynomialSelection(2.0, 50, 3)
    assert small.tally(small.privatize([[1, 50, 51]])).statistic.form == "counts"


@pytest.mark.parametrize(
    ("protocol", "most"), [(SetSelection(1.0, 20, 3), 3), (PolynomialSelection(1.0, 20, 3), 4)]
)
def test_a_forged_report_moves_no_more_than_is_said(protocol: Sets, most: int) -> None:
    """The influence on some items is that of the report that supports the most of them."""
    items = [0, 3, 5, 9]
    raised = min(most, getattr(protocol, "size", None) or 4)
    p, q = protocol.parameters.exact_p, protocol.parameters.exact_q
    assert protocol.influence(items) == pytest.approx(float((raised - 4 * q) / (p - q)))


def test_the_best_settings_have_the_least_variance() -> None:
    """No other size of sets, and no other window, does better for rare items."""
    ranked = SetSelection(1.0, 12, 3)
    sizes = [SetSelection(1.0, 12, 3, k).variance(1) for k in range(1, 13)]
    assert ranked.variance(1) == min(sizes)
    window = PolynomialSelection(1.0, 30, 3)
    windows = [PolynomialSelection(1.0, 30, 3, window.g, m).variance(1) for m in range(1, 33)]
    assert window.variance(1) == pytest.approx(min(windows), rel=1e-12)


def test_a_report_that_a_word_below_its_limit_gives_uses_all_words() -> None:
    """All words are drawn whatever the set, so that nothing shows in how many are read."""
    for protocol in (SetSelection(1.0, 30, 4), PolynomialSelection(1.0, 30, 4)):
        for held in ([30, 31, 32, 33], [0, 1, 2, 3]):
            source = Replayed(bytes(8 * protocol.words.count + 64))
            protocol.privatize([held], source)
            assert source.position == 8 * protocol.words.count
    assert math.log2(SetSelection(1.0, 30, 4).report_bits) >= 3

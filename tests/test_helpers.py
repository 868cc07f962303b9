import gzip
import io
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deniable import DE, BasicRAPPOR
from deniable.advice.disclosure import linkability
from deniable.advice.ranking import saving
from deniable.cli.inputs import suffix_of
from deniable.documents import decompressed
from deniable.kernels.hashes import words_of
from deniable.law import LaplaceLaw, RepeatedLaw, SupportLaw, upper_normal
from deniable.law.binomial_sum import Chance, clopper_pearson, last_true, upper_quantile
from deniable.law.difference import fisher_tail, upper_limits
from deniable.presentation.tables import guarded, unguarded
from deniable.progress import listening, tell
from deniable.protocols import discover
from deniable.protocols.basic_rappor import permanent_epsilon
from deniable.protocols.hashing import MultiplyShiftFamily
from deniable.protocols.histogram import best_threshold
from deniable.protocols.linear import (
    best_integer,
    best_prime_power,
    digits,
    fits,
    hashing_variance,
)
from deniable.protocols.subset import SubsetSelection, best_size
from deniable.simulation import Population, try_protocol
from deniable.validation import check_whole, exact_sum, smallest_unsigned


def test_limits_and_tails_are_those_of_tables():
    """Quantiles, limits and tails have the values that statistical tables give."""
    assert round(upper_normal(0.025), 3) == 1.96
    assert upper_quantile(1000, Chance(0.5, 0.5), 0.05) == 526
    assert upper_quantile(1000, Chance(0.001, 0.999), 1e-6) == 9
    assert clopper_pearson(50, 100, 0.025) == pytest.approx((0.3983, 0.6017), abs=5e-5)
    assert fisher_tail(np.array([3.0]), 4, np.array([1.0]), 4) == pytest.approx(0.2429, abs=5e-5)
    assert upper_limits(np.array([0.0]), 1, np.array([1.0]), 1, 0.025).tolist() == [1.0]
    wide = upper_limits(np.array([30.0]), 50, np.array([20.0]), 50, 0.025)
    assert wide == pytest.approx(0.0155, abs=5e-5)


def test_laws_have_the_variances_of_their_formulas():
    """The Laplace threshold is that of its scale, and repeated reports average only part away."""
    # The scale is 2; half of e^-9.21 is 5e-5.
    assert LaplaceLaw(1, 1.0).threshold(0.05 / 1000) / 2 == pytest.approx(9.2, abs=0.1)
    half, quarter = Fraction(3, 4), Fraction(1, 4)
    once, often = (RepeatedLaw(200, 200 * r, quarter, half, quarter) for r in (1, 50))
    assert (round(once.variance.none, 1), round(often.variance.none, 1)) == (750.0, 162.0)


def test_supports_exceed_their_limit_as_their_law_says():
    """Few supports of an answer nobody gave exceed the limit, and nearly all of a frequent one."""
    law = SupportLaw(1000, Fraction(1, 2), Fraction(1, 50))
    assert (law.limit(0.05 / 1000), round(law.threshold(0.05 / 1000), 2)) == (39, 40.62)
    assert [round(law.exceeds(held, 39), 3) for held in (0, 40, 73)] == [0.0, 0.47, 0.996]


def test_one_report_before_and_after_tells_a_change():
    """The advantage of the best test for a change is the one that the protocol's page states."""
    found = linkability(BasicRAPPOR(64, 0.5, 0.75, 0.25), samples=2000)
    assert 0.55 < found.advantage < 0.63


def test_the_last_number_with_a_property_is_found_from_any_guess():
    """A search from any guess ends at the last number that has the property."""
    assert {last_true(lambda i: i * i <= 200, guess) for guess in (1, 3, 14, 15, 1000)} == {14}


def test_settings_are_chosen_by_the_variance():
    """Ranges, sizes, thresholds and noise follow from epsilon as the formulas say."""
    assert [round(permanent_epsilon(f, 2), 2) for f in (0.5, 0.25)] == [4.39, 7.78]
    assert best_threshold(4.0) == pytest.approx(0.81567, abs=1e-5)
    assert round(hashing_variance(1.0, 4), 2) == 3.69
    assert [best_integer(epsilon) for epsilon in (1.0, 4.0)] == [4, 56]
    assert [best_prime_power(epsilon, 1000) for epsilon in (1.0, 2.0)] == [4, 8]
    assert [best_size(epsilon, 12) for epsilon in (1.0, 4.0, 1.8)] == [3, 1, 2]
    assert best_size(1.8, 12, 0.0) == 1


def test_hash_families_have_digits_that_fit():
    """Digits cover the domain, codes stay within 64 bits, and two hashes collide as they should."""
    assert [digits(*each) for each in ((4, 1000), (2, 2), (101, 5))] == [5, 1, 1]
    assert [fits(8_886_109, d) for d in (2**20, 2**24)] == [True, False]
    assert MultiplyShiftFamily(2).collision == Fraction(1, 2)


def test_public_words_are_those_of_splitmix64():
    """The first words of the seed 0 are those that every implementation of SplitMix64 gives."""
    words = words_of(np.array([0], np.uint64), np.arange(2, dtype=np.uint64))
    assert [hex(word) for word in words] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4"]


def test_integers_keep_all_their_digits():
    """Whole numbers of any type are taken, sums do not wrap, and types are the narrowest."""
    assert check_whole("g", np.int64(3), 2, 10) == 3
    assert exact_sum(np.array([2**62, 2**62, 2**62])) == 3 * 2**62
    assert [smallest_unsigned(n) for n in (255, 256)] == [np.dtype("u1"), np.dtype("u2")]


def test_protocols_are_found_and_tried():
    """A protocol is found by its name, and a trial has an error for each run."""
    assert "OLH" in discover()
    people = Population(("kiwi", "fig"), np.array([0] * 30 + [1] * 10))
    assert len(try_protocol(DE(1.0, 2), people, runs=3).squared_errors) == 3


def test_gzip_is_decompressed_as_it_is_read():
    """What gzip holds is read as if it had not been compressed."""
    assert decompressed(io.BytesIO(gzip.compress(b"kiwi"))).read() == b"kiwi"


def test_memoised_reports_reveal_what_their_formula_says():
    """The loss grows with the reports up to that of the permanent response, which f decides."""
    assert BasicRAPPOR.from_epsilon(math.log(9), 10).f == pytest.approx(0.5, abs=1e-9)
    protocol = BasicRAPPOR(32, 0.5, 0.75, 0.25)
    assert [round(protocol.epsilon_after(k), 2) for k in (1, 2, 4, 8)] == [1.02, 1.69, 2.13, 2.2]


def test_people_saved_are_told_in_a_sentence():
    """The saving against the guideline is told in people and as a share of them."""
    assert str(saving(SubsetSelection(1.0, 12), 26_683)) == (
        "OUE, which the paper's guideline takes, would need 33,213 people for that: 6,530 (20 %) "
        "saved."
    )


def test_a_listener_is_told_how_far_the_work_is():
    """Who listens hears each step, and nobody hears it afterwards."""
    heard = []
    with listening(lambda done, total: heard.append((done, total))):
        tell(1, 2)
    tell(2, 2)
    assert heard == [(1, 2)]


def test_names_and_cells_are_read_as_they_were_meant():
    """A compressed file has the suffix of its contents, and the guard of a cell comes off."""
    assert suffix_of(Path("people.CSV.gz")) == ".csv"
    cells = ("=1+1", "kiwi", "'tis", "'=1", "", "-")
    assert [unguarded(guarded(cell)) for cell in cells] == list(cells)

"""What is special to local hashing: exact collisions, candidates afterwards, fast decoding."""

import lzma
import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from deniable import (
    BLH,
    LH,
    OLH,
    DeniableError,
    InvalidParameter,
    OpenLH,
    Protocol,
    fingerprint,
    fingerprints,
)
from deniable.kernels import parallel
from deniable.protocols import linear
from deniable.protocols.hashing import MultiplyShiftFamily
from deniable.protocols.linear import (
    LinearFamily,
    best_integer,
    best_prime_power,
    digits,
    fits,
    hashing_variance,
    is_linear,
)
from deniable.randomness import WORD, Direct
from tests.naive import fields as naive


@pytest.mark.parametrize("g", [2, 3, 6, 10, 53])
def test_multiply_shift_collides_as_often_as_it_says(g: int) -> None:
    """Over random hash functions, near and far keys collide with the stated probability."""
    family = MultiplyShiftFamily(g)
    rng = np.random.default_rng(g)
    words = rng.integers(0, 2**64 - 1, (400_000, 4), dtype=np.uint64, endpoint=True)
    collision = float(family.collision)
    for x, y in [(0, 1), (1, 2), (0, 2**32), (5, 2**63 + 5), (2**64 - 1, 2**64 - 2), (123, 456)]:
        hashed = [
            family.perturb(
                np.full(len(words), key, dtype=np.uint64), words, Direct(2**64 - g + 1, 1, g)
            )["y"]
            for key in (x, y)
        ]
        rate = np.mean(hashed[0] == hashed[1])
        assert abs(rate - collision) < 5 * math.sqrt(collision / len(words))


def test_multiply_shift_collision_is_the_sum_of_squared_shares() -> None:
    """The exact rational is what counting the 32-bit integers of each hash value gives."""
    for g in (2, 3, 5, 6, 7, 1000):
        edges = [-(-y * 2**32 // g) for y in range(g + 1)]
        shares = [Fraction(b - a, 2**32) for a, b in pairwise(edges)]
        assert MultiplyShiftFamily(g).collision == sum(share**2 for share in shares)


@pytest.mark.parametrize(("g", "d"), [(2, 5), (3, 9), (4, 7), (5, 5), (9, 20)])
def test_linear_hash_functions_collide_for_exactly_one_in_g(g: int, d: int) -> None:
    """Of all g^t functions, 1/g map any two different values alike."""
    family = LinearFamily(g, d)
    functions = np.arange(family.functions, dtype=np.uint64)
    hashes = [family.field.dot(functions, np.uint64(v), family.digits) for v in range(d)]
    for v in range(d):
        for w in range(v):
            assert np.sum(hashes[v] == hashes[w]) * g == family.functions


ORDERS = [2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 53, 64, 101, 1031, 2048, 37**2, 65537]


@given(st.sampled_from(ORDERS), st.integers(1, 3), st.data())
@settings(deadline=None)
def test_linear_reports_are_those_of_the_twin(g: int, t: int, data: st.DataObject) -> None:
    """The same words make the same reports as the formula, at every boundary of the weights."""
    assume(g ** (t + 1) <= WORD and g**t < 2**31)
    family, step = LinearFamily(g, g**t), WORD // g**t
    q = data.draw(st.integers(1, WORD // g))
    p = WORD - (g - 1) * q
    edge = st.sampled_from([0, p - 1, min(p, WORD - 1), min(p + q, WORD - 1), WORD - 1])
    word = st.integers(0, step * g**t - 1), st.one_of(edge, st.integers(0, WORD - 1))
    rows = data.draw(st.lists(st.tuples(st.integers(0, g**t - 1), *word), max_size=20))
    values = np.array([v for v, *_ in rows], np.uint64)
    words = np.array([r for _, *r in rows], np.uint64).reshape(-1, 2)
    codes = family.perturb(values, words, Direct(p, q, g))
    scheme = family.field, family.digits, (step, p, q)
    assert codes.tolist() == [naive.perturb(v, r, *scheme) for v, *r in rows]


def test_bulk_reports_do_not_depend_on_the_number_of_threads() -> None:
    """Several chunks on several threads make the reports that one thread makes."""
    protocol, made = LH(1.0, 53**3, 53), []
    values = np.random.default_rng(1).integers(0, 53**3, 300_000)
    for threads in (1, 3):
        parallel.set_threads(threads)
        made.append(protocol.privatize(values, np.random.default_rng(2)))
    parallel.set_threads(None)
    assert np.array_equal(*made)


def test_true_values_are_supported_by_their_own_reports() -> None:
    """Reports made without noise support the value they were made of, each of them."""
    rng, family, n = np.random.default_rng(2), LinearFamily(8, 3000), 1000
    words = rng.integers(0, WORD - 1, (n, 2), dtype=np.uint64, endpoint=True)
    words[:, 1] = 0
    total = family.new_sum()
    total.add(family.perturb(np.full(n, 1234, np.uint64), words, Direct(2**63, 2**63 // 7, 8)))
    counted = family.support(total.statistic())
    assert counted[1234] == n == counted.max()
    assert np.delete(counted, 1234).mean() == pytest.approx(n / 8, rel=0.05)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0])
def test_ranges_are_the_best_there_are(epsilon: float) -> None:
    """No integer beats best_integer, and best_prime_power is within 1 % of all prime powers."""
    around = range(2, 3 * int(math.exp(epsilon)) + 10)
    assert best_integer(epsilon) == min(around, key=lambda g: hashing_variance(epsilon, g))
    best = min(hashing_variance(epsilon, g) for g in around if is_linear(g))
    for d in (2, 100, 41_270, 10**6):
        chosen = best_prime_power(epsilon, d)
        assert is_linear(chosen)
        assert hashing_variance(epsilon, chosen) <= 1.01 * best


def test_the_range_of_olh_is_stored_and_not_chosen_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question keeps its g whatever becomes of the rule, and any field may be given."""
    stored = OLH(2.0, 1000).specification()
    assert list(stored)[:5] == ["name", "epsilon", "domain_size", "family", "g"]
    monkeypatch.setattr(linear, "best_prime_power", lambda *_: 5)
    assert Protocol.from_specification(stored).g == stored["g"] == 8
    assert OLH(2.0, 1000).g == 5
    other = OLH(2.0, 1000, g=27)
    assert other != OLH(2.0, 1000)
    assert Protocol.from_specification(other.specification()) == other
    assert other.parameters == LH(2.0, 1000, 27).parameters
    assert pickle.loads(pickle.dumps(other)) == other


@pytest.mark.parametrize("g", [0, 1, 6, 2**17, 2**31, 8.0, True, "8"])
def test_ranges_of_olh_that_have_no_field_are_refused(g: object) -> None:
    """OLH's tally needs a field; LH takes other ranges."""
    with pytest.raises(InvalidParameter, match="g as a"):
        OLH(1.0, 100, g)


def test_ranges_whose_reports_pass_64_bits_are_refused() -> None:
    """A large field over a large domain has more reports than eight bytes can name."""
    with pytest.raises(InvalidParameter, match="at most 64 bits"):
        OLH(1.0, 2**24, 8_886_109)


def test_digits_cover_the_domain() -> None:
    """The digits are enough, and one fewer are not."""
    for g in (2, 3, 53):
        for d in (2, g - 1 or 2, g, g + 1, 1000, 10**6):
            t = digits(g, d)
            assert g**t >= d
            assert t == 1 or g ** (t - 1) < d


def test_prime_powers_are_linear_and_other_ranges_multiply_and_shift() -> None:
    """LH takes any range of two or more."""
    assert isinstance(LH(1.0, 10, 9)._family, LinearFamily)
    assert isinstance(LH(1.0, 10, 10)._family, MultiplyShiftFamily)
    assert LH(1.0, 10, 2).parameters == BLH(1.0, 10).parameters


def test_open_domain_finds_labels_nobody_listed_in_advance() -> None:
    """Reports are kept, so that candidates can be named long after collection."""
    protocol = OpenLH(3.0)
    answers = ["päivää"] * 3000 + ["hello, world"] * 1000 + ["\n"] * 500
    reports = protocol.privatize(fingerprints(answers), np.random.default_rng(1))
    tally = protocol.tally(np.array_split(reports, 7))
    estimates = protocol.estimate(tally, ["\n", "päivää", "hello, world", "absent"])
    error = np.abs(estimates.counts - [500, 3000, 1000, 0])
    assert (error < 5 * estimates.std_errors).all()
    assert estimates.significant().tolist() == [True, True, True, False]
    keys = fingerprints(["päivää"])
    assert protocol.estimate(tally, keys).counts[0] == estimates.counts[1]
    assert protocol.support_counts(reports, ["absent"]).shape == (1,)
    with pytest.raises(InvalidParameter, match="candidate"):
        protocol.estimate(tally, [])


def test_small_and_large_decoding_agree() -> None:
    """The NumPy path of few reports and the compiled path of many count the same supports."""
    for protocol in (OLH(1.0, 700), OLH(3.0, 700), LH(1.0, 700, 6), BLH(0.3, 700)):
        reports = protocol.privatize(np.arange(6000) % 700, np.random.default_rng(2))
        parts = [protocol.support_counts(reports[i : i + 1000]) for i in range(0, 6000, 1000)]
        assert np.array_equal(protocol.support_counts(reports), sum(parts))


@pytest.mark.parametrize("protocol", [OLH(7.0, 500), LH(1.0, 700, 1031), LH(1.0, 3000, 2048)])
def test_many_reports_over_a_large_field_are_tallied(protocol) -> None:
    """A field too large for tables of products has its reports folded one by one."""
    values = np.arange(40_000) % protocol.domain_size
    reports = protocol.privatize(values, np.random.default_rng(6))
    decoded = protocol.support_counts(reports)
    for value in (0, 1, protocol.domain_size - 1):
        assert decoded[value] == np.count_nonzero(protocol.supports(reports, value))
    parts = np.split(reports, 8)
    assert protocol.tally(iter(parts)) == protocol.tally(reports)


def kosarak(shared_data) -> np.ndarray:
    """Return the pages of the first 100,000 Kosarak sessions, one click each, from 0."""
    with lzma.open(shared_data / "kosarak-first-100000.dat.xz", "rt") as lines:
        return np.array([int(page) - 1 for line in lines for page in line.split()])


@pytest.mark.long("a large data set")
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_real_clicks_decode_to_the_definition(shared_data, epsilon: float) -> None:
    """On Kosarak, each checked value's support is its count of reports with <u, v> = y."""
    clicks = kosarak(shared_data)
    protocol = OLH(epsilon, 41_270)
    reports = protocol.privatize(clicks, np.random.default_rng(3))
    tally = protocol.tally(reports)
    decoded = protocol.support_counts(reports)
    for value in [0, 1, 5, 41_269, *np.random.default_rng(4).integers(0, 41_270, 20).tolist()]:
        assert decoded[value] == np.count_nonzero(protocol.supports(reports, value))
    true = np.bincount(clicks, minlength=41_270)
    errors = protocol.estimate(tally).counts - true
    theory = np.mean(protocol.variance(len(clicks), true / len(clicks)))
    assert np.mean(errors**2) == pytest.approx(theory, rel=0.1)


@pytest.mark.parametrize(
    ("protocol", "value"),
    [
        (OLH(16.0, 2**24), 2**24 - 1),
        (OLH(15.0, 10_000_000), 5),
        (LH(15.0, 6_000_000, 4_000_037), 5),
        (OLH(50.0, 2**24), 7),
    ],
    ids=repr,
)
def test_huge_domains_have_codes_that_fit(protocol, value: int) -> None:
    """Where g^(t+1) would pass 2^64 another g or family is taken, and reports support the truth."""
    rng, share = np.random.default_rng(41), protocol.parameters.p
    for count in (2000, 200_000):
        reports = protocol.privatize(np.full(count, value), rng)
        rate = protocol.supports(reports, value).mean()
        assert abs(rate - share) < 5 * math.sqrt(share * (1 - share) / count) + 1e-9


def test_every_range_that_is_chosen_fits() -> None:
    """OLH's codes have at most 64 bits at every epsilon and domain size, and never a worse g."""
    for epsilon in (12.0, 14.0, 14.7, 15.0, 16.0, 20.0, 50.0):
        for domain_size in (2, 2**20, 2_642_245, 2_642_247, 2**22, 2**24, 2**30):
            g = best_prime_power(epsilon, domain_size)
            assert fits(g, domain_size)
            assert is_linear(g)
            near = hashing_variance(epsilon, 2_642_239)
            assert hashing_variance(epsilon, g) <= 1.01 * near


def test_candidates_are_different_fingerprints_or_labels() -> None:
    """What is no fingerprint, comes twice or is no list of labels is refused."""
    protocol = OpenLH(2.0)
    reports = protocol.privatize(fingerprints(["kiwi", "fig"]), np.random.default_rng(5))
    tally = protocol.tally(reports)
    for wrong in (
        *(np.array(x) for x in ([-1], [[1, 2]], [7, 7], [1.0], [True], 5, [["a"]], ["a", "a"])),
        *(None, 5, "kiwi", b"kiwi", [["a"]], [None], [1, 2], iter(["a"]), [], ["a", "a"]),
        np.ma.array([1, 2], mask=[0, 1]),
    ):
        with pytest.raises(DeniableError):
            protocol.estimate(tally, wrong)
        with pytest.raises(DeniableError):
            protocol.support_counts(reports, wrong)
    keys = np.array([fingerprint("kiwi"), 2**64 - 1], dtype=np.uint64)
    found = protocol.estimate(tally, keys).counts[0]
    assert found == protocol.estimate(tally, np.array(["kiwi", "plum"])).counts[0]

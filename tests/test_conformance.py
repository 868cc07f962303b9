"""Every property that every protocol must have, on every protocol that is found."""

import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from itertools import product

import numpy as np
import pytest

from deniable import (
    DE,
    Closed,
    DeniableError,
    Estimates,
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    InvalidReport,
    Open,
    OpenLH,
    OutOfDomain,
    Protocol,
    Tally,
    audit,
)
from deniable.auditing import output_law
from deniable.auditing.enumeration import find_models
from deniable.auditing.probe import Probe
from deniable.auditing.report_law import worst_pair
from deniable.documents import canonical_json
from deniable.protocols import discover
from deniable.randomness import Replayed, Seeded
from deniable.statistics import Counts
from tests.marks import shortened
from tests.naive.law import total_chance

EXAMPLES = [example for kind in discover().values() for example in kind.examples()]
POOL = np.arange(8, dtype=np.uint64)


def values_of(protocol: Protocol, count: int, seed: int = 0) -> np.ndarray:
    """Return some values, those with lower numbers more often."""
    d = min(protocol.value_count, len(POOL))
    drawn = np.random.default_rng(seed).geometric(0.4, count).astype(np.uint64) % np.uint64(d)
    return protocol.numbered(drawn)


def as_values(protocol: Protocol, given: object) -> object:
    """Return what stands for values as rows of it, where values are rows.

    Numbers of values become these values, and everything else a row of the same.
    """
    shape = protocol.value_dtype.shape
    if not shape or given == 1:
        return given
    if all(type(each) is int and 0 <= each < protocol.value_count for each in given):
        return protocol.numbered(np.array(given, dtype=np.uint64)).tolist()
    return [[each] * shape[0] for each in given]


def reports_of(protocol: Protocol, count: int, seed: int = 0) -> np.ndarray:
    """Return reports of some values, the same every time."""
    return protocol.privatize(values_of(protocol, count, seed), np.random.default_rng(seed))


def estimates_of(protocol: Protocol, tally: Tally) -> Estimates:
    """Return the estimates of the first values, or of all if there are few."""
    return protocol.estimate(tally, POOL if isinstance(protocol, Open) else None)


def counts_of(protocol: Protocol, tally: Tally) -> np.ndarray:
    """Return the estimated counts of the first values."""
    return estimates_of(protocol, tally).counts[: len(POOL)]


def facts_of(protocol: Protocol, reports: np.ndarray) -> np.ndarray:
    """Tell of each report what its law can be told by: which values it supports, or its bits."""
    if protocol.parameters is not None:
        return np.stack([protocol.supports(reports, value) for value in (0, 1)], axis=1)
    rows = np.frombuffer(reports.tobytes(), dtype=np.uint8).reshape(len(reports), -1)
    return np.unpackbits(rows, axis=1)


def every_protocol(test, fits=lambda protocol: True, keep=2, fewer=()):
    """Run a test on every example of every protocol; two of each are enough for ``make test``.

    Of those in ``fewer`` it takes one example less.
    """
    chosen = [
        one
        for name, kind in discover().items()
        for one in shortened(
            filter(fits, kind.examples()), "more examples", keep=keep - (name in fewer)
        )
    ]
    return pytest.mark.parametrize("protocol", chosen, ids=repr)(test)


costly = partial(every_protocol, keep=1)
"""The same for a test that takes a second: one example of each is enough for ``make test``."""

audited = partial(
    costly,
    fewer={
        "Discovery",
        "OpenLH",
        "PolynomialSelection",
        "RAPPOR",
        "SetSelection",
        "SubsetSelection",
        "Views",
    },
)
"""The same without those whose audit takes two seconds and more: two laws of each will do."""


def pure_protocol(test):
    """Run a test on every example that has p* and q*."""
    return every_protocol(test, lambda p: p.parameters is not None)


def listable_protocol(test):
    """Run a test on every pure example whose reports can be listed, hash functions included."""
    return every_protocol(test, lambda p: p.parameters is not None and not p.words.public)


def protocol_of_known_variance(test):
    """Run a test on every example that knows the variance of its estimates beforehand.

    Where values are rows, what their counts are is for the protocol's own test to say.
    """
    return every_protocol(
        test,
        lambda p: p.variance(1) is not None and not p.value_dtype.shape,
        fewer={"RAPPOR"},  # each of its estimates is a regression
    )


@audited
def test_enumerated_law_spends_exactly_the_realised_epsilon(protocol: Protocol) -> None:
    """The worst likelihood ratio of the executed code is the one the protocol states."""
    found = audit(protocol, calls=200, rng=np.random.default_rng(7))
    assert found.exact
    assert found.epsilon == protocol.realised_epsilon <= protocol.epsilon
    assert found.worst_ratio == protocol.worst_ratio


@costly
def test_enumerated_laws_sum_to_exactly_one_and_are_near(protocol: Protocol) -> None:
    """The probabilities of all reports of a value add up to one; no ratio is above the stated."""
    values = np.array([0, min(protocol.value_count, 8) - 1], dtype=np.uint64)
    models, reason = find_models(Probe(protocol, np.random.default_rng(20170816)), values)
    assert reason is None
    laws = [[model.law() for model in each] for each in models]  # for each of some hash functions
    assert all(total_chance(law) == 1 for each in laws for law in each)
    assert 1 < max(worst_pair(each)[0] for each in laws) <= protocol.worst_ratio


@listable_protocol
def test_support_probabilities_are_exactly_p_and_q(protocol: Protocol) -> None:
    """A report supports its own value with probability p* and another with q*, exactly."""
    law, held = output_law(protocol, 1), protocol.numbered(np.ones(1, dtype=np.uint64)).ravel()
    chances = [Fraction(0)] * len(protocol.support_counts(reports_of(protocol, 1)))
    for outcome in product(*(w.items() for w in law.weights)):
        data = bytearray(protocol.report_dtype.itemsize)
        for places, (piece, _) in zip(law.positions, outcome, strict=True):
            for place, byte in zip(places, piece, strict=True):
                data[place] = byte
        chance = Fraction(math.prod(w for _, w in outcome), math.prod(law.totals))
        supported = protocol.support_counts(protocol.parse(bytes(data)))
        assert supported.max() <= 1
        for value in np.flatnonzero(supported):
            chances[value] += chance
    p, q = protocol.parameters.exact_p, protocol.parameters.exact_q
    assert chances == [p if value in held.tolist() else q for value in range(len(chances))]


@protocol_of_known_variance
def test_estimates_are_unbiased_with_the_stated_variance(protocol: Protocol) -> None:
    """Squared errors match the exact variance, and a theory that is 30 % off is rejected."""
    n, runs = 300, 400
    values = values_of(protocol, n)
    true = np.bincount(values.astype(np.int64), minlength=len(POOL))[: protocol.value_count]
    rng = np.random.default_rng(1)
    reports = protocol.privatize(np.tile(values, runs), rng).reshape(
        runs, n, *protocol.report_dtype.shape
    )
    errors = np.array([counts_of(protocol, protocol.tally(r)) for r in reports]) - true
    theory = np.asarray(protocol.variance(n, true / n))
    bias = errors.mean(axis=0) / np.sqrt(theory / runs)
    assert np.abs(bias).max() < 5
    ratio = (errors**2).mean() / theory.mean()
    assert 0.85 < ratio < 1.15
    assert not 0.85 < ratio / 1.3 < 1.15
    assert not 0.85 < ratio * 1.3 < 1.15


@every_protocol
def test_results_have_intervals_or_say_why_not(protocol: Protocol) -> None:
    """What is known of the errors is shown and exported; what is not is said, and never NaN."""
    found = estimates_of(protocol, protocol.tally(reports_of(protocol, 50)))
    known = found.unknown is None
    rows = json.loads(found.to_json(), parse_constant=pytest.fail)["estimates"]
    assert all((row["lower"] is not None) == known for row in rows)
    assert all((row["significant"] is not None) == known for row in rows)
    assert (found.interval() is None) == (found.significant() is None) == (not known)
    assert ("not known" in repr(found)) == ("not known" in found.to_html()) == (not known)
    assert "nan" not in found.to_csv().lower()
    assert "unbiased" not in repr(found) or found.estimator is None


@costly
def test_bulk_and_single_reports_have_the_same_law(protocol: Protocol) -> None:
    """What many values are turned into at once supports values, or has bits, as often."""
    count = 70_000 // protocol.words.count + 40_000
    values = protocol.numbered(np.ones(count, dtype=np.uint64))
    reports = protocol.privatize(values, np.random.default_rng(2))
    assert count * protocol.words.count > 1 << 16
    source = Seeded(np.random.default_rng(3))
    single = protocol._perturb(values, protocol.words.draw(source, count))
    many, few = (facts_of(protocol, some).mean(axis=0) for some in (reports, single))
    # At most 500 facts a protocol, which are all this far apart with probability below 3e-4.
    assert np.all(np.abs(many - few) < 5 * np.sqrt(np.maximum(few * (1 - few), 1e-4) * 2 / count))


@every_protocol
def test_same_random_bytes_make_the_same_report(protocol: Protocol) -> None:
    """A report is a function of the value and the random bytes alone."""
    data = np.random.default_rng(4).bytes(8 * protocol.words.count * 20 + 800)
    values = values_of(protocol, 20)
    first = protocol.privatize(values, Replayed(data))
    assert np.array_equal(first, protocol.privatize(values, Replayed(data)))


@every_protocol
def test_reports_survive_the_wire(protocol: Protocol) -> None:
    """The bytes of reports parse back to the same reports."""
    reports = reports_of(protocol, 50)
    assert reports.dtype == protocol.report_dtype.base
    assert (
        len(reports.tobytes())
        == 50 * protocol.report_dtype.itemsize
        == 50 * protocol.report_bits // 8
    )
    assert np.array_equal(protocol.parse(reports.tobytes(), 50), reports)
    assert np.array_equal(protocol.parse(reports.tobytes(), None), reports)


@every_protocol
def test_malformed_bytes_are_refused_or_harmless(protocol: Protocol) -> None:
    """What parse lets through is well-formed and moves a support count by at most one."""
    rng = np.random.default_rng(5)
    good = reports_of(protocol, 3).tobytes()
    for _ in range(500):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            kind = rng.integers(3)
            at = int(rng.integers(0, len(data))) if data else 0
            if kind == 0 and data:
                data[at] = rng.integers(256)
            elif kind == 1:
                del data[at : at + int(rng.integers(1, 9))]
            else:
                data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        try:
            reports = protocol.parse(bytes(data), None)
        except InvalidReport:
            continue
        assert len(reports) * protocol.report_dtype.itemsize == len(data)
        tally = protocol.tally(reports)
        assert tally.n == len(reports)
        if protocol.parameters is not None and isinstance(protocol, Closed):
            assert protocol.support_counts(reports[:1]).min() >= 0
            assert protocol.support_counts(reports[:1]).max() <= 1


@every_protocol
def test_parse_refuses_what_is_not_bytes(protocol: Protocol) -> None:
    """Nothing but bytes of a whole number of reports enters by the door."""
    size = protocol.report_dtype.itemsize
    for wrong in (b"", b"\0" * (size + 1) if size > 1 else b"", "text", 3, None):
        with pytest.raises(InvalidReport):
            protocol.parse(wrong)


@every_protocol
def test_tallies_add_in_any_order_and_grouping(protocol: Protocol) -> None:
    """Merged tallies equal the tally of everything, byte for byte."""
    parts = [reports_of(protocol, n, seed=n) for n in (7, 1, 40)]
    a, b, c = (protocol.tally(part) for part in parts)
    whole = protocol.tally(np.concatenate(parts))
    assert a + b == b + a
    assert (a + b) + c == a + (c + b) == whole
    assert sum([c, a, b]).to_bytes() == whole.to_bytes()
    assert whole.n == 48
    assert a != b


@every_protocol
def test_tally_takes_an_iterator_of_batches(protocol: Protocol) -> None:
    """A stream of batches gives the same tally as one array."""
    reports = reports_of(protocol, 100)
    batches = (reports[i : i + 13] for i in range(0, 100, 13))
    assert protocol.tally(batches) == protocol.tally(reports)
    assert protocol.tally(iter([])).n == 0


@every_protocol
def test_tally_survives_its_bytes(protocol: Protocol) -> None:
    """A tally reads back equal, and estimates the same."""
    tally = protocol.tally(reports_of(protocol, 30))
    again = Tally.from_bytes(tally.to_bytes())
    assert again == tally
    assert again.protocol == protocol
    assert np.array_equal(counts_of(protocol, again), counts_of(protocol, tally))


@every_protocol
def test_every_altered_tally_is_refused(protocol: Protocol) -> None:
    """No flipped bit, cut or addition goes unnoticed."""
    data = protocol.tally(reports_of(protocol, 5)).to_bytes()
    rng = np.random.default_rng(6)
    for at in rng.integers(0, len(data), 100):
        flipped = bytearray(data)
        flipped[at] ^= 1 << int(rng.integers(8))
        for wrong in (bytes(flipped), data[:at], data + data[at:] + b"x"):
            with pytest.raises(DeniableError):
                Tally.from_bytes(wrong)


@every_protocol
def test_foreign_reports_and_tallies_are_refused(protocol: Protocol) -> None:
    """Arrays of another type and tallies of another protocol do not enter."""
    for wrong in (np.zeros((2, 3, 4)), np.zeros(3, dtype=complex), "reports", b"reports", [[1]]):
        with pytest.raises(InvalidReport):
            protocol.tally(wrong)
    other = DE(0.123, 7)
    foreign = other.tally(reports_of(other, 2))
    with pytest.raises(IncompatibleTally):
        counts_of(protocol, foreign)
    with pytest.raises(IncompatibleTally):
        protocol.tally(reports_of(protocol, 1)) + foreign
    with pytest.raises(IncompatibleTally, match="empty"):
        counts_of(protocol, protocol.tally(iter([])))


@every_protocol
def test_protocol_is_a_value(protocol: Protocol) -> None:
    """Protocols are frozen, compare and hash by their parameters, and pickle."""
    again = pickle.loads(pickle.dumps(protocol))
    assert again == protocol
    assert hash(again) == hash(protocol)
    assert repr(again) == repr(protocol)
    with pytest.raises(FrozenInstanceError):
        protocol.domain_size = 3


@every_protocol
def test_specification_rebuilds_the_protocol(protocol: Protocol) -> None:
    """The JSON-ready specification is enough to make the same protocol, and is checked."""
    specification = protocol.specification()
    assert Protocol.from_specification(specification) == protocol
    for key in specification:
        altered = {**specification, key: "1"}
        with pytest.raises(DeniableError):
            Protocol.from_specification(altered)


@every_protocol
def test_bad_values_get_a_clear_error(protocol: Protocol) -> None:
    """Values that are no whole numbers of the domain are refused by name."""
    top = protocol.value_count
    for wrong, kind in [
        ([-1], OutOfDomain),
        ([0, top], OutOfDomain),
        ([2**70], OutOfDomain),
        ([0.0, 1.0], InvalidParameter),
        ([float("nan")], InvalidParameter),
        ([True], InvalidParameter),
        (["0"], InvalidParameter),
        ([None], InvalidParameter),
        ([[0, 1]], InvalidParameter),
        (1, InvalidParameter),
    ]:
        with pytest.raises(kind, match="expected"):
            protocol.privatize(as_values(protocol, wrong))
    assert len(protocol.privatize([])) == 0
    assert protocol.tally(protocol.privatize([])).n == 0


@every_protocol
def test_bad_randomness_gets_a_clear_error(protocol: Protocol) -> None:
    """Only the operating system, a NumPy generator or a source is taken."""
    for wrong in (7, "seed", np.random.RandomState(1)):
        with pytest.raises(InvalidParameter, match="rng"):
            protocol.privatize(as_values(protocol, [0]), rng=wrong)


@protocol_of_known_variance
def test_variance_takes_shares_between_zero_and_one(protocol: Protocol) -> None:
    """The variance grows with n, takes arrays, and refuses impossible shares."""
    assert protocol.variance(0) == 0
    assert protocol.variance(200) == pytest.approx(2 * protocol.variance(100))
    assert np.shape(protocol.variance(10, np.array([0.0, 0.5]))) == (2,)
    for n, share in [(-1, 0.0), (1.5, 0.0), (10, 1.5), (10, -0.1), (10, math.nan)]:
        with pytest.raises(InvalidParameter):
            protocol.variance(n, share)
    for share in ("a", [[0.1], [0.2, 0.3]], 1j):
        with pytest.raises(InvalidParameter, match="shares"):
            protocol.variance(10, share)
    with pytest.raises(InvalidParameter, match="people"):
        protocol.variance(10**400)


@every_protocol
def test_default_randomness_is_fresh(protocol: Protocol) -> None:
    """Two calls without a generator differ."""
    values = values_of(protocol, 200)
    # Two reports of one value agree with probability 0.53 at most, 200 pairs with 1e-55.
    assert not np.array_equal(protocol.privatize(values), protocol.privatize(values))


def test_discovery_finds_every_protocol_of_the_paper() -> None:
    """The suite runs on what the paper names, not on an empty list."""
    assert {"DE", "SHE", "THE", "UE", "SUE", "OUE", "LH", "BLH", "OLH", "OpenLH"} <= set(discover())
    assert isinstance(EXAMPLES[0], Protocol)
    assert any(isinstance(p, OpenLH) for p in EXAMPLES)


@every_protocol
def test_masked_values_are_refused(protocol: Protocol) -> None:
    """Nobody answers for a person whose value is masked; a mask that hides nothing is no matter."""
    values = protocol.numbered(np.array([1, 0, 1], dtype=np.uint64))
    mask = np.broadcast_to(np.array([0, 1, 0]).reshape(3, *[1] * (values.ndim - 1)), values.shape)
    with pytest.raises(InvalidParameter, match="masked"):
        protocol.privatize(np.ma.array(values, mask=mask))
    bare = np.ma.array(values, mask=False)
    assert len(protocol.privatize(bare, np.random.default_rng(8))) == 3
    with pytest.raises(InvalidReport):
        protocol.tally(np.ma.array(reports_of(protocol, 2), mask=True))


@every_protocol
def test_arguments_of_the_wrong_type_get_our_own_error(protocol: Protocol) -> None:
    """None, numbers and ragged lists are refused by name, not by what they break."""
    with pytest.raises(InvalidParameter, match="expected"):
        protocol.privatize([[1, 0], [1]])
    for wrong in (None, 3):
        with pytest.raises(InvalidReport, match="expected"):
            protocol.tally(wrong)
        with pytest.raises(IncompatibleTally, match="expected a tally"):
            counts_of(protocol, wrong)


@pure_protocol
def test_only_values_of_the_domain_are_supported(protocol: Protocol) -> None:
    """Whether a report supports a value outside the domain is no question."""
    reports = reports_of(protocol, 2)
    for wrong in (-1, protocol.value_count):
        with pytest.raises(OutOfDomain, match="expected"):
            protocol.supports(reports, wrong)
    for wrong in (0.0, "0", None):
        with pytest.raises(InvalidParameter, match="expected"):
            protocol.supports(reports, wrong)


@every_protocol
def test_bytes_of_any_kind_enter_by_the_door(protocol: Protocol) -> None:
    """Views and byte arrays are bytes, whatever the size of their items."""
    data = reports_of(protocol, 8).tobytes()
    views = (bytearray(data), memoryview(data), memoryview(data).cast("Q"))
    parsed = protocol.parse(data, 8)
    assert all(np.array_equal(protocol.parse(view, 8), parsed) for view in views)
    data = protocol.tally(reports_of(protocol, 5)).to_bytes()
    assert Tally.from_bytes(memoryview(data)) == Tally.from_bytes(bytearray(data))


def with_header(tally: Tally, header: bytes) -> bytes:
    """Return a tally's bytes with another header, and a checksum that holds."""
    data = tally.to_bytes()
    end = 16 + int.from_bytes(data[12:16], "little")
    body = data[:12] + len(header).to_bytes(4, "little") + header + data[end:-32]
    return body + sha256(body).digest()


@every_protocol
def test_tally_has_one_form(protocol: Protocol) -> None:
    """A header with white space, other numbers or another digest is refused, though it parses."""
    tally = protocol.tally(reports_of(protocol, 3))
    header = tally._header()
    assert with_header(tally, header) == tally.to_bytes()
    document, digest = json.loads(header), "0123456789abcdef" * 4
    answering = with_header(tally, canonical_json({**document, "question": digest}))
    assert Tally.from_bytes(answering).question == digest
    for wrong in (
        header.replace(b",", b", "),
        header + b" ",
        header.replace(b'"n":"3"', b'"n":"03"'),
        *(canonical_json({**document, "question": q}) for q in (digest.upper(), "0" * 63, "")),
        json.dumps({**document, "question": "\ud800" * 64}).encode(),
    ):
        with pytest.raises(InvalidDocument, match=r"expected|surrogate"):
            Tally.from_bytes(with_header(tally, wrong))


@every_protocol
def test_tallies_of_more_reports_than_there_can_be_do_not_add(protocol: Protocol) -> None:
    """The sum of n stays within what a tally file may hold."""
    tally = replace(protocol.tally(reports_of(protocol, 2)), n=10**18 - 1)
    with pytest.raises(IncompatibleTally, match="at most"):
        tally + tally


def test_counts_that_would_wrap_do_not_add() -> None:
    """Forged sums at the end of 64 bits are refused in both directions."""
    ends = Counts(np.array([2**63 - 1, -(2**63)]))
    assert (ends + Counts(np.array([0, 0]))).values.tolist() == ends.values.tolist()
    for more in ([1, 0], [0, -1]):
        with pytest.raises(IncompatibleTally, match="64 bits"):
            ends + Counts(np.array(more))

"""Tallies that no reports left are refused; ``python -m tests.forgery`` is the long run."""

import itertools

import numpy as np
import pytest

from deniable import (
    OLH,
    SHE,
    AffineSelection,
    DeniableError,
    InvalidDocument,
    Open,
    PolynomialSelection,
    Protocol,
    Tally,
)
from deniable.protocols import discover
from deniable.protocols.rappor import RAPPOR
from deniable.statistics import Collected, Counts, Table
from deniable.tally import MOST_REPORTS
from tests.forgery import Rng, forgeries, honest, instances, judge
from tests.marks import shortened

EVERY = [each for kind in discover().values() for each in instances(kind)]


@pytest.mark.parametrize("kind", discover().values(), ids=lambda kind: kind.__name__)
def test_forged_tallies_are_refused_or_possible(kind: type[Protocol]) -> None:
    """No tally that is accepted gives an estimate that as many honest reports could not give."""
    accepted = sum(map(judge, forgeries(kind, 300, seed=2)))
    assert 0 < accepted < 300


@pytest.mark.parametrize("protocol", EVERY, ids=repr)
def test_honest_tallies_are_never_refused(protocol: Protocol) -> None:
    """Empty, small, merged and vast tallies of reports are read back to the same bytes."""
    rng = Rng(7)
    for n in (0, 1, 2, 3, 50, 600):
        data = honest(protocol, n, rng).to_bytes()
        assert Tally.from_bytes(data).to_bytes() == data
    tally = honest(protocol, 50, rng) + honest(protocol, 600, rng)
    kept = isinstance(tally.statistic, Collected)
    while 2 * tally.n <= (1000 if kept else MOST_REPORTS // (16 if protocol.name == "SHE" else 1)):
        tally += tally
        data = tally.to_bytes()
        assert Tally.from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("protocol", EVERY, ids=repr)
def test_the_extremes_are_reached_by_honest_reports(protocol: Protocol) -> None:
    """Reports that all support a value, or all do not, are well-formed: the bounds are sharp."""
    first = protocol.numbered(np.zeros(400, dtype=np.uint64))
    reports = protocol.privatize(first, np.random.default_rng(3))
    if isinstance(protocol, RAPPOR):
        return  # judged by reports that have the very tally
    if isinstance(protocol, SHE):
        ends = np.array([-protocol._reach, protocol._reach + 16], dtype=reports.dtype)
        extreme = np.repeat(ends[:, None], protocol.domain_size, axis=1)
        assert len(protocol.parse(extreme.tobytes(), 2)) == 2
        return
    if protocol.parameters is None:
        return  # no report supports anything
    values = range(3) if isinstance(protocol, Open) else range(protocol.domain_size)
    # The rarest of them is left out with a probability below (1 - 0.03)^400, about 5e-6.
    for value in list(values)[:5]:
        assert set(protocol.supports(reports, value).tolist()) == {False, True}


def _small() -> list[tuple[Protocol, tuple[int, ...]]]:
    """Return protocols whose tallies are a few counts, and the numbers to try for each of them."""
    found = []
    for protocol in EVERY:
        counted = isinstance(protocol.tally([]).statistic, Counts)
        length = len(protocol.tally([]).statistic.values) if counted else 99
        if length <= 9 and not isinstance(protocol, SHE):
            found.append((protocol, (-1, 0, 1, 2) if length <= 5 else (0, 1)))
    return sorted(found, key=lambda case: case[0].report_dtype.itemsize)


@pytest.mark.parametrize("case", shortened(_small(), "larger enumerations", keep=8), ids=repr)
def test_one_report_leaves_exactly_what_is_accepted(
    case: tuple[Protocol, tuple[int, ...]],
) -> None:
    """Of all small tallies of one report those are accepted that some report leaves."""
    protocol, numbers = case
    codes = range(1 << min(16, 8 * protocol.report_dtype.itemsize))
    possible = set()
    for code in codes:
        raw = code.to_bytes(8, "little")[: protocol.report_dtype.itemsize]
        try:
            possible.add(protocol.tally(protocol.parse(raw)).to_bytes())
        except DeniableError:
            continue
    length = len(protocol.tally([]).statistic.values)  # type: ignore[attr-defined]
    accepted = set()
    for values in itertools.product(numbers, repeat=length):
        data = Tally(protocol, 1, Counts(np.array(values, dtype=np.int64))).to_bytes()
        try:
            accepted.add(Tally.from_bytes(data).to_bytes())
        except InvalidDocument:
            continue
    assert possible <= accepted
    # Any m points are taken for those of a report, which they are where m is at most 2; of
    # polynomials any points at all, since a constant one is small at all of them.
    taken = isinstance(protocol, AffineSelection) and protocol.window > 2
    assert accepted == possible or taken or isinstance(protocol, PolynomialSelection)


def test_lines_through_one_value_are_refused() -> None:
    """A table with as many lines as there may be, all of them through one value, is a forgery."""
    protocol = AffineSelection(epsilon=1.0, domain_size=1000, g=29, digits=3, window=8)
    n, value, lines = 1000, 77, protocol._lines
    u = np.arange(1, 1 + n, dtype=np.uint64)
    through = protocol._field.dot(u, np.array([value], dtype=np.uint64), 3)
    cells = np.repeat(lines.fold(u * np.uint64(29) + through), 8)
    forged = Tally(protocol, n, Table.from_hits(lines.cells, cells))
    assert protocol.estimate(forged).counts[value] > 5 * n
    with pytest.raises(InvalidDocument, match=r"whose sums|above that of their reports"):
        Tally.from_bytes(forged.to_bytes())


def test_supports_beyond_the_values_of_a_report_are_refused() -> None:
    """With one digit, n reports support neither more nor fewer values than m each allow."""
    protocol = AffineSelection(epsilon=1.0, domain_size=1000, g=1009, digits=1, window=271)
    n = 100
    for each, sound in ((n, False), (0, False), (28, False), (26, False), (27, True)):
        data = Tally(protocol, n, Counts(np.full(1000, each))).to_bytes()
        if sound:
            Tally.from_bytes(data)
            continue
        with pytest.raises(InvalidDocument, match="with a sum from 26200 to 27100"):
            Tally.from_bytes(data)


def test_vast_rows_are_added_without_overflow() -> None:
    """Rows whose sums 64 bits do not hold are judged like others."""
    protocol = AffineSelection(epsilon=0.5, domain_size=500, g=31, digits=2, window=12)
    one = protocol.tally(protocol.parse((5).to_bytes(protocol.report_dtype.itemsize, "little")))
    table, n = one.statistic.dense(), MOST_REPORTS  # type: ignore[attr-defined]
    good = Tally(protocol, n, Table.from_dense(table * n))
    assert Tally.from_bytes(good.to_bytes()).n == n
    table = table * n
    full, empty = np.flatnonzero(table)[0], np.flatnonzero(table == 0)[40]
    table[full] -= 12
    table[empty] += 12
    with pytest.raises(InvalidDocument):
        Tally.from_bytes(Tally(protocol, n, Table.from_dense(table)).to_bytes())


def test_a_cell_for_nobody_is_refused() -> None:
    """The function zero is no report's of affine selection, and is one of local hashing."""
    protocol = AffineSelection(epsilon=2.0, domain_size=300, g=8, digits=3, window=3)
    table = np.zeros(protocol._lines.cells, dtype=np.int64)
    table[-2:] = 3, 0
    with pytest.raises(InvalidDocument, match="cells that reports fall into"):
        Tally.from_bytes(Tally(protocol, 1, Table.from_dense(table)).to_bytes())
    hashing = OLH(epsilon=2.0, domain_size=300)
    zero = hashing.tally(hashing.parse(bytes(hashing.report_dtype.itemsize)))
    assert Tally.from_bytes(zero.to_bytes()) == zero

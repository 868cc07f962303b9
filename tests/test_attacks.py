"""What an attacker gains: by reports made to deceive, and by comparing reports of one person."""

import itertools

import numpy as np
import pytest

from deniable import (
    DE,
    OLH,
    OUE,
    SHE,
    AffineSelection,
    BasicRAPPOR,
    Closed,
    InvalidReport,
    Protocol,
    SubsetSelection,
    Tally,
)
from deniable.advice import linkability
from deniable.protocols import discover
from deniable.protocols.rappor import RAPPOR


def _all_reports(protocol: Protocol) -> np.ndarray:
    """Return every report that parses, of a protocol whose reports have one byte."""
    size = protocol.report_dtype.itemsize
    found = []
    for code in range(1 << 8 * size):
        try:
            found.append(protocol.parse(code.to_bytes(size, "little")))
        except InvalidReport:
            continue
    return np.concatenate(found)


def _small() -> list[Protocol]:
    every = [each for kind in discover().values() for each in kind.examples()]
    known = [p for p in every if isinstance(p, Closed) and p.influence([0]) is not None]
    return [p for p in known if p.report_dtype.itemsize == 1]


@pytest.mark.parametrize("protocol", _small(), ids=repr)
def test_influence_is_that_of_the_worst_report(protocol: Protocol) -> None:
    """For any set of values, the best of all well-formed reports raises their sum by as much."""
    reports, honest = _all_reports(protocol), protocol.privatize([0, 1, 1])
    before = protocol.tally(honest)
    rng = np.random.default_rng(1)
    raised = []
    for i in range(len(reports)):
        after: Tally = before + protocol.tally(reports[i : i + 1])
        raised.append(protocol.estimate(after).counts - protocol.estimate(before).counts)
    d = protocol.value_count
    for size in range(1, min(d, 5) + 1):
        values = sorted(rng.choice(d, size, replace=False).tolist())
        worst = max(float(gain[values].sum()) for gain in raised)
        assert protocol.influence(values) == pytest.approx(worst)


def test_influence_on_eight_answers_is_what_the_docs_say() -> None:
    """At epsilon 1 one report lifts 8 of 1,000 answers by 25 (OUE), 27 (OLH) and 22 people."""
    targets = np.random.default_rng(1).choice(1000, 8, replace=False).tolist()
    assert round(OUE(1.0, 1000).influence(targets)) == 25
    assert round(OLH(1.0, 1000).influence(targets)) == 27
    assert round(AffineSelection(1.0, 1000).influence(targets)) == 22
    assert round(SHE(1.0, 1000).influence(targets)) == 563
    assert round(DE(1.0, 1000).influence(targets)) == 578
    assert RAPPOR(2.0).influence(targets) is None


def test_sets_hold_no_more_than_their_size() -> None:
    """A report of subset selection lifts at most k answers, and lowers the others."""
    protocol = SubsetSelection(1.0, 12)
    assert protocol.size == 3
    assert [protocol.most_supported(range(t)) for t in (1, 3, 8)] == [1, 3, 3]
    assert protocol.influence(range(12)) == pytest.approx(1.0)


def _exact(protocol: BasicRAPPOR, *, known: bool) -> float:
    """Return the distance of the two laws of one report before and one after, by enumeration."""
    d = protocol.domain_size
    patterns = list(itertools.product((0, 1), repeat=d))
    (kept, flipped), (p, q) = (map(float, w.shares) for w in (protocol._weights, protocol._instant))

    def permanent(value: int) -> np.ndarray:
        """The chance of each permanent response to a value."""
        ones = [[kept if i == value else flipped for i in range(d)]]
        return np.prod([[c if b else 1 - c for b, c in zip(bits, ones[0], strict=True)]
                        for bits in patterns], axis=1)  # fmt: skip

    given = np.array([[np.prod([(p if b else q) if x else 1 - (p if b else q)
                                for x, b in zip(seen, bits, strict=True)]) for seen in patterns]
                      for bits in patterns])  # fmt: skip
    stayed = [np.einsum("b,bx,by->xy", permanent(v), given, given) for v in range(d)]
    single = [permanent(v) @ given for v in range(d)]
    pairs = [(0, 1)] if known else [(v, w) for v in range(d) for w in range(d) if v != w]
    changed = np.mean([np.outer(single[v], single[w]) for v, w in pairs], axis=0)
    same = stayed[0] if known else np.mean(stayed, axis=0)
    return float(np.abs(same - changed).sum() / 2)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "protocol",
    [BasicRAPPOR(3, 0.5, 0.75, 0.25), BasicRAPPOR(4, 0.25, 0.9, 0.2), BasicRAPPOR(4, 0.5)],
    ids=repr,
)
def test_linkability_is_the_distance_of_the_two_laws(protocol: BasicRAPPOR, *, known: bool) -> None:
    """The simulated advantage of the best test is the enumerated one, within its own error."""
    found = linkability(protocol, known=known, samples=40_000, seed=3)
    # Five standard errors of a fixed seed: a wrong law is far beyond, the right one stays within.
    assert abs(found.advantage - _exact(protocol, known=known)) < 5 * found.std_error + 1e-9


@pytest.mark.parametrize(
    ("reports", "known", "advantage"),
    [((1, 1), False, 0.58), ((5, 5), False, 0.996), ((1, 1), True, 0.62), ((5, 5), True, 0.997)],
)
def test_linkability_is_what_the_docs_say(
    reports: tuple[int, int], advantage: float, *, known: bool
) -> None:
    """64 answers, f = 1/2, p = 3/4 and q = 1/4: one and one report, and five and five."""
    protocol = BasicRAPPOR(64, 0.5, 0.75, 0.25)
    found = linkability(protocol, reports, known=known, samples=20_000)
    assert found.advantage == pytest.approx(advantage, abs=0.005 + 4 * found.std_error)
    assert found.std_error < 0.003

"""Forged tallies through the door for tallies: ``python -m tests.forgery --count 10000``.

For each protocol that many tallies are made whose frame, header and checksum hold, and whose
numbers a liar chose: honest ones scaled, moved, permuted, concentrated in one cell or one row, off
by one, huge or negative, random ones, and any of these under another number of reports. Each must
be refused, or give estimates that lie between the least and the most that as many well-formed
reports can give; for RAPPOR, whose estimates have no such ends, there must be reports with the very
tally. The run ends with an error at the first that does neither.
"""

import argparse
import math
import random
import time
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from deniable import (
    LH,
    OLH,
    RAPPOR,
    SHE,
    AffineSelection,
    DeniableError,
    Open,
    PolynomialSelection,
    Protocol,
    RandomMatrixProjection,
    SetSelection,
    SubsetSelection,
    Tally,
    Views,
)
from deniable.protocols import discover
from deniable.statistics import Collected, Counts, Statistic, Table, of_form

Integers = npt.NDArray[np.int64]
Rng = random.Random

MOST = 10**18 - 1
"""The largest number of reports that a tally may state."""
_LARGE: list[Protocol] = [
    AffineSelection(3.0, 1000, 1009, 1, 48),
    AffineSelection(1.0, 1000),
    AffineSelection(2.0, 300, 8, 3, 3),
    OLH(2.0, 1000),
    LH(1.0, 50, 6),
    PolynomialSelection(1.0, 30, 4),
    PolynomialSelection(1.0, 5000, 2),
    SetSelection(1.0, 20, 4),
    SubsetSelection(1.0, 20),
    SHE(1.0, 7),
    Views(1.0, (9, 16, 7, 2), ((0,), (0, 1), (2, 3), (1, 2, 3))),
    RandomMatrixProjection(1.0, 70, rows=500),
]


def instances(kind: type[Protocol]) -> list[Protocol]:
    """Return the protocols of a class that are attacked: its examples, and larger ones."""
    return [*kind.examples(), *(each for each in _LARGE if type(each) is kind)]


def honest(protocol: Protocol, n: int, rng: Rng) -> Tally:
    """Return the tally of so many reports that clients made."""
    values = [rng.randrange(min(protocol.value_count, 1 << 62)) for _ in range(n)]
    noise = np.random.default_rng(rng.getrandbits(64))
    held = protocol.numbered(np.array(values, dtype=np.uint64))
    return protocol.tally(protocol.privatize(held, noise))


def forge(protocol: Protocol, rng: Rng) -> bytes:
    """Return the bytes of a tally that somebody made up."""
    n = rng.choice((0, 1, 2, 5, 40))
    true = honest(protocol, n, rng)
    if isinstance(true.statistic, Collected):
        return _forge_reports(true, rng)
    values, width = _numbers(true.statistic), _row(protocol)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        values = rng.choice(LIES)(values, n, width, rng)
    if rng.random() < 0.3:
        n = max(0, rng.choice((n - 1, n + 1, 0, 1, 2 * n, n // 2, 1000, 10**9, MOST)))
    if isinstance(true.statistic, Counts):
        return Tally(protocol, n, Counts(values)).to_bytes()
    return Tally(protocol, n, Table.from_dense(values)).to_bytes()


def _numbers(statistic: Statistic) -> Integers:
    if isinstance(statistic, Counts):
        return statistic.values.copy()
    return of_form(statistic, Table).dense()


def _row(protocol: Protocol) -> int:
    """Return how many numbers belong together, for lies about rows."""
    if isinstance(protocol, RAPPOR):
        return 1 + protocol.bits
    return getattr(protocol, "g", None) or 4


def _forge_reports(true: Tally, rng: Rng) -> bytes:
    """Return a tally of reports, some of which nobody sent or that stand in another order."""
    reports = of_form(true.statistic, Collected).reports.copy()
    raw = bytearray(reports.tobytes())
    for _ in range(rng.randint(0, 4) if raw else 0):
        raw[rng.randrange(len(raw))] = rng.choice((0, 1, 2, 3, 255, rng.randrange(256)))
    reports = np.frombuffer(bytes(raw), dtype=true.protocol.report_dtype)
    if rng.random() < 0.7:
        reports = Collected.from_reports(reports).reports
    n = rng.choice((true.n, true.n, true.n + 1, max(0, true.n - 1), MOST))
    return Tally(true.protocol, n, Collected(reports.copy())).to_bytes()


def _scaled(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    del n, width
    return values * rng.choice((-1, 0, 2, 3, 10**6, 1 << 40))


def _random(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    del width
    low, high = rng.choice(((0, n), (0, 2 * n), (-1, n), (-n, n), (0, 1)))
    noise = np.random.default_rng(rng.getrandbits(64))
    return noise.integers(low, max(high, low), len(values), endpoint=True)


def _dealt(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Deal the same sum to some cells anew."""
    del n, width
    total, cells = max(0, int(values.sum())), rng.randint(1, len(values))
    noise = np.random.default_rng(rng.getrandbits(64))
    result = np.zeros_like(values)
    chosen = noise.choice(len(values), cells, replace=False)
    result[chosen] = noise.multinomial(total, np.full(cells, 1 / cells))
    return result


def _single(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Change one cell to something that may be impossible there."""
    del width
    result, at = values.copy(), rng.randrange(len(values))
    result[at] = rng.choice((n + 1, n, 10 * n, -1, -n, 1 << 62, -(1 << 62), MOST, result[at] + 1))
    return result


def _moved(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Move some of one cell to another, which leaves the sum."""
    del n, width
    result = values.copy()
    source, target = (rng.randrange(len(values)) for _ in range(2))
    amount = rng.choice((1, int(result[source]), 2, -1))
    result[source] -= amount
    result[target] += amount
    return result


def _concentrated(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Put the whole sum, or that of each row, into one cell."""
    del n
    result, row = np.zeros_like(values), min(width, len(values))
    if rng.random() < 0.5:
        result[rng.randrange(len(values))] = values.sum()
        return result
    for start in range(0, len(values), row):
        part = values[start : start + row]
        result[start + rng.randrange(len(part))] = part.sum()
    return result


def _same_row(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Put the whole sum into one row, evenly or not."""
    del n
    result, row = np.zeros_like(values), min(width, len(values))
    start = row * rng.randrange(max(1, len(values) // row))
    noise = np.random.default_rng(rng.getrandbits(64))
    total = max(0, int(values.sum()))
    result[start : start + row] = noise.multinomial(total, np.full(row, 1 / row))
    return result


def _permuted(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    del n, width
    return np.random.default_rng(rng.getrandbits(64)).permutation(values)


def _reversed_rows(values: Integers, n: int, width: int, rng: Rng) -> Integers:
    """Swap two rows of the same place, which leaves the sum of each."""
    del n
    result, row = values.copy(), min(width, len(values))
    first, second = (row * rng.randrange(max(1, len(values) // row)) for _ in range(2))
    result[first : first + row] = values[second : second + row]
    result[second : second + row] = values[first : first + row]
    return result


LIES: tuple[Callable[[Integers, int, int, Rng], Integers], ...] = (
    _scaled, _random, _dealt, _single, _moved, _concentrated, _same_row, _permuted, _reversed_rows,
)  # fmt: skip


def extremes(protocol: Protocol, n: int) -> tuple[float, float]:
    """Return the least and the most that the estimate of one value can be, of n reports.

    n equal reports support a value n times or never, and those of SHE hold the ends of their noise.
    """
    if isinstance(protocol, SHE):
        reach = protocol._reach
        return -reach * n / 16, (reach + 16) * n / 16
    if protocol.parameters is None:  # what honest reports can give is not known
        return -math.inf, math.inf
    q, gap = protocol.parameters.exact_q, protocol.parameters.exact_p - protocol.parameters.exact_q
    return float(-n * q / gap), float(n * (1 - q) / gap)


def witness(tally: Tally) -> Tally:
    """Return the tally of reports made so that they have the numbers of a tally of RAPPOR."""
    protocol = tally.protocol
    assert isinstance(protocol, RAPPOR)
    table = of_form(tally.statistic, Counts).values.reshape(protocol.cohorts, -1)
    reports = np.zeros(tally.n, dtype=protocol.report_dtype)
    bits = np.zeros((tally.n, protocol.bits), dtype=np.uint8)
    start = 0
    for cohort, (size, *ones) in enumerate(table.tolist()):
        reports["cohort"][start : start + size] = cohort
        for bit, count in enumerate(ones):
            bits[start : start + count, bit] = 1
        start += size
    reports["bits"] = np.packbits(bits, axis=1, bitorder="little")
    return protocol.tally(protocol.parse(reports.tobytes(), None))


def judge(data: bytes) -> bool:
    """Tell whether a tally is accepted, in which case it must be one that reports may have left."""
    try:
        tally = Tally.from_bytes(data)
    except DeniableError:
        return False
    if tally.n == 0:
        assert tally == tally.protocol.tally([])
        return True
    if isinstance(tally.protocol, RAPPOR):
        if tally.n <= 1000:
            assert witness(tally).to_bytes() == data
        return True
    if isinstance(tally.protocol, Views):
        parts = zip(tally.protocol.protocols, tally.protocol.counted(tally), strict=True)
        assert all(judge(Tally(part, n, Counts(own)).to_bytes()) for part, (n, own) in parts)
    keys = np.arange(50, dtype=np.uint64) if isinstance(tally.protocol, Open) else None
    counts = tally.protocol.estimate(tally, keys).counts
    assert np.isfinite(counts).all()
    least, most = extremes(tally.protocol, tally.n)
    slack = 1e-9 * max(abs(least), most)
    assert least - slack <= counts.min(), (tally.protocol, tally.n, least, counts.min())
    assert counts.max() <= most + slack, (tally.protocol, tally.n, most, counts.max())
    return True


def forgeries(kind: type[Protocol], count: int, seed: int = 1) -> Iterator[bytes]:
    """Yield so many forged tallies of the protocols of a class."""
    rng, chosen = Rng(seed), instances(kind)
    for i in range(count):
        yield forge(chosen[i % len(chosen)], rng)


def main() -> None:
    """Forge tallies of every protocol and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--protocol", help="only this one")
    options = parser.parse_args()
    for name, kind in discover().items():
        if options.protocol in (None, name):
            start = time.perf_counter()
            accepted = sum(map(judge, forgeries(kind, options.count, options.seed)))
            print(
                f"{name}: {options.count} forged tallies, {options.count - accepted} refused, "
                f"{accepted} with estimates that honest reports can give; "
                f"{time.perf_counter() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

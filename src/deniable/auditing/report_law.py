"""The law of a value's reports: its model, likelihood ratios, and tests of reports against it.

A ``Model`` is the map from random words to reports as a table; the exact ``Law`` follows from it.
Nothing in the tests is asymptotic. Chernoff's bound says how unlikely a count is, and a cell fails
when that is below e^-37 = 1e-16. An audit looks at fewer than 10^9 cells, so honest reports fail
with a chance below 1e-6 in all.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from deniable.auditing.probe import Bytes, Words

FAR = 37.0
"""Nats by which no cell is off by chance."""
_FEW_BYTES = 64

Floats = np.typing.NDArray[np.float64]
Counted = np.typing.NDArray[np.int64]
Weights = dict[bytes, int]
Steps = dict[int, Words]
"""For each position of a word, where each constant piece of the report begins."""
Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Words, and the bytes of the report that they alone decide."""


@dataclass(frozen=True)
class Law:
    """The law of one value's reports: independent factors, each with integer weights.

    ``positions[i]`` are the bytes of the report that ``weights[i]`` is about.
    """

    positions: tuple[tuple[int, ...], ...]
    weights: tuple[Weights, ...]
    totals: tuple[int, ...]

    def chance(self, report: bytes) -> float:
        result = 1.0
        for places, weights, total in zip(self.positions, self.weights, self.totals, strict=True):
            result *= weights.get(bytes(report[place] for place in places), 0) / total
        return result


class _Factor:
    """One factor of a law as arrays: the likelihood ratios of a pair are one division."""

    def __init__(self, weights: Weights, total: int) -> None:
        self.keys = tuple(sorted(weights))
        self.distinct = sorted(set(weights.values()))
        place = {weight: i for i, weight in enumerate(self.distinct)}
        self.codes = np.array([place[weights[key]] for key in self.keys], dtype=np.int64)
        self.chances = np.array([weight / total for weight in self.distinct])

    def ratio(self, other: "_Factor") -> Fraction | None:
        """Return the largest likelihood ratio of any outcome, or None when it is infinite."""
        codes = other.codes
        if self.keys != other.keys:
            known = dict(zip(other.keys, other.codes.tolist(), strict=True))
            if any(key not in known for key in self.keys):
                return None
            codes = np.array([known[key] for key in self.keys], dtype=np.int64)
        ratios = self.chances[self.codes] / other.chances[codes]
        # Floats rank the candidates; those within a part in 10^9 are compared exactly.
        near = ratios > ratios.max() * (1 - 1e-9)
        pairs = np.unique(self.codes[near] * len(other.distinct) + codes[near])
        return max(
            Fraction(self.distinct[mine], other.distinct[its])
            for mine, its in (divmod(int(pair), len(other.distinct)) for pair in pairs)
        )


def worst_pair(laws: list[Law]) -> tuple[Fraction | None, tuple[int, int]]:
    """Return the worst likelihood ratio over all ordered pairs of laws, and the pair."""
    # Most values share most of their factors.
    known: dict[tuple[int, frozenset[tuple[bytes, int]]], _Factor] = {}
    factors = [
        [
            known.setdefault((place, frozenset(weights.items())), _Factor(weights, total))
            for place, (weights, total) in enumerate(zip(law.weights, law.totals, strict=True))
        ]
        for law in laws
    ]
    ratios: dict[tuple[_Factor, _Factor], Fraction | None] = {}
    worst, pair = Fraction(1), (0, 0)
    for i, j in product(range(len(laws)), repeat=2):
        ratio = Fraction(1)
        for both in zip(factors[i], factors[j], strict=True):
            if both[0] is both[1]:
                continue
            if both not in ratios:
                ratios[both] = both[0].ratio(both[1])
            top = ratios[both]
            if top is None:
                return None, (i, j)
            ratio *= top
        if ratio > worst:
            worst, pair = ratio, (i, j)
    return worst, pair


@dataclass(frozen=True)
class Model:
    """The reports of one value: for each group of words a table of pieces of reports.

    ``words`` is the row around which the map was found; it fixes the public words.
    """

    value: int
    words: Words
    limits: list[int]
    groups: list[Group]
    steps: Steps
    tables: list[Bytes]

    def predict(self, words: Words) -> Bytes:
        size = sum(len(places) for _, places in self.groups)
        reports = np.empty((len(words), size), dtype=np.uint8)
        for (group, places), table in zip(self.groups, self.tables, strict=True):
            cell = np.zeros(len(words), dtype=np.intp)
            for j in group:
                starts = self.steps[j]
                cell = cell * len(starts) + np.searchsorted(starts, words[:, j], side="right") - 1
            reports[:, list(places)] = table[cell]
        return reports

    def law(self) -> Law:
        weights = [self._weights(*each) for each in zip(self.groups, self.tables, strict=True)]
        totals = [math.prod(self.limits[j] for j in words) for words, _ in self.groups]
        return Law(tuple(places for _, places in self.groups), tuple(weights), tuple(totals))

    def _weights(self, group: Group, table: Bytes) -> Weights:
        sizes = np.ones(1, dtype=object)
        for j in group[0]:
            widths = widths_of(self.steps[j], self.limits[j])
            sizes = np.multiply.outer(sizes, widths).ravel()
        law: Weights = {}
        for row, size in zip(table, sizes, strict=True):
            key = row.tobytes()
            law[key] = law.get(key, 0) + size
        return law


def widths_of(starts: Words, limit: int) -> np.typing.NDArray[np.object_]:
    """Return how many words each piece has, as Python's integers."""
    return np.diff(np.array([*starts.tolist(), limit], dtype=object))


def departure(law: Law, rows: Bytes) -> str | None:
    """Say how reports of one value depart from its law, or return None."""
    if len(rows) == 0:
        return None
    for places, weights, total in zip(law.positions, law.weights, law.totals, strict=True):
        if not places:
            continue
        part = np.ascontiguousarray(rows[:, list(places)])
        _, first, counts = np.unique(_report_codes(part), return_index=True, return_counts=True)
        found = {part[i].tobytes(): n for i, n in zip(first, counts.tolist(), strict=True)}
        impossible = next((key for key in found if key not in weights), None)
        if impossible is not None:
            return (
                f"a report that the law excludes ({impossible.hex()} in bytes {_byte_span(places)})"
            )
        seen = np.array([found.get(key, 0) for key in weights])
        chances = np.array([weight / total for weight in weights.values()])
        nats = _nats(seen, len(rows), chances)
        if nats.max() > FAR:
            cell = int(nats.argmax())
            return (
                f"{seen[cell]:,} of {len(rows):,} reports are {list(weights)[cell].hex()} in bytes "
                f"{_byte_span(places)}, where {len(rows) * chances[cell]:,.1f} are expected"
            )
    return _repeated(law, rows)


def difference(mine: Bytes, theirs: Bytes, flags: list[tuple[Floats, Floats]]) -> str | None:
    """Say how two samples differ that should have one law, or return None.

    ``flags`` are further yes-or-no features of the reports of each sample.
    """
    features = [("reports", *_joint_counts(mine, theirs)), ("bytes", *_byte_counts(mine, theirs))]
    features += [("features", _yes_no(a), _yes_no(b)) for a, b in flags]
    share = len(mine) / (len(mine) + len(theirs))
    for name, a, b in features:
        both = a + b
        nats = _nats(a[both > 0], both[both > 0], np.full(int((both > 0).sum()), share))
        if nats.max(initial=0.0) > FAR:
            cell = np.flatnonzero(both > 0)[int(nats.argmax())]
            return (
                f"one of its {name} came {a[cell]:,} times in {len(mine):,} against {b[cell]:,} "
                f"times in {len(theirs):,}"
            )
    return None


def _yes_no(flags: Floats) -> Counted:
    return np.array([int(flags.sum()), len(flags) - int(flags.sum())], dtype=np.int64)


def detectable(n: int) -> float:
    """Return how far off the chance of an event must be to be seen with 99 % chance."""
    return min(1.0, (math.sqrt(2 * FAR) + 2.33) * 0.5 / math.sqrt(max(1, n)))


def _nats(seen: Counted, trials: int | Counted, chances: Floats) -> Floats:
    """Return minus the logarithm of Chernoff's bound for counts as far off as these."""
    rate = seen / trials
    with np.errstate(divide="ignore", invalid="ignore"):
        up = np.where(rate > 0, rate * np.log(rate / chances), 0.0)
        down = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - chances)), 0.0)
    return np.asarray(trials * (up + down))


def _repeated(law: Law, rows: Bytes) -> str | None:
    """Say if some whole report came too often: the bound sums C(n, k) chance^k over reports."""
    _, first, counts = np.unique(_report_codes(rows), return_index=True, return_counts=True)
    n, k = len(rows), int(counts.max())
    if k < 2:
        return None
    log_bound = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    for weights, total in zip(law.weights, law.totals, strict=True):
        chances = np.array([weight / total for weight in weights.values()])
        log_bound += k * math.log(chances.max())
        log_bound += math.log(float(np.sum((chances / chances.max()) ** k)))
    if log_bound > -FAR:
        return None
    report = rows[first[int(counts.argmax())]].tobytes()[:16]
    return f"the report {report.hex()} came {k} times in {n:,}"


def _joint_counts(mine: Bytes, theirs: Bytes) -> tuple[Counted, Counted]:
    codes = np.concatenate([_report_codes(mine), _report_codes(theirs)])
    distinct, which = np.unique(codes, return_inverse=True)
    a = np.bincount(which[: len(mine)], minlength=len(distinct))
    b = np.bincount(which[len(mine) :], minlength=len(distinct))
    return a, b


def _report_codes(rows: Bytes) -> np.typing.NDArray[np.uint64]:
    """Return a number for each row, equal for equal rows; long rows are hashed.

    Two rows with the same hash only make one cell of two, which does no harm to a comparison.
    """
    width = rows.shape[1]
    if width <= 8:
        padded = np.zeros((len(rows), 8), dtype=np.uint8)
        padded[:, :width] = rows
        return padded.view("<u8").ravel()
    factors = np.random.default_rng(0).integers(0, 1 << 64, width, dtype=np.uint64)
    parts = [rows[i : i + 4096].astype(np.uint64) @ factors for i in range(0, len(rows), 4096)]
    return np.concatenate([*parts, np.empty(0, dtype=np.uint64)])


def _byte_counts(mine: Bytes, theirs: Bytes) -> tuple[Counted, Counted]:
    """Count the values of each byte or, where reports are long, of each bit."""
    if mine.shape[1] <= _FEW_BYTES:
        both = [[np.bincount(c, minlength=256) for c in rows.T] for rows in (mine, theirs)]
        return np.concatenate(both[0]), np.concatenate(both[1])
    a, b = (np.concatenate([_ones(rows), len(rows) - _ones(rows)]) for rows in (mine, theirs))
    return a, b


def _ones(rows: Bytes) -> Counted:
    total = np.zeros(8 * rows.shape[1], dtype=np.int64)
    for i in range(0, len(rows), 256):
        total += np.unpackbits(rows[i : i + 256], axis=1).sum(axis=0, dtype=np.int64)
    return total


def _byte_span(places: tuple[int, ...]) -> str:
    return f"{places[0]}" if len(places) == 1 else f"{places[0]} to {places[-1]}"

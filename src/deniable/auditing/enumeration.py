"""The exact output law of a protocol, found by replaying random bytes.

The report is a step function of each random word. Probing and bisection find the steps of it; words
that touch different bytes of the report are independent and are enumerated apart, so that the law
of a long bit vector is a product of small ones. Fresh random words then have to land on the
predicted reports: where they do not, the search goes on from them, and when that does not end the
protocol is declared not enumerable. So is one whose large batches do not follow the law.

A black box can be proved no further than it was looked at: what it does with fewer than one in
2^18 words of its randomness, those of all words of a report together, can escape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.mechanism import BULK_WORDS
from deniable.protocol import Protocol
from deniable.randomness import WORD, Replayed

_MAX_PIECES = 1 << 14
_MAX_CELLS = 1 << 19
_BASES = 3
_MAX_BASES = 60
_CHECKED_WORDS = 1 << 18
_LEAST_CHECKS = 2048
_WRONG_KEPT = 8
_BULK_REPORTS = 20_000
_FAR = 7.0
"""Standard deviations that no count of millions is off by chance."""
_FUNCTIONS = 24

Bytes = npt.NDArray[np.uint8]


class NotEnumerable(Exception):
    """The protocol's output law cannot be enumerated; the message says why."""


@dataclass(frozen=True)
class Law:
    """The law of one value's reports: independent factors, each with integer weights.

    ``positions[i]`` are the bytes of the report that ``weights[i]`` speaks of.
    """

    positions: tuple[tuple[int, ...], ...]
    weights: tuple[dict[bytes, int], ...]
    totals: tuple[int, ...]

    def total(self) -> Fraction:
        """Return the total probability, which must be exactly 1."""
        sums = (
            Fraction(sum(w.values()), t) for w, t in zip(self.weights, self.totals, strict=True)
        )
        return math.prod(sums, start=Fraction(1))

    def ratio(self, other: Law) -> Fraction | None:
        """Return the largest likelihood ratio of any report, or None when it is infinite."""
        worst = Fraction(1)
        for mine, theirs in zip(self.weights, other.weights, strict=True):
            if any(report not in theirs for report in mine):
                return None
            best = max(mine, key=lambda report: mine[report] / theirs[report])
            top = Fraction(mine[best], theirs[best])
            # Floats rank the candidates; those within a part in 10^9 are compared exactly.
            near = (r for r in mine if mine[r] / theirs[r] > float(top) * (1 - 1e-9))
            worst *= max(Fraction(mine[r], theirs[r]) for r in near)
        return worst


def worst_pair(laws: list[Law]) -> tuple[Fraction | None, tuple[int, int]]:
    """Return the worst likelihood ratio over all ordered pairs of laws, and the pair."""
    worst, pair = Fraction(1), (0, 0)
    for i, first in enumerate(laws):
        for j, second in enumerate(laws):
            ratio = first.ratio(second)
            if ratio is None:
                return None, (i, j)
            if ratio > worst:
                worst, pair = ratio, (i, j)
    return worst, pair


def enumerate_laws(protocol: Protocol, values: list[int]) -> list[list[Law]]:
    """Return the laws of ``values``; one list, or one for each of some public hash functions."""
    probe = _Probe(protocol)
    results = []
    for index in range(_FUNCTIONS if probe.public else 1):
        probe.base = probe.random_words(_BASES)
        shown = list(probe.public)
        probe.base[:, shown] = 0 if index == 0 else probe.base[0, shown]
        results.append(_laws(probe, values))
    return results


class _Probe:
    """A protocol as a function from words to the bytes of a report.

    ``base`` holds the rows of words around which one word at a time is varied.
    """

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.generator = np.random.default_rng(20170816)
        self.count = protocol.words.count
        self.limits = [protocol.words.limits.get(j, WORD) for j in range(self.count)]
        if self.count > _MAX_PIECES:
            raise NotEnumerable("a report takes too many random words")
        self.public = tuple(j for j in protocol.words.public if self._shows(j))
        self.hidden = [j for j in range(self.count) if j not in self.public]
        self.base = self.random_words(_BASES)

    def random_words(self, rows: int) -> npt.NDArray[np.uint64]:
        """Return rows of words, each uniform below its limit."""
        columns = [
            self.generator.integers(0, limit - 1, rows, dtype=np.uint64, endpoint=True)
            for limit in self.limits
        ]
        return np.stack(columns, axis=1)

    def run(self, value: int, words: npt.NDArray[np.uint64]) -> Bytes:
        """Return the bytes of the reports that ``privatize`` makes of the words."""
        source = Replayed(np.ascontiguousarray(words, dtype="<u8").tobytes())
        try:
            values = np.full(len(words), value, dtype=np.uint64)
            reports = self.protocol.privatize(values, rng=source)
        except DeniableError as error:
            raise NotEnumerable("it does not take its randomness from the words alone") from error
        if source.position != 8 * words.size:
            raise NotEnumerable("it does not take its randomness from the words alone")
        return np.frombuffer(reports.tobytes(), dtype=np.uint8).reshape(len(words), -1)

    def _shows(self, position: int) -> bool:
        """Tell whether every report holds the word at ``position`` verbatim."""
        words = self.random_words(64)
        reports = self.run(0, words)
        shown = words[:, position].astype("<u8").view(np.uint8).reshape(len(words), 8)
        return any(
            np.array_equal(reports[:, start : start + 8], shown)
            for start in range(reports.shape[1] - 7)
        )


def _laws(probe: _Probe, values: list[int]) -> list[Law]:
    """Find the laws around the base rows, and widen these until fresh words are predicted."""
    while True:
        steps = _all_steps(probe, values)
        size = probe.run(values[0], probe.base[:1]).shape[1]
        touched = np.zeros((probe.count, size), dtype=bool)
        for v in values:
            for j in probe.hidden:
                touched[j] |= _touched(probe, v, j, steps[v][j])
        groups = _groups(touched, probe.hidden)
        wrong = [_unpredicted(probe, v, groups, steps[v]) for v in values]
        if not any(len(rows) for rows in wrong):
            return [_law(probe, v, groups, steps[v]) for v in values]
        if len(probe.base) > _MAX_BASES:
            raise NotEnumerable("its reports change with the random words in no simple way")
        surprises = np.concatenate(wrong)[:_WRONG_KEPT]
        probe.base = np.concatenate([probe.base, surprises, _further_bases(probe, values, steps)])


Steps = dict[int, npt.NDArray[np.uint64]]


def _all_steps(probe: _Probe, values: list[int]) -> dict[int, Steps]:
    steps: dict[int, Steps] = {v: {} for v in values}
    for j in probe.hidden:
        known = np.zeros(1, dtype=np.uint64)
        for v in values:
            known = np.union1d(known, _steps(probe, v, j, known))
            steps[v][j] = known
    return steps


def _further_bases(
    probe: _Probe, values: list[int], steps: dict[int, Steps]
) -> npt.NDArray[np.uint64]:
    """Return rows in which each word in turn is in each of its pieces, some of them if many.

    One word may decide whether another matters, as the choice between two branches does.
    """
    rows = [probe.random_words(2 * _BASES)]
    for j in probe.hidden:
        starts = steps[values[-1]][j]
        some = probe.generator.choice(starts, min(len(starts), 4), replace=False)
        row = probe.random_words(len(some))
        row[:, j] = some
        rows.append(row)
    found = np.concatenate(rows)
    shown = list(probe.public)
    found[:, shown] = probe.base[0, shown]
    return found


def _steps(
    probe: _Probe, value: int, position: int, known: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Return where each constant piece of the report begins, as word ``position`` runs.

    ``known`` are steps found for other values, good places to look first.
    """
    last = probe.limits[position] - 1
    found = {0}
    for row in probe.base:
        before = np.array(sorted(found), dtype=np.uint64)
        hints = np.concatenate([known, before, probe.base[:, position]])
        points = np.unique(np.concatenate([_first_probes(last), hints, np.maximum(hints, 1) - 1]))
        while True:
            points = _bisect(probe, value, position, row, points)
            outputs = _at(probe, value, position, row, points)
            new = np.any(outputs[1:] != outputs[:-1], axis=1)
            starts = np.concatenate([points[:1], points[1:][new]])
            extra = _further_probes(starts, last, probe.generator)
            piece = np.searchsorted(starts, extra, side="right") - 1
            expected = outputs[np.searchsorted(points, starts)][piece]
            wrong = np.any(_at(probe, value, position, row, extra) != expected, axis=1)
            if not wrong.any():
                break
            points = np.unique(np.concatenate([points, extra[wrong]]))
        found.update(int(start) for start in starts)
        if len(found) > _MAX_PIECES:
            raise NotEnumerable("its reports change with the random words too often")
    return np.array(sorted(found), dtype=np.uint64)


def _first_probes(last: int) -> npt.NDArray[np.uint64]:
    near = {min(1 << i, last) for i in range(64)}
    far = {max(last - (1 << i), 0) for i in range(64)}
    even = {last * i // 256 for i in range(257)}
    return np.array(sorted({0, last} | near | far | even), dtype=np.uint64)


def _further_probes(
    starts: npt.NDArray[np.uint64], last: int, generator: np.random.Generator
) -> npt.NDArray[np.uint64]:
    some = starts if len(starts) <= 64 else generator.choice(starts, 64, replace=False)
    around = {
        min(max(int(s) + (d << i), 0), last) for s in some for i in range(63) for d in (-1, 1)
    }
    drawn = generator.integers(0, last, 512, dtype=np.uint64, endpoint=True)
    return np.unique(np.concatenate([np.array(sorted(around), dtype=np.uint64), drawn]))


def _bisect(
    probe: _Probe,
    value: int,
    position: int,
    row: npt.NDArray[np.uint64],
    points: npt.NDArray[np.uint64],
) -> npt.NDArray[np.uint64]:
    """Add points until any two neighbours with different reports are one apart."""
    outputs = _at(probe, value, position, row, points)
    while True:
        differ = np.any(outputs[1:] != outputs[:-1], axis=1)
        open_ = np.flatnonzero(differ & (points[1:] - points[:-1] > 1))
        if len(open_) == 0:
            return points
        if len(points) > 8 * _MAX_PIECES:
            raise NotEnumerable("its reports change with the random words too often")
        middle = points[open_] + (points[open_ + 1] - points[open_]) // np.uint64(2)
        points = np.insert(points, open_ + 1, middle)
        outputs = np.insert(outputs, open_ + 1, _at(probe, value, position, row, middle), axis=0)


def _at(
    probe: _Probe,
    value: int,
    position: int,
    row: npt.NDArray[np.uint64],
    points: npt.NDArray[np.uint64],
) -> Bytes:
    words = np.tile(row, (len(points), 1))
    words[:, position] = points
    return probe.run(value, words)


def _touched(
    probe: _Probe, value: int, position: int, starts: npt.NDArray[np.uint64]
) -> npt.NDArray[np.bool_]:
    """Tell which bytes of the report change with the word at ``position``."""
    seen = [_at(probe, value, position, row, starts) for row in probe.base]
    return np.asarray(np.any([np.any(o != o[:1], axis=0) for o in seen], axis=0))


Group = tuple[tuple[int, ...], tuple[int, ...]]


def _groups(touched: npt.NDArray[np.bool_], hidden: list[int]) -> list[Group]:
    """Return (words, bytes) of each independent part of the report; the rest is one more part."""
    groups: list[tuple[set[int], set[int]]] = []
    for j in hidden:
        words, places = {j}, set(np.flatnonzero(touched[j]).tolist())
        apart = []
        for other_words, other_places in groups:
            if places & other_places:
                words |= other_words
                places |= other_places
            else:
                apart.append((other_words, other_places))
        groups = [*apart, (words, places)] if places else groups
    used = set().union(*(places for _, places in groups))
    groups.append((set(), set(range(touched.shape[1])) - used))
    return [(tuple(sorted(words)), tuple(sorted(places))) for words, places in groups]


def _law(
    probe: _Probe,
    value: int,
    groups: list[Group],
    steps: Steps,
) -> Law:
    weights, totals = [], []
    for words, places in groups:
        widths = [_widths(steps[j], probe.limits[j]) for j in words]
        cells = math.prod(len(w) for w in widths)
        if cells > _MAX_CELLS:
            raise NotEnumerable("too many combinations of random words matter")
        grid = np.tile(probe.base[0], (cells, 1))
        if words:
            mesh = np.meshgrid(*(steps[j] for j in words), indexing="ij")
            for j, column in zip(words, mesh, strict=True):
                grid[:, j] = column.ravel()
        outputs = np.ascontiguousarray(probe.run(value, grid)[:, list(places)])
        law: dict[bytes, int] = {}
        for output, parts in zip(outputs, product(*widths), strict=True):
            key = output.tobytes()
            law[key] = law.get(key, 0) + math.prod(parts)
        weights.append(law)
        totals.append(math.prod(probe.limits[j] for j in words))
    return Law(tuple(places for _, places in groups), tuple(weights), tuple(totals))


def _widths(starts: npt.NDArray[np.uint64], limit: int) -> list[int]:
    ends = [*(int(s) for s in starts[1:]), limit]
    return [end - int(start) for start, end in zip(starts, ends, strict=True)]


def _unpredicted(
    probe: _Probe, value: int, groups: list[Group], steps: Steps
) -> npt.NDArray[np.uint64]:
    """Return those of many fresh rows of words whose reports their pieces' first words miss."""
    functions = _FUNCTIONS if probe.public else 1
    count = max(_LEAST_CHECKS, _CHECKED_WORDS // (functions * probe.count))
    words = probe.random_words(count)
    words[:, list(probe.public)] = probe.base[0, list(probe.public)]
    actual = probe.run(value, words)
    if not np.array_equal(actual, probe.run(value, words)):
        raise NotEnumerable("it does not take its randomness from the words alone")
    wrong = np.zeros(count, dtype=np.bool_)
    for group, places in groups:
        snapped = np.tile(probe.base[0], (count, 1))
        for j in group:
            snapped[:, j] = steps[j][np.searchsorted(steps[j], words[:, j], side="right") - 1]
        columns = list(places)
        wrong |= np.any(probe.run(value, snapped)[:, columns] != actual[:, columns], axis=1)
    return words[wrong][:_WRONG_KEPT]


def check_bulk(protocol: Protocol, value: int, law: Law) -> None:
    """Raise NotEnumerable unless a batch that is large enough for all cores follows the law."""
    count = max(_BULK_REPORTS, BULK_WORDS // protocol.words.count + 1)
    values = np.full(count, value, dtype=np.uint64)
    reports = protocol.privatize(values, np.random.default_rng(20170816))
    rows = np.frombuffer(reports.tobytes(), dtype=np.uint8).reshape(count, -1)
    for places, weights, total in zip(law.positions, law.weights, law.totals, strict=True):
        part = np.ascontiguousarray(rows[:, list(places)])
        keys, counts = np.unique(part, axis=0, return_counts=True)
        seen = {key.tobytes(): int(c) for key, c in zip(keys, counts, strict=True)}
        expected = {key: count * weight / total for key, weight in weights.items()}
        near = all(
            abs(seen.get(key, 0) - mean) <= _FAR * math.sqrt(mean) + _FAR**2 / 2
            for key, mean in expected.items()
        )
        if not near or seen.keys() - expected.keys():
            raise NotEnumerable("large batches do not follow the law of single reports")

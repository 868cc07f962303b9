"""Where a report changes as its random words run: probing and bisection.

A report is a step function of each word. Words that change different bytes of the report are varied
at the same time, which costs one call where they would cost many; that they do is seen beforehand
in a few probes, and a mistake about it shows as a misprediction later, after which each word is
varied alone (``deniable.auditing.model``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from deniable.auditing.probe import Bytes, NotEnumerable, Probe, Values, Words

_MAX_PIECES = 45_000
_MOST_ROWS = 1 << 21
_FEW_WORDS = 1 << 18
_MOST_BYTES = 1 << 26
_EVEN = 256
_DRAWN = 512
_VARIED = 24
_AROUND = 48
_RARELY = 2

Steps = dict[int, Words]
"""For each position of a word, where each constant piece of the report begins."""


def find_steps(probe: Probe, values: Values, base: Words, *, alone: bool) -> list[Steps]:
    """Return the steps of each value, around the rows of words in ``base``."""
    found: list[dict[int, set[int]]] = [{j: {0} for j in probe.hidden} for _ in values]
    for family in _families(probe, values, base, alone=alone):
        hints = {j: np.zeros(1, dtype=np.uint64) for j in family}
        for row in base:
            starts = _family_steps(probe, values, row, family, _first(probe, base, hints, family))
            for j in family:
                for of_value, own in zip(found, starts[j], strict=True):
                    of_value[j].update(own.tolist())
                hints[j] = np.unique(np.concatenate([hints[j], *starts[j]]))
                if len(hints[j]) > _MAX_PIECES:
                    raise NotEnumerable("its reports change with the random words too often")
    return [
        {j: np.array(sorted(starts), dtype=np.uint64) for j, starts in each.items()}
        for each in found
    ]


Family = dict[int, npt.NDArray[np.intp]]
"""Positions of words that are varied together, with the bytes of the report that each changes."""


def _families(probe: Probe, values: Values, base: Words, *, alone: bool) -> list[Family]:
    size = probe.run(values[:1], base[:1]).shape[1]
    everything = np.arange(size)
    if alone:
        return [{j: everything} for j in probe.hidden]
    families: list[Family] = []
    taken: list[set[int]] = []
    for j, places in touched(probe, values, base).items():
        own = set(places.tolist())
        for family, used in zip(families, taken, strict=True):
            if own and not own & used:
                family[j] = places
                used.update(own)
                break
        else:
            families.append({j: places if own else everything})
            taken.append(own or set(everything.tolist()))
    return families


def touched(probe: Probe, values: Values, base: Words, steps: Steps | None = None) -> Family:
    """Return which bytes of the report change with each word, as far as a few probes show."""
    varied = max(4, min(_VARIED, _MOST_BYTES // (8 * len(values) * probe.count**2)))
    result = {}
    for j in probe.hidden:
        points = _random_below(probe, j, varied)
        points[:2] = 0, probe.limits[j] - 1
        if steps is not None:
            some = steps[j] if len(steps[j]) <= varied else probe.generator.choice(steps[j], varied)
            points = np.concatenate([points, some])
        seen: npt.NDArray[np.bool_] | bool = False
        for row in base:
            words = np.tile(row, (len(points), 1))
            words[:, j] = points
            outputs = _outputs(probe, values, words)
            seen = seen | np.any(outputs != outputs[:, :1], axis=(0, 1))
        result[j] = np.flatnonzero(seen)
    return result


def often_touched(probe: Probe, values: Values, base: Words) -> Family:
    """Return which bytes of the report change with each word more than once in a while."""
    result = {}
    for j in probe.hidden:
        points = _random_below(probe, j, _VARIED)
        changes: npt.NDArray[np.int64] | int = 0
        for row in base:
            words = np.tile(row, (_VARIED + 1, 1))
            words[1:, j] = points
            outputs = _outputs(probe, values, words)
            changes = changes + np.sum(outputs != outputs[:, :1], axis=1)
        result[j] = np.flatnonzero(np.max(changes, axis=0) > _RARELY)
    return result


def _first(probe: Probe, base: Words, hints: Steps, family: Family) -> dict[int, Words]:
    """Return where to look first: known steps, the words of the bases, and a net over all words."""
    points = {}
    for j in family:
        last = probe.limits[j] - 1
        near = np.concatenate([hints[j], base[:, j]])
        drawn = _random_below(probe, j, _DRAWN)
        around = _around(hints[j], last, probe.generator)
        parts = [_net(last), near, np.maximum(near, 1) - np.uint64(1), drawn, around]
        points[j] = np.unique(np.concatenate(parts))
    return points


def _random_below(probe: Probe, position: int, count: int) -> Words:
    last = probe.limits[position] - 1
    return probe.generator.integers(0, last, count, dtype=np.uint64, endpoint=True)


@lru_cache(maxsize=64)
def _net(last: int) -> Words:
    near = {min(1 << i, last) for i in range(64)}
    far = {max(last - (1 << i), 0) for i in range(64)}
    even = {last * i // _EVEN for i in range(_EVEN + 1)}
    return np.array(sorted({0, last} | near | far | even), dtype=np.uint64)


def _around(starts: Words, last: int, generator: np.random.Generator) -> Words:
    """Return points at all distances that are powers of two from some of the known steps."""
    some = starts if len(starts) <= _AROUND else generator.choice(starts, _AROUND, replace=False)
    distance = np.uint64(1) << np.arange(63, dtype=np.uint64)
    above, below = some[:, None] + distance, some[:, None] - distance
    inside = (above > some[:, None]) & (above <= np.uint64(last))
    return np.concatenate([above[inside], below[below < some[:, None]]])


def _family_steps(
    probe: Probe, values: Values, row: Words, family: Family, points: dict[int, Words]
) -> dict[int, list[Words]]:
    """Return the steps of each value for each word of a family, the other words being ``row``."""
    while True:
        words = np.tile(row, (max(map(len, points.values())), 1))
        for j, own in points.items():
            words[: len(own), j] = own
        if len(values) * len(words) > _MOST_ROWS:
            raise NotEnumerable("its reports change with the random words too often")
        outputs = _outputs(probe, values, words)
        found, tasks = {}, []
        for j, places in family.items():
            own = points[j]
            seen = outputs[:, : len(own)][:, :, places]
            differ = np.any(seen[:, 1:] != seen[:, :-1], axis=2)
            found[j] = [own[1:][each] for each in differ]
            unsure = differ & (own[1:] - own[:-1] > 1)
            at = np.flatnonzero(unsure.any(axis=0))
            if len(at) > _MAX_PIECES:
                raise NotEnumerable("its reports change with the random words too often")
            if len(at):
                first = unsure[:, at].argmax(axis=0)
                tasks.append(_Task(j, places, first, seen[first, at], own[at], own[at + 1]))
        if not tasks:
            return found
        halves = [task.low + (task.high - task.low) // np.uint64(2) for task in tasks]
        _bisect(probe, values, row, tasks)
        for task, half in zip(tasks, halves, strict=True):
            parts = [points[task.position], task.low, task.high, half]
            points[task.position] = np.unique(np.concatenate(parts))


@dataclass
class _Task:
    """Intervals of one word in which the report of a value changes, as they shrink."""

    position: int
    places: npt.NDArray[np.intp]
    value: npt.NDArray[np.intp]
    before: Bytes
    low: Words
    high: Words

    def ranks(self) -> npt.NDArray[np.intp]:
        """Number the intervals of each value."""
        order = np.argsort(self.value, kind="stable")
        ordered = self.value[order]
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return rank


def _bisect(probe: Probe, values: Values, row: Words, tasks: list[_Task]) -> None:
    """Shrink every interval to two neighbours with different reports; words go side by side."""
    longest = max(len(task.value) for task in tasks)
    keys = [task.value * longest + task.ranks() for task in tasks]
    distinct, which = np.unique(np.concatenate(keys), return_inverse=True)
    whose = values[distinct // longest]
    index = np.split(which, np.cumsum([len(key) for key in keys])[:-1])
    while any(np.any(task.high - task.low > 1) for task in tasks):
        words = np.tile(row, (len(distinct), 1))
        middles = [task.low + (task.high - task.low) // np.uint64(2) for task in tasks]
        for task, rows, middle in zip(tasks, index, middles, strict=True):
            words[rows, task.position] = middle
        outputs = probe.run_many(whose, words)
        for task, rows, middle in zip(tasks, index, middles, strict=True):
            same = np.all(outputs[rows][:, task.places] == task.before, axis=1)
            task.low, task.high = (
                np.where(same, middle, task.low),
                np.where(same, task.high, middle),
            )


def _outputs(probe: Probe, values: Values, words: Words) -> Bytes:
    """Return the reports of every value from every row of words: values x rows x bytes."""
    if words.size * len(values) <= _FEW_WORDS:
        whose = np.repeat(values, len(words))
        rows = probe.run_many(whose, np.tile(words, (len(values), 1)))
        return rows.reshape(len(values), len(words), -1)
    return np.stack([probe.run_one(int(v), words) for v in values])

"""The map from random words to reports, found by probing and bisection, and kept as a table.

A report is a step function of each word. Words that change different bytes of the report are varied
at the same time, which costs one call instead of many. A few probes show which words these are; a
mistake shows later as a misprediction, and then each word is varied alone.

Words that touch different bytes are independent and are tabulated apart, so that the law of a long
bit vector is a product of small ones. Fresh random words then have to land on the predicted
reports. Where they do not, the search goes on from them, and if it does not end the map is declared
not enumerable. What is left is a model that predicts most reports, which still helps to measure the
rest (``deniable.auditing.bounds``).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deniable.auditing.probe import Bytes, NotEnumerable, Probe, Values, Words
from deniable.auditing.report_law import Group, Model, Steps, widths_of

_MAX_CELLS = 1 << 17
_BASES, _ROUNDS = 3, 6
_PATIENCE = 2
"""After this many rounds each must at least halve the mispredictions."""
_WRONG_KEPT, _FURTHER_BASES = 8, 24
_CHECKED_WORDS = 1 << 25
_MOST_WORK = 1 << 33
"""The most words that a search evaluates that varies one word at a time."""
_POINTS = 1 << 10
"""Points at which each word is tried, roughly."""
FUNCTIONS = 24
"""How many public hash functions are enumerated, each by itself."""
_MAX_PIECES = 45_000
_MOST_ROWS, _FEW_WORDS, _MOST_BYTES = 1 << 21, 1 << 18, 1 << 26
_EVEN, _DRAWN, _VARIED, _AROUND = 256, 512, 24, 48
_RARELY = 2

Family = dict[int, np.typing.NDArray[np.intp]]
"""Positions of words that are varied together, with the bytes of the report that each changes."""


def find_models(probe: Probe, values: Values) -> tuple[list[list[Model]], str | None]:
    """Return the models of ``values``, one list or one for each public hash function.

    The second result is None if fresh words confirm them, and otherwise says why they do not.
    """
    results = []
    for index in range(FUNCTIONS if probe.public else 1):
        function = probe.random_words(1)[0] if index else np.zeros(probe.count, dtype=np.uint64)
        models, reason = _settle(probe, values, probe.random_words(_BASES, like=function))
        results.append(models)
        if reason is not None:
            return results, reason
    return results, None


def _settle(probe: Probe, values: Values, base: Words) -> tuple[list[Model], str | None]:
    """Find the models around the base rows, and add rows until fresh words are predicted."""
    alone, before = False, math.inf
    for index in range(_ROUNDS):
        steps = _find_steps(probe, values, base, alone=alone)
        try:
            every = {
                j: np.unique(np.concatenate([each[j] for each in steps])) for j in probe.hidden
            }
            places = _touched(probe, values, base, every)
            models = _tables(probe, values, base, steps, places)
        except NotEnumerable as reason:
            return _roughly(probe, values, base, steps), str(reason)
        wanted = min(1 << 18, max(10_240, (1 << 20) // len(values)))
        wanted = min(wanted, _CHECKED_WORDS // (len(values) * probe.count))
        checks = max(64, wanted // (FUNCTIONS if probe.public else 1))
        wrong = np.concatenate([_unpredicted(probe, model, checks) for model in models])
        if len(wrong) == 0:
            return models, None
        if index >= _PATIENCE and len(wrong) > before / 2:
            break
        alone, before = True, len(wrong)
        base = np.concatenate([base, wrong[:_WRONG_KEPT], _further_bases(probe, base, steps[-1])])
        work = len(base) * len(probe.hidden) * len(values) * _POINTS * probe.count
        if work > _MOST_WORK:
            break
    return models, "its reports change with the random words in no simple way"


def _roughly(probe: Probe, values: Values, base: Words, steps: list[Steps]) -> list[Model]:
    """Tabulate without what matters rarely: such models miss some reports, or there are none."""
    often = _touched(probe, values, base, rarely=_RARELY)
    rough = [
        {j: _wide_pieces(starts, probe.limits[j]) for j, starts in own.items()} for own in steps
    ]
    try:
        return _tables(probe, values, base, rough, often)
    except NotEnumerable:
        return []


def _wide_pieces(starts: Words, limit: int) -> Words:
    """Return the starts of pieces that are not tiny."""
    kept = widths_of(starts, limit) > limit >> 20
    return np.union1d(starts[kept.astype(np.bool_)], np.zeros(1, dtype=np.uint64))


def _tables(
    probe: Probe, values: Values, base: Words, steps: list[Steps], places: Family
) -> list[Model]:
    groups = _groups(places, probe.run(values[:1], base[:1]).shape[1])
    return [
        Model(int(v), base[0], probe.limits, groups, own,
              [_table(probe, int(v), base[0], group, own) for group in groups])
        for v, own in zip(values, steps, strict=True)
    ]  # fmt: skip


def _table(probe: Probe, value: int, row: Words, group: Group, steps: Steps) -> Bytes:
    words, places = group
    cells = math.prod(len(steps[j]) for j in words)
    if cells > _MAX_CELLS:
        raise NotEnumerable("too many combinations of random words matter")
    grid = np.tile(row, (cells, 1))
    mesh = np.meshgrid(*(steps[j] for j in words), indexing="ij")
    for j, column in zip(words, mesh, strict=True):
        grid[:, j] = column.ravel()
    return np.ascontiguousarray(probe.run_one(value, grid)[:, list(places)])


def _groups(touches: Family, size: int) -> list[Group]:
    """Return (words, bytes) of each independent part of the report, and of the rest."""
    groups: list[tuple[set[int], set[int]]] = []
    for j, found in touches.items():
        words, places = {j}, set(found.tolist())
        apart = []
        for other_words, other_places in groups:
            if places & other_places:
                words |= other_words
                places |= other_places
            else:
                apart.append((other_words, other_places))
        groups = [*apart, (words, places)] if places else groups
    used = set().union(*(places for _, places in groups))
    groups.append((set(), set(range(size)) - used))
    return [(tuple(sorted(words)), tuple(sorted(places))) for words, places in groups]


def _unpredicted(probe: Probe, model: Model, count: int) -> Words:
    """Return the rows among many fresh ones whose reports the model misses."""
    words = probe.random_words(count, like=model.words)
    actual = probe.run_one(model.value, words)
    return words[np.any(model.predict(words) != actual, axis=1)]


def _further_bases(probe: Probe, base: Words, steps: Steps) -> Words:
    """Return rows in which one word is at the start of one of its pieces.

    One word may decide whether another matters, as the choice between two branches does.
    """
    rows = probe.random_words(_FURTHER_BASES, like=base[0])
    for row in rows[: _FURTHER_BASES * 3 // 4]:
        j = int(probe.generator.choice(probe.hidden))
        row[j] = probe.generator.choice(steps[j])
    return rows


def _find_steps(probe: Probe, values: Values, base: Words, *, alone: bool) -> list[Steps]:
    """Return the steps of each value, around the rows of words in ``base``."""
    found: list[dict[int, set[int]]] = [{j: {0} for j in probe.hidden} for _ in values]
    for family in _families(probe, values, base, alone=alone):
        hints = {j: np.zeros(1, dtype=np.uint64) for j in family}
        for row in base:
            starts = _family_steps(
                probe, values, row, family, _first_points(probe, base, hints, family)
            )
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


def _families(probe: Probe, values: Values, base: Words, *, alone: bool) -> list[Family]:
    size = probe.run(values[:1], base[:1]).shape[1]
    everything = np.arange(size)
    if alone:
        return [{j: everything} for j in probe.hidden]
    families: list[Family] = []
    taken: list[set[int]] = []
    for j, places in _touched(probe, values, base).items():
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


def _touched(
    probe: Probe, values: Values, base: Words, steps: Steps | None = None, *, rarely: int = 0
) -> Family:
    """Return which bytes of the report change with each word, as far as a few probes show.

    A byte counts that changes more than ``rarely`` times for some value.
    """
    varied = max(4, min(_VARIED, _MOST_BYTES // (8 * len(values) * probe.count**2)))
    result = {}
    for j in probe.hidden:
        points = _random_below(probe, j, varied)
        if not rarely:
            points[:2] = 0, probe.limits[j] - 1
        if steps is not None:
            some = steps[j] if len(steps[j]) <= varied else probe.generator.choice(steps[j], varied)
            points = np.concatenate([points, some])
        changes: np.typing.NDArray[np.int64] | int = 0
        for row in base:
            words = np.tile(row, (len(points) + 1, 1))
            words[1:, j] = points
            outputs = _outputs(probe, values, words)
            changes = changes + np.sum(outputs != outputs[:, :1], axis=1)
        result[j] = np.flatnonzero(np.max(changes, axis=0) > rarely)
    return result


def _first_points(probe: Probe, base: Words, hints: Steps, family: Family) -> dict[int, Words]:
    """Return where to look first: at known steps, at the base rows, and on a net of all words."""
    points = {}
    for j in family:
        last = probe.limits[j] - 1
        near = np.concatenate([hints[j], base[:, j]])
        drawn = _random_below(probe, j, _DRAWN)
        around = _points_around(hints[j], last, probe.generator)
        parts = [_net_of_words(last), near, np.maximum(near, 1) - np.uint64(1), drawn, around]
        points[j] = np.unique(np.concatenate(parts))
    return points


def _random_below(probe: Probe, position: int, count: int) -> Words:
    last = probe.limits[position] - 1
    return probe.generator.integers(0, last, count, dtype=np.uint64, endpoint=True)


@lru_cache(maxsize=64)
def _net_of_words(last: int) -> Words:
    near = {min(1 << i, last) for i in range(64)}
    far = {max(last - (1 << i), 0) for i in range(64)}
    even = {last * i // _EVEN for i in range(_EVEN + 1)}
    return np.array(sorted({0, last} | near | far | even), dtype=np.uint64)


def _points_around(starts: Words, last: int, generator: "np.random.Generator") -> Words:
    """Return points at every power of two from some of the known steps."""
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
    """Intervals of one word in which the report of a value changes; they shrink to steps."""

    position: int
    places: np.typing.NDArray[np.intp]
    value: np.typing.NDArray[np.intp]
    before: Bytes
    low: Words
    high: Words

    def ranks(self) -> np.typing.NDArray[np.intp]:
        """Number the intervals of each value."""
        order = np.argsort(self.value, kind="stable")
        ordered = self.value[order]
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return rank


def _bisect(probe: Probe, values: Values, row: Words, tasks: list[_Task]) -> None:
    """Shrink every interval to two neighbours with different reports, all words at once."""
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

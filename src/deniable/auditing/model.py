"""The map from random words to reports, as a table: found once, then used to predict and to weigh.

Words that touch different bytes of the report are independent and are tabulated apart, so that the
law of a long bit vector is a product of small ones. Fresh random words then have to land on the
predicted reports: where they do not, the search goes on from them, and when that does not end the
map is declared not enumerable. What is left then is a model that predicts most reports, which still
helps to measure the rest (``deniable.auditing.bounds``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.auditing.law import Law, Weights
from deniable.auditing.probe import Bytes, NotEnumerable, Probe, Values, Words
from deniable.auditing.steps import Steps, find_steps, often_touched, touched

_MAX_CELLS = 1 << 17
_BASES = 3
_ROUNDS = 6
_PATIENCE = 2
"""Rounds after which mispredictions must at least halve in each."""
_WRONG_KEPT = 8
_FURTHER_BASES = 24
_CHECKED_WORDS = 1 << 25
_MOST_WORK = 1 << 33
"""Words that a search may evaluate which varies one word at a time."""
_POINTS = 1 << 10
"""Points at which each word is tried, roughly."""
FUNCTIONS = 24
"""Public hash functions of which the law is enumerated, each for itself."""

Group = tuple[tuple[int, ...], tuple[int, ...]]
"""Words, and the bytes of the report that they alone decide."""


@dataclass(frozen=True)
class Model:
    """What is predicted of one value: for each group of words a table of pieces of reports.

    ``words`` are those of the row around which the map was found; it fixes the public ones.
    """

    value: int
    words: Words
    limits: list[int]
    groups: list[Group]
    steps: Steps
    tables: list[Bytes]

    def predict(self, words: Words) -> Bytes:
        """Return the reports that rows of words ought to give."""
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
        """Return the exact law of what is predicted."""
        weights = [self._weights(*each) for each in zip(self.groups, self.tables, strict=True)]
        totals = [math.prod(self.limits[j] for j in words) for words, _ in self.groups]
        return Law(tuple(places for _, places in self.groups), tuple(weights), tuple(totals))

    def _weights(self, group: Group, table: Bytes) -> Weights:
        sizes = np.ones(1, dtype=object)
        for j in group[0]:
            widths = np.array(_widths(self.steps[j], self.limits[j]), dtype=object)
            sizes = np.multiply.outer(sizes, widths).ravel()
        law: Weights = {}
        for row, size in zip(table, sizes, strict=True):
            key = row.tobytes()
            law[key] = law.get(key, 0) + size
        return law


def find_models(probe: Probe, values: Values) -> tuple[list[list[Model]], str | None]:
    """Return the models of ``values``, one list or one for each public hash function.

    The second result is None when fresh words confirm them, and else why they are only nearly so.
    """
    results = []
    for index in range(FUNCTIONS if probe.public else 1):
        base = probe.random_words(_BASES)
        shown = list(probe.public)
        base[:, shown] = 0 if index == 0 else base[0, shown]
        models, reason = _settle(probe, values, base)
        results.append(models)
        if reason is not None:
            return results, reason
    return results, None


def fresh_rows(probe: Probe, values: int) -> int:
    """Return how many fresh rows of words check the map of each value."""
    wanted = min(1 << 18, max(10_240, (1 << 20) // values))
    functions = FUNCTIONS if probe.public else 1
    return max(64, min(wanted, _CHECKED_WORDS // (values * probe.count)) // functions)


def _settle(probe: Probe, values: Values, base: Words) -> tuple[list[Model], str | None]:
    """Find the models around the base rows, and widen these until fresh words are predicted."""
    alone, before = False, math.inf
    for index in range(_ROUNDS):
        steps = find_steps(probe, values, base, alone=alone)
        try:
            models = _tabulate(probe, values, base, steps)
        except NotEnumerable as reason:
            return _roughly(probe, values, base, steps), str(reason)
        checks = fresh_rows(probe, len(values))
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


def _tabulate(probe: Probe, values: Values, base: Words, steps: list[Steps]) -> list[Model]:
    union = {j: np.unique(np.concatenate([each[j] for each in steps])) for j in probe.hidden}
    places = touched(probe, values, base, union)
    groups = _groups(places, probe.run(values[:1], base[:1]).shape[1])
    return [
        _table(probe, int(v), base[0], groups, own) for v, own in zip(values, steps, strict=True)
    ]


def _roughly(probe: Probe, values: Values, base: Words, steps: list[Steps]) -> list[Model]:
    """Tabulate without what matters rarely; such models miss some reports, or there are none."""
    groups = _groups(often_touched(probe, values, base), probe.run(values[:1], base[:1]).shape[1])
    rough = [{j: _wide(starts, probe.limits[j]) for j, starts in own.items()} for own in steps]
    try:
        return [
            _table(probe, int(v), base[0], groups, own)
            for v, own in zip(values, rough, strict=True)
        ]
    except NotEnumerable:
        return []


def _wide(starts: Words, limit: int) -> Words:
    """Return the starts of pieces that are not tiny."""
    kept = np.array(_widths(starts, limit), dtype=object) > limit >> 20
    return np.union1d(starts[kept.astype(np.bool_)], np.zeros(1, dtype=np.uint64))


def _table(probe: Probe, value: int, row: Words, groups: list[Group], steps: Steps) -> Model:
    tables = []
    for words, places in groups:
        cells = math.prod(len(steps[j]) for j in words)
        if cells > _MAX_CELLS:
            raise NotEnumerable("too many combinations of random words matter")
        grid = np.tile(row, (cells, 1))
        if words:
            mesh = np.meshgrid(*(steps[j] for j in words), indexing="ij")
            for j, column in zip(words, mesh, strict=True):
                grid[:, j] = column.ravel()
        tables.append(np.ascontiguousarray(probe.run_one(value, grid)[:, list(places)]))
    return Model(value, row, probe.limits, groups, steps, tables)


def _groups(touches: dict[int, npt.NDArray[np.intp]], size: int) -> list[Group]:
    """Return (words, bytes) of each independent part of the report; the rest is one more part."""
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


def _widths(starts: Words, limit: int) -> list[int]:
    ends = [*(int(s) for s in starts[1:]), limit]
    return [end - int(start) for start, end in zip(starts, ends, strict=True)]


def _unpredicted(probe: Probe, model: Model, count: int) -> Words:
    """Return those of many fresh rows of words whose reports the model misses."""
    words = probe.random_words(count)
    shown = list(probe.public)
    words[:, shown] = model.words[shown]
    actual = probe.run_one(model.value, words)
    return words[np.any(model.predict(words) != actual, axis=1)]


def _further_bases(probe: Probe, base: Words, steps: Steps) -> Words:
    """Return rows in which some word in turn is in one of its pieces.

    One word may decide whether another matters, as the choice between two branches does.
    """
    rows = probe.random_words(_FURTHER_BASES)
    for row in rows[: _FURTHER_BASES * 3 // 4]:
        j = int(probe.generator.choice(probe.hidden))
        row[j] = probe.generator.choice(steps[j])
    shown = list(probe.public)
    rows[:, shown] = base[0, shown]
    return rows

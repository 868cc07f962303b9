"""The exact law of a value's reports, and the worst likelihood ratio between two of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

Weights = dict[bytes, int]


@dataclass(frozen=True)
class Law:
    """The law of one value's reports: independent factors, each with integer weights.

    ``positions[i]`` are the bytes of the report that ``weights[i]`` speaks of.
    """

    positions: tuple[tuple[int, ...], ...]
    weights: tuple[Weights, ...]
    totals: tuple[int, ...]

    def total(self) -> Fraction:
        """Return the total probability, which must be exactly 1."""
        sums = (
            Fraction(sum(w.values()), t) for w, t in zip(self.weights, self.totals, strict=True)
        )
        return math.prod(sums, start=Fraction(1))

    def chance(self, report: bytes) -> float:
        """Return the probability of one whole report."""
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

    def ratio(self, other: _Factor) -> Fraction | None:
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
    kinds, factors = _kinds(laws)
    known: dict[tuple[int, int], Fraction | None] = {}
    worst, pair = Fraction(1), (0, 0)
    for i, j in product(range(len(laws)), repeat=2):
        ratio = Fraction(1)
        for mine, theirs in zip(kinds[i], kinds[j], strict=True):
            if mine == theirs:
                continue
            if (mine, theirs) not in known:
                known[mine, theirs] = factors[mine].ratio(factors[theirs])
            top = known[mine, theirs]
            if top is None:
                return None, (i, j)
            ratio *= top
        if ratio > worst:
            worst, pair = ratio, (i, j)
    return worst, pair


def _kinds(laws: list[Law]) -> tuple[list[list[int]], list[_Factor]]:
    """Number the different factors: most values share most of theirs."""
    numbers: dict[tuple[int, frozenset[tuple[bytes, int]]], int] = {}
    factors: list[_Factor] = []
    kinds: list[list[int]] = []
    for law in laws:
        kinds.append([])
        for place, (weights, total) in enumerate(zip(law.weights, law.totals, strict=True)):
            key = (place, frozenset(weights.items()))
            if key not in numbers:
                numbers[key] = len(factors)
                factors.append(_Factor(weights, total))
            kinds[-1].append(numbers[key])
    return kinds, factors

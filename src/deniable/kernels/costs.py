"""What decoding linear hashing costs, so that the cheapest way is taken and can be shown.

table  fold a dense table of all g^(t+1) report codes, then shear
fold   fold the distinct reports one by one, then shear
solve  find the supported values of each distinct report, without any table
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from deniable.kernels.fields import Field

MEMORY_LIMIT = 1 << 32
LARGEST_FOLDED = 1024
"""Shears use g x g tables, which fields keep up to this order."""

# Nanoseconds on one core of a 2.3 GHz Xeon, calibrated by benchmarks of these kernels.
_FOLD_CELL = 0.8
_FOLD_REPORT = 16.0
_SHEAR_MOVE = 3.0
_SHEAR_ADD = 0.15
_SOLVE_REPORT = 30.0
_SOLVE_VALUE = 2.5


class Cost(NamedTuple):
    """What one way of decoding takes: time on one core, and memory beyond the reports."""

    nanoseconds: float
    memory: int


def level_start(g: int, t: int, level: int) -> int:
    """Where the cells of a level begin: after g^t, g^(t-1) ... cells of the levels before."""
    return sum(g ** (t - j) for j in range(level))


def folded_size(g: int, t: int) -> int:
    """How many cells folded reports have; two are for u = 0, with y = 0 and with y != 0."""
    return level_start(g, t, t) + 2


def decode_cost(
    field: Field, t: int, d: int, m: int, *, dense_available: bool = False
) -> dict[str, Cost]:
    """Estimate each way of decoding m distinct reports over a domain of size d."""
    g = field.order
    cells = folded_size(g, t)
    kept = -(-d // g ** (t - 1)) / g
    shear = (t - 1) * cells * kept * (_SHEAR_MOVE + g * _SHEAR_ADD)
    costs = {"solve": Cost(m * (_SOLVE_REPORT + _SOLVE_VALUE * -(-d // g)), 16 * (m + d))}
    if g <= LARGEST_FOLDED:
        costs["fold"] = Cost(shear + m * _FOLD_REPORT, 24 * cells)
        if dense_available:
            costs["table"] = Cost(shear + g ** (t + 1) * _FOLD_CELL, 16 * cells)
    return costs


def choose(
    field: Field, t: int, d: int, m: int, *, dense_available: bool = False
) -> str:
    """Name the cheapest way that fits in memory; solving always does."""
    costs = decode_cost(field, t, d, m, dense_available=dense_available)
    usable = [way for way in costs if way == "solve" or costs[way].memory <= MEMORY_LIMIT]
    return min(usable, key=lambda way: costs[way].nanoseconds)

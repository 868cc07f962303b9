"""What decoding linear hashing costs, so that the cheapest way is taken and can be shown.

fold   fold the distinct reports one by one, then shear
solve  find the supported values of each distinct report, without any table
"""

from __future__ import annotations

from typing import NamedTuple

from deniable.kernels.fields import LARGEST_TABLE, Field

MEMORY_LIMIT = 1 << 32
"""How many bytes a way of decoding may take; solving, which needs the least, always may."""

# Nanoseconds on one core at 2.3 GHz, measured with these kernels.
_NORMALISE = 35.0
_FOLD_REPORT = 5.0
_SHEAR_MOVE = 1.5
_SHEAR_ADD = 0.2
_SHEAR_ADD_ALONE = 1.7
_SOLVE_VALUE = 2.0
_SOLVE_ROW = 14.0


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


def decode_cost(field: Field, t: int, d: int, m: int) -> dict[str, Cost]:
    """Estimate each way of decoding m distinct reports over a domain of size d."""
    g, functions, rows = field.order, field.order**t, -(-d // field.order)
    cells = folded_size(g, t)
    # With t = 2 there is one fibre only, so that vector registers stay empty.
    add = _SHEAR_ADD if t > 2 else _SHEAR_ADD_ALONE
    kept = -(-d // g ** (t - 1)) / g
    shear = (t - 1) * cells * kept * (_SHEAR_MOVE + g * add)
    solve = m * (_NORMALISE + rows * (_SOLVE_VALUE + _SOLVE_ROW / g))
    costs = {"solve": Cost(solve, 16 * (m + d))}
    if g <= LARGEST_TABLE:
        fold = m * _FOLD_REPORT + min(m, functions) * _NORMALISE
        costs["fold"] = Cost(shear + fold, 24 * cells)
    return costs


def choose(field: Field, t: int, d: int, m: int) -> str:
    """Name the cheapest way that fits in memory; solving always does."""
    costs = decode_cost(field, t, d, m)
    usable = [way for way in costs if way == "solve" or costs[way].memory <= MEMORY_LIMIT]
    return min(usable, key=lambda way: costs[way].nanoseconds)

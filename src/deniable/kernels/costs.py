"""What decoding linear hashing costs: once for the format, for ever, and once for this machine.

fold   fold the distinct reports one by one, then shear
solve  find the supported values of each distinct report, without any table
"""

from __future__ import annotations

from typing import NamedTuple

from deniable.kernels.fields import LARGEST_TABLE, Field

# Part of the format. A question stores epsilon and the domain, not the range g of its hashing,
# which is computed from these constants again by whoever reads it. They never change, whatever
# becomes faster; a test pins the ranges that follow from them.
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
    """Rate each way of decoding m distinct reports over a domain of size d, as the format does.

    The range g of a question is the one that is rated best: nothing here may change.
    """
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


# From here on: choices made while running, which change no result. Nanoseconds that a kernel can
# save, measured on one core at 2.3 GHz: nearly all that NumPy takes, but for reports of linear
# hashing, where it saves no work and only lets more cores share it.
PERTURB_LINEAR = 15.0
PERTURB_BYTE = 5.0
COUNT_VALUE = 4.0
COUNT_BYTE = 1.2
COUNT_PAIR = 4.0
FILL_WORD = 10.0
FOLD_CODE = 40.0
FOLD_ENTRY = 6.0
SHEAR_CALL = 15_000.0
SHEAR_MOVE = 6.0
SHEAR_ADD = 1.0
SHEAR_ADD_ALONE = 4.0
SOLVE_PAIR = 12.0
SOLVE_DIGIT = 6.0

MEMORY_LIMIT = 1 << 32
"""How many bytes a way of decoding may take; solving, which needs the least, always may."""


def shearing(field: Field, t: int, d: int) -> float:
    """Estimate the nanoseconds of turning folded reports into supports."""
    g = field.order
    kept: float = -(-d // g ** (t - 1)) / g
    add = SHEAR_ADD if t > 2 else SHEAR_ADD_ALONE
    moved = (t - 1) * folded_size(g, t) * kept
    return SHEAR_CALL * g * t * (t - 1) / 2 + moved * (SHEAR_MOVE + g * add)


def solving(field: Field, t: int, d: int, m: int) -> float:
    """Estimate the nanoseconds of finding the values that m reports support."""
    pairs = m * -(-d // field.order)
    return pairs * (SOLVE_PAIR + (t - 1) * SOLVE_DIGIT)


def folding_bytes(field: Field, t: int) -> int:
    """Return how many bytes folding takes, 0 where it takes too many and values are solved for."""
    size = 24 * folded_size(field.order, t)
    return size if field.order <= LARGEST_TABLE and size <= MEMORY_LIMIT else 0


def choose(field: Field, t: int, d: int, m: int) -> str:
    """Name the cheapest way that fits in memory to decode m cells: fold, or else solve."""
    if not folding_bytes(field, t):
        return "solve"
    solve = m * FOLD_CODE + solving(field, t, d, m)
    return "fold" if shearing(field, t, d) < solve else "solve"

"""How long reports of linear functions take to decode, for many settings at once.

A rough estimate for choosing before anything is collected: nanoseconds of compiled kernels on one
core at 2.3 GHz. It may be changed; what was chosen by it is stored with the question.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from deniable.kernels.fields import LARGEST_TABLE

Floats = npt.NDArray[np.float64]

_MOST_CODES = 1 << 23
_MOST_CELLS = 1 << 26
"""Tables with more cells, at 24 bytes each while they are decoded, are solved instead."""

_SORT = 60.0
_ROTATE = 6.0
_DIVIDE, _POINT = 400.0, 10.0
_COUNT = 5.0
_SPREAD = 8.0
_NORMALISE = 35.0
_FOLD = 6.0
_MOVE = 1.5
_ADD, _ADD_ALONE = 0.2, 1.7
_SOLVE, _SOLVE_ROW = 2.0, 14.0


def decoding_time(g: Floats, t: Floats, m: Floats, d: int, n: int) -> Floats:
    """Estimate tallying and decoding n reports with t digits over GF(g) and windows of m."""
    each = np.where(g * g <= min(_MOST_CODES, 64 * n), _COUNT, _SORT)
    rows = each * n + _ROTATE * np.minimum(n, g) * g
    lines = np.minimum(rows, n * (_DIVIDE + _POINT * m) + g)
    return np.where(t == 1, lines, _tally(g, t, m, n) + _decode(g, t, n * m, d))


def _tally(g: Floats, t: Floats, m: Floats, n: int) -> Floats:
    """Count all codes where there are few, else fold the m lines of each report."""
    codes = g ** (t + 1)
    folded = n * (_NORMALISE + _FOLD * m)
    counted = np.minimum(_COUNT * n + _SPREAD * codes, folded)
    return np.where(codes <= min(_MOST_CODES, 64 * n), counted, folded)


def _decode(g: Floats, t: Floats, lines: Floats, d: int) -> Floats:
    """Shear the table of cells, or solve for the values on each line."""
    cells = g**t * g / (g - 1)
    kept = np.ceil(d / g ** (t - 1)) / g
    # With two digits there is one fibre only, so that vector registers stay empty.
    shear = (t - 1) * cells * kept * (_MOVE + g * np.where(t > 2, _ADD, _ADD_ALONE))
    solve = np.minimum(lines, cells) * (_NORMALISE + np.ceil(d / g) * (_SOLVE + _SOLVE_ROW / g))
    shears = (g <= LARGEST_TABLE) & (cells <= _MOST_CELLS)
    return np.where(shears, np.minimum(shear, solve), solve)

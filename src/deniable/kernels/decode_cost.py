"""How long reports of linear functions take to decode: a rough estimate, to choose settings by.

Nanoseconds on one core at 2.3 GHz, for one setting or for an array of them. The estimate may be
changed: what was chosen by it is stored with the question.
"""

import numpy as np

from deniable.kernels.fields import LARGEST_TABLE

Floats = np.typing.NDArray[np.float64]

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


def window_time(g: Floats, t: Floats, m: Floats, d: int, n: int) -> Floats:
    """Estimate tallying and decoding n windows of m elements; of one digit, points are counted."""
    each = np.where(g * g <= min(_MOST_CODES, 64 * n), _COUNT, _SORT)
    rows = each * n + _ROTATE * np.minimum(n, g) * g
    points = np.minimum(rows, n * (_DIVIDE + _POINT * m) + g)
    return np.where(t == 1, points, line_time(g, t, m, d, n))


def line_time(g: Floats, t: Floats, m: Floats, d: int, n: int) -> Floats:
    """Estimate tallying and decoding n reports of m lines each, with t digits over GF(g)."""
    return _tally_time(g, t, m, n) + _decode_time(g, t, n * m, d)


def _tally_time(g: Floats, t: Floats, m: Floats, n: int) -> Floats:
    """Count all codes where there are few, else fold the m lines of each report."""
    codes = g ** (t + 1)
    folded = n * (_NORMALISE + _FOLD * m)
    counted = np.minimum(_COUNT * n + _SPREAD * codes, folded)
    return np.where(codes <= min(_MOST_CODES, 64 * n), counted, folded)


def _decode_time(g: Floats, t: Floats, lines: Floats, d: int) -> Floats:
    """Shear the table of cells, or solve for the values on each line."""
    cells = _cells(g, t)
    shear, solve = shear_time(g, t, d), solve_time(g, np.minimum(lines, cells), d)
    shears = (g <= LARGEST_TABLE) & (cells <= _MOST_CELLS)
    return np.where(shears, np.minimum(shear, solve), solve)


def shear_time(g: Floats, t: Floats, d: int) -> Floats:
    """Estimate turning a folded table into the supports of d values."""
    kept = np.ceil(d / g ** (t - 1)) / g
    # With two digits there is one fibre only, so that vector registers stay empty.
    return (t - 1) * _cells(g, t) * kept * (_MOVE + g * np.where(t > 2, _ADD, _ADD_ALONE))


def solve_time(g: Floats, lines: Floats, d: int) -> Floats:
    """Estimate finding the values on each of some lines, among d."""
    return lines * (_NORMALISE + np.ceil(d / g) * (_SOLVE + _SOLVE_ROW / g))


def _cells(g: Floats, t: Floats) -> Floats:
    return g**t * g / (g - 1)

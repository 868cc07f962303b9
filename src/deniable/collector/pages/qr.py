"""QR codes of short texts, as pictures: ISO/IEC 18004, bytes, level L, versions 1 to 6."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from deniable.kernels.bits import Flags, Integers

_DATA = (19, 34, 55, 80, 108, 136)
"""How many bytes of data each version holds, the head included."""
_CHECKS = (7, 10, 15, 20, 26, 18)
"""How many bytes of checks each block has; the last version has two blocks."""
_QUIET = 4


def _powers() -> list[int]:
    """Return the powers of 2 in GF(256), modulo x^8 + x^4 + x^3 + x^2 + 1, twice over."""
    found = [1]
    while len(found) < 510:
        found.append(found[-1] << 1 ^ (0x11D if found[-1] & 128 else 0))
    return found


_EXP = _powers()
_LOG = {value: place for place, value in enumerate(_EXP[:255])}


def _times(a: int, b: int) -> int:
    return _EXP[_LOG[a] + _LOG[b]] if a and b else 0


def _checks(data: Sequence[int], count: int) -> list[int]:
    """Return the remainder of the data modulo (x - 1)(x - 2)(x - 4)..., of ``count`` bytes."""
    divisor = [1]
    for power in range(count):
        divisor = [
            a ^ _times(b, _EXP[power])
            for a, b in zip([*divisor, 0], [0, *divisor], strict=True)
        ]  # fmt: skip
    rest = [*data, *[0] * count]
    for place in range(len(data)):
        for step, factor in enumerate(divisor):
            rest[place + step] ^= _times(factor, rest[place]) if step else 0
    return rest[len(data) :]


def _codewords(text: bytes, version: int) -> list[int]:
    """Return the bytes of the symbol: head, text, filling, and the checks of each block."""
    size = _DATA[version - 1]
    bits = f"0100{len(text):08b}{''.join(f'{byte:08b}' for byte in text)}0000"
    data = [int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)]
    data += [0xEC if place % 2 == 0 else 0x11 for place in range(size - len(data))]
    count = 2 if version == 6 else 1
    blocks = [data[i * size // count : (i + 1) * size // count] for i in range(count)]
    checks = [_checks(block, _CHECKS[version - 1]) for block in blocks]
    return [byte for some in (blocks, checks) for row in zip(*some, strict=True) for byte in row]


def _frame(version: int) -> tuple[Flags, Flags]:
    """Return the fixed modules, and where they are or the format will be."""
    size = 17 + 4 * version
    dark, fixed = np.zeros((size, size), bool), np.zeros((size, size), bool)
    eye = np.ones((7, 7), bool)
    eye[1:6, 1:6], eye[2:5, 2:5] = False, True
    fixed[:9, :9] = fixed[:9, -8:] = fixed[-8:, :9] = fixed[6] = fixed[:, 6] = True
    dark[6, 8:-8:2] = dark[8:-8:2, 6] = True
    dark[:7, :7] = dark[:7, -7:] = dark[-7:, :7] = eye
    dark[-8, 8] = True
    if version > 1:
        dark[-9:-4, -9:-4] = fixed[-9:-4, -9:-4] = True
        dark[-8:-5, -8:-5] = False
        dark[-7, -7] = True
    return dark, fixed


_MASKS: tuple[Callable[[Integers, Integers], Integers], ...] = (
    lambda r, c: (r + c) % 2,
    lambda r, c: r % 2,
    lambda r, c: c % 3,
    lambda r, c: (r + c) % 3,
    lambda r, c: (r // 2 + c // 3) % 2,
    lambda r, c: r * c % 2 + r * c % 3,
    lambda r, c: (r * c % 2 + r * c % 3) % 2,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2,
)


def _format(grid: Flags, mask: int) -> None:
    """Write the level and the mask, with their checks, beside the eyes."""
    rest = value = 0b01000 | mask
    for _ in range(10):
        rest = rest << 1 ^ (0x537 if rest & 0x200 else 0)
    word = (value << 10 | rest) ^ 0x5412
    bits = [bool(word >> place & 1) for place in range(15)]
    grid[[0, 1, 2, 3, 4, 5, 7, 8], 8], grid[8, [7, 5, 4, 3, 2, 1, 0]] = bits[:8], bits[8:]
    grid[8, -1:-9:-1], grid[-7:, 8] = bits[:8], bits[8:]


def _unrest(grid: Flags) -> int:
    """Return how hard a symbol is to read: long runs, and squares of one colour."""
    runs = 0
    for line in (*grid, *grid.T):
        ends = np.flatnonzero(np.diff(line, prepend=~line[:1], append=~line[-1:]))
        runs += sum(b - a - 2 for a, b in pairwise(ends.tolist()) if b - a >= 5)
    same = (grid[1:] == grid[:-1])[:, 1:] & (grid[:, 1:] == grid[:, :-1])[1:]
    return runs + 3 * int((same & (grid[:-1, 1:] == grid[:-1, :-1])).sum())


def symbol(text: str, mask: int | None = None) -> Flags | None:
    """Return the dark modules of the smallest symbol for a text, or nothing if it is too long."""
    data = text.encode()
    version = next((place for place, most in enumerate(_DATA, 1) if len(data) <= most - 2), None)
    if version is None:
        return None
    dark, fixed = _frame(version)
    size = len(dark)
    bits = "".join(f"{byte:08b}" for byte in _codewords(data, version))
    columns = [column for column in range(size - 1, 0, -2) if column > 6] + [5, 3, 1]
    order = [
        (row, column - side)
        for turn, column in enumerate(columns)
        for row in (range(size) if turn % 2 else range(size - 1, -1, -1))
        for side in (0, 1)
        if not fixed[row, column - side]
    ]
    for (row, column), bit in zip(order, bits, strict=False):  # a few modules are left light
        dark[row, column] = bit == "1"
    places = np.arange(size)
    found: list[Flags] = []
    for place, turn in enumerate(_MASKS):
        grid = np.asarray(dark ^ (~fixed & (turn(places[:, None], places) == 0)))
        _format(grid, place)
        found.append(grid)
    return found[mask] if mask is not None else min(found, key=_unrest)


def picture(text: str) -> Markup:
    """Return the code as SVG, dark on light whatever the colours of the page; empty if too long."""
    grid = symbol(text)
    if grid is None:
        return Markup()
    wide = len(grid) + 2 * _QUIET
    path = "".join(f"M{x + _QUIET} {y + _QUIET}h1v1h-1z" for y, x in np.argwhere(grid).tolist())
    return Markup(
        '<svg class="qr" role="img" aria-label="QR code of this link" viewBox="0 0 {0} {0}">'
        '<rect width="{0}" height="{0}"/><path d="{1}"/></svg>'
    ).format(wide, path)

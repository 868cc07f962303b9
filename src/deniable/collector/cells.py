"""The sums of segments as they are published: all of them at one moment, in one row.

Hiding a small segment protects nobody, since the total less the others gives it; segments are
hidden because of their error. What counts is that nobody can watch single arrivals: so a segment
moves with the minimum of new reports, or together with others that have it together.
"""

from collections.abc import Mapping
from struct import Struct

from deniable.tally import Tally

Cells = Mapping[int, Tally]
"""The tallies of segments, by the numbers of their cells."""
_PART = Struct("<BI")


def ripe(before: Cells, found: Cells, counts: Mapping[int, int], minimum: int) -> dict[int, Tally]:
    """Return the segments as they are published now, all of them at one moment.

    A segment moves when it has the minimum of new reports; those with fewer move together when they
    have the minimum together, and else stay as they were. The total is the sum of what is shown.
    """
    new = {cell: counts[cell] - (before[cell].n if cell in before else 0) for cell in found}
    few = {cell for cell in found if 0 < new[cell] < minimum}
    if sum(new[cell] for cell in few) >= minimum or min(new.values(), default=0) < 0:
        few = set()
    shown = {cell: (before.get(cell) if cell in few else found[cell]) for cell in found}
    return {cell: tally for cell, tally in shown.items() if tally is not None}


def pack_cells(cells: Cells) -> bytes:
    """Join the tallies of segments: for each the number of its cell, a length, and the tally."""
    parts = [(cell, cells[cell].to_bytes()) for cell in sorted(cells)]
    return b"".join([_PART.pack(cell, len(data)) + data for cell, data in parts])


def unpack_cells(data: bytes) -> dict[int, Tally]:
    cells, place = {}, 0
    while place < len(data):
        cell, size = _PART.unpack_from(data, place)
        place += _PART.size + size
        cells[cell] = Tally.from_bytes(data[place - size : place])
    return cells

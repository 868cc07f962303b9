"""Columns of bytes: which rows are reports, which are not and why, and which rows belong together.

Rows come as Arrow arrays, and bytes become reports through ``Protocol.parse`` alone. Where it
refuses a batch, halving the batch finds the rows at fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deniable.errors import InvalidReport
from deniable.mechanism import Mechanism, Reports
from deniable.validation import smallest_unsigned

NULL = "null"
LENGTH = "wrong length"
IMPOSSIBLE = "impossible report"

Key = tuple[Hashable, ...]
Mask = npt.NDArray[np.bool_]

_MOST_CODES = 1 << 16


def read_reports(column: pa.Array, protocol: Mechanism) -> tuple[Reports, Mask, Counter[str]]:
    r"""Return the reports of a column, which rows they are, and counts of the others by reason.

    >>> from deniable import DE
    >>> column = pa.array([b"\0", None, b"\3", b"", b"\1"], pa.binary())
    >>> reports, rows, refused = read_reports(column, DE(1.0, 3))
    >>> reports.tolist(), rows.tolist()
    ([0, 1], [True, False, False, False, True])
    >>> sorted(refused.items())
    [('impossible report', 1), ('null', 1), ('wrong length', 1)]
    """
    size, bytes_of_rows = protocol.report_dtype.itemsize, _Bytes(column)
    present = _present(column)
    rows = present & (bytes_of_rows.lengths == size)
    refused = Counter({NULL: int((~present).sum()), LENGTH: int((present & ~rows).sum())})
    data = bytes_of_rows.of(rows, size)
    try:
        reports = protocol.parse(data, len(data) // size)
    except InvalidReport:
        sound = _sound(protocol, data)
        refused[IMPOSSIBLE] = int((~sound).sum())
        kept = np.frombuffer(data, dtype=f"V{size}")[sound].tobytes()
        reports = protocol.parse(kept, len(kept) // size)
        rows[rows] = sound
    return reports, rows, +refused


class _Bytes:
    """The bytes of a column and where each row's begin, read off Arrow's buffers."""

    def __init__(self, column: pa.Array) -> None:
        if pa.types.is_fixed_size_binary(column.type) or pa.types.is_binary_view(column.type):
            column = column.cast(pa.large_binary())
        large = pa.types.is_large_binary(column.type)
        if not large and not pa.types.is_binary(column.type):
            raise InvalidReport(
                f"expected a column of bytes, got one of {column.type}; decode text with unbase64 "
                "or unhex first",
                value=str(column.type),
            )
        _, offsets, data = column.buffers()
        width = np.dtype(np.int64 if large else np.int32)
        ends = np.zeros(1, dtype=width)
        if len(column):
            ends = np.frombuffer(offsets, width, len(column) + 1, column.offset * width.itemsize)
        self._starts = ends.astype(np.int64)
        self._data = memoryview(b"" if data is None else data)
        self.lengths = np.diff(self._starts)

    def of(self, rows: Mask, size: int) -> bytes:
        """Return the bytes of some rows, ``size`` each, one after another."""
        if rows.all():
            return bytes(self._data[self._starts[0] : self._starts[-1]])
        places = self._starts[:-1][rows][:, None] + np.arange(size)
        gathered: npt.NDArray[np.uint8] = np.frombuffer(self._data, dtype=np.uint8)[places]
        return gathered.tobytes()


def _present(column: pa.Array) -> Mask:
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    found: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return found


def _sound(protocol: Mechanism, data: bytes) -> Mask:
    """Tell which reports ``parse`` accepts, by halving what it refuses."""
    size = protocol.report_dtype.itemsize
    sound = np.ones(len(data) // size, dtype=np.bool_)
    pending = [(0, len(sound))]
    while pending:
        start, stop = pending.pop()
        try:
            protocol.parse(data[start * size : stop * size], stop - start)
        except InvalidReport:
            middle = (start + stop) // 2
            if stop - start == 1:
                sound[start] = False
            else:
                pending += [(start, middle), (middle, stop)]
    return sound


def group_rows(
    keys: Sequence[pa.Array], count: int
) -> tuple[npt.NDArray[np.intp], list[tuple[Key, slice]]]:
    """Return ``count`` rows in an order that brings equal keys together, and each key's place.

    >>> keys = [pa.array(["b", "a", "b"]), pa.array([1, 1, 1])]
    >>> order, groups = group_rows(keys, 3)
    >>> [(key, order[part].tolist()) for key, part in groups]
    [(('b', 1), [0, 2]), (('a', 1), [1])]
    """
    codes, distinct = np.zeros(count, dtype=np.uint32), 1
    for key in keys:
        more, several = _codes(key)
        codes *= np.uint32(several)
        codes += more
        distinct *= several
        if distinct > _MOST_CODES:
            codes = np.unique(codes, return_inverse=True)[1].astype(np.uint32)
            distinct = int(codes.max(initial=0)) + 1
    # A stable sort of 16-bit integers is a radix sort, several times faster.
    order = np.argsort(codes.astype(smallest_unsigned(distinct - 1)), kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=distinct))
    edges = [0, *np.unique(ends[ends > 0]).tolist()]
    parts = [slice(start, stop) for start, stop in pairwise(edges)]
    return order, [(tuple(key[int(order[p.start])].as_py() for key in keys), p) for p in parts]


def _codes(key: pa.Array) -> tuple[npt.NDArray[np.uint32], int]:
    """Return small integers that are equal where the keys are, and a bound above them."""
    encoded = pc.dictionary_encode(key, null_encoding="encode")
    codes: npt.NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
    return codes.astype(np.uint32), max(1, len(encoded.dictionary))

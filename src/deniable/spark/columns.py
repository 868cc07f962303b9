"""Columns of bytes: which rows are reports, which are not and why, and which rows belong together.

Rows come as Arrow arrays, and bytes become reports through ``Protocol.parse`` alone. Where it
refuses a batch, halving the batch finds the rows at fault.
"""

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

_KINDS = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)
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
    size, (starts, held) = protocol.report_dtype.itemsize, _layout(column)
    present: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    rows = present & (np.diff(starts) == size)
    refused = Counter({NULL: int((~present).sum()), LENGTH: int((present & ~rows).sum())})
    if rows.all():
        data = bytes(held[starts[0] : starts[-1]])
    else:
        places = starts[:-1][rows][:, None] + np.arange(size)
        data = np.frombuffer(held, dtype=np.uint8)[places].tobytes()
    try:
        reports = protocol.parse(data, len(data) // size)
    except InvalidReport:
        sound = _sound(protocol, data)
        refused[IMPOSSIBLE] = int((~sound).sum())
        kept = np.frombuffer(data, dtype=f"V{size}")[sound].tobytes()
        reports = protocol.parse(kept, len(kept) // size)
        rows[rows] = sound
    return reports, rows, +refused


def _layout(column: pa.Array) -> tuple[npt.NDArray[np.int64], memoryview]:
    """Return where each row's bytes begin, and all bytes, read off Arrow's buffers."""
    kind = column.type
    if not any(each(kind) for each in _KINDS):
        raise InvalidReport(
            f"expected a column of bytes, got one of {kind}; decode text with unbase64 or unhex "
            "first",
            value=str(kind),
        )
    wide = column.cast(pa.large_binary())
    _, offsets, data = wide.buffers()
    if not len(wide):
        return np.zeros(1, dtype=np.int64), memoryview(b"")
    starts = np.frombuffer(offsets, np.int64, len(wide) + 1, wide.offset * 8)
    return starts, memoryview(b"" if data is None else data)


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

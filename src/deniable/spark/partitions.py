"""What a worker makes of one partition: generators from Arrow batches to Arrow batches.

Nothing here knows of Spark. What comes out are rows with the columns to group by, ``n`` reports and
their sum; or, for ``n`` rows that were refused, the ``reason`` and no sum. Sums may come in several
pieces, which add up.

Bytes become reports through ``Protocol.parse`` alone. Where it refuses a batch, halving the batch
finds the rows at fault.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import compress, pairwise

import numpy as np
import pyarrow as pa

from deniable.errors import DeniableError, InvalidReport, OutOfDomain
from deniable.mechanism import Mechanism, Reports
from deniable.protocol import Pure
from deniable.question import Question
from deniable.tally import Accumulator, Tally
from deniable.validation import smallest_unsigned

SUM, COUNT, REASON = "tally", "n", "reason"
"""The names of the columns that every result has besides those to group by."""
REPORT = "report"
"""The column of reports that ``private_reports`` makes."""
NULL, LENGTH, IMPOSSIBLE = "null", "wrong length", "impossible report"
NOT_A_TALLY, FOREIGN, NO_ANSWER = "not a tally", "of another question", "not an answer"

_CHUNK_ROWS = 1 << 20
_CHUNK_BYTES = 1 << 22
_MOST_GROUPS = 1 << 10
"""The most sums kept at a time, each with up to half a MiB of reports that wait."""
_OUTPUT_BYTES = 1 << 26
_MOST_CODES = 1 << 16
_KINDS = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_fixed_size_binary,
    pa.types.is_binary_view,
)

Key = tuple[Hashable, ...]
Mask = np.typing.NDArray[np.bool_]
Batches = Iterable[pa.RecordBatch]
Rows = Iterable[tuple[Key, int, bytes | None, str | None]]


def partial_tallies(
    batches: Batches, question: Question, column: str, *, by: Sequence[str] = (), strict: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the tallies of a partition's reports by group, and the counts of other rows.

    With ``strict`` the first row that is not a report ends the work: all will be refused.
    """
    sums, refused = _Sums(question, by), Counter[str]()
    for reports, keys in _chunks(batches, question, [column, *by], refused):
        sums.group_by(keys)
        if strict and refused:
            break
        if by:
            order, groups = group_rows(keys, len(reports))
            ordered = reports[order]
            for key, part in groups:
                sums.of(key).add(ordered[part])
        else:
            sums.of(()).add(reports)
        yield from sums.overflow()
    yield from sums.rest(refused)


def merged_tallies(
    batches: Batches, question: Question, column: str, *, by: Sequence[str] = (), strict: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the sums of stored tallies by group, whole where equal groups stand together."""
    sums, refused = _Sums(question, by), Counter[str]()
    for batch in batches:
        keys = [batch.column(name) for name in by]
        sums.group_by(keys)
        for i, data in enumerate(batch.column(column)):
            tally = _stored(data.as_py(), question)
            if isinstance(tally, str):
                refused[tally] += 1
                if strict:
                    yield from sums.rest(refused)
                    return
                continue
            sums.of(tuple(key[i].as_py() for key in keys)).merge(tally)
            yield from sums.overflow()
    yield from sums.rest(refused)


def partial_supports(
    batches: Batches,
    question: Question,
    column: str,
    *,
    keys: np.typing.NDArray[np.uint64],
    strict: bool,
) -> Iterator[pa.RecordBatch]:
    """Yield how many of a partition's reports support each of the ``keys``: 64-bit integers."""
    protocol, refused, n = question.protocol, Counter[str](), 0
    if not isinstance(protocol, Pure):
        raise TypeError(f"expected a pure protocol, got {protocol.name}")
    support = np.zeros(len(keys), dtype=np.int64)
    for reports, _ in _chunks(batches, question, [column], refused):
        if strict and refused:
            break
        support += protocol.support_counts(reports, keys)
        n += len(reports)
    counted: Rows = [((), n, support.astype("<i8").tobytes(), None)] if n else []
    yield from _batches([*counted, *_refusals(refused, 0)], [])


def added_supports(batches: Batches, question: Question, *, size: int) -> Iterator[pa.RecordBatch]:
    del question  # the counts are of whatever was asked
    support, n = np.zeros(size, dtype=np.int64), 0
    for batch in batches:
        for count, data in zip(batch.column(COUNT), batch.column(SUM), strict=True):
            support += np.frombuffer(data.as_py(), dtype="<i8")
            n += count.as_py()
    yield from _batches([((), n, support.astype("<i8").tobytes(), None)], [])


def refused_rows(
    batches: Batches, question: Question, column: str, *, file: str, tallies: bool
) -> Iterator[pa.RecordBatch]:
    """Yield how many rows of each file are not reports, or not tallies, by reason."""
    refused = Counter[tuple[str, str]]()
    for batch in batches:
        order, groups = group_rows([batch.column(file)], len(batch))
        for (name,), part in groups:
            values = batch.column(column).take(pa.array(order[part]))
            if tallies:
                stored = [_stored(value.as_py(), question) for value in values]
                found = Counter(state for state in stored if isinstance(state, str))
            else:
                found = read_reports(values, question.protocol)[2]
            for reason, count in found.items():
                refused[str(name), reason] += count
    rows_: Rows = [((name,), n, None, reason) for (name, reason), n in sorted(refused.items())]
    yield from _batches(rows_, [pa.field(file, pa.string())])


def refused_answers(batches: Batches, question: Question, column: str) -> Iterator[pa.RecordBatch]:
    """Yield how many rows hold no answer, by reason, without quoting any."""
    refused = Counter[str]()
    for batch in batches:
        refused += _answers(batch.column(column), question)[2]
    yield from _batches(_refusals(refused, 0), [])


def private_reports(
    batches: Batches, question: Question, column: str, *, keep: Sequence[str], strict: bool
) -> Iterator[pa.RecordBatch]:
    """Yield one report for each answer, with the columns to keep; other rows are left out.

    Every call draws anew, so what comes out must be written down and not computed again.
    """
    size = question.protocol.report_dtype.itemsize
    for batch in batches:
        answers, rows, refused = _answers(batch.column(column), question)
        if strict and refused:  # they were counted before
            raise OutOfDomain(
                "the data changed while it was read; read from data that does not change",
                value=dict(refused),
            )
        data = question.privatize(answers).tobytes()
        ends = np.arange(len(answers) + 1, dtype=np.int32) * np.int32(size)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        reports = pa.Array.from_buffers(pa.binary(), len(answers), buffers)
        kept = [batch.column(name).filter(pa.array(rows)) for name in keep]
        yield pa.RecordBatch.from_arrays([reports, *kept], names=[REPORT, *keep])


def _chunks(
    batches: Batches, question: Question, names: Sequence[str], refused: Counter[str]
) -> Iterator[tuple[Reports, list[pa.Array]]]:
    """Yield the reports of many batches at once, and the columns to group them by."""
    size = question.protocol.report_dtype.itemsize
    most = max(1, min(_CHUNK_ROWS, _CHUNK_BYTES // size))
    column, *by = names
    waiting: list[tuple[Reports, list[pa.Array]]] = []
    count = 0

    def joined() -> tuple[Reports, list[pa.Array]]:
        parts, keys = zip(*waiting, strict=True)
        return np.concatenate(parts), [pa.concat_arrays(key) for key in zip(*keys, strict=True)]

    for batch in batches:
        reports, rows, found = read_reports(batch.column(column), question.protocol)
        refused += found
        keys = [batch.column(name) for name in by]
        whole = bool(rows.all())
        waiting.append((reports, keys if whole else [k.filter(pa.array(rows)) for k in keys]))
        count += len(reports)
        if count >= most or found:
            yield joined()
            waiting, count = [], 0
    if waiting:
        yield joined()


class _Sums:
    """The accumulators of the groups seen so far, given away when there are too many."""

    def __init__(self, question: Question, by: Sequence[str]) -> None:
        self._question, self._by = question, list(by)
        self._sums: dict[Key, Accumulator] = {}
        self._fields: list[pa.Field] = []

    def of(self, key: Key) -> Accumulator:
        if key not in self._sums:
            self._sums[key] = self._question.accumulator()
        return self._sums[key]

    def group_by(self, keys: Sequence[pa.Array]) -> None:
        self._fields = [pa.field(n, k.type) for n, k in zip(self._by, keys, strict=True)]

    def overflow(self) -> Iterator[pa.RecordBatch]:
        """Yield all sums but the newest, which may still grow, if there are too many."""
        if len(self._sums) > _MOST_GROUPS:
            yield from self._give(len(self._sums) - 1)

    def rest(self, refused: Counter[str]) -> Iterator[pa.RecordBatch]:
        yield from self._give(len(self._sums))
        yield from _batches(_refusals(refused, len(self._fields)), self._fields)

    def _give(self, count: int) -> Iterator[pa.RecordBatch]:
        made = ((key, self._sums.pop(key).tally()) for key in list(self._sums)[:count])
        rows = ((key, tally.n, tally.to_bytes(), None) for key, tally in made if tally.n)
        yield from _batches(rows, self._fields)


def _stored(data: object, question: Question) -> Tally | str:
    if data is None:
        return NULL
    try:
        tally = Tally.from_bytes(data if isinstance(data, bytes) else b"")
    except DeniableError:
        return NOT_A_TALLY
    same = tally.question == question.digest and tally.protocol == question.protocol
    return tally if same else FOREIGN


def _answers(
    column: pa.Array, question: Question
) -> tuple[list[str], np.typing.NDArray[np.bool_], Counter[str]]:
    """Return the answers in a column, which rows they are, and counts of the others by reason."""
    values = column.to_pylist()
    rows = [question.takes(value) for value in values]
    refused = Counter(NULL if value is None else NO_ANSWER
                      for value, kept in zip(values, rows, strict=True) if not kept)  # fmt: skip
    return list(compress(values, rows)), np.array(rows, dtype=np.bool_), refused


def _refusals(refused: Counter[str], keys: int) -> Rows:
    return [((None,) * keys, n, None, reason) for reason, n in sorted((+refused).items())]


def _batches(rows: Rows, fields: list[pa.Field]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([*fields, (COUNT, pa.int64()), (SUM, pa.binary()), (REASON, pa.string())])
    held: list[dict[str, object]] = []
    size = 0
    for key, n, data, reason in rows:
        held.append(dict(zip(schema.names, (*key, n, data, reason), strict=True)))
        size += len(data or b"")
        if size > _OUTPUT_BYTES:
            yield pa.RecordBatch.from_pylist(held, schema)
            held, size = [], 0
    if held:
        yield pa.RecordBatch.from_pylist(held, schema)


def read_reports(column: pa.Array, protocol: Mechanism) -> tuple[Reports, Mask, Counter[str]]:
    r"""Return the reports of a column, which rows they are, and counts of the others by reason."""
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


def _layout(column: pa.Array) -> tuple[np.typing.NDArray[np.int64], memoryview]:
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
) -> tuple[np.typing.NDArray[np.intp], list[tuple[Key, slice]]]:
    """Return ``count`` rows in an order that brings equal keys together, and each key's place."""
    codes, distinct = np.zeros(count, dtype=np.uint32), 1
    for key in keys:
        encoded = key.dictionary_encode(null_encoding="encode")
        several = max(1, len(encoded.dictionary))
        codes *= np.uint32(several)
        codes += encoded.indices.to_numpy(zero_copy_only=False).astype(np.uint32)
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

"""Answers in files of five kinds, read in batches: CSV, TSV, NDJSON, plain lines and Parquet.

Every answer knows its line, so that an error can name it; what comes before an error in a file is
yielded before the error is raised, so that the first one is the one reported.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO, StringIO
from itertools import chain, islice
from operator import itemgetter
from typing import BinaryIO, NamedTuple

import click
import numpy as np

from deniable.cli.group import InputError
from deniable.cli.sources import (
    LARGEST_FIELD,
    Batch,
    Source,
    enumerate_names,
    find_column,
    open_raw,
    read_texts,
    split_lines,
    suffix_of,
)
from deniable.documents import encodes, fault
from deniable.files import Readable, decompressed
from deniable.optional import load

KINDS = ("csv", "tsv", "ndjson", "lines", "parquet")
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson",
            ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip
_ROWS = 1 << 13


def read_answers(
    source: Source, advance: Callable[[int], object] = lambda position: None
) -> Iterator[Batch]:
    """Yield the answers; ``advance`` is told how many bytes of the file were read."""
    kind = source.kind or SUFFIXES.get(suffix_of(source.path))
    columns = source.column is not None or source.delimiter is not None
    kind = kind or ("csv" if columns else "lines")
    if source.delimiter is not None and kind not in {"csv", "tsv"}:
        raise click.UsageError(f"--delimiter is about CSV, and {source.name} is read as {kind}")
    readers = {"ndjson": _read_ndjson, "lines": _read_lines, "parquet": _read_parquet}
    with open_raw(source.path) as raw:
        watched = raw if source.digest is None else source.digest.watch(raw)
        stream = decompressed(watched, name=source.name)
        if kind in readers:
            batches = readers[kind](source, stream)
        else:
            batches = read_csv(source, stream, _separator(source.delimiter, kind))
        for batch in batches:
            if batch.lines:
                yield batch
            advance(raw.tell() if raw.seekable() else 0)


def _separator(delimiter: str | None, kind: str) -> str:
    if delimiter is None:
        return "," if kind == "csv" else "\t"
    found = "\t" if delimiter in {"\\t", "tab"} else delimiter
    if len(found) != 1 or found in '"\r\n':
        raise click.UsageError(
            f"--delimiter is one character, such as ';' or '\\t', not {delimiter!r}"
        )
    return found


def _read_lines(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    if source.column is not None:
        raise InputError(f"{source.name} is read as plain lines, which have no columns; leave out "
                         "--column, or say what the file is with --input-format")  # fmt: skip
    line = 1
    for text in read_texts(source, stream):
        answers = split_lines(text)
        yield Batch(answers, range(line, line + len(answers)))
        line += len(answers)


def _read_ndjson(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    """Yield the answers in an NDJSON file."""
    before = 0
    for text in read_texts(source, stream):
        batch, lines = Batch([], found := []), split_lines(text)
        for line, each in enumerate(lines, start=before + 1):
            if not each or each.isspace():
                continue
            try:
                answer = _json_answer(source, each, line)
            except InputError:
                yield batch
                raise
            batch.answers.append(answer)
            found.append(line)
        yield batch
        before += len(lines)


def _json_answer(source: Source, text: str, line: int) -> str:
    column = source.column
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise source.wrong(
            line, f"expected one JSON value, got {fault(error)}; correct it"
        ) from error
    if column is not None:
        if not isinstance(found, dict) or column not in found:
            keys = f"the keys {enumerate_names(found)}" if isinstance(found, dict) else "no object"
            raise source.wrong(line, f"expected an object with the key {column!r}, got {keys}; "
                               f"name one with {source.option}")  # fmt: skip
        found = found[column]
    return as_text(source, found, line)


def _read_parquet(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    """Yield the answers in a column of a Parquet file; their lines are rows."""
    parquet = load("pyarrow.parquet", "arrow")
    arrow = load("pyarrow", "arrow")
    try:
        file = parquet.ParquetFile(stream if stream.seekable() else BytesIO(stream.read()))
        column = file.schema_arrow.names[find_column(source, list(file.schema_arrow.names))]
        row = 1
        for part in file.iter_batches(batch_size=_ROWS, columns=[column]):
            found = part.column(0).to_pylist()
            lines = range(row, row + len(found))
            yield Batch([as_text(source, x, i) for i, x in zip(lines, found, strict=True)], lines)
            row += len(found)
    except arrow.ArrowException as error:
        raise InputError(
            f"{source.name}: expected a Parquet file, got {error}; copy the file again"
        ) from error


def as_text(source: Source, answer: object, line: int) -> str:
    """Return a JSON or Parquet value as an answer: text, a whole number's digits, or JSON."""
    if isinstance(answer, str):
        if answer.isascii() or encodes(answer):
            return answer
        raise source.wrong(
            line, "expected text that UTF-8 can encode, got half of a surrogate pair; write the "
            "character itself"
        )  # fmt: skip
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    if answer is not None and not source.textual:
        return json.dumps(answer)
    came = "null" if answer is None else f"a value of the type {type(answer).__name__}"
    raise source.wrong(
        line, f"expected an answer as text, got {came}; name another column with "
        f"{source.option}, or leave such rows out"
    )  # fmt: skip


class Layout(NamedTuple):
    """How rows are cut: the delimiter, the number of columns, and the column that is wanted."""

    delimiter: str
    width: int
    column: int


def read_csv(source: Source, stream: Readable, delimiter: str) -> Iterator[Batch]:
    """Yield the answers in the column that the source names."""
    csv.field_size_limit(LARGEST_FIELD)
    texts = read_texts(source, stream)
    first = next(texts, None)
    if first is None:
        raise source.wrong(1, "expected a header line with the names of the columns, got an "
                           "empty file; add one, or give a .txt file of lines")  # fmt: skip
    reader = csv.reader(StringIO(first, newline="\n"), delimiter=delimiter, strict=True)
    try:
        head = next(reader)
    except csv.Error as error:
        raise _broken(source, 1, error) from error
    layout = Layout(delimiter, len(head), find_column(source, head, delimiter))
    line, rest = reader.line_num, _after_lines(first, reader.line_num)
    for text in chain([rest], texts):
        answers = _cut(text, layout)
        if answers is None:
            yield from _read_rows(source, chain([text], texts), layout, line)
            return
        yield Batch(answers, range(line + 1, line + 1 + len(answers)))
        line += len(answers)


def _after_lines(text: str, count: int) -> str:
    position = 0
    for _ in range(count):
        position = text.find("\n", position) + 1 or len(text)
    return text[position:]


def _cut(text: str, layout: Layout) -> list[str] | None:
    """Return the column of rows that need no more than cutting, or None where some do."""
    delimiter, width, column = layout
    if not text:
        return []
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if '"' in text or "\r" in text or not delimiter.isascii():
        return None
    text = text if text.endswith("\n") else f"{text}\n"
    if width == 1 and (text.startswith("\n") or "\n\n" in text):
        return None  # blank lines are no rows
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    marks = data[(data == ord(delimiter)) | (data == ord("\n"))]
    if len(marks) % width:
        return None
    ends = marks.reshape(-1, width) == ord("\n")
    if not ends[:, -1].all() or ends[:, :-1].any():
        return None
    return text.replace("\n", delimiter).split(delimiter)[column:-1:width]


def _read_rows(source: Source, texts: Iterable[str], layout: Layout, line: int) -> Iterator[Batch]:
    """Yield the column of rows that follow line ``line``, by Python's reader."""
    # Whole pieces of text are split into lines by StringIO: nothing is done for each line here.
    pieces = map(partial(StringIO, newline="\n"), texts)
    lines_of_text = chain.from_iterable(pieces)
    reader, before = csv.reader(lines_of_text, delimiter=layout.delimiter, strict=True), line
    failure: csv.Error | InputError | None = None
    while failure is None:
        rows: list[list[str]] = []
        try:
            rows.extend(islice(reader, _ROWS))
        except (csv.Error, InputError) as error:
            failure = error  # after the rows before it, which are in the list already
        if not rows and failure is None:
            return
        taken = None if failure else before + reader.line_num - line
        yield from _column(source, rows, _lines_of(rows, line, taken), layout)
        line = line + (sum(map(_height, rows)) if taken is None else taken)
    if isinstance(failure, csv.Error):
        raise _broken(source, line + 1, failure) from failure
    raise failure


def _lines_of(rows: list[list[str]], before: int, taken: int | None) -> Sequence[int]:
    """Return the line that each row starts on; most often every row is one line."""
    if taken == len(rows):
        return range(before + 1, before + 1 + taken)
    starts = []
    for row in rows:
        starts.append(before + 1)
        before += _height(row)
    return starts


def _height(row: list[str]) -> int:
    """Return how many lines a row takes: those within quotes are still in its fields."""
    return 1 + sum(field.count("\n") for field in row)


def _column(
    source: Source, rows: list[list[str]], lines: Sequence[int], layout: Layout
) -> Iterator[Batch]:
    """Yield one column of rows that all have the same width, but for blank lines."""
    _, width, column = layout
    widths = list(map(len, rows))
    if widths.count(width) == len(rows):
        yield Batch(list(map(itemgetter(column), rows)), lines)
        return
    wrong = next((i for i, found in enumerate(widths) if found not in (0, width)), None)
    good = [i for i, found in enumerate(widths[:wrong]) if found]
    yield Batch([rows[i][column] for i in good], [lines[i] for i in good])
    if wrong is not None:
        raise source.wrong(
            lines[wrong],
            f"expected {width} fields as in the header, got {widths[wrong]}; correct the line, "
            "quoting what has the delimiter in it",
        )


def _broken(source: Source, line: int, error: csv.Error) -> InputError:
    came = "a carriage return outside quotes" if "new-line" in str(error) else str(error)
    return source.wrong(
        line, f"expected a row of CSV, got {came}; correct the line, quoting what needs it"
    )

"""Answers in a column of a CSV file.

Text without quotes, whose rows all have the width of the header, is cut at the delimiters at once;
from the first piece on that is not so plain, Python's reader takes over.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import StringIO
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from deniable.cli.group import InputError
from deniable.cli.source import LARGEST_FIELD, Batch, Source, find_column, read_texts
from deniable.files import Readable

_ROWS = 1 << 13
_LINE_FEED = ord("\n")


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
    marks = data[(data == ord(delimiter)) | (data == _LINE_FEED)]
    if len(marks) % width:
        return None
    ends = marks.reshape(-1, width) == _LINE_FEED
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

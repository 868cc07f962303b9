"""Answers in files of five kinds, read in batches.

Every answer knows its line, so that an error can name it; what comes before an error in a file is
yielded before the error is raised, so that the first one is the one reported.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO, StringIO
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

import click

from deniable.cli.group import InputError
from deniable.cli.streams import name_of, open_raw, shorten, suffix_of
from deniable.documents import encodes, fault
from deniable.extras import load
from deniable.files import decompressed

KINDS = ("csv", "tsv", "ndjson", "lines", "parquet")
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson",
            ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip
_CHUNK = 1 << 20
_ROWS = 1 << 13
_LARGEST_FIELD = 1 << 26
_SEPARATORS = ";\t|,"


@dataclass(frozen=True)
class Batch:
    """Some answers, and the line of the file that each of them starts on."""

    answers: list[str]
    lines: Sequence[int]


@dataclass(frozen=True)
class Source:
    """A file of answers: where it is, the column they are in, and what kind of file it is."""

    path: Path
    column: str | None = None
    kind: str | None = None
    delimiter: str | None = None
    option: str = "--column"
    """The option that names the column."""

    @property
    def name(self) -> str:
        """What errors call the file."""
        return name_of(self.path)

    def batches(self, advance: Callable[[int], object] = lambda position: None) -> Iterator[Batch]:
        """Yield the answers; ``advance`` is told how many bytes of the file were read."""
        kind = self.kind or SUFFIXES.get(suffix_of(self.path))
        columns = self.column is not None or self.delimiter is not None
        kind = kind or ("csv" if columns else "lines")
        if self.delimiter is not None and kind not in {"csv", "tsv"}:
            raise click.UsageError(f"--delimiter is about CSV, and {self.name} is read as {kind}")
        readers = {"ndjson": _ndjson, "lines": _lines, "parquet": _parquet}
        with open_raw(self.path) as raw:
            stream = decompressed(raw, name=self.name)
            if kind in readers:
                batches = readers[kind](self, stream)
            else:
                batches = _csv(self, stream, _separator(self.delimiter, kind))
            for batch in batches:
                if batch.answers:
                    yield batch
                advance(raw.tell() if raw.seekable() else 0)

    def wrong(self, line: int, message: str) -> InputError:
        """Return the error that names the file and the line."""
        return InputError(f"{self.name}:{line}: {message}")


def as_text(source: Source, answer: object, line: int) -> str:
    """Return a JSON or Parquet value as an answer: text, or a whole number's digits."""
    if isinstance(answer, str):
        if answer.isascii() or encodes(answer):
            return answer
        raise source.wrong(
            line, f"expected text that UTF-8 can encode, got {shorten(answer)}, half of a "
            "surrogate pair; write the character itself"
        )  # fmt: skip
    if isinstance(answer, int) and not isinstance(answer, bool):
        return str(answer)
    came = json.dumps(answer, default=str)
    raise source.wrong(
        line, f"expected an answer as text, got {came[:60]}{'…' if len(came) > 60 else ''}; name "
        f"another column with {source.option}, or leave such rows out"
    )  # fmt: skip


def _texts(source: Source, stream: BinaryIO) -> Iterator[str]:
    """Yield the text of the stream in pieces of whole lines; only the last may lack its end."""
    line, size = 1, 0
    parts: list[bytes] = []
    while True:
        data = stream.read(_CHUNK)
        cut = data.rfind(b"\n") + 1
        if cut or not data:
            whole = b"".join([*parts, data[:cut]])
            yield from _decode(source, whole, line)
            line += whole.count(b"\n")
            parts, size = [data[cut:]], len(data) - cut
        else:
            parts.append(data)
            size += len(data)
        if size > _LARGEST_FIELD:
            raise source.wrong(line, f"expected a line of at most {_LARGEST_FIELD:,} bytes, got a "
                               "longer one; check that the file is text")  # fmt: skip
        if not data:
            return


def _decode(source: Source, whole: bytes, line: int) -> Iterator[str]:
    try:
        text = whole.decode()
    except UnicodeDecodeError as error:
        start = whole.rfind(b"\n", 0, error.start) + 1
        if start:
            yield from _decode(source, whole[:start], line)
        raise source.wrong(
            line + whole.count(b"\n", 0, start),
            f"expected UTF-8, got the byte 0x{whole[error.start]:02x} at position "
            f"{error.start - start + 1}; save the file as UTF-8",
        ) from error
    text = text.removeprefix("\ufeff") if line == 1 else text
    if text:
        yield text


def _lines(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    if source.column is not None:
        raise InputError(
            f"{source.name}: expected a file with columns for --column, got plain lines; "
            "name the kind with --input-format"
        )
    line = 1
    for text in _texts(source, stream):
        answers = _split(text)
        yield Batch(answers, range(line, line + len(answers)))
        line += len(answers)


def _split(text: str) -> list[str]:
    r"""Return lines without their ends, which are \n or \r\n."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _separator(delimiter: str | None, kind: str) -> str:
    if delimiter is None:
        return "," if kind == "csv" else "\t"
    found = "\t" if delimiter in {"\\t", "tab"} else delimiter
    if len(found) != 1 or found in '"\r\n':
        raise click.UsageError(
            f"--delimiter is one character, such as ';' or '\\t', not {delimiter!r}"
        )
    return found


def _csv(source: Source, stream: BinaryIO, delimiter: str) -> Iterator[Batch]:
    csv.field_size_limit(_LARGEST_FIELD)
    # Whole pieces of text are split into lines by StringIO: nothing is done for each line here.
    pieces = map(partial(StringIO, newline="\n"), _texts(source, stream))
    reader = csv.reader(chain.from_iterable(pieces), delimiter=delimiter, strict=True)
    try:
        head = next(reader, None)
    except csv.Error as error:
        raise _broken(source, 1, error) from error
    if head is None:
        raise source.wrong(1, "expected a header line with the names of the columns, got an "
                           "empty file; add one, or give a .txt file of lines")  # fmt: skip
    index, line = _position(source, head, delimiter), reader.line_num
    failure: csv.Error | InputError | None = None
    while failure is None:
        rows: list[list[str]] = []
        try:
            rows.extend(islice(reader, _ROWS))
        except (csv.Error, InputError) as error:
            failure = error  # after the rows before it, which are in the list already
        if not rows and failure is None:
            return
        taken = None if failure else reader.line_num - line
        lines = _lines_of(rows, line, taken)
        yield from _column(source, rows, lines, (index, len(head)))
        line = reader.line_num if taken is not None else line + sum(map(_height, rows))
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
    source: Source, rows: list[list[str]], lines: Sequence[int], place: tuple[int, int]
) -> Iterator[Batch]:
    """Yield one column of rows that all have the same width, but for blank lines."""
    index, width = place
    widths = list(map(len, rows))
    if widths.count(width) == len(rows):
        yield Batch(list(map(itemgetter(index), rows)), lines)
        return
    wrong = next((i for i, found in enumerate(widths) if found not in (0, width)), None)
    good = [i for i, found in enumerate(widths[:wrong]) if found]
    yield Batch([rows[i][index] for i in good], [lines[i] for i in good])
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


def _position(source: Source, head: list[str], delimiter: str | None = None) -> int:
    if len(head) == 1 and source.delimiter is None and delimiter is not None:
        mark = next((m for m in _SEPARATORS if m != delimiter and m in head[0]), None)
        if mark is not None and head[0] != source.column:
            raise source.wrong(
                1, f"expected columns separated by {delimiter!r}, got the one column "
                f"{shorten(head[0])}; pass --delimiter {mark!r}, or --delimiter {delimiter!r} "
                "if that is its name"
            )  # fmt: skip
    if source.column is None:
        if len(head) == 1:
            return 0
        raise source.wrong(1, f"expected {source.option} to name one of the columns "
                           f"{_enumerate(head)}, got none")  # fmt: skip
    if head.count(source.column) != 1:
        remedy = (f"name one with {source.option}" if source.column not in head
                  else "rename all but one of that name, so that it comes once")  # fmt: skip
        raise source.wrong(1, f"expected the column {source.column!r}, got the columns "
                           f"{_enumerate(head)}; {remedy}")  # fmt: skip
    return head.index(source.column)


def _ndjson(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    before = 0
    for text in _texts(source, stream):
        batch, lines = Batch([], found := []), _split(text)
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
            keys = f"the keys {_enumerate(found)}" if isinstance(found, dict) else "no object"
            raise source.wrong(line, f"expected an object with the key {column!r}, got {keys}; "
                               f"name one with {source.option}")  # fmt: skip
        found = found[column]
    return as_text(source, found, line)


def _parquet(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    parquet = load("pyarrow.parquet", "arrow")
    arrow = load("pyarrow", "arrow")
    try:
        file = parquet.ParquetFile(stream if stream.seekable() else BytesIO(stream.read()))
        column = file.schema_arrow.names[_position(source, list(file.schema_arrow.names))]
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


def _enumerate(names: object, most: int = 12) -> str:
    listed = [repr(name) for name in names] if isinstance(names, list | dict) else []
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "") or "none"

"""What users hand over: answers in files of four kinds, labels, and the files of deniable itself.

Answers are read in batches, and every answer knows its line, so that an error can name it.
"""

from __future__ import annotations

import csv
import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

import click

from deniable.cli.group import InputError
from deniable.cli.outputs import STDIO
from deniable.documents import encodes, fault
from deniable.errors import DeniableError, OutOfDomain
from deniable.extras import load
from deniable.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

KINDS = ("csv", "tsv", "ndjson", "lines", "parquet")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson",
             ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip
_BATCH = 1 << 17
_LARGEST_FIELD = 1 << 26


@dataclass(frozen=True)
class Batch:
    """Some answers, and the line of the file that each of them starts on."""

    answers: list[str]
    lines: list[int]


@dataclass(frozen=True)
class Source:
    """A file of answers: where it is, the column they are in, and what kind of file it is."""

    path: Path
    column: str | None = None
    kind: str | None = None
    option: str = "--column"
    """The option that names the column."""

    @property
    def name(self) -> str:
        """What errors call the file."""
        return name_of(self.path)

    def batches(self, advance: Callable[[int], object] = lambda position: None) -> Iterator[Batch]:
        """Yield the answers; ``advance`` is told how many bytes of the file were read."""
        kind = self.kind or _SUFFIXES.get(self.path.suffix.lower())
        kind = kind or ("csv" if self.column is not None else "lines")
        readers = {"ndjson": _ndjson, "lines": _lines, "parquet": _parquet}
        with open_input(self.path) as stream:
            if kind in readers:
                rows = readers[kind](self, stream)
            else:
                rows = _csv(self, stream, "," if kind == "csv" else "\t")
            answers: list[str] = []
            lines: list[int] = []
            for answer, line in rows:
                answers.append(answer)
                lines.append(line)
                if len(answers) == _BATCH:
                    yield Batch(answers, lines)
                    answers, lines = [], []
                    advance(stream.tell() if stream.seekable() else 0)
            if answers:
                yield Batch(answers, lines)

    def wrong(self, line: int, message: str) -> InputError:
        """Return the error that names the file and the line."""
        return InputError(f"{self.name}:{line}: {message}")


def values_of(question: Question, batch: Batch, source: Source) -> npt.NDArray[np.uint64]:
    """Return the values of a batch of answers, or name the line of the first unknown answer."""
    try:
        return question.values(batch.answers)
    except OutOfDomain as error:
        line = batch.lines[batch.answers.index(str(error.value))]
        raise source.wrong(
            line,
            f"expected one of the {len(question.labels or ())} answers to "
            f"{shorten(question.name)}, got "
            f"{shorten(str(error.value))}; correct it, or create the question with --other",
        ) from error


def read_labels(
    path: Path,
    column: str | None = None,
    option: str = "--labels-column",
    known: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Return the labels in a file: a JSON array, a column, or one on each line.

    ``option`` is what names the column; a label that is not among the ``known`` ones is refused.
    """
    source, among = Source(path, column, option=option), None if known is None else set(known)
    if path.suffix.lower() == ".json":
        labels = _json_labels(source)
        numbered = list(enumerate(labels, start=1))
    else:
        numbered = [
            (line, label)
            for batch in source.batches()
            for line, label in zip(batch.lines, batch.answers, strict=True)
        ]
    plain = column is None and path.suffix.lower() not in {*_SUFFIXES, ".json"}
    seen: dict[str, int] = {}
    for line, label in numbered:
        if plain and not label:
            raise source.wrong(line, "expected a label, got an empty line; remove it, or write "
                               'the labels as a JSON array to have the label ""')  # fmt: skip
        if label in seen:
            raise source.wrong(line, f"expected each label once, got {shorten(label)}, which line "
                               f"{seen[label]} has already; remove one")  # fmt: skip
        if among is not None and label not in among:
            raise source.wrong(line, f"expected one of the {len(among)} answers to the question, "
                               f"got {shorten(label)}; correct or remove it")  # fmt: skip
        seen[label] = line
    return tuple(seen)


def read_question(path: Path) -> Question:
    """Read a question file."""
    with open_input(path) as stream:
        data = stream.read()
    try:
        return Question.from_json(data)
    except DeniableError as error:
        raise InputError(f"{name_of(path)}: {error}") from error


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading; - is standard input."""
    if str(path) == STDIO:
        try:
            yield sys.stdin.buffer
        except OSError as error:
            error.filename = error.filename or name_of(path)
            raise
        return
    with path.open("rb") as stream:
        yield stream


def check_stdin(*paths: Path) -> None:
    """Refuse to read standard input for two purposes, or one file twice."""
    if sum(str(path) == STDIO for path in paths) > 1:
        raise click.UsageError("standard input (-) was given more than once")
    seen: set[Path] = set()
    for path in paths:
        if (resolved := path.resolve()) in seen:
            raise click.UsageError(f"{path} was given more than once")
        seen.add(resolved)


def name_of(path: Path) -> str:
    """Return what messages call a file."""
    return "standard input" if str(path) == STDIO else str(path)


def shorten(text: str) -> str:
    """Return a label quoted, and cut when it is long."""
    return repr(text) if len(text) <= 60 else f"{text[:60]!r}… ({len(text):,} characters)"


def _decoded(source: Source, stream: BinaryIO) -> Iterator[str]:
    for line, raw in enumerate(stream, start=1):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise source.wrong(
                line,
                f"expected UTF-8, got the byte 0x{raw[error.start]:02x} at position "
                f"{error.start + 1}; save the file as UTF-8",
            ) from error
        yield text.removeprefix("\ufeff") if line == 1 else text


def _lines(source: Source, stream: BinaryIO) -> Iterator[tuple[str, int]]:
    if source.column is not None:
        raise InputError(
            f"{source.name}: expected a file with columns for --column, got plain lines; "
            "name the kind with --input-format"
        )
    for line, text in enumerate(_decoded(source, stream), start=1):
        yield text.removesuffix("\n").removesuffix("\r"), line


def _csv(source: Source, stream: BinaryIO, delimiter: str) -> Iterator[tuple[str, int]]:
    csv.field_size_limit(_LARGEST_FIELD)
    reader, before = csv.reader(_decoded(source, stream), delimiter=delimiter, strict=True), 0
    try:
        head = next(reader, None)
        if head is None:
            raise source.wrong(1, "expected a header line with the names of the columns, got an "
                               "empty file; add one, or give a .txt file of lines")  # fmt: skip
        index, width, before = _position(source, head), len(head), reader.line_num
        for row in reader:
            if len(row) != width:
                if not row:
                    before = reader.line_num
                    continue
                raise source.wrong(before + 1, f"expected {width} fields as in the header, got "
                                   f"{len(row)}; correct the line, quoting commas")  # fmt: skip
            yield row[index], before + 1
            before = reader.line_num
    except csv.Error as error:
        came = str(error)
        if "new-line" in came:
            came = "a carriage return outside quotes"
        raise source.wrong(
            before + 1,
            f"expected a row of CSV, got {came}; correct the line, quoting what needs it",
        ) from error


def _position(source: Source, head: list[str]) -> int:
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


def _ndjson(source: Source, stream: BinaryIO) -> Iterator[tuple[str, int]]:
    column = source.column
    for line, text in enumerate(_decoded(source, stream), start=1):
        if not text.strip():
            continue
        try:
            found = json.loads(text.rstrip("\r\n"))
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
        yield _text(source, found, line), line


def _parquet(source: Source, stream: BinaryIO) -> Iterator[tuple[str, int]]:
    parquet = load("pyarrow.parquet", "arrow")
    arrow = load("pyarrow", "arrow")
    try:
        file = parquet.ParquetFile(stream if stream.seekable() else BytesIO(stream.read()))
        column = file.schema_arrow.names[_position(source, list(file.schema_arrow.names))]
        row = 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=[column]):
            for answer in batch.column(0).to_pylist():
                row += 1
                yield _text(source, answer, row), row
    except arrow.ArrowException as error:
        raise InputError(
            f"{source.name}: expected a Parquet file, got {error}; copy the file again"
        ) from error


def _text(source: Source, answer: object, line: int) -> str:
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


def _json_labels(source: Source) -> list[str]:
    if source.column is not None:
        raise InputError(f"{source.name}: expected no column for a JSON array, got "
                         f"{source.column!r}; leave out {source.option}")  # fmt: skip
    with open_input(source.path) as stream:
        try:
            labels = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{source.name}: expected JSON, got {fault(error)}; correct it"
            ) from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{source.name}: expected a JSON array of strings, got something else; "
                         'write ["kiwi", "fig"]')  # fmt: skip
    return [_text(source, label, place) for place, label in enumerate(labels, start=1)]


def _enumerate(names: object, most: int = 12) -> str:
    listed = [repr(name) for name in names] if isinstance(names, list | dict) else []
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "") or "none"

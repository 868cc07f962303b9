"""Answers in files of five kinds, read in batches: CSV, TSV, NDJSON, plain lines and Parquet.

Every answer knows its line, so that an error can name it; what comes before an error in a file is
yielded before the error is raised, so that the first one is the one reported.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import click

from deniable.cli.group import InputError
from deniable.cli.inputs import Digest, name_of, open_raw, suffix_of
from deniable.cli.outputs import shorten
from deniable.documents import Readable, decompressed, encodes, fault
from deniable.optional import load

LARGEST_FIELD = 1 << 26
_CHUNK = 1 << 20
KINDS = ("csv", "tsv", "ndjson", "lines", "parquet")
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson",
            ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip
_ROWS = 1 << 13
_SEPARATORS = ";\t|,"


@dataclass(frozen=True)
class Batch:
    """Some answers, the line of the file that each starts on, and what stands beside each."""

    answers: list[str]
    lines: Sequence[int]
    beside: Sequence[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Source:
    """A file of answers: where it is, the column they are in, and what kind of file it is.

    ``option`` is the option that names the column, and ``digest`` notes the bytes that are read.
    Answers have to be texts or whole numbers if they are ``textual``; else any JSON value may be
    one. ``beside`` are further columns to read, which are not answers.
    """

    path: Path
    column: str | None = None
    kind: str | None = None
    delimiter: str | None = None
    option: str = "--column"
    digest: Digest | None = None
    textual: bool = True
    beside: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """The columns that make an answer together, as those of a record do."""
    listed: Callable[[str], bool] = lambda text: False
    """Whether a text is an answer that the question lists, which a header is not."""

    @property
    def name(self) -> str:
        return name_of(self.path)

    def wrong(self, line: int, message: str) -> InputError:
        return InputError(f"{self.name}:{line}: {message}")


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
            batches = _read_csv(source, stream, _separator(source.delimiter, kind))
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
    if source.column is not None or source.beside:
        option = "--column" if source.column is not None else "--segment-column"
        raise InputError(f"{source.name} is read as plain lines, which have no columns; leave out "
                         f"{option}, or say what the file is with --input-format")  # fmt: skip
    line = 1
    for text in read_texts(source, stream):
        answers = split_lines(text)
        yield Batch(answers, range(line, line + len(answers)))
        line += len(answers)


def _read_ndjson(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    before = 0
    for text in read_texts(source, stream):
        beside: list[tuple[str, ...]] = []
        batch, lines = Batch([], found := [], beside), split_lines(text)
        for line, each in enumerate(lines, start=before + 1):
            if not each or each.isspace():
                continue
            try:
                answer, more = _json_answer(source, each, line)
            except InputError:
                yield batch
                raise
            batch.answers.append(answer)
            found.append(line)
            if source.beside:
                beside.append(more)
        yield batch
        before += len(lines)


def _json_answer(source: Source, text: str, line: int) -> tuple[str, tuple[str, ...]]:
    column = source.column
    try:
        found = json.loads(text, object_pairs_hook=_each_once)
    except KeyError as error:
        raise source.wrong(
            line, f"this object has the key {error.args[0]!r} twice; leave one out"
        ) from None
    except (ValueError, RecursionError) as error:
        raise source.wrong(
            line, f"expected one JSON value, got {fault(error)}; correct it"
        ) from error
    more = tuple(_beside(found.get(name) if isinstance(found, dict) else None)
                 for name in source.beside)  # fmt: skip
    if column is not None:
        if not isinstance(found, dict) or column not in found:
            keys = (f"has the keys {enumerate_names(found)}" if isinstance(found, dict)
                    else "is not a JSON object")  # fmt: skip
            raise source.wrong(line, f"this line {keys}, and {column!r} is wanted; name a key with "
                               f"{source.option}")  # fmt: skip
        found = found[column]
    elif isinstance(found, dict) and source.columns:
        found = {name: found[name] for name in source.columns if name in found}
    return as_text(source, found, line), more


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object, of which JSON would keep only the last value of a key."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return found


def _beside(value: object) -> str:
    """Return what stands beside an answer as text, empty where nothing does."""
    return "" if value is None else str(value)


def _read_parquet(source: Source, stream: BinaryIO) -> Iterator[Batch]:
    """Yield the answers in a column of a Parquet file; their lines are rows."""
    parquet = load("pyarrow.parquet", "arrow")
    arrow = load("pyarrow", "arrow")
    try:
        file = parquet.ParquetFile(stream if stream.seekable() else BytesIO(stream.read()))
        names, several = list(file.schema_arrow.names), list(source.columns)
        wanted = [replace(source, column=name) for name in several] or [source]
        columns = [names[find_column(each, names)] for each in wanted]
        further = [names[find_beside(source, names, name)] for name in source.beside]
        row = 1
        for part in file.iter_batches(batch_size=_ROWS, columns=[*columns, *further]):
            own = part.select(columns)
            found = own.to_pylist() if several else own.column(0).to_pylist()
            lines = range(row, row + len(found))
            more = (map(_beside, part.column(name).to_pylist()) for name in further)
            beside = list(zip(*more, strict=True)) if further else ()
            answers = [as_text(source, x, i) for i, x in zip(lines, found, strict=True)]
            yield Batch(answers, lines, beside)
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
            line, "the text has half of a surrogate pair, which UTF-8 cannot encode; write the "
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


def _picker(source: Source, head: list[str], delimiter: str) -> Callable[[list[str]], str]:
    """Return what takes an answer from a row: one cell, or the object of several."""
    if not source.columns:
        column = find_column(source, head, delimiter)
        return lambda row: row[column]
    named = [replace(source, column=name) for name in source.columns]
    places = [find_column(each, head, delimiter) for each in named]
    return lambda row: json.dumps(
        dict(zip(source.columns, (row[place] for place in places), strict=True))
    )


def _read_csv(source: Source, stream: Readable, delimiter: str) -> Iterator[Batch]:
    csv.field_size_limit(LARGEST_FIELD)
    pieces = (StringIO(text, newline="\n") for text in read_texts(source, stream))
    reader = csv.reader(chain.from_iterable(pieces), delimiter=delimiter, strict=True)
    answers, starts, line = list[str](), list[int](), 0
    beside = list[tuple[str, ...]]()
    try:
        head = next(reader, None)
        if head is None:
            raise source.wrong(1, "the file is empty; begin it with a header that names the "
                               "columns, or give a .txt file of lines")  # fmt: skip
        width, pick = len(head), _picker(source, head, delimiter)
        further = [find_beside(source, head, name) for name in source.beside]
        line = reader.line_num
        for row in reader:
            if len(row) == width:
                answers.append(pick(row))
                starts.append(line + 1)
                if further:
                    beside.append(tuple([row[place] for place in further]))
            elif row:  # a blank line is not a row
                raise source.wrong(
                    line + 1,
                    f"expected {width} fields as in the header, got {len(row)}; correct the line, "
                    "quoting what has the delimiter in it",
                )
            line = reader.line_num
            if len(answers) == _ROWS:
                yield Batch(answers, starts, beside)
                answers, starts, beside = [], [], []
    except (csv.Error, InputError) as error:
        yield Batch(answers, starts, beside)
        if isinstance(error, InputError):
            raise
        came = "a carriage return outside quotes" if "new-line" in str(error) else str(error)
        raise source.wrong(
            line + 1, f"expected a row of CSV, got {came}; correct the line, quoting what needs it"
        ) from error
    yield Batch(answers, starts, beside)


def read_texts(source: Source, stream: Readable) -> Iterator[str]:
    """Yield the text of the stream in pieces of whole lines; only the last may lack its end."""
    for whole, line in _read_pieces(source, stream):
        yield from _decode(source, whole, line)


def _read_pieces(source: Source, stream: Readable) -> Iterator[tuple[bytes, int]]:
    """Yield the bytes of whole lines, and the number of the first."""
    line, size = 1, 0
    parts: list[bytes] = []
    while True:
        data = stream.read(_CHUNK)
        cut = data.rfind(b"\n") + 1
        if cut or not data:
            whole = b"".join([*parts, data[:cut]])
            yield whole, line
            line += whole.count(b"\n")
            parts, size = [data[cut:]], len(data) - cut
        else:
            parts.append(data)
            size += len(data)
        if size > LARGEST_FIELD:
            raise source.wrong(line, f"this line has more than {LARGEST_FIELD:,} bytes; check that "
                               "the file is text")  # fmt: skip
        if not data:
            return


def _decode(source: Source, whole: bytes, line: int) -> Iterator[str]:
    """Yield the text of whole lines, as far as it is UTF-8; a byte order mark is left out."""
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


def split_lines(text: str) -> list[str]:
    r"""Return lines without their ends, which are \n or \r\n."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def find_column(source: Source, head: list[str], delimiter: str | None = None) -> int:
    """Return which of the columns is wanted, if the header leaves no doubt."""
    if len(head) == 1 and source.delimiter is None and delimiter is not None:
        mark = next((m for m in _SEPARATORS if m != delimiter and m in head[0]), None)
        if mark is not None and head[0] != source.column:
            raise source.wrong(
                1, f"expected columns separated by {delimiter!r}, got the one column "
                f"{shorten(head[0])}; pass --delimiter {mark!r}, or --delimiter {delimiter!r} "
                "if that is its name"
            )  # fmt: skip
    if source.column is None:
        if len(head) == 1 and source.listed(head[0]):
            raise source.wrong(1, "the first line is an answer, and a header has to name the "
                               "column; add one, or read lines with --input-format lines, or "
                               f"pass {source.option} if that is the name")  # fmt: skip
        if len(head) == 1:
            return 0
        raise source.wrong(1, f"the file has the columns {enumerate_names(head)}; choose one with "
                           f"{source.option}")  # fmt: skip
    if head.count(source.column) != 1:
        missing = (
            f"choose one with {source.option}"
            if not source.columns
            else "every attribute has one, and no answer to it is a label of its own"
        )
        remedy = missing if source.column not in head else "rename all but one of that name"
        raise source.wrong(1, f"expected the column {source.column!r}, got the columns "
                           f"{enumerate_names(head)}; {remedy}")  # fmt: skip
    return head.index(source.column)


def find_beside(source: Source, head: list[str], name: str) -> int:
    if head.count(name) != 1:
        raise source.wrong(1, f"expected the column {name!r} of --segment-column, got the columns "
                           f"{enumerate_names(head)}; name another one")  # fmt: skip
    return head.index(name)


def enumerate_names(names: object, most: int = 12) -> str:
    listed = [repr(name) for name in names] if isinstance(names, list | dict) else []
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "") or "none"

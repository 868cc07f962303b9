"""Answers in NDJSON and Parquet files: one record each, text or a whole number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import BinaryIO

from deniable.cli.group import InputError
from deniable.cli.source import Batch, Source, enumerate_names, find_column, read_texts, split_lines
from deniable.documents import encodes, fault
from deniable.optional import load

_ROWS = 1 << 13


def read_ndjson(source: Source, stream: BinaryIO) -> Iterator[Batch]:
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


def read_parquet(source: Source, stream: BinaryIO) -> Iterator[Batch]:
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

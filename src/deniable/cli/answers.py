"""Answers in files of five kinds, read in batches.

Every answer knows its line, so that an error can name it; what comes before an error in a file is
yielded before the error is raised, so that the first one is the one reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

import click

from deniable.cli.group import InputError
from deniable.cli.records import read_ndjson, read_parquet
from deniable.cli.source import Batch, Source, decode, read_pieces, split_lines
from deniable.cli.spelling import Spellings
from deniable.cli.streams import open_raw, suffix_of
from deniable.cli.tables import read_csv
from deniable.files import decompressed

KINDS = ("csv", "tsv", "ndjson", "lines", "parquet")
SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".ndjson": "ndjson", ".jsonl": "ndjson",
            ".parquet": "parquet", ".pq": "parquet"}  # fmt: skip


def read_answers(
    source: Source,
    advance: Callable[[int], object] = lambda position: None,
    spellings: Spellings | None = None,
) -> Iterator[Batch]:
    """Yield the answers; ``advance`` is told how many bytes of the file were read.

    Plain lines that are all among the ``spellings`` come as their values.
    """
    kind = source.kind or SUFFIXES.get(suffix_of(source.path))
    columns = source.column is not None or source.delimiter is not None
    kind = kind or ("csv" if columns else "lines")
    if source.delimiter is not None and kind not in {"csv", "tsv"}:
        raise click.UsageError(f"--delimiter is about CSV, and {source.name} is read as {kind}")
    readers: dict[str, Callable[[Source, BinaryIO], Iterator[Batch]]] = {
        "ndjson": read_ndjson,
        "lines": partial(_lines, spellings=spellings),
        "parquet": read_parquet,
    }
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


def _lines(
    source: Source, stream: BinaryIO, *, spellings: Spellings | None = None
) -> Iterator[Batch]:
    if source.column is not None:
        raise InputError(
            f"{source.name}: expected a file with columns for --column, got plain lines; "
            "name the kind with --input-format"
        )
    for whole, line in read_pieces(source, stream):
        values = None if spellings is None else spellings.find(whole)
        if values is not None:
            yield Batch([], range(line, line + len(values)), values)
            continue
        first = line
        for text in decode(source, whole, line):
            answers = split_lines(text)
            yield Batch(answers, range(first, first + len(answers)))
            first += len(answers)


def _separator(delimiter: str | None, kind: str) -> str:
    if delimiter is None:
        return "," if kind == "csv" else "\t"
    found = "\t" if delimiter in {"\\t", "tab"} else delimiter
    if len(found) != 1 or found in '"\r\n':
        raise click.UsageError(
            f"--delimiter is one character, such as ';' or '\\t', not {delimiter!r}"
        )
    return found

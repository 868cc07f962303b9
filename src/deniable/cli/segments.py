"""Segments in files: columns that state them, report files summed by them, and results by them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import numpy as np

from deniable import Accumulator, Estimates, InvalidParameter, Question, Tally
from deniable.cli import inputs, outputs
from deniable.cli.answers import Batch, Source
from deniable.cli.group import InputError
from deniable.division import Parts, divide
from deniable.files import read_contents
from deniable.mechanism import Reports
from deniable.presentation.exports import Limits
from deniable.presentation.view import counted


def read_pairs(given: Sequence[str], option: str) -> dict[str, str]:
    """Return what options such as ``--segment platform=linux`` name by dimension."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, value = text.partition("=")
        value = value if mark or option != "--segment-column" else name
        if not value or name in found:
            raise click.UsageError(
                f"expected each {option} once, as DIMENSION=VALUE, got {text[:80]!r}"
            )
        found[name] = value
    return found


@dataclass
class Stated:
    """The cells of people, by the same values for all and by columns, in the order of answers."""

    question: Question
    values: Mapping[str, str]
    columns: Mapping[str, str]
    not_stated: int = 0
    _known: dict[tuple[str, ...], int] = field(default_factory=dict)
    _waiting: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        for name in self.values.keys() & self.columns.keys():
            raise click.UsageError(f"{name!r} has a value and a column; leave one of them out")
        for name in self.columns:
            self.question.segments.dimension(name)
        self.question.segments.cell(self.values)
        given = self.values.keys() | self.columns.keys()
        free = [each.name for each in self.question.segments if each.other is None]
        missing = [name for name in free if name not in given]
        if given and missing:
            raise click.UsageError(
                f"state {' and '.join(map(repr, missing))} as well, by --segment or "
                "--segment-column: a report has a value of each dimension, or of none"
            )

    def read_from(self, source: Source) -> Source:
        """Return the source of answers, from which the columns are read as well."""
        return replace(source, beside=tuple(self.columns.values()))

    def watch(self, batches: Iterator[Batch], source: Source) -> Iterator[Batch]:
        """Yield batches of answers, and note the cells of their people."""
        for batch in batches:
            if self.columns:
                pairs = zip(batch.beside, batch.lines, strict=True)
                self._note(bytes([self._cell(row, line, source) for row, line in pairs]))
            elif self.question.segments:
                cell = self.question.segments.cell(self.values)
                self._note(bytes([cell]) * len(batch.answers))
            yield batch

    def _cell(self, row: tuple[str, ...], line: int, source: Source) -> int:
        """Return the cell that the columns of a line state; what is empty is not stated."""
        if row not in self._known:
            stated = {name: text for name, text in zip(self.columns, row, strict=True) if text}
            try:
                self._known[row] = self.question.segments.cell({**self.values, **stated})
            except InvalidParameter as error:
                raise source.wrong(line, str(error)) from error
        return self._known[row]

    def _note(self, cells: bytes) -> None:
        self._waiting += cells
        self.not_stated += cells.count(self.question.segments.cells)

    def warn(self) -> None:
        """Say how many people are in no segment, if the question has any."""
        if self.not_stated:
            outputs.warn(
                f"{counted(self.not_stated, 'report')} without a segment: name it with --segment, "
                "or the columns that state it with --segment-column"
            )

    def take(self, drawn: Iterator[Reports]) -> Iterator[tuple[bytes, Reports]]:
        """Yield batches of reports after the cells of the people whose reports they are."""
        for reports in drawn:
            yield self.next_cells(len(reports)), reports

    def next_cells(self, count: int) -> bytes:
        """Return the cells of the next people, a byte each; nothing where there are no segments."""
        cells = bytes(self._waiting[:count])
        del self._waiting[:count]
        return cells


def collect_cells(question: Question, files: Sequence[Path]) -> dict[int, Tally]:
    """Return the tally of each cell in report files; a tally file does not tell them apart."""
    totals: dict[int, Accumulator] = {}
    for path in files:
        name = inputs.name_of(path)
        with inputs.open_input(path) as stream:
            contents = read_contents(stream, question, name=name)
            if isinstance(contents, Tally):
                raise InputError(
                    f"{name}: a tally does not say of which segments it is; give report files, or "
                    "read results by segment from the collector"
                )
            for cells, reports in contents:
                numbers = np.frombuffer(cells, np.uint8)
                for cell in np.unique(numbers).tolist():
                    total = totals.setdefault(cell, question.accumulator())
                    total.add(reports[numbers == cell])
    if not totals:
        names = ", ".join(map(inputs.name_of, files))
        raise InputError(f"{names}: there are no reports to estimate from; collect some first")
    return {cell: total.tally() for cell, total in totals.items()}


def write_divided(
    question: Question,
    files: Sequence[Path],
    dimension: str,
    *,
    make: Callable[[Tally], Estimates],
    export: outputs.Export,
) -> None:
    question.segments.dimension(dimension)
    if export.form in ("html", "parquet") or export.plot is not None:
        raise click.UsageError("results by segment are a table, TSV, JSON or CSV, without a plot")
    cells = collect_cells(question, files)
    if export.form == "table":
        _print(divide(question, cells, dimension, estimate=make), export)
        return
    parts = divide(question, cells, dimension, estimate=lambda tally: export.chosen(make(tally)))
    limits: Limits = {"level": export.level, "alpha": export.alpha}
    said = (
        json.dumps(parts.document(**limits), indent=1, ensure_ascii=False) + "\n"
        if export.form == "json"
        else parts.to_csv("\t" if export.form == "tsv" else ",", **limits)
    )
    outputs.write_atomically(export.output, said.encode())


def _print(parts: Parts, export: outputs.Export) -> None:
    """Write a table for each segment that is shown, and a line for each other one."""
    lines: list[str] = []
    printed = str(export.output) == outputs.STDIO
    say = click.echo if printed else lines.append
    for part in parts.parts:
        say(f"\n{parts.dimension}: {part.value}, {counted(part.n, 'report')}")
        if part.estimates is None:
            why = f"not shown because of its error: {part.missing:,} more are needed"
            say(why + (f"; {part.warning}" if part.warning else ""))
        elif printed:
            export.write(part.estimates)
        else:
            found = export.chosen(part.estimates)
            lines.append(found.table(None, level=export.level, alpha=export.alpha))
    if not printed:
        outputs.write_atomically(export.output, ("\n".join(lines).lstrip() + "\n").encode())

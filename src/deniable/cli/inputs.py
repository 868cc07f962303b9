"""What commands read beside answers: question files, labels, reports and tallies."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import click
import numpy as np

from deniable.cli.answers import SUFFIXES, as_text, read_answers
from deniable.cli.display import shorten, show_progress
from deniable.cli.group import InputError
from deniable.cli.outputs import warn
from deniable.cli.sources import Batch, Source, Watched, name_of, open_input, open_raw, suffix_of
from deniable.documents import fault
from deniable.errors import DeniableError
from deniable.files import Readable, describe, read_any, read_fully, read_raw_reports
from deniable.mechanism import Reports
from deniable.presentation.tables import unguarded
from deniable.presentation.view import counted
from deniable.question import Question
from deniable.tally import Accumulator, Tally

_LARGEST_QUESTION = 1 << 28
_GATHERED_BYTES = 1 << 23


def read_question(path: Path) -> Question:
    with open_input(path) as stream:
        data = read_fully(stream, _LARGEST_QUESTION + 1)
    if len(data) > _LARGEST_QUESTION:
        raise InputError(f"{name_of(path)}: a question has at most {_LARGEST_QUESTION:,} bytes, "
                         "and this file has more; check the file")  # fmt: skip
    came, remedy = describe(data[:4096])
    if came not in {"a question file", "JSON", "text"}:
        raise InputError(f"{name_of(path)}: expected a question file, which is JSON, got {came}; "
                         f"{remedy}")  # fmt: skip
    try:
        return Question.from_json(data)
    except DeniableError as error:
        raise InputError(f"{name_of(path)}: {error}") from error


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
    kind = SUFFIXES.get(suffix_of(path), "lines" if column is None else "csv")
    if suffix_of(path) == ".json":
        kind, batches = "json", iter([_json_labels(source)])
    else:
        batches = read_answers(source)
    numbered = (pair for each in batches for pair in zip(each.lines, each.answers, strict=True))
    seen: dict[str, int] = {}
    for line, written in numbered:
        # As exported, so that the answers of one estimate can be the labels of the next question.
        label = unguarded(written) if kind in {"csv", "tsv"} else written
        if kind == "lines" and not label:
            raise source.wrong(line, "an empty line is not a label; remove it, or write the labels "
                               'as a JSON array to have the label ""')  # fmt: skip
        if label in seen:
            raise source.wrong(line, f"the label {shorten(label)} stands on line {seen[label]} "
                               "already; remove one")  # fmt: skip
        if among is not None and label not in among:
            raise source.wrong(line, f"expected one of the {len(among)} answers to the question, "
                               f"got {shorten(label)}; correct or remove it")  # fmt: skip
        seen[label] = line
    return tuple(seen)


def _json_labels(source: Source) -> Batch:
    if source.column is not None:
        raise InputError(f"{source.name}: a JSON array has no columns; leave out {source.option}")
    with open_input(source.path) as stream:
        try:
            labels = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{source.name}: expected JSON, got {fault(error)}; correct it"
            ) from error
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise InputError(f"{source.name}: this is not a JSON array of strings; write for example "
                         '["kiwi", "fig"]')  # fmt: skip
    places = range(1, len(labels) + 1)
    return Batch([as_text(source, *pair) for pair in zip(labels, places, strict=True)], places)


def read_candidates(
    question: Question, path: Path | None, column: str | None
) -> tuple[str, ...] | None:
    """Return the answers to count, which an open question needs and a closed one must have."""
    if path is None and column is not None:
        raise click.UsageError("--candidates-column is about the file of --candidates; name one")
    if question.labels is None and path is None:
        raise click.UsageError(
            f"the question {shorten(question.name)} is open: list the answers to count with "
            "--candidates"
        )
    if path is None:
        return None
    found = read_labels(path, column, "--candidates-column", question.labels)
    if not found:
        raise InputError(f"{name_of(path)} is empty; list the answers to count")
    return found


def check_repeats(question: Question, people: object, rounds: object) -> None:
    """Ask for people or rounds where people may have answered again, and nowhere else."""
    name, given = question.protocol.name, [each for each in (people, rounds) if each is not None]
    if len(given) > 1:
        raise click.UsageError("--people and --rounds say the same thing; give one of them")
    if given and not question.protocol.memoises:
        raise click.UsageError(
            f"--people and --rounds are for protocols whose people may answer again; reports of "
            f"{name} are independent, so leave them out"
        )
    if not given and question.protocol.memoises:
        raise click.UsageError(
            f"people may answer {shorten(question.name)} again ({name}), so its reports are not "
            "independent, and a file does not say when they came: give --rounds, the number of "
            "days with reports if a collector has them, or 1 if everybody answered once; or "
            "--people if you know how many there are"
        )


def read_tally(question: Question, files: Sequence[Path]) -> Tally:
    """Return the tally of report files and tally files, which is not empty."""
    total = collect(question, files)
    if not total.n:
        names = ", ".join(name_of(path) for path in files)
        raise InputError(f"{names}: there are no reports to estimate from; collect some first")
    return total


def collect(question: Question, files: Sequence[Path], *, raw: bool = False) -> Tally:
    """Return the tally of all reports in report files and tally files.

    With ``raw`` the files hold reports and nothing else. Files of the same content are all counted,
    with a warning.
    """
    size = sum(path.stat().st_size for path in files if path.is_file())
    total, seen, done = question.accumulator(), dict[bytes, str](), 0
    with show_progress("Tallying", size or None) as advance:
        for path in files:
            name, digest = name_of(path), sha256()
            with _open(path, raw=raw) as opened:
                stream = Watched(opened, digest, advance, done)
                (_add_raw if raw else _add)(total, stream, question, name)
            done = stream.done
            first = seen.setdefault(digest.digest(), name)
            if first != name:
                warn(f"{name} has the same content as {first}; every report in it counts twice")
    return total.tally()


def _add(total: Accumulator, stream: Readable, question: Question, name: str) -> None:
    contents = read_any(stream, question, name=name)
    if isinstance(contents, Tally):
        total.merge(contents)
    else:
        for batch in _gathered(contents):
            total.add(batch)


def _add_raw(total: Accumulator, stream: Readable, question: Question, name: str) -> None:
    before = total.n
    for batch in _gathered(read_raw_reports(stream, question, name=name)):
        total.add(batch)
    size = counted(question.protocol.report_dtype.itemsize, "byte")
    click.echo(f"{name}: {counted(total.n - before, 'report')} of {size}", err=True)


def _gathered(batches: Iterator[Reports]) -> Iterator[Reports]:
    """Yield larger batches: what each adds to the time grows with the size of the tally."""
    waiting: list[Reports] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.nbytes for each in waiting) >= _GATHERED_BYTES:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


@contextmanager
def _open(path: Path, *, raw: bool) -> Iterator[Readable]:
    """Open a file; reports without a header may begin as gzip does, so then its name decides."""
    with (open_raw if raw and path.suffix.lower() != ".gz" else open_input)(path) as stream:
        yield stream

"""What users hand over beside answers: question files and lists of labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from deniable.cli.answers import SUFFIXES, read_answers
from deniable.cli.group import InputError
from deniable.cli.records import as_text
from deniable.cli.source import Source
from deniable.cli.streams import check_stdin, name_of, open_input, shorten, suffix_of, warn
from deniable.documents import fault
from deniable.errors import DeniableError
from deniable.files import describe, read_fully
from deniable.presentation import unguarded
from deniable.question import Question

__all__ = [
    "check_stdin",
    "name_of",
    "open_input",
    "read_labels",
    "read_question",
    "shorten",
    "warn",
]

_LARGEST_QUESTION = 1 << 28


def read_question(path: Path) -> Question:
    """Read a question file."""
    with open_input(path) as stream:
        data = read_fully(stream, _LARGEST_QUESTION + 1)
    if len(data) > _LARGEST_QUESTION:
        raise InputError(f"{name_of(path)}: expected a question of at most {_LARGEST_QUESTION:,} "
                         "bytes, got more; check the file")  # fmt: skip
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
    if suffix_of(path) == ".json":
        labels = _json_labels(source)
        numbered = list(enumerate(labels, start=1))
    else:
        numbered = [
            (line, label)
            for batch in read_answers(source)
            for line, label in zip(batch.lines, batch.answers, strict=True)
        ]
    if SUFFIXES.get(suffix_of(path), "csv" if column is not None else "") in {"csv", "tsv"}:
        # As exported, so that the answers of one estimate can be the labels of the next question.
        numbered = [(line, unguarded(label)) for line, label in numbered]
    plain = column is None and suffix_of(path) not in {*SUFFIXES, ".json"}
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
    return [as_text(source, label, place) for place, label in enumerate(labels, start=1)]

"""Files of labels, which label each answer is, and which spellings are treated as equal.

Messages name the line of an answer and never the answer itself: what commands print ends up in
logs, where the answers of people must not be.
"""

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, repeat
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

import click
import numpy as np

from deniable import Answers, Choice, Choices, DeniableError, Number, OutOfDomain, Question, Record
from deniable.answers.number import WANTS
from deniable.cli.answers import SUFFIXES, Batch, Source, as_text, read_answers
from deniable.cli.group import InputError
from deniable.cli.inputs import name_of, open_input, suffix_of
from deniable.cli.outputs import shorten
from deniable.documents import fault, read_file
from deniable.presentation.tables import unguarded

_REMEMBERED = 1 << 16


@dataclass(frozen=True)
class Form:
    """Which texts are treated as equal: with outer white space, in another case or encoding.

    >>> Form(strip=True, fold_case=True)(" Kiwi ")
    'kiwi'
    """

    strip: bool = False
    fold_case: bool = False
    normalise: bool = False

    def __call__(self, text: str) -> str:
        """Return the one form of all texts that are treated as equal."""
        if self.normalise:
            text = normalize("NFC", text)
        if self.fold_case:
            # Folding can undo the composition; normalising again makes the form a fixed point.
            text = normalize("NFC", text.casefold()) if self.normalise else text.casefold()
        return text.strip() if self.strip else text

    @property
    def options(self) -> str:
        flags = (("--strip", self.strip), ("--fold-case", self.fold_case),
                 ("--normalise", self.normalise))  # fmt: skip
        return " ".join(name for name, given in flags if given)


class Matcher:
    """Finds the value of each answer, and counts those that become ``other``.

    Without ``labels`` every new answer becomes one, in the order in which they come.
    """

    def __init__(
        self, labels: Sequence[str] | None, other: str | None = None, form: Form | None = None
    ) -> None:
        self.grows, self.other, self.form = labels is None, other, form or Form()
        self.read, self.unknown = 0, 0
        self._values = {self.form(label): i for i, label in enumerate(labels or ())}
        self._labels = tuple(labels or ())
        self._known = {label: i for i, label in enumerate(self._labels)}
        self._first_unknown = 0
        if len(self._values) < len(self._labels):
            first, second = next(twins(self._labels, self.form))
            raise InputError(
                f"the labels {shorten(first)} and {shorten(second)} are equal with "
                f"{self.form.options}; leave the option out, or merge them"
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels: those given, or those found so far."""
        return tuple(self._values) if self.grows else self._labels

    def values(self, batch: Batch, source: Source) -> np.typing.NDArray[np.int64]:
        """Return the values of a batch of answers, or name the line of the first unknown one."""
        known = map(self._known.get, batch.answers, repeat(-1))
        found = np.fromiter(known, dtype=np.int64, count=len(batch.answers))
        self.read += len(found)
        return self._look_up(batch, source) if found.min(initial=0) < 0 else found

    def describe_unknown(self) -> str | None:
        """Say how many answers became ``other``, and where the first of them is."""
        if not self.unknown:
            return None
        share = 100 * self.unknown / self.read
        return (
            f"{self.unknown:,} of {self.read:,} answers ({share:.3g} %) are not labels and count "
            f"as {shorten(self.other or '')}, the first on line {self._first_unknown:,}"
        )

    def _look_up(self, batch: Batch, source: Source) -> np.typing.NDArray[np.int64]:
        """Return the values of answers, some of them in spellings that are new."""
        missing = Counter(answer for answer in batch.answers if answer not in self._known)
        elsewhere = None if self.other is None else self._known[self.other]
        now: dict[str, int] = {}
        for answer, count in missing.items():
            key = self.form(answer)
            value = self._values.get(key)
            if value is None and self.grows:
                value = self._values[key] = len(self._values)
            if value is not None:
                now[answer] = value
                if self.grows or len(self._known) < len(self._labels) + _REMEMBERED:
                    self._known[answer] = value
            elif elsewhere is not None:
                now[answer] = elsewhere
                if not self.unknown:
                    self._first_unknown = _line_of(answer, batch)
                self.unknown += count
            else:
                raise self._unknown_answer(answer, batch, source)
        known = self._known
        values = [known[a] if a in known else now[a] for a in batch.answers]
        return np.array(values, dtype=np.int64)

    def _unknown_answer(self, answer: str, batch: Batch, source: Source) -> InputError:
        remedy = "make a question with --other, a label for all other answers"
        flags = ("strip", "normalise", "fold_case")  # those forms first that need the fewest
        for chosen in chain.from_iterable(combinations(flags, count) for count in (1, 2, 3)):
            form = Form(**dict.fromkeys(chosen, True))
            if form(answer) in {form(label) for label in self._labels}:
                remedy = f"pass {form.options}, which makes it equal to one"
                break
        return source.wrong(
            _line_of(answer, batch),
            f"the answer is none of the {len(self._labels):,} labels; correct it, or {remedy}",
        )


_HINTS: dict[type, str] = {
    Choices: ", with ; between labels or as a JSON list; capitals and blanks count",
    Record: "; capitals and blanks count in labels",
}


def match(question: Question, form: Form | None = None) -> Matcher:
    chosen = isinstance(question.answers, Choice)
    return Matcher(question.labels or () if chosen else (), question.other, form)


def of_question(source: Source, question: Question) -> Source:
    """Return a source that is read as a question's answers: a record's are several columns."""
    record = question.answers if isinstance(question.answers, Record) else None
    columns = record.names if record and source.column is None else ()
    listed: Callable[[str], bool] = question.answers.takes
    if isinstance(question.answers, Choice):  # which may take other answers than its labels
        listed = frozenset(question.answers.labels).__contains__
    elif not isinstance(question.answers, Choices | Number):
        listed = source.listed
    textual = question.answers.textual
    return replace(source, textual=textual, columns=columns, listed=listed)


def read_record(path: Path, tables: str) -> Record:
    """Return the record that a JSON or TOML file describes: labels or a number for each name.

    ``tables`` is margins, pairs, or names such as country+plan,age.
    """
    data = read_file(path)
    try:
        text = data.decode()
        found = tomllib.loads(text) if suffix_of(path) == ".toml" else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: expected JSON, or TOML in a file.toml; correct it") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected an object with labels for each attribute; correct it")
    wanted = [tuple(table.split("+")) for table in tables.split(",")]
    parts = {name: _attribute(path, name, part) for name, part in found.items()}
    return Record(parts, tables if tables in {"margins", "pairs"} else wanted)


class About(NamedTuple):
    """What the options say of a record or a number (``options.kind_options``)."""

    record_file: Path | None
    tables: tuple[str, ...]
    number: tuple[float, float] | None
    step: float | None
    unit: str | None
    want: tuple[str, ...]

    def kind(self, *, alone: bool) -> Record | Number | None:
        """Return what an answer is, and refuse options that do not go together."""
        if (self.record_file or self.number) and not alone:
            raise click.UsageError("a --record or a --number is the whole answer; leave out "
                                   "labels, --open, --other and --protocol")  # fmt: skip
        stray = bool(self.tables) and not self.record_file
        stray |= self.number is None and (self.step, self.unit, self.want) != (None, None, ())
        if stray or (self.record_file and self.number):
            raise click.UsageError("--tables is about a --record; --step, --unit and --want are "
                                   "about a --number; an answer is one of them")  # fmt: skip
        if self.record_file is not None:
            return read_record(self.record_file, ",".join(self.tables) or "margins")
        if self.number is None:
            return None
        step = 1 if self.step is None else self.step
        return Number(*self.number, step, self.unit or "", self.want or WANTS[:1])


def _attribute(path: Path, name: str, part: object) -> Answers | list[str]:
    """Return an attribute: a list of labels, or an object with its fields."""
    part = {"labels": part} if isinstance(part, list) else part
    kind = Number if isinstance(part, dict) and "labels" not in part else Choice
    try:
        if isinstance(part, dict) and "want" in part:
            raise TypeError("the mean and the distribution of an attribute are told in any case")
        return kind(**part)  # type: ignore[arg-type]  # what is no object is refused below
    except TypeError as error:
        raise InputError(f"{path}: {name}: expected labels and other, or low, high, step and unit; "
                         "correct it") from error  # fmt: skip
    except DeniableError as error:
        raise InputError(f"{path}: {name}: {error}") from error


def encode(
    question: Question, matcher: Matcher, batch: Batch, source: Source
) -> np.typing.NDArray[np.uint64]:
    """Return the values of a batch of answers of any kind, reading equal answers once.

    Where something is drawn for each answer, it is drawn for equal ones, too.
    """
    if isinstance(question.answers, Choice):
        return matcher.values(batch, source).astype(np.uint64)
    form = matcher.form if question.answers.textual else Form()
    once = batch.answers if question.answers.drawn else list(dict.fromkeys(batch.answers))
    try:
        values = question.values([form(answer) for answer in once])
    except OutOfDomain as error:
        place = error.value if isinstance(error.value, int) else 0
    else:
        if once is batch.answers:
            return values
        places = {answer: i for i, answer in enumerate(once)}
        return values[list(map(places.__getitem__, batch.answers))]
    # Outside of the handler, so that no answer stands in the chain of errors.
    answers, line = question.answers, _line_of(once[place], batch)
    wanted = answers.wanted_of(once[place])
    raise source.wrong(
        line, f"the answer is not {wanted}; correct it{_HINTS.get(type(answers), '')}"
    )


def _line_of(answer: str, batch: Batch) -> int:
    return batch.lines[batch.answers.index(answer)]


def twins(labels: Sequence[str], form: Form) -> Iterator[tuple[str, str]]:
    """Yield each label that equals an earlier one in this form, after that one."""
    seen: dict[str, str] = {}
    for label in labels:
        key = form(label)
        if key in seen:
            yield seen[key], label
        seen.setdefault(key, label)


def read_labels(
    path: Path,
    column: str | None = None,
    option: str = "--labels-column",
    known: Sequence[str] | None = None,
    *,
    twice: bool = False,
) -> tuple[str, ...]:
    """Return the labels in a file: a JSON array, a column, or one on each line.

    ``option`` is what names the column; a label that is not among the ``known`` ones is refused,
    and so are empty lines and one that stands there ``twice`` unless these are examples.
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
            if twice:
                continue
            raise source.wrong(line, "an empty line is not a label; remove it, or write the labels "
                               'as a JSON array to have the label ""')  # fmt: skip
        if label in seen and not twice:
            raise source.wrong(line, f"the label {shorten(label)} stands on line {seen[label]} "
                               "already; remove one")  # fmt: skip
        if among is not None and label not in among:
            raise source.wrong(line, f"expected one of the {len(among)} answers to the question, "
                               f"got {shorten(label)}; correct or remove it")  # fmt: skip
        seen.setdefault(label, line)
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

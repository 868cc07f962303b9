"""What a session shows of each thing that results answer: words, and never a list of fields."""

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from deniable import Choices, Code, Discovery, Estimates, Number, Question, Record, Text, compare
from deniable.answers.cross import CrossEstimates
from deniable.answers.distribution import NumberEstimates
from deniable.answers.moved import moves
from deniable.answers.survey import RecordEstimates
from deniable.experiment import compare_arms
from deniable.presentation.view import Answer, Change
from deniable.protocols.sets import SetEstimates

FRUIT = Question("fruit", ("kiwi", "fig", "plum"), epsilon=2.0)


def asked(question: Question, answers: list[object], seed: int = 1) -> Estimates:
    """Return the estimates from reports of these answers."""
    rng = np.random.default_rng(seed)
    return question.estimate(question.tally(question.privatize(answers, rng)))


def _of_labels() -> Iterator[object]:
    first, second = (asked(FRUIT, ["kiwi", other] * 500) for other in ("fig", "plum"))
    changes = compare(first, second)
    yield from (first["kiwi"], first.sum(["kiwi", "fig"]), first.rows(), first.verdict())
    yield from (changes["fig"], changes.rows(), changes.verdict(), changes.verdict().claims)
    experiment = compare_arms({"A": first, "B": second})
    yield from (experiment, experiment.differences)


def _of_numbers() -> Iterator[object]:
    question = Question("age", Number(0, 90, step=10, unit="years"), epsilon=2.0)
    first, second = (asked(question, [*range(0, 100, 10)] * 200, seed) for seed in (1, 2))
    assert isinstance(first, NumberEstimates)
    yield from (first.figures(), first.mean, first.quantile(0.9), first.between(10, 30))
    yield from (first.above(30), first.verdict(), moves(first, second))


def _of_sets() -> Iterator[object]:
    question = Question("tools", Choices(("git", "vim", "make"), at_most=2), epsilon=2.0)
    found = asked(question, [["git", "vim"], ["make"], []] * 500)
    assert isinstance(found, SetEstimates)
    yield from (found["git"], found.cut, found.sizes["1"], found.sizes.rows())


def _of_records() -> Iterator[object]:
    record = Record({"plan": ("free", "pro"), "land": ("DE", "FR")}, tables="pairs")
    answers: list[object] = [{"plan": "free", "land": "DE"}, {"plan": "pro", "land": "FR"}] * 500
    found = asked(Question("set-up", record, epsilon=2.0), answers)
    assert isinstance(found, RecordEstimates)
    table = found.cross("plan", "land")
    assert isinstance(table, CrossEstimates)
    yield from (table.grid(), table.within(), table["free / DE"], table.view().rows)
    yield found.independence("plan", "land", runs=19, rng=np.random.default_rng(1))


def _of_discoveries() -> Iterator[object]:
    protocol = Discovery(4.0, bucket_bits=6, piece_bits=8, salt="0123456789abcdef")
    question = Question("words", Text(discover=Code.preset("english")), protocol)
    reports = question.privatize(["banana", "kiwi"] * 8000, np.random.default_rng(1))
    found = question.discover(question.tally(reports))
    assert "kiwi" in found
    yield found.rows()


@pytest.mark.parametrize(
    "kind",
    [_of_labels, _of_numbers, _of_sets, _of_records, _of_discoveries],
    ids=lambda kind: kind.__name__,
)
def test_a_session_shows_words(kind: object) -> None:
    """Neither the names of classes and fields nor figures beyond what they are worth."""
    assert callable(kind)
    for each in kind():
        for text in (str(each), repr(each)):
            assert text
            assert not re.search(r"[A-Za-z]\w*\(|\w=|array|\d\.\d{6}", text), text
        assert repr(each) == str(each)


def test_a_row_is_a_sentence() -> None:
    """An answer tells people, share, interval and verdict; a change both shares as well."""
    row = Answer("kiwi", 459.7, 527.1, True, 493.02475153639, 0.49302475153639, 16.8)
    assert str(row) == "kiwi: 493 people, 49.30 % (460 to 527), significant"
    change = Change("kiwi", -0.0347, 0.0963, False, 0.4930247, 0.5238854)
    said = "kiwi: 49.30 %, then 52.39 %: changed by +3.09 points (-3.47 to +9.63), not significant"
    assert str(change) == said


def test_a_row_of_unknown_error_says_so_once() -> None:
    """Labels stay on their line, and one person is a person."""
    row = Estimates(np.array([1.0]), None, 10, None, ("a\nb",)).rows()[0]
    assert str(row) == "a\\nb: 1 person, 10.00 % (interval not known)"
    assert str(replace(row, count=2.0)).startswith("a\\nb: 2 people")


def test_rows_of_numbers_are_called_bins() -> None:
    """In headings, notes and sentences: nobody listed them as answers."""
    question = Question("age", Number(0, 90, step=10, unit="years"), epsilon=2.0)
    first, second = (asked(question, [10] * 500, seed) for seed in (1, 2))
    assert isinstance(first, NumberEstimates)
    assert str(first.top(3)).startswith("age: 3 of 10 bins, estimated from 500 reports\n")
    assert "(alpha = 0.05, 10 bins)" in str(first)
    assert str(first.cdf()).startswith("age: 10 numbers, estimated from")
    assert str(compare(first, second)).startswith("age: changes of 10 bins between 500 and 500")
    assert "None of 3 bins has changed" in str(compare(first.bins(3), second.bins(3)).verdict())
    assert asked(FRUIT, ["kiwi"]).noun == "answer"
    record = Record({"plan": ("free", "pro"), "age": Number(0, 90, step=10)})
    found = asked(Question("set-up", record, epsilon=2.0), [{"plan": "pro", "age": 10}] * 4000)
    assert "age: 9 of 10 bins are too rare to tell from none" in str(found.verdict())


def test_ends_are_what_a_mean_is_told_by() -> None:
    """Where only the mean is wanted nobody told of bins."""
    question = Question("age", Number(0, 90, want=("mean",)), epsilon=2.0)
    assert str(asked(question, [10] * 500)).startswith("age: 2 ends, estimated from 500 reports")

"""Kinds of answers: what every kind promises, and what a question makes of what it is given."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

from deniable import (
    DE,
    OUE,
    Answers,
    Choice,
    InvalidParameter,
    Levels,
    OpenLH,
    OutOfDomain,
    Question,
    Text,
    recommend,
)
from tests.walkthrough.package import installed

FRUIT = ("kiwi", "fig", "plum")


def test_labels_are_a_choice_and_none_is_any_text() -> None:
    """A question of labels is the same question, however its answers are given."""
    protocol = DE(1.0, 3)
    listed = Question("fruit", list(FRUIT), protocol, other="plum")
    assert listed == Question("fruit", Choice(FRUIT, "plum"), protocol)
    assert (listed.labels, listed.other) == (FRUIT, "plum")
    opened = Question("fruit", None, OpenLH(1.0))
    assert opened == Question("fruit", Text(), OpenLH(1.0))
    assert (opened.labels, opened.other) == (None, None)


@pytest.mark.parametrize("goal", ["mean", "rare"])
def test_without_a_protocol_the_recommended_one_is_taken(goal) -> None:
    """The best protocol for the goal is chosen, as the command line does."""
    labels = tuple(map(str, range(10)))
    question = Question("digit", labels, epsilon=1.7, goal=goal)
    assert question.protocol == recommend(1.7, 10, goal=goal).best.protocol
    assert Question.from_json(question.to_json()) == question
    assert Question("word", Text(), epsilon=2.0).protocol == OpenLH(2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs a protocol or an epsilon"),
        ({"epsilon": 1.0, "protocol": DE(1.0, 3)}, "not both"),
        ({"epsilon": 0.0}, "epsilon above 0"),
        ({"epsilon": 1.0, "goal": "most"}, "goal"),
        ({"protocol": OUE(1.0, 4)}, "4 labels"),
        ({"protocol": OpenLH(1.0)}, "OpenLH, which is open"),
        ({"protocol": Levels(1.0, 3)}, "Levels, which is for other answers"),
        ({"answers": Text(), "protocol": DE(1.0, 3)}, "DE, which is closed"),
        ({"answers": Text(), "epsilon": 1.0, "other": "fig"}, "other belongs to a list"),
        ({"answers": Choice(FRUIT), "epsilon": 1.0, "other": "fig"}, "other belongs to a list"),
    ],
)
def test_what_does_not_fit_together_is_refused(arguments, said) -> None:
    """Answers, protocol, epsilon and goal are checked when the question is made."""
    with pytest.raises(InvalidParameter, match=said):
        Question(**{"name": "fruit", "answers": FRUIT, **arguments})


def test_a_question_and_its_answers_are_frozen_and_hashable() -> None:
    """Nothing about a question changes once it is made."""
    question = Question("fruit", FRUIT, epsilon=1.0)
    with pytest.raises(FrozenInstanceError):
        question.name = "nuts"
    with pytest.raises(FrozenInstanceError):
        question.answers.other = "fig"
    assert len({question, Question("fruit", FRUIT, epsilon=1.0)}) == 1


def test_a_form_is_told_the_kind_and_the_labels() -> None:
    """What a page needs to ask is data of the answers."""
    assert Choice(FRUIT).field() == {"kind": "choice", "labels": list(FRUIT), "other": None}
    assert Text().field() == {"kind": "text"}


def test_two_kinds_of_one_name_are_refused() -> None:
    """Documents name kinds by their class, so a second one of the name is a mistake."""
    with pytest.raises(TypeError, match="'choice' is already deniable"):

        @dataclass(frozen=True)
        class Choice(Answers):
            """Another choice."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Answers, list]]]:
    """Return some answers of every kind, one that another package brings included."""
    with installed(tmp_path_factory.mktemp("package"), "ratings", "Ratings") as module:
        yield {
            "choice": (Choice(FRUIT), ["kiwi", "fig"]),
            "other": (Choice(FRUIT, "plum"), ["kiwi", "quince", ""]),
            "text": (Text(), ["kiwi", "", "naïve 東京 🥝"]),
            "ratings": (module.Ratings(("price", "taste"), 5), [[1, 5], "[5, 5]"]),
        }


@pytest.mark.parametrize("name", ["choice", "other", "text", "ratings"])
def test_every_kind_keeps_the_promises_of_answers(kinds, name: str) -> None:
    """Values fit the protocol that is suggested, and the document reads back as the same kind."""
    answers, given = kinds[name]
    values = answers.encode(given)
    assert values.dtype == answers.value_dtype.base
    assert values.shape == (len(given), *answers.value_dtype.shape)
    assert [answers.encode([each])[0].tolist() for each in given] == values.tolist()
    protocol = answers.suggest(1.0)
    answers.check(protocol)
    assert protocol._check_values(values).tolist() == values.tolist()
    assert protocol.numbered(np.arange(2, dtype=np.uint64)).shape[1:] == answers.value_dtype.shape
    assert answers.encode([]).shape == (0, *answers.value_dtype.shape)
    document = json.loads(json.dumps(answers.document()))
    assert Answers.from_document(document) == answers
    assert answers.field()["kind"] == answers.kind == document["kind"]
    assert pickle.loads(pickle.dumps(answers)) == answers
    assert hash(answers) == hash(Answers.from_document(document))


@pytest.mark.parametrize("name", ["choice", "other", "text", "ratings"])
def test_what_is_no_answer_is_refused_alike_by_every_kind(kinds, name: str) -> None:
    """What is taken can be asked beforehand; errors name the position and hold no answer."""
    answers, given = kinds[name]
    for item in ("quince", "\ud800", "[6, 6]", "[1, 5]", [1, 5], None, 7, 3.5, b"kiwi", {}, [[]]):
        column = [*given, item]
        if answers.takes(item):
            assert len(answers.encode(column)) == len(column)
            continue
        with pytest.raises(OutOfDomain, match=f"position {len(given)}") as caught:
            answers.encode(column)
        assert caught.value.value == len(given)
        assert repr(item) not in str(caught.value)

"""Kinds of answers: what every kind promises, and what a question makes of what it is given."""

from dataclasses import FrozenInstanceError, dataclass

import pytest

from deniable import (
    DE,
    OUE,
    Answers,
    Choice,
    InvalidParameter,
    OpenLH,
    Question,
    Text,
    recommend,
)

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
        ({}, "a protocol or an epsilon, got neither"),
        ({"epsilon": 1.0, "protocol": DE(1.0, 3)}, "got both"),
        ({"epsilon": 0.0}, "epsilon above 0"),
        ({"epsilon": 1.0, "goal": "most"}, "goal"),
        ({"protocol": OUE(1.0, 4)}, "4 labels"),
        ({"protocol": OpenLH(1.0)}, "OpenLH, which is open"),
        ({"answers": Text(), "protocol": DE(1.0, 3)}, "DE, which is closed"),
        ({"answers": Text(), "epsilon": 1.0, "other": "fig"}, "other only with a list"),
        ({"answers": Choice(FRUIT), "epsilon": 1.0, "other": "fig"}, "other only with a list"),
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

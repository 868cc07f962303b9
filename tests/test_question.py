"""Questions: labels to values, one JSON document, one digest."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import (
    DE,
    OLH,
    OUE,
    SHE,
    DeniableError,
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    OpenLH,
    OutOfDomain,
    Question,
    Tally,
    fingerprint,
)

FRUIT = ("kiwi", "fig", "pear, ripe", 'the "other"')


def fruit(**changes) -> Question:
    """Return a small closed question."""
    arguments = {"name": "fruit", "labels": FRUIT, "protocol": DE(2.0, 4), **changes}
    return Question(**arguments)


def test_answers_become_estimates_under_their_labels() -> None:
    """The whole way: answers, reports, tally, estimates."""
    question = fruit()
    answers = ["kiwi"] * 3000 + ["fig"] * 1000
    tally = question.tally(question.privatize(answers, np.random.default_rng(1)))
    estimates = question.estimate(tally)
    assert estimates.labels == FRUIT
    assert np.abs(estimates.counts - [3000, 1000, 0, 0]).max() < 5 * estimates.std_errors.max()
    assert question.estimate(tally, ["fig"]).counts[0] == estimates.counts[1]


def test_answer_outside_the_domain_is_named() -> None:
    """The error says which answer, where, and what to do."""
    with pytest.raises(OutOfDomain, match=r"'plum' at position 1.*other"):
        fruit().privatize(["kiwi", "plum"])
    with pytest.raises(OutOfDomain):
        fruit().privatize([3])


def test_answers_outside_the_domain_go_to_the_declared_other() -> None:
    """With an other label nothing is refused."""
    question = fruit(other='the "other"')
    assert question.values(["kiwi", "plum", "fig"]).tolist() == [0, 3, 1]


def test_a_single_string_is_not_a_list_of_answers() -> None:
    """Passing one answer without a list would privatize its letters."""
    with pytest.raises(InvalidParameter, match="list of one"):
        fruit().privatize("kiwi")


@pytest.mark.parametrize("protocol", [DE(1.0, 4), OUE(0.7, 4), OLH(2.0, 4), SHE(1.0, 4)], ids=repr)
def test_question_survives_json(protocol) -> None:
    """A question reads back equal, with the same digest."""
    question = fruit(protocol=protocol, other="fig")
    again = Question.from_json(question.to_json())
    assert again == question
    assert again.digest == question.digest
    assert len(question.digest) == 64


def test_weights_are_strings_of_integers() -> None:
    """Another language needs no exponential and no 64-bit floats."""
    document = json.loads(fruit().to_json())
    weights = document["protocol"]["weights"]
    assert int(weights["p"]) + 3 * int(weights["q"]) == 2**64
    assert all(isinstance(weight, str) for weight in weights.values())


def test_digest_tells_any_two_questions_apart() -> None:
    """Name, labels, their order, protocol and other label all count."""
    questions = [
        fruit(),
        fruit(name="fruits"),
        fruit(labels=FRUIT[::-1]),
        fruit(protocol=DE(2.5, 4)),
        fruit(protocol=OUE(2.0, 4)),
        fruit(other="fig"),
        Question("fruit", None, OpenLH(2.0)),
    ]
    assert len({question.digest for question in questions}) == len(questions)


def test_digest_is_pinned() -> None:
    """The canonical form never changes between versions."""
    assert fruit().digest == "05999287b05091e71e60c6e9aa8d9fcacc68939f8e036a9a2bb33b73512dbdef"


def test_altered_question_is_refused() -> None:
    """Whatever changes in the document, the digest no longer fits."""
    text = fruit().to_json()
    for old, new in [
        ("kiwi", "kiwis"),
        ("2.0", "2.5"),
        ('"fig"', '"fig ", "x"'),
        ("null", '"fig"'),
    ]:
        with pytest.raises(InvalidDocument, match="digest"):
            Question.from_json(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": 1}', '{"a":1,"a":2}', "9" * 5000, "[" * 100_000]
)
def test_what_is_no_question_is_refused(text: str) -> None:
    """Anything but a question of this version is an InvalidDocument."""
    with pytest.raises(InvalidDocument):
        Question.from_json(text)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_question(data: bytes) -> None:
    """Reading never fails in any other way."""
    with pytest.raises(DeniableError):
        Question.from_json(data)


@given(st.lists(st.text(), min_size=2, max_size=6, unique=True))
def test_any_unique_strings_are_labels(labels: list[str]) -> None:
    """Labels of any script, empty, with quotes or newlines, keep their place."""
    question = Question("any", tuple(labels), DE(1.0, len(labels)))
    assert Question.from_json(question.to_json()) == question
    assert question.values(labels).tolist() == list(range(len(labels)))


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": ("kiwi", "fig", "kiwi", "x")},
        {"labels": ("kiwi", "fig")},
        {"labels": "kiwi"},
        {"labels": ("a", "b", "c", 4)},
        {"labels": ("a", "b", "c", "\ud800")},
        {"labels": None},
        {"name": ""},
        {"name": 3},
        {"protocol": "DE"},
        {"other": "plum"},
        {"protocol": OpenLH(1.0)},
        {"protocol": OpenLH(1.0), "labels": None, "other": "x"},
    ],
    ids=str,
)
def test_impossible_question_is_refused(changes) -> None:
    """Names, labels, protocol and other label have to fit each other."""
    with pytest.raises(InvalidParameter, match="expected"):
        fruit(**changes)


def test_open_question_answers_for_candidates_chosen_afterwards() -> None:
    """Any string may be answered; candidates are named at estimation."""
    question = Question("home page", None, OpenLH(3.0))
    reports = question.privatize(
        ["a.example"] * 4000 + ["b.example"] * 500, np.random.default_rng(2)
    )
    tally = Tally.from_bytes(question.tally(question.parse(reports.tobytes())).to_bytes())
    estimates = question.estimate(tally, ["a.example", "b.example", "c.example"])
    assert np.abs(estimates.counts - [4000, 500, 0]).max() < 5 * estimates.std_errors.max()
    for wrong in (None, [], ["a", "a"], "a.example"):
        with pytest.raises(InvalidParameter, match="candidate"):
            question.estimate(tally, wrong)


def test_tallies_of_another_question_are_refused() -> None:
    """Both digests are named."""
    mine, other = fruit(), fruit(name="fruits")
    tally, foreign = (q.tally(q.privatize(["kiwi"])) for q in (mine, other))
    with pytest.raises(IncompatibleTally, match=f"{mine.digest}.*{other.digest}"):
        mine.estimate(foreign)
    with pytest.raises(IncompatibleTally, match=f"{mine.digest}.*{other.digest}"):
        tally + foreign
    assert (tally + tally).question == mine.digest


def test_fingerprint_is_pinned() -> None:
    """The first eight bytes of the SHA-256 of the UTF-8 label, little-endian."""
    assert fingerprint("") == int.from_bytes(bytes.fromhex("e3b0c44298fc1c14"), "little")
    assert fingerprint("kiwi") != fingerprint("Kiwi")
    for wrong in (3, None, b"kiwi", "\ud800"):
        with pytest.raises(InvalidParameter, match="label"):
            fingerprint(wrong)

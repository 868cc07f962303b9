"""Questions: labels to values, one JSON document, one digest."""

import json
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import (
    DE,
    OLH,
    OUE,
    SHE,
    THE,
    BasicRAPPOR,
    DeniableError,
    IncompatibleTally,
    InvalidDocument,
    InvalidParameter,
    OpenLH,
    OutOfDomain,
    Question,
    Tally,
    fingerprint,
    set_memory_budget,
)
from deniable.documents import canonical_json
from deniable.statistics import Counts

FRUIT = ("kiwi", "fig", "pear, ripe", 'the "other"')


def fruit(**changes) -> Question:
    """Return a small closed question."""
    arguments = {"name": "fruit", "answers": FRUIT, "protocol": DE(2.0, 4), **changes}
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


def test_answer_outside_the_domain_is_placed() -> None:
    """The error says where the answer stands, and what to do."""
    with pytest.raises(OutOfDomain, match=r"position 1.*other") as caught:
        fruit().privatize(["kiwi", "plum"])
    assert caught.value.value == 1


def test_answers_that_are_no_strings_are_told_so() -> None:
    """A number is to be written as text; who has no answer is to be left out."""
    with pytest.raises(OutOfDomain, match="position 0 is of the type int: write it as text"):
        fruit().privatize([812])
    for missing in (None, float("nan"), np.float64("nan")):
        with pytest.raises(OutOfDomain, match="position 1 is missing: leave out people"):
            fruit().privatize(["kiwi", missing])


def test_answers_outside_the_domain_go_to_the_declared_other() -> None:
    """With an other label nothing is refused."""
    question = fruit(other='the "other"')
    assert question.values(["kiwi", "plum", "fig"]).tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    "question",
    [fruit(), fruit(other='the "other"'), Question("word", None, OpenLH(2.0))],
    ids=["closed", "other", "open"],
)
def test_a_question_takes_what_has_a_value(question) -> None:
    """What is an answer can be asked beforehand, and agrees with what is refused."""
    for answer in ("kiwi", "plum", "", "\ud800", None, 3, b"kiwi"):
        try:
            question.values([answer])
        except (OutOfDomain, InvalidParameter):
            assert not question.takes(answer)
        else:
            assert question.takes(answer)


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
        fruit(answers=FRUIT[::-1]),
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
        {"answers": ("kiwi", "fig", "kiwi", "x")},
        {"answers": ("kiwi", "fig")},
        {"answers": "kiwi"},
        {"answers": ("a", "b", "c", 4)},
        {"answers": ("a", "b", "c", "\ud800")},
        {"answers": None},
        {"name": ""},
        {"name": 3},
        {"protocol": "DE"},
        {"other": "plum"},
        {"protocol": OpenLH(1.0)},
        {"protocol": OpenLH(1.0), "answers": None, "other": "x"},
    ],
    ids=str,
)
def test_impossible_question_is_refused(changes) -> None:
    """Names, labels, protocol and other label have to fit each other."""
    with pytest.raises(InvalidParameter, match=r"expected|belongs to"):
        fruit(**changes)


def test_open_question_answers_for_candidates_chosen_afterwards() -> None:
    """Any string may be answered; candidates are named at estimation."""
    question = Question("home page", None, OpenLH(3.0))
    reports = question.privatize(
        ["a.example"] * 4000 + ["b.example"] * 500, np.random.default_rng(2)
    )
    tally = Tally.from_bytes(question.tally(question.parse(reports.tobytes(), None)).to_bytes())
    estimates = question.estimate(tally, ["a.example", "b.example", "c.example"])
    assert np.abs(estimates.counts - [4000, 500, 0]).max() < 5 * estimates.std_errors.max()
    for wrong in (None, [], ["a", "a"], "a.example"):
        with pytest.raises(InvalidParameter, match="candidate"):
            question.estimate(tally, wrong)


def test_tallies_of_another_question_are_refused() -> None:
    """Both digests are named."""
    mine, other = fruit(), fruit(name="fruits")
    rng = np.random.default_rng(3)
    tally, foreign = (q.tally(q.privatize(["kiwi"], rng)) for q in (mine, other))
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


def altered(**changes) -> bytes:
    """Return a question as JSON with other fields, and a digest that holds where there is one."""
    document = {k: v for k, v in json.loads(fruit().to_json()).items() if k != "digest"}
    document.update(changes)
    try:
        digest = sha256(canonical_json(document)).hexdigest()
    except (UnicodeEncodeError, RecursionError):
        digest = "0" * 64
    return json.dumps({**document, "digest": digest}).encode()


def specification(**changes) -> dict[str, object]:
    """Return a protocol as JSON with other settings."""
    return {**THE(1.0, 4).specification(), **changes}


DEEP = json.loads("[" * 600 + "]" * 600)


@pytest.mark.parametrize(
    "changes",
    [
        {"protocol": specification(epsilon=10**400)},
        {"protocol": specification(theta=10**400)},
        {"protocol": specification(epsilon=1e-17, theta=None)},
        {"protocol": specification(epsilon=DEEP)},
        {"name": "\ud800"},
        {"name": DEEP},
        {"labels": ["a", "b", "c", "\ud800"]},
        {"labels": 5},
        {"labels": "kiwi"},
        {"labels": [["a"], "b", "c", "d"]},
        {"other": ["a"]},
        {"other": {"kiwi": 1}},
        {"version": True},
        {"\ud800": 1},
    ],
    ids=lambda changes: ascii(changes)[:60],
)
def test_hostile_documents_are_refused_by_name(changes) -> None:
    """Huge numbers, half surrogates, deep nesting and wrong types are InvalidDocuments."""
    with pytest.raises(InvalidDocument) as caught:
        Question.from_json(altered(**changes))
    assert len(str(caught.value)) < 400


def test_altering_nothing_leaves_the_question() -> None:
    """What the test above refuses is refused for what it changes."""
    assert Question.from_json(altered()) == fruit()


def test_questions_are_read_from_bytes_of_any_kind() -> None:
    """Text, bytes, byte arrays and views hold a question; nothing else does."""
    text = fruit().to_json()
    for data in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        assert Question.from_json(data) == fruit()
    for wrong in (None, 5, ["a"], {"name": "fruit"}):
        with pytest.raises(InvalidDocument, match="expected bytes"):
            Question.from_json(wrong)


@pytest.mark.parametrize("labels", [5, object, [["a"], "b", "c", "d"], (None,) * 4, b"kiwi"])
def test_labels_of_the_wrong_type_are_refused(labels) -> None:
    """Labels are a sequence of strings."""
    with pytest.raises(InvalidParameter, match="labels"):
        fruit(answers=labels)


@pytest.mark.parametrize("other", [["a"], 5, b"kiwi", {}])
def test_other_label_of_the_wrong_type_is_refused(other) -> None:
    """The other label is a string."""
    with pytest.raises(InvalidParameter, match="other"):
        fruit(other=other)


@pytest.mark.parametrize("answers", [None, 5, np.array("kiwi"), b"kiwi"], ids=repr)
def test_answers_of_the_wrong_type_are_refused(answers) -> None:
    """Answers are a sequence, also where there is one."""
    for question in (fruit(), Question("any", None, OpenLH(1.0))):
        with pytest.raises(InvalidParameter, match="sequence of answers"):
            question.privatize(answers)


def test_what_is_no_tally_and_no_candidate_is_refused() -> None:
    """Estimation takes a tally, and candidates as a list of labels."""
    for question, candidates in ((fruit(), None), (Question("any", None, OpenLH(1.0)), ["a"])):
        with pytest.raises(IncompatibleTally, match="expected a tally"):
            question.estimate(None, candidates)
        tally = question.tally(question.privatize(["kiwi"], np.random.default_rng(4)))
        for wrong in ([["kiwi"]], [None], "kiwi", iter(["kiwi"]), 5):
            with pytest.raises(DeniableError, match="expected"):
                question.estimate(tally, wrong)


def test_a_question_and_a_tally_are_opened_by_the_name_of_their_file(tmp_path) -> None:
    """What was written under a name is read from it again."""
    question = fruit()
    tally = question.tally(question.privatize(["kiwi"] * 5))
    assert question.to_json(tmp_path / "fruit.json") is None
    assert tally.to_bytes(str(tmp_path / "tally.bin")) is None
    assert Question.open(tmp_path / "fruit.json") == question
    assert Tally.open(str(tmp_path / "tally.bin")) == tally


def test_a_file_that_cannot_be_opened_is_named(tmp_path) -> None:
    """The error of a damaged or foreign file begins with its name; a missing one is missing."""
    path = tmp_path / "other.json"
    with pytest.raises(FileNotFoundError):
        Question.open(path)
    path.write_bytes(b"{}")
    for kind in (Question, Tally):
        with pytest.raises(InvalidDocument, match=r"other\.json: (expected|this is not)"):
            kind.open(path)
    with pytest.raises(InvalidParameter, match="expected the name of a file"):
        Question.open(7)


def test_a_file_beyond_the_memory_budget_is_refused(tmp_path) -> None:
    """A tally larger than an estimate may be is not read into memory."""
    path = tmp_path / "tally.bin"
    with path.open("wb") as stream:
        stream.truncate(5000)
    set_memory_budget(4000)
    try:
        with pytest.raises(
            InvalidDocument, match=r"tally\.bin: the file has more than 4,000 bytes"
        ):
            Tally.open(path)
    finally:
        set_memory_budget(None)


@pytest.mark.parametrize("count", [2, 8, 9, 30_000])
def test_a_question_is_shown_in_one_short_line(count) -> None:
    """However many labels there are and however long, repr fits into a few lines of a terminal."""
    question = Question("?" * 999, tuple(f"{i:0200}" for i in range(count)), OUE(1.0, count))
    assert len(repr(question)) < 500
    assert f"{count:,} labels" in repr(question)
    assert repr(fruit(answers=("a", "b"), protocol=DE(1.0, 2))) == (
        "Question('fruit', ('a', 'b'), DE(epsilon=1.0, domain_size=2))"
    )


def test_people_who_may_answer_again_are_asked_for() -> None:
    """A memoising question is never estimated as if its reports were independent, unless told."""
    question = Question("mood", ("good", "bad"), BasicRAPPOR(2, 0.5, 0.75, 0.25))
    tally = question.tally(question.privatize(["good"] * 50, np.random.default_rng(1)))
    with pytest.raises(InvalidParameter, match="expected rounds= or people= for BasicRAPPOR"):
        question.estimate(tally)
    once, again = question.estimate(tally, rounds=1), question.estimate(tally, rounds=7)
    assert once.counts.tolist() == question.protocol.estimate(tally).counts.tolist()
    assert (once.n, once.reports, again.n, again.reports) == (50, 50, 7, 50)
    assert str(again.repeats) == "7 people over 7 rounds"
    assert again.shares.tolist() == pytest.approx(once.shares.tolist())
    assert np.all(np.diff(again.interval(), axis=0) / 7 > np.diff(once.interval(), axis=0) / 50)
    assert question.estimate(tally, rounds=99).n == 1
    assert question.estimate(tally, people=7).interval()[0].tolist() == again.interval()[0].tolist()
    with pytest.raises(InvalidParameter, match="either people or rounds, got both"):
        question.estimate(tally, people=7, rounds=7)
    for wrong in (0, -1, 1.5, "7"):
        with pytest.raises(InvalidParameter, match="rounds"):
            question.estimate(tally, rounds=wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="reports of OUE are independent"):
        OUE(1.0, 2).estimate(OUE(1.0, 2).tally(OUE(1.0, 2).privatize([0])), rounds=1)


def test_who_answers_how_often_does_not_break_the_rule() -> None:
    """Rounds that some people leave out are judged on the safe side (seeded)."""
    protocol = BasicRAPPOR(2, 0.2, 0.75, 0.25)
    rng, runs, rounds, covered = np.random.default_rng(8), 300, 20, 0
    for _ in range(runs):
        held = rng.random(120) < 0.3
        # A fifth answers nearly always, the others on some days.
        times = rng.binomial(rounds, np.where(np.arange(120) < 24, 0.95, 0.2))
        bits = rng.random(120) < np.where(held, 0.9, 0.1)
        ones = rng.binomial(times, np.where(bits, 0.75, 0.25)).sum()
        n = int(times.sum())
        tally = Tally(protocol, n, Counts(np.array([ones, n - ones])))
        lower, upper = protocol.estimate(tally, rounds=rounds).interval()
        true = n / rounds * (held @ times) / n
        covered += bool(lower[0] <= true <= upper[0])
    assert covered >= 0.95 * runs

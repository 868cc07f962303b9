"""Sets of choices, from the answer to the sentence on who was cut."""

import json
import pickle
from hashlib import sha256

import numpy as np
import pytest

from deniable import (
    DE,
    Choices,
    Estimates,
    InvalidDocument,
    InvalidParameter,
    OutOfDomain,
    PolynomialSelection,
    Question,
    SetSelection,
    Tally,
    compare,
    consistency,
    plan,
    recommend,
)
from deniable.documents import canonical_json
from deniable.kernels.hashes import words_of
from deniable.protocols.sets import SetEstimates
from deniable.randomness import Replayed

TOOLS = ("git", "vim", "tmux", "fzf", "make", "gdb")


def ask(at_most: int = 3, *, cut: bool = True, epsilon: float = 2.0) -> Question:
    """Return a question about tools."""
    return Question("tools", Choices(TOOLS, at_most, cut), epsilon=epsilon)


def people(n: int, seed: int = 1) -> list[list[str]]:
    """Return sets of up to five tools, the first ones more often."""
    rng = np.random.default_rng(seed)
    return [
        [tool for tool, chance in zip(TOOLS, (0.8, 0.6, 0.4, 0.2, 0.1, 0.05), strict=True)
         if rng.random() < chance][:5]
        for _ in range(n)
    ]  # fmt: skip


def test_sets_become_estimates_that_do_not_add_up() -> None:
    """The whole way: sets, reports, tally, shares of each answer, sizes and the share cut."""
    question, answers, rng = ask(), people(40_000), np.random.default_rng(2)
    values = question.values(answers, rng)
    reports = question.protocol.privatize(values, rng)
    tally = Tally.from_bytes(question.tally(reports).to_bytes())
    found = question.estimate(tally)
    assert isinstance(found, SetEstimates)
    assert not found.adds_up
    truth = np.bincount(values.ravel().astype(np.int64), minlength=9)
    # Nine counts within 5 standard deviations but for a chance of 6e-6; seeded.
    assert np.abs((found.counts - truth[:6]) / found.std_errors).max() < 5
    sizes = np.bincount((values < 6).sum(axis=1), minlength=4)
    assert found.sizes.adds_up
    assert found.sizes.counts.sum() == pytest.approx(40_000)
    assert found.sizes.labels == ("0", "1", "2", "3 or more")
    assert found.sizes.findings() == ("How many answers people gave.",)
    lower, upper = found.sizes.interval(0.9999)
    assert np.all((lower <= sizes) & (sizes <= upper))
    assert found.cut.lower < sizes[3] / 40_000 < found.cut.upper
    narrow, wide = (found.repeated(level) for level in (0.5, 0.95))
    assert narrow["cut"] == wide["cut"] == found.cut.share
    assert wide["cut_lower"] == found.cut.lower < narrow["cut_lower"]
    assert wide["cut_upper"] == found.cut.upper > narrow["cut_upper"]


@pytest.mark.parametrize(
    "answer",
    [["vim", "git"], ("vim", "git"), {"git", "vim"}, np.array(["vim", "git"]), "git;vim",
     " vim ; git ", '["vim", "git"]', ' ["git","vim"] '],
    ids=["list", "tuple", "set", "array", "text", "spaced text", "JSON", "spaced JSON"],
)  # fmt: skip
def test_a_set_is_read_from_what_people_have(answer: object) -> None:
    """A list, a tuple, a set, an array, a JSON list and labels between semicolons are the same."""
    assert ask().values([answer]).tolist() == [[0, 1, 6]]
    assert ask().takes(answer)


@pytest.mark.parametrize("answer", [[], (), "", " ", "[]"], ids=repr)
def test_nothing_chosen_is_an_answer(answer: object) -> None:
    """An empty set is a set, and has all dummies."""
    assert ask().values([answer]).tolist() == [[6, 7, 8]]


@pytest.mark.parametrize(
    "answer",
    [["git", "git"], ["emacs"], "git;emacs", "git,vim", ["git", None], [0], 3, None, {"git": 1},
     float("nan"), "[git", '["git"', '{"git": 1}', [["git"]], b"git", "git;git", "git;", ";"],
    ids=repr,
)  # fmt: skip
def test_what_is_no_set_is_refused_by_its_position(answer: object) -> None:
    """The error says where and what was wanted, and never the answer."""
    question = ask()
    assert not question.takes(answer)
    with pytest.raises(OutOfDomain, match=r"any of the 6 labels, none.*position 1") as caught:
        question.privatize([["vim"], answer])
    assert caught.value.value == 1
    assert caught.value.__cause__ is None
    assert "emacs" not in str(caught.value)


def test_larger_sets_are_cut_or_refused() -> None:
    """With cut=False more than at_most items are no answer, and nothing is said of cutting."""
    strict = ask(2, cut=False)
    with pytest.raises(OutOfDomain, match="a list of at most 2 of the 6 labels"):
        strict.privatize([["git", "vim", "tmux"]])
    assert not strict.takes(["git", "vim", "tmux"])
    assert strict.takes(["git", "vim"])
    found = strict.estimate(strict.tally(strict.privatize([["git"]] * 50)))
    assert (found.cut.share, found.cut.upper) == (0.0, 0.0)
    assert "no set was cut: more than 2 answers were refused" in repr(found).replace("\n", " ")
    assert found.sizes.labels == ("0", "1", "2")
    assert ask(2).takes(["git", "vim", "tmux"])


def test_the_cut_is_drawn_as_specified() -> None:
    """A word for each person, read before the words of the report; the smallest keys stay."""
    answers, question = Choices(TOOLS, 2), ask(2)
    words = np.random.default_rng(3).integers(0, 2**64, 50, dtype=np.uint64)
    held = [TOOLS, TOOLS[1:5], TOOLS[:1]] * 16
    rows = answers.encode(held, Replayed(words.astype("<u8").tobytes()))
    for tools, word, row in zip(held, words, rows.tolist(), strict=False):
        items = [TOOLS.index(tool) for tool in tools]
        keys = words_of(np.full(len(items), word), np.array(items, dtype=np.uint64)).tolist()
        kept = sorted(item for _, item in sorted(zip(keys, items, strict=True))[:2])
        assert row == [*kept, *[6, 7][: 2 - len(kept)]]
    report = np.random.default_rng(4).bytes(8 * question.protocol.words.count)
    both = Replayed(words[:1].astype("<u8").tobytes() + report)
    assert question.privatize([TOOLS], both).tobytes() == (
        question.protocol.privatize(rows[:1], Replayed(report)).tobytes()
    )


def test_the_cut_keeps_each_item_as_often() -> None:
    """Of six items two stay, each in a third of the cases and each pair in a fifteenth."""
    rows = Choices(TOOLS, 2).encode([TOOLS] * 30_000, np.random.default_rng(5))
    pairs = np.bincount((rows[:, 0] * 6 + rows[:, 1]).astype(np.int64), minlength=36)
    seen = pairs[pairs > 0]
    assert len(seen) == 15
    # Fifteen counts of mean 2,000 and deviation 43: beyond 5 with a chance below 1e-5; seeded.
    assert np.abs(seen - 2000).max() < 5 * 43.2
    fresh = [Choices(TOOLS, 2).encode([TOOLS] * 40).tolist() for _ in range(2)]
    assert fresh[0] != fresh[1]  # alike with a chance of 15^-40


def test_the_document_says_all_of_it() -> None:
    """Version 2 has the kind, the labels, the limit and whether sets are cut; it reads back."""
    question = ask()
    document = json.loads(question.to_json())
    assert document["version"] == 2
    assert document["answers"] == {
        "kind": "choices", "labels": list(TOOLS), "at_most": 3, "cut": True,
    }  # fmt: skip
    assert Question.from_json(question.to_json()) == question
    assert pickle.loads(pickle.dumps(question)) == question
    assert question != ask(cut=False)
    assert repr(question).startswith("Question('tools', Choices(('git', 'vim'")
    digest = "14c81aecd3a733eda8910f58838f767ba5869df431560ccebb8d7c6567757884"
    assert question.digest == digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at_most": 2}, "sets of at most 2 of 6 items"),
        ({"at_most": 0}, "at_most as a whole number from 1 to 5"),
        ({"at_most": 6}, "at_most as a whole number from 1 to 5"),
        ({"at_most": True}, "at_most as a whole number"),
        ({"at_most": 3.0}, "at_most as a whole number"),
        ({"cut": 1}, "cut as True or False"),
        ({"cut": None}, "cut as True or False"),
        ({"labels": list(TOOLS[:5])}, "sets of at most 3 of 5 items"),
        ({"labels": ["git"] * 6}, "each label once"),
        ({"labels": []}, "from 2 to"),
        ({"more": 1}, "with at_most, cut, labels"),
    ],
)
def test_documents_that_do_not_fit_are_refused(change: dict[str, object], said: str) -> None:
    """Every field is checked, and the answers against the protocol."""
    document = json.loads(ask().to_json())
    del document["digest"]
    document["answers"].update(change)
    digest = sha256(canonical_json(document)).hexdigest()
    with pytest.raises(InvalidDocument, match=said):
        Question.from_json(json.dumps({**document, "digest": digest}))


def test_protocols_and_answers_have_to_fit() -> None:
    """A set needs a protocol for sets of its size, and one label a protocol for one."""
    for protocol in (DE(1.0, 6), SetSelection(1.0, 6, 2), PolynomialSelection(1.0, 7, 3)):
        with pytest.raises(InvalidParameter, match="a protocol for sets of at most 3 of 6"):
            Question("tools", Choices(TOOLS, 3), protocol)
    with pytest.raises(InvalidParameter, match="SetSelection, which is for other answers"):
        Question("tools", TOOLS, SetSelection(1.0, 6, 3))
    Question("tools", Choices(TOOLS, 3), PolynomialSelection(1.0, 6, 3))


@pytest.mark.parametrize(
    ("d", "at_most", "epsilon", "name"),
    [(32, 4, 1.0, "SetSelection"), (1000, 4, 1.0, "PolynomialSelection"),
     (1000, 8, 2.0, "PolynomialSelection"), (256, 8, 4.0, "SetSelection")],
)  # fmt: skip
def test_the_better_protocol_is_chosen(d: int, at_most: int, epsilon: float, name: str) -> None:
    """A question without a protocol takes the one of less variance, as the advice ranks them."""
    question = Question("items", Choices(tuple(map(str, range(d))), at_most), epsilon=epsilon)
    assert question.protocol.name == name
    advice = recommend(epsilon, d, at_most=at_most, goal="rare")
    assert advice.best.protocol == question.protocol
    assert {option.name for option in advice.options} == {"PolynomialSelection", "SetSelection"}
    assert advice.options[0].variance <= advice.options[1].variance
    assert advice.guideline is None
    assert "SetSelection" not in {option.name for option in recommend(epsilon, d).options}


def test_a_plan_holds_for_sets() -> None:
    """People, epsilon or the error of sets follow from the other two, and the plan says of what."""
    found = plan(1000, at_most=8, users=100_000, epsilon=1.0)
    assert found.protocol == PolynomialSelection(1.0, 1000, 8)
    assert found.rare_error == pytest.approx(np.sqrt(found.protocol.variance(1) / 100_000))
    assert "1,000 answers, up to 8 each" in str(found)
    again = plan(1000, at_most=8, error=found.error, epsilon=1.0)
    assert again.users == pytest.approx(100_000, rel=1e-6)
    assert plan(40, at_most=4, error=0.01, users=50_000).epsilon == pytest.approx(1.56, abs=0.01)
    for wrong in (0, 40, 33, "4"):
        with pytest.raises(InvalidParameter, match="at_most"):
            plan(40, at_most=wrong, users=100, epsilon=1.0)


@pytest.fixture(scope="module")
def found() -> Estimates:
    """Return estimates of some people's tools."""
    question, rng = ask(), np.random.default_rng(6)
    return question.estimate(question.tally(question.privatize(people(3000), rng)))


def test_the_share_cut_is_always_shown(found: Estimates) -> None:
    """In the table, on the page, in every row of CSV and in JSON, at the level asked for."""
    said = f"about {100 * found.cut.share:.0f} % of the people"
    for shown in (repr(found), found.table(1), found.select(["vim"]).table(), found.to_html()):
        text = " ".join(shown.split())
        assert said in text
        assert "shares do not add up to 100 %" in text
    assert f"{found.cut.share!r}" in found.to_csv().splitlines()[-1]
    document = json.loads(found.to_json(level=0.9))
    assert document["adds_up"] is False
    narrow = found.cut_at(0.9)
    assert document["cut"] == {
        "share": narrow.share, "lower": narrow.lower, "upper": narrow.upper,
    }  # fmt: skip
    assert narrow.lower > found.cut.lower
    assert [row["size"] for row in document["sizes"]] == ["0", "1", "2", "3 or more"]


def test_sizes_are_shown_in_their_order(found: Estimates) -> None:
    """Sizes print, export and stay what they are when some are taken."""
    assert found.sizes.top(2).labels == ("0", "1")
    assert "how many answers people gave" in repr(found.sizes)
    assert found.sizes.to_csv().count("\n") == 5
    taken = found.sizes.take([2, 0])
    ends = np.stack(found.sizes.interval())
    assert np.array_equal(np.stack(taken.interval()), ends[:, [2, 0]])


def test_sizes_are_not_compared(found: Estimates) -> None:
    """A size is a difference of two counts, which the law of one would call changed too often."""
    with pytest.raises(InvalidParameter, match="a difference of two counts"):
        compare(found.sizes, found.sizes)
    assert "how many answers people gave is not compared" in " ".join(
        str(compare(found, found)).split()
    )


def test_some_answers_are_estimated_by_themselves() -> None:
    """Candidates are labels; the threshold is theirs, the counts are those among all."""
    for count in (6, 5000):
        labels = tuple(map(str, range(count)))
        question = Question("items", Choices(labels, 2), PolynomialSelection(2.0, count, 2))
        tally = question.tally(question.privatize([["1", "3"]] * 200, np.random.default_rng(7)))
        every, some = question.estimate(tally), question.estimate(tally, ["3", "0"])
        assert some.labels == ("3", "0")
        assert some.counts.tolist() == [every["3"].count, every["0"].count]
        assert some.cut == every.cut
        assert some.threshold() < every.threshold()
        with pytest.raises(OutOfDomain, match="labels that were estimated"):
            question.estimate(tally, ["3", "plum"])
        with pytest.raises(InvalidParameter, match="a list of labels"):
            question.estimate(tally, "3")


def test_counts_that_do_not_add_up_are_not_made_to(found: Estimates) -> None:
    """All adjustments to a total are refused; only cutting off what is not significant is not."""
    for method in set(consistency.METHODS) - {"base-cut"}:
        with pytest.raises(InvalidParameter, match="do not add up"):
            consistency.adjust(found, method)
    assert consistency.adjust(found, "base-cut").counts.min() >= 0


def test_sets_are_compared_over_time() -> None:
    """The changes of shares between two collections are those of the answers."""
    question, rng = ask(), np.random.default_rng(8)
    before, after = (
        question.estimate(question.tally(question.privatize(answers, rng)))
        for answers in ([["git"], ["vim", "git"]] * 3000, [["git"], ["fzf"]] * 3000)
    )
    changes = compare(before, after)
    assert {row.label for row in changes.rows() if row.significant} == {"git", "vim", "fzf"}

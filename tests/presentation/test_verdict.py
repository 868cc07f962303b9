import numpy as np
import pytest

from benchmarks.verdict import KINDS, measure
from deniable import Estimates
from deniable.presentation.verdict import ALPHA, rounded
from deniable.presentation.view import Change


def _estimates(*counts: float, error: float = 20.0, n: int = 1000) -> Estimates:
    labels = tuple("abcdefghij"[: len(counts)])
    errors = np.full(len(counts), error)
    return Estimates(np.array(counts), errors, n, error, labels)


def _said(found: Estimates, *changes: Change, since: str = "") -> str:
    return str(found.verdict(changes, since=since)).replace("\u00a0", " ")


def test_a_clear_leader_is_named_with_its_margin() -> None:
    """The leader comes first, then the second if it is sure, then what is too rare."""
    said = _said(_estimates(500, 300, 150, 5))
    assert said == (
        "a leads with 50 %, give or take 3.9 points. b is second with 30 %. "
        "d is too rare to tell from none: under 6.6 %."
    )


def test_what_is_too_close_is_not_called() -> None:
    """Where the intervals of several answers reach the highest, all of them are named."""
    assert _said(_estimates(400, 390, 150)).startswith("a and b are too close to call.")
    assert _said(_estimates(310, 300, 290)).startswith("a, b and c are too close to call.")
    many = _said(_estimates(*[150.0] * 6))
    assert many == "All 6 answers are too close to call."
    assert _said(_estimates(*[150.0] * 6, 1)).startswith("6 answers are too close to call, among")


def test_the_largest_sure_change_is_said() -> None:
    """Of changes that are significant the largest is told, with both shares."""
    rows = [
        Change("b", 0.01, 0.05, True, 0.25, 0.28),
        Change("a", -0.1, -0.02, True, 0.56, 0.5),
        Change("c", -0.2, 0.2, False, 0.01, 0.15),
    ]
    said = _said(_estimates(500, 300, 150, 100), *rows, since="since last week")
    assert "a fell by 6 points, from 56 % to 50 % since last week." in said
    assert "b rose" not in said


def test_without_anything_measurable_the_need_is_said() -> None:
    """Where nothing stands out the verdict says about how many more people it takes."""
    found = _estimates(30, 10, -20, error=40.0)
    assert not found.verdict().sure
    assert _said(found) == (
        "Too few reports to tell any of these 3 answers from none. About 1,700 more people are "
        "needed until an answer that one in ten gives stands out."
    )


def test_errors_that_are_not_known_are_said_not_to_be() -> None:
    """Without errors there is the largest count, and no claim about it."""
    found = Estimates(np.array([9.0, 1.0]), None, 10, None, ("x", "y"))
    assert _said(found) == "x has the largest count. How sure that is, is not known."
    assert _said(found.take([])) == "There are no answers to tell about."


def test_one_answer_has_a_share_and_no_rival() -> None:
    """A single candidate is not said to lead."""
    assert _said(_estimates(500)) == "a has 50 %, give or take 3.9 points."


def test_large_numbers_are_words() -> None:
    """What people need is rounded to what they can keep in mind."""
    assert [rounded(x) for x in (5, 99, 1499, 2.5e6, 9.2e9, 1e15)] == [
        "5", "99", "1,500", "2.5 million", "9.2 billion", "over 999 trillion",
    ]  # fmt: skip


@pytest.mark.long("200 simulated collections")
def test_claims_are_rarely_false() -> None:
    """Each kind of claim is made often and false in at most 5 % of the times that it is made.

    The chance of a false claim is at most 0.5 %: with 200 collections and this seed there are none
    among leaders, ties and rare answers, and at most two false changes.
    """
    found = measure(200)
    assert {kind: found[kind][0] > 10 for kind in KINDS} == dict.fromkeys(KINDS, True)
    assert sum(found[kind][1] for kind in ("leader", "too close", "too rare")) == 0
    made, false = found["changed"]
    assert false <= max(1, 0.05 * made)


@pytest.mark.long("200 simulated collections")
def test_the_worst_population_is_rarely_told_a_lie() -> None:
    """With all answers as frequent and nothing changed, false claims stay as rare as promised."""
    found = measure(200, 3, worst=True)
    allowed = 200 * ALPHA + 3 * (200 * ALPHA) ** 0.5  # three standard deviations above
    assert all(false <= allowed for _, false in found.values())

"""Rounds and segments of a question: who is asked when, and what is counted apart."""

import json
from collections import Counter
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable import DE, BasicRAPPOR, InvalidDocument, InvalidParameter, Question
from deniable.rota import Repeat, arm_of, phase_of
from deniable.segments import NOT_STATED, Dimension, Segments

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "turns.json").read_text())
WEEKLY = Repeat("2026-03-02", every=7, rounds=4)
GROUPS = Segments((
    Dimension("platform", ("linux", "mac", "rest"), "rest"),
    Dimension("arm", ("A", "B")),
))  # fmt: skip

repeats = st.builds(
    Repeat,
    start=st.just("2026-03-02"),
    every=st.integers(1, 91),
    rounds=st.integers(2, 60),
    times=st.integers(1, 8),
)


def test_phases_and_arms_are_those_of_the_vectors() -> None:
    """The same secret and digest give the same phase and arm in every language."""
    for case in VECTORS["draws"]:
        draw, name = (phase_of, "phase") if "phase" in case else (arm_of, "arm")
        secret = bytes.fromhex(case["secret"])
        assert draw(secret, case["digest"], case["size"]) == case[name]


def test_standings_are_those_of_the_vectors() -> None:
    """A device takes a turn on the days that the vectors say, and on no others."""
    for case in VECTORS["vectors"]:
        question = Question.from_json(VECTORS["questions"][case["named"]])
        assert question.repeat is not None
        day = date.fromisoformat(case["day"])
        stands = question.repeat.stands(case["phase"], case["last"], day)
        assert stands == (case["outcome"] if case["turn"] is None else case["turn"])


def test_a_phase_is_uniform_and_new_for_each_question() -> None:
    """4,000 devices spread evenly over 7 rounds, and anew for the next question.

    Chi-square with 6 degrees of freedom exceeds 40 with probability below 1e-6; fixed secrets.
    """
    secrets = [sha256(b"%d" % i).digest() for i in range(4000)]
    digests = [sha256(name).hexdigest() for name in (b"one", b"other")]
    first, second = ([phase_of(s, digest, 7) for s in secrets] for digest in digests)
    for found in (first, second, [(a - b) % 7 for a, b in zip(first, second, strict=True)]):
        counts = Counter(found)
        assert sum((counts[i] - 4000 / 7) ** 2 / (4000 / 7) for i in range(7)) < 40
    arms = Counter(arm_of(s, digests[0], 2) for s in secrets)
    assert abs(arms[0] - 2000) < 160
    together = Counter((arm_of(s, digests[0], 2), phase_of(s, digests[0], 2)) for s in secrets)
    assert max(together.values()) < 1160


@given(repeats, st.data())
def test_a_device_is_asked_in_its_rounds_and_never_twice(repeat: Repeat, data: st.DataObject):
    """Whatever the clock does, turns only go up, and each falls into its own round."""
    phase = data.draw(st.integers(0, repeat.rounds - 1))
    reach = repeat.every * repeat.total_rounds
    last, taken = -1, []
    for offset in data.draw(st.lists(st.integers(-10, reach + 10), max_size=30)):
        day = repeat.first_day + timedelta(days=offset)
        stands = repeat.stands(phase, last, day)
        if isinstance(stands, int):
            assert stands > last
            assert repeat.round_of(day) == stands * repeat.rounds + phase
            last = stands
            taken.append(stands)
        elif stands == "finished":
            assert last == repeat.times - 1 or repeat.round_of(day) > (
                (repeat.times - 1) * repeat.rounds + phase
            )
    assert len(taken) <= repeat.times


@given(repeats, st.data())
def test_every_device_that_calls_each_round_answers_all_its_turns(repeat, data) -> None:
    """A call in each round takes each turn exactly once."""
    phase = data.draw(st.integers(0, repeat.rounds - 1))
    last = -1
    for turn in range(repeat.times):
        first, end = repeat.days_of(turn * repeat.rounds + phase)
        assert repeat.stands(phase, last, data.draw(st.dates(first, end))) == turn
        last = turn
        assert repeat.stands(phase, last, end) == "already"


def test_days_belong_to_rounds() -> None:
    """Rounds cover their days without a gap; before the start there is none."""
    assert WEEKLY.round_of(date(2026, 3, 1)) == -1
    assert WEEKLY.days_of(0) == (date(2026, 3, 2), date(2026, 3, 8))
    assert [WEEKLY.round_of(date(2026, 3, 8) + timedelta(days=i)) for i in (0, 1)] == [0, 1]
    with pytest.raises(InvalidParameter, match="count them from 0"):
        WEEKLY.days_of(4)


def test_the_lifetime_is_what_ceilings_are_held_to() -> None:
    """Three turns of epsilon 2 reveal 6, which a device with a ceiling of 5 refuses."""
    question = Question("q", ("a", "b"), DE(2.0, 2), repeat=Repeat("2026-03-02", 7, 4, 3))
    assert question.total_epsilon == 6.0
    with pytest.raises(InvalidDocument, match="epsilon = 6, more than the ceiling of 5"):
        Question.load(question.to_json())
    assert Question.load(question.to_json(), 6.0) == question


def test_a_device_limits_its_segments() -> None:
    """A question with more cells than a device allows is refused; one without has none."""
    text = Question("q", ("a", "b"), DE(1.0, 2), segments=GROUPS).to_json()
    assert Question.load(text, most_cells=6).segments == GROUPS
    with pytest.raises(InvalidDocument, match="6 segments, more than 5"):
        Question.load(text, most_cells=5)
    plain = Question("q", ("a", "b"), DE(1.0, 2))
    assert not Question.load(plain.to_json(), most_cells=0).segments


def test_version_2_is_written_only_where_it_is_needed() -> None:
    """Without rounds and segments the document and its digest are those of version 1."""
    plain = Question("q", ("a", "b"), DE(1.0, 2))
    assert plain.version == 1
    for more in ({"repeat": WEEKLY}, {"segments": {"arm": ("A", "B")}}):
        asked = Question("q", ("a", "b"), DE(1.0, 2), **more)
        assert asked.version == 2
        assert Question.from_json(asked.to_json()) == asked
        assert asked.digest != plain.digest


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": "1.3.2026"}, "start as a day"),
        ({"start": "2026-W10-1"}, "start as a day"),
        ({"every": 0}, "every of a repeat"),
        ({"rounds": 1}, "rounds of a repeat"),
        ({"times": 0}, "times of a repeat"),
        ({"start": "9999-12-30"}, "repeat fewer times"),
        ({"start": "1969-12-31"}, "begin today"),
    ],
)
def test_impossible_rounds_are_refused(changes, message) -> None:
    """Each number has its limits, and the error names it."""
    with pytest.raises(InvalidParameter, match=message):
        Repeat(**{"start": "2026-03-02", "every": 7, "rounds": 4, **changes})


def test_memoising_protocols_have_no_rounds() -> None:
    """Who answers in every round needs no rota, and is told so."""
    with pytest.raises(InvalidParameter, match="leave repeat out"):
        Question("q", ("a", "b"), BasicRAPPOR(2, 0.5, 0.75, 0.25), repeat=WEEKLY)
    with pytest.raises(InvalidParameter, match="repeat as a Repeat"):
        Question("q", ("a", "b"), DE(1.0, 2), repeat=7)


def test_cells_are_those_of_the_vectors() -> None:
    """Mixed radix, with a value for all others, and one number more for what is not stated."""
    for case in VECTORS["cells"]:
        segments = Question.from_json(VECTORS["questions"][case["named"]]).segments
        if case["cell"] is None:
            with pytest.raises(InvalidParameter):
                segments.cell(case["stated"])
        else:
            assert segments.encode(case["stated"]) == bytes([case["cell"]])


def test_cells_have_names_and_add_up() -> None:
    """Each code is one cell with a name of its own, and belongs to one value of a dimension."""
    assert [GROUPS.cell(dict(zip(("platform", "arm"), GROUPS.values(cell), strict=True)))
            for cell in range(6)] == list(range(6))  # fmt: skip
    assert len({GROUPS.named(cell) for cell in range(GROUPS.codes)}) == 7
    for name in ("platform", "arm"):
        parts = GROUPS.by(name)
        assert sorted(cell for cells in parts.values() for cell in cells) == list(range(7))
        assert parts[NOT_STATED] == (6,)
    assert GROUPS.select({}) == tuple(range(7))
    assert GROUPS.select({"platform": "mac", "arm": "B"}) == (3,)
    with pytest.raises(InvalidParameter, match="platform as one of"):
        GROUPS.select({"platform": "amiga"})
    with pytest.raises(InvalidParameter, match="one of the dimensions"):
        GROUPS.by("colour")


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ({"a": ("x",)}, "number of values"),
        ({"a": "xy"}, "number of values"),
        ({"a:b": ("x", "y")}, "the name of a dimension"),
        ({"a": ("x", "x")}, "each value"),
        ({"a": ("x", "")}, "the values of a"),
        ({"a": ("x", NOT_STATED)}, "not stated"),
        ({str(i): ("x", "y") for i in range(5)}, "number of dimensions"),
        ({"a": tuple("abcdefghi"), "b": tuple("abcdefgh")}, "72 cells"),
        ((Dimension("a", ("x", "y")), Dimension("a", ("x", "y"))), "each dimension once"),
        ("platform", "segments such as"),
        (7, "segments such as"),
    ],
)
def test_impossible_segments_are_refused(segments, message) -> None:
    """Each limit has an error of its own, which says what to do."""
    with pytest.raises(InvalidParameter, match=message):
        Question("q", ("a", "b"), DE(1.0, 2), segments=segments)
    with pytest.raises(InvalidParameter, match="other of"):
        Dimension("a", ("x", "y"), "z")


def test_a_question_without_segments_takes_none() -> None:
    """A segment that the question does not have is refused, and none costs no byte."""
    plain = Question("q", ("a", "b"), DE(1.0, 2)).segments
    assert (plain.encode(), plain.codes, plain.width) == (b"", 1, 0)
    with pytest.raises(InvalidParameter, match="no segment of the question"):
        plain.encode({"arm": "A"})

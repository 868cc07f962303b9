"""What changed between two samples: how often it is said wrongly, and how often it is found.

The simulations are seeded. Each draws people from one population, or from two, for both samples,
and privatizes their answers as a device would.
"""

import csv
import io
import json
import pickle
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import hypergeom

from deniable import (
    DE,
    OLH,
    OUE,
    RAPPOR,
    SHE,
    SUE,
    BasicRAPPOR,
    Comparison,
    Estimates,
    IncompatibleTally,
    InvalidParameter,
    OutOfDomain,
    Protocol,
    Question,
    RandomMatrixProjection,
    Tally,
    compare,
)
from deniable.consistency import norm_sub
from deniable.law.difference import fisher_tail
from deniable.statistics import Counts
from tests.marks import examples, shortened
from tools.paper.trials import simulate_tally

FRUIT = ("kiwi", "fig", "plum", "pear")
QUESTION = Question("fruit", FRUIT, DE(3.0, 4))


def _estimate(protocol: Protocol, n: int, shares: npt.ArrayLike, rng: np.random.Generator):
    people = rng.choice(len(np.asarray(shares)), n, p=shares)
    return protocol.estimate(protocol.tally(protocol.privatize(people, rng)))


def _zipf(d: int) -> npt.NDArray[np.float64]:
    weights = 1 / np.arange(1, d + 1)
    return weights / weights.sum()


PROTOCOLS = (
    OLH(2.0, 30),
    DE(1.0, 8),
    DE(6.0, 30),
    OUE(1.0, 30),
    OUE(4.0, 8),
    SHE(1.0, 30),
    SHE(8.0, 8),
)
SIZES = ((3, 10), (1, 1), (40, 40), (1000, 200), (3000, 3000))
RUNS = examples(200)


CASES = [
    (protocol, SIZES[(i + step) % len(SIZES)])
    for step in (0, 2)
    for i, protocol in enumerate(PROTOCOLS)
]
"""Every protocol with two of the sizes, and every size with two protocols or more."""


def _simulate(protocol: Protocol, sizes: tuple[int, int]) -> tuple[float, float]:
    """Return how often a change was called, and how often intervals covered it.

    Alarms are those with the same population twice; intervals are those of two different ones.
    """
    rng = np.random.default_rng([17, *sizes, PROTOCOLS.index(protocol)])
    d = protocol.domain_size
    before = _zipf(d)
    after = before[::-1] * 0.3 + before * 0.7
    alarms = covered = 0
    for _ in range(RUNS):
        first, second = (_estimate(protocol, n, before, rng) for n in sizes)
        alarms += bool(compare(first, second).significant().any())
        moved = compare(first, _estimate(protocol, sizes[1], after, rng))
        lower, upper = moved.interval()
        true = (after - before)[moved.first.values]
        covered += int(np.count_nonzero((lower <= true) & (true <= upper)))
    return alarms / RUNS, covered / RUNS / d


@pytest.mark.parametrize(
    "case", shortened(CASES, "more protocols and sizes of the same law"), ids=str
)
def test_alarms_are_rare_and_intervals_cover(case: tuple[Protocol, tuple[int, int]]) -> None:
    """Where nothing changed, any answer is called changed in at most 5 % of all comparisons.

    Where something did, 95 % intervals cover in 95 % of all cases, in more with few reports.
    """
    protocol, sizes = case
    alarms, covered = _simulate(protocol, sizes)
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / RUNS) ** 0.5
    # The answers of one run depend on each other a little, so they count as half as many.
    error = (0.05 * 0.95 / (RUNS * protocol.domain_size / 2)) ** 0.5
    assert covered >= 0.95 - 3 * error
    if min(sizes) >= 3000:
        assert covered <= 0.965 + 3 * error


def _filtered(n: int, shares: npt.NDArray[np.float64], rng: np.random.Generator) -> Estimates:
    """Return RAPPOR's estimates of so many people, all answers being candidates."""
    protocol, keys = RAPPOR(4.0), np.arange(len(shares), dtype=np.uint64)
    return protocol.estimate(simulate_tally(protocol, rng.multinomial(n, shares), rng), keys)


def _repeated(n: int, shares: npt.NDArray[np.float64], rng: np.random.Generator) -> Estimates:
    """Return the estimates of so many people who sent ten reports each."""
    protocol, each = BasicRAPPOR(len(shares), 0.5, 0.75, 0.25), 10
    held = rng.choice(len(shares), n, p=shares)[:, None] == np.arange(len(shares))
    bits = rng.random(held.shape) < np.where(held, 0.75, 0.25)
    supports = rng.binomial(each, np.where(bits, 0.75, 0.25)).sum(axis=0)
    return protocol.estimate(Tally(protocol, n * each, Counts(supports)), people=n)


def _projected(n: int, shares: npt.NDArray[np.float64], rng: np.random.Generator) -> Estimates:
    """Return the estimates of so many people by a random matrix, the same for all of them."""
    return _estimate(RandomMatrixProjection(4.0, len(shares), 1 << 12), n, shares, rng)


@pytest.mark.parametrize(
    "sizes", shortened([(1, 1), (2, 2), (3, 10), (60, 60)], "more sizes of the same law"), ids=str
)
@pytest.mark.parametrize(
    ("collect", "answers"),
    [
        pytest.param(_filtered, 12, marks=pytest.mark.long("120 regressions")),
        (_repeated, 4),
        pytest.param(_projected, 8, marks=pytest.mark.long("300 matrices of 4,096 rows")),
    ],
)
def test_other_laws_are_compared_as_carefully(collect, answers: int, sizes) -> None:
    """Filters, people with several reports, projections: 5 % of alarms, 95 % covered."""
    rng, runs = np.random.default_rng([23, *sizes]), 40 if collect is _filtered else 100
    before = _zipf(answers)
    after = before[::-1] * 0.3 + before * 0.7
    alarms, covered = 0, []
    for _ in range(runs):
        first, second = (collect(n, before, rng) for n in sizes)
        alarms += bool(compare(first, second).significant().any())
        moved = compare(first, collect(sizes[1], after, rng))
        lower, upper = moved.interval()
        true = (after - before)[moved.first.values]
        covered.append(np.mean((lower <= true) & (true <= upper)))
    assert alarms / runs <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert np.mean(covered) >= 0.95 - 3 * (0.05 * 0.95 / (runs * answers / 2)) ** 0.5


@pytest.mark.parametrize("protocol", [DE(2.0, 4), OUE(2.0, 4), OLH(2.0, 4), SHE(2.0, 4)], ids=repr)
def test_real_changes_are_found(protocol: Protocol) -> None:
    """A change of five of its standard errors is found in nearly all comparisons."""
    rng = np.random.default_rng(3)
    n, before = 4000, np.array([0.4, 0.3, 0.2, 0.1])
    noise = float(protocol.variance(n, 0.4)) / n**2 + 0.24 / n
    step = 5 * (2 * noise) ** 0.5
    after = before + np.array([-step, 0, 0, step])
    found = 0
    for _ in range(60):
        changes = compare(*(_estimate(protocol, n, shares, rng) for shares in (before, after)))
        found += changes[0].significant
        assert changes[0].difference < 0
    # 5 errors against a limit of 2.5 are missed with probability 0.006.
    assert found >= 56


def test_shared_rows_are_no_change() -> None:
    """Projections, whose errors hold more than their supports tell, raise no more alarms."""
    protocol = RandomMatrixProjection(1.0, 8, 64)
    rng, alarms, runs = np.random.default_rng(9), 0, 100
    for _ in range(runs):
        first, second = (_estimate(protocol, n, _zipf(8), rng) for n in (1000, 300))
        alarms += bool(compare(first, second).significant().any())
    assert alarms <= 0.05 * runs + 3 * (0.05 * 0.95 * runs) ** 0.5


def test_the_tail_is_the_hypergeometric_one() -> None:
    """Tails of tables of every size agree with an independent computation."""
    rng = np.random.default_rng(1)
    checked, tried = 0, examples(4000)
    for _ in range(tried):
        n, m = (int(10 ** rng.uniform(0, 5)) for _ in range(2))
        total = int(rng.binomial(n + m, 10 ** rng.uniform(-4, 0)))
        mean = total * n / (n + m)
        spread = max(mean * (1 - total / (n + m)) * m / (n + m), 0.1) ** 0.5
        x = int(np.clip(mean + rng.uniform(1, 6) * spread, max(0, total - m), min(n, total)))
        y = total - x
        exact = hypergeom.sf(x - 1, n + m, total, n)
        if x * m <= y * n or exact > 0.2:
            continue
        found = fisher_tail(np.array([float(x)]), n, np.array([float(y)]), m)[0]
        assert found == pytest.approx(exact, rel=0.005)
        checked += 1
    assert checked > 0.375 * tried


def test_the_tail_of_huge_and_of_empty_tables() -> None:
    """10^18 reports lose no digits that matter, and nothing at all is no evidence."""
    n = 10**18 - 1
    # The difference is 6 standard errors, each of them 5 * 10^8.
    x, y = np.array([5e17 + 3 * 2**0.5 * 5e8]), np.array([5e17 - 3 * 2**0.5 * 5e8])
    assert fisher_tail(x, n, y, n)[0] == pytest.approx(9.866e-10, rel=0.01)
    for cells in ((0.0, 5, 0.0, 5), (5.0, 5, 5.0, 5), (1.0, 5, 2.0, 5)):
        assert fisher_tail(np.array(cells[:1]), int(cells[1]), np.array(cells[2:3]), 5)[0] == 1.0
    assert fisher_tail(np.array([5.0]), 5, np.array([0.0]), 5)[0] == pytest.approx(1 / 252)


def _days() -> tuple[Estimates, Estimates]:
    rng = np.random.default_rng(5)
    days = (["kiwi"] * 500 + ["fig"] * 300 + ["plum"] * 200,
            ["kiwi"] * 500 + ["fig"] * 700 + ["plum"] * 200 + ["pear"] * 100)  # fmt: skip
    first, second = (
        QUESTION.estimate(QUESTION.tally(QUESTION.privatize(day, rng))) for day in days
    )
    return first, second


def test_the_largest_change_comes_first() -> None:
    """Rows are sorted by the size of the change, in either direction, in every form."""
    changes = compare(*_days())
    sizes = np.abs(changes.differences)
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert {row.label for row in changes.top(2)} == {"fig", "kiwi"}
    rows = list(csv.DictReader(io.StringIO(changes.to_csv())))
    assert [row["label"] for row in rows] == [row.label for row in changes]
    assert [row["label"] for row in json.loads(changes.to_json())["changes"]] == [
        row.label for row in changes
    ]


def test_rows_are_found_by_label() -> None:
    """A label gives its change, with both shares; a rise is positive."""
    first, second = _days()
    changes = compare(first, second)
    row = changes["fig"]
    assert (row.first, row.second) == (first["fig"].share, second["fig"].share)
    assert row.difference == row.second - row.first > 0
    assert row.lower < row.difference < row.upper
    assert row.significant
    assert len(changes) == 4
    assert "pear" in changes
    assert "fog" not in changes
    with pytest.raises(OutOfDomain, match="'fog'"):
        changes["fog"]


def test_the_other_way_round_changes_the_sign() -> None:
    """Comparing the second with the first gives the same changes, mirrored."""
    first, second = _days()
    there, back = compare(first, second), compare(second, first)
    assert np.allclose(there.differences, -back.differences)
    assert np.allclose(there.interval()[0], -back.interval()[1])
    assert there.significant().tolist() == back.significant().tolist()


def test_answers_are_matched_by_their_label() -> None:
    """The order of the answers in the second estimates does not matter."""
    first, second = _days()
    turned = second.select(FRUIT[::-1])
    assert (
        compare(first, turned).differences.tolist() == compare(first, second).differences.tolist()
    )


def test_the_top_is_judged_as_a_part_of_all() -> None:
    """Showing fewer rows makes none of them more significant."""
    changes = compare(*_days())
    for size in (0, 1, 4):
        assert changes.top(size).significant().tolist() == changes.significant()[:size].tolist()
        assert changes.top(size).total == 4


def test_more_answers_ask_for_more_evidence() -> None:
    """A change of three standard errors is one among two answers, and none among a thousand."""
    law = DE(3.0, 4).law(1000)

    def sample(count: float, answers: int) -> Estimates:
        counts = np.r_[count, np.zeros(answers - 1)]
        return Estimates(counts, np.ones(answers), 1000, 1.0, law=law)

    for answers, expected in ((2, True), (1000, False)):
        changes = compare(sample(500.0, answers), sample(585.0, answers))
        assert changes.total == answers
        assert changes[0].significant == expected


@pytest.mark.parametrize(
    "other",
    [
        Question("fruit", FRUIT, DE(2.0, 4)),
        Question("fruit", FRUIT[::-1], DE(3.0, 4)),
        Question("fruit", FRUIT, SUE(3.0, 4)),
    ],
    ids=["epsilon", "labels", "protocol"],
)
def test_different_questions_are_not_compared(other: Question) -> None:
    """Estimates whose digests differ are refused, and the message names both."""
    estimates = other.estimate(other.tally(other.privatize(["fig", "kiwi"])))
    with pytest.raises(IncompatibleTally, match="expected estimates of one question") as caught:
        compare(_days()[0], estimates)
    assert QUESTION.digest in str(caught.value)
    assert other.digest in str(caught.value)
    with pytest.raises(IncompatibleTally, match="unknown origin"):
        compare(_days()[0], replace(_days()[1], provenance=None))


def test_questions_that_differ_only_in_name_are_compared() -> None:
    """Weeks, versions and groups that were asked by questions of their own can be compared."""
    other = Question("fruits of June", FRUIT, DE(3.0, 4))
    rng = np.random.default_rng(6)
    second = other.estimate(other.tally(other.privatize(["kiwi"] * 100 + ["fig"] * 900, rng)))
    changes = compare(_days()[0], second)
    assert changes["kiwi"].significant
    assert changes.table().startswith("fruit and fruits of June: changes of 4 answers")
    said = json.loads(changes.to_json())["provenance"]
    assert (said["question"], said["digest"]) == ("fruit", QUESTION.digest)
    assert (said["second_question"], said["second_digest"]) == (other.name, other.digest)
    assert "<title>Changes: fruit and fruits of June</title>" in changes.to_html()


def test_the_same_people_asked_twice_are_compared_on_the_safe_side() -> None:
    """With fresh noise intervals cover at least as often as promised, and alarms are as rare."""
    protocol, rng = DE(5.0, 3), np.random.default_rng(12)
    alarms, covered, runs = 0, 0, examples(300)
    for _ in range(runs):
        people = rng.choice(3, 400, p=(0.6, 0.3, 0.1))
        both = [protocol.estimate(protocol.tally(protocol.privatize(people, rng))) for _ in "ab"]
        changes = compare(*both)
        lower, upper = changes.interval()
        alarms += bool(changes.significant().any())
        covered += int(np.count_nonzero((lower <= 0) & (upper >= 0)))
    # Nearly all of the variance is who was asked, which is the same: nothing is missed (seeded).
    assert alarms <= 0.01 * runs
    assert covered >= 0.99 * 3 * runs


def test_a_newer_version_is_no_other_question() -> None:
    """What an earlier release estimated can be compared with what a later one does."""
    first, second = _days()
    assert first.provenance is not None
    old = replace(first, provenance=replace(first.provenance, version="0.0.1"))
    assert len(compare(old, second)) == 4


def test_what_cannot_be_compared_is_refused() -> None:
    """Adjusted estimates, other answers and other things are refused with a remedy."""
    first, second = _days()
    with pytest.raises(InvalidParameter, match="adjusted by norm-sub"):
        compare(first, norm_sub(second))
    with pytest.raises(InvalidParameter, match="compare all answers and take the top afterwards"):
        compare(first, second.top(2))
    with pytest.raises(InvalidParameter, match="got 'kiwi' only in the first"):
        compare(first.select(["kiwi", "fig"]), second.select(["fig", "plum"]))
    with pytest.raises(InvalidParameter, match="expected estimates"):
        compare(first, second.counts)  # type: ignore[arg-type]
    for level in (0, 1, float("nan")):
        with pytest.raises(InvalidParameter, match="expected level"):
            compare(first, second).interval(level)
        with pytest.raises(InvalidParameter, match="expected alpha"):
            compare(first, second).significant(level)


def test_estimates_of_candidates_are_compared() -> None:
    """RAPPOR's estimates have no exact law, and are compared by their own errors."""
    question = Question("word", None, RAPPOR(3.0))
    rng = np.random.default_rng(4)
    days = (["a"] * 3000 + ["b"] * 3000, ["a"] * 1500 + ["b"] * 4500)
    changes = compare(*(
        question.estimate(question.tally(question.privatize(day, rng)), ["a", "b", "c"])
        for day in days
    ))  # fmt: skip
    assert changes["a"].significant
    assert not changes["c"].significant
    assert changes["a"].lower < -0.25 < changes["a"].upper


def test_every_form_has_the_changes(tmp_path) -> None:
    """Text, CSV, JSON, HTML and figures have the same rows and the provenance."""
    changes = compare(*_days())
    text = changes.table()
    assert text.startswith("fruit: changes of 4 answers between 1,000 and 1,500 reports\n")
    assert all(cell in text for row in changes for cell in row.cells)
    assert repr(changes) == changes.table(10)
    page = changes.to_html()
    assert page.count("<svg") == 4
    assert "<title>Changes: fruit</title>" in page
    document = json.loads(changes.to_json())
    expected = {"question": "fruit", "digest": QUESTION.digest, "protocol": "DE", "epsilon": 3.0,
                "first_n": 1000, "second_n": 1500}  # fmt: skip
    assert expected.items() <= document["provenance"].items()
    figure = changes.plot()
    figure.savefig(io.BytesIO(), format="png")
    assert figure.axes[0].get_xlabel() == "change of the share (percentage points)"
    assert changes._repr_html_().count("<svg") == 4


@pytest.mark.frames
def test_data_frames_have_the_changes() -> None:
    """Frames of pandas and tables of Arrow have a row for each answer."""
    changes = compare(*_days())
    assert changes.to_pandas()["difference"].tolist() == changes.differences.tolist()
    assert changes.to_arrow().num_rows == 4


def test_many_changes_are_drawn_from_rise_to_fall() -> None:
    """Three thousand changes are one falling curve."""
    rng = np.random.default_rng(8)
    protocol = OUE(2.0, 3000)
    changes = compare(*(_estimate(protocol, 5000, _zipf(3000), rng) for _ in range(2)))
    line = changes.plot(top=None).axes[0].lines[0].get_ydata()
    assert len(line) == 3000
    assert np.all(np.diff(line) <= 0)


def test_no_change_at_all_is_presentable() -> None:
    """Two equal samples, or no row, still make a table, a page and a figure."""
    first, _ = _days()
    for changes in (compare(first, first), compare(first, first).top(0)):
        assert isinstance(changes, Comparison)
        assert not changes.significant().any()
        assert changes.table()
        assert changes.to_html()
        changes.plot().savefig(io.BytesIO(), format="png")


def test_comparisons_can_be_pickled() -> None:
    """A comparison goes to another process and back."""
    changes = compare(*_days())
    again = pickle.loads(pickle.dumps(changes))
    assert again.differences.tolist() == changes.differences.tolist()

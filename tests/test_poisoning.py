"""Alarms for poisoned sources: found when there is one, rare when there is none."""

import math

import numpy as np
import pytest

from benchmarks import poisoning as benchmark
from deniable import (
    DE,
    OLH,
    OUE,
    SHE,
    AffineSelection,
    Choices,
    Number,
    OpenLH,
    Question,
    Record,
    SubsetSelection,
    Tally,
)
from deniable.impossible import _chernoff, comparable
from deniable.mechanism import Reports
from deniable.poisoning import ALPHA, _division, smallest, suspects
from deniable.protocol import Pure
from deniable.protocols.views import Views
from deniable.statistics import Counts
from tests.marks import shortened

CASES = [
    (make, epsilon) for epsilon in (1.0, 3.0)
    for make in (SubsetSelection, OUE, OLH, DE, AffineSelection)
]  # fmt: skip


@pytest.mark.parametrize("case", shortened(CASES, "450,000 reports each"))
def test_a_poisoned_source_is_found_and_honest_ones_are_not(case: tuple[type[Pure], float]) -> None:
    """Of ten sources with 5,000 reports the one with 5 % crafted ones is found, on most days.

    The full size is ``python -m benchmarks.poisoning``. Here are 2 days with a fixed seed, on each
    of which every source is poisoned; at a power of 0.9, fewer than 14 of 20 are found with a
    chance of 1 in 400.
    """
    make, epsilon = case
    protocol = make(epsilon, benchmark.ANSWERS)
    (power,), false = benchmark.measure(protocol, "Zipf", 2, targets=(9,))
    assert power >= (14 if epsilon == 1 else 20) / 20
    assert false == 0


def honest_day(
    protocol: OUE,
    shares: np.ndarray,
    rng: np.random.Generator,
    n: int = 5000,
    moved: np.ndarray | float = 0.0,
) -> dict[str, Tally]:
    """Return what ten sources of one population have, drawing the bits of each answer at once."""
    day, known = {}, protocol.parameters
    for source in range(10):
        ones = rng.binomial(n, known.q + known.gap * shares + moved)
        day[str(source)] = Tally(protocol, n, Counts(ones.astype(np.int64)))
    return day


@pytest.mark.long("1,000 simulated days")
def test_honest_days_have_few_false_alarms() -> None:
    """Of honest days at most about one in a hundred has an alarm.

    At a rate of exactly 1 % more than 21 of 1,000 have one with a chance of 1 in 1,000, and the
    seed is fixed. A rate of 3 % would be seen with a chance of 0.95.
    """
    rng, shares = np.random.default_rng(11), benchmark.population("Zipf")
    protocol = OUE(1.0, benchmark.ANSWERS)
    assert sum(bool(suspects(honest_day(protocol, shares, rng))) for _ in range(1000)) <= 21


@pytest.mark.long("1,000 simulated days")
@pytest.mark.parametrize("change", [0.0, 1.0, 3.0])
def test_a_change_of_all_people_is_no_alarm(change: float) -> None:
    """Where people answer otherwise than before, all sources alike, earlier days mislead nobody.

    The change is so many standard errors of what the other sources say, for each answer up or down;
    with 1, it can hardly be seen. Limits are as for days without any change.
    """
    rng, protocol = np.random.default_rng(13), OUE(1.0, benchmark.ANSWERS)
    shares, false = benchmark.population("Zipf"), 0
    for _ in range(1000):
        past = honest_day(protocol, shares, rng, 15_000)
        sign = rng.permutation(np.repeat([-1.0, 1.0], benchmark.ANSWERS // 2))
        moved = change * sign * math.sqrt(0.2 / 45_000)  # of supports, of which 0.2 is s (1 - s)
        false += bool(suspects(honest_day(protocol, shares, rng, moved=moved), earlier=past))
    assert false <= 21


@pytest.mark.long("200 simulated days")
@pytest.mark.parametrize("target", [0, 31])
def test_as_many_crafted_reports_as_are_said_are_found(target: int) -> None:
    """What is said to be found with a power of 0.9 is, for a common answer and for a rare one.

    At a power of 0.9 fewer than 164 of 200 days are found with a chance of 1 in 1,000.
    """
    rng, shares = np.random.default_rng(12), benchmark.population("Zipf")
    protocol, found = OUE(1.0, benchmark.ANSWERS), 0
    for _ in range(200):
        day = honest_day(protocol, shares, rng)
        day[benchmark.POISONED] = day.pop("9")
        poisoned = benchmark.poison(day, target, smallest(day)[benchmark.POISONED], rng)
        found += benchmark.found(poisoned, target)
    assert found >= 164


def alike(protocol: Pure, crafted: Reports, n: int = 2000) -> dict[str, Tally]:
    """Return two honest sources and a third, which has crafted reports too."""
    rng = np.random.default_rng(3)
    size = min(protocol.value_count, 20)
    day = {
        name: protocol.tally(protocol.privatize(rng.integers(0, size, n), rng)) for name in "abc"
    }
    return {**day, "c": day["c"] + protocol.tally(crafted)}


def supporting(protocol: Pure, value: int, count: int) -> Reports:
    """Return one report that supports a value, again and again."""
    some = protocol.privatize(np.full(400, value), np.random.default_rng(4))
    one = some[protocol.supports(some, value)][:1]
    return np.repeat(one, count, axis=0)


def bare(protocol: OUE, count: int) -> Reports:
    """Return reports that support the first answer and nothing else."""
    reports = np.zeros(count, dtype=protocol.report_dtype)
    # Whichever end the bits begin at, it is the one that makes the first answer supported.
    for byte in (0x80, 0x01):
        reports[:, 0] = byte
        if protocol.supports(reports, 0).all():
            return reports
    raise AssertionError


def test_reports_that_support_too_few_answers_are_impossible() -> None:
    """Reports with a single bit are no honest ones, though each might be."""
    protocol = OUE(1.0, 32)
    found = suspects(alike(protocol, bare(protocol, 150)))
    assert [(each.source, each.kind, each.impossible) for each in found][:1] == [
        ("c", "number", True)
    ]
    assert 0 < found[0].extra <= 150


@pytest.mark.parametrize(
    ("protocol", "count"),
    [
        (OLH(1.0, 32), 250),
        (OLH(3.0, 1000), 250),
        (OpenLH(2.0), 2),
        (AffineSelection(2.0, 5000), 20),
    ],
    ids=str,
)
def test_one_function_too_often_is_impossible(protocol: Pure, count: int) -> None:
    """Honest devices draw a function for each report, so that none comes back too often."""
    found = suspects(alike(protocol, supporting(protocol, 7, count)))
    assert ("c", "function") in {(each.source, each.kind) for each in found}
    honest = alike(protocol, np.empty(0, dtype=protocol.report_dtype))
    assert suspects(honest) == ()


def test_more_reports_of_an_answer_than_all_people_explain_are_impossible() -> None:
    """An honest report fits its answer with p* only, so that more than that are no people's."""
    protocol = DE(1.0, 32)
    found = suspects(alike(protocol, supporting(protocol, 7, 400)))
    assert (found[0].source, found[0].kind, found[0].answer) == ("c", "supports", 7)
    assert 0 < found[0].extra <= 400


@pytest.mark.parametrize("make", [DE, OUE, OLH, SubsetSelection, AffineSelection])
def test_other_people_are_different_but_not_impossible(make: type[Pure]) -> None:
    """A source through which all people give one answer differs, and honest people can be so."""
    protocol, rng = make(1.0, 32), np.random.default_rng(6)
    day = {
        name: protocol.tally(protocol.privatize(rng.integers(0, 32, 3000), rng)) for name in "ab"
    }
    day["c"] = protocol.tally(protocol.privatize(np.full(3000, 5), rng))
    assert [(each.source, each.answer, each.impossible) for each in suspects(day)] == [
        ("c", 5, False)
    ]


def test_what_cannot_be_judged_is_not() -> None:
    """Small sources, a single source, no reports and protocols without supports raise nothing."""
    protocol = DE(3.0, 4)
    crowd, few = protocol.tally(protocol.privatize([0, 1, 2] * 100)), np.full(20, 3, dtype=np.uint8)
    assert suspects({"a": crowd, "b": protocol.tally(few)}) == ()
    assert suspects({"a": crowd, "b": protocol.tally(few)}, fewest=10) != ()
    assert suspects({"a": crowd}) == suspects({}) == ()
    assert smallest({"a": crowd}) == smallest({}) == {}
    noisy = SHE(1.0, 4)
    assert suspects({name: noisy.tally(noisy.privatize([3] * 50)) for name in "ab"}) == ()


def test_the_chance_of_a_false_alarm_is_divided_up() -> None:
    """The parts of all answers add up to the whole, and a common answer has a larger one."""
    shares = np.array([0.5, 0.3, 0.29, 0.28, 0.28])
    parts, reach = _division(shares, ALPHA)
    assert parts.sum() == pytest.approx(ALPHA)
    assert np.all(np.diff(parts) <= 0)
    assert reach > 0


@pytest.mark.parametrize(("n", "chance"), [(40, 0.3), (60, 0.5), (60, 0.02)])
def test_bounds_are_never_below_the_tails(n: int, chance: float) -> None:
    """The bound of each tail is at least its probability, summed term by term."""
    law = [math.comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)]
    bounds = np.exp(_chernoff(np.arange(n + 1.0), n, chance))
    for k in range(n + 1):
        tail = sum(law[k:]) if k > n * chance else sum(law[: k + 1])
        assert bounds[k] >= tail * (1 - 1e-9)


SURVEY = Question(
    "set-up", Record(country=list("ABCDEF"), plan=["free", "pro"], tables="pairs"), epsilon=2.0
)
LOAD = Question("load", Number(0, 3000, 100, "ms", ("distribution", "mean")), epsilon=2.0)
TOOLS = Question("tools", Choices([f"tool {i}" for i in range(12)], 3), epsilon=2.0)
MANY = Question("pages", Choices([f"page {i}" for i in range(200)], 2), epsilon=1.0)
KINDS = (SURVEY, LOAD, TOOLS, MANY)


def crowd(question: Question, n: int, rng: np.random.Generator) -> Tally:
    """Return honest reports of people who answer by a law of their own, the same everywhere."""
    kind = question.answers
    if isinstance(kind, Record):
        answers: object = {
            "country": rng.choice(list("ABCDEF"), n, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]),
            "plan": rng.choice(["free", "pro"], n, p=[0.8, 0.2]),
        }
    elif isinstance(kind, Number):
        answers = rng.lognormal(6.5, 0.6, n)
    else:
        sizes = rng.integers(0, 5, n)
        answers = [rng.permutation(kind.labels[:8])[:size].tolist() for size in sizes]
    return question.tally(question.privatize(answers, rng))


@pytest.mark.long("400 simulated days of each kind")
@pytest.mark.parametrize("question", KINDS, ids=lambda each: each.name)
def test_honest_days_of_other_kinds_have_few_false_alarms(question: Question) -> None:
    """Of honest days of records, numbers and sets at most about one in a hundred has an alarm.

    Each has four sources and days before. At a rate of exactly 1 % more than 11 of 400 have one
    with a chance of 1 in 1,000, and the seed is fixed.
    """
    rng, false = np.random.default_rng(21), 0
    for _ in range(400):
        day = {
            name: crowd(question, n, rng)
            for name, n in zip("abcd", (900, 400, 400, 60), strict=True)
        }
        earlier = {name: crowd(question, 800, rng) for name in "abc"}
        false += bool(suspects(day, earlier=earlier))
    assert false <= 11


@pytest.mark.parametrize(
    ("question", "answer", "name"),
    [
        (SURVEY, {"country": "F", "plan": "pro"}, "country: F, plan: pro"),
        (LOAD, 2500, "2400 to 3000 ms"),
        (TOOLS, ["tool 11"], "tool 11"),
        (TOOLS, [], "no answer"),
        (MANY, ["page 199"], "page 199"),
    ],
)
def test_a_source_of_other_kinds_that_differs_is_named(
    question: Question, answer: object, name: str
) -> None:
    """A source through which everybody gives one rare record, number or set is named for it."""
    rng = np.random.default_rng(22)
    day = {each: crowd(question, 3000, rng) for each in "abc"}
    assert suspects(day) == ()
    day["d"] = question.tally(question.privatize([answer] * 1500, rng))
    (found,) = suspects(day)
    assert (found.source, found.impossible) == ("d", False)
    assert found.answer is not None
    assert question.answers.cell(question.protocol, found.answer) == name


def test_sources_of_huge_tables_and_of_kept_reports_are_not_compared() -> None:
    """What would take gigabytes for each day is left out, and told apart beforehand."""
    wide = Question("wide", Record(a=list(map(str, range(400))), b=list(map(str, range(200))),
                                   tables="pairs"), epsilon=1.0)  # fmt: skip
    many = Question("many", Choices(list(map(str, range(5000))), 2), epsilon=1.0)
    for question, answer in ((wide, {"a": "1", "b": "2"}), (many, ["1"])):
        assert not comparable(question.protocol)
        some = {name: question.tally(question.privatize([answer] * 50)) for name in "ab"}
        assert suspects(some) == ()
        assert smallest(some) == {}
    assert all(comparable(each.protocol) for each in KINDS)


@pytest.mark.parametrize("question", [SURVEY, LOAD], ids=lambda each: each.name)
def test_a_view_too_often_is_impossible(question: Question) -> None:
    """Honest devices draw by lot what they tell of, so that no view comes too often."""
    rng = np.random.default_rng(23)
    day = {each: crowd(question, 2000, rng) for each in "abc"}
    one = question.privatize([{"country": "F", "plan": "pro"} if question is SURVEY else 2500], rng)
    day["c"] += question.tally(np.repeat(one, 300, axis=0))
    (found,) = suspects(day)
    assert (found.source, found.kind, found.answer) == ("c", "lots", None)
    assert 0 < found.extra <= 300


def test_too_many_items_at_once_are_impossible() -> None:
    """A polynomial that is 0 everywhere supports all items, which no honest set explains."""
    rng, none = np.random.default_rng(24), np.zeros(30, dtype=MANY.protocol.report_dtype)
    day = {each: crowd(MANY, 2000, rng) for each in "abc"}
    day["c"] += MANY.tally(none)
    (found,) = suspects(day)
    assert (found.source, found.kind) == ("c", "number")
    assert 0 < found.extra <= 30


@pytest.mark.long("200 simulated days")
@pytest.mark.parametrize("cell", [("country", "F"), ("country", "A"), None], ids=str)
def test_as_many_crafted_reports_of_other_kinds_as_are_said_are_found(
    cell: tuple[str, str] | None,
) -> None:
    """What is said to be found with a power of 0.9 is: for an attribute's value, and for an item.

    At a power of 0.9 fewer than 164 of 200 days are found with a chance of 1 in 1,000.
    """
    rng, found, question = np.random.default_rng(25), 0, SURVEY if cell else TOOLS
    target = "ABCDEF".index(cell[1]) if cell else 11
    for _ in range(200):
        day = {each: crowd(question, 3000, rng) for each in "abcd"}
        count = smallest(day)["d"]
        day["d"] += question.tally(crafted(question, target, count, rng))
        # Reports of one view may come too often for its lot before their cell stands out.
        found += "d" in {each.source for each in suspects(day)}
    assert found >= 164


def crafted(question: Question, target: int, count: int, rng: np.random.Generator) -> Reports:
    """Return reports that all support a cell of the first view, or an item, and look honest."""
    answer = [f"tool {target}"]
    given = answer if question is TOOLS else {"country": "ABCDEF"[target], "plan": "free"}
    reports = question.privatize([given] * 30 * count, rng)
    protocol = question.protocol
    if isinstance(protocol, Views):
        part = (protocol.protocols or ())[0]
        assert isinstance(part, DE | SubsetSelection)
        reports = reports[protocol.drawn(reports) == 0]
        held = part.supports(reports.astype(part.report_dtype), target)
    else:
        assert isinstance(protocol, Pure)
        held = protocol.supports(reports, target)
    return reports[held][:count]

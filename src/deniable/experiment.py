"""Experiments: the arms of a test, each compared with a control, and one verdict for all of them.

The people of two arms are different people, so each answer is compared by Fisher's exact test of
its supports, as ``compare`` does. Many answers and arms are many tests, some of which look
significant by chance:

Correction    Holm's: the smallest p-value of m tests is held against alpha / m, the next against
              alpha / (m - 1), and so on until one fails. If nothing differs, anything is called
              different with probability of at most alpha. Of two answers, one of which has what
              the other has not, only one is a test.
Numbers       are compared by their means, a test for each other arm: the difference of two
              independent means, whose error is that of both together
Primary       one answer that was named beforehand: there are as many tests as other arms
Looks         with K looks at growing counts, each tests at alpha / K
Sample ratio  by chi-square, whether the arms have the people that they should have. If they have
              not, at p < 0.001 divided by the looks, then something drops or sends the people of
              an arm twice, and no difference between the arms means anything.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from deniable.answers.distribution import NumberEstimates
from deniable.answers.moved import mean_moved
from deniable.comparison import Comparison, compare
from deniable.errors import InvalidParameter, brief
from deniable.estimates import Estimates
from deniable.law.normal import upper_normal
from deniable.law.samples import chi_square_tail
from deniable.presentation.tables import csv_text
from deniable.presentation.view import Figure, Shown
from deniable.validation import check_number, check_probability, check_whole

MEAN = "mean"
"""What is tested of numbers, unless one of their bins is named as primary."""
RATIO_ALARM = 0.001
"""Below this p-value of its sample ratio an experiment is broken."""


@dataclass(frozen=True, repr=False)
class Difference(Shown):
    """What one arm and the control have of one answer, a share, or of numbers, their mean."""

    arm: str
    answer: str
    before: float
    """The share or the mean in the control."""
    after: float
    lower: float
    upper: float
    p_value: float
    significant: bool = False
    told: str = "share"
    """What is compared: a share, or the mean."""
    unit: str = "percentage points"

    @property
    def lift(self) -> float:
        """By how much the arm has more than the control."""
        return self.after - self.before

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """What a table says of the control, of the arm, of the lift and of its interval."""
        if self.told != MEAN:
            spread = f"{100 * self.lower:.2f} to {100 * self.upper:.2f}"
            control, arm = f"{100 * self.before:.2f} %", f"{100 * self.after:.2f} %"
            return control, arm, f"{100 * self.lift:+.2f}", spread
        reach = (self.upper - self.lower) / 2
        before, after, (lift, spread) = (
            Figure(x, x - reach, x + reach).cells for x in (self.before, self.after, self.lift)
        )
        return before[0], after[0], f"{'+' if self.lift > 0 else ''}{lift}", spread

    def __str__(self) -> str:
        if self.told != MEAN:
            points, low, high = (100 * each for each in (self.lift, self.lower, self.upper))
            return f"{self.answer} {points:+.1f} points (95 % interval {low:.1f} to {high:.1f})"
        *_, lift, spread = self.cells
        return f"{MEAN} {f'{lift} {self.unit}'.strip()} ({spread})"

    def row(self) -> dict[str, object]:
        """Return the difference as plain data, under the names of what is compared."""
        return {
            "arm": self.arm, "answer": self.answer, f"control_{self.told}": self.before,
            self.told: self.after, "lift": self.lift, "lower": self.lower, "upper": self.upper,
            "p_value": self.p_value, "significant": self.significant,
            **({"unit": self.unit} if self.told == MEAN else {}),
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Shown):
    """The arms of a test against a control, answer by answer.

    >>> from deniable import DE, Question
    >>> fruit = Question("fruit", ("kiwi", "fig"), DE(3.0, 2))
    >>> rng = np.random.default_rng(1)
    >>> def arm(kiwis): return fruit.estimate(fruit.tally(
    ...     fruit.privatize(["kiwi"] * kiwis + ["fig"] * (1000 - kiwis), rng)))
    >>> found = compare_arms({"A": arm(500), "B": arm(640)}, primary="kiwi")
    >>> found.verdict
    'B differs from A: kiwi +13.8 points (95 % interval 8.9 to 18.7)'
    """

    control: str
    differences: tuple[Difference, ...]
    people: dict[str, int]
    sample_ratio: float
    """The p-value of the numbers of people, against what they should be."""
    alpha: float
    looks: int
    tests: int

    @property
    def broken(self) -> bool:
        """Whether the arms do not have the people that they should have."""
        return self.sample_ratio < RATIO_ALARM / self.looks

    @property
    def verdict(self) -> str:
        if self.broken:
            counts = ", ".join(f"{name} {n:,}" for name, n in self.people.items())
            return (
                f"the split is broken: {counts} (p = {self.sample_ratio:.1g}); find out where "
                "people of an arm get lost or are counted twice, or state the planned sizes as "
                "weights, since no difference between these arms means anything"
            )
        found = [each for each in self.differences if each.significant]
        if not found:
            others = " or ".join(name for name in self.people if name != self.control)
            return f"no difference between {self.control} and {others} can be told from chance"
        said = []
        for arm in dict.fromkeys(each.arm for each in found):
            answers = ", ".join(map(str, (each for each in found if each.arm == arm)))
            said.append(f"{arm} differs from {self.control}: {answers}")
        return "; ".join(said)

    def __str__(self) -> str:
        """Return the verdict as a sentence, in which arms keep their names."""
        said = f"{self.verdict}."
        named = said.startswith(tuple(f"{arm} differs from " for arm in self.people))
        return said if named else said[:1].upper() + said[1:]

    def document(self) -> dict[str, object]:
        return {
            "verdict": self.verdict, "control": self.control, "people": self.people,
            "sample_ratio_p_value": self.sample_ratio, "split_is_broken": self.broken,
            "alpha": self.alpha, "looks": self.looks, "tests": self.tests,
            "differences": self.rows(),
        }  # fmt: skip

    def rows(self) -> list[dict[str, object]]:
        return [each.row() for each in self.differences]

    def to_csv(self) -> str:
        """Return a row for each arm and answer; the last columns are the same in every row."""
        rows = self.rows()
        columns = {name: np.array([row[name] for row in rows], object) for name in rows[0]}
        same = {"control": self.control, "tests": self.tests, "split_is_broken": self.broken}
        return csv_text(columns, same, ",")


def compare_arms(  # noqa: PLR0913 - how a test was planned, each by name
    arms: Mapping[str, Estimates],
    *,
    control: str | None = None,
    primary: str | None = None,
    looks: int = 1,
    alpha: float = 0.05,
    weights: Mapping[str, float] | None = None,
) -> Experiment:
    """Compare each arm of an experiment with the control, the first one unless it is named.

    ``arms`` has the estimates of each by its name: ``{"A": question.estimate(tally), …}``.
    ``primary`` is the one answer that the experiment is about; without it all answers are tested,
    and of numbers their means.
    ``weights`` are the planned sizes of the arms, 9 and 1 for instance; arms without one have 1.
    """
    control = _check_arms(arms, control)
    planned = _check_weights(arms, weights or {})
    check_whole("the number of looks", looks, 1, 1000)
    level = check_probability("alpha", alpha, "0.05 is usual") / looks
    others = [name for name in arms if name != control]
    found = {name: compare(arms[control], arms[name]) for name in others}
    unknown = next((each.unknown for each in found.values() if each.unknown), None)
    if unknown is not None:
        raise InvalidParameter(f"these arms cannot be compared: {unknown}")
    ratio = sample_ratio([each.n for each in arms.values()], planned)
    level = -1.0 if ratio < RATIO_ALARM / looks else level  # no p-value passes if it is broken
    means = None if primary not in (None, MEAN) else _means(found, level)
    rows, tests = _shares(found, primary, level) if means is None else (means, len(means))
    people = {name: arms[name].n for name in arms}
    return Experiment(control, rows, people, ratio, alpha, looks, tests)


def _shares(
    found: Mapping[str, Comparison], primary: str | None, level: float
) -> tuple[tuple[Difference, ...], int]:
    """Return the answers of each arm, or the primary one, and how many tests they are."""
    known = [str(key) for key in next(iter(found.values())).first.keys]
    if primary is not None and primary not in known:
        few = ", ".join(map(brief, known[:12])) + (", …" if len(known) > 12 else "")
        raise InvalidParameter.expected(f"one of the answers {few} as primary", primary)
    values = {name: _p_values(each) for name, each in found.items()}
    family = np.concatenate([values[name][_tested(each, primary)] for name, each in found.items()])
    largest = family[holm(family, level)].max(initial=-1.0)
    rows = []
    for name, each in found.items():
        ends = each.interval() or ()
        columns = [each.first.shares, each.second.shares, *ends, values[name]]
        for key, *row in zip(map(str, each.first.keys), *columns, strict=True):
            before, after, low, high, p = map(float, row)
            if primary in (None, key):
                rows.append(Difference(name, key, before, after, low, high, p, bool(p <= largest)))
    return tuple(rows), len(family)


def _means(found: Mapping[str, Comparison], level: float) -> tuple[Difference, ...] | None:
    """Return the means of each arm, or None where the answers are no numbers.

    Each p-value is that of a normal variable with the reach of both means.
    """
    rows = []
    for name, each in found.items():
        if not (
            isinstance(each.first, NumberEstimates) and isinstance(each.second, NumberEstimates)
        ):
            return None
        by = mean_moved(each.first, each.second).by
        p = math.erfc(abs(by.value) / max(by.reach, 1e-300) * upper_normal(0.025) / math.sqrt(2))
        means = each.first.mean.value, each.second.mean.value
        rows.append(Difference(name, MEAN, *means, by.lower, by.upper, p, told=MEAN, unit=by.unit))
    passed = holm(np.array([row.p_value for row in rows]), level)
    return tuple(
        replace(row, significant=bool(sure)) for row, sure in zip(rows, passed, strict=True)
    )


def holm(p_values: np.typing.NDArray[np.float64], alpha: float) -> np.typing.NDArray[np.bool_]:
    """Tell which of several tests pass together, by Holm's procedure.

    >>> holm(np.array([0.01, 0.04, 0.03]), 0.05)
    array([ True, False, False])
    """
    order = np.argsort(p_values, kind="stable")
    limits = alpha / np.arange(len(p_values), 0, -1)
    failed = p_values[order] > limits
    count = int(np.argmax(failed)) if failed.any() else len(p_values)
    passed = np.zeros(len(p_values), dtype=np.bool_)
    passed[order[:count]] = True
    return passed


def sample_ratio(counts: list[int], weights: list[float]) -> float:
    """Return the p-value of the numbers of people in the arms, which should be as the weights.

    >>> round(sample_ratio([5000, 5000], [1, 1]), 3), sample_ratio([5000, 4600], [1, 1]) < 0.001
    (1.0, True)
    """
    total, whole = sum(counts), sum(weights)
    means = [total * weight / whole for weight in weights]
    if total == 0:
        return 1.0
    excess = sum((n - mean) ** 2 / mean for n, mean in zip(counts, means, strict=True))
    return chi_square_tail(excess, len(counts) - 1)


def _p_values(found: Comparison) -> np.typing.NDArray[np.float64]:
    """Return the p-values; those of two answers that complement each other differ by rounding."""
    values = found.p_values()
    return np.full(len(values), values.max()) if found.complementary else values


def _tested(found: Comparison, primary: str | None) -> np.typing.NDArray[np.intp]:
    """Return the places of the answers that are tests of their own."""
    keys = [str(key) for key in found.first.keys]
    if primary is not None:
        return np.array([keys.index(primary)])
    return np.arange(1 if found.complementary else len(keys))


def _check_arms(arms: Mapping[str, Estimates], control: str | None) -> str:
    if len(arms) < 2:
        raise InvalidParameter.expected("two arms or more", list(arms), "name the others too")
    control = next(iter(arms)) if control is None else control
    if control not in arms:
        raise InvalidParameter.expected(f"the control among {', '.join(arms)}", control)
    return control


def _check_weights(arms: Mapping[str, Estimates], weights: Mapping[str, float]) -> list[float]:
    """Return the planned size of each arm, in proportion to the others."""
    for name, weight in weights.items():
        if name not in arms:
            raise InvalidParameter.expected(f"weights of arms among {', '.join(arms)}", name)
        if not 0 < check_number("the weight of an arm", weight) < np.inf:
            raise InvalidParameter.expected("finite weights of arms above 0", weight)
    return [float(weights.get(name, 1)) for name in arms]

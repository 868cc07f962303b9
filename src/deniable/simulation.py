"""Simulated collections: what a protocol would have made of people whose answers are known.

Everybody sends one report, as often as there are runs, and the estimates are set beside the truth
and beside the exact variance, so that luck is not mistaken for quality.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from deniable.candidates import fingerprints
from deniable.estimates import Estimates
from deniable.mechanism import Reports
from deniable.optional import load
from deniable.presentation.palette import LIGHT
from deniable.protocol import Open, Protocol
from deniable.protocols.hashing import OLH
from deniable.question import Question

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHUNK_WORDS = 1 << 23
_CENSUS = "data/surnames-us-census-2010-top1000.csv"
_OTHER = "(other)"
_DRAWN = 5
"""Of how many protocols a figure shows the estimates."""


@dataclass(frozen=True)
class Population:
    """The people simulated: the labels, and the value that each person holds."""

    labels: tuple[str, ...]
    values: np.typing.NDArray[np.int64]

    @property
    def size(self) -> int:
        return len(self.values)

    @cached_property
    def truth(self) -> np.typing.NDArray[np.int64]:
        return np.bincount(self.values, minlength=len(self.labels))

    def sample(self, people: int, rng: "np.random.Generator") -> "Population":
        return Population(self.labels, rng.choice(self.values, people))


@dataclass(frozen=True)
class Trial:
    """What one protocol made of the population, in one run or several."""

    protocol: Protocol
    estimates: Estimates
    """Those of the last run."""
    squared_errors: tuple[float, ...]
    """The mean squared error of the counts, in each run."""
    theory: float | None
    """The mean squared error that the exact variance predicts, where that is known.
    [eq:absvar_exact]"""
    recall: float
    """The share of the most frequent answers that were estimated among the most frequent."""
    found: int | None
    """How many answers were significant in the last run, where that is known."""
    false: int | None
    """How many of these nobody gave."""

    @property
    def squared_error(self) -> float:
        return float(np.mean(self.squared_errors))

    @property
    def order(self) -> tuple[bool, float]:
        """What trials are ranked by: the error in theory and, after those, as it was measured."""
        if self.theory is None:
            return True, self.squared_error
        return False, self.theory

    @property
    def spread(self) -> float | None:
        """The standard deviation of the squared error from run to run; None for a single run."""
        runs = self.squared_errors
        return float(np.std(runs, ddof=1)) if len(runs) > 1 else None

    def document(self, top: int) -> dict[str, object]:
        return {
            "protocol": self.protocol.specification(),
            "report_bytes": self.protocol.report_dtype.itemsize,
            "mse": self.squared_error,
            "mse_of_runs": self.squared_errors,
            "mse_std": self.spread,
            "theoretical_mse": self.theory,
            f"recall_at_{top}": self.recall,
            "significant": self.found,
            "significant_but_absent": self.false,
        }


def try_protocol(
    protocol: Protocol,
    population: Population,
    *,
    top: int = 10,
    runs: int = 5,
    rng: "np.random.Generator | None" = None,
) -> Trial:
    """Collect one report from everybody, ``runs`` times, and compare with the truth."""
    truth, n = population.truth, population.size
    best = set(_largest(truth, top))
    errors, recalls = [], []
    for _ in range(runs):
        tally = protocol.tally(_reports(protocol, population, rng))
        candidates = population.labels if isinstance(protocol, Open) else None
        estimates = protocol.estimate(tally, candidates)
        errors.append(float(np.mean((estimates.counts - truth) ** 2)))
        recalls.append(len(best.intersection(_largest(estimates.counts, top))) / len(best))
    significant, theory = estimates.significant(), protocol.variance(n, truth / n)
    return Trial(
        protocol,
        estimates,
        tuple(errors),
        None if theory is None else float(np.mean(theory)),
        float(np.mean(recalls)),
        None if significant is None else int(significant.sum()),
        None if significant is None else int(np.sum(significant & (truth == 0))),
    )


def _largest(counts: np.typing.ArrayLike, top: int) -> list[int]:
    found: list[int] = np.argsort(-np.asarray(counts), kind="stable")[:top].tolist()
    return found


def _reports(
    protocol: Protocol, population: Population, rng: "np.random.Generator | None"
) -> Iterator[Reports]:
    size = max(_CHUNK_WORDS // protocol.words.count, 1)
    keys = fingerprints(population.labels) if isinstance(protocol, Open) else None
    for start in range(0, population.size, size):
        values = population.values[start : start + size]
        yield protocol.privatize(values if keys is None else keys[values], rng)


class Rehearsal(NamedTuple):
    """What a question made of people whose answers are known, in one run or several."""

    estimates: Estimates
    """Those of the last run."""
    truth: np.typing.NDArray[np.float64]
    error: float
    """The root of the mean squared error of the shares, over all rows and runs."""
    stated: float | None
    """The same as the estimates state it, where they do."""
    covered: float | None
    """The share of 95 % intervals that held the truth."""
    people: int
    runs: int

    def __str__(self) -> str:
        times = "one run" if self.runs == 1 else f"{self.runs} runs"
        said = f"{self.people:,} people, {times}: shares are {100 * self.error:.3g} points off"
        if self.stated is not None:
            said += f", where the estimates state {100 * self.stated:.3g}"
        said += " (root mean square)"
        if self.covered is not None:
            said += f"; {100 * self.covered:.0f} % of the 95 % intervals hold the truth"
        return f"{said}."

    def document(self) -> dict[str, object]:
        columns = (self.estimates.keys, self.truth.tolist(), self.estimates.counts.tolist())
        named = [{"label": str(key), "true": true, "count": count}
                 for key, true, count in zip(*columns, strict=True)]  # fmt: skip
        return {"people": self.people, "runs": self.runs, "error": self.error,
                "stated_error": self.stated, "covered": self.covered,
                "estimates": named}  # fmt: skip


def rehearse(
    question: Question,
    values: np.typing.NDArray[np.uint64],
    *,
    runs: int = 5,
    rng: "np.random.Generator | None" = None,
) -> Rehearsal:
    """Ask a question of any kind of people whose values are known, and compare what comes out."""
    truth, n = question.answers.true_counts(values), len(values)
    squares, stated, covered = [], [], []
    for _ in range(runs):
        found = question.estimate(question.tally(question.protocol.privatize(values, rng)))
        squares.append(np.mean((found.counts - truth) ** 2))
        if found.std_errors is not None:
            stated.append(np.mean(found.std_errors**2))
        if (ends := found.interval()) is not None:
            covered.append(np.mean((ends[0] <= truth) & (truth <= ends[1])))
    return Rehearsal(
        found,
        truth,
        math.sqrt(float(np.mean(squares))) / n,
        math.sqrt(float(np.mean(stated))) / n if stated else None,
        float(np.mean(covered)) if covered else None,
        n,
        runs,
    )


def draw(population: Population, trials: Sequence[Trial], top: int) -> "Figure":
    """Return a figure: the error of each protocol against theory, and the top answers."""
    height = max(4.5, 1.5 + 0.3 * len(trials))
    made = load("matplotlib.figure", "plot").Figure
    figure: Figure = made(figsize=(11, height), layout="constrained")
    errors, answers = figure.subplots(1, 2)
    n, truth = population.size, population.truth
    places = np.arange(len(trials))
    expected = [math.nan if trial.theory is None else 100 * trial.theory**0.5 / n
                for trial in trials]  # fmt: skip
    for place, trial in zip(places, trials, strict=True):
        runs = [100 * error**0.5 / n for error in trial.squared_errors]
        errors.plot(runs, [place] * len(runs), "o", ms=4, alpha=0.5, color=LIGHT.interval,
                    label="measured, each run" if place == 0 else None)  # fmt: skip
    errors.plot(
        expected, places, "|", ms=16, mew=2, color=LIGHT.warn, label="theory: exact variance"
    )
    errors.set_yticks(places, [_legend(trial) for trial in trials])
    errors.invert_yaxis()
    known = [error for error in expected if not math.isnan(error)]
    if known and max(known) > 20 * min(known):
        errors.set_xscale("log")
    else:
        errors.set_xlim(left=0)
    errors.grid(axis="y", lw=0.4)
    errors.set_xlabel("root mean squared error of a share (% of all people)")
    errors.set_title(f"{n:,} people, {len(truth):,} answers", fontsize="medium")
    rows = np.argsort(-truth, kind="stable")[: max(top, 2)]
    answers.plot([0, truth[rows].max()], [0, truth[rows].max()], color=LIGHT.muted, lw=0.8,
                 label="the truth")  # fmt: skip
    best = sorted(trials, key=lambda trial: trial.order)[:_DRAWN]
    for trial, marker in zip(best, "os^Dv", strict=False):
        answers.plot(truth[rows], trial.estimates.counts[rows], marker, ms=5, alpha=0.7,
                     label=_legend(trial))  # fmt: skip
    answers.set_xlabel("true count (people)")
    answers.set_ylabel("estimated count (people)")
    of = f", the {len(best)} protocols best in theory" if len(best) < len(trials) else ""
    answers.set_title(f"the {len(rows)} most frequent answers{of}", fontsize="medium")
    for axes in (errors, answers):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center",
                    bbox_to_anchor=(0.5, -0.13))  # fmt: skip
    return figure


def _legend(trial: Trial) -> str:
    setting = getattr(trial.protocol, "g", None)
    shown = f" (g = {setting})" if setting is not None else ""
    return f"{trial.protocol.name}{shown}, ε = {trial.protocol.epsilon:g}"


@dataclass(frozen=True)
class Census:
    """The surnames of the 2010 US census, the rarer ones as one: the people of the demo."""

    labels: tuple[str, ...]
    bearers: np.typing.NDArray[np.float64]
    """How many people bear each."""

    @staticmethod
    def read() -> "Census":
        text = files("deniable").joinpath(_CENSUS).read_text(encoding="utf-8")
        rows = list(csv.DictReader(text.splitlines()))
        names = [row["name"] for row in rows]
        labels = tuple(name if name == _OTHER else name.title() for name in names)
        return Census(labels, np.array([float(row["count"]) for row in rows]))

    def question(self, epsilon: float) -> Question:
        return Question("surname", self.labels, OLH(epsilon, len(self.labels)), other=_OTHER)

    def draw(self, people: int, rng: "np.random.Generator") -> np.typing.NDArray[np.int64]:
        return rng.choice(len(self.labels), people, p=self.bearers / self.bearers.sum())

    @property
    def other(self) -> int:
        return self.labels.index(_OTHER)

"""``deniable simulate``: try protocols on your own data before collecting anything."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt

from deniable.advice.ranking import find_protocols
from deniable.cli.choice import AUTO, choose_protocol, find_protocol, takes
from deniable.cli.display import (
    new_table,
    open_console,
    print_estimates,
    print_table,
    show_progress,
)
from deniable.cli.estimate import check_plot, write_plot
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import Source, read_labels, shorten
from deniable.cli.options import (
    FILE,
    answers_argument,
    column_option,
    input_format_option,
    plot_option,
)
from deniable.extras import load
from deniable.protocols.hashing import OpenLH, fingerprints
from deniable.pure import Open

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deniable.estimates import Estimates
    from deniable.mechanism import Reports
    from deniable.protocol import Protocol

_CHUNK_WORDS = 1 << 23
_MOST_WORDS = 1 << 31
_MOST_PEOPLE = 10**12
_DRAWN = 5


@dataclass(frozen=True)
class Population:
    """The people simulated: the labels, and the value that each person holds."""

    labels: tuple[str, ...]
    values: npt.NDArray[np.int64]

    @property
    def truth(self) -> npt.NDArray[np.int64]:
        """How many people hold each value."""
        return np.bincount(self.values, minlength=len(self.labels))


@dataclass(frozen=True)
class Trial:
    """What one protocol made of the population."""

    protocol: Protocol
    estimates: Estimates
    squared_error: float
    theory: float
    recall: float
    found: int
    false: int
    seconds: float

    def document(self, top: int) -> dict[str, object]:
        """Return the trial as JSON."""
        return {
            "protocol": self.protocol.specification(),
            "report_bytes": self.protocol.report_dtype.itemsize,
            "mse": self.squared_error,
            "theoretical_mse": self.theory,
            f"recall_at_{top}": self.recall,
            "significant": self.found,
            "significant_but_absent": self.false,
            "seconds": self.seconds,
        }


@click.command(
    cls=Command,
    examples=[
        "deniable simulate answers.txt --epsilon 1",
        "deniable simulate people.csv --column fruit --epsilon 1 --epsilon 2 --protocol DE,LH:g=4",
        "deniable simulate answers.txt --epsilon 1 --protocol auto --plot simulation.png --json",
    ],
)
@answers_argument
@column_option
@input_format_option
@click.option("--epsilon", "epsilons", type=float, multiple=True, required=True,
              help="The privacy loss of one report; repeat it to compare.")  # fmt: skip
@click.option("--protocol", "names", metavar="NAMES",
              help="Protocols, separated by commas. [default: all that finish soon]")  # fmt: skip
@click.option("--labels", "labels_file", type=FILE, metavar="FILE",
              help="All possible answers. [default: those in INPUT]")  # fmt: skip
@click.option("--labels-column", metavar="NAME", help="The column of --labels to take.")
@click.option("--people", type=click.IntRange(1, _MOST_PEOPLE),
              help="Draw this many answers from INPUT.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1), default=1, show_default=True,
              help="Average the errors over several runs.")  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=10, show_default=True,
              help="Rows to show, and the k of the recall of the k most frequent.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Make the noise repeatable: simulation only.")
@plot_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def simulate(
    answers: Path,
    *,
    column: str | None,
    input_format: str | None,
    epsilons: tuple[float, ...],
    names: str | None,
    labels_file: Path | None,
    labels_column: str | None,
    people: int | None,
    runs: int,
    top: int,
    seed: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Try protocols on the answers in INPUT: the error they would have made, against theory.

    The mean squared error of the counts stands beside the one that the exact variance predicts,
    with the share of the true top answers that the estimates find.
    """
    check_plot(plot)
    rng = None if seed is None else np.random.default_rng(seed)
    if labels_column is not None and not labels_file:
        raise click.UsageError("--labels-column is about the file of --labels; name one")
    labels = read_labels(labels_file, labels_column) if labels_file else None
    population = _read(Source(answers, column, input_format), labels, people, seed)
    protocols, skipped = _choose(names, epsilons, len(population.labels), len(population.values))
    total = len(protocols) * runs * len(population.values)
    with show_progress("Simulating", total) as advance:
        trials = []
        for position, protocol in enumerate(protocols):
            trials.append(try_protocol(protocol, population, top, runs, rng))
            advance((position + 1) * runs * len(population.values))
    if plot is not None:
        write_plot(draw(population, trials, top), plot)
    if as_json:
        document = {"people": len(population.values), "answers": len(population.labels),
                    "runs": runs, "skipped": skipped,
                    "trials": [trial.document(top) for trial in trials]}  # fmt: skip
        click.echo(json.dumps(document, indent=2))
    else:
        _print(population, trials, top)
        for name in skipped:
            click.echo(f"{name} skipped: it would take long; name it with --protocol", err=True)


def try_protocol(
    protocol: Protocol,
    population: Population,
    top: int,
    runs: int = 1,
    rng: np.random.Generator | None = None,
) -> Trial:
    """Collect one report from everybody, ``runs`` times, and compare with the truth."""
    truth, n, clock = population.truth, len(population.values), perf_counter()
    best = set(np.argsort(-truth, kind="stable")[:top].tolist())
    errors, recalls = [], []
    for _ in range(runs):
        tally = protocol.tally(_reports(protocol, population, rng))
        estimates = protocol.estimate(tally, population.labels if is_open(protocol) else None)
        errors.append(float(np.mean((estimates.counts - truth) ** 2)))
        found = np.argsort(-estimates.counts, kind="stable")[:top].tolist()
        recalls.append(len(best.intersection(found)) / len(best))
    significant = estimates.significant()
    return Trial(
        protocol,
        estimates,
        float(np.mean(errors)),
        float(np.mean(protocol.variance(n, truth / n))),
        float(np.mean(recalls)),
        int(significant.sum()),
        int(np.sum(significant & (truth == 0))),
        (perf_counter() - clock) / runs,
    )


def draw(population: Population, trials: Sequence[Trial], top: int) -> Any:
    """Return a figure: the error of each protocol against theory, and the top answers."""
    height = max(4.5, 1.5 + 0.3 * len(trials))
    figure = load("matplotlib.figure", "plot").Figure(figsize=(11, height), layout="constrained")
    errors, answers = figure.subplots(1, 2)
    n, truth = len(population.values), population.truth
    places = np.arange(len(trials))
    measured = [100 * trial.squared_error**0.5 / n for trial in trials]
    expected = [100 * trial.theory**0.5 / n for trial in trials]
    errors.plot(measured, places, "o", color="#2f6db3", label="measured")
    errors.plot(
        expected, places, "|", ms=16, mew=2, color="#cc6600", label="theory: exact variance"
    )
    errors.set_yticks(places, [_name(trial) for trial in trials])
    errors.invert_yaxis()
    if max(expected) > 20 * min(expected):
        errors.set_xscale("log")
    else:
        errors.set_xlim(left=0)
    errors.grid(axis="y", lw=0.4)
    errors.set_xlabel("root mean squared error of a share (% of all people)")
    errors.set_title(f"{n:,} people, {len(truth):,} answers", fontsize="medium")
    rows = np.argsort(-truth, kind="stable")[: max(top, 2)]
    answers.plot([0, truth[rows].max()], [0, truth[rows].max()], color="#666666", lw=0.8,
                 label="the truth")  # fmt: skip
    best = sorted(trials, key=lambda trial: trial.theory)[:_DRAWN]
    for trial, marker in zip(best, "os^Dv", strict=False):
        answers.plot(truth[rows], trial.estimates.counts[rows], marker, ms=5, alpha=0.7,
                     label=_name(trial))  # fmt: skip
    answers.set_xlabel("true count (people)")
    answers.set_ylabel("estimated count (people)")
    of = f", the {len(best)} best protocols" if len(best) < len(trials) else ""
    answers.set_title(f"the {len(rows)} most frequent answers{of}", fontsize="medium")
    for axes in (errors, answers):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(
            frameon=False,
            fontsize="small",
            ncols=2,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.13),
        )
    return figure


def _read(
    source: Source, labels: tuple[str, ...] | None, people: int | None, seed: int | None
) -> Population:
    known = {label: i for i, label in enumerate(labels or ())}
    values: list[int] = []
    for batch in source.batches():
        for answer, line in zip(batch.answers, batch.lines, strict=True):
            if labels is not None and answer not in known:
                raise source.wrong(
                    line, f"expected one of the {len(known)} labels, got {shorten(answer)}; "
                    "correct it, or add it to --labels"
                )  # fmt: skip
            values.append(known.setdefault(answer, len(known)))
    if len(known) < 2:
        raise InputError(
            f"{source.name}: expected at least two different answers, got {len(known)}; "
            "pass all possible ones with --labels"
        )
    if not values:
        raise InputError(f"{source.name}: expected answers, got none; check the file")
    held = np.array(values, dtype=np.int64)
    if people is not None:
        held = np.random.default_rng(seed or 0).choice(held, people)
    return Population(tuple(known), held)


def _choose(
    names: str | None, epsilons: Sequence[float], d: int, n: int
) -> tuple[list[Protocol], list[str]]:
    """Return the protocols to try and the names of those that were left out as too slow."""
    if names is not None:
        listed = [name.strip() for name in names.split(",") if name.strip()]
        if not listed:
            raise InputError(f"expected names of protocols, got {names!r}; write for example "
                             "--protocol DE,LH:g=4")  # fmt: skip
        return [_make(name, epsilon, d) for name in listed for epsilon in epsilons], []
    every = [p for e in epsilons for p in (*find_protocols(e, d), OpenLH(e))]
    fast = [p for p in every if n * (d if isinstance(p, OpenLH) else p.words.count) <= _MOST_WORDS]
    skipped = [f"{p.name} at epsilon = {p.epsilon:g}" for p in every if p not in fast]
    return fast, skipped


def _make(name: str, epsilon: float, d: int) -> Protocol:
    """Return a protocol by name; one whose settings give its epsilon has that."""
    own = name.lower() != AUTO and not takes(find_protocol(name.partition(":")[0]), "epsilon")
    return choose_protocol(name, None if own else epsilon, d)


def is_open(protocol: Protocol) -> bool:
    """Tell whether a protocol takes fingerprints, and candidates at estimation."""
    return isinstance(protocol, Open)


def _reports(
    protocol: Protocol, population: Population, rng: np.random.Generator | None
) -> Iterator[Reports]:
    size = max(_CHUNK_WORDS // protocol.words.count, 1)
    keys = fingerprints(population.labels) if is_open(protocol) else None
    for start in range(0, len(population.values), size):
        values = population.values[start : start + size]
        yield protocol.privatize(values if keys is None else keys[values], rng)


def _name(trial: Trial) -> str:
    setting = getattr(trial.protocol, "g", None)
    shown = f" (g = {setting})" if setting is not None else ""
    return f"{trial.protocol.name}{shown}, ε = {trial.protocol.epsilon:g}"


def _print(population: Population, trials: Sequence[Trial], top: int) -> None:
    console, n, top = open_console(), len(population.values), min(top, len(population.labels))
    console.print(f"{n:,} people, {len(population.labels):,} answers\n", style="bold")
    table = new_table("protocol", "epsilon", "bytes", "MSE", "theory", "ratio", "error",
                      f"top {top}", "signif.")  # fmt: skip
    for trial in trials:
        table.add_row(
            trial.protocol.name,
            f"{trial.protocol.epsilon:.4g}",
            f"{trial.protocol.report_dtype.itemsize:,}",
            f"{trial.squared_error:.3g}",
            f"{trial.theory:.3g}",
            f"{trial.squared_error / trial.theory:.2f}",
            f"{100 * trial.squared_error**0.5 / n:.3g} %",
            f"{100 * trial.recall:.0f} %",
            f"{trial.found:,}",
        )
    print_table(console, table)
    console.print(
        "MSE: mean squared error of the counts; theory: what the exact variance predicts; error: "
        f"its root as a share of all people; top {top}: how many of the {top} most frequent "
        "answers are estimated among the most frequent; signif.: how many are significant.\n"
    )
    best = min(trials, key=lambda trial: trial.theory)
    rows = np.argsort(-population.truth, kind="stable")[:top]
    labelled = replace(best.estimates, labels=population.labels)
    console.print(f"The best of them, {best.protocol.name} at epsilon = {best.protocol.epsilon:g}:",
                  style="bold")  # fmt: skip
    print_estimates(console, labelled.take(rows), truth=population.truth[rows])

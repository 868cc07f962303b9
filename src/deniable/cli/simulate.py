"""``deniable simulate``: try protocols on your own data before collecting anything."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click
import numpy as np

from deniable.advice.ranking import find_protocols
from deniable.cli import display
from deniable.cli.answers import read_answers
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import read_labels, read_question
from deniable.cli.labels import Form, Matcher
from deniable.cli.options import FILE, answers_options, plot_option
from deniable.cli.outputs import check_plot, write_plot
from deniable.cli.protocol_names import at_epsilon, complete_protocols
from deniable.cli.sources import Source, check_stdin
from deniable.optional import load
from deniable.protocol import Open, Protocol
from deniable.protocols.hashing import OpenLH
from deniable.question import Question
from deniable.simulation import Population, Trial, try_protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_WORDS = 1 << 31
_SOON = 1 << 28
"""Random words that are drawn within seconds: as many are spent on repetitions by default."""
_RUNS = 5
_MOST_PEOPLE = 10**12
_DRAWN = 5
_HEADS = ("protocol", "epsilon", "bytes", "MSE", "theory", "ratio", "error")
_SPARED = ("theory", "bytes")
"""Columns that a narrow terminal does without, in this order."""


@click.command(
    cls=Command,
    examples=[
        "deniable simulate answers.txt --epsilon 1",
        "deniable simulate people.csv --column fruit --epsilon 1 --epsilon 2 --protocol DE,LH:g=4",
        "deniable simulate answers.txt --question fruit.json --protocol OUE",
        "deniable simulate answers.txt --epsilon 1 --protocol auto --plot simulation.png --json",
    ],
)
@answers_options()
@click.option("--question", "question_file", type=FILE, metavar="FILE",
              help="Take labels, other and epsilon from a question, and try its protocol "
              "first.")  # fmt: skip
@click.option("--epsilon", "epsilons", type=float, multiple=True,
              help="The privacy loss of one report; repeat it to compare.")  # fmt: skip
@click.option("--protocol", "names", metavar="NAMES", shell_complete=complete_protocols,
              help="Protocols, separated by commas. [default: all that finish soon; with "
              "--question only its own]")  # fmt: skip
@click.option("--labels", "labels_file", type=FILE, metavar="FILE",
              help="All possible answers. [default: those in INPUT]")  # fmt: skip
@click.option("--labels-column", metavar="NAME", help="The column of --labels to take.")
@click.option("--other", metavar="LABEL",
              help="The label that answers outside --labels count as.")  # fmt: skip
@click.option("--people", type=click.IntRange(1, _MOST_PEOPLE),
              help="Draw this many answers from INPUT.")  # fmt: skip
@click.option("--runs", type=click.IntRange(1),
              help="How often each protocol is tried. [default: 5, fewer where that takes "
              "long]")  # fmt: skip
@click.option("--top", type=click.IntRange(1), default=10, show_default=True,
              help="Rows to show, and the k of the recall of the k most frequent.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), help="Make the noise repeatable: simulation only.")
@plot_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def simulate(
    *,
    source: Source,
    form: Form,
    question_file: Path | None,
    epsilons: tuple[float, ...],
    names: str | None,
    labels_file: Path | None,
    labels_column: str | None,
    other: str | None,
    people: int | None,
    runs: int | None,
    top: int,
    seed: int | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Try protocols on the answers in INPUT: the error they would have made, against theory.

    The mean squared error of the counts stands beside the one that the exact variance predicts,
    with the share of the true top answers that the estimates find. What several runs measure
    differs by chance: the spread tells how much, and the best is the best in theory.
    """
    check_plot(plot)
    check_stdin(source.path, question_file, labels_file)
    if labels_column is not None and not labels_file:
        raise click.UsageError("--labels-column is about the file of --labels; name one")
    if question_file and (labels_file or other is not None):
        raise click.UsageError("a --question has its labels; leave out --labels and --other")
    if other is not None and not labels_file:
        raise click.UsageError("--other is for answers outside --labels; name them")
    question = read_question(question_file) if question_file else None
    labels = read_labels(labels_file, labels_column) if labels_file else None
    if labels is not None and other is not None and other not in labels:
        labels = (*labels, other)
    if question is not None:
        if not question.answers.textual:
            raise InputError(
                f"{question_file}: simulate tries protocols on answers of one text each, and those "
                f"to this question are {question.answers.wanted}"
            )
        labels, other = question.labels, question.other
    matcher = Matcher(labels, other, form)
    population = _read(source, matcher)
    rng = None if seed is None else np.random.default_rng(seed)
    if people is not None:
        population = population.sample(people, np.random.default_rng(seed or 0))
    protocols, skipped = _choose(names, epsilons, question, population)
    runs = runs or _repetitions(protocols, population)
    trials, seconds = _try(protocols, population, (top, runs), rng)
    if plot is not None:
        write_plot(_draw(population, trials, top), plot)
    if said := matcher.describe_unknown():
        click.echo(f"{source.name}: {said}", err=True)
    if as_json:
        found = [_document(t, top, s) for t, s in zip(trials, seconds, strict=True)]
        document = {"people": population.size, "answers": len(population.labels), "runs": runs,
                    "other": matcher.unknown, "skipped": skipped, "trials": found}  # fmt: skip
        click.echo(json.dumps(document, indent=2))
    else:
        _print(population, trials, top)
        for name in skipped:
            click.echo(f"{name} skipped: it would take long; name it with --protocol", err=True)


def _read(source: Source, matcher: Matcher) -> Population:
    held = [matcher.values(batch, source) for batch in read_answers(source)]
    if len(matcher.labels) < 2:
        raise InputError(
            f"{source.name}: expected at least two different answers, got {len(matcher.labels)}; "
            "list all possible ones with --labels"
        )
    if not held:
        raise InputError(f"{source.name}: there are no answers in the file; check it")
    return Population(matcher.labels, np.concatenate(held))


def _choose(
    names: str | None,
    epsilons: Sequence[float],
    question: Question | None,
    population: Population,
) -> tuple[list[Protocol], list[str]]:
    """Return the protocols to try and the names of those that were left out as too slow."""
    d, own = len(population.labels), [] if question is None else [question.protocol]
    if not epsilons:
        if not own:
            raise click.UsageError("give --epsilon, or a --question that has one")
        epsilons = [own[0].epsilon]
    if names is not None:
        listed = [name.strip() for name in names.split(",") if name.strip()]
        if not listed:
            raise InputError(f"expected names of protocols, got {names!r}; write for example "
                             "--protocol DE,LH:g=4")  # fmt: skip
        made = [at_epsilon(name, epsilon, d) for name in listed for epsilon in epsilons]
        return list(dict.fromkeys([*own, *made])), []
    if own:
        return own, []
    every = [p for e in epsilons for p in (*find_protocols(e, d), OpenLH(e))]
    fast = [p for p in every if _words(p, population) <= _MOST_WORDS]
    skipped = [f"{p.name} at epsilon = {p.epsilon:g}" for p in every if p not in fast]
    return fast, skipped


def _words(protocol: Protocol, population: Population) -> int:
    """Return the work of one run: the random words drawn, or the hashes of open protocols."""
    each = len(population.labels) if isinstance(protocol, Open) else protocol.words.count
    return population.size * each


def _repetitions(protocols: Sequence[Protocol], population: Population) -> int:
    """Return how often to try, so that it is done soon."""
    work = sum(_words(protocol, population) for protocol in protocols)
    return min(max(_SOON // max(work, 1), 1), _RUNS)


def _try(
    protocols: Sequence[Protocol],
    population: Population,
    size: tuple[int, int],
    rng: np.random.Generator | None,
) -> tuple[list[Trial], list[float]]:
    top, runs = size
    trials, seconds = [], []
    with display.show_progress("Simulating", len(protocols)) as advance:
        for position, protocol in enumerate(protocols):
            start = perf_counter()
            trials.append(try_protocol(protocol, population, top=top, runs=runs, rng=rng))
            seconds.append((perf_counter() - start) / runs)
            advance(position + 1)
    return trials, seconds


def _document(trial: Trial, top: int, seconds: float) -> dict[str, object]:
    return {
        "protocol": trial.protocol.specification(),
        "report_bytes": trial.protocol.report_dtype.itemsize,
        "mse": trial.squared_error,
        "mse_of_runs": trial.squared_errors,
        "mse_std": trial.spread,
        "theoretical_mse": trial.theory,
        f"recall_at_{top}": trial.recall,
        "significant": trial.found,
        "significant_but_absent": trial.false,
        "seconds": seconds,
    }


def _print(population: Population, trials: Sequence[Trial], top: int) -> None:
    """Print what the trials measured beside theory, and the estimates of the best in theory."""
    console, n, top = display.open_console(), population.size, min(top, len(population.labels))
    runs = len(trials[0].squared_errors)
    times = "one run" if runs == 1 else f"{runs} runs"
    console.print(f"{n:,} people, {len(population.labels):,} answers, {times}\n", style="bold")
    heads = (*_HEADS, f"top {top}", "found")
    columns = list(zip(heads, *(_cells(trial, n) for trial in trials), strict=True))
    display.print_columns(console, columns, spared=_SPARED)
    after = "" if runs == 1 else " (± its standard deviation from run to run)"
    console.print(
        "MSE: mean squared error of the counts; theory: what the exact variance predicts; ratio: "
        f"MSE to theory{after}; error: the root of the MSE as a share of all people; top {top}: "
        f"how many of the {top} most frequent answers are estimated among the most frequent; "
        "found: how many are significant.\n"
    )
    best = min(trials, key=lambda trial: trial.order)
    rows = np.argsort(-population.truth, kind="stable")[:top]
    labelled = replace(best.estimates, labels=population.labels)
    last = "" if runs == 1 else ", in the last run"
    judged = "as measured" if best.theory is None else "in theory"
    console.print(f"The best {judged}, {best.protocol.name} at epsilon = "
                  f"{best.protocol.epsilon:g}{last}:", style="bold")  # fmt: skip
    display.print_estimates(console, labelled.take(rows), population.truth[rows])


def _cells(trial: Trial, n: int) -> tuple[str, ...]:
    theory, ratio = "-", "-"
    if trial.theory is not None:
        spread = "" if trial.spread is None else f" ± {trial.spread / trial.theory:.2f}"
        theory = f"{trial.theory:.3g}"
        ratio = f"{trial.squared_error / trial.theory:.2f}{spread}"
    return (
        trial.protocol.name,
        f"{trial.protocol.epsilon:.4g}",
        f"{trial.protocol.report_dtype.itemsize:,}",
        f"{trial.squared_error:.3g}",
        theory,
        ratio,
        f"{100 * trial.squared_error**0.5 / n:.3g} %",
        f"{100 * trial.recall:.0f} %",
        "-" if trial.found is None else f"{trial.found:,}",
    )


def _draw(population: Population, trials: Sequence[Trial], top: int) -> Figure:
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
        errors.plot(runs, [place] * len(runs), "o", ms=4, alpha=0.5, color="#2f6db3",
                    label="measured, each run" if place == 0 else None)  # fmt: skip
    errors.plot(
        expected, places, "|", ms=16, mew=2, color="#cc6600", label="theory: exact variance"
    )
    errors.set_yticks(places, [_name(trial) for trial in trials])
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
    answers.plot([0, truth[rows].max()], [0, truth[rows].max()], color="#666666", lw=0.8,
                 label="the truth")  # fmt: skip
    best = sorted(trials, key=lambda trial: trial.order)[:_DRAWN]
    for trial, marker in zip(best, "os^Dv", strict=False):
        answers.plot(truth[rows], trial.estimates.counts[rows], marker, ms=5, alpha=0.7,
                     label=_name(trial))  # fmt: skip
    answers.set_xlabel("true count (people)")
    answers.set_ylabel("estimated count (people)")
    of = f", the {len(best)} protocols best in theory" if len(best) < len(trials) else ""
    answers.set_title(f"the {len(rows)} most frequent answers{of}", fontsize="medium")
    for axes in (errors, answers):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", ncols=2, loc="upper center",
                    bbox_to_anchor=(0.5, -0.13))  # fmt: skip
    return figure


def _name(trial: Trial) -> str:
    setting = getattr(trial.protocol, "g", None)
    shown = f" (g = {setting})" if setting is not None else ""
    return f"{trial.protocol.name}{shown}, ε = {trial.protocol.epsilon:g}"

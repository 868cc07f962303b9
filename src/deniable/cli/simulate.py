"""``deniable simulate``: try protocols on your own data before collecting anything."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import numpy as np

from deniable import simulation
from deniable.advice.ranking import find_protocols
from deniable.cli import options, outputs
from deniable.cli.answers import Source, read_answers
from deniable.cli.group import InputError, command
from deniable.cli.inputs import check_stdin, read_question
from deniable.cli.labels import Form, Matcher, read_labels
from deniable.protocol import Open, Protocol
from deniable.protocols.hashing import OpenLH
from deniable.question import Question
from deniable.simulation import Population, Trial

_MOST_WORDS = 1 << 31
_SOON = 1 << 28
"""Random words that are drawn within seconds: as many are spent on repetitions by default."""
_RUNS = 5
_MOST_PEOPLE = 10**12
_HEADS = ("protocol", "epsilon", "bytes", "MSE", "theory", "ratio", "error")
_SPARED = ("theory", "bytes")
"""Columns that a narrow terminal does without, in this order."""


@command(
    "deniable simulate answers.txt --epsilon 1",
    "deniable simulate people.csv --column fruit --epsilon 1 --epsilon 2 --protocol DE,LH:g=4",
    "deniable simulate answers.txt --question fruit.json --protocol OUE",
    "deniable simulate answers.txt --epsilon 1 --protocol auto --plot simulation.png --json",
)
@options.answers_options()
@click.option("--question", "question_file", type=options.FILE, metavar="FILE",
              help="Take labels, other and epsilon from a question, and try its protocol "
              "first.")  # fmt: skip
@click.option("--epsilon", "epsilons", type=float, multiple=True,
              help="The privacy loss of one report; repeat it to compare.")  # fmt: skip
@click.option("--protocol", "names", metavar="NAMES", shell_complete=options.complete_protocols,
              help="Protocols, separated by commas. [default: all that finish soon; with "
              "--question only its own]")  # fmt: skip
@click.option("--labels", "labels_file", type=options.FILE, metavar="FILE",
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
@options.plot_option
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
    outputs.check_plot(plot)
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
    population = _read_population(source, matcher)
    rng = None if seed is None else np.random.default_rng(seed)
    if people is not None:
        population = population.sample(people, np.random.default_rng(seed or 0))
    protocols, skipped = _choose_protocols(names, epsilons, question, population)
    work = max(sum(_words(protocol, population) for protocol in protocols), 1)
    runs = runs or min(max(_SOON // work, 1), _RUNS)
    trials, seconds = _run_trials(protocols, population, top=top, runs=runs, rng=rng)
    if plot is not None:
        outputs.write_plot(simulation.draw(population, trials, top), plot)
    if said := matcher.describe_unknown():
        click.echo(f"{source.name}: {said}", err=True)
    if as_json:
        found = [_trial_document(t, top, s) for t, s in zip(trials, seconds, strict=True)]
        document = {"people": population.size, "answers": len(population.labels), "runs": runs,
                    "other": matcher.unknown, "skipped": skipped, "trials": found}  # fmt: skip
        click.echo(json.dumps(document, indent=2))
    else:
        _print_trials(population, trials, top)
        for name in skipped:
            click.echo(f"{name} skipped: it would take long; name it with --protocol", err=True)


def _read_population(source: Source, matcher: Matcher) -> Population:
    held = [matcher.values(batch, source) for batch in read_answers(source)]
    if len(matcher.labels) < 2:
        raise InputError(
            f"{source.name}: expected at least two different answers, got {len(matcher.labels)}; "
            "list all possible ones with --labels"
        )
    if not held:
        raise InputError(f"{source.name}: there are no answers in the file; check it")
    return Population(matcher.labels, np.concatenate(held))


def _choose_protocols(
    names: str | None, epsilons: Sequence[float], question: Question | None, population: Population
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
        made = [options.at_epsilon(name, epsilon, d) for name in listed for epsilon in epsilons]
        return list(dict.fromkeys([*own, *made])), []
    if own:
        return own, []
    every: list[Protocol] = [p for e in epsilons for p in (*find_protocols(e, d), OpenLH(e))]
    fast = [p for p in every if _words(p, population) <= _MOST_WORDS]
    skipped = [f"{p.name} at epsilon = {p.epsilon:g}" for p in every if p not in fast]
    return fast, skipped


def _words(protocol: Protocol, population: Population) -> int:
    """Return the work of one run: the random words drawn, or the hashes of open protocols."""
    each = len(population.labels) if isinstance(protocol, Open) else protocol.words.count
    return population.size * each


def _run_trials(
    protocols: Sequence[Protocol], population: Population, **options: Any
) -> tuple[list[Trial], list[float]]:
    """Try the protocols, and return the seconds that one run of each took as well."""
    trials, seconds = [], []
    with outputs.show_progress("Simulating", len(protocols)) as advance:
        for position, protocol in enumerate(protocols):
            start = perf_counter()
            trials.append(simulation.try_protocol(protocol, population, **options))
            seconds.append((perf_counter() - start) / options["runs"])
            advance(position + 1)
    return trials, seconds


def _trial_document(trial: Trial, top: int, seconds: float) -> dict[str, object]:
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


def _print_trials(population: Population, trials: Sequence[Trial], top: int) -> None:
    """Print what the trials measured beside theory, and the estimates of the best in theory."""
    console, n, top = outputs.open_console(), population.size, min(top, len(population.labels))
    runs = len(trials[0].squared_errors)
    times = "one run" if runs == 1 else f"{runs} runs"
    outputs.say(
        console, f"{n:,} people, {len(population.labels):,} answers, {times}\n", style="bold"
    )
    heads = (*_HEADS, f"top {top}", "found")
    columns = list(zip(heads, *(_trial_cells(trial, n) for trial in trials), strict=True))
    outputs.print_columns(console, columns, spared=_SPARED)
    after = "" if runs == 1 else " (± its standard deviation from run to run)"
    outputs.say(
        console,
        "MSE: mean squared error of the counts; theory: what the exact variance predicts; ratio: "
        f"MSE to theory{after}; error: the root of the MSE as a share of all people; top {top}: "
        f"how many of the {top} most frequent answers are estimated among the most frequent; "
        "found: how many are significant.\n",
    )
    best = min(trials, key=lambda trial: trial.order)
    rows = np.argsort(-population.truth, kind="stable")[:top]
    labelled = replace(best.estimates, labels=population.labels)
    last = "" if runs == 1 else ", in the last run"
    judged = "as measured" if best.theory is None else "in theory"
    outputs.say(console, f"The best {judged}, {best.protocol.name} at epsilon = "
                  f"{best.protocol.epsilon:g}{last}:", style="bold")  # fmt: skip
    outputs.print_rows(console, labelled.take(rows).view(truth=population.truth[rows]))


def _trial_cells(trial: Trial, n: int) -> tuple[str, ...]:
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

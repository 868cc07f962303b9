"""``deniable simulate``: try protocols on your own data before collecting anything."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import click
import numpy as np

from deniable.advice.ranking import find_protocols
from deniable.cli.answers import read_answers
from deniable.cli.choice import AUTO, choose_protocol, complete_protocols, find_protocol, takes
from deniable.cli.display import show_progress
from deniable.cli.group import Command, InputError
from deniable.cli.inputs import check_stdin, read_labels, read_question
from deniable.cli.matching import Form, Matcher
from deniable.cli.options import (
    FILE,
    answers_argument,
    column_option,
    delimiter_option,
    fold_case_option,
    input_format_option,
    normalise_option,
    plot_option,
    strip_option,
)
from deniable.cli.outputs import check_plot, write_plot
from deniable.cli.source import Source
from deniable.cli.trials import as_document, draw, print_trials
from deniable.protocol import Open, Protocol
from deniable.protocols.hashing import OpenLH
from deniable.question import Question
from deniable.simulation import Population, Trial, try_protocol

_MOST_WORDS = 1 << 31
_SOON = 1 << 28
"""As many random words are drawn in seconds: so much work is repeated without being asked."""
_RUNS = 5
_MOST_PEOPLE = 10**12


@click.command(
    cls=Command,
    examples=[
        "deniable simulate answers.txt --epsilon 1",
        "deniable simulate people.csv --column fruit --epsilon 1 --epsilon 2 --protocol DE,LH:g=4",
        "deniable simulate answers.txt --question fruit.json --protocol OUE",
        "deniable simulate answers.txt --epsilon 1 --protocol auto --plot simulation.png --json",
    ],
)
@answers_argument
@column_option
@input_format_option
@delimiter_option
@strip_option
@fold_case_option
@normalise_option
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
    answers: Path,
    *,
    column: str | None,
    input_format: str | None,
    delimiter: str | None,
    strip: bool,
    fold_case: bool,
    normalise: bool,
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
    check_stdin(answers, *(path for path in (question_file, labels_file) if path))
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
    matcher = Matcher(labels, other, Form(strip, fold_case, normalise))
    population = _read(Source(answers, column, input_format, delimiter), matcher)
    rng = None if seed is None else np.random.default_rng(seed)
    if people is not None:
        population = population.sample(people, np.random.default_rng(seed or 0))
    protocols, skipped = _choose(names, epsilons, question, population)
    runs = runs or _repetitions(protocols, population)
    trials, seconds = _try(protocols, population, (top, runs), rng)
    if plot is not None:
        write_plot(draw(population, trials, top), plot)
    if said := matcher.describe_unknown():
        click.echo(f"{answers}: {said}", err=True)
    if as_json:
        found = [as_document(t, top, s) for t, s in zip(trials, seconds, strict=True)]
        document = {"people": population.size, "answers": len(population.labels), "runs": runs,
                    "other": matcher.unknown, "skipped": skipped, "trials": found}  # fmt: skip
        click.echo(json.dumps(document, indent=2))
    else:
        print_trials(population, trials, top)
        for name in skipped:
            click.echo(f"{name} skipped: it would take long; name it with --protocol", err=True)


def _read(source: Source, matcher: Matcher) -> Population:
    held = [matcher.values(batch, source) for batch in read_answers(source)]
    if len(matcher.labels) < 2:
        raise InputError(
            f"{source.name}: expected at least two different answers, got {len(matcher.labels)}; "
            "pass all possible ones with --labels"
        )
    if not held:
        raise InputError(f"{source.name}: expected answers, got none; check the file")
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
        made = [_make(name, epsilon, d) for name in listed for epsilon in epsilons]
        return list(dict.fromkeys([*own, *made])), []
    if own:
        return own, []
    every = [p for e in epsilons for p in (*find_protocols(e, d), OpenLH(e))]
    fast = [p for p in every if _words(p, population) <= _MOST_WORDS]
    skipped = [f"{p.name} at epsilon = {p.epsilon:g}" for p in every if p not in fast]
    return fast, skipped


def _make(name: str, epsilon: float, d: int) -> Protocol:
    """Return a protocol by name; one whose settings give its epsilon has that."""
    own = name.lower() != AUTO and not takes(find_protocol(name.partition(":")[0]), "epsilon")
    return choose_protocol(name, None if own else epsilon, d)


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
    """Return the trials, and what one run of each took."""
    top, runs = size
    trials, seconds = [], []
    with show_progress("Simulating", len(protocols)) as advance:
        for position, protocol in enumerate(protocols):
            start = perf_counter()
            trials.append(try_protocol(protocol, population, top=top, runs=runs, rng=rng))
            seconds.append((perf_counter() - start) / runs)
            advance(position + 1)
    return trials, seconds
